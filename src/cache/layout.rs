//! Paths in a cache directory.
//!
//! ```text
//! <base>/<user>/scr.<job>/scr.run.<run>/scr.dataset.<id>/rank_<r>/<path below the prefix>
//!                                                       /.scr/filemap_<r>
//!                                                       /.scr/<i>_of_<n>_in_<s>.xor
//!                                                       /node.<n>/.scr/...
//!                                                       /files/<path below the prefix>
//!                                      /scr.quarantine.<id>/...
//!                                      /scr.restart.<run>.<n>.<node>/files/<path below the prefix>
//! ```
//!
//! Each run has a directory of its own. The run takes over the datasets of earlier runs by renaming
//! their directory into this one ([`earlier_runs`](mod@super::earlier_runs)). So a process of an
//! earlier run that still lives does not find the paths that it knows, and can neither change nor
//! delete the data of a later run.
//!
//! A file keeps its path, below a directory of its rank. So files of two ranks of a node never have
//! the same path.
//!
//! In a store that all nodes see (`VIEW=GLOBAL`) the records are at a level `node.<n>` below the dataset,
//! so that one directory does not get entries for thousands of ranks. A rank's records stay at their
//! level even if the rank's node has another number in later runs; readers search all levels. The files
//! of all ranks are in one tree, as in the prefix directory, so that several ranks can write one file.
//! The file is in the record of the lowest of these ranks.
//!
//! In a restart on another number of ranks a node keeps its copies of files of the prefix directory in
//! `scr.restart.*` until the restart is complete. The copies are not a dataset: the next run deletes
//! those of a killed run. The name has the run and the number of the restart in it, so the copies of
//! another restart are not mistaken for those of this one.

use crate::format::dataset::HIGHEST;
pub use crate::format::filemap::filemap_name;
use crate::store::CALLS_FILE;
use std::path::{Path, PathBuf};

const RUN: &str = "scr.run.";
const DATASET: &str = "scr.dataset.";
const QUARANTINE: &str = "scr.quarantine.";
const TRASH: &str = "scr.trash.";
const RESTART: &str = "scr.restart.";
const META: &str = ".scr";
const NODE: &str = "node.";
const FILES: &str = "files";

/// The directory of this job in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    base: PathBuf,
    below: PathBuf,
    run: Option<u64>,
    level: Option<usize>,
}

impl Layout {
    /// The layout of `<base>/<user>/scr.<job>`, which all runs of a job share. Paths of datasets
    /// need [`Layout::of_run`].
    pub fn new(base: &Path, user: &str, job: &str) -> Self {
        Layout {
            base: base.to_path_buf(),
            below: Path::new(user).join(format!("scr.{job}")),
            run: None,
            level: None,
        }
    }

    /// This layout for the datasets of one run.
    #[must_use]
    pub fn of_run(&self, run: u64) -> Self {
        Layout {
            run: Some(run),
            ..self.clone()
        }
    }

    /// The run of [`Layout::of_run`].
    pub fn run(&self) -> Option<u64> {
        self.run
    }

    /// This layout with the parts of ranks below `node.<level>`, or without such a level.
    #[must_use]
    pub fn at(&self, level: Option<usize>) -> Self {
        Layout {
            level,
            ..self.clone()
        }
    }

    /// The level of [`Layout::at`].
    pub fn level(&self) -> Option<usize> {
        self.level
    }

    /// The configured base directory, which may belong to any user.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The job's directory relative to the base. This directory and everything below it is private
    /// to the user.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// The job's directory.
    pub fn job(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// The directory of the run, which holds its datasets.
    pub fn root(&self) -> PathBuf {
        self.base.join(self.root_below())
    }

    /// A dataset's directory.
    pub fn dataset(&self, id: u64) -> PathBuf {
        self.root().join(format!("{DATASET}{id}"))
    }

    /// Path of a quarantined dataset.
    pub fn quarantine(&self, id: u64) -> PathBuf {
        self.root().join(format!("{QUARANTINE}{id}"))
    }

    /// Path of a dataset that is being deleted.
    pub fn trash(&self, id: u64) -> PathBuf {
        self.root().join(format!("{TRASH}{id}"))
    }

    /// Directory of the copies of node `node` in the `restart`-th restart of this run, relative to the
    /// base.
    pub fn restart_below(&self, restart: u64, node: usize) -> PathBuf {
        let run = self.run.unwrap_or(0);
        let name = format!("{RESTART}{run:016x}.{restart}.{node}");
        self.root_below().join(name)
    }

    /// Filemaps and redundancy files of this rank's node in a dataset that is being deleted.
    pub fn trash_meta(&self, id: u64) -> PathBuf {
        self.with_level(self.trash(id)).join(META)
    }

    /// Directory of a rank's application files in a dataset that is being deleted.
    pub fn trash_data(&self, id: u64, rank: usize) -> PathBuf {
        let data = self.data(id, rank);
        match data.strip_prefix(self.dataset(id)) {
            Ok(below) => self.trash(id).join(below),
            Err(_) => data,
        }
    }

    /// The directory with the parts of ranks: the dataset's directory, or the level of the node in
    /// it, which has their records only.
    pub fn parts(&self, id: u64) -> PathBuf {
        self.base.join(self.parts_below(id))
    }

    /// Directory of a rank's application files; the directory of all ranks if it [is
    /// common](Layout::is_common).
    pub fn data(&self, id: u64, rank: usize) -> PathBuf {
        self.base.join(self.data_below(id, rank))
    }

    /// True if all ranks have their files in one directory.
    pub fn is_common(&self) -> bool {
        self.level.is_some()
    }

    /// Directory of filemaps and redundancy files.
    pub fn meta(&self, id: u64) -> PathBuf {
        self.parts(id).join(META)
    }

    /// The completion record of a rank.
    pub fn filemap(&self, id: u64, rank: usize) -> PathBuf {
        self.meta(id).join(filemap_name(rank))
    }

    /// [`Layout::data`] relative to the base, as `make_private_dirs` needs it.
    pub fn data_below(&self, id: u64, rank: usize) -> PathBuf {
        if self.is_common() {
            self.dataset_below(id).join(FILES)
        } else {
            self.dataset_below(id).join(rank_dir(rank))
        }
    }

    /// [`Layout::meta`] relative to the base.
    pub fn meta_below(&self, id: u64) -> PathBuf {
        self.parts_below(id).join(META)
    }

    fn root_below(&self) -> PathBuf {
        match self.run {
            None => self.below.clone(),
            Some(run) => self.below.join(format!("{RUN}{run:016x}")),
        }
    }

    fn parts_below(&self, id: u64) -> PathBuf {
        self.with_level(self.dataset_below(id))
    }

    fn dataset_below(&self, id: u64) -> PathBuf {
        self.root_below().join(format!("{DATASET}{id}"))
    }

    fn with_level(&self, dataset: PathBuf) -> PathBuf {
        match self.level {
            None => dataset,
            Some(node) => dataset.join(format!("{NODE}{node}")),
        }
    }
}

/// Name of the directory with a rank's files, relative to the dataset's directory.
pub fn rank_dir(rank: usize) -> String {
    format!("rank_{rank}")
}

/// The rank in a [`rank_dir`].
pub fn rank_of_dir(name: &str) -> Option<usize> {
    numbered(name, "rank_")
}

/// The run that an entry of the job's directory belongs to; `None` if it is not the directory of a
/// run.
pub fn run_of_dir(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(RUN)?;
    let run = u64::from_str_radix(digits, 16).ok();
    run.filter(|run| format!("{run:016x}") == digits)
}

/// True for the name of a file that SCR writes to a job's directory in a cache or in the control
/// directory, besides the files of the transfer daemon.
pub fn is_job_file(name: &str) -> bool {
    let known = |name: &str| {
        matches!(
            name,
            ".scr.run" | ".scr.shared" | CALLS_FILE | "cindex.scrinfo"
        ) || name.starts_with(".scr.reported.")
    };
    known(name) || temporary_of(name).is_some_and(known)
}

/// The name of the file that a temporary file `.<name>.tmp.<pid>.<n>` was to replace.
pub fn temporary_of(name: &str) -> Option<&str> {
    let (name, numbers) = name.strip_prefix('.')?.rsplit_once(".tmp.")?;
    let (process, number) = numbers.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(process) && digits(number)).then_some(name)
}

/// An entry of a run's directory, with the id of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheEntry {
    /// A dataset.
    Dataset(u64),
    /// A quarantined dataset.
    Quarantine(u64),
    /// A dataset that was being deleted.
    Trash(u64),
    /// Copies for the ranks of a node in a restart.
    Restart,
}

/// Parses the name of an entry of a run's directory; `None` if SCR does not use such names.
pub fn cache_entry(name: &str) -> Option<CacheEntry> {
    let id = |prefix| numbered(name, prefix).filter(|id| *id <= HIGHEST);
    let dataset = id(DATASET).map(CacheEntry::Dataset);
    let kept = || id(QUARANTINE).map(CacheEntry::Quarantine);
    let restart = || name.starts_with(RESTART).then_some(CacheEntry::Restart);
    dataset
        .or_else(kept)
        .or_else(|| id(TRASH).map(CacheEntry::Trash))
        .or_else(restart)
}

/// The rank in a [`filemap_name`].
pub fn filemap_rank(name: &str) -> Option<usize> {
    numbered(name, "filemap_")
}

/// The level that an entry of a dataset's directory belongs to: `Some(None)` for `.scr`, which has
/// no level, `Some(Some(n))` for `node.<n>`, `None` for anything else.
pub fn level(name: &str) -> Option<Option<usize>> {
    match name {
        ".scr" => Some(None),
        _ => numbered(name, NODE).map(Some),
    }
}

/// The number after `prefix`, if the name is exactly as SCR writes it.
fn numbered<N: std::str::FromStr + ToString>(name: &str, prefix: &str) -> Option<N> {
    let rest = name.strip_prefix(prefix)?;
    rest.parse().ok().filter(|n: &N| n.to_string() == rest)
}

#[cfg(test)]
mod tests {
    use super::{
        CacheEntry, Layout, cache_entry, filemap_rank, is_job_file, level, rank_dir, rank_of_dir,
        run_of_dir,
    };
    use std::path::Path;

    #[test]
    fn names_and_back() {
        let layout = Layout::new(Path::new("/dev/shm"), "user1", "1001");
        assert_eq!(layout.job(), Path::new("/dev/shm/user1/scr.1001"));
        let layout = layout.of_run(0xab);
        assert_eq!(layout.job(), Path::new("/dev/shm/user1/scr.1001"));
        assert_eq!(
            layout.root(),
            Path::new("/dev/shm/user1/scr.1001/scr.run.00000000000000ab")
        );
        assert_eq!(layout.dataset(3), layout.root().join("scr.dataset.3"));
        assert_eq!(layout.trash(3), layout.root().join("scr.trash.3"));
        assert_eq!(
            layout.base().join(layout.data_below(3, 2)),
            layout.data(3, 2)
        );
        assert_eq!(layout.base().join(layout.meta_below(3)), layout.meta(3));
        assert_eq!(cache_entry("scr.dataset.17"), Some(CacheEntry::Dataset(17)));
        let restart = layout.base().join(layout.restart_below(2, 7));
        assert_eq!(
            restart,
            layout.root().join("scr.restart.00000000000000ab.2.7")
        );
        let name = restart.file_name().and_then(|name| name.to_str());
        assert_eq!(name.and_then(cache_entry), Some(CacheEntry::Restart));
        assert_eq!(
            cache_entry("scr.quarantine.4"),
            Some(CacheEntry::Quarantine(4))
        );
        for odd in [
            "scr.dataset.",
            "scr.dataset.-1",
            "scr.dataset.01",
            "scr.dataset.1x",
            "scr.dataset.2147483648",
            "scr.quarantine.18446744073709551615",
            "x",
        ] {
            assert_eq!(cache_entry(odd), None, "{odd}");
        }
        let spread = layout.at(Some(2));
        assert_eq!(spread.dataset(3), layout.dataset(3));
        assert_eq!(
            spread.filemap(3, 7),
            layout.root().join("scr.dataset.3/node.2/.scr/filemap_7")
        );
        assert_eq!(
            spread.base().join(spread.data_below(3, 7)),
            spread.data(3, 7)
        );
        assert_eq!(spread.data(3, 7), layout.root().join("scr.dataset.3/files"));
        assert_eq!(spread.at(None), layout);
        assert_eq!(run_of_dir("scr.run.00000000000000ab"), Some(0xab));
        for odd in [
            "scr.run.",
            "scr.run.ab",
            "scr.run.00000000000000AB",
            "scr.run",
        ] {
            assert_eq!(run_of_dir(odd), None, "{odd}");
        }
        assert_eq!(level(".scr"), Some(None));
        assert_eq!(level("node.12"), Some(Some(12)));
        for odd in ["node.", "node.01", "node.x", "rank_0", ""] {
            assert_eq!(level(odd), None, "{odd}");
        }
        for ours in [
            ".scr.run",
            "..scr.run.tmp.12.0",
            ".scr.calls",
            "cindex.scrinfo",
        ] {
            assert!(is_job_file(ours), "{ours}");
        }
        for foreign in [
            ".scr",
            "scr.run",
            ".x.tmp.1.2",
            "..scr.run.tmp.1",
            "..scr.run.tmp.1.x",
            "..scr.run.tmp.x.1",
            ".scr.run.tmp.1.2",
        ] {
            assert!(!is_job_file(foreign), "{foreign}");
        }
        assert_eq!(filemap_rank("filemap_12"), Some(12));
        assert_eq!(rank_of_dir(&rank_dir(12)), Some(12));
        for odd in ["filemap_", "filemap_01", "filemap_+1"] {
            assert_eq!(filemap_rank(odd), None, "{odd}");
        }
    }
}
