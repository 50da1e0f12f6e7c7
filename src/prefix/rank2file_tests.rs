//! The map of ranks and files, written and read on thread ranks, with several leaves; and hostile
//! maps.

use super::rank2file::*;
use crate::comm::Communicator;
use crate::counting::CountingComm;
use crate::format::rank2file::{BASE, Branch, BranchChild, Leaf, RankEntry, packed_size};
use crate::format::{self, FileMeta, Name, RankFiles};
use crate::store::posix::Posix;
use crate::store::{Durability, Files};
use crate::tally::CountingFiles;
use crate::threads;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

/// An entry of about 600 kB, so that two of four entries begin a leaf.
fn large(rank: u64) -> RankEntry {
    entry((0..200u32).map(|file| {
        let name = format!("{file}/{rank}/{}", "x".repeat(3000));
        (Name::from(name), u64::from(file), Some(file))
    }))
}

fn names(dir: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

/// Writes the tree as a flush does: the leaves by all ranks, then the branches by rank 0.
fn write(comm: &dyn Communicator, files: &dyn Files, dir: &Path, mine: &RankEntry) {
    let leaves = write_leaves_together(comm, &RecordTarget::new(files, dir), mine).unwrap();
    let leaves = leaves.result().unwrap();
    comm.barrier().unwrap();
    if comm.rank() == 0 {
        write_branches(files, dir, comm.size() as u64, &leaves).unwrap();
    }
    comm.barrier().unwrap();
}

#[test]
fn ranks_together_write_what_one_process_writes() {
    let (alone, together) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_all(&Posix, alone.path(), (0..4).map(large).collect()).unwrap();
    threads::run(4, |comm| {
        let mine = large(comm.rank() as u64);
        write(&*comm, &Posix, together.path(), &mine);
    });
    let expected = [
        "rank2file",
        "rank2file.0.0",
        "rank2file.0.1",
        "rank2file.0.3",
    ];
    assert_eq!(names(alone.path()), expected);
    assert_eq!(names(together.path()), expected);
    for name in expected {
        let content = |dir: &Path| std::fs::read(dir.join(name)).unwrap();
        assert_eq!(content(alone.path()), content(together.path()), "{name}");
    }
}

#[test]
fn each_rank_gets_its_own_entry_and_each_leaf_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_all(&Posix, dir, (0..4).map(large).collect()).unwrap();
    assert_eq!(ranks(&Posix, dir), Ok(4));
    let entries = threads::run(4, |comm| {
        read(&*comm, &Posix, dir).unwrap().result().unwrap()
    });
    assert!(entries.into_iter().eq((0..4).map(large)));
    let mut seen = BTreeMap::new();
    for_each(&Posix, dir, |rank, entry| {
        seen.insert(rank, entry.clone());
        Ok(())
    })
    .unwrap();
    assert!(seen.into_iter().eq((0..4).map(|rank| (rank, large(rank)))));
    // Three leaves, of ranks 0, 1 and 3: of four ranks those read them that wrote them.
    for (ranks, readers) in [
        (1, vec![vec![0, 1, 2, 3]]),
        (2, vec![vec![0, 1, 2], vec![3]]),
        (3, vec![vec![0, 1, 2], vec![], vec![3]]),
        (4, vec![vec![0], vec![1, 2], vec![], vec![3]]),
        (
            7,
            vec![vec![0], vec![1, 2], vec![], vec![], vec![], vec![3], vec![]],
        ),
    ] {
        let found = threads::run(ranks, |comm| {
            let mut mine = Vec::new();
            let each = |rank, _| {
                mine.push(rank);
                Ok(())
            };
            for_each_shared(&*comm, &Posix, dir, each)
                .unwrap()
                .result()
                .unwrap();
            mine
        });
        assert_eq!(found, readers);
    }
}

#[test]
fn more_ranks_than_wrote_it_are_told_that_they_have_no_entry() {
    let dir = tempfile::tempdir().unwrap();
    let small = |file: &str| entry([(Name::from(file), 1, None)]);
    write_all(&Posix, dir.path(), vec![small("a"), small("b")]).unwrap();
    let got = threads::run(3, |comm| read(&*comm, &Posix, dir.path()).unwrap().result());
    assert_eq!(got[..2], [Ok(small("a")), Ok(small("b"))]);
    let text = got[2].as_ref().unwrap_err().to_string();
    assert!(text.ends_with("rank2file: rank 2 has no entry"), "{text}");
    // Fewer ranks pass over entries that are not theirs.
    let got = threads::run(1, |comm| read(&*comm, &Posix, dir.path()).unwrap().result());
    assert_eq!(got, [Ok(small("a"))]);
}

/// 200 files, with paths of about 100 bytes.
fn of_200_files(rank: u64) -> RankEntry {
    entry((0..200u32).map(|file| {
        let name = format!("{}/rank_{rank}/file_{file}.dat", "checkpoint".repeat(8));
        let crc = (rank as u32).wrapping_mul(77).wrapping_add(file);
        (Name::from(name), 4096, Some(crc))
    }))
}

/// About 1 MiB of entries go into one file; the last one may begin there and end in the next.
const BOUND: u64 = (1 << 20) + (1 << 17);

#[test]
fn no_rank_reads_or_writes_more_than_the_bound_and_the_content_is_that_of_one_process() {
    const RANKS: usize = 300;
    let (alone, together) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_all(
        &Posix,
        alone.path(),
        (0..RANKS as u64).map(of_200_files).collect(),
    )
    .unwrap();
    // File bytes written and read, and message bytes sent while writing and while reading.
    let counts = threads::run(RANKS, |comm| {
        let (comm, files) = (CountingComm::new(comm), CountingFiles::new(Posix));
        let mine = of_200_files(comm.rank() as u64);
        write(&comm, &files, together.path(), &mine);
        let sent_to_write = comm.tally().take().bytes;
        comm.barrier().unwrap();
        assert_eq!(
            read(&comm, &files, together.path()).unwrap().result(),
            Ok(mine)
        );
        let (read, written) = files.tally().bytes();
        [written, read, sent_to_write, comm.tally().take().bytes]
    });
    let names_alone = names(alone.path());
    assert!(names_alone.len() > 5, "{names_alone:?}");
    assert_eq!(names(together.path()), names_alone);
    for name in names_alone {
        let content = |dir: &Path| std::fs::read(dir.join(&name)).unwrap();
        assert_eq!(content(alone.path()), content(together.path()), "{name:?}");
    }
    let most = |at: usize| counts.iter().map(|count| count[at]).max().unwrap();
    let most = [most(0), most(1), most(2), most(3)];
    println!("most bytes written, read, sent to write, sent to read: {most:?}");
    assert!(most.iter().all(|bytes| *bytes < BOUND), "{most:?}");
    // The bound is not met by chance: all ranks together exceed it.
    let all: u64 = counts.iter().map(|count| count[0]).sum();
    assert!(all > 5 * BOUND, "{all}");
}

#[test]
fn a_rank_with_a_large_entry_writes_no_more_than_that_and_the_bound() {
    let size = |rank: u64| match rank {
        2 => 600,
        5 => 1,
        _ => 90,
    };
    let of = |rank: u64| {
        entry((0..size(rank)).map(|file| {
            let name = format!("{file}/{rank}/{}", "x".repeat(3000));
            (Name::from(name), file, None)
        }))
    };
    let (alone, together) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_all(&Posix, alone.path(), (0..9).map(of).collect()).unwrap();
    let written = threads::run(9, |comm| {
        let files = CountingFiles::new(Posix);
        let mine = of(comm.rank() as u64);
        write(&*comm, &files, together.path(), &mine);
        files.tally().bytes().1
    });
    assert!(
        written.iter().all(|bytes| *bytes < 2 * BOUND + (1 << 20)),
        "{written:?}"
    );
    for name in names(alone.path()) {
        let content = |dir: &Path| std::fs::read(dir.join(&name)).unwrap();
        assert_eq!(content(alone.path()), content(together.path()), "{name:?}");
    }
}

#[test]
fn entries_of_one_power_of_two_do_not_end_in_one_leaf() {
    // Packed to 2^17 bytes each, so that every eighth begins at a multiple of 1 MiB.
    let of = |rank: u64| {
        let one = |length: usize| entry([(Name::from("x".repeat(length)), rank, Some(1))]);
        let rest = packed_size(&one(1)).unwrap();
        one((1 << 17) - rest as usize + 1)
    };
    let dir = tempfile::tempdir().unwrap();
    threads::run(20, |comm| {
        let mine = of(comm.rank() as u64);
        assert_eq!(packed_size(&mine), Ok(1 << 17));
        write(&*comm, &Posix, dir.path(), &mine);
        assert_eq!(read(&*comm, &Posix, dir.path()).unwrap().result(), Ok(mine));
    });
    let leaves = [
        "rank2file",
        "rank2file.0.0",
        "rank2file.0.16",
        "rank2file.0.8",
    ];
    assert_eq!(names(dir.path()), leaves);
}

#[test]
fn a_deep_tree_is_read_by_all_ranks_together() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let of = |rank: u64| entry([(Name::from(format!("f{rank}")), rank, None)]);
    // Two branches above two leaves each, below the top; each leaf has two ranks.
    put(dir, BASE, &Branch::new(2, 8, [0, 4]));
    for writer in [0, 4] {
        let name = format!("rank2file.1.{writer}");
        put(dir, &name, &Branch::new(1, 8, [writer, writer + 2]));
        for leaf in [writer, writer + 2] {
            let entries = [leaf, leaf + 1].map(|rank| (rank, of(rank)));
            put(
                dir,
                &format!("rank2file.0.{leaf}"),
                &Leaf::new(8, entries.into()),
            );
        }
    }
    for ranks in [8, 3, 11] {
        let got = threads::run(ranks, |comm| {
            let files = CountingFiles::new(Posix);
            let got = read(&*comm, &files, dir).unwrap().result();
            (got, files.tally().take().get("open").copied().unwrap_or(0))
        });
        for (rank, (got, opened)) in (0..).zip(&got) {
            match rank {
                0..8 => assert_eq!(got, &Ok(of(rank))),
                _ => assert!(got.is_err()),
            }
            // Nobody reads all of the 7 files.
            assert!(*opened < 7, "rank {rank} of {ranks}");
        }
        assert_eq!(got.iter().map(|(_, opened)| opened).sum::<u64>(), 7);
    }
}

fn put<T: Serialize>(dir: &Path, name: &str, record: &T) {
    format::write(&Posix, &dir.join(name), record, Durability::Atomic).unwrap();
}

fn branch(level: u32, files: &[&str]) -> Branch {
    let child = |(rank, suffix): (u64, &&str)| {
        let suffix = Name::from(*suffix);
        (rank, BranchChild { suffix, offset: 0 })
    };
    Branch {
        level,
        ranks: 1,
        children: (0..).zip(files).map(child).collect(),
    }
}

#[test]
fn maps_that_lead_nowhere_or_in_a_circle_are_refused() {
    let leaf = || Leaf::new(1, BTreeMap::from([(0, RankEntry::default())]));
    type Put = fn(&Path);
    let cases: [(Put, &str); 7] = [
        (
            |dir| put(dir, BASE, &branch(17, &[".0.0"])),
            "rank2file: has level 17 below level 17",
        ),
        (
            |dir| {
                put(dir, BASE, &branch(2, &[".1.0"]));
                put(dir, "rank2file.1.0", &branch(2, &[".1.1"]));
            },
            "rank2file.1.0: has level 2 below level 2",
        ),
        (
            |dir| put(dir, BASE, &branch(1, &[".0.0", ".0.0"])),
            "rank2file: names rank2file.0.0, which another entry names too",
        ),
        (
            |dir| {
                put(dir, BASE, &branch(1, &[".0.0"]));
                put(dir, "rank2file.0.0", &branch(1, &[".0.0"]));
            },
            "rank2file.0.0: is a branch where a leaf must be",
        ),
        (
            |dir| put(dir, BASE, &Leaf::new(1, BTreeMap::new())),
            "is a leaf where a branch must be",
        ),
        (
            |dir| put(dir, BASE, &branch(1, &[".1.0"])),
            "not the suffix of a file below level 1",
        ),
        (|dir| put(dir, BASE, &branch(1, &[".0.7"])), "rank2file.0.7"),
    ];
    for (put, why) in cases {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path());
        let text = for_each(&Posix, dir.path(), |_, _| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(text.contains(why), "{text}");
        // Only the rank that reads that part has the error; the other one has no files.
        let got = threads::run(2, |comm| read(&*comm, &Posix, dir.path()).unwrap().result());
        assert!(got.iter().any(Result::is_err), "{why}");
        for got in got {
            match got {
                Ok(entry) => assert_eq!(entry, RankEntry::default()),
                Err(error) => assert!(error.to_string().contains(why), "{error}"),
            }
        }
    }
    // As deep as can be, and a rank that two leaves name.
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), BASE, &branch(16, &[".0.0"]));
    put(dir.path(), "rank2file.0.0", &leaf());
    let got = threads::run(1, |comm| read(&*comm, &Posix, dir.path()).unwrap().result());
    assert_eq!(got, [Ok(RankEntry::default())]);
    put(dir.path(), BASE, &branch(16, &[".0.0", ".0.1"]));
    put(dir.path(), "rank2file.0.1", &leaf());
    let got = threads::run(1, |comm| read(&*comm, &Posix, dir.path()).unwrap().result());
    let text = got[0].as_ref().unwrap_err().to_string();
    assert!(text.ends_with("rank 0 has more than one entry"), "{text}");
}

#[test]
fn an_entry_says_of_each_file_what_is_known() {
    let meta = |name: &str, crc| FileMeta {
        file: name.into(),
        orig: name.into(),
        size: 7,
        crc,
        complete: true,
        mode: 0o100_640,
        uid: 1000,
        gid: 1000,
        atime: (1, 2),
        ctime: (3, 4),
        mtime: (5, 6),
    };
    let list = RankFiles {
        rank: 3,
        files: vec![meta("b", None), meta("a", Some(9))],
    };
    let entry = entry_of(&list);
    assert_eq!(entry.count, None);
    let found: BTreeSet<_> = entry
        .files
        .iter()
        .map(|(name, file)| (name.to_string(), file.size, file.crc))
        .collect();
    let expected = [
        ("a".to_string(), Some(7), Some(9)),
        ("b".to_string(), Some(7), None),
    ];
    assert_eq!(found, expected.into());
}
