//! Runs with `SCR_FETCH=0`: what counts as their cache.

use super::api::reject;
use crate::site::{Rank, Site};
use scr::format::index::Index;
use scr::store::posix::Posix;

const NODES: [&str; 2] = ["n0", "n1"];

fn current(site: &Site) -> Option<String> {
    let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
    index.current().map(ToString::to_string)
}

/// A run that does not fetch has lost the newest checkpoint with the nodes. A later run may fetch it.
#[test]
fn a_restart_without_a_fetch_leaves_a_newer_checkpoint_current() {
    let site = Site::new().set("SCR_FLUSH", "1").set("SCR_FETCH", "0");
    let site = site.set("SCR_COPY_TYPE", "FILE");
    site.configure("CKPT=0 TYPE=SINGLE BYPASS=1\nCKPT=1 INTERVAL=2 TYPE=SINGLE BYPASS=0");
    site.run(&NODES, |rank| {
        rank.checkpoint("A").unwrap();
        rank.checkpoint("B").unwrap();
    });
    NODES.iter().for_each(|node| site.lose(node));
    site.expect_restart(&NODES, Some("A"));
    assert_eq!(current(&site).as_deref(), Some("B"));
    let site = site.set("SCR_FETCH", "1");
    site.expect_restart(&NODES, Some("B"));
}

/// Begins a dataset that comes to nothing.
fn fail(rank: &mut Rank, checkpoint: bool) {
    let name = Some("bad".into());
    let session = &mut rank.session;
    session.start_output(name, checkpoint, !checkpoint).unwrap();
    session.complete_output(false).unwrap_err();
}

/// The newest checkpoint is in the prefix directory, and has left the cache for a dataset that comes to nothing.
#[test]
fn without_a_fetch_the_newest_counts_until_the_next_one_is_complete() {
    for bypass in ["0", "1"] {
        let site = Site::new().set("SCR_CACHE_BYPASS", bypass);
        let site = site.set("SCR_FLUSH", "1").set("SCR_FETCH", "0");
        site.run(&NODES, |rank| {
            rank.checkpoint("A").unwrap();
            fail(rank, true);
            assert_eq!(rank.restart().as_deref(), Some("A"), "{bypass}");
            fail(rank, true);
            fail(rank, true);
        });
        // The next run begins one, without a restart.
        site.run(&NODES, |rank| {
            fail(rank, true);
            assert_eq!(rank.restart().as_deref(), Some("A"), "{bypass}");
            let session = &mut rank.session;
            session.start_output(Some("B".into()), true, false).unwrap();
            session.abandon();
        });
        site.run(&NODES, |rank| {
            assert_eq!(rank.restart().as_deref(), Some("A"), "{bypass}");
            rank.checkpoint("B").unwrap();
            assert_eq!(rank.restart().as_deref(), Some("B"), "{bypass}");
            reject(rank, "B");
            let left = rank.session.have_restart().unwrap();
            // In bypass the count of the store holds for what an earlier run has left, too.
            assert_eq!(left.is_none(), bypass == "1");
        });
    }
}

/// An older one is in bypass, or in another store.
#[test]
fn without_a_fetch_no_older_one_is_offered_than_one_that_output_has_displaced() {
    let older = ["BYPASS=1", "BYPASS=0 STORE=$SCR_CACHE_BASE/second"];
    for older in older {
        let site = Site::new().set("SCR_FLUSH", "1").set("SCR_FETCH", "0");
        let site = site.set("SCR_COPY_TYPE", "FILE");
        site.configure(&format!(
            "STORE=$SCR_CACHE_BASE/second COUNT=2\nCKPT=0 TYPE=SINGLE {older}\n\
             CKPT=1 INTERVAL=2 TYPE=SINGLE BYPASS=0 OUTPUT=1"
        ));
        site.run(&NODES, |rank| {
            rank.checkpoint("A").unwrap();
            rank.checkpoint("B").unwrap();
            rank.write("output", false, true).unwrap();
            fail(rank, false);
            assert_eq!(rank.restart().as_deref(), Some("B"), "{older}");
            fail(rank, false);
        });
        site.expect_restart(&NODES, Some("B"));
        assert_eq!(current(&site).as_deref(), Some("B"), "{older}");
    }
}
