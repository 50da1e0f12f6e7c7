//! Daemons that copy what is flushed.

use super::*;
use crate::mapped;

#[test]
fn daemons_copy_what_is_flushed() {
    copied_by_daemons(&by_daemon());
}

#[test]
fn daemons_pack_what_is_flushed_into_containers() {
    let site = by_daemon()
        .set("SCR_USE_CONTAINERS", "1")
        .set("SCR_CONTAINER_SIZE", "1000");
    copied_by_daemons(&site);
    assert!(!site.prefix().join("c").exists());
    let dir = site.prefix().join(".scr/scr.dataset.3");
    for (container, size) in [("ctr.0.scr", 1000), ("ctr.4.scr", 42)] {
        assert_eq!(fs::metadata(dir.join(container)).unwrap().len(), size);
    }
}

fn copied_by_daemons(site: &Site) {
    let mut daemons = ["n0", "n1"].map(|node| Running::on(site, node));
    site.run(&NODES, |rank| {
        ["a", "b", "c"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
        finalize(rank);
    });
    assert_eq!(saved(site), ["a", "b", "c"], "{}", events(site));
    assert!(!events(site).contains("daemon"), "{}", events(site));
    daemons[0].says("dataset 3, part 0 of 2 (c): copied, 2 files, 2007 bytes");
    daemons[1].says("dataset 3, part 1 of 2 (c): copied, 2 files, 2035 bytes");
    // No permit and no part is left.
    let dir = site.prefix().join(".scr/scr.dataset.3");
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
    assert!(
        names
            .into_iter()
            .all(|name| !name.to_string_lossy().starts_with("transfer"))
    );
    for (node, daemon) in ["n0", "n1"].iter().zip(&mut daemons) {
        let stopped = transfer(site, node, &["--stop"]).out();
        assert!(stopped.ends_with(" has ended\n"), "{stopped}");
        assert_eq!(daemon.ends(), Some(0));
        assert!(!site.job(node).exists(), "nothing is left of the daemon");
    }
    fs::remove_dir_all(site.node("n0")).unwrap();
    fs::remove_dir_all(site.node("n1")).unwrap();
    assert_eq!(
        site.run(&NODES, Rank::restart),
        vec![Some("c".to_string()); 4]
    );
}

/// What a daemon has open is written by system calls; else it is stored to through its mapping, and the daemon waits.
#[test]
fn daemons_copy_files_that_stay_mapped() {
    const LAST: i64 = 8;
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("SKIPPED: there is no /dev/shm");
        return;
    };
    let mut site = Site::at(memory);
    site.vars.extend(by_daemon().vars);
    let mut daemons = ["n0", "n1"].map(|node| Running::on(&site, node));
    site.run(&NODES, |rank| {
        (1..=LAST).for_each(|step| mapped::write(rank, step));
        finalize(rank);
    });
    let all: Vec<String> = (1..=LAST).map(|step| format!("ck.{step}")).collect();
    assert_eq!(saved(&site), all, "{}", events(&site));
    assert!(!events(&site).contains("daemon"), "{}", events(&site));
    for (node, daemon) in ["n0", "n1"].iter().zip(&mut daemons) {
        transfer(&site, node, &["--stop"]).out();
        assert_eq!(daemon.ends(), Some(0));
    }
    lose_all(&site);
    site.run(&NODES, |rank| {
        assert_eq!(mapped::read(rank).as_deref(), Some(&*format!("ck.{LAST}")));
    });
}

#[test]
fn without_a_daemon_threads_copy_and_that_is_told_once() {
    let site = by_daemon();
    site.run(&NODES, |rank| {
        ["a", "b"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    let lines = site.events.lines();
    let told: Vec<_> = lines
        .iter()
        .filter(|l| l.contains("no transfer daemon"))
        .collect();
    let warnings: Vec<_> = told.iter().filter(|l| l.contains("Warning")).collect();
    assert_eq!(warnings.len(), 1, "{lines:#?}");
    assert!(!site.job("n0").exists(), "no transfer file was needed");
}

#[test]
fn a_daemon_goes_on_when_the_program_has_died() {
    let site = slow();
    let mut daemons = ["n0", "n1"].map(|node| Running::on(&site, node));
    site.run(&NODES, |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0") && at_hand(&site, "n1"));
    let status = transfer(&site, "n0", &["--status"]).out();
    assert!(status.contains("daemon: process "), "{status}");
    assert!(status.contains("command: RUN, state: RUNNING, limits: 1 bytes per second"));
    assert!(
        status.contains("dataset 1, part 0 of 2 (a): being copied, "),
        "{status}"
    );
    assert_eq!(saved(&site), [] as [&str; 0]);
    for (node, daemon) in ["n0", "n1"].iter().zip(&mut daemons) {
        let said = transfer(&site, node, &["--finish"]).out();
        assert!(said.contains(" of 2 (a): copied, 2 files"), "{said}");
        assert_eq!(daemon.ends(), Some(0));
        assert!(!site.job(node).join("transfer.scrinfo").exists());
    }
    assert_eq!(saved(&site), ["a"]);
    lose_all(&site);
    assert_eq!(
        site.run(&NODES, Rank::restart),
        vec![Some("a".to_string()); 4]
    );
}

/// The keys of the SCR developer guide.
#[test]
fn the_transfer_file_tells_files_limits_and_state() {
    let site = slow().set("SCR_FLUSH_ASYNC_PERCENT", "50");
    let _daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    let done = |file: &Transfer| file.files.values().any(|file| file.written > 0);
    until(|| done(&file(&site, "n0")));
    let output = command(&site, "n0", &["print"])
        .arg(control(&site, "n0").file())
        .output();
    let text = said(output.unwrap()).out();
    for part in [
        "PERCENT = 50.000000",
        "BW = 1.000000",
        "COMMAND = RUN",
        "STATE = RUNNING",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let file = file(&site, "n0");
    let (from, first) = file.files.iter().next().unwrap();
    let data = site.dataset("n0", 1).join("rank_0/a/rank_0.dat");
    assert_eq!(from.as_path(), data);
    assert_eq!(
        first.destination.as_path(),
        site.prefix().join("a/rank_0.dat")
    );
    assert_eq!((first.size, first.written), (1000, 1000));
    assert_eq!((file.files.len(), file.flag), (2, None));
}
