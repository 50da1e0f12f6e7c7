//! A rank's files of the checkpoint that is offered for a restart, found by the names that the program gives.

use crate::Result;
use crate::format::Dataset;
use crate::prefix::paths::seen_by_program;
use crate::session::datasets::location::Writers;
use crate::store::Files;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// This rank's files of the checkpoint that is offered for a restart.
#[derive(Debug, Clone)]
pub(in crate::session) struct RestartFiles {
    pub dataset: Dataset,
    pub writers: Writers,
    /// Directory below which the files lie: this rank's own in the cache, or the prefix directory.
    pub root: PathBuf,
    /// The files are read in the prefix directory.
    pub bypass: bool,
    /// The files of other ranks are below `root`, too.
    pub common: bool,
    /// Paths relative to `root`. Empty if another number of ranks wrote them.
    pub files: Vec<PathBuf>,
    /// The places of paths in `files`; made with the first search.
    pub places: OnceCell<Places>,
}

/// The place of each path in a list.
#[derive(Debug, Clone)]
pub(in crate::session) struct Places {
    by_path: HashMap<PathBuf, usize>,
    /// Keyed by the last component; `None` if several paths have it.
    by_name: HashMap<OsString, Option<usize>>,
}

impl Places {
    fn of(paths: &[PathBuf]) -> Self {
        let mut places = Places {
            by_path: HashMap::with_capacity(paths.len()),
            by_name: HashMap::with_capacity(paths.len()),
        };
        for (place, path) in paths.iter().enumerate() {
            places.by_path.insert(path.clone(), place);
            if let Some(name) = path.file_name() {
                let several = places.by_name.contains_key(name);
                let place = (!several).then_some(place);
                places.by_name.insert(name.to_os_string(), place);
            }
        }
        places
    }
}

impl RestartFiles {
    /// Fails if the program cannot open this file. Local.
    pub fn check(&self, files: &dyn Files, path: &Path) -> Result<()> {
        let open = |path: &Path| files.open(path).map(drop);
        if self.bypass {
            seen_by_program(files, path, open)
        } else {
            open(path)
        }
    }

    /// The file that the program calls `relative`. If no file has this path, the last component
    /// decides, provided that it is unique: the classic interface of SCR allowed that.
    pub fn find(&self, relative: &Path) -> Option<&Path> {
        let places = self.places.get_or_init(|| Places::of(&self.files));
        let place = match places.by_path.get(relative) {
            Some(place) => Some(*place),
            None => *places.by_name.get(relative.file_name()?)?,
        };
        self.files.get(place?).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_path_or_by_a_unique_last_component() {
        let paths = ["d/a", "e/a", "d/b", "a"].map(PathBuf::from);
        let files = RestartFiles {
            dataset: Dataset::default(),
            writers: Writers::AsManyAsNow,
            root: PathBuf::new(),
            bypass: false,
            common: false,
            files: paths.to_vec(),
            places: OnceCell::new(),
        };
        let found = |path: &str| files.find(Path::new(path));
        assert_eq!(found("e/a"), Some(Path::new("e/a")));
        assert_eq!(found("a"), Some(Path::new("a")));
        assert_eq!(found("other/b"), Some(Path::new("d/b")));
        assert_eq!(found("other/a"), None, "three files have this name");
        assert_eq!(found("c"), None);
    }
}
