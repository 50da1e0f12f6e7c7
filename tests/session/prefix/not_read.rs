//! A checkpoint that a rank could not read, for a reason that says nothing of the checkpoint.

use crate::site::Site;
use scr::format::Name;
use scr::session::Verdict;

const WRITERS: [&str; 4] = ["n0", "n0", "n1", "n1"];

/// In the cache it may be the only copy.
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
                for part in [
                    "dataset 2 (ck.2)",
                    "could not be read",
                    "is not given up",
                    "(SCR-225)",
                ] {
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
        // One rank says that the checkpoint is bad. So it is given up.
        site.run(&WRITERS, |rank| {
            assert!(rank.session.have_restart().unwrap().is_some());
            rank.session.start_restart().unwrap();
            let bad = rank.rank == 3;
            rank.session.complete_restart(!bad).unwrap_err();
            assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        });
    }
}
