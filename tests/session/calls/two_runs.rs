//! Two runs of one job at the same time, in two prefix directories, on one node.

use crate::site::{Site, content, nodes};
use scr::config::Config;
use scr::format::Name;
use scr::session::{Session, Setup};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_jobs::clean::{self, Done};
use scr_testing::threads;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Another run of the site's job on a node, in a prefix directory of its own, which ends after `work`; the error if it
/// does not start or end well.
fn run_another(
    site: &Site,
    node: &str,
    bypass: &str,
    work: impl Fn() + Sync,
) -> Result<(), String> {
    let prefix = site.prefix().with_file_name("another");
    std::fs::create_dir_all(&prefix).unwrap();
    let started = threads::run(1, |comm| {
        let environment = site
            .environment(node)
            .with("SCR_PREFIX", &prefix)
            .with("SCR_CACHE_BYPASS", bypass)
            .with_cwd(prefix.clone());
        let setup = Setup {
            comm,
            files: Arc::new(Posix),
            sink: site.events.clone(),
            environment,
            lock_timeout: Duration::from_millis(100),
        };
        let started = Session::init(setup, &mut Config::new());
        let ended = started.and_then(|session| {
            work();
            session.map_or(Ok(()), |mut session| session.finalize(&mut Config::new()))
        });
        ended.map_err(|error| error.to_string())
    });
    started.into_iter().next().unwrap()
}

/// One that ends at once.
fn start_another(site: &Site, bypass: &str) -> Result<(), String> {
    run_another(site, "n0", bypass, || ())
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
        let other = format!("of a run in {} now", site.prefix().display());
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

/// Cleans up after the site's job on node n0, as the user does who thinks that it has ended. True if a
/// directory was removed.
fn clean_up(site: &Site) -> bool {
    let job = site.job("n0");
    let user = job.parent().unwrap();
    let name = user.file_name().unwrap().to_str().unwrap();
    let found = clean::directories(&Posix, user.parent().unwrap(), name, Some("1001")).unwrap();
    let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
    let cleaned = clean::clean(&found, false, true);
    let removed = cleaned.iter().any(|one| matches!(one.done, Done::Removed));
    assert_eq!(job.exists(), !removed);
    removed
}

#[test]
fn the_control_directory_of_a_run_without_a_cache_is_kept() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(1), |rank| {
        assert!(!clean_up(&site));
        // Another run of the job leaves it, too, when it ends.
        start_another(&site, "1").unwrap();
        assert!(site.job("n0").exists());
        rank.checkpoint("ck.1").unwrap();
        assert!(!clean_up(&site));
        rank.session.finalize(&mut Config::new()).unwrap();
        assert!(!site.job("n0").exists());
    });
    // A killed run keeps nobody from cleaning up.
    site.run(&nodes(1), |rank| rank.checkpoint("ck.2").unwrap());
    assert!(site.job("n0").exists());
    assert!(clean_up(&site));
}

/// As while `scr clean` looks at it.
#[test]
fn a_run_does_not_wait_long_for_the_lock_on_its_control_directory() {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(1), |rank| rank.checkpoint("ck.1").unwrap());
    let calls = site.job("n0").join(".scr.calls");
    std::fs::File::create(&calls).unwrap();
    let lock = Posix.try_lock(&calls).unwrap();
    assert!(lock.is_some());
    start_another(&site, "1").unwrap();
    drop(lock);
    site.expect_restart(&nodes(1), Some("ck.1"));
}

/// Starts a run of the site on nodes a and b, waiting for others but a moment: the checkpoint that it is offered.
fn start_again(site: &Site, bypass: &str) -> Vec<Result<Option<Name>, String>> {
    threads::run(2, |comm| {
        let environment = site.environment(["a", "b"][comm.rank()]);
        let environment = environment.with("SCR_CACHE_BYPASS", bypass);
        let setup = Setup {
            comm,
            files: Arc::new(Posix),
            sink: site.events.clone(),
            environment,
            lock_timeout: Duration::from_millis(100),
        };
        let started = Session::init(setup, &mut Config::new());
        let offered = started.and_then(|session| session.unwrap().have_restart());
        offered.map_err(|error| error.to_string())
    })
}

#[test]
fn a_rank_that_outlives_its_run_keeps_the_next_one_from_its_cache_and_is_named() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let gone = std::sync::Barrier::new(2);
    site.start(&["a", "b"], |rank| {
        let mut rank = rank.unwrap().unwrap();
        rank.checkpoint("ck.1").unwrap();
        if rank.rank == 0 {
            // Rank 0 dies, and with it the lock on the prefix directory.
            drop(rank);
            gone.wait();
            return;
        }
        gone.wait();
        // One that does without the cache would not know of the checkpoint there.
        let errors = ["0", "1"].map(|bypass| start_again(&site, bypass));
        let process = format!("process {} of a run in", std::process::id());
        let job = site.job("b").display().to_string();
        let prefix = site.prefix().display().to_string();
        for error in errors.into_iter().flatten() {
            let error = error.expect_err("the cache on node b is held");
            let parts = ["on node b", &process, &job, &prefix, "kill -9"];
            let all = parts.iter().all(|part| error.contains(part));
            assert!(all, "{error}");
        }
        drop(rank);
    });
    site.expect_restart(&["a", "b"], Some("ck.1"));
}

/// On node b, of whose files this run cannot rebuild or read any while the other has the cache.
#[test]
fn a_run_that_does_without_the_cache_offers_nothing_of_one_that_another_run_has() {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&["a", "b"], |rank| rank.checkpoint("ck.1").unwrap());
    let beside = || {
        for error in start_again(&site, "1") {
            let error = error.expect_err("the cache on node b is held");
            let parts = [
                "dataset 1 (ck.1)",
                "another run has the cache",
                "start again",
            ];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    };
    run_another(&site, "b", "0", beside).unwrap();
    let offered = start_again(&site, "1");
    assert_eq!(offered, [Ok(Some("ck.1".into())), Ok(Some("ck.1".into()))]);
}

/// Two ranks of which one is on its way to write a file of `name` when its run is killed: the
/// path that it has got.
fn killed_in(site: &Site, name: &str) -> std::path::PathBuf {
    let paths = site.run(&["a", "a"], |rank| {
        let session = &mut rank.session;
        session
            .start_output(Some(name.into()), true, false)
            .unwrap();
        let file = format!("{name}/rank_{}.dat", rank.rank);
        session.route(Path::new(&file)).unwrap()
    });
    paths[1].clone()
}

#[test]
fn what_is_left_of_a_run_writes_into_no_dataset_of_the_next() {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    let path = killed_in(&site, "ck.1");
    let all = std::sync::Barrier::new(2);
    site.run(&["a", "a"], |rank| {
        let session = &mut rank.session;
        session
            .start_output(Some("ck.1".into()), true, false)
            .unwrap();
        let file = format!("ck.1/rank_{}.dat", rank.rank);
        let here = session.route(Path::new(&file)).unwrap();
        assert_ne!(here, path);
        std::fs::write(here, content("ck.1", rank.rank, 1000 + 7 * rank.rank)).unwrap();
        // All have written, and the rank of the old run opens its file at last.
        all.wait();
        if rank.rank == 0 {
            let opened = std::fs::write(&path, content("stale", 1, 1000));
            assert_eq!(opened.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        }
        all.wait();
        session.complete_output(true).unwrap();
    });
    site.expect_restart(&["a", "a"], Some("ck.1"));
}

#[test]
fn what_is_left_of_a_run_neither_finds_nor_completes_what_the_next_has_restarted_from() {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "3");
    site.run(&["a", "a"], |rank| rank.checkpoint("ck.1").unwrap());
    let old = site.cache("a");
    let record = old.join("scr.dataset.1/.scr/filemap_1");
    let bytes = std::fs::read(&record).unwrap();
    let path = killed_in(&site, "ck.2");
    site.run(&["a", "a"], |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        if rank.rank == 0 {
            // What it knows by name is not there, for writing or deleting.
            for known in [&record, &path] {
                let error = std::fs::write(known, &bytes).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{known:?}");
            }
            assert!(!old.exists());
        }
        rank.checkpoint("ck.2").unwrap();
        // It may make directories again, with anything in them: they are no dataset.
        if rank.rank == 0 {
            for dataset in ["scr.dataset.2", "scr.dataset.7"] {
                let meta = old.join(dataset).join(".scr");
                std::fs::create_dir_all(&meta).unwrap();
                std::fs::write(meta.join("filemap_1"), &bytes).unwrap();
                let data = old.join(dataset).join("rank_1/ck.2");
                std::fs::create_dir_all(&data).unwrap();
                std::fs::write(data.join("rank_1.dat"), content("stale", 1, 1000)).unwrap();
            }
        }
    });
    site.expect_restart(&["a", "a"], Some("ck.2"));
    assert!(!old.exists());
    assert_eq!(
        site.entries("a", "scr.dataset."),
        ["scr.dataset.1", "scr.dataset.2"]
    );
}
