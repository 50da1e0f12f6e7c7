//! Reads that fail for a while, or for good, anywhere in a restart: the newest checkpoint is read, or the
//! start fails. It is never given up for an older one, or for a start from the beginning.

use crate::site::Site;
use scr::format::Name;
use scr::format::index::Index;
use scr::session::Verdict;
use scr::store::faulty::Faulty;
use scr::store::posix::Posix;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const WRITERS: [&str; 4] = ["n0", "n0", "n1", "n1"];
const TWO: [&str; 2] = ["n0", "n0"];
const SIX: [&str; 6] = ["n0", "n0", "n0", "n1", "n1", "n1"];

/// Checkpoints ck.1 and ck.2 in the prefix directory only. Fetched files go to the cache unless `bypass`.
fn flushed(bypass: &str) -> Site {
    let site = Site::in_memory().set("SCR_FLUSH", "1");
    site.run(&WRITERS, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    lose_all(&site);
    site.set("SCR_CACHE_BYPASS", bypass)
}

fn lose_all(site: &Site) {
    for node in ["n0", "n1"] {
        let _ = std::fs::remove_dir_all(site.node(node));
    }
}

fn is_good(site: &Site, id: u64) -> bool {
    let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
    index.get(id).unwrap().is_good()
}

/// One restart, in which the `n`-th read of one rank fails `times` times. What the ranks got, and the number
/// of reads of that rank.
fn restart(
    site: &mut Site,
    nodes: &[&str],
    faulty: usize,
    (n, errno, times): (u64, i32, u64),
) -> (Vec<Result<Option<String>, String>>, u64) {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.by_rank = vec![None; faulty];
    site.by_rank.push(Some(Arc::new(files)));
    let reads = AtomicU64::new(0);
    let told = site.run(nodes, |rank| {
        if rank.rank == faulty {
            faults.fail_read_at(n, errno, times);
        }
        let told = rank.try_restart(nodes.len());
        if rank.rank == faulty {
            reads.store(faults.reads(), Ordering::Relaxed);
        }
        told
    });
    site.by_rank.clear();
    lose_all(site);
    (told, reads.into_inner())
}

/// Fails each `step`-th read of a restart in turn.
fn campaign(bypass: &str, nodes: &[&str], faulty: usize, step: usize) {
    let mut site = flushed(bypass);
    let newest = Ok(Some("ck.2".to_string()));
    let (told, reads) = restart(&mut site, nodes, faulty, (0, 0, 0));
    assert!(told.iter().all(|t| *t == newest), "{told:?}");
    assert!(reads > 5, "{reads} reads");
    // From the end, where the program asks for its files.
    for n in (1..=reads).rev().step_by(step) {
        let errno = [libc::EIO, libc::EACCES][n as usize % 2];
        for times in [1, u64::MAX] {
            let (told, _) = restart(&mut site, nodes, faulty, (n, errno, times));
            let case = || {
                format!(
                    "read {n} of {reads} of rank {faulty} of {} fails, bypass {bypass}, {times} times: \
                     {told:?}\n{}",
                    nodes.len(),
                    site.events.lines().join("\n")
                )
            };
            let failed = told.iter().filter(|t| t.is_err()).count();
            assert!(failed == 0 || failed == told.len(), "{}", case());
            assert!(times > 1 || failed == 0, "{}", case());
            assert!(
                told.iter().all(|t| t.is_err() || *t == newest),
                "{}",
                case()
            );
            assert!(is_good(&site, 2) && is_good(&site, 1), "{}", case());
        }
    }
    let (told, _) = restart(&mut site, nodes, faulty, (0, 0, 0));
    assert!(told.iter().all(|t| *t == newest), "{told:?}");
}

#[test]
fn fewer_ranks_in_the_prefix_directory() {
    campaign("1", &TWO, 1, 1);
    campaign("1", &TWO, 0, 3);
}

#[test]
fn more_ranks_in_the_prefix_directory() {
    campaign("1", &SIX, 4, 1);
}

#[test]
fn fewer_ranks_with_copies_for_each_node() {
    campaign("0", &TWO, 1, 1);
    campaign("0", &TWO, 0, 3);
}

#[test]
fn more_ranks_with_copies_for_each_node() {
    campaign("0", &SIX, 4, 2);
}

#[test]
fn as_many_ranks() {
    campaign("1", &WRITERS, 2, 1);
    campaign("0", &WRITERS, 2, 2);
}

/// A rank could not read, for a reason that says nothing of the checkpoint: in the cache it may be the only
/// copy.
#[test]
fn what_a_rank_did_not_read_is_not_given_up() {
    for (flush, bypass) in [("0", "0"), ("1", "0"), ("1", "1")] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", flush)
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", "3");
        site.run(&WRITERS, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        let interrupted = |read: fn(usize) -> Verdict| {
            site.run(&WRITERS, |rank| {
                let offered = rank.session.have_restart().unwrap();
                assert_eq!(offered, Some(Name::from("ck.2")));
                rank.session.start_restart().unwrap();
                let ended = rank.session.complete_restart(read(rank.rank));
                let error = ended.unwrap_err().to_string();
                for part in ["dataset 2 (ck.2)", "could not be read", "is not given up"] {
                    assert!(error.contains(part), "{error}");
                }
                for _ in 0..2 {
                    let again = rank.session.have_restart().unwrap_err().to_string();
                    assert_eq!(again, error);
                }
            });
        };
        interrupted(|rank| match rank {
            2 => Verdict::NotRead,
            _ => Verdict::Read,
        });
        // A program that agrees on it between ranks.
        interrupted(|rank| match rank {
            2 => Verdict::NotRead,
            _ => Verdict::Bad,
        });
        site.run(&WRITERS, |rank| {
            rank.session.have_restart().unwrap();
            rank.session.start_restart().unwrap();
            rank.session.complete_restart(Verdict::NotRead).unwrap_err();
            rank.session.have_restart().unwrap_err();
            // What is newer is offered, in this run, too.
            rank.checkpoint("ck.3").unwrap();
            assert_eq!(rank.restart().as_deref(), Some("ck.3"));
        });
        site.run(&WRITERS, |rank| {
            rank.session.delete(&"ck.3".into()).unwrap()
        });
        // Whoever says that it is bad gives it up.
        site.run(&WRITERS, |rank| {
            assert!(rank.session.have_restart().unwrap().is_some());
            rank.session.start_restart().unwrap();
            let bad = rank.rank == 3;
            rank.session.complete_restart(!bad).unwrap_err();
            assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        });
    }
}
