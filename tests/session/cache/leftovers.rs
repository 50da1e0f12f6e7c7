//! What `SCR_Finalize` leaves in the nodes: nothing, if a restart can do without it.

use crate::site::Site;

const NODES: [&str; 4] = ["n0", "n0", "n1", "n1"];

/// What is in the base directory of each node.
fn left(site: &Site) -> Vec<Vec<std::ffi::OsString>> {
    let list = |node| {
        let entries = std::fs::read_dir(site.node(node)).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    ["n0", "n1"].map(list).to_vec()
}

fn write_and_end(site: &Site, names: &[&str]) {
    site.run(&NODES, |rank| {
        for name in names {
            rank.checkpoint(name).unwrap();
        }
        rank.finalize().unwrap();
    });
}

#[test]
fn a_run_in_bypass_leaves_nothing_in_the_nodes() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    write_and_end(&site, &["ck.1", "ck.2"]);
    assert_eq!(left(&site), [[""; 0], [""; 0]]);
    site.expect_restart(&NODES, Some("ck.2"));
}

#[test]
fn a_run_that_has_flushed_everything_leaves_nothing_in_the_nodes() {
    for fetch in ["1", "0"] {
        let site = Site::new().set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "2");
        write_and_end(&site, &["ck.1", "ck.2"]);
        assert_eq!(left(&site), [[""; 0], [""; 0]]);
        // SCR v3.1.0 restarts from its cache there, so that no fetch is needed.
        let site = site.set("SCR_FETCH", fetch);
        site.expect_restart(&NODES, Some("ck.2"));
        site.expect_restart(&NODES, Some("ck.2"));
        let site = site.set("SCR_JOB_ID", "1002");
        site.expect_restart(&NODES, Some("ck.2").filter(|_| fetch == "1"));
    }
}

#[test]
fn what_a_restart_may_need_stays_in_the_nodes() {
    // The older one was not flushed, nothing was flushed, or nothing would be fetched.
    for (flush, fetch, names) in [
        ("5", "1", &["ck.1", "ck.2"][..]),
        ("0", "1", &["ck.1"]),
        ("1", "0", &["ck.1"]),
    ] {
        let site = Site::new()
            .set("SCR_FLUSH", flush)
            .set("SCR_FETCH", fetch)
            .set("SCR_CACHE_SIZE", "2");
        write_and_end(&site, names);
        for id in 1..=names.len() as u64 {
            assert!(site.dataset("n0", id).join("rank_1").exists(), "{flush}");
        }
        site.expect_restart(&NODES, names.last().copied());
        assert_eq!(site.heard("is ready in the cache").len(), 1, "{flush}");
    }
}

/// The first rank of a run that waits for the lock of the one before has opened the directory that
/// goes.
#[test]
fn the_next_run_may_start_while_the_last_one_ends() {
    let site = Site::new().set("SCR_FLUSH", "1");
    for round in 0..5 {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| write_and_end(&site, &[&format!("a.{round}")]));
            let second = scope.spawn(|| write_and_end(&site, &[&format!("b.{round}")]));
            first.join().unwrap();
            second.join().unwrap();
        });
        assert_eq!(left(&site), [[""; 0], [""; 0]]);
    }
}
