//! When a run is told to stop: signals, the end of the allocation, and which conditions apply to
//! the next run.

use crate::site::{Site, nodes};
use scr::comm::Communicator;
use scr::config::Config;
use scr::format::halt::Halt;
use scr::format::read;
use scr::job::clock;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr_testing::counting::CountingComm;
use scr_testing::threads;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const TERM: i32 = 15;
const USR1: i32 = 10;

fn halt(site: &Site) -> Halt {
    read(&Posix, &site.prefix().join(".scr/halt.scr")).unwrap_or_default()
}

#[test]
fn a_signal_to_any_rank_counts_on_all() {
    for signalled in 0..3 {
        let site = Site::new().set("SCR_HALT_SIGNALS", "usr1, TERM");
        site.run(&nodes(3), |rank| {
            assert_eq!(rank.session.halt_signals(), [USR1, TERM]);
            assert!(!rank.session.should_exit().unwrap());
            assert!(!rank.session.need_checkpoint().unwrap());
            if rank.rank == signalled {
                rank.session.set_signal(TERM);
            }
            assert!(rank.session.need_checkpoint().unwrap());
            rank.checkpoint("ck.1").unwrap();
            assert!(rank.session.should_exit().unwrap());
            assert!(!rank.session.must_exit(), "SCR_HALT_EXIT is not set");
            rank.finalize().unwrap();
        });
        let told = site.heard(&format!("SIGTERM came to rank {signalled}"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("0: Note: the job should stop: "));
        // The next run has nothing to do with it.
        site.run(&nodes(3), |rank| {
            assert!(!rank.session.should_exit().unwrap());
        });
    }
}

#[test]
fn with_halt_exit_a_signal_ends_this_run_and_not_the_next() {
    let site = Site::new()
        .set("SCR_HALT_EXIT", "1")
        .set("SCR_HALT_SIGNALS", "USR1");
    site.run(&nodes(2), |rank| {
        rank.session.set_signal(TERM);
        rank.checkpoint("ck.1").unwrap();
        assert!(!rank.session.must_exit());
        rank.session
            .set_signal(if rank.rank == 1 { USR1 } else { 0 });
        rank.checkpoint("ck.2").unwrap();
        assert!(rank.session.must_exit());
    });
    assert_eq!(
        site.heard("Job exiting: SIGUSR1 came to rank 1").len(),
        1,
        "{:?}",
        site.events.lines()
    );
    // As after SCR_Finalize: scr_run starts no other run, but a later job does.
    assert_eq!(halt(&site).exit_reason, Some("SCR_FINALIZE_CALLED".into()));
    nodes(2).iter().for_each(|node| site.lose(node));
    site.run(&nodes(2), |rank| {
        assert!(!rank.session.must_exit());
        assert_eq!(rank.restart().as_deref(), Some("ck.2"), "it was flushed");
    });
}

#[test]
fn a_signal_costs_no_round() {
    let site = Site::new().set("SCR_HALT_SIGNALS", "USR1");
    let rounds = threads::run(3, |comm| {
        let comm = CountingComm::new(comm);
        let (tally, rank) = (comm.tally(), comm.rank());
        let setup = Setup {
            comm: Box::new(comm),
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(nodes(3)[rank]),
            lock_timeout: Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        tally.take();
        let mut ask = |signal| {
            session.set_signal(signal);
            assert_eq!(session.should_exit().unwrap(), signal != 0);
            assert_eq!(session.need_checkpoint().unwrap(), signal != 0);
            tally.take().rounds
        };
        (ask(0), ask(USR1))
    });
    assert_eq!(rounds, [(2, 2); 3]);
}

#[test]
fn what_is_no_signal_is_refused_by_name() {
    let site = Site::new().set("SCR_HALT_SIGNALS", "USR1 KILL");
    let told = site.start(&nodes(2), |started| started.map(drop).unwrap_err());
    for error in told {
        let text = error.to_string();
        assert!(text.contains("SCR_HALT_SIGNALS is `USR1 KILL`"), "{text}");
        assert!(text.contains("one or more of NONE, HUP,"), "{text}");
    }
    let site = site.set("SCR_HALT_SIGNALS", "none");
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.session.halt_signals(), [0i32; 0]);
    });
}

#[test]
fn halt_seconds_are_those_of_the_run_that_sets_them() {
    let site = Site::new().set("SCR_END_TIME", &(clock::now() + 10_000).to_string());
    let exits = |site: &Site| site.run(&nodes(2), |rank| rank.session.should_exit().unwrap());
    assert_eq!(exits(&site), [false; 2]);
    let mut site = site.set("SCR_HALT_SECONDS", "20000");
    assert_eq!(exits(&site), [true; 2]);
    site = site.set("SCR_HALT_SECONDS", "300");
    assert_eq!(exits(&site), [false; 2]);
    assert_eq!(halt(&site).halt_seconds, Some(300));
    site.vars.retain(|(name, _)| name != "SCR_HALT_SECONDS");
    exits(&site);
    assert_eq!(halt(&site).halt_seconds, Some(300), "nobody said otherwise");
    let site = site.set("SCR_HALT_SECONDS", "0");
    assert_eq!(exits(&site), [false; 2]);
    assert_eq!(halt(&site).halt_seconds, None);
}

/// A `squeue` that notes that it was called, and a job of Slurm with it.
fn with_squeue(site: Site, script: &str) -> (Site, PathBuf) {
    let dir = site.outside();
    std::fs::create_dir(&dir).unwrap();
    let calls = dir.join("calls");
    let text = format!("#!/bin/sh\necho \"$@\" >> {}\n{script}\n", calls.display());
    // A shell writes it: a child that another test starts meanwhile would hold a file that we
    // have open, and no program can be run that is open for writing.
    let write = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let written = Command::new("/bin/sh")
        .args(["-c", write, "sh", &text])
        .arg(dir.join("squeue"))
        .status();
    assert!(written.unwrap().success());
    let site = site
        .set("SLURM_JOB_ID", "77")
        .set("PATH", &dir.to_string_lossy());
    (site, calls)
}

#[test]
fn the_resource_manager_is_asked_once_and_only_if_it_matters() {
    let (site, calls) = with_squeue(Site::new(), "echo $(($(date +%s) + 10000))");
    let ask = |site: &Site| {
        site.run(&nodes(3), |rank| {
            rank.session.need_checkpoint().unwrap();
            rank.session.should_exit().unwrap()
        })
    };
    assert_eq!(ask(&site), [false; 3]);
    assert!(!calls.exists(), "nobody wants to know");
    let site = site.set("SCR_HALT_SECONDS", "100000");
    assert_eq!(ask(&site), [true; 3]);
    assert_eq!(site.heard("TIME_LIMIT").len(), 1);
    let site = site.set("SCR_HALT_SECONDS", "10");
    assert_eq!(ask(&site), [false; 3]);
    let told = std::fs::read_to_string(&calls).unwrap();
    assert_eq!(told.lines().count(), 2, "one each run: {told}");
    assert!(
        told.lines().all(|line| line.contains("--jobs=77")),
        "{told}"
    );
    // What the user says comes first.
    let site = site.set("SCR_END_TIME", &(clock::now() + 5).to_string());
    ask(&site);
    let told = std::fs::read_to_string(&calls).unwrap();
    assert_eq!(told.lines().count(), 2);
}

#[test]
fn an_end_that_nobody_knows_stops_no_run_and_is_said_once() {
    let past = (clock::now() - 5).to_string();
    for (script, variable, words) in [
        ("exit 1", ("X", ""), "cannot run squeue"),
        ("echo NONE", ("X", ""), "(SLURM) sets none"),
        (
            "exit 1",
            ("SLURM_JOB_END_TIME", "soon"),
            "SLURM_JOB_END_TIME: 'soon'",
        ),
        ("exit 1", ("SCR_END_TIME", &past), "is past"),
        ("exit 1", ("SCR_END_TIME", "0"), "(SLURM) sets none"),
    ] {
        let (site, _) = with_squeue(Site::new(), script);
        let site = site
            .set(variable.0, variable.1)
            .set("SCR_HALT_SECONDS", "1000000");
        let told = site.run(&nodes(2), |rank| {
            rank.session.need_checkpoint().unwrap() || rank.session.should_exit().unwrap()
        });
        assert_eq!(told, [false; 2], "{words}");
        let heard = site.heard("the end of the allocation is not known");
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(
            heard[0].contains(words) && heard[0].contains("set SCR_END_TIME"),
            "{heard:?}"
        );
    }
}
