//! Eviction while datasets are flushed: what is being flushed is waited for before the only copy of a
//! newer checkpoint goes, and after a kill the next run is offered the newest that completed.

use crate::site::{Rank, Site};
use scr::prefix::index;
use scr::prefix::paths::Prefix;
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::path::Path;
use std::sync::Arc;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

/// Nothing is flushed but output, and that in the background without a limit. Each rank has files of its
/// own, which fail when it is killed.
fn site(size: &str, scheme: &str) -> (Site, Vec<Faults>) {
    let mut site = Site::in_memory()
        .set("SCR_CACHE_SIZE", size)
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_FLUSH", "0")
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_FLUSH_ASYNC_BW", "0");
    let mut faults = Vec::new();
    for _ in NODES {
        let files = Faulty::new(Posix);
        faults.push(files.faults());
        site.by_rank.push(Some(Arc::new(files) as Arc<dyn Files>));
    }
    (site, faults)
}

/// The next run, on files without faults.
fn next(mut site: Site) -> Site {
    site.by_rank.clear();
    site
}

/// Begins a checkpoint, and the process dies.
fn die_in(rank: &mut Rank, name: &str, faults: &[Faults]) {
    rank.session
        .start_output(Some(name.into()), true, false)
        .unwrap();
    let path = rank.session.route(Path::new(&format!("{name}/x"))).unwrap();
    std::fs::write(path, b"half").unwrap();
    faults[rank.rank].die_now();
}

/// Operations at `held` wait on each rank until it does something at `until`.
fn hold(faults: &[Faults], held: &str, until: &str) {
    faults.iter().for_each(|faults| faults.hold(held, until));
}

fn is_saved(site: &Site, name: &str) -> bool {
    site.prefix().join(name).join("rank_0.dat").exists()
}

fn is_complete(site: &Site, id: u64) -> bool {
    let index = index::read(&Posix, &Prefix::new(&site.prefix()));
    index.is_ok_and(|index| index.get(id).is_some_and(|entry| entry.complete))
}

#[test]
fn what_is_being_flushed_does_not_push_out_the_newest() {
    for checkpoint in [true, false] {
        for scheme in ["SINGLE", "XOR"] {
            let (site, faults) = site("2", scheme);
            // Nothing of it is copied before the third one is begun.
            hold(&faults, "prefix/ck.1", "scr.dataset.3");
            site.run(&NODES, |rank| {
                rank.write("ck.1", checkpoint, true).unwrap();
                rank.checkpoint("ck.2").unwrap();
                die_in(rank, "ck.3", &faults);
            });
            let site = next(site);
            site.expect_restart(&NODES, Some("ck.2"));
            assert!(is_saved(&site, "ck.1"), "its flush was waited for");
        }
    }
}

/// Another one that a newer checkpoint replaces goes meanwhile.
#[test]
fn nothing_waits_for_a_flush_while_an_older_checkpoint_may_go() {
    let (site, faults) = site("3", "XOR");
    hold(&faults, "prefix/ck.1", "never");
    site.run(&NODES, |rank| {
        rank.write("ck.1", true, true).unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.checkpoint("ck.3").unwrap();
        die_in(rank, "ck.4", &faults);
    });
    assert!(!is_saved(&site, "ck.1"));
    assert_eq!(
        site.entries("n0", "scr.dataset."),
        ["scr.dataset.1", "scr.dataset.3", "scr.dataset.4"]
    );
    next(site).expect_restart(&NODES, Some("ck.3"));
}

/// A flush that fails while it is waited for: the newest stays nevertheless.
#[test]
fn a_flush_that_fails_meanwhile_does_not_cost_the_newest() {
    let (site, faults) = site("2", "XOR");
    std::fs::create_dir_all(site.prefix().join("ck.1/rank_1.dat")).unwrap();
    hold(&faults, "prefix/ck.1", "scr.dataset.3");
    site.run(&NODES, |rank| {
        rank.write("ck.1", true, true).unwrap();
        rank.checkpoint("ck.2").unwrap();
        die_in(rank, "ck.3", &faults);
    });
    next(site).expect_restart(&NODES, Some("ck.2"));
}

/// The safer one is in one store, what is being flushed in another one.
#[test]
fn a_flush_from_another_store_is_waited_for_if_it_decides() {
    let (site, faults) = site("2", "FILE");
    let other = site.outside();
    std::fs::create_dir(&other).unwrap();
    site.configure(&format!(
        "STORE={0}/$SCR_NODE_NAME COUNT=2\nCKPT=0 INTERVAL=1 TYPE=SINGLE\nCKPT=1 INTERVAL=3 TYPE=XOR\n\
         CKPT=2 OUTPUT=1 STORE={0}/$SCR_NODE_NAME TYPE=SINGLE",
        other.display()
    ));
    // XOR is 3, SINGLE in the other store is 4, SINGLE is 5: the sixth takes the place of 3 if 4 is safe.
    hold(&faults, "prefix/ck.4", "scr.dataset.6");
    site.run(&NODES, |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
        rank.write("ck.4", true, true).unwrap();
        rank.checkpoint("ck.5").unwrap();
        die_in(rank, "ck.6", &faults);
    });
    let site = next(site);
    site.expect_restart(&NODES, Some("ck.5"));
    assert!(is_saved(&site, "ck.4"));
}

/// A store whose space is taken by what is being flushed.
#[test]
fn a_full_store_waits_for_a_flush_that_makes_room() {
    let (site, faults) = site("2", "SINGLE");
    site.run(&NODES, |rank| {
        rank.write("ck.1", true, true).unwrap();
        // It is complete, but the ranks have not agreed on that. The last leaders may still write its records.
        while !is_complete(&site, 1) {
            std::thread::yield_now();
        }
        // Too little for another dataset, enough for the last records of a flush.
        faults[rank.rank].limit_space(Some(8191));
        rank.session
            .start_output(Some("ck.2".into()), true, false)
            .unwrap();
    });
    assert_eq!(site.entries("n0", "scr.dataset."), ["scr.dataset.2"]);
    next(site).expect_restart(&NODES, Some("ck.1"));
}

/// The program could not use the newest: it gets the one before it.
#[test]
fn with_one_scheme_the_oldest_leaves_the_cache_though_it_is_saved() {
    for background in ["0", "1"] {
        let (site, _) = site("3", "XOR");
        let site = site.set("SCR_FLUSH_ASYNC", background);
        site.run(&NODES, |rank| {
            rank.write("a", true, true).unwrap();
            rank.session.finish_background().unwrap();
            for name in ["b", "c", "d"] {
                rank.checkpoint(name).unwrap();
            }
            rank.session
                .start_output(Some("e".into()), true, false)
                .unwrap();
            rank.session.complete_output(false).unwrap_err();
        });
        site.run(&NODES, |rank| {
            let offered = rank.session.have_restart().unwrap().unwrap();
            assert_eq!(offered.to_string(), "d");
            rank.session.start_restart().unwrap();
            rank.session.complete_restart(false).unwrap_err();
            assert_eq!(rank.restart().as_deref(), Some("c"));
            rank.session.finish_background().unwrap();
        });
    }
}
