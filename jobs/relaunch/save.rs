//! Decides which datasets are saved after a job, and in which order (`scr_postrun`).

use scr_engine::format::flush_file::{FlushEntry, FlushFile};
use scr_engine::format::index::{Index, IndexEntry};
use std::collections::BTreeMap;

/// A dataset in the caches of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SaveCandidate {
    /// True if it must be in the prefix directory.
    pub output: bool,
    /// True if a run can restart from it.
    pub checkpoint: bool,
    /// True if the prefix directory has the whole dataset.
    pub saved: bool,
}

/// The result of [`save`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaveResult {
    /// Datasets that were saved.
    pub new: Vec<u64>,
    /// Datasets that could not be saved.
    pub failed: Vec<u64>,
    /// The newest checkpoint in the prefix directory.
    pub checkpoint: Option<u64>,
}

/// The parts of a dataset in the caches of the nodes that are up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldOnNodes {
    /// The dataset, which is not in the prefix directory.
    pub item: SaveCandidate,
    /// Number of ranks with records.
    pub here: u64,
    /// Number of ranks that wrote it.
    pub ranks: u64,
}

/// The state of a dataset in the prefix directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InPrefix {
    /// All parts are there.
    Whole,
    /// The user has taken it out of the index, or a newer dataset has its name there: it is not saved.
    Unwanted,
    /// A part is missing, or the index is not known.
    Other,
}

/// The datasets of the flush file. A flushed dataset may have been deleted or dropped since, which only
/// `index` knows; without the index nothing counts as saved.
pub fn recorded(record: &FlushFile, index: Option<&Index>) -> BTreeMap<u64, SaveCandidate> {
    let item = |(id, entry): (&u64, &FlushEntry)| {
        let saved = index.map_or(InPrefix::Other, |index| in_prefix(*id, entry, index));
        let item = SaveCandidate {
            output: entry.output,
            checkpoint: entry.ckpt,
            saved: saved == InPrefix::Whole,
        };
        (saved != InPrefix::Unwanted).then_some((*id, item))
    };
    record.datasets.iter().filter_map(item).collect()
}

/// The state in `index` of a dataset of the flush file.
fn in_prefix(id: u64, entry: &FlushEntry, index: &Index) -> InPrefix {
    let own = entry.dataset.as_ref();
    if own.is_some_and(|own| index.newer_of_name(own).is_some()) {
        return InPrefix::Unwanted;
    }
    let same = |known: &&IndexEntry| match (&known.dataset, own) {
        (Some(known), Some(own)) => known.created == own.created,
        // SCR v3.1.0 leaves the description out.
        _ => true,
    };
    match index.get(id).filter(same) {
        _ if entry.needs_flush() => InPrefix::Other,
        None => InPrefix::Unwanted,
        Some(known) if known.is_good() => InPrefix::Whole,
        Some(_) => InPrefix::Other,
    }
}

/// The datasets in the flush file, and those with parts on nodes: a run may be killed after it has
/// completed a dataset and before it enters it in the flush file. `all_up`: no node is down.
pub fn candidates(
    record: &FlushFile,
    index: Option<&Index>,
    held: BTreeMap<u64, HeldOnNodes>,
    all_up: bool,
) -> BTreeMap<u64, SaveCandidate> {
    let mut items = recorded(record, index);
    let new = |id: &u64| !record.datasets.contains_key(id);
    for (id, held) in held.into_iter().filter(|(id, _)| new(id)) {
        // If all nodes are up, ranks without a record have never completed the dataset.
        let unfinished = all_up && held.here < held.ranks;
        if !unfinished {
            items.insert(id, held.item);
        }
    }
    items
}

/// Calls `save`, which returns true on success, for one dataset after the other: first for output,
/// oldest first, until one fails; then for checkpoints, newest first, until one is in the prefix
/// directory. After output that failed, only older checkpoints count, so that a restart writes that
/// output again.
pub fn save<E>(
    items: &BTreeMap<u64, SaveCandidate>,
    mut save: impl FnMut(u64) -> Result<bool, E>,
) -> Result<SaveResult, E> {
    let mut done = SaveResult::default();
    let mut limit = None;
    let mut one = |id: u64, item: &SaveCandidate, done: &mut SaveResult| {
        if item.saved || done.new.contains(&id) {
            return Ok(true);
        }
        let good = save(id)?;
        if good {
            done.new.push(id)
        } else {
            done.failed.push(id)
        }
        Ok(good)
    };
    for (id, item) in items.iter().filter(|(_, item)| item.output) {
        if !one(*id, item, &mut done)? {
            limit = Some(*id);
            break;
        }
    }
    let before = |id: u64| limit.is_none_or(|limit| id < limit);
    let checkpoints = items
        .iter()
        .rev()
        .filter(|(id, item)| item.checkpoint && before(**id));
    for (id, item) in checkpoints {
        if one(*id, item, &mut done)? {
            done.checkpoint = Some(*id);
            break;
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_engine::format::Dataset;
    use scr_engine::format::flush_file::PFS;
    use std::convert::Infallible;

    /// Datasets with ids from 1: `c` checkpoint, `o` output, `b` both; upper case if already saved.
    fn run(kinds: &str, fail: &[u64]) -> (Vec<u64>, SaveResult) {
        let items = (1..).zip(kinds.chars()).map(|(id, kind)| {
            let item = SaveCandidate {
                output: matches!(kind, 'o' | 'b' | 'O' | 'B'),
                checkpoint: matches!(kind, 'c' | 'b' | 'C' | 'B'),
                saved: kind.is_uppercase(),
            };
            (id, item)
        });
        let mut tried = Vec::new();
        let saved = save(&items.collect(), |id| {
            tried.push(id);
            Ok::<_, Infallible>(!fail.contains(&id))
        });
        (tried, saved.unwrap())
    }

    #[test]
    fn the_order() {
        for (kinds, fail, tried, checkpoint) in [
            ("", &[][..], &[][..], None),
            ("ccc", &[], &[3], Some(3)),
            ("ccc", &[3], &[3, 2], Some(2)),
            ("ccc", &[1, 2, 3], &[3, 2, 1], None),
            ("cCc", &[3], &[3], Some(2)),
            ("ccC", &[], &[], Some(3)),
            ("ococ", &[], &[1, 3, 4], Some(4)),
            ("ococ", &[3], &[1, 3, 2], Some(2)),
            ("ococ", &[1], &[1], None),
            ("cbb", &[], &[2, 3], Some(3)),
            ("cbb", &[3], &[2, 3], Some(2)),
            ("oO", &[], &[1], None),
        ] {
            let (order, saved) = run(kinds, fail);
            assert_eq!(order, tried, "{kinds} {fail:?}");
            assert_eq!(saved.checkpoint, checkpoint, "{kinds} {fail:?}");
            let failed: Vec<u64> = tried
                .iter()
                .copied()
                .filter(|id| fail.contains(id))
                .collect();
            assert_eq!(saved.failed, failed);
        }
    }
    /// Three checkpoints that were flushed, and one that was not. Since then the second was deleted and the third
    /// has failed.
    #[test]
    fn what_the_index_has_lost_is_not_saved() {
        let (mut record, mut index) = (FlushFile::default(), Index::default());
        for id in 1..=4 {
            let dataset = Dataset {
                id,
                name: format!("ck.{id}").into(),
                ckpt: Some(id),
                created: id,
                ..Dataset::default()
            };
            let mut entry = FlushEntry::cached(dataset.clone());
            if id < 4 {
                entry.set_flush(Some(PFS));
                index.set_complete(dataset, "now");
            }
            entry.ckpt = true;
            record.datasets.insert(id, entry);
        }
        index.remove_id(2);
        index.mark_failed(3, "now");
        let saved = |index: Option<&Index>| {
            let items = candidates(&record, index, BTreeMap::from([(2, held())]), true);
            let told = items.iter().map(|(id, item)| (*id, item.saved));
            told.collect::<Vec<_>>()
        };
        assert_eq!(saved(Some(&index)), [(1, true), (3, false), (4, false)]);
        let none = [(1, false), (2, false), (3, false), (4, false)];
        assert_eq!(saved(None), none);
        // Another dataset has that number now.
        index.add(Dataset {
            id: 1,
            created: 9,
            ..Dataset::default()
        });
        assert_eq!(saved(Some(&index)), [(3, false), (4, false)]);
        // A newer dataset has the name of the last one.
        index.set_complete(
            Dataset {
                id: 5,
                name: "ck.4".into(),
                created: 5,
                ..Dataset::default()
            },
            "now",
        );
        assert_eq!(saved(Some(&index)), [(3, false)]);
    }

    fn held() -> HeldOnNodes {
        HeldOnNodes {
            item: SaveCandidate::default(),
            here: 1,
            ranks: 1,
        }
    }
}
