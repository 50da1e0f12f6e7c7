//! Two runs of one job at the same time, in two prefix directories, on one node.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod job;

use job::{Site, content, nodes};
use scr::comm::threads;
use scr::config::Config;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Starts another run of the site's job, which ends at once; the error if it does not start.
fn start_another(site: &Site, bypass: &str) -> Result<(), String> {
    let prefix = site.prefix().with_file_name("another");
    std::fs::create_dir_all(&prefix).unwrap();
    let started = threads::run(1, |comm| {
        let environment = site
            .environment("n0")
            .with("SCR_PREFIX", &prefix.to_string_lossy())
            .with("SCR_CACHE_BYPASS", bypass)
            .with_cwd(prefix.clone());
        let setup = Setup {
            comm,
            files: Arc::new(Posix),
            sink: site.events.clone(),
            environment,
            patience: Duration::from_millis(100),
        };
        let started = Session::init(setup, &mut Config::new());
        started.map(drop).map_err(|error| error.to_string())
    });
    started.into_iter().next().unwrap()
}

/// A run with a checkpoint and an open dataset, in the middle of which others start.
fn run_beside(site: &Site, others: impl Fn() + Sync) {
    site.run(&nodes(1), |rank| {
        rank.checkpoint("ck.1").unwrap();
        let session = &mut rank.session;
        session
            .start_output(Some("ck.2".into()), true, false)
            .unwrap();
        let path = session.route(Path::new("ck.2/rank_0.dat")).unwrap();
        std::fs::write(path, content("ck.2", 0, 1000)).unwrap();
        others();
        session.complete_output(true).unwrap();
    });
    site.expect_restart(&nodes(1), Some("ck.2"));
}

#[test]
fn a_second_run_that_needs_the_cache_is_refused() {
    let site = Site::new().set("SCR_FLUSH", "0");
    run_beside(&site, || {
        let error = start_another(&site, "0").unwrap_err();
        let other = format!("a run in {} uses this cache now", site.prefix().display());
        for part in ["on node n0", &other, "SCR_JOB_ID", "scr.1001"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    });
    // After it, the cache is free, and what it had is not the other's.
    start_another(&site, "0").unwrap();
    site.expect_restart(&nodes(1), Some("ck.2"));
}

#[test]
fn a_second_run_that_does_without_the_cache_leaves_it_alone() {
    let site = Site::new().set("SCR_FLUSH", "0");
    run_beside(&site, || start_another(&site, "1").unwrap());
}

#[test]
fn a_run_that_does_without_the_cache_keeps_nobody_from_it() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    run_beside(&site, || start_another(&site, "0").unwrap());
}
