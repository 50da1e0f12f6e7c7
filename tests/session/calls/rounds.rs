//! What the calls cost in synchronising rounds, whatever the machine: gates for changes.

use crate::site::{Site, nodes};
use scr::comm::counting::Counting;
use scr::comm::threads;
use scr::config::Config;
use scr::session::{Session, Setup};
use std::path::Path;

/// Rounds of `SCR_Init` on an empty cache, and of one checkpoint from start to complete;
/// the same on all 16 ranks, two on each of 8 nodes.
fn rounds(scheme: &str) -> (u64, u64, u64) {
    let site = Site::new()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_CACHE_SIZE", "2");
    let counts = threads::run(16, |comm| {
        let comm = Counting::new(comm);
        let tally = comm.tally();
        let rank = scr::comm::Communicator::rank(&comm);
        let setup = Setup {
            comm: Box::new(comm),
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(nodes(8)[rank / 2]),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        let init = tally.take();
        let mut start = 0;
        // The third has the first to delete.
        for name in ["ck.1", "ck.2", "ck.3"] {
            tally.take();
            session
                .start_output(Some(name.into()), true, false)
                .unwrap();
            start = tally.take().rounds;
            let path = session.route(Path::new(&format!("{name}/{rank}"))).unwrap();
            std::fs::write(path, b"x").unwrap();
            session.complete_output(true).unwrap();
        }
        let complete = tally.take();
        if rank == 0 {
            println!("{scheme}: SCR_Init {:?}", init.by_operation);
            println!("{scheme}: SCR_Start_output {start} rounds");
            println!("{scheme}: SCR_Complete_output {:?}", complete.by_operation);
        }
        (init.rounds, start, complete.rounds)
    });
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    counts[0]
}

/// `SCR_Init`: rank 0's parameters (verdict and broadcast), each rank's directories (verdict),
/// the introduction (gather, scatter, verdict), the cache and the records (a verdict each).
#[test]
fn a_start_takes_eight_rounds() {
    assert_eq!(rounds("XOR").0, 8);
}

/// Start: one verdict. Complete: one on the files, one on the redundancy, whatever the
/// scheme; XOR adds messages within each set only.
#[test]
fn a_checkpoint_takes_three_rounds() {
    for scheme in ["SINGLE", "XOR"] {
        let (_, start, complete) = rounds(scheme);
        assert_eq!((start, complete), (1, 2), "{scheme}");
    }
}

/// What `SCR_Delete` costs: the name (verdict and broadcast); the files of each dataset in the
/// index (scatter, exchange, verdict); the index (verdict), the files (gather, verdict), what is
/// empty then (verdict).
#[test]
fn a_deletion_takes_nine_rounds_and_three_for_each_other_dataset() {
    let site = Site::new().set("SCR_FLUSH", "1");
    let counts = threads::run(4, |comm| {
        let comm = Counting::new(comm);
        let tally = comm.tally();
        let rank = scr::comm::Communicator::rank(&comm);
        let setup = Setup {
            comm: Box::new(comm),
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(nodes(4)[rank]),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        for name in ["ck.1", "ck.2", "ck.3"] {
            session
                .start_output(Some(name.into()), true, false)
                .unwrap();
            let path = session.route(Path::new(&format!("{name}/{rank}"))).unwrap();
            std::fs::write(path, b"x").unwrap();
            session.complete_output(true).unwrap();
        }
        tally.take();
        ["ck.1", "ck.2", "ck.3"].map(|name| {
            session.delete(&name.into()).unwrap();
            tally.take().rounds
        })
    });
    assert!(counts.iter().all(|c| *c == [15, 12, 9]), "{counts:?}");
}
