//! How ranks find the others of their groups, of which each knows only its own name.

use crate::comm::{Communicator, RankList, Term, collective, meet};
use crate::{Error, Result};

/// The groups of one division, as far as a rank knows them.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    /// Number of groups.
    pub count: usize,
    /// Number of ranks of the largest group.
    pub largest: usize,
    /// Number of ranks of the smallest group.
    pub smallest: usize,
    /// The group that this rank leads. The lowest rank of a group is its leader.
    pub led: Option<Led>,
}

/// A group, as its leader knows it.
#[derive(Debug, Clone)]
pub(super) struct Led {
    /// The ranks, ascending.
    pub ranks: RankList,
    /// Number of the group, from 0, in the order of the leaders.
    pub number: usize,
}

/// Groups the ranks by their keys, once for each division; all ranks have as many keys. Collective: a
/// meeting, an exchange, a scan and an allreduce.
pub(super) fn find(comm: &dyn Communicator, keys: &[Vec<u8>]) -> Result<Vec<Groups>> {
    let mut groups = vec![Groups::default(); keys.len()];
    for (division, led) in leaders(comm, keys)? {
        let groups = groups.get_mut(division).ok_or_else(no_division)?;
        let ranks = led;
        groups.led = Some(Led { ranks, number: 0 });
    }
    let leads = |groups: &Groups| i64::from(groups.led.is_some());
    let mut before: Vec<Term> = groups.iter().map(|g| Term::Sum(leads(g))).collect();
    collective::exscan(comm, &mut before)?;
    let terms = groups.iter().flat_map(|groups| {
        let ranks = groups.led.as_ref().map(|led| led.ranks.len() as i64);
        [
            Term::Sum(leads(groups)),
            Term::Max(ranks.unwrap_or(0)),
            Term::Min(ranks.unwrap_or(i64::MAX)),
        ]
    });
    let totals = collective::combine_all(comm, terms.collect())?;
    let (totals, _) = totals.as_chunks::<3>();
    for ((groups, before), totals) in groups.iter_mut().zip(before).zip(totals) {
        let [count, largest, smallest] = totals.each_ref().map(|total| total.get() as usize);
        (groups.count, groups.largest, groups.smallest) = (count, largest, smallest);
        if let Some(led) = &mut groups.led {
            led.number = before.value() as usize;
        }
    }
    Ok(groups)
}

/// The divisions in which this rank is the lowest of its group, with the ranks of the group.
fn leaders(comm: &dyn Communicator, keys: &[Vec<u8>]) -> Result<Vec<(usize, RankList)>> {
    let marked = keys.iter().enumerate().map(|(division, key)| {
        let mark = (division as u32).to_le_bytes();
        [&mark[..], key].concat()
    });
    let met = meet(comm, marked.collect())?;
    let message = |(key, ranks): &(Vec<u8>, RankList)| {
        let mark = key.get(..4).unwrap_or_default();
        Some((ranks.first()?, [mark, &ranks.pack()].concat()))
    };
    let messages = met.iter().filter_map(message).collect();
    let read = |(_, message): &(usize, Vec<u8>)| {
        let (mark, ranks) = message.split_first_chunk::<4>().ok_or_else(no_division)?;
        let division = u32::from_le_bytes(*mark) as usize;
        Ok((division, RankList::unpack(ranks, comm.size())?))
    };
    collective::exchange(comm, messages)?
        .iter()
        .map(read)
        .collect()
}

fn no_division() -> Error {
    Error::comm(
        "SCR_Init",
        "a message about a group of ranks cannot be read",
    )
}
