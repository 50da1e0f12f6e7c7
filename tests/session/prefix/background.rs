//! Flushes in the background: what they leave, when calls wait for them, and what happens when they
//! fail.

use crate::site::{Rank, Site};
use scr::format::Name;
use scr::prefix::index;
use scr::prefix::paths::Prefix;
use scr::store::posix::Posix;

const NODES: [&str; 4] = ["n0", "n0", "n1", "n1"];

/// Every checkpoint is flushed in the background, without a limit.
fn background() -> Site {
    Site::in_memory()
        .set("SCR_CACHE_BYPASS", "0")
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "1")
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_FLUSH_ASYNC_BW", "0")
        .set("SCR_DEBUG", "1")
}

/// The names of the good checkpoints in the index.
fn saved(site: &Site) -> Vec<String> {
    let index = index::read(&Posix, &Prefix::new(&site.prefix())).unwrap();
    let good = index.datasets().values().filter(|entry| entry.is_good());
    let names = good.filter_map(|entry| entry.dataset.as_ref());
    names.map(|dataset| dataset.name.to_string()).collect()
}

/// Where the flush file says that a dataset is.
fn places(site: &Site, id: u64) -> Vec<String> {
    let prefix = Prefix::new(&site.prefix());
    let record = scr::prefix::records::read_flush_file(&Posix, &prefix).unwrap();
    let entry = record.datasets.get(&id);
    entry.map_or(Vec::new(), |entry| {
        entry.locations.iter().map(ToString::to_string).collect()
    })
}

fn lose_all(site: &Site) {
    let there = ["n0", "n1"]
        .into_iter()
        .filter(|node| site.node(node).exists());
    there.for_each(|node| site.lose(node));
}

#[test]
fn finalize_waits_and_the_next_run_restarts_from_the_prefix_directory() {
    let site = background();
    site.run(&NODES, |rank| {
        for name in ["a", "b", "c"] {
            rank.checkpoint(name).unwrap();
        }
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site), ["a", "b", "c"]);
    let told = site.events.lines().join("\n");
    assert!(
        told.contains("was flushed to") && told.contains("in the background"),
        "{told}"
    );
    assert!(told.contains("held up"), "{told}");
    lose_all(&site);
    let names = site.run(&NODES, Rank::restart);
    assert_eq!(names, vec![Some("c".to_string()); 4]);
}

/// The flush of the first one cannot end before it is cancelled or waited for: one byte a second.
fn slow() -> Site {
    background().set("SCR_FLUSH_ASYNC_BW", "1")
}

#[test]
fn the_program_goes_on_while_a_flush_lasts_and_a_killed_one_is_not_offered() {
    let site = slow();
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            assert_eq!(places(&site, 1), ["CACHE", "FLUSHING"]);
        }
        rank.session.should_exit().unwrap();
        // Nothing in the cache must go for this one, so nobody waits.
        rank.session
            .start_output(Some("b".into()), true, false)
            .unwrap();
        rank.session.abandon();
    });
    assert_eq!(saved(&site), [] as [&str; 0]);
    lose_all(&site);
    let names = site.run(&NODES, Rank::restart);
    assert_eq!(names, vec![None; 4]);
}

#[test]
fn deleting_and_overwriting_cancel_a_flush() {
    let site = slow();
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        rank.session.delete(&Name::from("a")).unwrap();
        rank.checkpoint("same").unwrap();
        rank.checkpoint("same").unwrap();
        rank.session.delete(&Name::from("same")).unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site), [] as [&str; 0]);
    let told = site.events.lines().join("\n");
    assert!(
        !told.contains("ERROR") && !told.contains("could not"),
        "{told}"
    );
}

#[test]
fn eviction_waits_for_a_flush() {
    let site = background().set("SCR_CACHE_SIZE", "1");
    site.run(&NODES, |rank| {
        for name in ["a", "b", "c", "d"] {
            rank.checkpoint(name).unwrap();
        }
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site), ["a", "b", "c", "d"]);
}

#[test]
fn what_the_user_drops_meanwhile_stays_dropped() {
    let site = background();
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        rank.session.drop_dataset(&Name::from("a")).unwrap();
        rank.checkpoint("b").unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site), ["b"]);
}

/// While the program waits for a flush that fails: the next dataset tries it again.
#[test]
fn a_flush_that_fails_is_made_again_after_the_next_dataset() {
    let site = background()
        .set("SCR_FLUSH_ASYNC", "0")
        .set("SCR_CACHE_SIZE", "3");
    let in_the_way = site.prefix().join("a/rank_2.dat");
    std::fs::create_dir_all(&in_the_way).unwrap();
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap_err();
        rank.checkpoint("b").unwrap();
        assert_eq!(saved(&site), ["b"]);
        rank.session.should_exit().unwrap();
        if rank.rank == 2 {
            std::fs::remove_dir(&in_the_way).unwrap();
        }
        rank.checkpoint("c").unwrap();
        if rank.rank == 0 {
            assert_eq!(saved(&site), ["a", "b", "c"]);
        }
    });
    lose_all(&site);
    // The newest is the current one, though it was not the last to come.
    site.expect_restart(&NODES, Some("c"));
}

/// A directory is in the way of a file: the error names it, the dataset stays in the cache, and the end of
/// the run flushes it when the way is free.
#[test]
fn a_flush_that_fails_is_told_and_made_again() {
    let site = background();
    let in_the_way = site.prefix().join("a/rank_2.dat");
    std::fs::create_dir_all(&in_the_way).unwrap();
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        // Waits for the end of the flush.
        rank.session.current(&Name::from("a")).unwrap();
        assert_eq!(saved(&site), [] as [&str; 0]);
        rank.session.should_exit().unwrap();
        if rank.rank == 2 {
            std::fs::remove_dir(&in_the_way).unwrap();
        }
        rank.session.should_exit().unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(saved(&site), ["a"]);
    let told = site.events.lines();
    let errors: Vec<&String> = told
        .iter()
        .filter(|line| line.contains("could not be flushed"))
        .collect();
    assert_eq!(errors.len(), 1, "{told:?}");
    for part in [
        "dataset 1 (a)",
        "still in the cache",
        "rank 2",
        "n1",
        "a/rank_2.dat",
    ] {
        assert!(errors[0].contains(part), "{part}: {}", errors[0]);
    }
}
