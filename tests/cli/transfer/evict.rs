//! Datasets that leave the cache while a daemon flushes an older one.

use super::poststage::{POSTSTAGE, on_nodes};
use super::*;

const NODE: [&str; 2] = ["n0", "n0"];

/// The daemon is stopped from the start of the run until the directory of dataset 3 exists, for which
/// another one must leave the cache.
fn with_a_daemon_that_is_late(site: &Site, body: impl Fn(&mut Rank) + Sync) -> Running {
    let daemon = Running::on(site, "n0");
    daemon.signal(libc::SIGSTOP);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until(|| site.dataset("n0", 3).exists());
            daemon.signal(libc::SIGCONT);
        });
        site.run(&NODE, body);
    });
    daemon
}

/// Dataset 2 is nowhere else. It stays, because the end of the daemon's work is waited for.
#[test]
fn what_a_daemon_flushes_does_not_push_out_the_newest() {
    let site = by_daemon().set("SCR_FLUSH", "0");
    let daemon = with_a_daemon_that_is_late(&site, |rank| {
        rank.write("a", true, true).unwrap();
        rank.checkpoint("b").unwrap();
        assert_eq!(saved(&site), [] as [&str; 0]);
        // The run ends as if it were killed.
        let started = rank.session.start_output(Some("c".into()), true, false);
        started.unwrap();
    });
    drop(daemon);
    assert_eq!(saved(&site), ["a"], "its flush was waited for");
    site.expect_restart(&NODE, Some("b"));
}

/// With poststage a start waits likewise, and the end of the run does not.
#[test]
fn poststage_finishes_what_is_left_of_a_full_cache() {
    let site = by_daemon().set("SCR_FLUSH_POSTSTAGE", "1");
    let mut daemon = with_a_daemon_that_is_late(&site, |rank| {
        for name in ["a", "b", "c"] {
            rank.checkpoint(name).unwrap();
        }
        finalize(rank);
    });
    let said = on_nodes(&site, &[("SCR_NODELIST", "n0"), POSTSTAGE], &["poststage"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(daemon.ends(), Some(0));
    assert_eq!(saved(&site), ["a", "b", "c"]);
    lose_all(&site);
    site.expect_restart(&NODE, Some("c"));
}

/// The run is killed in its start, and its node's daemon, too: postrun copies what the cache has.
#[test]
fn postrun_saves_the_newest_that_an_older_flush_has_left_in_the_cache() {
    let site = by_daemon().set("SCR_FLUSH", "0");
    let daemon = with_a_daemon_that_is_late(&site, |rank| {
        rank.write("a", true, true).unwrap();
        rank.checkpoint("b").unwrap();
        let started = rank.session.start_output(Some("c".into()), true, false);
        started.unwrap();
    });
    drop(daemon);
    let said = on_nodes(&site, &[("SCR_NODELIST", "n0")], &["postrun"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(saved(&site), ["a", "b"]);
    lose_all(&site);
    site.expect_restart(&NODE, Some("b"));
}
