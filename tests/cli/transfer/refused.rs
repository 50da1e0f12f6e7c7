//! A daemon on a system that refuses one kind of call each time: see `../refused_calls`.

use super::poststage::{POSTSTAGE, for_nodes, left_behind, ssh};
use super::*;
use crate::refused_calls::table::{OPTIONAL, Optional, mandatory, optional, told_of};
use crate::refused_calls::{count, is_whole, no_strace, refusal, refused, restart, write};
use std::path::PathBuf;

fn site(containers: &str) -> Site {
    by_daemon()
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_USE_CONTAINERS", containers)
}

/// A run on one node whose daemon is refused these calls, and how many were.
fn refusing(
    site: &Site,
    (calls, errno): (&str, &str),
    run: impl Fn(&mut Rank) + Sync,
) -> (Running, usize) {
    let log: PathBuf = site.dir.path().join("refused");
    let plain = command(site, "n0", &["transfer"]);
    let daemon = Running::of(refused(&plain, &refusal(site, calls, errno), &log));
    site.run(&["n0"], run);
    let refusals = count(&log);
    (daemon, refusals)
}

fn is_copied(containers: &str, row: &Optional, errno: &str) {
    let site = site(containers);
    let (daemon, refusals) = refusing(&site, (row.calls, errno), |rank| {
        write(rank);
        finalize(rank);
    });
    daemon.says("dataset 1, part 0 of 1 (ck): copied, 2 files");
    let told = daemon.told.lock().unwrap().join("\n");
    let what = format!(
        "{}, {errno}, containers {containers}: {told}\n{}",
        row.calls,
        events(&site)
    );
    let contained = containers == "1";
    assert!(contained || refusals > 0 && is_whole(&site, 1), "{what}");
    assert_eq!(saved(&site), ["ck"], "{what}");
    let tells = !contained && (row.tells)(errno);
    assert_eq!(
        told.matches("(SCR-321)").count(),
        usize::from(tells),
        "{what}"
    );
    assert_eq!(told.lines().count(), 2 + usize::from(tells), "{what}");
    assert!(!events(&site).contains("could not be flushed"), "{what}");
    drop(daemon);
    lose_all(&site);
    site.run(&["n0"], restart);
}

#[test]
fn a_daemon_copies_whatever_optional_call_the_system_refuses() {
    if no_strace() {
        return;
    }
    for (row, errno) in optional() {
        is_copied("0", row, errno);
    }
    // Containers have neither owners, times nor holes.
    for row in OPTIONAL {
        is_copied("1", row, row.errnos[0]);
    }
}

/// The flush fails, says why, and is made again without that daemon.
#[test]
fn content_must_come_to_stable_storage() {
    if no_strace() {
        return;
    }
    for containers in ["0", "1"] {
        for (calls, errno) in mandatory() {
            let site = site(containers);
            let (daemon, refusals) = refusing(&site, (calls, errno), |rank| {
                write(rank);
                // Waits for the end of the flush.
                rank.session.current(&Name::from("ck")).unwrap();
            });
            let told = daemon.told.lock().unwrap().join("\n");
            let what = format!(
                "{calls}, {errno}, containers {containers}: {told}\n{}",
                events(&site)
            );
            drop(daemon);
            // Of containers no space is reserved.
            assert!(
                refusals > 0 || (containers, calls) == ("1", "fallocate"),
                "{what}"
            );
            if refusals > 0 {
                assert_eq!(saved(&site), [] as [&str; 0], "{what}");
                let part = ["could not be flushed", told_of(calls)]
                    .map(|word| events(&site).contains(word));
                assert_eq!(part, [true; 2], "{what}");
            }
            site.run(&["n0"], |rank| {
                restart(rank);
                finalize(rank);
            });
            assert_eq!(saved(&site), ["ck"], "{what}");
        }
    }
}

/// Each node tells it, and the command once.
#[test]
fn poststage_tells_what_the_nodes_do_not_keep() {
    if no_strace() {
        return;
    }
    let site = left_behind("PTHREAD");
    let programs = ssh(&site);
    let plain = for_nodes(&site, &programs, &[POSTSTAGE], &["poststage"]);
    let refusal = refusal(&site, "utimensat", "EPERM");
    let log = site.dir.path().join("refused");
    let finished = said(refused(&plain, &refusal, &log).output().unwrap());
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.err.lines().count(), 1, "{finished:?}");
    let warning = "scr poststage: warning: node n0: cannot set the times of ";
    assert!(finished.err.starts_with(warning), "{finished:?}");
    assert!(finished.err.contains("(SCR-321)"), "{finished:?}");
    assert_eq!(saved(&site), ["b", "c"]);
}
