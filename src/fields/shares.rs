//! A restart of bags: how many elements all ranks wrote, and which of them each rank gets.

use super::entry::Link;
use super::index::MOST;
use super::index::bags::{Bag, Bags, as_ids};
use super::sources::Sources;
use crate::comm::{Communicator, Term, collective, is_same, same};
use crate::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// The bags of a checkpoint. `sources` are this rank's files, if they could be opened; the bags are empty if those of
/// any rank could not, or have other fields. Collective; an allreduce, and for a checkpoint with bags a scan and
/// another allreduce.
///
/// # Errors
/// The ranks cannot reach each other; or the bags have too many elements, on all ranks.
pub fn agree_on_bags(comm: &dyn Communicator, sources: Option<&Sources>) -> Result<Bags> {
    let home = sources.and_then(|sources| sources.opened(sources.home));
    let list = same(home.map_or(0, |home| home.table.list));
    let fields = home.map_or(&[][..], |home| &home.table.fields);
    let names: Vec<&str> = fields
        .iter()
        .filter(|field| matches!(field.entry.link, Link::Bag { .. }))
        .map(|field| field.entry.name.as_str())
        .collect();
    let terms = [
        list[0],
        list[1],
        Term::any(home.is_none()),
        Term::any(!names.is_empty()),
    ];
    let [least, most, failed, some] = collective::combine(comm, terms)?;
    let Some(sources) = sources else {
        return Ok(Bags::default());
    };
    if failed.on_any() || !is_same([least, most]) || !some.on_any() {
        return Ok(Bags::default());
    }
    let counts: Vec<BTreeMap<u64, u64>> = names
        .iter()
        .map(|name| {
            let held = sources.held.clone();
            held.map(|writer| (writer, count_of(sources, writer, name)))
                .collect()
        })
        .collect();
    let held = |of: &BTreeMap<u64, u64>| {
        let all = of
            .values()
            .fold(0u64, |all, count| all.saturating_add(*count));
        Term::Sum(i64::try_from(all).unwrap_or(i64::MAX))
    };
    let terms: Vec<Term> = counts.iter().map(held).collect();
    let mut before = terms.clone();
    collective::exscan(comm, &mut before)?;
    let wholes = collective::combine_all(comm, terms)?;
    let mut bags = HashMap::new();
    for (((name, counts), before), whole) in names.iter().zip(counts).zip(before).zip(wholes) {
        let whole = u64::try_from(whole.get())
            .ok()
            .filter(|whole| *whole <= MOST);
        let Some(whole) = whole else {
            let what = format!("bag \"{name}\" has too many elements");
            return Err(Error::format(0, what));
        };
        let mut first = before.value() as u64;
        let mut writers = BTreeMap::new();
        for (writer, count) in counts {
            writers.insert(writer, (first, count));
            first = first.saturating_add(count);
        }
        let (me, size) = (comm.rank() as u64, comm.size() as u64);
        let begin =
            |rank: u64| (u128::from(whole) * u128::from(rank) / u128::from(size.max(1))) as u64;
        let own = match writers.get(&me) {
            Some(own) if sources.ranks == size => *own,
            _ => (begin(me), begin(me + 1) - begin(me)),
        };
        bags.insert(
            (*name).to_string(),
            Bag {
                whole,
                own: as_ids(own),
                writers,
            },
        );
    }
    Ok(Bags(bags))
}

/// Number of elements of a bag in the file of a rank.
fn count_of(sources: &Sources, writer: u64, name: &str) -> u64 {
    let source = sources.opened(writer);
    let number = source.and_then(|source| source.number(name));
    let field = number.and_then(|number| sources.field(writer, number).ok());
    match field.map(|field| &field.entry.link) {
        Some(Link::Bag { count }) => *count,
        _ => 0,
    }
}
