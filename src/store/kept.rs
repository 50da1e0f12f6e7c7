//! Files that stay open when they were written, because they are written over later.

use super::File;
use super::mapping::Mapping;
use crate::system::sync::{Mutex, MutexGuard};
use rustix::fd::OwnedFd;
use rustix::fs::fstat;
use std::sync::{Arc, PoisonError};

/// An open file, and its mapping if it has been written over before.
pub struct KeptFile {
    pub(super) fd: OwnedFd,
    pub(super) mapping: Option<Mapping>,
}

impl KeptFile {
    /// True if it has no name any more, so that only this holds its space. A program may have removed it.
    fn is_removed(&self) -> bool {
        !fstat(&self.fd).is_ok_and(|stat| stat.st_nlink > 0)
    }
}

/// Files that were kept. Clones share them.
#[derive(Clone, Default)]
pub struct KeptFiles(Arc<Mutex<Vec<KeptFile>>>);

impl KeptFiles {
    /// Keeps a file that was written, if that helps.
    pub fn add(&self, file: Box<dyn File>) {
        let kept = file.keep();
        self.lock().extend(kept);
    }

    /// Hands what was kept over to `file`, which was opened again to write over it.
    pub fn hand_over(&self, file: &mut dyn File) {
        self.hand_over_if(file, |_| true);
    }

    /// Hands what was kept over to `file`, which was opened to be read. Only if it is mapped already, and returns whether it
    /// is: to map it would take as long as to read it.
    pub(super) fn hand_over_mapped(&self, file: &mut dyn File) -> bool {
        self.hand_over_if(file, |kept| kept.mapping.is_some())
    }

    fn hand_over_if(&self, file: &mut dyn File, wanted: impl Fn(&KeptFile) -> bool) -> bool {
        let mut all = self.lock();
        let before = all.len();
        let kept = std::mem::take(&mut *all).into_iter();
        let left = kept.filter_map(|kept| {
            if wanted(&kept) {
                file.take_over(kept)
            } else {
                Some(kept)
            }
        });
        *all = left.collect();
        all.len() < before
    }

    /// Gives up the files that have no name any more.
    pub fn drop_removed(&self) {
        self.lock().retain(|kept| !kept.is_removed());
    }

    /// Gives up all.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KeptFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
