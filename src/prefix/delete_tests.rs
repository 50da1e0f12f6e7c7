//! Deletions on a real directory: the plan, the deleted files, and the messages about the rest.

use super::access::PrefixAccess;
use super::delete::{DeletionPlan, delete, files};
use super::paths::Prefix;
use super::rank2file::{entry, write_all};
use crate::format::Dataset;
use crate::format::index::Index;
use crate::store::Unkept;
use crate::store::posix::Posix;
use crate::threads;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A prefix directory with datasets 1, 2, ... of these files, and its index. Only the name is known
/// of files that are marked with `-`.
fn prefix(datasets: &[&[&str]]) -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(dir.path());
    let mut index = Index::default();
    for (id, names) in (1..).zip(datasets) {
        let dataset = Dataset {
            id,
            name: format!("ck.{id}").as_str().into(),
            flag_ckpt: true,
            ..Dataset::default()
        };
        index.set_complete(dataset, "t");
        let listed = names.iter().map(|name| name.trim_start_matches('-'));
        let list = entry(listed.map(|name| (name.into(), 1, None)));
        fs::create_dir_all(prefix.dataset(id)).unwrap();
        write_all(&Posix, &prefix.dataset(id), vec![list]).unwrap();
        for name in names.iter().filter(|name| !name.starts_with('-')) {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
    }
    index.write(&Posix, &prefix.file("index.scr")).unwrap();
    (dir, index)
}

/// The results of two ranks.
fn on_ranks<T: Send>(dir: &Path, each: impl Fn(&PrefixAccess) -> T + Sync) -> Vec<T> {
    let prefix = Prefix::new(dir);
    threads::run(2, |comm| {
        each(&PrefixAccess {
            comm: &*comm,
            files: &Posix,
            prefix: &prefix,
            node: "n0",
            first_of_node: comm.rank() == 0,
            width: 2,
            buffer: 1024,
            metadata: false,
            unkept: &Unkept::default(),
            watch: &(),
        })
    })
}

#[test]
fn a_plan_says_in_words_what_it_deletes() {
    let (_dir, index) = prefix(&[&["a"], &["b"], &["c"], &["d"], &["e"]]);
    for (going, words) in [
        (&[2][..], "dataset 2 (ck.2)"),
        (&[1, 2], "datasets 1 (ck.1), 2 (ck.2)"),
        (&[1, 2, 5], "datasets 1 (ck.1), 2 (ck.2), 5 (ck.5)"),
        (
            &[1, 2, 3, 5],
            "datasets 1 (ck.1), 2 (ck.2), 3 (ck.3) and 1 more",
        ),
    ] {
        let plan = DeletionPlan::new(&index, going);
        assert_eq!((plan.words().as_str(), plan.is_empty()), (words, false));
    }
    assert!(DeletionPlan::new(&index, &[]).is_empty());
    assert!(DeletionPlan::new(&index, &[9]).is_empty());
    let all = DeletionPlan::of_all(&index);
    let all: Vec<String> = all.iter().map(DeletionPlan::words).collect();
    assert_eq!(all.len(), 5);
    assert_eq!(all[4], "dataset 5 (ck.5)");
}

#[test]
fn the_files_that_would_go_are_told_and_stay() {
    let (dir, index) = prefix(&[&["a/1", "a/2", "shared"], &["b/1", "./shared"]]);
    let plan = DeletionPlan::new(&index, &[1]);
    let told = on_ranks(dir.path(), |access| files(access, &plan).unwrap());
    let told: Vec<PathBuf> = told.into_iter().flatten().collect();
    let distinct: BTreeSet<&str> = told.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!((told.len(), distinct), (2, BTreeSet::from(["a/1", "a/2"])));
    assert!(dir.path().join("a/1").exists());
}

#[test]
fn a_directory_that_is_not_empty_is_told_and_one_that_is_gone_is_not() {
    let (dir, index) = prefix(&[&["a/x/1", "-gone/1", "b/1"], &["c/1"]]);
    fs::write(dir.path().join("b/other"), "x").unwrap();
    let plan = DeletionPlan::new(&index, &[1]);
    let done = on_ranks(dir.path(), |access| delete(access, &plan).unwrap());
    let kept: Vec<&PathBuf> = done.iter().flat_map(|done| &done.dirs).collect();
    assert_eq!(kept, [&dir.path().join("b")]);
    assert!(done.iter().all(|done| done.refused.is_empty()));
    let there = |name: &str| dir.path().join(name).exists();
    assert_eq!(
        ["a", "b/1", "b/other", "c/1"].map(there),
        [false, false, true, true]
    );
    assert!(!there(".scr/scr.dataset.1") && there(".scr/scr.dataset.2"));
}

/// A run has begun to write a dataset of the same name, and so perhaps of the same files, while the files of the
/// old one were listed.
#[test]
fn nothing_goes_if_the_name_is_another_datasets_meanwhile() {
    let (dir, mut index) = prefix(&[&["a"], &["b"]]);
    let plan = DeletionPlan::new(&index, &[1, 2]);
    let newer = Dataset {
        id: 3,
        name: "ck.1".into(),
        ..Dataset::default()
    };
    index.add(newer);
    let file = Prefix::new(dir.path()).file("index.scr");
    index.write(&Posix, &file).unwrap();
    let told = on_ranks(dir.path(), |access| {
        delete(access, &plan).unwrap_err().to_string()
    });
    assert_eq!(told[0], told[1]);
    assert!(
        told[0].contains("dataset 3 has taken its name"),
        "{}",
        told[0]
    );
    assert!(dir.path().join("a").exists() && dir.path().join("b").exists());
    assert_eq!(Index::read(&Posix, &file).unwrap(), index);
}
