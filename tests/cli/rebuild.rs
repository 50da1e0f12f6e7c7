//! `scr rebuild` in the directory of a dataset.

use crate::sandbox::{Said, Sandbox, program, said};
use crate::site::{Site, nodes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A checkpoint of four ranks, all parts of it in one directory.
fn dataset(scheme: &str) -> (Site, PathBuf) {
    let site = Site::new().set("SCR_COPY_TYPE", scheme);
    let base = site.node("all");
    let site = site.set("SCR_CACHE_BASE", &base.to_string_lossy());
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    let dir = site.dataset("all", 1);
    (site, dir)
}

fn run(dir: &Path, name: &str, args: &[&str]) -> Said {
    said(program(name, args).current_dir(dir).output().unwrap())
}

/// All files below a directory.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut queue = vec![dir.to_path_buf()];
    while let Some(dir) = queue.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                queue.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

fn lose(dir: &Path, rank: usize, extension: &str) {
    std::fs::remove_dir_all(dir.join(format!("rank_{rank}"))).unwrap();
    let meta = dir.join(".scr");
    std::fs::remove_file(meta.join(format!("filemap_{rank}"))).unwrap();
    let place = rank + 1;
    std::fs::remove_file(meta.join(format!("{place}_of_4_in_0.{extension}"))).unwrap();
}

fn data(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = content(dir);
    all.retain(|path, _| !path.to_string_lossy().contains("/.scr/filemap_"));
    all
}

#[test]
fn the_classic_names_rebuild_in_the_current_directory() {
    for (scheme, extension) in [("XOR", "xor"), ("PARTNER", "partner"), ("RS", "rs")] {
        let (_site, dir) = dataset(scheme);
        let before = data(&dir);
        let name = format!("scr_rebuild_{extension}");
        let whole = "dataset 1 (ck.1), 4 ranks: all is there\n";
        assert_eq!(run(&dir, &name, &[extension]).out(), whole);
        lose(&dir, 2, extension);
        let file = format!(".scr/1_of_4_in_0.{extension}");
        let said = run(&dir, &name, &[extension, &file]);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(
            said.out,
            "dataset 1 (ck.1), 4 ranks: files of rank 2, redundancy of rank 2, records of rank 2 \
             rebuilt\n"
        );
        assert!(said.err.contains("rank 2: "), "{}", said.err);
        assert!(data(&dir) == before);
        assert_eq!(run(&dir, "scr", &["rebuild"]).out(), whole);
    }
}

#[test]
fn a_dry_run_only_tells() {
    let (_site, dir) = dataset("XOR");
    lose(&dir, 1, "xor");
    let before = content(&dir);
    let elsewhere = Sandbox::empty();
    let place = dir.to_string_lossy();
    let said = elsewhere.run(&["rebuild", "--dry-run", "--dir", &place]);
    assert_eq!(said.code, 1);
    assert!(
        said.out.ends_with("records of rank 1 can be rebuilt\n"),
        "{}",
        said.out
    );
    assert!(content(&dir) == before);
    assert_eq!(elsewhere.run(&["rebuild", "--dir", &place]).code, 0);
    assert_eq!(elsewhere.run(&["rebuild", "-n", "-d", &place]).code, 0);
}

#[test]
fn a_dry_run_fails_also_if_only_redundancy_is_lost() {
    let (_site, dir) = dataset("XOR");
    std::fs::remove_file(dir.join(".scr/2_of_4_in_0.xor")).unwrap();
    let said = run(&dir, "scr", &["rebuild", "--dry-run"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out.ends_with("redundancy of rank 1 can be rebuilt\n"),
        "{said:?}"
    );
}

#[test]
fn map_makes_records_only() {
    let (_site, dir) = dataset("XOR");
    let before = data(&dir);
    for rank in 0..4 {
        std::fs::remove_file(dir.join(format!(".scr/filemap_{rank}"))).unwrap();
    }
    std::fs::remove_dir_all(dir.join("rank_3")).unwrap();
    // A killed process may not have set the times.
    let (path, _) = before
        .iter()
        .find(|(path, _)| path.starts_with(dir.join("rank_0")))
        .unwrap();
    let file = std::fs::File::options().append(true).open(path).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(run(&dir, "scr_rebuild_xor", &["map"]).code, 0);
    assert_eq!(file.metadata().unwrap().modified().unwrap(), written);
    let there = |rank: usize| dir.join(format!(".scr/filemap_{rank}")).exists();
    assert_eq!([0, 1, 2, 3].map(there), [true, true, true, false]);
    assert_eq!(run(&dir, "scr_rebuild_xor", &["xor"]).code, 0);
    assert!(there(3) && data(&dir) == before);
}

#[test]
fn if_more_is_lost_than_the_scheme_tolerates_no_file_changes() {
    let (_site, dir) = dataset("XOR");
    lose(&dir, 1, "xor");
    lose(&dir, 3, "xor");
    let before = content(&dir);
    for args in [&["xor"][..], &["map"], &["-n"]] {
        let said = run(&dir, "scr_rebuild_xor", args);
        assert_eq!((said.code, said.out.as_str()), (1, ""));
        let text = "ERROR";
        let line = said.err.lines().find(|line| line.contains(text)).unwrap();
        assert!(
            line.contains("dataset 1 (ck.1): the files of ranks 1 and 3 are lost"),
            "{line}"
        );
        assert!(
            line.contains("XOR set 0, 1, 2, 3 tolerates the loss of one"),
            "{line}"
        );
        assert!(content(&dir) == before);
    }
}

#[test]
fn contradictory_options_are_refused() {
    let (_site, dir) = dataset("XOR");
    let elsewhere = Sandbox::empty();
    let error = elsewhere.run(&["rebuild"]).failed();
    assert!(
        error.contains("is not the directory of a dataset"),
        "{error}"
    );
    let error = elsewhere.run(&["rebuild", "-d", "nowhere"]).failed();
    assert!(error.contains("nowhere"), "{error}");
    let error = Sandbox::of("basic").run(&["rebuild"]).failed();
    assert!(error.contains("holds no record of a dataset"), "{error}");
    let error = run(&dir, "scr_rebuild_rs", &["xor"]).failed();
    assert!(error.contains("use scr_rebuild_xor"), "{error}");
    let error = run(&dir, "scr_rebuild_rs", &["rs"]).failed();
    assert!(error.contains("no such redundancy set"), "{error}");
    let error = run(&dir, "scr_rebuild_xor", &["xor", "filemap_0"]).failed();
    assert!(
        error.contains("filemap_0 is not the name of a redundancy file"),
        "{error}"
    );
    let error = run(&dir, "scr", &["rebuild", "xor", "1_of_4_in_3.xor"]).failed();
    assert!(error.contains("no such redundancy set"), "{error}");
    assert_eq!(run(&dir, "scr", &["rebuild", "raid"]).code, 2);
    // Parts by node, as in a store that all nodes share.
    let level = elsewhere.path().join("scr.dataset.1/node.0");
    std::fs::create_dir_all(level.join(".scr")).unwrap();
    for dir in [level.as_path(), level.parent().unwrap()] {
        let error = run(dir, "scr", &["rebuild"]).failed();
        assert!(error.contains("a store that all nodes share"), "{error}");
    }
}
