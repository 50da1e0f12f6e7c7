//! The records of parts: their tree is the same as that of a collective flush, for any number of parts
//! and in any order, and only the last part completes the dataset.

use super::containers::ContainerPlace;
use super::flush_target::{Checksums, FlushTarget};
use super::part::{self, Copied, PartPlace, RankSource, flush_part, may_split};
use super::paths::Prefix;
use super::{finish, index, rank2file};
use crate::faulty::Faulty;
use crate::format::Scheme;
use crate::format::filemap::{Filemap, Reddesc};
use crate::format::rank2file::RankEntry;
use crate::format::{self, Dataset, FileMeta, RankFiles};
use crate::store::{Durability, Files, posix::Posix};
use crate::tally::CountingFiles;
use crate::transfer::copy::Copier;
use std::collections::BTreeMap;
use std::path::Path;

const FANOUT: u64 = part::FANOUT as u64;

fn dataset(ranks: u64, files: u64) -> Dataset {
    Dataset {
        id: 3,
        name: "ck".into(),
        created: 17,
        flag_ckpt: true,
        ckpt: Some(3),
        files: Some(ranks * files),
        size: Some((0..ranks).sum::<u64>() * files),
        complete: Some(true),
        ..Dataset::default()
    }
}

/// Writes the files of a rank, as many bytes as its number, and its record.
fn source(dir: &Path, rank: u64, ranks: u64, files: u64) -> RankSource {
    let data = dir.join(format!("cache/rank_{rank}"));
    std::fs::create_dir_all(data.join("ck")).unwrap();
    let file = |n: u64| {
        let name = format!("ck/{rank}.{n}");
        std::fs::write(data.join(&name), vec![n as u8; rank as usize]).unwrap();
        let stat = Posix.stat(&data.join(&name)).unwrap().unwrap();
        FileMeta::new(name.as_str().into(), name.as_str().into(), &stat)
    };
    let filemap = Filemap {
        rank: rank as usize,
        ranks: ranks as usize,
        node: "n0".into(),
        prefix: None,
        prefix_id: None,
        bypass: false,
        contained: None,
        dataset: dataset(ranks, files),
        reddesc: Reddesc {
            scheme: Scheme::Single.into(),
            group: "NODE".into(),
            set_id: rank as usize,
            set_rank: 0,
            members: vec![rank as usize],
            set_size: 1,
            set_failures: 0,
            interval: 1,
            store: "/dev/shm".into(),
        },
        files: RankFiles {
            rank: rank as usize,
            files: (0..files).map(file).collect(),
        },
    };
    let record = dir.join(format!("cache/filemap_{rank}"));
    format::write(&Posix, &record, &filemap, Durability::Atomic).unwrap();
    RankSource { record, data }
}

/// A prefix directory in which the flush of a dataset has begun.
fn announced(dir: &Path, dataset: Dataset) -> (Prefix, Dataset) {
    std::fs::create_dir_all(dir.join("prefix/.scr")).unwrap();
    let prefix = Prefix::new(&dir.join("prefix"));
    finish::announce(&Posix, &prefix, &dataset).unwrap();
    (prefix, dataset)
}

fn target_of<'a>(
    files: &'a dyn Files,
    prefix: &'a Prefix,
    checksums: Checksums,
) -> FlushTarget<'a> {
    FlushTarget {
        files,
        prefix,
        metadata: false,
        checksums,
        make_dirs: true,
    }
}

/// All three ranks of a dataset in one part.
fn whole(containers: Option<ContainerPlace>) -> PartPlace {
    PartPlace {
        part: 0,
        parts: 1,
        ranks: 3,
        split: false,
        containers,
    }
}

fn entries(prefix: &Prefix) -> BTreeMap<u64, RankEntry> {
    let mut all = BTreeMap::new();
    let each = |rank, entry: &RankEntry| {
        all.insert(rank, entry.clone());
        Ok(())
    };
    rank2file::for_each(&Posix, &prefix.dataset(3), each).unwrap();
    all
}

/// Flushes a dataset of `ranks` ranks in `parts` parts, rank r in part r % parts, in an order that begins
/// with part `first`. Gives the entries, and the number of files in the dataset's directory.
fn flushed(
    ranks: u64,
    parts: u64,
    files: u64,
    first: u64,
    split: bool,
) -> (BTreeMap<u64, RankEntry>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let (prefix, dataset) = announced(dir.path(), dataset(ranks, files));
    let target = target_of(&Posix, &prefix, Checksums::Record);
    let complete = || {
        let index = index::read(&Posix, &prefix).unwrap();
        index.get(3).unwrap().complete
    };
    for n in 0..parts {
        assert!(!complete(), "part {n} of {parts}");
        let part = (n + first) % parts;
        let place = PartPlace {
            part,
            parts,
            ranks,
            split,
            containers: None,
        };
        let own = (0..ranks).filter(|rank| rank % parts == part);
        let sources: Vec<_> = own
            .map(|rank| source(dir.path(), rank, ranks, files))
            .collect();
        let mut copier = Copier::new(&Posix, 1 << 16);
        let time = || "2026-01-01T00:00:00".to_string();
        flush_part(&target, &mut copier, &dataset, &place, &sources, &time).unwrap();
    }
    assert!(complete());
    let records = Posix.list(&prefix.dataset(3)).unwrap().len();
    let found = entries(&prefix);
    let flat: Vec<RankEntry> = found.values().cloned().collect();
    Posix.remove_tree(&prefix.dataset(3)).unwrap();
    Posix.make_dirs(&prefix.dataset(3)).unwrap();
    rank2file::write_all(&Posix, &prefix.dataset(3), flat).unwrap();
    assert_eq!(entries(&prefix), found, "the same as the flat form");
    (found, records)
}

#[test]
fn the_last_part_completes_the_dataset() {
    for (ranks, parts) in [(1, 1), (4, 1), (5, 2), (7, 7), (130, 65), (70, 70)] {
        for first in [0, parts / 2] {
            let (found, records) = flushed(ranks, parts, 1, first, false);
            assert!(found.keys().copied().eq(0..ranks));
            let sizes = found.iter().map(|(rank, entry)| {
                let sizes = entry.files.values().map(|f| (f.size, f.crc.is_some()));
                (*rank, sizes.collect::<Vec<_>>())
            });
            for (rank, sizes) in sizes {
                assert_eq!(sizes, [(Some(rank), true)]);
            }
            // Summary, leaves, and the branches above them if they are more than a group.
            let branches = if parts > FANOUT {
                parts.div_ceil(FANOUT) + 1
            } else {
                1
            };
            assert_eq!(records as u64, 1 + parts + branches);
        }
    }
}

#[test]
fn a_part_with_many_files_has_several_leaves() {
    assert!(!may_split(64, 10_000) && may_split(128, 10_000));
    for (ranks, parts) in [(3, 1), (4, 2), (66, 66)] {
        let (found, records) = flushed(ranks, parts, 2, 1 % parts, true);
        assert!(found.keys().copied().eq(0..ranks));
        assert!(records as u64 > 2 * parts);
    }
}

/// Each rank has more small files than are synced one by one.
#[test]
fn the_small_files_of_a_part_are_synced_once_before_its_record() {
    let dir = tempfile::tempdir().unwrap();
    let (prefix, dataset) = announced(dir.path(), dataset(3, 20));
    let sources: Vec<_> = (0..3).map(|r| source(dir.path(), r, 3, 20)).collect();
    let files = CountingFiles::new(Posix);
    let tally = files.tally();
    let target = target_of(&files, &prefix, Checksums::Record);
    let place = whole(None);
    let mut copier = Copier::new(&files, 1 << 16);
    let time = || "2026-01-01T00:00:00".to_string();
    flush_part(&target, &mut copier, &dataset, &place, &sources, &time).unwrap();
    assert_eq!(tally.take()["sync_fs"], 1);
}

/// With `SCR_CRC_ON_FLUSH=0` a daemon flushes the remaining files of a run. A file that was damaged meanwhile does not
/// come into the prefix directory, neither plain nor in a container.
#[test]
fn a_file_of_an_ended_run_is_compared_with_its_checksum() {
    let container = ContainerPlace {
        size: 1 << 20,
        begin: 0,
    };
    for (checksums, containers) in [
        (Checksums::beside_a_run(false), None),
        (Checksums::beside_a_run(false), Some(container)),
        (Checksums::beside_a_run(true), None),
        (Checksums::in_a_run(false), None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (prefix, dataset) = announced(dir.path(), dataset(3, 1));
        let sources: Vec<_> = (0..3).map(|r| source(dir.path(), r, 3, 1)).collect();
        let mut copier = Copier::new(&Posix, 1 << 16);
        for source in &sources {
            let mut filemap: Filemap = format::read(&Posix, &source.record).unwrap();
            for file in &mut filemap.files.files {
                let path = file.file.below(&source.data).unwrap();
                file.crc = copier.checksum(&path).unwrap().crc;
            }
            format::write(&Posix, &source.record, &filemap, Durability::Atomic).unwrap();
        }
        let target = target_of(&Posix, &prefix, checksums);
        let place = whole(containers);
        let time = || "2026-01-01T00:00:00".to_string();
        let mut flush = || flush_part(&target, &mut copier, &dataset, &place, &sources, &time);
        let damaged = sources[2].data.join("ck/2.0");
        std::fs::write(&damaged, [0, 1]).unwrap();
        let ignores = checksums == Checksums::Ignore;
        match flush() {
            Ok(_) => assert!(ignores, "{checksums:?}"),
            Err(error) => assert!(error.to_string().contains("SCR-"), "{error}"),
        }
        std::fs::write(&damaged, [0, 0]).unwrap();
        let copied = Copied { files: 3, bytes: 3 };
        assert_eq!(flush().unwrap(), copied);
        assert_eq!(
            flush().unwrap(),
            copied,
            "as an earlier attempt has recorded"
        );
        let recorded = checksums == Checksums::beside_a_run(true);
        for entry in entries(&prefix).values() {
            assert!(entry.files.values().all(|f| f.crc.is_some() == recorded));
        }
    }
}

/// The files in the cache may be worse by now.
#[test]
fn a_record_that_cannot_be_read_for_now_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (prefix, dataset) = announced(dir.path(), dataset(3, 1));
    let sources: Vec<_> = (0..3).map(|r| source(dir.path(), r, 3, 1)).collect();
    let files = Faulty::new(Posix);
    let faults = files.faults();
    let target = target_of(&files, &prefix, Checksums::Record);
    let place = whole(None);
    let mut copier = Copier::new(&files, 1 << 16);
    let time = || "2026-01-01T00:00:00".to_string();
    let mut flush = || flush_part(&target, &mut copier, &dataset, &place, &sources, &time);
    flush().unwrap();
    let before = entries(&prefix);
    let record = prefix.dataset(3).join(rank2file::file_name(0, 0));
    faults.fail_reads(Some((record, libc::EIO)));
    assert_eq!(flush().unwrap_err().errno(), Some(libc::EIO));
    faults.fail_reads(None);
    assert_eq!(entries(&prefix), before);
    flush().unwrap();
}
