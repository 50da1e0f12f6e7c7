//! What is on the volumes: files of others, which stay as they are, saved output, and at the end of a job
//! nothing that belongs to nothing.

use super::dataset::Fate;
use super::{Oracle, Promise};
use crate::content::{content, files_of};
use crate::machine::Loss;
use crate::plan::Run;
use crate::volume::Volume;
use scr::cache::layout::temporary_of;
use scr::format::index::Index;
use scr::store::LOCK_DIRECTORY;
use scr::system::simulated::scheduler::ProcessId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files that are not SCR's, in a local volume: of another user, of another job, and of nobody.
pub const FOREIGN_LOCAL: [&str; 4] = [
    "README",
    "user2/scr.1001/scr.run.1/scr.dataset.1/rank_0/ck.1",
    "user1/scr.1002/scr.run.0000000000000001/scr.dataset.1/.scr/filemap_0",
    "second/user1/notes",
];

/// Files that are not SCR's in the shared volume, beside the prefix directory and in it.
pub const FOREIGN_SHARED: [&str; 4] = [
    "other/index.scr",
    "prefix/input.dat",
    "prefix/ck.0.0.saved/rank_0.dat",
    "prefix/scr.dataset.1/mine",
];

/// Files of a volume by their paths, and directories with nothing in them.
type Content = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn walk(volume: &Volume, below: &Path, found: &mut Content) {
    let names = volume.list(below).unwrap();
    if names.is_empty() {
        found.insert(below.to_path_buf(), None);
    }
    for name in names {
        let path = below.join(name);
        let inode = volume
            .find(&path)
            .and_then(|ino| volume.inode(ino))
            .unwrap();
        if inode.directory {
            walk(volume, &path, found)
        } else {
            drop(found.insert(path, Some(inode.data().to_vec())))
        }
    }
}

fn bytes_of(path: &str) -> Vec<u8> {
    format!("this is {path}\n").into_bytes()
}

/// Puts files of others there, as far as they are missing.
pub fn put_foreign(volume: &mut Volume, paths: &[&str]) {
    let missing = |path: &&&str| volume.find(Path::new(path)).is_err();
    if paths.iter().filter(missing).count() == 0 {
        return;
    }
    for path in paths {
        let whole = Path::new(path);
        let mut above: Vec<&Path> = whole.ancestors().skip(1).collect();
        above.reverse();
        for dir in above.iter().filter(|dir| !dir.as_os_str().is_empty()) {
            let _ = volume.make(dir, true, 0o755, (0, 0));
        }
        if let Ok(ino) = volume.make(whole, false, 0o644, (0, 0)) {
            volume.write(ino, 0, &bytes_of(path), (0, 0)).unwrap();
        }
    }
    volume.sync_all();
}

impl Oracle {
    /// Files of others must be as they were put there.
    pub fn check_foreign(&mut self, volume: &Volume, paths: &[&str], named: &str) {
        for path in paths {
            let inode = volume
                .find(Path::new(path))
                .and_then(|ino| volume.inode(ino));
            let same = inode.is_ok_and(|inode| inode.data() == bytes_of(path));
            self.check(Promise::Roots, same, || {
                format!("{path} of {named} is gone, or another one")
            });
        }
    }

    /// Output that was reported as saved must be in the index, and its files in the prefix directory.
    pub fn check_outputs(&mut self, volume: &Volume, index: &Index) {
        let saved = |one: &&super::Dataset| one.output && one.saved && one.fate == Fate::Counts;
        let outputs: Vec<super::Dataset> = self.datasets.iter().filter(saved).cloned().collect();
        let plain = !self.plan.is_set("SCR_USE_CONTAINERS");
        for one in outputs {
            if one.checkpoint && self.all_runs.window > 0 {
                continue;
            }
            let entry = index
                .id(&one.name.as_str().into())
                .and_then(|id| index.get(id));
            let listed = entry.is_some_and(|entry| entry.complete);
            let same = |file: &String| {
                let path = Path::new("prefix").join(file);
                let inode = volume.find(&path).and_then(|ino| volume.inode(ino));
                let wanted = content(one.key, file);
                // A file of fields has more in it.
                let in_fields = |data: &[u8]| {
                    let has = |wanted: &[u8]| {
                        wanted.is_empty() || data.windows(wanted.len()).any(|part| part == wanted)
                    };
                    file.ends_with(".fields") && has(&wanted)
                };
                inode.is_ok_and(|inode| inode.data() == wanted || in_fields(inode.data()))
            };
            let files =
                (0..one.ranks()).flat_map(|rank| files_of(self.plan.fields, &one.name, rank));
            // What was damaged in the cache before checksums were taken is saved as it was found.
            let compared = plain && !one.unnoticed;
            let other: Vec<String> = files.filter(|file| compared && !same(file)).collect();
            self.check(Promise::Output, listed && other.is_empty(), || {
                let told = one.told();
                format!(
                    "is in the index: {listed}; files that are missing or others: {other:?}; {told}"
                )
            });
        }
    }

    /// After undisturbed runs at the end of a job: what may be in the shared volume.
    pub fn check_shared_is_tidy(&mut self, volume: &Volume, index: &Index) {
        let mut found = Content::new();
        walk(volume, Path::new(""), &mut found);
        let names: BTreeSet<String> = self.datasets.iter().map(|one| one.name.clone()).collect();
        let known = |name: &String| index.id(&name.as_str().into()).is_some();
        let purged = self.plan.runs.iter().any(Run::purges_prefix);
        let deleted =
            purged || self.all_runs.window > 0 || self.plan.is_set("SCR_DROP_AFTER_CURRENT");
        let taken = |name: &String| {
            let mut of_name = self.datasets.iter().filter(|one| one.name == *name);
            deleted || of_name.any(|one| one.fate != Fate::Counts)
        };
        let fields = self.plan.fields;
        let files_of_name = |name: &String| {
            let all = (0..12).flat_map(|rank| files_of(fields, name, rank));
            all.map(|file| Path::new("prefix").join(file))
                .collect::<Vec<_>>()
        };
        // What is dropped or deleted leaves its files where nobody looks for them.
        let named = names.iter().filter(|name| known(name) || taken(name));
        let files = named.flat_map(files_of_name);
        let with_dirs =
            files.flat_map(|file| file.ancestors().map(Path::to_path_buf).collect::<Vec<_>>());
        let of_datasets: BTreeSet<PathBuf> = with_dirs.collect();
        // A flush makes directories before the index names the dataset. If it ends there, and the dataset is
        // lost or evicted, nobody knows them.
        let empty: BTreeSet<PathBuf> = names
            .iter()
            .flat_map(files_of_name)
            .filter_map(|file| file.parent().map(Path::to_path_buf))
            .collect();
        // A deletion that was killed leaves files that no index names.
        let dropped = deleted || self.datasets.iter().any(|one| one.fate != Fate::Counts);
        // With no cached dataset beside it, what tells who has a store is of no use.
        let holds_datasets = found.iter().any(|(path, bytes)| {
            path.starts_with("burst/user1/scr.1001")
                && path.to_string_lossy().contains("/scr.run.")
                && bytes.is_some()
        });
        let mut left = Vec::new();
        for path in found.keys() {
            let text = path.to_string_lossy();
            if path.starts_with("burst") {
                // A store that all nodes see.
                let below = path.strip_prefix("burst").unwrap().to_string_lossy();
                let alone = below.ends_with("/.scr.shared") && !holds_datasets;
                if !below.is_empty() && (alone || !self.may_stay_in_cache(&below)) {
                    left.push(text.into_owned());
                }
                continue;
            }
            let scr = path.strip_prefix("prefix/.scr").ok();
            let scr = scr
                .and_then(|below| below.iter().next())
                .and_then(|name| name.to_str());
            let id = scr.and_then(|name| name.strip_prefix("scr.dataset.")?.parse().ok());
            let fine = match (scr, id) {
                (_, Some(id)) => index.get(id).is_some() || dropped,
                (Some(name), None) => is_record(name),
                (None, _) => {
                    FOREIGN_SHARED.contains(&&*text)
                        || text == "prefix/.scrconf"
                        || of_datasets.contains(path)
                        || (found[path].is_none() && empty.contains(path))
                }
            };
            // The rename of an extracted file need not survive a power loss; then its old name is back.
            let power = self.plan.runs.iter().any(|run| run.loss == Loss::Power);
            let extracted = text.contains("/.scr.extract.");
            // A killed extraction leaves one beside the files of its dataset, until that is deleted.
            let beside = path.parent().is_some_and(|dir| of_datasets.contains(dir));
            if !(fine || extracted && (power || beside)) {
                left.push(text.into_owned());
            }
        }
        self.check(Promise::Tidy, left.is_empty(), || {
            format!("in the shared volume: {left:?}")
        });
    }

    /// Checks that a local volume is tidy. `lives`: this process may be replacing a file.
    pub fn check_local_is_tidy(
        &mut self,
        volume: &Volume,
        node: usize,
        lives: impl Fn(ProcessId) -> bool,
    ) {
        let mut found = Content::new();
        walk(volume, Path::new(""), &mut found);
        // A run that is alone on its nodes leaves only what the next one may use.
        let used = self.used.contains(&node);
        let left: Vec<String> = found
            .keys()
            .map(|path| path.to_string_lossy().into_owned())
            .filter(|path| !path.is_empty() && !FOREIGN_LOCAL.contains(&path.as_str()))
            .filter(|path| !used || !self.may_stay_in_cache(path))
            .filter(|path| !writer_of(path).is_some_and(&lives))
            .collect();
        let left = if used { left } else { Vec::new() };
        self.check(Promise::Tidy, left.is_empty(), || {
            format!("in node n{node}: {left:?}")
        });
    }

    fn may_stay_in_cache(&self, path: &str) -> bool {
        let below = path.strip_prefix("second/").unwrap_or(path);
        let Some(below) = below.strip_prefix("user1/scr.1001") else {
            return false;
        };
        let refused = ["scr.trash.", "scr.restart."];
        // What a killed process has left of a record goes with its dataset.
        let of_dataset = below.contains("/scr.dataset.") || below.contains("/scr.quarantine.");
        let temporary = below.contains(".tmp.") && !of_dataset;
        !temporary && !refused.iter().any(|name| below.contains(name))
    }
}

/// The process that writes a temporary file `.<name>.tmp.<pid>.<n>`.
fn writer_of(path: &str) -> Option<ProcessId> {
    let (_, numbers) = path.rsplit_once(".tmp.")?;
    numbers.split_once('.')?.0.parse().ok()
}

/// Entries of `.scr`, with the lock that a killed process has left where there is no `flock`. What a killed process has left of a record that it replaced is never read, and stays.
fn is_record(name: &str) -> bool {
    let records = [
        "index.scr",
        "flush.scr",
        "halt.scr",
        "nodes.scr",
        "identity.scr",
        "identity.2.scr",
        "app.conf",
        "env.conf",
    ];
    let name = temporary_of(name).unwrap_or(name);
    records.contains(&name) || name.starts_with("log") || name.starts_with(LOCK_DIRECTORY)
}
