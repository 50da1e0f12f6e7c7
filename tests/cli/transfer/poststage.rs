//! Flushes that the last run has left behind: `scr poststage` and `scr postrun`.

use super::*;

/// A stand-in for ssh to nodes that are directories of `site`.
pub(super) fn ssh(site: &Site) -> Programs {
    let root = site.node("x");
    let root = root.parent().unwrap().display();
    Programs::new().add(
        "ssh",
        &format!(
            r#"
            while [ $# -gt 2 ]; do shift; done
            PATH=/usr/bin:/bin
            export SCR_NODE_NAME="$1" SCR_CACHE_BASE="{root}/$1" SCR_CNTL_BASE="{root}/$1"
            eval "$2""#
        ),
    )
}

/// A command on all nodes of the job.
pub(super) fn on_nodes(site: &Site, set: &[(&str, &str)], args: &[&str]) -> Said {
    let programs = ssh(site);
    said(for_nodes(site, &programs, set, args).output().unwrap())
}

/// Likewise, before it is called.
pub(super) fn for_nodes(
    site: &Site,
    programs: &Programs,
    set: &[(&str, &str)],
    args: &[&str],
) -> Command {
    let mut command = outside("scr", args);
    command
        .current_dir(site.prefix())
        .env("PATH", programs.path());
    command.envs([
        ("SCR_NODELIST", "n[0-1]"),
        ("SCR_REMOTE", "ssh"),
        ("SCR_NODE_TESTS", "echo"),
        ("SCR_USER_NAME", "user1"),
        ("SCR_JOB_ID", "1001"),
        ("SCR_FLUSH_ASYNC", "1"),
        ("SCR_LOG_ENABLE", "0"),
    ]);
    command.envs(set.iter().copied());
    command
}

pub(super) const POSTSTAGE: (&str, &str) = ("SCR_FLUSH_POSTSTAGE", "1");

/// Threads copy one byte a second; the newest checkpoint is not even begun when the run ends.
pub(super) fn left_behind(kind: &str) -> Site {
    let site = slow()
        .set("SCR_FLUSH_TYPE", kind)
        .set("SCR_FLUSH_POSTSTAGE", "1");
    let site = site.set("SCR_FLUSH", "2").set("SCR_CACHE_SIZE", "3");
    site.run(&NODES, |rank| {
        ["a", "b", "c"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
        finalize(rank);
    });
    assert_eq!(saved(&site), [] as [&str; 0]);
    assert!(events(&site).contains("scr poststage or scr postrun finishes the flush of"));
    site
}

#[test]
fn finalize_does_not_wait_and_poststage_finishes() {
    let site = left_behind("PTHREAD");
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert_eq!(
        said,
        "Dataset 2 (`b') is complete in the prefix directory\n\
         Dataset 3 (`c') is complete in the prefix directory\n"
    );
    assert_eq!(saved(&site), ["b", "c"]);
    let again = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert_eq!(again, "The last run has left no flush behind\n");
    lose_all(&site);
    assert_eq!(
        site.run(&NODES, Rank::restart),
        vec![Some("c".to_string()); 4]
    );
}

#[test]
fn postrun_finishes_flushes_before_it_saves_the_rest() {
    let site = left_behind("PTHREAD");
    let said = on_nodes(&site, &[POSTSTAGE], &["postrun"]).out();
    assert_eq!(
        said,
        "The last run called SCR_Finalize, and all is in the prefix directory\n"
    );
    assert_eq!(saved(&site), ["b", "c"]);
}

#[test]
fn poststage_waits_for_daemons() {
    let site = slow().set("SCR_FLUSH_POSTSTAGE", "1");
    let mut daemons = ["n0", "n1"].map(|node| Running::on(&site, node));
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), [] as [&str; 0]);
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert_eq!(
        said,
        "Dataset 1 (`a') is complete in the prefix directory\n"
    );
    assert_eq!(daemons.each_mut().map(Running::ends), [Some(0); 2]);
}

#[test]
fn poststage_tells_what_it_cannot_finish() {
    let site = left_behind("PTHREAD");
    // The parts of a node are lost.
    fs::remove_dir_all(site.node("n1")).unwrap();
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("dataset 3 (`c') is not complete"),
        "{said:?}"
    );
    assert!(
        said.err.contains("scr postrun saves it from the caches"),
        "{said:?}"
    );
    // XOR rebuilds them.
    let said = on_nodes(&site, &[POSTSTAGE], &["postrun", "--down", "n1"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(saved(&site), ["c"]);
}

#[test]
fn prerun_starts_daemons_on_all_nodes_and_postrun_ends_them() {
    let site = by_daemon();
    let set = [("SCR_FLUSH_TYPE", "DAEMON")];
    let said = on_nodes(&site, &set, &["prerun", "--verbose"]).out();
    assert!(said.contains("2 transfer daemons serve n[0-1]\n"), "{said}");
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"]);
    assert!(
        !events(&site).contains("no transfer daemon"),
        "{}",
        events(&site)
    );
    let log = fs::read_to_string(site.prefix().join(".scr/transfer.log")).unwrap();
    assert!(log.contains("dataset 1, part 1 of 2 (a): copied"), "{log}");
    on_nodes(&site, &set, &["postrun"]).out();
    for node in ["n0", "n1"] {
        assert!(control(&site, node).living().unwrap().is_none());
        assert!(!site.job(node).exists());
    }
}
