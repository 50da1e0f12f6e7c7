//! Daemons that die, or that do nothing.

use super::*;

#[test]
fn when_the_daemon_dies_the_library_copies() {
    let site = by_daemon();
    let daemon = Running::on(&site, "n0");
    // It takes orders and does nothing.
    daemon.signal(libc::SIGSTOP);
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            assert!(
                file(&site, "n0")
                    .part(PartId {
                        dataset: 1,
                        part: 0
                    })
                    .is_some()
            );
            daemon.signal(libc::SIGKILL);
        }
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"]);
    let told = events(&site);
    assert!(told.contains("the transfer daemon has ended before it had copied dataset 1, part 0"));
    assert!(!told.contains("ERROR"), "{told}");
}

/// Daemons that show no progress for a second are left out.
fn impatient(site: Site) -> Site {
    site.set("SCR_FLUSH_DAEMON_TIMEOUT", "1")
}

/// A daemon that was left out writes nothing when it goes on, and ends.
fn goes_on_and_ends(mut daemon: Running) {
    daemon.signal(libc::SIGCONT);
    assert_eq!(daemon.ends(), Some(0));
    daemon.says("ends: its files were removed");
}

/// The cache has room for one dataset, so the second waits for the flush of the first.
#[test]
fn a_daemon_that_does_nothing_is_left_out() {
    let site = impatient(by_daemon()).set("SCR_CACHE_SIZE", "1");
    let daemon = Running::on(&site, "n0");
    daemon.signal(libc::SIGSTOP);
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    let told = events(&site);
    let who = format!("the transfer daemon, process {} on ", daemon.child.id());
    assert!(told.contains(&who), "{told}");
    let why = "has shown no progress for 1 s (SCR_FLUSH_DAEMON_TIMEOUT) (SCR-313); it is left out; a thread \
               copies dataset 1, part 0";
    assert!(told.contains(why), "{told}");
    assert!(!told.contains("ERROR"), "{told}");
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("b".to_string()); 2]);
}

/// The daemon is stopped in the middle of its work. What a thread has copied in its place is whole after the
/// daemon has gone on.
#[test]
fn a_daemon_that_was_stopped_in_mid_copy_harms_nothing_later() {
    let site = by_daemon().set("SCR_FLUSH_DAEMON_TIMEOUT", "10");
    let daemon = Running::on(&site, "n0");
    daemon.signal(libc::SIGSTOP);
    let part = PartId {
        dataset: 1,
        part: 0,
    };
    let left_out = || events(&site).contains("it is left out");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            // The limit is the daemon's alone.
            let slow = |file: &mut Transfer| file.bw = 1.0;
            control(&site, "n0").update(slow).unwrap();
            daemon.signal(libc::SIGCONT);
            let begun = || {
                file(&site, "n0")
                    .part(part)
                    .is_some_and(|p| p.written > Some(0))
            };
            until(|| begun() || left_out());
            daemon.signal(libc::SIGSTOP);
        }
        finalize(rank);
    });
    assert!(left_out(), "{}", events(&site));
    assert_eq!(saved(&site), ["a"]);
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("a".to_string()); 2], "{}", events(&site));
}

/// A daemon that waits for its bandwidth shows progress, so nobody loses patience.
#[test]
fn a_slow_daemon_shows_progress() {
    let site = slow();
    let _daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    let written = |file: &Transfer| file.parts().filter_map(|(_, part)| part.written).max();
    until(|| written(&file(&site, "n0")) > Some(0));
    let first = file(&site, "n0");
    until(|| file(&site, "n0").pulse > first.pulse + 1);
    assert_eq!(written(&file(&site, "n0")), written(&first));
}

#[test]
fn deleting_does_not_wait_for_a_daemon_that_does_nothing() {
    let site = impatient(slow());
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            // On a busy machine a second may pass before.
            until(|| at_hand(&site, "n0") || events(&site).contains("it is left out"));
            daemon.signal(libc::SIGSTOP);
        }
        rank.session.delete(&Name::from("a")).unwrap();
        finalize(rank);
    });
    assert!(
        events(&site).contains("it is left out"),
        "{}",
        events(&site)
    );
    goes_on_and_ends(daemon);
    // A part of a file that the daemon had begun may still be there: it leaves alone what is not its own any more.
    assert_eq!(saved(&site), [] as [&str; 0]);
}

#[test]
fn a_run_starts_beside_a_daemon_of_an_earlier_run_that_does_nothing() {
    let site = slow();
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    daemon.signal(libc::SIGSTOP);
    let site = impatient(site).set("SCR_FLUSH_ASYNC_BW", "0");
    site.run(&["n0", "n0"], |rank| {
        assert_eq!(rank.restart(), Some("a".to_string()));
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    let told = events(&site);
    let why = "though it was told to stop; it is left out; end it (kill -9)";
    assert!(told.contains(why), "{told}");
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("b".to_string()); 2]);
}

/// Stopped while it changes its file: it holds the lock on it.
#[test]
fn a_daemon_that_keeps_the_lock_on_its_file_is_left_out() {
    let site = impatient(by_daemon());
    let _daemon = Running::on(&site, "n0");
    let lock = site.job("n0").join("transfer.lock");
    fs::write(&lock, "").unwrap();
    let held = Posix.try_lock(&lock).unwrap().unwrap();
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    drop(held);
    assert_eq!(saved(&site), ["a"]);
    assert!(
        events(&site).contains("it is left out"),
        "{}",
        events(&site)
    );
}

#[test]
fn finish_does_the_work_of_a_daemon_that_does_nothing() {
    let site = slow();
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    daemon.signal(libc::SIGSTOP);
    let finish = command(&site, "n0", &["transfer", "--finish"])
        .env("SCR_FLUSH_DAEMON_TIMEOUT", "1")
        .output();
    let said = said(finish.unwrap());
    assert!(said.err.contains("it is left out"), "{said:?}");
    assert!(said.out.contains("(a): copied, 2 files"), "{said:?}");
    assert_eq!((said.code, saved(&site)), (0, vec!["a".to_string()]));
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("a".to_string()); 2]);
}
