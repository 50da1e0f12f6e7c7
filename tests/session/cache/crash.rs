//! A run dies, or a disk fills up, at each storage operation of a run that writes checkpoints. The
//! next start finds everything that was completed before.

use crate::sampled::sampled;
use crate::site::{self, Site, nodes};
use scr::store::faulty::{Faults, Faulty};
use scr::store::posix::Posix;
use std::path::Path;
use std::sync::Arc;

const NAMES: [&str; 3] = ["ck.1", "ck.2", "ck.3"];

fn site() -> Site {
    Site::new().set("SCR_CACHE_SIZE", "2").set("SCR_FLUSH", "0")
}

/// Whose storage fails: one rank's, or that of all together.
const WHOSE: [Option<usize>; 3] = [Some(0), Some(2), None];

fn faults(site: &mut Site, whose: Option<usize>) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    match whose {
        Some(rank) => {
            site.by_rank = vec![None; 4];
            site.by_rank[rank] = Some(Arc::new(files));
        }
        None => site.files = Arc::new(files),
    }
    faults
}

fn heal(site: &mut Site) {
    site.files = Arc::new(Posix);
    site.by_rank.clear();
}

/// Checkpoints until something fails; the number of those that all ranks completed.
fn checkpoints(site: &Site) -> usize {
    let done = site.start(&nodes(4), |started| {
        let Ok(Some(mut rank)) = started else {
            return 0;
        };
        let good = NAMES
            .iter()
            .take_while(|name| rank.checkpoint(name).is_ok());
        good.count()
    });
    done.into_iter().max().unwrap()
}

/// The newest completed checkpoint or a newer one must be offered, with the right bytes.
fn expect_at_least(site: &Site, done: usize, what: &str) {
    let names = site.run(&nodes(4), |rank| rank.restart());
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
    let got = names[0].as_deref().map_or(0, |name| {
        1 + NAMES.iter().position(|other| *other == name).unwrap()
    });
    let events = site.events.lines().join("\n");
    assert!(got >= done, "{what}: {got} after {done}\n{events}");
}

#[test]
fn a_kill_at_any_operation_of_a_run_leaves_the_newest_completed_checkpoint() {
    for whose in WHOSE {
        let mut counted = site();
        let faults_of_count = faults(&mut counted, whose);
        assert_eq!(checkpoints(&counted), 3);
        let operations = faults_of_count.operations();
        assert!(operations > 20, "{operations}");
        // Those of all ranks together are in another order each time; a sample is enough.
        for n in sampled((1..=operations).step_by(if whose.is_none() { 7 } else { 1 })) {
            let mut site = site();
            faults(&mut site, whose).die_at(n);
            let done = checkpoints(&site);
            heal(&mut site);
            expect_at_least(&site, done, &format!("operation {n} of {whose:?}"));
        }
    }
}

#[test]
fn a_kill_at_any_operation_of_a_rebuild_loses_nothing() {
    let prepared = || {
        let site = site();
        assert_eq!(checkpoints(&site), 3);
        site.lose("n1");
        site
    };
    let spare = ["n0", "spare", "n3", "n2"];
    let start = |site: &Site| {
        site.start(&spare, |started| started.is_ok());
    };
    for whose in [Some(0), Some(1), Some(3), None] {
        let mut counted = prepared();
        let faults_of_count = faults(&mut counted, whose);
        start(&counted);
        let operations = faults_of_count.operations();
        for n in sampled((1..=operations).step_by(if whose.is_none() { 5 } else { 1 })) {
            let mut site = prepared();
            faults(&mut site, whose).die_at(n);
            start(&site);
            heal(&mut site);
            let names = site.run(&spare, |rank| rank.restart());
            let all = names.iter().all(|name| name.as_deref() == Some("ck.3"));
            let events = site.events.lines().join("\n");
            assert!(all, "operation {n} of {whose:?}: {names:?}\n{events}");
        }
    }
}

/// One attempt in which the program tells SCR of its own failure.
fn attempt(rank: &mut site::Rank, name: &str) -> scr::Result<()> {
    rank.session.start_output(Some(name.into()), true, false)?;
    let path = rank
        .session
        .route(Path::new(&format!("{name}/rank_{}.dat", rank.rank)));
    let content = site::content(name, rank.rank, 1000 + 7 * rank.rank);
    let written = path.is_ok_and(|path| std::fs::write(path, content).is_ok());
    rank.session.complete_output(written)
}

/// Rank 0 also keeps the records in the prefix directory.
#[test]
fn a_full_disk_on_one_rank_is_the_same_news_on_all() {
    for full in [0, 1] {
        let mut counted = site();
        let counter = faults(&mut counted, Some(full));
        let operations = counted.run(&nodes(4), |rank| {
            rank.checkpoint("ck.1").unwrap();
            let before = counter.operations();
            rank.checkpoint("ck.2").unwrap();
            counter.operations() - before
        })[full];
        assert!(operations > 4);
        for at in sampled(1..=operations) {
            let mut site = site();
            let faults = faults(&mut site, Some(full));
            let results = site.run(&nodes(4), |rank| {
                rank.checkpoint("ck.1").unwrap();
                if rank.rank == full {
                    faults.fail_at(faults.operations() + at, libc::ENOSPC);
                }
                attempt(rank, "ck.2").map_err(|e| e.to_string())
            });
            assert!(results.iter().all(|r| *r == results[0]), "{results:?}");
            heal(&mut site);
            let newest = if results[0].is_ok() { "ck.2" } else { "ck.1" };
            site.expect_restart(&nodes(4), Some(newest));
        }
    }
}

/// Output that was whole in the cache when its flush was cut off is flushed by the next run,
/// and is no checkpoint.
#[test]
fn output_cut_off_in_its_flush_is_saved_and_never_offered() {
    let run = |site: &Site| {
        site.start(&nodes(2), |started| {
            let Ok(Some(mut rank)) = started else { return };
            let _ = rank
                .checkpoint("ck.1")
                .and_then(|()| rank.write("out", false, true));
        });
    };
    let mut counted = site();
    let counter = faults(&mut counted, Some(0));
    let before = counted.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        counter.operations()
    })[0];
    let mut counted = site();
    let counter = faults(&mut counted, Some(0));
    run(&counted);
    let mut saved = 0;
    for n in sampled(before + 1..=counter.operations()) {
        let mut site = site();
        faults(&mut site, Some(0)).die_at(n);
        run(&site);
        heal(&mut site);
        site.expect_restart(&nodes(2), Some("ck.1"));
        if !site
            .heard("dataset 2 (out) is ready in the cache")
            .is_empty()
        {
            saved += 1;
            for rank in 0..2 {
                let path = site.prefix().join(format!("out/rank_{rank}.dat"));
                assert!(
                    std::fs::read(path).unwrap() == site::content("out", rank, 1000 + 7 * rank)
                );
            }
        }
    }
    assert!(saved > 2, "{saved}");
}

#[test]
fn a_disk_that_stays_full_keeps_the_checkpoint_before_and_the_job() {
    for room in [0, 1, 300, 1000, 1500, 2000] {
        // Without the look beforehand, which would refuse.
        let mut site = site().set("SCR_CACHE_CHECK", "0");
        let faults = faults(&mut site, Some(1));
        let results = site.run(&nodes(4), |rank| {
            rank.checkpoint("ck.1").unwrap();
            if rank.rank == 1 {
                faults.limit_space(Some(room));
            }
            let full = attempt(rank, "ck.2").map_err(|e| e.to_string());
            rank.session.should_exit().unwrap();
            if rank.rank == 1 {
                faults.limit_space(None);
            }
            rank.session.should_exit().unwrap();
            // The next one finds room again.
            attempt(rank, "ck.3").unwrap();
            full
        });
        let error = results[0].clone().unwrap_err();
        assert!(results.iter().all(|r| *r == results[0]), "{results:?}");
        assert!(error.contains("rank 1"), "{error}");
        assert!(error.contains("/nodes/n1/"), "{error}");
        assert!(error.contains("No space left"), "{error}");
        heal(&mut site);
        site.expect_restart(&nodes(4), Some("ck.3"));
        for node in nodes(4) {
            std::fs::remove_dir_all(site.dataset(node, 3)).unwrap();
        }
        site.expect_restart(&nodes(4), Some("ck.1"));
    }
}
