//! The checkpoint that the program reads: this rank's part of it, and the paths of its files.

use crate::messages::FILE_OF_OTHER_RANK;
use crate::session::datasets::cached::title;
use crate::session::datasets::location::Writers;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::restart::node_copies::{FileToCopy, NodeCopies};
use crate::session::restart::read_files::ReadFiles;
use crate::session::restart::restart_list::RestartLists;
use crate::session::run::Run;
use crate::session::state::Call;
use crate::store::retry;
use crate::system::time::Instant;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// This rank's part of the checkpoint that is being read.
#[derive(Default)]
pub(in crate::session) struct Reading {
    /// The lists of the checkpoint's files.
    pub(super) lists: RestartLists,
    /// The files that this node has copied to its cache, if another number of ranks wrote the checkpoint.
    pub(super) node_copies: NodeCopies,
    /// The files as they were when the restart began.
    pub(super) files: ReadFiles,
    /// An error of the system in a call of the open restart: it is no sign that the checkpoint is bad.
    pub(super) trouble: Option<Error>,
    /// The time since which the checkpoint is read.
    pub(super) begun: Option<Instant>,
}

impl Reading {
    /// A restart from `offered` begins. Local.
    pub fn begin(&mut self, run: &Run, offered: &RestartFiles) {
        self.lists.forget();
        self.trouble = None;
        self.node_copies.begin(run, offered);
        self.files.begin(&*run.files, offered);
        self.begun = Some(Instant::now());
    }

    /// Keeps the first error of the system. Local.
    fn note_trouble<T>(&mut self, done: Result<T>) -> Result<T> {
        if let Err(error) = &done
            && error.is_transient()
        {
            self.trouble.get_or_insert_with(|| error.clone());
        }
        done
    }

    /// The files that rank `rank` of the run that wrote it has written. Local.
    pub fn files_of(
        &mut self,
        run: &Run,
        offered: &RestartFiles,
        call: Call,
        rank: u64,
    ) -> Result<&[PathBuf]> {
        let read = self.lists.read(run, offered, call, rank);
        self.note_trouble(read)?;
        Ok(self.lists.last())
    }

    /// The path at which the program reads a file: in the cache, in the prefix directory, or a copy for this node.
    /// Local.
    pub fn route(
        &mut self,
        run: &Run,
        cwd: &Path,
        offered: &RestartFiles,
        name: &Path,
    ) -> Result<PathBuf> {
        let path = match offered.writers {
            Writers::AsManyAsNow => route_own(run, cwd, offered, name),
            Writers::Others(_) => self.route_any(run, cwd, offered, name),
        };
        let path = self.note_trouble(path)?;
        self.files.add(&*run.files, offered, &path);
        Ok(path)
    }

    /// [`Reading::route`] for a checkpoint that another number of ranks wrote.
    fn route_any(
        &mut self,
        run: &Run,
        cwd: &Path,
        offered: &RestartFiles,
        name: &Path,
    ) -> Result<PathBuf> {
        let relative = run.prefix.relative(name, cwd)?;
        let lists = self.lists.in_prefix(run, offered)?;
        // A leaf that was read is kept, so the second search reads no file.
        retry(|| lists.find(&*run.files, &relative).map(drop))?;
        let Some((writer, recorded)) = lists.find(&*run.files, &relative)? else {
            return Err(Error::usage(
                Call::RouteFile.name(),
                format!(
                    "{} is not a file of {}, which {} ranks wrote; SCR_Restart_file lists its files",
                    relative.display(),
                    title(&offered.dataset),
                    offered.writers.count(run)
                ),
            ));
        };
        let wanted = FileToCopy {
            root: &offered.root,
            relative: &relative,
            writer,
            recorded,
        };
        if let Some(copy) = self.node_copies.path_of(run, offered, &wanted)? {
            return Ok(copy);
        }
        if let Some(error) = self.node_copies.take_trouble() {
            // The program may be able to read a file that this rank could not copy.
            self.trouble.get_or_insert(error);
        }
        let path = offered.root.join(relative);
        retry(|| offered.check(&*run.files, &path))?;
        Ok(path)
    }
}

/// The path at which the program reads a file of the offered checkpoint, which as many ranks wrote
/// as this run has. Local.
fn route_own(run: &Run, cwd: &Path, offered: &RestartFiles, name: &Path) -> Result<PathBuf> {
    let files = &*run.files;
    let relative = run.prefix.relative(name, cwd);
    // A rank may read every file that is there, also one of another rank; the exact path comes
    // before a file of this rank with the same last component.
    if offered.common
        && let Ok(relative) = &relative
    {
        let path = offered.root.join(relative);
        match retry(|| offered.check(files, &path)) {
            Ok(()) => return Ok(path),
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => {}
        }
    }
    let found = match &relative {
        Ok(relative) => offered.find(relative),
        Err(_) => offered.find(name),
    };
    let path = match (found, &relative) {
        (Some(file), _) => offered.root.join(file),
        (None, Ok(relative)) => {
            return Err(Error::usage(
                Call::RouteFile.name(),
                format!(
                    "{} is not a file of rank {} in {}; use the name with which that rank has \
                     written it{} ({FILE_OF_OTHER_RANK})",
                    relative.display(),
                    run.rank(),
                    title(&offered.dataset),
                    if offered.bypass {
                        ""
                    } else {
                        ", or set SCR_GLOBAL_RESTART=1 to read files of other ranks"
                    }
                ),
            ));
        }
        (None, Err(error)) => return Err(error.clone()),
    };
    retry(|| offered.check(files, &path))?;
    Ok(path)
}
