//! In a restart on another number of ranks, a file goes from the prefix directory to the cache once a
//! node, however many ranks of the node read it.

use crate::site::{Rank, Site, content};
use scr::format::Name;
use scr::format::index::Index;
use scr::store::Files;
use scr::store::posix::Posix;
use scr_jobs::datasets::cached::list_datasets;
use scr_jobs::tally::{CountingFiles, FileTally};
use scr_testing::faulty::{Faults, Faulty};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

/// Four ranks on two nodes wrote it.
const WRITERS: [&str; 4] = ["n0", "n0", "n1", "n1"];
/// Two of them on one node.
const THREE: [&str; 3] = ["n0", "n0", "n1"];
const SIX: [&str; 6] = ["n0", "n0", "n0", "n1", "n1", "n1"];
const TWELVE: [&str; 12] = [
    "n0", "n0", "n0", "n0", "n0", "n0", "n1", "n1", "n1", "n1", "n1", "n1",
];

const HEADER: &str = "ck/header";
/// Bytes of the header, which only rank 0 writes. More than one piece of a copy.
const LARGE: usize = 1_200_000;

fn part(rank: usize) -> (String, Vec<u8>) {
    let name = format!("ck/parts/{rank}");
    let bytes = content(&name, rank, 3000 + rank);
    (name, bytes)
}

/// All files: names and contents.
fn all_files() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = (0..WRITERS.len()).map(part).collect();
    all.push((HEADER.to_string(), content(HEADER, 0, LARGE)));
    all
}

fn all_bytes() -> u64 {
    all_files().iter().map(|(_, b)| b.len() as u64).sum()
}

/// A site whose prefix directory has a checkpoint, and whose nodes have nothing. Fetched files go to
/// the cache.
fn flushed(given: &[(&str, &str)]) -> Site {
    let mut site = Site::new().set("SCR_FLUSH", "1");
    for (name, value) in given {
        site = site.set(name, value);
    }
    site.run(&WRITERS, |rank| {
        let name = Some(Name::from("ck"));
        rank.session.start_output(name, true, false).unwrap();
        let mut files = vec![part(rank.rank)];
        files.extend((rank.rank == 0).then(|| (HEADER.to_string(), content(HEADER, 0, LARGE))));
        for (name, bytes) in files {
            let path = rank.session.route(Path::new(&name)).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        rank.session.complete_output(true).unwrap();
    });
    for node in ["n0", "n1"] {
        site.lose(node);
    }
    site.set("SCR_CACHE_BYPASS", "0")
}

/// The checkpoint is offered, and the restart begins.
fn begin(rank: &mut Rank) {
    rank.session.allow_other_ranks(true).unwrap();
    assert_eq!(rank.session.have_restart().unwrap(), Some("ck".into()));
    rank.session.start_restart().unwrap();
}

/// Opens a file by its name, and compares every byte. Where it was.
fn read(rank: &mut Rank, (name, bytes): &(String, Vec<u8>)) -> PathBuf {
    let path = rank.session.route(Path::new(name)).unwrap();
    assert!(std::fs::read(&path).unwrap() == *bytes, "{name}");
    path
}

/// What a node has of restarts.
fn left(site: &Site) -> Vec<String> {
    let nodes = ["n0", "n1"].into_iter();
    nodes
        .flat_map(|node| site.entries(node, "scr.restart."))
        .collect()
}

/// A site with a counting file system for each of so many ranks.
fn counted(mut site: Site, ranks: usize) -> (Site, Vec<FileTally>) {
    let counting: Vec<_> = (0..ranks)
        .map(|_| Arc::new(CountingFiles::new(Posix)))
        .collect();
    let tallies = counting.iter().map(|files| files.tally()).collect();
    let each = counting.into_iter();
    site.by_rank = each.map(|files| Some(files as Arc<dyn Files>)).collect();
    (site, tallies)
}

#[test]
fn what_all_ranks_read_is_read_once_a_node() {
    // Of the three ranks one is alone on its node, and reads in the prefix directory.
    for (nodes, copying) in [(&THREE[..], 1), (&TWELVE[..], 2)] {
        for checksums in ["1", "0"] {
            let site = flushed(&[("SCR_CRC_ON_FLUSH", checksums)]).set("SCR_DEBUG", "1");
            let (site, tallies) = counted(site, nodes.len());
            let read = site.run(nodes, |rank| {
                begin(rank);
                let tally = &tallies[rank.rank];
                // From here on the rank reads no record, only files.
                rank.session.restart_files_of(0).unwrap();
                let before = tally.bytes().0;
                let alone = nodes.iter().filter(|n| **n == nodes[rank.rank]).count() == 1;
                for file in all_files() {
                    let path = read(rank, &file);
                    let place = if alone {
                        site.prefix()
                    } else {
                        site.cache(nodes[rank.rank])
                    };
                    assert!(path.starts_with(&place), "{}", path.display());
                    assert_eq!(rank.session.route(Path::new(&file.0)).unwrap(), path);
                }
                let read = tally.bytes().0 - before;
                rank.session.complete_restart(true).unwrap();
                rank.finalize().unwrap();
                read
            });
            assert_eq!(read.iter().sum::<u64>(), all_bytes() * copying, "{nodes:?}");
            assert_eq!(left(&site), [""; 0]);
            let told = site.heard("from the prefix directory to the cache, each once a node");
            assert_eq!(told.len(), 1, "{:?}", site.events.lines());
            let files = format!("ck): {} files", all_files().len() as u64 * copying);
            assert!(told[0].contains(&files), "{told:?}");
        }
    }
}

#[test]
fn ranks_that_read_other_files_or_none_get_along() {
    let site = flushed(&[]);
    site.run(&SIX, |rank| {
        begin(rank);
        let all = all_files();
        // Rank 5 reads none.
        for file in all.iter().skip(rank.rank) {
            read(rank, file);
        }
        rank.session.complete_restart(true).unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(left(&site), [""; 0]);
}

#[test]
fn the_copies_go_with_each_restart_however_it_ends() {
    let site = flushed(&[]);
    site.run(&SIX, |rank| {
        let mut before = None;
        for _ in 0..2 {
            begin(rank);
            let path = read(rank, &all_files()[0]);
            assert_ne!(
                before,
                Some(path.clone()),
                "each restart has its own copies"
            );
            before = Some(path);
            rank.session.complete_restart(true).unwrap();
        }
        begin(rank);
        read(rank, &all_files()[1]);
        rank.session.complete_restart(rank.rank != 4).unwrap_err();
        rank.finalize().unwrap();
    });
    assert_eq!(left(&site), [""; 0]);
}

#[test]
fn where_fetched_files_stay_in_the_prefix_directory_there_are_no_copies() {
    for (name, value) in [
        ("SCR_FETCH_BYPASS", "1"),
        ("SCR_CACHE_BYPASS", "1"),
        ("SCR_GLOBAL_RESTART", "1"),
    ] {
        let site = flushed(&[]).set(name, value);
        site.run(&SIX, |rank| {
            begin(rank);
            for file in all_files() {
                assert!(read(rank, &file).starts_with(site.prefix()), "{name}");
            }
            rank.session.complete_restart(true).unwrap();
        });
        assert_eq!(left(&site), [""; 0]);
    }
}

#[test]
fn a_store_outside_of_the_nodes_takes_no_copies() {
    let site = flushed(&[]);
    let store = site.outside().display().to_string();
    std::fs::create_dir(&store).unwrap();
    site.configure(&format!(
        "STORE={store} GROUP=WORLD VIEW=GLOBAL\nCKPT=0 INTERVAL=1 GROUP=NODE STORE={store} TYPE=SINGLE\n"
    ));
    let site = site.set("SCR_COPY_TYPE", "FILE");
    site.run(&SIX, |rank| {
        begin(rank);
        for file in all_files() {
            assert!(read(rank, &file).starts_with(site.prefix()));
        }
        rank.session.complete_restart(true).unwrap();
    });
}

#[test]
fn files_of_containers_and_files_of_several_ranks_are_copied_too() {
    let contained = flushed(&[
        ("SCR_USE_CONTAINERS", "1"),
        ("SCR_CONTAINER_SIZE", "500000"),
    ]);
    assert!(!contained.prefix().join(HEADER).exists());
    let shared = Site::new().set("SCR_CACHE_BYPASS", "1");
    shared.run(&WRITERS, |rank| {
        let name = Some(Name::from("ck"));
        rank.session.start_output(name, true, false).unwrap();
        let path = rank.session.route(Path::new("ck/shared")).unwrap();
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .unwrap();
        let bytes = content("shared", rank.rank, 1000);
        let offset = 1000 * rank.rank as u64;
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, offset).unwrap();
        rank.session.complete_output(true).unwrap();
    });
    let whole = (0..WRITERS.len()).flat_map(|rank| content("shared", rank, 1000));
    let whole = vec![("ck/shared".to_string(), whole.collect())];
    let shared = shared.set("SCR_CACHE_BYPASS", "0");
    for (site, files) in [(contained, all_files()), (shared, whole)] {
        let bytes: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let (site, tallies) = counted(site, TWELVE.len());
        let read = site.run(&TWELVE, |rank| {
            begin(rank);
            let tally = &tallies[rank.rank];
            rank.session.restart_files_of(0).unwrap();
            let before = tally.bytes().0;
            for file in &files {
                let path = read(rank, file);
                assert!(path.starts_with(site.cache(TWELVE[rank.rank])));
            }
            let read = tally.bytes().0 - before;
            rank.session.complete_restart(true).unwrap();
            read
        });
        assert_eq!(read.iter().sum::<u64>(), 2 * bytes);
    }
}

#[test]
fn a_cache_that_is_full_leaves_the_files_where_they_are() {
    let mut site = flushed(&[]);
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files);
    let ready = Barrier::new(SIX.len());
    site.run(&SIX, |rank| {
        begin(rank);
        ready.wait();
        faults.limit_space(Some(5000));
        ready.wait();
        let (all, prefix) = (all_files(), site.prefix());
        let header = all.last().unwrap();
        assert!(read(rank, header).starts_with(&prefix));
        ready.wait();
        // There is no space for anything, not even for directories.
        faults.fill_up(true);
        faults.limit_space(Some(0));
        ready.wait();
        assert!(read(rank, &all[0]).starts_with(&prefix));
        ready.wait();
        faults.fill_up(false);
        faults.limit_space(None);
        ready.wait();
        assert!(!read(rank, &all[1]).starts_with(&prefix));
        rank.session.complete_restart(true).unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(left(&site), [""; 0]);
    let told = site.heard("ranks read files in the prefix directory 12 times");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
}

/// What was good when the restart was offered may be damaged when it is read.
#[test]
fn a_file_that_was_damaged_meanwhile_is_named_with_its_rank_and_the_restart_fails() {
    for damage in ["byte", "size", "missing"] {
        let site = flushed(&[]);
        let damaged = site.prefix().join(part(3).0);
        let ready = Barrier::new(SIX.len());
        site.run(&SIX, |rank| {
            begin(rank);
            if ready.wait().is_leader() {
                let mut bytes = std::fs::read(&damaged).unwrap();
                match damage {
                    "byte" => bytes[5] ^= 1,
                    _ => bytes.truncate(100),
                }
                match damage {
                    "missing" => std::fs::remove_file(&damaged).unwrap(),
                    _ => std::fs::write(&damaged, bytes).unwrap(),
                }
            }
            ready.wait();
            read(rank, &part(2));
            let failed = rank.session.route(Path::new(&part(3).0));
            let error = failed.unwrap_err().to_string();
            for text in ["dataset 1 (ck)", "rank 3 wrote ck/parts/3"] {
                assert!(error.contains(text), "{error}");
            }
            rank.session.complete_restart(false).unwrap_err();
            assert_eq!(rank.session.have_restart().unwrap(), None);
            rank.finalize().unwrap();
        });
        let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
        assert!(!index.get(1).unwrap().is_good());
        assert_eq!(left(&site), [""; 0]);
    }
}

/// Rank 0 routes one file, with a fault in its `n`-th operation; then the others of its node do. False
/// if the fault has not come.
fn route_with(site: &Site, nodes: &[&str], faults: &Faults, set: &(dyn Fn(u64) + Sync)) -> bool {
    let ready = Barrier::new(nodes.len());
    let header = (HEADER.to_string(), content(HEADER, 0, LARGE));
    let met = site.run(nodes, |rank| {
        begin(rank);
        let before = faults.operations();
        if rank.rank == 0 {
            set(before);
            match rank.session.route(Path::new(HEADER)) {
                Ok(path) => assert!(std::fs::read(path).unwrap() == header.1),
                Err(error) => assert!(faults.is_dead(), "{error}"),
            }
        }
        ready.wait();
        if rank.rank > 0 {
            read(rank, &header);
        }
        if ready.wait().is_leader() {
            faults.fail_at(0, 0);
            faults.die_at(0);
        }
        ready.wait();
        if faults.is_dead() {
            return true;
        }
        rank.session.complete_restart(true).unwrap();
        rank.finalize().unwrap();
        false
    });
    met[0]
}

#[test]
fn a_rank_that_dies_in_a_copy_leaves_nothing_behind() {
    let mut deaths = 0;
    let mut copies = 0;
    for n in 1.. {
        let mut site = flushed(&[]);
        let files = Faulty::new(Posix);
        let faults = files.faults();
        site.by_rank = vec![Some(Arc::new(files))];
        if !route_with(&site, &SIX, &faults, &|before| faults.die_at(before + n)) {
            break;
        }
        deaths += 1;
        copies += left(&site).len();
        // What is left is no dataset for anybody.
        let layout =
            |node: &str| scr::cache::layout::Layout::new(&site.node(node), "user1", "1001");
        let (found, problems) = list_datasets(&Posix, &[layout("n0"), layout("n1")]).unwrap();
        assert!(found.is_empty() && problems.is_empty(), "{problems:?}");
        site.by_rank.clear();
        site.run(&TWELVE, |rank| {
            assert_eq!(left(&site), [""; 0]);
            begin(rank);
            for file in all_files() {
                read(rank, &file);
            }
            rank.session.complete_restart(true).unwrap();
            rank.finalize().unwrap();
        });
        assert_eq!(left(&site), [""; 0]);
    }
    assert!(deaths >= 6 && copies >= deaths, "{deaths} {copies}");
}

#[test]
fn a_copy_that_fails_is_made_by_another_rank_or_not_needed() {
    for errno in [libc::EIO, libc::ENOSPC] {
        for n in 1..=8 {
            let mut site = flushed(&[]);
            let files = Faulty::new(Posix);
            let faults = files.faults();
            site.by_rank = vec![Some(Arc::new(files))];
            let set = |before: u64| faults.fail_at(before + n, errno);
            assert!(!route_with(&site, &SIX, &faults, &set));
            assert_eq!(left(&site), [""; 0]);
        }
    }
}

/// A file that cannot be read for now is left to the program, as without copies.
#[test]
fn a_source_that_cannot_be_read_is_left_to_the_program() {
    let mut site = flushed(&[]);
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.by_rank = vec![Some(Arc::new(files))];
    site.run(&THREE, |rank| {
        begin(rank);
        if rank.rank == 0 {
            let file = &all_files()[0];
            faults.fail_reads(Some((PathBuf::from(&file.0), libc::EIO)));
            assert!(read(rank, file).starts_with(site.prefix()));
            faults.fail_reads(None);
            // The other files are copied all the same.
            assert!(!read(rank, &all_files()[1]).starts_with(site.prefix()));
        }
        rank.session.complete_restart(true).unwrap();
    });
}
