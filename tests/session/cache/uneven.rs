//! Uneven nodes and ranks, and what a dataset costs in operations on files: gates for changes.

use crate::site::{Rank, Site, content, nodes};
use scr::config::Config;
use scr::session::{Session, Setup};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_jobs::tally::{CountingFiles, FileTally};
use scr_testing::counting::CountingComm;
use scr_testing::threads;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SCHEMES: [(&str, &str); 4] = [("SINGLE", "1"), ("PARTNER", "1"), ("XOR", "1"), ("RS", "2")];

/// A site whose ranks' operations are counted.
fn counted(ranks: usize) -> (Site, Vec<FileTally>) {
    let mut site = Site::new().set("SCR_CACHE_SIZE", "2").set("SCR_FLUSH", "0");
    let mut tallies = Vec::new();
    for _ in 0..ranks {
        let files = CountingFiles::new(Posix);
        tallies.push(files.tally());
        site.by_rank.push(Some(Arc::new(files) as Arc<dyn Files>));
    }
    (site, tallies)
}

/// Files and directories of a dataset that are not the program's.
fn made_by_scr(dir: &Path) -> Vec<PathBuf> {
    let meta = std::fs::read_dir(dir.join(".scr")).unwrap();
    meta.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn two_files_and_three_syncs_for_each_rank_and_dataset() {
    for (scheme, failures) in SCHEMES {
        let (site, tallies) = counted(4);
        let site = site
            .set("SCR_COPY_TYPE", scheme)
            .set("SCR_SET_FAILURES", failures);
        let syncs = site.run(&nodes(4), |rank| {
            let tally = &tallies[rank.rank];
            let sync = |tally: &FileTally| tally.take().remove("sync").unwrap_or(0);
            sync(tally);
            let mut all = Vec::new();
            // The third evicts the first.
            for name in ["ck.1", "ck.2", "ck.3"] {
                rank.checkpoint(name).unwrap();
                all.push(sync(tally));
            }
            all
        });
        for (node, syncs) in nodes(4).iter().zip(syncs) {
            // Redundancy file, record, directory of the record; nothing in the prefix.
            let most = if scheme == "SINGLE" { 2 } else { 3 };
            match scheme {
                // The record is written again when the checksums are taken, sooner or later.
                "SINGLE" => assert!(syncs.iter().sum::<u64>() <= 2 * 6 && syncs[0] >= 2),
                _ => assert_eq!(syncs, [most; 3], "{scheme}"),
            }
            let made = made_by_scr(&site.dataset(node, 3)).len();
            assert_eq!(made, if scheme == "SINGLE" { 1 } else { 2 }, "{scheme}");
        }
    }
}

#[test]
fn only_a_flush_syncs_in_the_prefix_directory() {
    let (site, tallies) = counted(2);
    let site = site.set("SCR_FLUSH", "2").set("SCR_COPY_TYPE", "SINGLE");
    site.run(&nodes(2), |rank| {
        let tally = &tallies[rank.rank];
        tally.take();
        rank.checkpoint("ck.1").unwrap();
        // The record, and perhaps once more with the checksums.
        assert!([2, 3, 4].contains(&tally.take()["sync"]));
        rank.checkpoint("ck.2").unwrap();
        assert!(tally.take()["sync"] > 4);
    });
}

const MANY: usize = 300;

/// What one rank did for a checkpoint of [`MANY`] small files in ten directories.
struct Cost {
    /// Operations on files in routing, and in completing.
    route: BTreeMap<&'static str, u64>,
    complete: BTreeMap<&'static str, u64>,
    /// Messages in completing.
    messages: u64,
}

fn many_files(scheme: &str) -> Vec<Cost> {
    let (site, tallies) = counted(4);
    let site = site.set("SCR_COPY_TYPE", scheme);
    threads::run(4, |comm| {
        let comm = CountingComm::new(comm);
        let messages = comm.tally();
        let rank = scr::comm::Communicator::rank(&comm);
        let setup = Setup {
            comm: Box::new(comm),
            files: site.by_rank[rank].clone().unwrap(),
            sink: site.events.clone(),
            environment: site.environment(nodes(4)[rank]),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        session
            .start_output(Some("ck".into()), true, false)
            .unwrap();
        tallies[rank].take();
        for n in 0..MANY {
            let file = format!("ck/rank_{rank}/{}/{n}", n % 10);
            let path = session.route(Path::new(&file)).unwrap();
            std::fs::write(path, content("x", n, 1024)).unwrap();
        }
        let route = tallies[rank].take();
        messages.take();
        session.complete_output(true).unwrap();
        Cost {
            route,
            complete: tallies[rank].take(),
            messages: messages.take().messages,
        }
    })
}

#[test]
fn many_small_files_cost_one_look_and_one_reading_each() {
    for (scheme, _) in SCHEMES {
        for cost in many_files(scheme) {
            let Cost {
                route,
                complete,
                messages,
            } = cost;
            assert_eq!(
                route,
                BTreeMap::from([("make_private_dirs", 10)]),
                "{scheme}"
            );
            // A file that lies in two chunks may be opened for each of them.
            let slack = 16;
            let count = |name| complete.get(name).copied().unwrap_or(0);
            for each in ["stat", "open", "size"] {
                let times = count(each);
                // With SINGLE a thread takes the checksums, perhaps before the call returns. It asks for the size
                // before it reads a file, and after it.
                let of_thread = scheme == "SINGLE" && each == "size";
                let most = MANY as u64 * if of_thread { 2 } else { 1 };
                assert!(times <= most + slack, "{scheme}: {times} times {each}");
            }
            assert!(count("read_at") <= 2 * MANY as u64, "{scheme}");
            // The record; with rank 0 the flush file too.
            assert!(count("replace") <= 2, "{scheme}: {complete:?}");
            assert!(messages < 100, "{scheme}: {messages} messages");
            let all: u64 = complete.values().sum();
            assert!(all < 5 * MANY as u64 + 200, "{scheme}: {complete:?}");
        }
    }
}

/// What a rank writes: nothing, one file, many small ones, a large one among small ones.
fn files(rank: usize) -> Vec<(String, usize)> {
    let small = |count| (0..count).map(|n| (format!("small/{n}"), 100 + n));
    match rank % 4 {
        0 => vec![],
        1 => vec![("one".into(), 5000)],
        2 => small(50).collect(),
        _ => small(5).chain([("huge".into(), 1 << 20)]).collect(),
    }
}

fn write(rank: &mut Rank, name: &str) {
    rank.session
        .start_output(Some(name.into()), true, false)
        .unwrap();
    for (file, size) in files(rank.rank) {
        let path = format!("{name}/{}/{file}", rank.rank);
        let path = rank.session.route(Path::new(&path)).unwrap();
        std::fs::write(path, content(&file, rank.rank, size)).unwrap();
    }
    rank.session.complete_output(true).unwrap();
}

fn read(rank: &mut Rank, name: &str) {
    let offered = rank.session.have_restart().unwrap().map(|n| n.to_string());
    assert_eq!(offered.as_deref(), Some(name));
    rank.session.start_restart().unwrap();
    for (file, size) in files(rank.rank) {
        let path = format!("{name}/{}/{file}", rank.rank);
        let path = rank.session.route(Path::new(&path)).unwrap();
        assert!(
            std::fs::read(path).unwrap() == content(&file, rank.rank, size),
            "{file}"
        );
    }
    rank.session.complete_restart(true).unwrap();
}

#[test]
fn nodes_and_ranks_of_any_size_come_back_after_the_loss_of_any_node() {
    // One, three, two and two ranks.
    const NODES: [&str; 8] = ["a", "b", "b", "b", "c", "c", "d", "d"];
    for (scheme, failures) in SCHEMES.into_iter().skip(1) {
        for lost in ["a", "b", "c", "d"] {
            let site = Site::new()
                .set("SCR_COPY_TYPE", scheme)
                .set("SCR_SET_FAILURES", failures)
                .set("SCR_SET_SIZE", "2")
                .set("SCR_FLUSH", "0");
            site.run(&NODES, |rank| write(rank, "ck"));
            site.lose(lost);
            let now = NODES.map(|node| if node == lost { "spare" } else { node });
            site.run(&now, |rank| read(rank, "ck"));
        }
    }
}

#[test]
fn redundancy_follows_the_largest_rank_of_a_set_and_no_more() {
    for (scheme, failures, parts) in [("XOR", "1", 3), ("RS", "2", 2)] {
        let site = Site::new()
            .set("SCR_COPY_TYPE", scheme)
            .set("SCR_SET_FAILURES", failures);
        site.run(&nodes(4), |rank| write(rank, "ck"));
        let sizes: Vec<u64> = (0..4)
            .map(|r| files(r).iter().map(|(_, size)| *size as u64).sum())
            .collect();
        let chunk = sizes.iter().max().unwrap().div_ceil(parts);
        let blocks: u64 = failures.parse().unwrap();
        for node in nodes(4) {
            let parity = made_by_scr(&site.dataset(node, 1));
            let parity = parity.iter().find(|p| p.extension().is_some()).unwrap();
            let size = std::fs::metadata(parity).unwrap().len();
            // The header lists the files of the rank and its neighbours.
            let header = size - blocks * chunk;
            assert!(header < 300_000, "{scheme} on {node}: {header}");
        }
    }
}
