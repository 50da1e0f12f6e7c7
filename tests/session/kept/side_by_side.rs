//! Files that stay mapped, and what else there is: other sessions, stores and numbers of ranks, a flush, a fetch.

use super::{COUNT, read, site, write};
use crate::site::{Rank, nodes};
use scr::config::Config;
use scr::format::Name;
use scr::session::{Session, Setup};
use scr_testing::threads;
use std::sync::Mutex;
use std::time::Duration;

#[test]
fn sessions_side_by_side_keep_their_own_files() {
    let Some(site) = site("XOR") else { return };
    for run in 0..2 {
        let comms = threads::connected(3).into_iter().map(Some).collect();
        let comms: Mutex<Vec<_>> = Mutex::new(comms);
        site.run(&nodes(3), |rank| {
            let setup = Setup {
                comm: comms.lock().unwrap()[rank.rank].take().unwrap(),
                files: site.files.clone(),
                sink: site.events.clone(),
                environment: site.environment(nodes(3)[rank.rank]),
                lock_timeout: Duration::from_secs(10),
            };
            let session = Session::init(setup, &mut Config::of_session("ocean"));
            let mut session = session.unwrap().unwrap();
            session.set_cwd(site.prefix().join("ocean"));
            let mut other = Rank {
                session,
                rank: rank.rank,
            };
            let steps = (read(rank).unwrap(), read(&mut other).unwrap());
            assert_eq!(steps, [(0, 0), (5, 105)][run]);
            for step in 5 * run as i64 + 1..=5 * (run as i64 + 1) {
                write(rank, step, COUNT).unwrap();
                write(&mut other, 100 + step, COUNT).unwrap();
            }
        });
    }
}

#[test]
fn several_stores_keep_their_own_files() {
    let Some(site) = site("XOR") else { return };
    site.configure(
        "STORE=$SCR_CACHE_BASE COUNT=2\nSTORE=$SCR_CACHE_BASE/second COUNT=1\n\
         CKPT=0 INTERVAL=1 TYPE=PARTNER\nCKPT=1 INTERVAL=3 TYPE=XOR STORE=$SCR_CACHE_BASE/second",
    );
    let site = site.set("SCR_COPY_TYPE", "FILE");
    for last in [0, 13, 26] {
        let mut all = nodes(3);
        if last > 0 {
            // Also what is rebuilt is written over then.
            site.lose("n1");
            all[1] = "n1";
        }
        site.run(&all, |rank| {
            assert_eq!(read(rank).unwrap(), last);
            (1..14).for_each(|more| write(rank, last + more, COUNT).unwrap());
        });
    }
}

#[test]
fn another_number_of_ranks_restarts_from_files_that_were_kept() {
    let Some(site) = site("XOR") else { return };
    let mut last = 0;
    for ranks in [3, 2, 4, 3] {
        site.run(&nodes(ranks), |rank| {
            assert_eq!(read(rank).unwrap(), last, "{ranks}");
            (1..6).for_each(|more| write(rank, last + more, COUNT).unwrap());
        });
        last += 5;
    }
}

/// Files are read by threads, and fetched ones take their places, while others are stored to.
#[test]
fn what_is_flushed_and_fetched_meanwhile_is_right() {
    let Some(site) = site("XOR") else { return };
    let site = site
        .set("SCR_FLUSH", "1")
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_PREFIX_SIZE", "0");
    site.run(&nodes(3), |rank| {
        assert_eq!(read(rank).unwrap(), 0);
        (1..7).for_each(|step| write(rank, step, COUNT).unwrap());
        rank.session.current(&Name::from("ck.2")).unwrap();
        assert_eq!(read(rank).unwrap(), 2);
        (7..12).for_each(|step| write(rank, step, COUNT).unwrap());
        assert_eq!(
            rank.session.have_restart().unwrap().unwrap().to_string(),
            "ck.11"
        );
        assert_eq!(read(rank).unwrap(), 11);
        (12..14).for_each(|step| write(rank, step, COUNT).unwrap());
        rank.finalize().unwrap();
    });
    nodes(3).iter().for_each(|node| site.lose(node));
    let restored = site.run(&nodes(3), |rank| read(rank).unwrap());
    assert_eq!(restored, [13; 3]);
}
