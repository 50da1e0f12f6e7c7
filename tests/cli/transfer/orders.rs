//! Daemons that are told to stop, and several of them.

use super::*;

#[test]
fn stop_signals_and_a_new_daemon() {
    let site = slow();
    let mut daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        // MPI_Finalize without SCR_Finalize.
        rank.session.abandon();
    });
    until(|| at_hand(&site, "n0"));
    let (at, control) = (
        PartId {
            dataset: 1,
            part: 0,
        },
        control(&site, "n0"),
    );
    let command = |word: &str| {
        control
            .update(|file| file.command = Some(word.into()))
            .unwrap()
    };
    let idle = || {
        let file = file(&site, "n0");
        let part = file.part(at).unwrap();
        file.state == Some(STOPPED.into()) && !part.is_running() && !part.has_ended()
    };
    command(STOP);
    until(idle);
    command(RUN);
    until(|| at_hand(&site, "n0"));
    daemon.signal(libc::SIGTERM);
    assert_eq!(daemon.ends(), Some(0));
    assert!(idle(), "the file is truthful");

    // A daemon that was killed leaves RUNNING; the next one takes its work up.
    let mut next = Running::on(&site, "n0");
    until(|| at_hand(&site, "n0"));
    next.signal(libc::SIGKILL);
    assert_eq!(next.ends(), None);
    assert!(at_hand(&site, "n0"));
    let mut last = Running::on(&site, "n0");
    until(|| at_hand(&site, "n0"));
    // EXIT leaves what is not done.
    transfer(&site, "n0", &["--stop"]).out();
    assert_eq!(last.ends(), Some(0));
    assert!(idle());
    // Without a daemon, --finish does it itself.
    let said = transfer(&site, "n0", &["--finish"]).out();
    assert!(
        said.contains("dataset 1, part 0 of 1 (a): copied"),
        "{said}"
    );
    assert_eq!(saved(&site), ["a"]);
    assert_eq!(
        transfer(&site, "n0", &["--finish"]).out(),
        "nothing is left to transfer here\n"
    );
    assert_eq!(
        transfer(&site, "n0", &["--stop"]).out(),
        "there is no transfer daemon here\n"
    );
}

#[test]
fn a_second_daemon_is_refused() {
    let site = by_daemon();
    let first = Running::on(&site, "n0");
    let error = transfer(&site, "n0", &[]).failed();
    let who = format!("process {} on ", first.child.id());
    assert!(error.contains(&who), "{error}");
    assert!(
        error.contains("is the transfer daemon here already"),
        "{error}"
    );
    assert!(error.contains("scr transfer --stop"), "{error}");
}

#[test]
fn the_next_run_stops_the_daemon_before_it_takes_the_cache_over() {
    let site = slow();
    let _daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    let run_of = |site: &Site| {
        let file = file(site, "n0");
        file.parts().next().map(|(_, part)| part.run.clone())
    };
    let first = run_of(&site);
    let site = site.set("SCR_FLUSH_ASYNC_BW", "0");
    site.run(&["n0", "n0"], |rank| {
        if rank.rank == 0 {
            // This run flushes what the one before has not.
            assert_ne!(run_of(&site), first);
        }
        assert_eq!(rank.restart(), Some("a".to_string()));
        // That daemon serves this run, too.
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    assert!(
        !events(&site).contains("no transfer daemon"),
        "{}",
        events(&site)
    );
}

#[test]
fn a_flush_is_cancelled_at_the_daemon() {
    let site = slow();
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            until(|| at_hand(&site, "n0"));
        }
        rank.session.delete(&Name::from("a")).unwrap();
        assert!(file(&site, "n0").is_empty());
        assert!(!at_hand(&site, "n0"));
    });
    drop(daemon);
    assert!(!site.prefix().join("a/rank_1.dat").exists());
    assert_eq!(saved(&site), [] as [&str; 0]);
}
