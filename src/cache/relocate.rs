//! The parts of a cached dataset that are not on the nodes where their ranks run now: the exchange of
//! parts between ranks, and the removal of the sent copies. `redundancy/relocate.rs` moves them.

use super::dataset;
use super::layout::Layout;
use super::plan::{PartToSend, RecoveryOrder};
use crate::format;
use crate::format::filemap::Filemap;
use crate::redundancy::Set;
use crate::store::Files;
use crate::{Error, Result};
use std::path::PathBuf;

/// The ranks with which a rank exchanges parts before the rebuild, itself first.
pub struct Peers {
    /// The ranks.
    pub set: Set,
    /// The rank that holds the part of each of them.
    pub holders: Vec<usize>,
}

impl Peers {
    /// The peers of `rank`, which has this order.
    pub fn new(order: &RecoveryOrder, rank: usize) -> Result<Peers> {
        let from = order.source.filter(|_| order.holders.is_empty());
        let (mut members, mut holders) = (vec![rank], vec![from.unwrap_or(rank)]);
        for sent in &order.sends {
            if !order.moves_in_rebuild(sent.rank) && !members.contains(&sent.rank) {
                members.push(sent.rank);
                holders.push(rank);
            }
        }
        if let Some(from) = from.filter(|from| !members.contains(from)) {
            members.push(from);
            holders.push(from);
        }
        let set = Set::new(0, members).ok_or_else(|| Error::format(0, "a set is empty"))?;
        Ok(Peers { set, holders })
    }
}

/// Moves the parts that were sent to other ranks to the trash, which [`dataset::empty_trash`]
/// deletes. Returns errors of files that could not be removed; such files do no harm. Local, on the
/// rank that sent the parts.
pub fn discard_sent_parts(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    sends: &[PartToSend],
) -> Vec<Error> {
    let mut errors = Vec::new();
    for sent in sends {
        let layout = &layout.at(sent.level);
        let record = layout.filemap(id, sent.rank);
        // If the record cannot be read, only the name of the redundancy file is unknown.
        let filemap: Option<Filemap> = format::read(files, &record).ok();
        let paths = filemap.map(|filemap| paths(layout, id, sent.rank, &filemap));
        // The record goes first, so that a killed process never leaves a record without its files.
        errors.extend(files.remove_tree(&record).err());
        let own = (!layout.is_common()).then(|| layout.data(id, sent.rank));
        for path in own.into_iter().chain(paths.into_iter().flatten()) {
            errors.extend(dataset::move_to_trash(files, layout, id, &path).err());
        }
    }
    errors
}

/// The redundancy file of a part, and its files if they are in a directory that other ranks also use.
fn paths(layout: &Layout, id: u64, rank: usize, filemap: &Filemap) -> Vec<PathBuf> {
    let data = layout.data(id, rank);
    let files = filemap.files.files.iter().filter(|_| layout.is_common());
    let files = files.filter_map(|file| file.file.below(&data).ok());
    files
        .chain(dataset::redundancy_file(layout, filemap))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Dataset, FileMeta, RankFiles, Reddesc, Scheme};
    use crate::store::posix::Posix;
    use std::path::Path;

    const ID: u64 = 5;

    fn layout(root: &Path) -> Layout {
        Layout::new(root, "user1", "1001")
    }

    fn reddesc(rank: usize) -> Reddesc {
        Reddesc {
            scheme: Scheme::Xor.into(),
            group: "NODE".into(),
            set_id: 0,
            set_rank: rank,
            members: vec![0, 1, 2],
            set_size: 8,
            set_failures: 1,
            interval: 1,
            store: "/dev/shm".into(),
        }
    }

    fn order(rank: usize, source: usize, sends: &[usize], holders: &[usize]) -> RecoveryOrder {
        RecoveryOrder {
            reddesc: reddesc(rank),
            source: Some(source),
            level: None,
            sends: sends.iter().map(|&rank| sent(rank)).collect(),
            holders: holders.to_vec(),
        }
    }

    fn sent(rank: usize) -> PartToSend {
        PartToSend { rank, level: None }
    }

    /// Writes the part of `rank` with one file and a redundancy file.
    fn write(layout: &Layout, rank: usize) {
        dataset::make_empty_directories_of(&Posix, layout, ID, rank).unwrap();
        let path = layout.data(ID, rank).join("f");
        std::fs::write(&path, b"content").unwrap();
        let stat = Posix.stat(&path).unwrap().unwrap();
        let filemap = Filemap {
            rank,
            ranks: 3,
            node: "n".into(),
            prefix: None,
            prefix_id: None,
            bypass: false,
            contained: None,
            dataset: Dataset {
                id: ID,
                ..Dataset::default()
            },
            reddesc: reddesc(rank),
            files: RankFiles {
                rank,
                files: vec![FileMeta::new("f".into(), "f".into(), &stat)],
            },
        };
        let parity = dataset::redundancy_file(layout, &filemap).unwrap();
        std::fs::write(parity, b"redundancy").unwrap();
        dataset::write_record(&Posix, layout, &filemap).unwrap();
    }

    #[test]
    fn the_peers_of_a_rank_are_those_that_it_exchanges_parts_with_before_the_rebuild() {
        for (source, sends, holders, peers) in [
            (1, vec![], vec![], (vec![1], vec![1])),
            (4, vec![], vec![], (vec![1, 4], vec![4, 4])),
            (4, vec![4, 0], vec![], (vec![1, 4, 0], vec![4, 1, 1])),
            // The parts of the own set are moved in the rebuild.
            (2, vec![0], vec![1, 2, 2], (vec![1], vec![1])),
            (2, vec![5], vec![0, 2, 2], (vec![1, 5], vec![1, 1])),
        ] {
            let found = Peers::new(&order(1, source, &sends, &holders), 1).unwrap();
            assert_eq!((found.set.members.to_vec(), found.holders), peers);
            assert_eq!(found.set.index, 0);
        }
    }

    #[test]
    fn a_part_that_was_sent_is_removed_and_no_other() {
        for readable in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let layout = layout(dir.path());
            (0..2).for_each(|rank| write(&layout, rank));
            let record = layout.filemap(ID, 1);
            if !readable {
                std::fs::write(&record, b"no record").unwrap();
            }
            assert_eq!(discard_sent_parts(&Posix, &layout, ID, &[sent(1)]), []);
            assert!(!record.exists() && !layout.data(ID, 1).exists());
            let redundancy = |rank| layout.meta(ID).join(format!("{}_of_3_in_0.xor", rank + 1));
            assert_eq!(redundancy(1).exists(), !readable);
            assert!(layout.filemap(ID, 0).exists() && redundancy(0).exists());
            assert!(layout.data(ID, 0).join("f").exists());
        }
    }
}
