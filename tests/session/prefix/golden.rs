//! The files of a flush in the prefix directory, key by key, as SCR v3.1.0 writes them (reference
//! for `docs/`), and the order in which they become durable.

use crate::site::{Site, content};
use scr::format::print::{Style, print};
use scr::format::{Name, decode};
use scr::store::posix::Posix;
use scr::store::{Durability, File, Files, Fill, KeptFile, Lock, Refused, Space, Stat};
use scr_engine::forward;
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Regular files below a directory, sorted, without temporary ones being excused.
fn inventory(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap();
                found.push(name.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// The printed tree of a file, times replaced by `#`.
fn dump(site: &Site, file: &str) -> String {
    let bytes = std::fs::read(site.prefix().join(".scr").join(file)).unwrap();
    let (tree, end) = decode(&bytes).unwrap();
    assert_eq!(end, bytes.len() as u64);
    let mut text = String::new();
    for line in print(&tree, Style::KeyVal).lines() {
        let (key, value) = line.split_once(" = ").unwrap_or((line, ""));
        let time = match key.trim() {
            "CREATED" => value.len() == 16 && value.bytes().all(|b| b.is_ascii_digit()),
            "FLUSHED" => value.len() == 19 && &value[10..11] == "T",
            _ => false,
        };
        text += &if time {
            format!("{key} = #")
        } else {
            line.to_string()
        };
        text.push('\n');
    }
    text
}

fn crc(name: &str, rank: usize) -> String {
    format!(
        "{:#010x}",
        crc32fast::hash(&content(name, rank, 1000 + 7 * rank))
    )
}

/// A description as it stands in index, summary and flush file, each line with `indent`.
fn description(indent: usize, id: u64, name: &str, ckpt: Option<u64>, output: u8) -> String {
    let flag = u8::from(ckpt.is_some());
    let mut lines = Vec::new();
    lines.extend(ckpt.map(|ckpt| format!("CKPT = {ckpt}")));
    lines.push("COMPLETE = 1".to_string());
    lines.push("CREATED = #".to_string());
    lines.push("FILES = 2".to_string());
    lines.push(format!("FLAG_CKPT = {flag}"));
    lines.push(format!("FLAG_OUTPUT = {output}"));
    lines.push(format!("ID = {id}"));
    lines.push("JOBID = 1001".to_string());
    lines.push(format!("NAME = {name}"));
    lines.push("SIZE = 2007".to_string());
    lines.push("USER = user1".to_string());
    lines
        .iter()
        .map(|line| format!("{:indent$}{line}\n", ""))
        .collect()
}

#[test]
fn every_second_of_five_checkpoints_then_the_last() {
    let site = Site::new().set("SCR_FLUSH", "2").set("SCR_CACHE_SIZE", "2");
    site.run(&["n0", "n1"], |rank| {
        for n in 1..=5 {
            rank.checkpoint(&format!("ck.{n}")).unwrap();
        }
        rank.finalize().unwrap();
    });
    let mut expected = Vec::new();
    for id in [2, 4, 5] {
        for file in ["rank2file", "rank2file.0.0", "summary.scr"] {
            expected.push(format!(".scr/scr.dataset.{id}/{file}"));
        }
        expected.extend((0..2).map(|rank| format!("ck.{id}/rank_{rank}.dat")));
    }
    for file in [
        "app.conf",
        "env.conf",
        "flush.scr",
        "halt.scr",
        "identity.2.scr",
        "identity.scr",
        "index.scr",
        "nodes.scr",
    ] {
        expected.push(format!(".scr/{file}"));
    }
    expected.sort();
    assert_eq!(inventory(&site.prefix()), expected);

    let mut index = String::from("  CURRENT = ck.5\n  DSET\n");
    for id in [2, 4, 5] {
        index += &format!("    {id}\n      COMPLETE = 1\n      DSET\n");
        index += &description(8, id, &format!("ck.{id}"), Some(id), 0);
        index += "      FLUSHED = #\n";
    }
    index +=
        "  NAME\n    ck.2\n      DSET = 2\n    ck.4\n      DSET = 4\n    ck.5\n      DSET = 5\n";
    index += "  VERSION = 2\n";
    assert_eq!(dump(&site, "index.scr"), index);

    let summary = format!(
        "  COMPLETE = 1\n  DSET\n{}  VERSION = 6\n",
        description(4, 4, "ck.4", Some(4), 0)
    );
    assert_eq!(dump(&site, "scr.dataset.4/summary.scr"), summary);
    assert_eq!(
        dump(&site, "scr.dataset.4/rank2file"),
        "  LEVEL = 1\n  RANK\n    0\n      FILE = .0.0\n      OFFSET = 0\n  RANKS = 2\n"
    );
    let mut leaf = String::from("  LEVEL = 0\n  RANK\n");
    for rank in 0..2 {
        leaf += &format!("    {rank}\n      FILE\n        ck.4/rank_{rank}.dat\n");
        leaf += &format!("          CRC = {}\n", crc("ck.4", rank));
        leaf += &format!("          SIZE = {}\n", 1000 + 7 * rank);
    }
    leaf += "  RANKS = 2\n";
    assert_eq!(dump(&site, "scr.dataset.4/rank2file.0.0"), leaf);

    let mut flush = String::from("  DATASET\n");
    for id in [4, 5] {
        flush += &format!("    {id}\n      CKPT = 1\n      DSETDESC\n");
        flush += &description(8, id, &format!("ck.{id}"), Some(id), 0);
        // SCR v3.1.0 has CACHE here, too: it leaves both in the cache.
        flush += &format!("      LOCATION = PFS\n      NAME = ck.{id}\n");
    }
    assert_eq!(dump(&site, "flush.scr"), flush);
    assert_eq!(
        dump(&site, "halt.scr"),
        "  ExitReason = SCR_FINALIZE_CALLED\n"
    );
    assert_eq!(dump(&site, "nodes.scr"), "  NODES = 2\n");
}

#[test]
fn flags_decide_what_is_flushed_and_what_is_current() {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "4");
    site.run(&["n0", "n1"], |rank| {
        rank.write("pure", true, false).unwrap();
        rank.write("both", true, true).unwrap();
        rank.write("out", false, true).unwrap();
        rank.write("neither", false, false).unwrap();
        rank.finalize().unwrap();
    });
    let mut index = String::from("  CURRENT = both\n  DSET\n");
    for (id, name, ckpt) in [(2, "both", Some(2)), (3, "out", None)] {
        index += &format!("    {id}\n      COMPLETE = 1\n      DSET\n");
        index += &description(8, id, name, ckpt, 1);
        index += "      FLUSHED = #\n";
    }
    index += "  NAME\n    both\n      DSET = 2\n    out\n      DSET = 3\n  VERSION = 2\n";
    assert_eq!(dump(&site, "index.scr"), index);
    assert!(
        !site.prefix().join("pure").exists(),
        "SCR_FLUSH=0 flushes OUTPUT only"
    );
    assert!(!site.prefix().join("neither").exists());
    let flush = dump(&site, "flush.scr");
    assert!(flush.contains("    2\n      CKPT = 1\n"), "{flush}");
    assert!(
        flush.contains("      NAME = both\n      OUTPUT = 1\n"),
        "{flush}"
    );
    assert!(
        flush.contains("      LOCATION = CACHE\n      NAME = pure\n"),
        "{flush}"
    );
}

#[test]
fn bypass_records_sizes_and_checksums_unless_they_are_turned_off() {
    for asked in [false, true] {
        let mut site = Site::new()
            .set("SCR_CACHE_BYPASS", "1")
            .set("SCR_FLUSH", "0");
        if !asked {
            site = site.set("SCR_CRC_ON_FLUSH", "0");
        }
        site.run(&["n0", "n1"], |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.finalize().unwrap();
        });
        let mut leaf = String::from("  LEVEL = 0\n  RANK\n");
        for rank in 0..2 {
            leaf += &format!("    {rank}\n      FILE\n        ck.1/rank_{rank}.dat\n");
            if asked {
                leaf += &format!("          CRC = {}\n", crc("ck.1", rank));
            }
            leaf += &format!("          SIZE = {}\n", 1000 + 7 * rank);
        }
        leaf += "  RANKS = 2\n";
        assert_eq!(dump(&site, "scr.dataset.1/rank2file.0.0"), leaf);
        let flush = dump(&site, "flush.scr");
        assert!(
            flush.contains("      LOCATION\n        CACHE\n        PFS\n"),
            "{flush}"
        );
        assert!(dump(&site, "index.scr").contains("COMPLETE = 1\n      DSET\n"));
    }
}

#[test]
fn without_crc_on_flush_no_checksum_is_recorded_or_verified() {
    let site = Site::new()
        .set("SCR_CRC_ON_FLUSH", "0")
        .set("SCR_FLUSH", "1");
    site.run(&["n0", "n1"], |rank| rank.checkpoint("ck.1").unwrap());
    assert!(!dump(&site, "scr.dataset.1/rank2file.0.0").contains("CRC"));
    // A checksum that somebody else recorded is not compared either.
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&["n0", "n1"], |rank| rank.checkpoint("ck.1").unwrap());
    site.lose("n0");
    site.lose("n1");
    let path = site.prefix().join("ck.1/rank_0.dat");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let site = site.set("SCR_CRC_ON_FLUSH", "0");
    let names = site.run(&["n0", "n1"], |rank| rank.session.have_restart().unwrap());
    assert_eq!(names[0], Some(Name::from("ck.1")));
}

#[test]
fn a_name_used_again_leaves_nothing_of_the_old_dataset() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_FLUSH", "1")
            .set("SCR_CACHE_BYPASS", bypass);
        site.run(&["n0", "n1"], |rank| {
            rank.checkpoint("ck").unwrap();
            rank.checkpoint("ck").unwrap();
        });
        assert!(!site.prefix().join(".scr/scr.dataset.1").exists());
        let index = dump(&site, "index.scr");
        assert!(
            index.contains("  NAME\n    ck\n      DSET = 2\n"),
            "{index}"
        );
        assert!(!index.contains("      DSET = 1\n"), "{index}");
    }
}

#[test]
fn one_rank_at_a_time_flushes_as_well() {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_FLUSH_WIDTH", "1");
    let site = site.set("SCR_FETCH_WIDTH", "1");
    site.run(&["n0", "n1", "n2"], |rank| rank.checkpoint("ck.1").unwrap());
    ["n0", "n1", "n2"].iter().for_each(|node| site.lose(node));
    let names = site.run(&["n0", "n1", "n2"], |rank| rank.restart());
    assert!(names.iter().all(|name| name.as_deref() == Some("ck.1")));
}

/// Notes what becomes durable, in order.
#[derive(Default, Clone)]
struct Journal(Arc<Mutex<Vec<(&'static str, PathBuf)>>>);

impl Journal {
    fn note(&self, what: &'static str, path: &Path) {
        self.0.lock().unwrap().push((what, path.to_path_buf()));
    }

    /// A file that was synced before has its new name durably when the directory is synced.
    fn rename(&self, from: &Path, to: &Path) {
        let mut events = self.0.lock().unwrap();
        if events
            .iter()
            .any(|event| event.0 == "synced" && event.1 == from)
        {
            events.push(("renamed", to.to_path_buf()));
        }
    }

    fn sync_dir(&self, dir: &Path) {
        let mut events = self.0.lock().unwrap();
        events.push(("sync_dir", dir.to_path_buf()));
        let renamed =
            |event: &&mut (&str, PathBuf)| event.0 == "renamed" && event.1.parent() == Some(dir);
        let mut now = Vec::new();
        for event in events.iter_mut().filter(renamed) {
            event.0 = "was renamed";
            now.push(("synced", event.1.clone()));
        }
        events.extend(now);
    }
}

#[derive(Clone)]
struct Noting {
    journal: Journal,
}

struct NotingFile(Box<dyn File>, PathBuf, Journal);

impl File for NotingFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> scr::Result<()> {
        self.2.note("write", &self.1);
        self.0.write_at(offset, data)
    }
    fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> scr::Result<bool> {
        self.2.note("write", &self.1);
        self.0.copy_from(source, bytes)
    }
    fn sync(&self) -> scr::Result<()> {
        self.2.note("sync", &self.1);
        self.0.sync()
    }

    fn show(&self, _: Range<u64>, _: usize, _: &mut dyn FnMut(&[u8])) -> scr::Result<bool> {
        Ok(false)
    }
    fn write_and_see(&self, _: u64, _: &[u8], _: &mut dyn FnMut(&[u8])) -> scr::Result<bool> {
        Ok(false)
    }
    fn fill_at(&self, _: Range<u64>, _: &mut dyn Fill) -> scr::Result<bool> {
        Ok(false)
    }
    fn keep(self: Box<Self>) -> Option<KeptFile> {
        None
    }
    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        Some(kept)
    }

    forward! { self.0;
        fn size(&self) -> scr::Result<u64>;
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> scr::Result<()>;
        fn allocate(&self, size: u64) -> scr::Result<()>;
        fn set_size(&self, size: u64) -> scr::Result<()>;
        fn data_from(&self, from: u64) -> scr::Result<Option<Range<u64>>>;
        fn start_sync(&self, bytes: Range<u64>) -> scr::Result<()>;
        fn descriptor(&self) -> scr::Result<BorrowedFd<'_>>;
        fn restore(&self, stat: &Stat) -> scr::Result<Refused>;
    }
}

impl Files for Noting {
    // Paths in these tests have no links.
    fn beneath(&self, _: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }
    fn holding(&self, _: &[&Path]) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }
    fn open(&self, path: &Path) -> scr::Result<Box<dyn File>> {
        let file = Posix.open(path)?;
        Ok(Box::new(NotingFile(
            file,
            path.to_path_buf(),
            self.journal.clone(),
        )))
    }
    fn create(&self, path: &Path, mode: u32) -> scr::Result<Box<dyn File>> {
        let file = Posix.create(path, mode)?;
        Ok(Box::new(NotingFile(
            file,
            path.to_path_buf(),
            self.journal.clone(),
        )))
    }
    fn rewrite(&self, path: &Path, mode: u32) -> scr::Result<Box<dyn File>> {
        let file = Posix.rewrite(path, mode)?;
        Ok(Box::new(NotingFile(
            file,
            path.to_path_buf(),
            self.journal.clone(),
        )))
    }
    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> scr::Result<()> {
        Posix.replace(path, data, durability)?;
        let synced = durability == Durability::Synced;
        self.journal
            .note(if synced { "synced" } else { "atomic" }, path);
        Ok(())
    }
    fn rename(&self, from: &Path, to: &Path) -> scr::Result<()> {
        Posix.rename(from, to)?;
        self.journal.rename(from, to);
        Ok(())
    }
    fn sync_dir(&self, path: &Path) -> scr::Result<()> {
        self.journal.sync_dir(path);
        Posix.sync_dir(path)
    }
    fn sync_fs(&self, path: &Path) -> scr::Result<()> {
        self.journal.note("sync_fs", path);
        Posix.sync_fs(path)
    }

    forward! { Posix;
        fn real_dir(&self, path: &Path) -> scr::Result<PathBuf>;
        fn read(&self, path: &Path, limit: u64) -> scr::Result<Vec<u8>>;
        fn append(&self, path: &Path, mode: u32, data: &[u8]) -> scr::Result<u64>;
        fn make_dirs(&self, path: &Path) -> scr::Result<()>;
        fn make_private_dirs(&self, base: &Path, below: &Path) -> scr::Result<()>;
        fn check_private_dirs(&self, base: &Path, below: &Path) -> scr::Result<()>;
        fn may_add(&self, dir: &Path) -> scr::Result<()>;
        fn list(&self, path: &Path) -> scr::Result<Vec<OsString>>;
        fn stat(&self, path: &Path) -> scr::Result<Option<Stat>>;
        fn identity(&self, path: &Path) -> Option<(u64, u64)>;
        fn remove_file(&self, path: &Path) -> scr::Result<()>;
        fn remove_dir(&self, path: &Path) -> scr::Result<bool>;
        fn remove_tree(&self, path: &Path) -> scr::Result<()>;
        fn restore(&self, path: &Path, stat: &Stat) -> scr::Result<Refused>;
        fn space(&self, path: &Path) -> scr::Result<Space>;
        fn try_lock(&self, path: &Path) -> scr::Result<Option<Box<dyn Lock>>>;
        fn try_lock_shared(&self, path: &Path) -> scr::Result<Option<Box<dyn Lock>>>;
    }
}

#[test]
fn data_and_records_are_durable_before_the_index_says_complete() {
    for bypass in ["0", "1"] {
        durable(bypass);
    }
}

fn durable(bypass: &str) {
    let journal = Journal::default();
    let mut site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_CACHE_BYPASS", bypass);
    site.files = Arc::new(Noting {
        journal: journal.clone(),
    });
    site.run(&["n0", "n1"], |rank| rank.checkpoint("ck.1").unwrap());
    let events = journal.0.lock().unwrap().clone();
    let prefix = site.prefix();
    let places = |what: &str, path: &str| -> Vec<usize> {
        let path = prefix.join(path);
        let hit = |(_, event): &(usize, &(&str, PathBuf))| event.0 == what && event.1 == path;
        let all = events.iter().enumerate();
        all.filter(hit).map(|(at, _)| at).collect()
    };
    let index = places("synced", ".scr/index.scr");
    assert!(index.len() >= 2, "not complete, then complete");
    let (begun, complete) = (index[0], index[index.len() - 1]);
    for rank in 0..2 {
        let file = format!("ck.1/rank_{rank}.dat");
        let (written, synced) = (places("write", &file), places("sync", &file));
        if bypass == "0" {
            let first = written[0];
            assert!(begun < first, "the index says so before a byte moves");
            assert!(written.last() < synced.last(), "{file}");
        }
        assert!(*synced.last().unwrap() < complete, "{file}");
    }
    for dir in ["ck.1", "", ".scr"] {
        let synced = places("sync_dir", dir);
        assert!(
            synced.iter().any(|&at| begun < at && at < complete),
            "{dir}: {events:?}"
        );
    }
    for record in ["rank2file.0.0", "rank2file", "summary.scr"] {
        let synced = places("synced", &format!(".scr/scr.dataset.1/{record}"));
        assert_eq!(synced.len(), 1, "{record}");
        assert!(begun < synced[0] && synced[0] < complete, "{record}");
    }
    for record in ["flush.scr", "nodes.scr"] {
        let path = format!(".scr/{record}");
        assert!(places("synced", &path).is_empty(), "{record} needs no sync");
        assert!(!places("atomic", &path).is_empty());
    }
}
