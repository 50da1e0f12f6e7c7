//! A restart needs room in a store that is full: older datasets make way, and never the last good one.

use crate::site::{Rank, Site, content};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::path::Path;
use std::sync::Arc;

const NODES: [&str; 3] = ["n0", "n1", "n2"];
const KIB: usize = 1024;

fn size_of(name: &str) -> usize {
    match name {
        "old.1" | "old.2" => 64 * KIB,
        _ => 24 * KIB,
    }
}

fn write(rank: &mut Rank, name: &str) {
    let session = &mut rank.session;
    session
        .start_output(Some(name.into()), true, false)
        .unwrap();
    let file = format!("{name}/rank_{}.dat", rank.rank);
    let path = session.route(Path::new(&file)).unwrap();
    std::fs::write(path, content(name, rank.rank, size_of(name))).unwrap();
    session.complete_output(true).unwrap();
    session.finish_background().unwrap();
}

/// The name of what is offered; its files must be right.
fn restart(rank: &mut Rank) -> Option<String> {
    let name = rank.session.have_restart().unwrap()?.to_string();
    rank.session.start_restart().unwrap();
    let file = format!("{name}/rank_{}.dat", rank.rank);
    let path = rank.session.route(Path::new(&file)).unwrap();
    assert!(std::fs::read(path).unwrap() == content(&name, rank.rank, size_of(&name)));
    rank.session.complete_restart(true).unwrap();
    Some(name)
}

/// A site with these checkpoints in the cache.
fn written(site: Site, names: &[&str]) -> Site {
    let site = site.set("SCR_CACHE_SIZE", "6").set("SCR_DEBUG", "1");
    site.run(&NODES, |rank| {
        names.iter().for_each(|name| write(rank, name));
    });
    site
}

/// From now on the store of each rank has so many bytes left.
fn nearly_full(site: &mut Site, bytes: u64) -> Vec<Faults> {
    site.by_rank.clear();
    let mut all = Vec::new();
    for _ in NODES {
        let files = Faulty::new(Posix);
        files.faults().limit_space(Some(bytes));
        all.push(files.faults());
        site.by_rank.push(Some(Arc::new(files) as Arc<dyn Files>));
    }
    all
}

fn lose_dataset(site: &Site, node: &str, id: u64) {
    std::fs::remove_dir_all(site.dataset(node, id)).unwrap();
}

fn cached(site: &Site, node: &str) -> Vec<String> {
    let names = site.entries(node, "scr.dataset.").into_iter();
    names.map(|name| name.replace("scr.dataset.", "")).collect()
}

fn made_way(site: &Site) -> Vec<String> {
    site.heard("is full: cached ")
}

#[test]
fn a_rebuild_makes_the_oldest_give_way() {
    for scheme in ["XOR", "PARTNER", "RS"] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", "0")
            .set("SCR_COPY_TYPE", scheme);
        let mut site = written(site, &["old.1", "old.2", "new.3"]);
        lose_dataset(&site, "n1", 3);
        nearly_full(&mut site, 6 * KIB as u64);
        let names = site.run(&NODES, restart);
        assert_eq!(names, vec![Some("new.3".to_string()); 3], "{scheme}");
        for node in NODES {
            assert_eq!(cached(&site, node), ["2", "3"], "{scheme}");
        }
        let told = made_way(&site);
        assert_eq!(told.len(), 1, "{told:?}");
        for part in ["dataset 1 (old.1) is deleted", "room for dataset 3 (new.3)"] {
            assert!(told[0].contains(part), "{part}: {told:?}");
        }
    }
}

#[test]
fn the_last_good_one_does_not_make_way() {
    let site = Site::in_memory().set("SCR_FLUSH", "0");
    let mut site = written(site, &["old.2", "new.3"]);
    lose_dataset(&site, "n1", 2);
    let faults = nearly_full(&mut site, 6 * KIB as u64);
    site.expect_none_now(&NODES, "No space left on device");
    for node in ["n0", "n2"] {
        assert_eq!(cached(&site, node), ["1", "2"]);
    }
    assert_eq!(made_way(&site), [""; 0]);
    // Once there is room it is used.
    faults.iter().for_each(|faults| faults.limit_space(None));
    assert_eq!(site.run(&NODES, restart)[0].as_deref(), Some("new.3"));
}

/// The one that the prefix directory has goes first, though it is newer.
#[test]
fn what_the_prefix_directory_has_makes_way_first() {
    let site = Site::in_memory().set("SCR_FLUSH", "2");
    let mut site = written(site, &["old.1", "old.2", "new.3"]);
    lose_dataset(&site, "n1", 3);
    nearly_full(&mut site, 6 * KIB as u64);
    let names = site.run(&NODES, restart);
    assert_eq!(names, vec![Some("new.3".to_string()); 3]);
    assert_eq!(cached(&site, "n0"), ["1", "3"]);
    let told = made_way(&site);
    assert!(told.len() == 1 && told[0].contains("(old.2)"), "{told:?}");
}

#[test]
fn what_no_restart_can_use_makes_way_first() {
    let site = Site::in_memory().set("SCR_FLUSH", "0");
    let mut site = written(site, &["old.1", "old.2", "new.3"]);
    lose_dataset(&site, "n1", 3);
    // More is lost of the second one than XOR tolerates.
    lose_dataset(&site, "n0", 2);
    lose_dataset(&site, "n2", 2);
    nearly_full(&mut site, 6 * KIB as u64);
    let names = site.run(&NODES, restart);
    assert_eq!(names, vec![Some("new.3".to_string()); 3]);
    assert_eq!(cached(&site, "n1"), ["1", "3"]);
    let told = made_way(&site);
    assert!(told.len() == 1 && told[0].contains("dataset 2"), "{told:?}");
}

#[test]
fn files_that_move_to_other_nodes_make_older_ones_give_way() {
    for scheme in ["SINGLE", "XOR"] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", "0")
            .set("SCR_COPY_TYPE", scheme);
        let mut site = written(site, &["old.1", "old.2", "new.3"]);
        nearly_full(&mut site, 6 * KIB as u64);
        let names = site.run(&["n1", "n2", "n0"], restart);
        assert_eq!(names, vec![Some("new.3".to_string()); 3], "{scheme}");
        assert_eq!(cached(&site, "n0"), ["2", "3"], "{scheme}");
        assert_eq!(made_way(&site).len(), 1);
    }
}

#[test]
fn a_fetch_makes_older_ones_give_way() {
    for scheme in ["SINGLE", "XOR"] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", "3")
            .set("SCR_COPY_TYPE", scheme);
        let mut site = written(site, &["old.1", "old.2", "new.3"]);
        NODES.iter().for_each(|node| lose_dataset(&site, node, 3));
        nearly_full(&mut site, 6 * KIB as u64);
        let names = site.run(&NODES, restart);
        assert_eq!(names, vec![Some("new.3".to_string()); 3], "{scheme}");
        // It is in the cache, and not read in place.
        assert_eq!(cached(&site, "n0"), ["2", "3"], "{scheme}");
        assert_eq!(made_way(&site).len(), 1);
        assert_eq!(site.heard("cannot be kept in the cache"), [""; 0]);
    }
}

/// Only the redundancy of the fetched files finds no room.
#[test]
fn the_redundancy_of_what_was_fetched_makes_older_ones_give_way() {
    let site = Site::in_memory().set("SCR_FLUSH", "3");
    let mut site = written(site, &["old.1", "old.2", "new.3"]);
    NODES.iter().for_each(|node| lose_dataset(&site, node, 3));
    nearly_full(&mut site, 28 * KIB as u64);
    let names = site.run(&NODES, restart);
    assert_eq!(names, vec![Some("new.3".to_string()); 3]);
    assert_eq!(cached(&site, "n0"), ["2", "3"]);
    assert_eq!(made_way(&site).len(), 1);
}

/// Nothing is deleted for a checkpoint that then proves to be bad.
#[test]
fn a_fetch_of_damaged_files_deletes_nothing() {
    let site = Site::in_memory().set("SCR_FLUSH", "3");
    let mut site = written(site, &["old.1", "old.2", "new.3"]);
    NODES.iter().for_each(|node| lose_dataset(&site, node, 3));
    let path = site.prefix().join("new.3/rank_2.dat");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[77] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    nearly_full(&mut site, 6 * KIB as u64);
    let names = site.run(&NODES, restart);
    assert_eq!(names, vec![Some("old.2".to_string()); 3]);
    assert_eq!(made_way(&site), [""; 0]);
    assert_eq!(cached(&site, "n0"), ["1", "2"]);
}

/// A store with nothing to delete: the checkpoint is read where it is.
#[test]
fn what_finds_no_room_at_all_is_read_in_the_prefix_directory() {
    let site = Site::in_memory().set("SCR_FLUSH", "1");
    let mut site = written(site, &["new.1"]);
    NODES.iter().for_each(|node| site.lose(node));
    nearly_full(&mut site, 6 * KIB as u64);
    let names = site.run(&NODES, restart);
    assert_eq!(names, vec![Some("new.1".to_string()); 3]);
    assert_eq!(site.heard("cannot be kept in the cache").len(), 1);
}
