//! What names a prefix directory: it may be deleted and made again, moved, or copied.

use crate::site::{Rank, Site};
use scr::format::identity::Identity;
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const NODES: [&str; 2] = ["n0", "n1"];

/// Checkpoints are only in the cache. No resource manager names the job.
fn site() -> Site {
    Site::new()
        .set("SCR_JOB_ID", "")
        .set("SCR_FLUSH", "0")
        .set("SCR_COPY_TYPE", "SINGLE")
}

fn write(site: &Site) {
    site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
}

/// What is offered: the same on all ranks.
fn offered(site: &Site) -> Option<String> {
    let name = |rank: &mut Rank| rank.session.have_restart().unwrap().map(|n| n.to_string());
    let names = site.run(&NODES, name);
    assert_eq!(names[0], names[1]);
    names.into_iter().next().flatten()
}

/// The job directories of a node.
fn jobs(site: &Site) -> Vec<PathBuf> {
    let listed = fs::read_dir(site.node("n0").join("user1")).unwrap();
    let mut all: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn identity(prefix: &Path) -> Identity {
    Identity::read(&Posix, &prefix.join(".scr/identity.scr")).unwrap()
}

/// The prefix directory is another one from now on.
fn in_prefix(site: Site, prefix: &Path) -> Site {
    site.set("SCR_PREFIX", prefix.to_str().unwrap())
}

#[test]
fn a_directory_that_was_made_again_does_not_go_on_from_the_old_cache() {
    for job in ["", "1001"] {
        let site = site().set("SCR_JOB_ID", job);
        write(&site);
        let (prefix, old) = (site.prefix(), jobs(&site));
        fs::remove_dir_all(&prefix).unwrap();
        fs::create_dir(&prefix).unwrap();
        assert_eq!(offered(&site), None);
        let told = site.heard("SCR-252");
        assert!(!told.is_empty(), "{:?}", site.events.lines());
        if job.is_empty() {
            let name = old[0].file_name().unwrap().to_str().unwrap();
            let remedy = format!("scr clean --job {}", name.strip_prefix("scr.").unwrap());
            assert!(told.iter().all(|line| line.contains(&remedy)), "{told:?}");
        } else {
            assert!(told[0].contains("one that was there before"), "{told:?}");
        }
    }
}

#[test]
fn a_directory_that_was_moved_goes_on_from_its_cache() {
    let site = site();
    write(&site);
    let (prefix, moved) = (site.prefix(), site.outside());
    let id = identity(&prefix).id;
    fs::rename(&prefix, &moved).unwrap();
    fs::create_dir(&prefix).unwrap();
    // As `scr prerun` does.
    fs::remove_file(moved.join(".scr/flush.scr")).unwrap();
    let site = in_prefix(site, &moved);
    assert_eq!(offered(&site).as_deref(), Some("ck.1"));
    let now = identity(&moved);
    assert_eq!(
        (now.id, now.path.as_path()),
        (id, moved.canonicalize().unwrap().as_path())
    );
    assert!(site.heard("SCR-215").is_empty() && site.heard("SCR-252").is_empty());
    assert_eq!(jobs(&site).len(), 1);
}

/// Both are used: each has its own checkpoints.
#[test]
fn a_copy_has_a_cache_of_its_own() {
    for job in ["", "1001"] {
        let mut site = site().set("SCR_JOB_ID", job);
        write(&site);
        let (prefix, copy) = (site.prefix(), site.outside());
        let copied = Command::new("cp").arg("-a").args([&prefix, &copy]).status();
        assert!(copied.unwrap().success());
        site = in_prefix(site, &copy);
        assert_eq!(offered(&site), None, "{:?}", site.events.lines());
        assert_eq!(site.heard("is a copy of").len(), 1);
        assert_ne!(identity(&copy).id, identity(&prefix).id);
        site = in_prefix(site, &prefix);
        assert_eq!(
            offered(&site).as_deref(),
            Some("ck.1"),
            "{:?}",
            site.events.lines()
        );
    }
}

/// A directory of an earlier version, or of SCR v3.1.0.
#[test]
fn one_without_an_identity_keeps_the_caches_that_are_named_after_its_path() {
    let site = site();
    fs::create_dir(site.prefix().join(".scr")).unwrap();
    fs::write(site.prefix().join(".scr/index.scr"), "").unwrap();
    write(&site);
    let hash = scr::text::fnv1a(site.prefix().as_os_str().as_bytes());
    assert_eq!(
        jobs(&site),
        [site
            .node("n0")
            .join(format!("user1/scr.prefix-{hash:016x}"))]
    );
    assert_eq!(offered(&site).as_deref(), Some("ck.1"));
}

#[test]
fn a_damaged_file_has_a_copy_and_without_both_the_path_counts() {
    let site = site();
    write(&site);
    let file = |name: &str| site.prefix().join(".scr").join(name);
    let good = fs::read(file("identity.scr")).unwrap();
    fs::write(file("identity.scr"), "damaged").unwrap();
    assert_eq!(offered(&site).as_deref(), Some("ck.1"));
    assert_eq!(fs::read(file("identity.scr")).unwrap(), good);
    fs::remove_file(file("identity.2.scr")).unwrap();
    assert_eq!(offered(&site).as_deref(), Some("ck.1"));
    for name in ["identity.scr", "identity.2.scr"] {
        fs::write(file(name), "damaged").unwrap();
    }
    let site = site.set("SCR_JOB_ID", "1001");
    site.run(&NODES, |rank| rank.checkpoint("ck.2").unwrap());
    assert!(
        !site
            .heard("the path of the prefix directory stands for its identity")
            .is_empty()
    );
    assert_eq!(offered(&site).as_deref(), Some("ck.2"));
}

#[test]
fn a_prefix_directory_that_takes_no_identity_is_used_by_its_path() {
    let mut site = site();
    let files = Faulty::new(Posix);
    let is_identity = |path: &Path| path.to_string_lossy().contains("identity");
    files.faults().fill_up_where(is_identity);
    site.files = Arc::new(files);
    write(&site);
    assert!(
        !site.heard("stands for its identity").is_empty(),
        "{:?}",
        site.events.lines()
    );
    site.files = Arc::new(Posix);
    assert_eq!(offered(&site).as_deref(), Some("ck.1"));
}
