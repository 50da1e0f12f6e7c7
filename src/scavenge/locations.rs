//! Where the files of a saved dataset are: at their paths in the prefix directory.

use crate::Result;
use crate::format::RankFiles;
use crate::prefix::paths::Prefix;
use crate::redundancy::offline::DataLocation;
use crate::store::Files;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The prefix directory.
pub struct PrefixLocation<'a>(
    /// The paths of the prefix directory.
    pub &'a Prefix,
);

impl DataLocation for PrefixLocation<'_> {
    fn directory(&self, _: usize) -> PathBuf {
        self.0.root().to_path_buf()
    }

    fn check_names(&self, list: &RankFiles) -> Result<()> {
        let mut names = list.files.iter();
        names.try_for_each(|file| self.0.absolute(&file.file).map(drop))
    }

    fn make_dirs(&self, files: &dyn Files, list: &RankFiles) -> Result<()> {
        let mut dirs = parents(list).into_iter();
        dirs.try_for_each(|dir| files.make_dirs(&self.0.root().join(dir)))
    }

    fn sync(&self, files: &dyn Files, list: &RankFiles) -> Result<()> {
        for file in &list.files {
            files.open(&self.0.absolute(&file.file)?)?.sync()?;
        }
        let dirs = parents(list).into_iter();
        let dirs: BTreeSet<PathBuf> = dirs
            .flat_map(|dir| self.0.dirs_from(&self.0.root().join(dir)))
            .collect();
        dirs.iter().try_for_each(|dir| files.sync_dir(dir))
    }
}

/// The directories with files of a rank, relative to the rank's directory.
pub fn parents(list: &RankFiles) -> BTreeSet<&Path> {
    let paths = list.files.iter().map(|file| file.file.as_path());
    paths.filter_map(Path::parent).collect()
}
