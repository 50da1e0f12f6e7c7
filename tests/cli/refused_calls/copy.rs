//! `scr copy`, `scr index --build`, and what a run has left to `scr transfer --finish`.

use super::table::{NOT_MADE, OPTIONAL, Refusal, mandatory, optional, told_of};
use super::{count, is_whole, killed, no_strace, refusal, refused};
use crate::sandbox::{Said, program, said};
use crate::site::Site;
use std::process::Command;

fn single(set: &[(&str, &str)], finalize: bool) -> Site {
    let set = [&[("SCR_COPY_TYPE", "SINGLE")], set].concat();
    killed(&["n0"], &set, finalize)
}

/// A command on the node.
fn on_node(site: &Site, args: &[&str]) -> Command {
    let mut command = program("scr", args);
    let base = site.node("n0");
    command.current_dir(site.prefix()).envs([
        ("SCR_NODE_NAME", "n0".as_ref()),
        ("SCR_CACHE_BASE", base.as_os_str()),
        ("SCR_CNTL_BASE", base.as_os_str()),
    ]);
    command.envs(site.vars.iter().map(|(name, value)| (name, value)));
    command
}

/// What a command says on the node while the system refuses this, and how many calls were refused.
fn call(site: &Site, refusal: &Refusal, args: &[&str]) -> (Said, usize) {
    let log = site.dir.path().join("refused");
    let command = refused(&on_node(site, args), refusal, &log).output();
    (said(command.unwrap()), count(&log))
}

/// As if nothing had been copied.
fn forget(site: &Site) {
    for name in ["ck", ".scr/scr.dataset.1", ".scr/index.scr"] {
        let path = site.prefix().join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_node_is_saved_whatever_optional_call_the_system_refuses() {
    if no_strace() {
        return;
    }
    let site = single(&[("SCR_FLUSH", "0")], false);
    for (row, errno) in optional() {
        forget(&site);
        let (copied, refusals) = call(
            &site,
            &refusal(&site, row.calls, errno),
            &["copy", "--id", "1"],
        );
        let what = format!("{}, {errno}: {copied:?}", row.calls);
        assert!(refusals > 0, "{what}");
        assert_eq!(copied.code, 0, "{what}");
        assert!(is_whole(&site, 1), "{what}");
        let told = copied.err.matches("(SCR-321)").count();
        assert_eq!(told, usize::from((row.tells)(errno)), "{what}");
        let only = copied.err.lines().count() == told;
        assert!(only, "{what}");
    }
    for row in OPTIONAL {
        let refusal = refusal(&site, row.calls, row.errnos[0]);
        let (built, _) = call(&site, &refusal, &["index", "--build", "1"]);
        assert_eq!(built.code, 0, "{}: {built:?}", row.calls);
    }
    forget(&site);
    let (_, made) = call(
        &site,
        &Refusal::new(NOT_MADE, "EPERM"),
        &["copy", "--id", "1"],
    );
    assert_eq!(made, 0, "hard links");
}

#[test]
fn content_must_come_to_stable_storage() {
    if no_strace() {
        return;
    }
    let site = single(&[("SCR_FLUSH", "0")], false);
    for (calls, errno) in mandatory() {
        forget(&site);
        let (failed, _) = call(&site, &refusal(&site, calls, errno), &["copy", "--id", "1"]);
        let what = format!("{calls}, {errno}: {failed:?}");
        assert_eq!(failed.code, 1, "{what}");
        assert!(failed.err.contains(told_of(calls)), "{what}");
        assert!(failed.err.contains("/prefix"), "{what}");
    }
    // Nothing is lost by any of that.
    forget(&site);
    let copied = said(on_node(&site, &["copy", "--id", "1"]).output().unwrap());
    assert_eq!(copied.code, 0, "{copied:?}");
    assert!(is_whole(&site, 1));
}

/// What a run has left to `scr transfer --finish` is copied by the daemon's code.
#[test]
fn what_a_run_has_left_is_copied_whatever_optional_call_the_system_refuses() {
    if no_strace() {
        return;
    }
    for row in OPTIONAL {
        let errno = row.errnos[0];
        let set = [
            ("SCR_FLUSH", "1"),
            ("SCR_FLUSH_ASYNC", "1"),
            ("SCR_FLUSH_ASYNC_BW", "1"),
            ("SCR_FLUSH_POSTSTAGE", "1"),
        ];
        let site = single(&set, true);
        let (done, refusals) = call(
            &site,
            &refusal(&site, row.calls, errno),
            &["transfer", "--finish"],
        );
        let what = format!("{}, {errno}: {done:?}", row.calls);
        assert!(
            refusals > 0 && done.code == 0 && is_whole(&site, 1),
            "{what}"
        );
        let told = format!("{}{}", done.out, done.err);
        let told = told.matches("(SCR-321)").count();
        assert_eq!(told, usize::from((row.tells)(errno)), "{what}");
    }
}
