//! What a session knows of the datasets in its cache.

use crate::Result;
use crate::cache::plan::Slot;
use crate::format::filemap::Filemap;
use crate::format::{Dataset, Name};
use crate::prefix::paths::seen_by_program;
use crate::store::Files;
use std::path::{Path, PathBuf};

/// A dataset that counts against the cache size.
#[derive(Debug, Clone)]
pub struct Cached {
    /// Index of its store.
    pub store: usize,
    /// What it is.
    pub dataset: Dataset,
    /// Its data went straight to the prefix; nothing of it is in the store.
    pub bypass: bool,
    /// It is complete in the prefix too.
    pub in_prefix: bool,
    /// The user has dropped it from the index: it is not to be flushed again, and no restart would
    /// find it in the prefix.
    pub dropped: bool,
    /// How many failure groups may be lost without it, whichever they are.
    pub tolerates: usize,
    /// The level of nodes below which this rank's part lies.
    pub level: Option<usize>,
    /// To leaders: bytes in the store on this node, if they are known.
    pub bytes: Option<u64>,
    /// This rank's record; `None` for a dataset of an earlier run that nobody has asked for.
    pub filemap: Option<Filemap>,
}

impl Cached {
    /// Where it is.
    pub fn slot(&self) -> Slot {
        Slot {
            store: self.store,
            id: self.dataset.id,
        }
    }
}

/// The checkpoint that is offered for a restart: this rank's part of it.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is.
    pub dataset: Dataset,
    /// Directory below which the files lie: the rank's own in the cache, or the prefix.
    pub root: PathBuf,
    /// It is read where it lies in the prefix.
    pub bypass: bool,
    /// Paths relative to the prefix.
    pub files: Vec<PathBuf>,
}

impl Part {
    /// An error if the program cannot open this file of it. Local.
    pub fn look(&self, files: &dyn Files, path: &Path) -> Result<()> {
        let open = |path: &Path| files.open(path).map(drop);
        match self.bypass {
            true => seen_by_program(files, path, open),
            false => open(path),
        }
    }

    /// The file that the program means by `relative`; by its last component alone, as the
    /// classic interface allowed, if the path as a whole is not known and the name is
    /// unique.
    pub fn find(&self, relative: &Path) -> Option<&Path> {
        if let Some(file) = self.files.iter().find(|file| *file == relative) {
            return Some(file);
        }
        let name = relative.file_name()?;
        let mut alike = self
            .files
            .iter()
            .filter(|file| file.file_name() == Some(name));
        match (alike.next(), alike.next()) {
            (Some(file), None) => Some(file),
            _ => None,
        }
    }
}

/// The paths of a record's files.
pub fn paths(filemap: &Filemap) -> Vec<PathBuf> {
    filemap
        .files
        .files
        .iter()
        .map(|file| file.file.as_path().to_path_buf())
        .collect()
}

/// "dataset 3 (ck.3)".
pub fn title(dataset: &Dataset) -> String {
    titled(dataset.id, &dataset.name)
}

/// The same from its parts.
pub fn titled(id: u64, name: &Name) -> String {
    format!("dataset {id} ({name})")
}
