//! The metadata of one dataset of very many ranks: written by our own writers, read as commands and the next run
//! read them.

use crate::job::in_memory;
use crate::{alone, memory, number};
use scr::format::Dataset;
use scr::format::rank2file::{FileEntry, RankEntry};
use scr::prefix::finish::{self, Entering};
use scr::prefix::paths::Prefix;
use scr::prefix::{index, rank2file};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_jobs::tally::CountingFiles;
use std::path::Path;
use std::time::Instant;

const SIZE: u64 = 1;

fn file_of(rank: u64) -> String {
    format!("ck.1/{}/rank_{rank}.dat", rank / 1000)
}

fn entry_of(rank: u64) -> RankEntry {
    let file = FileEntry {
        size: Some(SIZE),
        crc: Some(0xd202_ef8d),
        ..FileEntry::default()
    };
    RankEntry {
        count: None,
        files: [(file_of(rank).as_str().into(), file)].into(),
    }
}

/// Writes the files of all ranks, and a rank2file with a leaf for each `part` of ranks; with 0, with leaves of a
/// megabyte, as a flush that is waited for does.
fn write(prefix: &Prefix, ranks: u64, part: u64) -> Dataset {
    let dataset = Dataset {
        id: 1,
        name: "ck.1".into(),
        flag_ckpt: true,
        ckpt: Some(1),
        created: 1,
        files: Some(ranks),
        size: Some(ranks * SIZE),
        ..Dataset::default()
    };
    for rank in 0..ranks {
        let path = prefix.root().join(file_of(rank));
        if rank % 1000 == 0 {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        std::fs::write(path, b"0").unwrap();
    }
    finish::announce(&Posix, prefix, &dataset).unwrap();
    let dir = prefix.dataset(1);
    let entries = |from: u64, to: u64| (from..to).map(|rank| (rank, entry_of(rank)));
    if part == 0 {
        rank2file::write_leaves(&Posix, &dir, ranks, entries(0, ranks), |first| first).unwrap();
    } else {
        for number in 0..ranks.div_ceil(part) {
            let some = entries(number * part, ranks.min((number + 1) * part));
            rank2file::write_leaves(&Posix, &dir, ranks, some, |_| number).unwrap();
        }
    }
    dataset
}

/// Tells what a step takes.
fn measure<T>(what: &str, files: &CountingFiles<Posix>, work: impl FnOnce(&dyn Files) -> T) -> T {
    let tally = files.tally();
    tally.take();
    memory::take_peak();
    let (before, live, begun) = (tally.bytes(), memory::live(), Instant::now());
    let result = work(files);
    let seconds = begun.elapsed().as_secs_f64();
    let (read, written) = tally.bytes();
    let counts = tally.take();
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    println!(
        "{what}: {seconds:.3} s, {} opens, {} stats, {} lists, {} bytes read, {} written, {} bytes of memory",
        of("open"),
        of("stat"),
        of("list"),
        read - before.0,
        written - before.1,
        memory::take_peak().saturating_sub(live)
    );
    result
}

/// Files and bytes in a directory.
fn contents(dir: &Path) -> (usize, u64) {
    let listed = std::fs::read_dir(dir).unwrap();
    let sizes: Vec<u64> = listed
        .map(|e| e.unwrap().metadata().unwrap().len())
        .collect();
    (sizes.len(), sizes.iter().sum())
}

/// By hand: `SCR_GROWTH_RANKS=1048576`, and `SCR_GROWTH_PER_NODE=64` for the leaves of a flush in the background.
/// `SCR_GROWTH_KEEP=1` keeps the prefix directory, for commands.
#[test]
fn the_records_of_many_ranks_are_written_and_read_in_pieces() {
    let _alone = alone();
    let site = in_memory();
    let ranks = number("SCR_GROWTH_RANKS", 20_000) as u64;
    std::fs::create_dir(site.prefix().join(".scr")).unwrap();
    let prefix = Prefix::new(&site.prefix());
    let files = CountingFiles::new(Posix);
    let part = number("SCR_GROWTH_PER_NODE", 0) as u64;
    let dataset = measure("write", &files, |_| write(&prefix, ranks, part));
    let time = || "2026-01-01T00:00:00".to_string();
    let sealed = measure("seal after a kill", &files, |files| {
        finish::seal_if_whole(files, &prefix, &dataset).unwrap()
    });
    assert!(sealed.is_some());
    measure("complete", &files, |files| {
        finish::complete(files, &prefix, &dataset, Entering::Announced, &time).unwrap()
    });
    let (count, bytes) = contents(&prefix.dataset(1));
    println!(
        "{ranks} ranks: {count} files, {bytes} bytes in {}",
        prefix.dataset(1).display()
    );
    let listed = measure("index", &files, |files| {
        index::read(files, &prefix).unwrap()
    });
    assert_eq!(listed.datasets().len(), 1);
    let mut seen = 0;
    measure("read all entries", &files, |files| {
        let each = |_, _: &RankEntry| {
            seen += 1;
            Ok(())
        };
        rank2file::for_each(files, &prefix.dataset(1), each).unwrap();
    });
    assert_eq!(seen, ranks);
    if number("SCR_GROWTH_KEEP", 0) == 1 {
        println!("kept: {:?}", site.dir.own.map(tempfile::TempDir::keep));
    }
}
