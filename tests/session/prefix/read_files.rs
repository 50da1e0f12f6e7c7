//! Programs that change a checkpoint while they restart from it: it is told, and the checkpoint is not lost.

use crate::site::{Rank, Site, nodes};
use scr::session::Verdict;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, UNIX_EPOCH};

const NODES: [&str; 2] = ["n0", "n1"];
const FILE: [&str; 2] = ["ck.2/rank_0.dat", "ck.2/rank_1.dat"];

/// Writes to a file, of which the system may have told a moment ago: its time of change is another one in any case.
fn change(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    stamp(
        path,
        bytes.len() as u64 + u64::from(bytes.iter().fold(0, |a, b| a ^ b)),
    );
}

fn stamp(path: &Path, seconds: u64) {
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// What a program does to the file of a rank: its content after the first run.
type Change = fn(Vec<u8>) -> Vec<u8>;

fn flip(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[500] ^= 0x10;
    bytes
}

fn grow(bytes: Vec<u8>) -> Vec<u8> {
    [bytes, b"an attribute".to_vec()].concat()
}

/// Restarts from `ck.2`, which has `content`, and changes the file of each rank of `ranks`.
fn restart(rank: &mut Rank, ranks: &[usize], content: &[Vec<u8>], by: Change) {
    let name = rank.session.have_restart().unwrap().map(|n| n.to_string());
    assert_eq!(name.as_deref(), Some("ck.2"));
    rank.session.start_restart().unwrap();
    let path = rank.session.route(Path::new(FILE[rank.rank])).unwrap();
    assert!(fs::read(&path).unwrap() == content[rank.rank]);
    if ranks.contains(&rank.rank) {
        change(&path, &by(content[rank.rank].clone()));
    }
    rank.session.complete_restart(true).unwrap();
}

fn two_checkpoints(site: &Site) -> Vec<Vec<u8>> {
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.finalize().unwrap();
    });
    let content = |rank: usize| crate::site::content("ck.2", rank, 1000 + 7 * rank);
    vec![content(0), content(1)]
}

/// Each start changes it again, and it is offered each time as it was left.
fn restarts_three_times(site: &Site, ranks: &[usize], by: Change) {
    let mut content = two_checkpoints(site);
    for start in 1..=3 {
        site.run(&NODES, |rank| restart(rank, ranks, &content, by));
        for rank in ranks {
            content[*rank] = by(content[*rank].clone());
        }
        let told = site.heard("changed while the program restarted from it");
        assert_eq!(told.len(), start, "{:?}", site.events.lines());
        assert!(told[0].contains(FILE[ranks[0]]), "{told:?}");
        assert!(
            told[0].contains("the next start takes it as it is now"),
            "{told:?}"
        );
    }
    let lost = site.heard("SCR-208");
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn in_bypass_the_records_follow() {
    for ranks in [&[0, 1][..], &[1]] {
        for by in [flip as Change, grow] {
            restarts_three_times(&Site::new().set("SCR_CACHE_BYPASS", "1"), ranks, by);
            let plain = Site::new().set("SCR_CACHE_BYPASS", "1");
            restarts_three_times(&plain.set("SCR_CRC_ON_FLUSH", "0"), ranks, by);
        }
    }
}

#[test]
fn in_the_cache_checksums_and_redundancy_are_made_again() {
    for (scheme, by) in [("SINGLE", flip as Change), ("XOR", flip), ("PARTNER", grow)] {
        let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
        restarts_three_times(&site.set("SCR_COPY_TYPE", scheme), &[0, 1], by);
    }
}

/// The redundancy is that of the changed files: a lost node is rebuilt from it.
#[test]
fn a_lost_node_is_rebuilt_as_the_program_has_left_it() {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    let site = site.set("SCR_COPY_TYPE", "XOR");
    let mut content = two_checkpoints(&site);
    site.run(&NODES, |rank| restart(rank, &[0, 1], &content, grow));
    site.lose("n1");
    content = content.into_iter().map(grow).collect();
    site.run(&NODES, |rank| restart(rank, &[], &content, grow));
    assert!(
        !site.heard("rebuilt with XOR").is_empty(),
        "{:?}",
        site.events.lines()
    );
}

/// The rank that reads a file of another rank changes it before that one looks at it, or after.
#[test]
fn a_file_of_another_rank_is_found() {
    for before in [true, false] {
        let site = Site::new().set("SCR_CACHE_BYPASS", "1");
        let mut content = two_checkpoints(&site);
        // To start a restart is local.
        let turns = Barrier::new(NODES.len());
        site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap();
            let is_first = (rank.rank == 1) == before;
            if !is_first {
                turns.wait();
            }
            rank.session.start_restart().unwrap();
            if rank.rank == 1 {
                let path = rank.session.route(Path::new(FILE[0])).unwrap();
                change(&path, &grow(content[0].clone()));
            }
            if is_first {
                turns.wait();
            }
            rank.session.complete_restart(true).unwrap();
        });
        let told = site.heard("SCR-250");
        assert_eq!(told.len(), 1, "{before}: {:?}", site.events.lines());
        content[0] = grow(content[0].clone());
        site.run(&NODES, |rank| restart(rank, &[], &content, flip));
    }
}

#[test]
fn times_alone_are_no_change_and_a_rejected_checkpoint_is_not_recorded_again() {
    for valid in [true, false] {
        let site = Site::new().set("SCR_CACHE_BYPASS", "1");
        let content = two_checkpoints(&site);
        site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap();
            rank.session.start_restart().unwrap();
            let path = rank.session.route(Path::new(FILE[rank.rank])).unwrap();
            if valid {
                stamp(&path, 7);
            } else {
                change(&path, b"other");
            }
            let read = if valid { Verdict::Read } else { Verdict::Bad };
            assert_eq!(rank.session.complete_restart(read).is_ok(), valid);
        });
        assert!(
            site.heard("SCR-250").is_empty(),
            "{:?}",
            site.events.lines()
        );
        if valid {
            site.run(&NODES, |rank| restart(rank, &[], &content, flip));
        } else {
            site.expect_restart(&NODES, Some("ck.1"));
        }
    }
}

/// Who cuts a file writes another one in its place.
#[test]
fn a_file_that_was_cut_is_not_taken_for_the_checkpoint() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    let content = two_checkpoints(&site);
    let cut: Change = |bytes| bytes[..900].to_vec();
    site.run(&NODES, |rank| restart(rank, &[1], &content, cut));
    let told = site.heard("had 1007 bytes and has 900 now");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    assert!(told[0].contains("the next start refuses it"), "{told:?}");
    site.expect_restart(&NODES, Some("ck.1"));
}

/// A site whose last checkpoint is in containers, written with this value of `SCR_COPY_METADATA`.
fn in_containers(metadata: &str) -> (Site, Vec<Vec<u8>>) {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_COPY_METADATA", metadata)
        .set("SCR_USE_CONTAINERS", "1");
    let content = two_checkpoints(&site);
    (site.set("SCR_CACHE_BYPASS", "1"), content)
}

#[test]
fn what_was_extracted_from_containers_is_extracted_again() {
    let (site, content) = in_containers("1");
    for start in 1..=2 {
        site.run(&NODES, |rank| restart(rank, &[0, 1], &content, grow));
        assert_eq!(
            site.heard("extracted from its containers again").len(),
            start
        );
    }
}

#[test]
fn damage_of_what_was_extracted_is_mended_from_the_containers() {
    for (flush, fetch) in [("1", "1"), ("1", "0"), ("0", "1"), ("0", "0")] {
        damage_is_mended(flush, fetch);
    }
}

/// With these values of `SCR_COPY_METADATA`.
fn damage_is_mended(flush: &str, fetch: &str) {
    let (site, content) = in_containers(flush);
    let site = site.set("SCR_COPY_METADATA", fetch);
    site.run(&NODES, |rank| restart(rank, &[], &content, flip));
    let path: PathBuf = site.prefix().join(FILE[1]);
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, flip(content[1].clone())).unwrap();
    // As if storage had done it.
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    site.run(&NODES, |rank| restart(rank, &[], &content, flip));
    let told = site.heard("SCR-251");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    assert!(told[0].contains(FILE[1]), "{told:?}");
    // What somebody has written is not, of whatever size.
    for mine in [flip(content[1].clone()), b"mine".to_vec()] {
        change(&path, &mine);
        site.expect_none_now(&NODES, "another file is there");
        assert!(fs::read(&path).unwrap() == mine);
    }
}

/// Of another number of ranks no rank has the record: it is told all the same.
#[test]
fn another_number_of_ranks_is_told() {
    let site = Site::new()
        .set("SCR_CACHE_BYPASS", "1")
        .set("SCR_FETCH_BYPASS", "1");
    let content = two_checkpoints(&site);
    site.run(&nodes(1), |rank| {
        rank.session.have_restart().unwrap();
        rank.session.start_restart().unwrap();
        let path = rank.session.route(Path::new(FILE[1])).unwrap();
        change(&path, &flip(content[1].clone()));
        rank.session.complete_restart(true).unwrap();
    });
    assert_eq!(site.heard("SCR-250").len(), 1, "{:?}", site.events.lines());
}
