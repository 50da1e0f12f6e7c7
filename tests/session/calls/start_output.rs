//! Starts of a dataset that fail: the same error on all ranks, and nothing is lost.

use crate::site::{Rank, Site, content, nodes};
use scr::comm::{Communicator, Pending, Tag, Term};
use scr::config::Config;
use scr::session::state::State;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr::{Error, Result};
use scr_testing::threads;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A run whose cache has a directory of that name beforehand.
fn beside(name: &str) -> Site {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(1), |rank| rank.finalize().unwrap());
    std::fs::create_dir_all(site.cache("n0").join(name)).unwrap();
    site
}

#[test]
fn names_with_numbers_that_no_dataset_has_are_passed_over() {
    for number in ["2147483648", "3000000000", "18446744073709551615"] {
        for kind in ["dataset", "quarantine", "trash"] {
            let site = beside(&format!("scr.{kind}.{number}"));
            site.run(&nodes(1), |rank| {
                rank.checkpoint("ck.1").unwrap();
                rank.finalize().unwrap();
            });
            site.lose("n0");
            site.expect_restart(&nodes(1), Some("ck.1"));
        }
    }
}

#[test]
fn after_the_highest_number_there_is_none() {
    let site = beside("scr.quarantine.2147483647");
    let error = site.run(&nodes(1), |rank| rank.checkpoint("ck.1").unwrap_err());
    assert!(error[0].to_string().contains("highest number"), "{error:?}");
}

#[test]
fn wrong_arguments_on_one_rank_are_an_error_on_all() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let errors = site.run(&nodes(2), |rank| {
        let kind = match rank.rank {
            0 => Ok((true, false)),
            _ => Err(scr::Error::usage("a test", "no such flag")),
        };
        let started = rank.session.start_output_as(Some("ck.1".into()), kind);
        rank.checkpoint("ck.2").unwrap();
        started.unwrap_err().to_string()
    });
    assert!(
        errors.iter().all(|e| e.contains("no such flag")),
        "{errors:?}"
    );
    site.expect_restart(&nodes(2), Some("ck.2"));
}

/// ck.2 is kept aside. The dataset after the restart from ck.1 has a number of its own.
#[test]
fn what_was_kept_aside_keeps_its_number() {
    let site = Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_COPY_TYPE", "SINGLE");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    for rank in 0..2 {
        let file = format!("rank_{rank}/ck.2/rank_{rank}.dat");
        std::fs::write(site.dataset(&format!("n{rank}"), 2).join(file), "bad").unwrap();
    }
    let aside = || site.entries("n0", "scr.quarantine.");
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        let name = format!("ck.of.{}", rank.rank);
        let started = rank
            .session
            .start_output(Some(name.as_str().into()), true, false);
        let error = started.unwrap_err().to_string();
        assert!(error.contains("differ between ranks"), "{error}");
        assert_eq!(aside(), ["scr.quarantine.2"]);
        rank.checkpoint("ck.3").unwrap();
        assert!(site.dataset("n0", 3).exists());
    });
}

/// Starts that are refused, for reasons of all ranks or of one.
fn refused(rank: &mut Rank, why: usize) -> Error {
    let odd = rank.rank == 1;
    let name = |text: &str| Some(text.into());
    let started = match why {
        0 => rank
            .session
            .start_output(name(if odd { "a" } else { "b" }), true, false),
        1 => {
            let kind = if odd {
                Err(Error::usage("a test", "no such flag"))
            } else {
                Ok((true, false))
            };
            rank.session.start_output_as(name("ck.1"), kind)
        }
        _ => rank
            .session
            .start_output(name(&"n".repeat(1024)), true, true),
    };
    started.unwrap_err()
}

fn not_started<T: std::fmt::Debug>(told: Result<T>) {
    assert!(matches!(told, Err(Error::NotStarted { .. })), "{told:?}");
}

#[test]
fn a_program_that_ignores_a_refused_start_writes_over_nothing() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "1");
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            let file = format!("ck.1/rank_{}.dat", rank.rank);
            for why in [0, 1, 2] {
                refused(rank, why);
                assert_eq!(rank.session.state(), State::FailedOutput);
                not_started(rank.session.route(Path::new(&file)));
                not_started(rank.session.route(Path::new("ck.1/another")));
                not_started(rank.session.complete_output(true));
                // The phase is over, and that was all.
                let wrong = rank.session.complete_output(true).unwrap_err();
                assert!(wrong.to_string().contains("no phase is open"), "{wrong}");
                let path = rank.session.route(Path::new("other/file")).unwrap();
                assert_eq!(path, Path::new("other/file"));
            }
            let there = std::fs::read(site.prefix().join(&file)).unwrap();
            assert_eq!(there, content("ck.1", rank.rank, 1000 + 7 * rank.rank));
            rank.checkpoint("ck.2").unwrap();
        });
        site.expect_restart(&nodes(2), Some("ck.2"));
    }
}

#[test]
fn after_a_refused_start_a_program_may_leave_out_the_complete() {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        let calls: [&dyn Fn(&mut Rank); 8] = [
            &|rank| assert!(rank.session.have_restart().unwrap().is_some()),
            &|rank| assert!(!rank.session.need_checkpoint().unwrap()),
            &|rank| assert!(!rank.session.should_exit().unwrap()),
            &|rank| rank.session.current(&"ck.1".into()).unwrap(),
            &|rank| rank.session.drop_dataset(&"none".into()).unwrap(),
            &|rank| rank.session.delete(&"none".into()).unwrap(),
            &|rank| rank.write("out", false, true).unwrap(),
            &|rank| {
                rank.session.start_checkpoint().unwrap();
                rank.session.complete_checkpoint(false).unwrap_err();
            },
        ];
        for call in calls {
            refused(rank, 1);
            call(rank);
            assert_eq!(rank.session.state(), State::Idle);
            rank.session.route(Path::new("no/phase")).unwrap();
        }
        refused(rank, 1);
        refused(rank, 1);
        rank.finalize().unwrap();
    });
    site.expect_restart(&nodes(2), Some("ck.1"));
}

#[test]
fn each_kind_of_start_has_its_own_failed_phase() {
    beside("scr.quarantine.2147483647").run(&nodes(1), |rank| {
        rank.session.start_checkpoint().unwrap_err();
        assert_eq!(rank.session.state(), State::FailedCheckpoint);
        // Another complete is in the wrong order, here as everywhere.
        let wrong = rank.session.complete_output(true).unwrap_err().to_string();
        assert!(wrong.contains("no phase is open"), "{wrong}");
        not_started(rank.session.route(Path::new("file")));
        not_started(rank.session.complete_checkpoint(true));

        rank.session.start_restart().unwrap_err();
        not_started(rank.session.route(Path::new("file")));
        not_started(rank.session.complete_restart(true));
        assert_eq!(rank.session.have_restart().unwrap(), None);
    });
}

#[test]
fn a_start_in_an_open_phase_leaves_that_as_it_is() {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(2), |rank| {
        rank.session
            .start_output(Some("ck.1".into()), true, false)
            .unwrap();
        rank.session.start_output(None, true, false).unwrap_err();
        rank.session.start_checkpoint().unwrap_err();
        let name = format!("ck.1/file.{}", rank.rank);
        let path = rank.session.route(Path::new(&name)).unwrap();
        std::fs::write(path, "data").unwrap();
        rank.session.complete_output(true).unwrap();
    });
}

#[test]
fn without_a_run_a_name_is_its_path_until_a_start_fails() {
    Site::new().run(&nodes(1), |rank| {
        rank.finalize().unwrap();
        let name = Path::new("some/where");
        assert_eq!(rank.session.route(name).unwrap(), name);
        let early = rank.session.start_checkpoint().unwrap_err();
        assert!(early.to_string().contains("before SCR_Init"), "{early}");
        not_started(rank.session.route(name));
        not_started(rank.session.complete_checkpoint(true));
        assert_eq!(rank.session.route(name).unwrap(), name);
    });
}

#[test]
fn the_path_of_a_file_that_a_restart_lacks_is_told() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "0");
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            let none = Path::new("ck.1/none");
            assert_eq!(rank.session.restart_path(none), None);
            rank.session.have_restart().unwrap();
            rank.session.start_restart().unwrap();
            rank.session.route(none).unwrap_err();
            let below = match bypass {
                "0" => site
                    .dataset(&format!("n{}", rank.rank), 1)
                    .join(format!("rank_{}", rank.rank)),
                _ => site.prefix(),
            };
            let told = rank.session.restart_path(none).unwrap();
            assert_eq!(told, below.join(none));
            assert_eq!(rank.session.restart_path(Path::new("/outside")), None);
            rank.session.complete_restart(true).unwrap();
        });
    }
}

/// A transport that fails once it is told to.
struct Broken(Box<dyn Communicator>, Arc<AtomicBool>);

impl Communicator for Broken {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.0.isend(to, tag, data)
    }
    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.0.irecv(from, tag, buffer)
    }
    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.0.recv(from, tag)
    }
    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        self.0.recv_any(tag)
    }
    fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }
    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        if self.1.load(Ordering::SeqCst) {
            return Err(Error::Comm {
                call: "allreduce".to_string(),
                what: "the network is down".to_string(),
            });
        }
        self.0.allreduce(terms)
    }
    fn abort(&self, code: i32) -> ! {
        self.0.abort(code)
    }
}

#[test]
fn a_start_that_the_transport_fails_is_refused_too() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    threads::run(1, |comm| {
        let down = Arc::new(AtomicBool::new(false));
        let setup = Setup {
            comm: Box::new(Broken(comm, down.clone())),
            files: Arc::new(Posix),
            sink: site.events.clone(),
            environment: site.environment("n0"),
            lock_timeout: Duration::from_secs(10),
        };
        let session = Session::init(setup, &mut Config::new()).unwrap();
        let mut session = session.expect("SCR is enabled");
        down.store(true, Ordering::SeqCst);
        let started = session.start_output(Some("ck.1".into()), true, false);
        assert!(matches!(started, Err(Error::Comm { .. })), "{started:?}");
        not_started(session.route(Path::new("ck.1/file")));
        not_started(session.complete_output(true));
        down.store(false, Ordering::SeqCst);
        session.start_checkpoint().unwrap();
    });
}
