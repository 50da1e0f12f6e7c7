//! `scr postrun` on nodes that an ssh of our own reaches: it copies from them, and rebuilds the files of one that is lost.

use super::table::{OPTIONAL, Optional, mandatory, optional, told_of};
use super::{count, is_whole, killed, no_strace, refusal, refused, restart};
use crate::postrun::{command, nodes_of};
use crate::sandbox::{Said, said};
use crate::site::Site;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

/// How a job is saved.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// The node that cannot be reached.
    lost: &'static str,
    containers: &'static str,
}

const PLAIN: Way = Way {
    lost: "none",
    containers: "0",
};

fn job() -> Site {
    let set = [("SCR_COPY_TYPE", "XOR"), ("SCR_FLUSH", "0")];
    killed(&NODES, &set, false)
}

/// What `scr postrun` says while these calls are refused, if any are, and how many were.
fn postrun(site: &Site, way: Way, refusing: Option<(&str, &str)>) -> (Said, usize) {
    let programs = nodes_of(site, way.lost);
    let mut command = command(site, &programs, &["postrun"]);
    let set = [
        ("SCR_NODELIST", "n[0-2]"),
        ("SCR_USE_CONTAINERS", way.containers),
    ];
    command.envs(set);
    let Some((calls, errno)) = refusing else {
        return (said(command.output().unwrap()), 0);
    };
    let log = site.dir.path().join("refused");
    let mut command = refused(&command, &refusal(site, calls, errno), &log);
    (said(command.output().unwrap()), count(&log))
}

/// The next run restarts from it, without the nodes of this one.
fn restarts(site: &Site) {
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.run(&NODES, restart);
}

/// What is told of files that must be rebuilt.
fn is_of_lost(line: &str) -> bool {
    line.contains("warning: rank 1: cannot open ")
}

fn is_saved(way: Way, row: &Optional, errno: &str) {
    let site = job();
    let (saved, refusals) = postrun(&site, way, Some((row.calls, errno)));
    let what = format!("{way:?}, {}, {errno}: {saved:?}", row.calls);
    assert_eq!(saved.code, 0, "{what}");
    assert!(
        saved.out.ends_with("is complete and in the index\n"),
        "{what}"
    );
    let contained = way.containers == "1";
    assert!(
        contained || refusals > 0 && is_whole(&site, NODES.len()),
        "{what}"
    );
    // Containers have neither owners, times nor holes: only what is rebuilt beside them has.
    let tells = refusals > 0 && (row.tells)(errno) && (!contained || way.lost != "none");
    let told = saved.err.matches("(SCR-321)").count();
    assert_eq!(told, usize::from(tells), "{what}");
    let others = saved.err.lines().filter(|line| !is_of_lost(line));
    assert_eq!(others.count(), told, "{what}");
    restarts(&site);
}

#[test]
fn a_job_is_saved_whatever_optional_call_the_system_refuses() {
    if no_strace() {
        return;
    }
    for (row, errno) in optional() {
        is_saved(PLAIN, row, errno);
    }
}

#[test]
fn so_is_one_whose_files_are_rebuilt_or_that_is_saved_into_containers() {
    if no_strace() {
        return;
    }
    for (lost, containers) in [("n1", "0"), ("none", "1"), ("n1", "1")] {
        for row in OPTIONAL {
            is_saved(Way { lost, containers }, row, row.errnos[0]);
        }
    }
}

/// A job that could not be saved says why, and is saved when the cause is gone.
#[test]
fn content_must_come_to_stable_storage() {
    if no_strace() {
        return;
    }
    let (lost, containers) = ("none", "1");
    for way in [PLAIN, Way { lost, containers }] {
        for (calls, errno) in mandatory() {
            let site = job();
            let (failed, refusals) = postrun(&site, way, Some((calls, errno)));
            let what = format!("{way:?}, {calls}, {errno}: {failed:?}");
            // Of containers no space is reserved.
            assert!(
                refusals > 0 || (way.containers, calls) == ("1", "fallocate"),
                "{what}"
            );
            if refusals > 0 {
                assert_eq!(failed.code, 1, "{what}");
                assert!(
                    failed.err.contains(told_of(calls)) && failed.err.contains("/prefix"),
                    "{what}"
                );
            }
            let (saved, _) = postrun(&site, way, None);
            assert_eq!((saved.code, &*saved.err), (0, ""), "{what}: {saved:?}");
            restarts(&site);
        }
    }
}
