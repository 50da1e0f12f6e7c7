//! `scr index --build` after a scavenge by SCR v3.1.0.

use crate::sandbox::Sandbox;
use scr::format::rank2file::RankEntry;
use scr::format::{Tree, encode};
use scr::prefix::{paths::Prefix, rank2file};
use scr::store::posix::Posix;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const ID: u64 = 3;

fn dir(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join(format!(".scr/scr.dataset.{ID}"))
}

fn entries(sandbox: &Sandbox) -> BTreeMap<u64, RankEntry> {
    let mut all = BTreeMap::new();
    rank2file::for_each(&Posix, &dir(sandbox), |rank, entry| {
        all.insert(rank, entry.clone());
        Ok(())
    })
    .unwrap();
    all
}

/// The newest dataset of a fixture as a scavenge by SCR v3.1.0 leaves it: data, filemaps with
/// absolute paths and redundancy files, and no entry in the index.
fn scavenged() -> (Sandbox, BTreeMap<u64, RankEntry>) {
    let sandbox = Sandbox::of("basic");
    let entries = entries(&sandbox);
    sandbox.run(&["index", "--drop=timestep.3"]).out();
    for entry in fs::read_dir(dir(&sandbox)).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for (rank, entry) in &entries {
        let files = entry.files.keys().map(|name| name.as_path().to_path_buf());
        write(&sandbox, *rank, &files.collect::<Vec<_>>());
        let parity = format!("reddesc.er.{rank}.redset");
        fs::write(dir(&sandbox).join(parity), "of SCR v3.1.0").unwrap();
    }
    (sandbox, entries)
}

/// A filemap of these files, relative to the prefix directory.
fn write(sandbox: &Sandbox, rank: u64, names: &[PathBuf]) {
    let mut files = Tree::new();
    for name in names {
        let path = sandbox.path().join(name);
        let size = fs::metadata(&path).map_or(7, |meta| meta.len());
        let mut meta = Tree::new();
        let text = |path: &std::path::Path| path.to_str().unwrap().to_string();
        meta.set_value("RANKS", "4")
            .set_value("PATH", text(path.parent().unwrap()))
            .set_value("NAME", text(path.file_name().unwrap().as_ref()))
            .set_value("SIZE", size.to_string())
            .set_value("COMPLETE", "1");
        let mut file = Tree::new();
        file.set("META", meta);
        let cached = format!("/dev/shm/user1/scr.1/scr.dataset.3/{}", text(name));
        files.set(cached.as_str(), file);
    }
    let mut map = Tree::new();
    map.set("FILE", files);
    fs::write(dir(sandbox).join(format!("filemap_{rank}")), encode(&map)).unwrap();
}

#[test]
fn a_dataset_without_losses_is_completed() {
    let (sandbox, before) = scavenged();
    let seen = sandbox.run(&["inspect", "--id", "3"]).out();
    assert_eq!(
        seen,
        "dataset 3 (timestep.3), 4 ranks: all files are there\n"
    );
    let complete = "Dataset 3 (`timestep.3'), 4 ranks, is complete and in the index\n";
    assert_eq!(sandbox.run(&["index", "--build=3"]).out(), complete);
    let list = sandbox.run(&["index", "--list"]).out();
    assert!(
        list.contains("   3 YES ") && list.contains(" * timestep.3\n"),
        "{list}"
    );
    let after = entries(&sandbox);
    assert_eq!(after.len(), 4);
    for (rank, entry) in &before {
        let names: Vec<_> = entry.files.keys().collect();
        let found = &after[rank].files;
        assert_eq!(found.keys().collect::<Vec<_>>(), names);
        for (name, file) in found {
            let path = Prefix::new(sandbox.path()).absolute(name).unwrap();
            assert_eq!(file.size, Some(fs::metadata(path).unwrap().len()));
        }
    }
    // Files of SCR v3.1.0 stay, and a second build changes nothing.
    assert_eq!(sandbox.run(&["index", "--build=3"]).out(), complete);
    for kept in ["reddesc.er.2.redset", "filemap_2"] {
        assert!(dir(&sandbox).join(kept).exists());
    }
}

#[test]
fn lost_ranks_are_named_and_nothing_is_entered() {
    for damage in ["data", "size", "record", "outside", "garbage"] {
        let (sandbox, before) = scavenged();
        let name = before[&2].files.keys().next().unwrap().as_path();
        let file = sandbox.path().join(name);
        let map = dir(&sandbox).join("filemap_2");
        match damage {
            "data" => fs::remove_file(file).unwrap(),
            "size" => fs::write(file, "another size").unwrap(),
            "record" => fs::remove_file(map).unwrap(),
            "outside" => write(&sandbox, 2, &["../../../../../../../../etc/passwd".into()]),
            _ => fs::write(map, "garbage").unwrap(),
        }
        for args in [&["index", "--build=3"][..], &["inspect", "--id=3"]] {
            let error = sandbox.run(args).failed();
            assert!(error.contains("the files of rank 2 are lost"), "{error}");
            assert!(error.contains("dataset 3 (timestep.3)"), "{error}");
        }
        assert!(!dir(&sandbox).join("summary.scr").exists());
        let list = sandbox.run(&["index", "--list"]).out();
        assert!(!list.contains("timestep.3"), "{list}");
    }
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let (sandbox, _) = scavenged();
    for rank in [4, u64::MAX] {
        write(&sandbox, rank, &[]);
        let error = sandbox.run(&["index", "--build=3"]).failed();
        assert!(error.contains("its records are of 4 ranks"), "{error}");
        fs::remove_file(dir(&sandbox).join(format!("filemap_{rank}"))).unwrap();
    }
}

#[test]
fn a_dataset_without_its_name_cannot_be_entered() {
    let (sandbox, _) = scavenged();
    fs::remove_file(sandbox.path().join(".scr/flush.scr")).unwrap();
    let error = sandbox.run(&["index", "--build=3"]).failed();
    assert!(
        error.contains("neither flush.scr nor the index tells"),
        "{error}"
    );
}
