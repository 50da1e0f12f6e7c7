//! The commands follow no link below the prefix directory.

use crate::sandbox::{Sandbox, program, said};
use crate::site::{Site, content, nodes};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Moves a directory away, and puts a link to it in its place.
fn move_away(dir: &Path, to: &Path) {
    fs::rename(dir, to).unwrap();
    symlink(to, dir).unwrap();
}

/// Number of files below a directory.
fn count(dir: &Path) -> usize {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { count(&path) } else { 1 })
        .sum()
}

#[test]
fn delete_leaves_a_linked_dataset_alone_and_says_so() {
    for part in ["timestep.1", "timestep.1/fields"] {
        let (sandbox, outside) = (Sandbox::of("basic"), Sandbox::empty());
        let (dir, to) = (sandbox.path().join(part), outside.path().join("moved"));
        move_away(&dir, &to);
        let before = (
            count(&to),
            fs::read(sandbox.path().join(".scr/index.scr")).unwrap(),
        );
        let error = sandbox.run(&["index", "--delete", "timestep.1"]).failed();
        let link = format!("{part} is a symbolic link to {}", to.display());
        for text in [link.as_str(), "scr index --drop timestep.1"] {
            assert!(error.contains(text), "{error}");
        }
        let after = (
            count(&to),
            fs::read(sandbox.path().join(".scr/index.scr")).unwrap(),
        );
        assert!(before == after);
        assert!(
            sandbox
                .path()
                .join("timestep.1/rank_0/state_0.dat")
                .exists()
        );
        assert!(sandbox.path().join(".scr/scr.dataset.1").exists());
    }
}

fn on(site: &Site, node: &str, args: &[&str]) -> crate::sandbox::Said {
    let base = site.node(node);
    let mut command = program("scr", args);
    command
        .current_dir(site.prefix())
        .env("SCR_NODE_NAME", node)
        .env("SCR_CACHE_BASE", &base)
        .env("SCR_CNTL_BASE", &base);
    for (name, value) in &site.vars {
        command.env(name, value);
    }
    said(command.output().unwrap())
}

fn killed() -> Site {
    let site = Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_COPY_TYPE", "XOR");
    site.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    fs::create_dir(site.outside()).unwrap();
    site
}

#[test]
fn copy_writes_through_no_link() {
    let site = killed();
    let link = site.prefix().join("ck.1");
    symlink(site.outside(), &link).unwrap();
    let told = on(&site, "n0", &["copy", "--id", "1"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("ck.1 is a symbolic link to"), "{told:?}");
    assert_eq!(count(&site.outside()), 0);
    // After the link is removed, the copy is repeated.
    fs::remove_file(&link).unwrap();
    on(&site, "n0", &["copy", "--id", "1"]).out();
    assert!(link.join("rank_0.dat").exists());
}

#[test]
fn build_rebuilds_and_reads_nothing_through_a_link() {
    let site = killed();
    for node in ["n0", "n2"] {
        on(&site, node, &["copy", "--id", "1"]).out();
    }
    let (dir, to) = (site.prefix().join("ck.1"), site.outside().join("moved"));
    move_away(&dir, &to);
    let before = count(&to);
    let told = on(&site, "n0", &["index", "--build", "1"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("ck.1 is a symbolic link to"), "{told:?}");
    assert_eq!(count(&to), before);
    fs::remove_file(&dir).unwrap();
    fs::rename(&to, &dir).unwrap();
    let told = on(&site, "n0", &["index", "--build", "1"]);
    assert_eq!(told.code, 0, "{told:?}");
    let rebuilt = fs::read(dir.join("rank_1.dat")).unwrap();
    assert!(rebuilt == content("ck.1", 1, 1007));
}

/// Neither records nor log are written behind the link.
#[test]
fn nothing_is_written_behind_a_linked_scr_directory() {
    let (sandbox, outside) = (Sandbox::of("basic"), Sandbox::empty());
    let to = outside.path().join("scr");
    move_away(&sandbox.path().join(".scr"), &to);
    let before = count(&to);
    // The machine may have no MPI.
    let launcher = outside.path().join("mpirun");
    let script = "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.6'\n";
    fs::write(&launcher, script).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    let launcher = launcher.to_str().unwrap();
    for args in [
        &["index", "--drop", "timestep.1"][..],
        &["index", "--delete", "timestep.1"],
        &["halt", "--immediate"],
        &["halt", "--remove"],
        &["prerun"],
        &["log-event", "-T", "TEST"],
        &["run", launcher, "./app"],
    ] {
        let mut command = program("scr", args);
        command
            .env("SCR_LOG_ENABLE", "1")
            .env("SCR_LOG_TXT_ENABLE", "1");
        let told = said(command.current_dir(sandbox.path()).output().unwrap());
        assert_eq!(told.code, 1, "{args:?} {told:?}");
        assert!(told.err.contains("symbolic link"), "{args:?} {told:?}");
        assert_eq!(count(&to), before, "{args:?}");
    }
    assert!(
        sandbox
            .path()
            .join("timestep.1/rank_0/state_0.dat")
            .exists()
    );
}
