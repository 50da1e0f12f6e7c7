//! Looks for obstacles that would stop the flush of a dataset to the prefix directory. A dataset in a cache is
//! flushed later, perhaps at the end of the run. So an obstacle is reported when the dataset is completed, while
//! the user can still remove it.

use crate::messages::NO_WAY;
use crate::policy::flush;
use crate::session::datasets::cached::title;
use crate::session::datasets::location::Location;
use crate::session::output::OpenDataset;
use crate::session::output::shared_names::form;
use crate::session::run::Run;
use crate::store::FileKind;
use crate::text::bytes;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// A rank remembers about this many forms of directories. If there are more, it forgets all of them.
const MOST: usize = 1000;

/// Number of files of a dataset that are looked at, besides their directories.
const FILES: usize = 4;

/// The directories that were looked at, by their forms: names that differ only in numbers have the same
/// form.
#[derive(Default)]
pub(in crate::session) struct Ways {
    looked: BTreeSet<u64>,
    /// Rank 0 has compared the size of a dataset with the free space.
    compared: bool,
}

impl Ways {
    /// The obstacle for this rank's files. Only directories that are new are looked at. If the program waits
    /// for the flush now, the flush reports the obstacle itself. Local.
    pub fn obstacle(&mut self, run: &Run, open: &OpenDataset) -> Option<Error> {
        let dataset = &open.dataset;
        let due = flush::due(dataset.ckpt, dataset.flag_output, run.settings.flush);
        let waits = due && !run.settings.flush_async;
        let in_cache = matches!(open.target.location, Location::Cache(_));
        if !in_cache || waits || run.settings.use_containers {
            return None;
        }
        if self.looked.len() > MOST {
            self.looked.clear();
        }
        // A rank may have very many files, in few directories.
        let mut left = 0;
        for name in open.files.keys() {
            let dir = name.parent().unwrap_or(Path::new(""));
            if self.looked.insert(form(dir)) {
                left = FILES;
                if let Err(error) = look_at_dir(run, dir) {
                    return Some(error);
                }
            }
            if left > 0 {
                left -= 1;
                if let Err(error) = look_at_file(run, name) {
                    return Some(error);
                }
            }
        }
        None
    }

    /// Tells on rank 0, once in a run, how much room the file system of the prefix directory lacks for a dataset with a
    /// known size. Local.
    pub fn lack_of_room(&mut self, run: &Run, open: &OpenDataset) -> Option<String> {
        let in_cache = matches!(open.target.location, Location::Cache(_));
        if run.rank() != 0 || !in_cache || std::mem::replace(&mut self.compared, true) {
            return None;
        }
        let size = open.dataset.size?;
        let space = run.files.space(run.prefix.root()).ok()?;
        let lacks = space.total > 0 && space.free < size;
        lacks.then(|| {
            format!(
                "{} has {} free, and the dataset has {}",
                run.prefix.root().display(),
                bytes(space.free),
                bytes(size)
            )
        })
    }
}

/// The warning about an obstacle for a dataset.
pub(in crate::session) fn warning(open: &OpenDataset, cause: impl std::fmt::Display) -> String {
    format!(
        "{} cannot be saved in the prefix directory as it is now: {cause}; it is in the cache, and a flush fails until \
         that is mended ({NO_WAY})",
        title(&open.dataset)
    )
}

/// Looks at a directory in the prefix directory, or at the part of its path that exists. Local.
fn look_at_dir(run: &Run, dir: &Path) -> Result<()> {
    let mut there = run.prefix.root().to_path_buf();
    for name in dir.components() {
        let next = there.join(name);
        match run.files.stat(&next) {
            Ok(Some(stat)) => {
                there = next;
                if stat.kind != FileKind::Directory {
                    break;
                }
            }
            // A flush makes the directory.
            Ok(None) | Err(_) => break,
        }
    }
    match run.files.may_add(&there) {
        Err(error) if is_lasting(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Looks at the path of a file. Local.
fn look_at_file(run: &Run, name: &Path) -> Result<()> {
    let path = run.prefix.root().join(name);
    match run.files.stat(&path) {
        Ok(Some(stat)) if stat.kind != FileKind::File => run.files.open(&path).map(drop),
        _ => Ok(()),
    }
}

/// True for errors of the path and of its permissions. Other errors may be gone when the flush
/// begins.
fn is_lasting(error: &Error) -> bool {
    let lasting = [
        libc::ELOOP,
        libc::ENOTDIR,
        libc::EACCES,
        libc::EPERM,
        libc::EROFS,
    ];
    error.errno().is_some_and(|errno| lasting.contains(&errno))
}
