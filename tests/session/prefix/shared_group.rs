//! A project directory: it gives its group to what is made in it (setgid), and people share it by that group.

use crate::checkpoints::double_nodes;
use crate::site::Site;
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// No group of this process.
const PROJECT: u32 = 54321;

/// A site whose prefix directory is of [`PROJECT`]; `None` if this user may not make one.
fn project(mode: u32) -> Option<Site> {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "1")
        .set("SCR_LOG_ENABLE", "1")
        .set("SCR_LOG_SYSLOG_ENABLE", "0")
        .set("SCR_COPY_TYPE", "SINGLE");
    if chown(site.prefix(), None, Some(PROJECT)).is_err() {
        println!("SKIPPED: only root can make a directory of any group");
        return None;
    }
    let permissions = PermissionsExt::from_mode(mode);
    std::fs::set_permissions(site.prefix(), permissions).unwrap();
    Some(site)
}

/// Everything below a directory.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn all_that_is_made_in_a_setgid_directory_has_its_group() {
    for (containers, background) in [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")] {
        let Some(site) = project(0o2770) else { return };
        let site = site.set("SCR_USE_CONTAINERS", containers);
        let site = site.set("SCR_FLUSH_ASYNC", background);
        site.run(&double_nodes(2), |rank| {
            rank.checkpoint("ck/1").unwrap();
            rank.finalize().unwrap();
        });
        let (mut files, mut shared) = (0, BTreeSet::new());
        for path in below(&site.prefix()) {
            let stat = std::fs::metadata(&path).unwrap();
            assert_eq!(stat.gid(), PROJECT, "{}", path.display());
            let name = path.file_name().unwrap().to_str().unwrap();
            files += usize::from(name.ends_with(".dat"));
            if name.starts_with("ctr.") || name == "log" {
                shared.insert(name[..3].to_string());
                // Who may use its directory may use it, as far as the umask permits.
                let plain = path.with_file_name("plain");
                std::fs::write(&plain, "").unwrap();
                let plain = std::fs::metadata(&plain).unwrap().mode();
                let dir = std::fs::metadata(path.parent().unwrap()).unwrap().mode();
                assert_eq!(stat.mode() & 0o777, plain & (dir | 0o600) & 0o777);
            }
        }
        assert_eq!(files > 0, containers == "0");
        let packed = (containers == "1").then_some("ctr");
        assert!(
            shared.iter().eq(packed.iter().chain(&["log"])),
            "{shared:?}"
        );
    }
}

#[test]
fn in_another_directory_files_keep_their_group_and_containers_and_log_are_private() {
    let Some(site) = project(0o770) else { return };
    let site = site.set("SCR_USE_CONTAINERS", "1");
    let own = rustix::process::getegid().as_raw();
    site.run(&double_nodes(1), |rank| rank.checkpoint("ck.1").unwrap());
    let site = site.set("SCR_USE_CONTAINERS", "0");
    site.run(&double_nodes(1), |rank| rank.checkpoint("ck.2").unwrap());
    for path in below(&site.prefix()) {
        let stat = std::fs::metadata(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".dat") {
            assert_eq!(stat.gid(), own, "{}", path.display());
        }
        if name.starts_with("ctr.") || name == "log" {
            assert_eq!(stat.mode() & 0o777, 0o600, "{}", path.display());
        }
    }
}
