//! Where the ranks of each failure domain stand if all ranks are put in the order in which they are dealt out
//! to the sets: domains with more ranks first, then those with a lower leader.

use super::grouping::Groups;
use super::numbers::{self, Numbers};
use crate::Result;
use crate::comm::{Communicator, Term, collective};
use std::collections::BTreeMap;

/// For each division, on the leader of a domain: how many ranks stand before those of the domain. Without a
/// message if all domains of each division are as large as each other; else an exchange, a scan and an
/// exchange. Collective.
pub(super) fn find(comm: &dyn Communicator, divisions: &[&Groups]) -> Result<Vec<usize>> {
    let of_equal = |groups: &&Groups| {
        groups
            .led
            .as_ref()
            .map_or(0, |led| led.number * groups.largest)
    };
    let mut offsets: Vec<usize> = divisions.iter().map(of_equal).collect();
    if divisions
        .iter()
        .all(|groups| groups.smallest == groups.largest)
    {
        return Ok(offsets);
    }
    // Rank P - n knows all domains of n ranks, so that lower ranks know larger ones.
    let size = comm.size();
    let led = divisions.iter().enumerate().filter_map(|(at, groups)| {
        let ranks = groups.led.as_ref()?.ranks.len();
        Some((size - ranks, numbers::pack(&[at, ranks])))
    });
    let of_size = numbers::exchange::<2>(comm, led.collect())?;
    let mut sums = vec![Term::Sum(0); divisions.len()];
    for (_, [at, ranks]) in &of_size {
        if let Some(sum) = sums.get_mut(*at) {
            *sum = Term::Sum(sum.value() + *ranks as i64);
        }
    }
    collective::exscan(comm, &mut sums)?;
    let mut before: BTreeMap<usize, usize> = sums
        .iter()
        .map(|sum| sum.value() as usize)
        .enumerate()
        .collect();
    let answer = |(leader, [at, ranks]): &(usize, Numbers<2>)| {
        let offset = before.entry(*at).or_default();
        let answer = numbers::pack(&[*at, *offset]);
        *offset += ranks;
        (*leader, answer)
    };
    // Groups of one size come in the order of their leaders.
    let answers = of_size.iter().map(answer).collect();
    for (_, [at, offset]) in numbers::exchange::<2>(comm, answers)? {
        if let Some(known) = offsets.get_mut(at) {
            *known = offset;
        }
    }
    Ok(offsets)
}
