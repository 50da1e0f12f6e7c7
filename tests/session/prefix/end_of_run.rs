//! What the end of a run leaves: the newest good checkpoint is in the prefix directory, whichever run has
//! written it, and the cache keeps what the next run may need.

use crate::site::{Rank, Site};
use scr::format::Name;
use scr::prefix::index;
use scr::prefix::paths::Prefix;
use scr::store::posix::Posix;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

fn site() -> Site {
    Site::in_memory()
        .set("SCR_CACHE_SIZE", "3")
        .set("SCR_FLUSH", "100")
}

/// The good checkpoints in the index, and the current one.
fn saved(site: &Site) -> (Vec<String>, Option<String>) {
    let index = index::read(&Posix, &Prefix::new(&site.prefix())).unwrap();
    let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
    let names = good.map(|(id, _)| index.name(*id).unwrap().to_string());
    (names.collect(), index.current().map(Name::to_string))
}

fn lose_all(site: &Site) {
    let there = NODES.into_iter().filter(|node| site.node(node).exists());
    there.for_each(|node| site.lose(node));
}

fn reject(rank: &mut Rank) {
    rank.session.have_restart().unwrap().unwrap();
    rank.session.start_restart().unwrap();
    rank.session.complete_restart(false).unwrap_err();
}

/// Nothing was flushed, and the second run gives up the newest.
#[test]
fn the_checkpoint_before_a_rejected_or_deleted_one_is_flushed_at_the_end() {
    for background in ["0", "1"] {
        for deleted in [false, true] {
            let site = site().set("SCR_FLUSH_ASYNC", background);
            site.run(&NODES, |rank| {
                rank.checkpoint("ck.1").unwrap();
                rank.checkpoint("ck.2").unwrap();
                rank.checkpoint("ck.3").unwrap();
            });
            site.run(&NODES, |rank| {
                if deleted {
                    rank.session.delete(&Name::from("ck.3")).unwrap()
                } else {
                    reject(rank)
                }
                rank.finalize().unwrap();
            });
            let current = Some("ck.2".to_string());
            assert_eq!(saved(&site), (vec!["ck.2".to_string()], current));
            lose_all(&site);
            site.expect_restart(&NODES, Some("ck.2"));
        }
    }
}

/// The one before is lost, too; the oldest is brought back and flushed.
#[test]
fn what_cannot_be_recovered_at_the_end_is_passed_over() {
    let site = site();
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.checkpoint("ck.3").unwrap();
    });
    for (id, nodes) in [(1, &NODES[..1]), (2, &NODES[..2])] {
        for node in nodes {
            let file = site.dataset(node, id);
            std::fs::remove_dir_all(file).unwrap();
        }
    }
    site.run(&NODES, |rank| {
        reject(rank);
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site).0, ["ck.1"]);
    lose_all(&site);
    site.expect_restart(&NODES, Some("ck.1"));
}

#[test]
fn the_checkpoint_before_a_dropped_one_is_flushed_at_the_end() {
    let site = site().set("SCR_FLUSH", "2");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.session.drop_dataset(&Name::from("ck.2")).unwrap();
        rank.finalize().unwrap();
    });
    let current = Some("ck.1".to_string());
    assert_eq!(saved(&site), (vec!["ck.1".to_string()], current));
}

/// Nothing older than what the prefix directory has is flushed.
#[test]
fn nothing_older_than_what_is_saved_is_flushed_at_the_end() {
    let site = site().set("SCR_FLUSH", "2");
    site.run(&NODES, |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
    });
    site.run(&NODES, |rank| {
        reject(rank);
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site).0, ["ck.2"]);
}

/// The sliding window has deleted the older one, and the user deletes the newer one.
#[test]
fn what_has_left_the_window_is_only_in_the_cache() {
    for background in ["0", "1"] {
        for deleted in [false, true] {
            let site = site()
                .set("SCR_FLUSH", "1")
                .set("SCR_PREFIX_SIZE", "1")
                .set("SCR_FLUSH_ASYNC", background)
                .set("SCR_FLUSH_ASYNC_BW", "0");
            site.run(&NODES, |rank| {
                rank.checkpoint("ck.1").unwrap();
                rank.checkpoint("ck.2").unwrap();
                rank.session.finish_background().unwrap();
                if deleted {
                    rank.session.delete(&Name::from("ck.2")).unwrap();
                }
                rank.finalize().unwrap();
            });
            let newest = if deleted { "ck.1" } else { "ck.2" };
            assert_eq!(saved(&site).0, [newest]);
            assert_eq!(site.entries("n0", "scr.dataset."), [""; 0]);
            site.expect_restart(&NODES, Some(newest));
        }
    }
}

#[test]
fn a_run_that_purges_the_prefix_directory_leaves_the_cache_to_the_next() {
    let site = site().set("SCR_FLUSH", "1").set("SCR_PREFIX_PURGE", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site).0, ["ck.1"]);
    site.expect_restart(&NODES, Some("ck.1"));
    let told = site.heard("SCR_PREFIX_PURGE=1 has deleted dataset 1 (ck.1)");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    assert!(!told[0].contains("from the beginning"), "{told:?}");
}

#[test]
fn a_purge_that_leaves_nothing_to_restart_from_says_so() {
    let site = site().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.finalize().unwrap();
    });
    let site = site.set("SCR_PREFIX_PURGE", "1");
    site.expect_restart(&NODES, None);
    let told = site.heard("has deleted 2 datasets, the last of which was dataset 2 (ck.2)");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    assert!(told[0].contains("Warning") && told[0].contains("starts from the beginning"));
}
