//! `SCR_Route_file`: the path at which the program must access a file.

use crate::config::fold_dots;
use crate::format::Name;
use crate::prefix::paths::{MAX_FILENAME, dir_of_program};
use crate::session::Session;
use crate::session::datasets::location::Location;
use crate::session::datasets::other_ranks::OtherRanks;
use crate::session::output::OpenDataset;
use crate::session::run::Run;
use crate::session::state::{Call, State};
use crate::store::File;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The longest name in a directory, bytes (`NAME_MAX`).
const MAX_COMPONENT: usize = 255;

impl Session {
    /// The path at which the program must access a file (`SCR_Route_file`). Local.
    ///
    /// While a dataset is written, the file becomes part of the dataset, and its directory is made.
    /// While a checkpoint is read, the file must exist. Outside of these phases the path is `name`.
    ///
    /// # Errors
    /// The start of this phase has failed, the file is not one of the checkpoint that is read, or
    /// the path is too long or not below the prefix directory.
    pub fn route(&mut self, name: &Path) -> Result<PathBuf> {
        let call = Call::RouteFile.name();
        if self.state.allow(Call::RouteFile)?.failed() {
            return Err(Error::NotStarted { call });
        }
        if name.as_os_str().is_empty() {
            return Err(Error::usage(call, "the name is empty"));
        }
        let (run, cwd) = (&self.run, &self.cwd);
        let path = match (&mut self.open, self.search.offer.files()) {
            (Some(open), _) => open.route(run, cwd, &self.other_ranks, name)?,
            (None, Some(offered)) if self.state == State::Restart => {
                self.reading.route(run, cwd, offered, name)?
            }
            _ => name.to_path_buf(),
        };
        let length = path.as_os_str().len();
        if length >= MAX_FILENAME {
            return Err(Error::usage(
                call,
                format!(
                    "{} has {length} bytes, at most {} fit; use shorter names, or a shorter \
                     SCR_CACHE_BASE",
                    path.display(),
                    MAX_FILENAME - 1
                ),
            ));
        }
        Ok(path)
    }

    /// Moves a file of this rank from a dataset that was evicted for the open one to `path`, so that the program writes
    /// over it. Local. Call this before any other rank can have completed the open dataset.
    pub fn reuse_file(&mut self, name_in: impl Fn(&Name) -> PathBuf, path: &Path) {
        if let Some(open) = &mut self.open {
            open.reuse_file(&self.run, &self.cwd, name_in, path);
        }
    }

    /// Lets `file`, which was opened to write over [`Session::reuse_file`], use what was kept open of it. Local.
    pub fn use_kept(&mut self, file: &mut dyn File) {
        self.fields.kept.hand_over(file);
    }

    /// The library has written the file `name` of the open dataset, and knows its checksum. In the cache that is
    /// recorded, so no thread reads the file for it. The file is kept open if a later dataset is written over it. Local.
    pub fn library_wrote(&mut self, name: &Path, crc: u32, file: Box<dyn File>) {
        let path = self.in_prefix(name);
        let Some(open) = self
            .open
            .as_mut()
            .filter(|o| !o.target.location.is_bypass())
        else {
            return;
        };
        if let Ok(relative) = self.run.prefix.relative(&path, &self.cwd) {
            open.checksums.insert(relative, crc);
        }
        if self.run.settings.cache_mapped {
            self.fields.kept.add(file);
        }
    }
}

/// Checks that a dataset can have a file of this name, relative to the prefix directory, before it is started. Local.
pub(super) fn check_file(run: &Run, id: u64, location: Location, name: &Path) -> Result<()> {
    let call = Call::Checkpoint.name();
    let root = run.prefix.root();
    let relative = run.prefix.relative(&root.join(name), root)?;
    check_lengths(call, &relative)?;
    let path = location.root(run, id).join(&relative);
    let length = path.as_os_str().len();
    if length < MAX_FILENAME {
        return Ok(());
    }
    let what = format!(
        "{} has {length} bytes, at most {} fit; use a shorter name",
        path.display(),
        MAX_FILENAME - 1
    );
    Err(Error::usage(call, what))
}

impl OpenDataset {
    /// The path of a file that the program writes, which becomes part of the dataset. Local.
    fn route(
        &mut self,
        run: &Run,
        cwd: &Path,
        other_ranks: &OtherRanks,
        name: &Path,
    ) -> Result<PathBuf> {
        let relative = run.prefix.relative(name, cwd)?;
        let (id, location) = (self.dataset.id, self.target.location);
        let path = match location {
            Location::Bypass(_) => fold_dots(&cwd.join(name)),
            Location::Cache(_) => location.root(run, id).join(&relative),
        };
        if path.as_os_str().len() >= MAX_FILENAME || self.files.contains_key(&relative) {
            return Ok(path);
        }
        if location.is_bypass() {
            other_ranks.check_path(run, &relative)?;
        }
        self.make_directory(run, relative.parent().unwrap_or(Path::new("")))?;
        self.files.insert(relative, Name::from(name));
        Ok(path)
    }

    /// Makes a directory for files, with this path relative to the prefix directory, once. Local.
    fn make_directory(&mut self, run: &Run, parent: &Path) -> Result<()> {
        if self.directories.contains(parent) {
            return Ok(());
        }
        match self.target.location {
            Location::Bypass(_) => {
                let (files, dir) = (&*run.files, run.prefix.root().join(parent));
                dir_of_program(files, &dir, |dir| files.make_dirs(dir))?;
            }
            Location::Cache(_) if parent.as_os_str().is_empty() => {}
            Location::Cache(store) => {
                let layout = &run.stores[store].layout;
                let below = layout.data_below(self.dataset.id, run.rank()).join(parent);
                run.files.make_private_dirs(layout.base(), &below)?;
            }
        }
        self.directories.insert(parent.to_path_buf());
        Ok(())
    }
}

/// Checks that no component of a path is longer than file systems allow.
pub fn check_lengths(call: &'static str, path: &Path) -> Result<()> {
    match path.iter().find(|part| part.len() > MAX_COMPONENT) {
        None => Ok(()),
        Some(part) => {
            let what = format!(
                "\"{}\" has {} bytes, and a name in a directory at most {MAX_COMPONENT}; use a shorter one",
                part.display(),
                part.len()
            );
            Err(Error::usage(call, what))
        }
    }
}
