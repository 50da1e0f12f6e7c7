//! Where things are in a cache directory.
//!
//! ```text
//! <base>/<user>/scr.<job>/scr.dataset.<id>/rank_<r>/<path below the prefix>
//!                                         /.scr/filemap_<r>
//!                                         /.scr/<i>_of_<n>_in_<s>.xor
//!                        /scr.quarantine.<id>/...
//! ```
//!
//! A file keeps its path below a directory of its rank, so that no two files of a node can
//! meet, whatever their names.

use std::path::{Path, PathBuf};

const DATASET: &str = "scr.dataset.";
const QUARANTINE: &str = "scr.quarantine.";
const TRASH: &str = "scr.trash.";

/// One store's directory for this job on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    base: PathBuf,
    below: PathBuf,
}

impl Layout {
    /// `<base>/<user>/scr.<job>`.
    pub fn new(base: &Path, user: &str, job: &str) -> Self {
        Layout {
            base: base.to_path_buf(),
            below: Path::new(user).join(format!("scr.{job}")),
        }
    }

    /// The configured base directory, which may belong to anyone.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The job's directory relative to the base; it and all below it are ours alone.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// The job's directory.
    pub fn job(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// A dataset's directory.
    pub fn dataset(&self, id: u64) -> PathBuf {
        self.job().join(format!("{DATASET}{id}"))
    }

    /// Where a dataset goes that turned out to be unusable.
    pub fn quarantine(&self, id: u64) -> PathBuf {
        self.job().join(format!("{QUARANTINE}{id}"))
    }

    /// Where a dataset goes on its way out.
    pub fn trash(&self, id: u64) -> PathBuf {
        self.job().join(format!("{TRASH}{id}"))
    }

    /// A rank's application files.
    pub fn data(&self, id: u64, rank: usize) -> PathBuf {
        self.dataset(id).join(rank_dir(rank))
    }

    /// Filemaps and redundancy files.
    pub fn meta(&self, id: u64) -> PathBuf {
        self.dataset(id).join(".scr")
    }

    /// The completion record of a rank.
    pub fn filemap(&self, id: u64, rank: usize) -> PathBuf {
        self.meta(id).join(filemap_name(rank))
    }

    /// The same directory relative to the base, for making it privately.
    pub fn data_below(&self, id: u64, rank: usize) -> PathBuf {
        self.below
            .join(format!("{DATASET}{id}"))
            .join(rank_dir(rank))
    }

    /// See [`Layout::data_below`].
    pub fn meta_below(&self, id: u64) -> PathBuf {
        self.below.join(format!("{DATASET}{id}")).join(".scr")
    }
}

/// Name of the directory with a rank's files, in that of the dataset.
pub fn rank_dir(rank: usize) -> String {
    format!("rank_{rank}")
}

/// Name of a rank's completion record.
pub fn filemap_name(rank: usize) -> String {
    format!("filemap_{rank}")
}

/// What an entry of the job's directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A dataset.
    Dataset(u64),
    /// A quarantined one.
    Quarantine(u64),
    /// One that was being deleted.
    Trash(u64),
}

/// Reads the name of an entry of the job's directory; `None` for what is not ours.
pub fn place(name: &str) -> Option<Place> {
    let id = |rest: &str| rest.parse().ok().filter(|id: &u64| id.to_string() == rest);
    if let Some(rest) = name.strip_prefix(DATASET) {
        return id(rest).map(Place::Dataset);
    }
    if let Some(rest) = name.strip_prefix(QUARANTINE) {
        return id(rest).map(Place::Quarantine);
    }
    name.strip_prefix(TRASH).and_then(id).map(Place::Trash)
}

/// The rank in a [`filemap_name`].
pub fn filemap_rank(name: &str) -> Option<usize> {
    let rest = name.strip_prefix("filemap_")?;
    rest.parse()
        .ok()
        .filter(|rank: &usize| rank.to_string() == rest)
}

#[cfg(test)]
mod tests {
    use super::{Layout, Place, filemap_rank, place};
    use std::path::Path;

    #[test]
    fn names_and_back() {
        let layout = Layout::new(Path::new("/dev/shm"), "user1", "1001");
        assert_eq!(
            layout.dataset(3),
            Path::new("/dev/shm/user1/scr.1001/scr.dataset.3")
        );
        assert_eq!(
            layout.base().join(layout.data_below(3, 2)),
            layout.data(3, 2)
        );
        assert_eq!(layout.base().join(layout.meta_below(3)), layout.meta(3));
        assert_eq!(place("scr.dataset.17"), Some(Place::Dataset(17)));
        assert_eq!(place("scr.quarantine.4"), Some(Place::Quarantine(4)));
        for odd in [
            "scr.dataset.",
            "scr.dataset.-1",
            "scr.dataset.01",
            "scr.dataset.1x",
            "x",
        ] {
            assert_eq!(place(odd), None, "{odd}");
        }
        assert_eq!(filemap_rank("filemap_12"), Some(12));
        for odd in ["filemap_", "filemap_01", "filemap_+1"] {
            assert_eq!(filemap_rank(odd), None, "{odd}");
        }
    }
}
