//! Files that stay open when they were written, because they are written over later.

use super::File;
use crate::system::sync::{Mutex, MutexGuard};
use std::any::Any;
use std::sync::{Arc, PoisonError};

/// What a file system keeps of an open file.
pub trait Kept: Any + Send {
    /// True if the file has no name any more, so that only this holds its space. A program may have removed it.
    fn is_removed(&self) -> bool;
    /// True if it is mapped, as it has been written over before.
    fn is_mapped(&self) -> bool;
}

/// An open file that was kept, of any file system.
pub struct KeptFile(Box<dyn Kept>);

impl KeptFile {
    /// A file system has kept this.
    pub fn new(kept: impl Kept) -> Self {
        KeptFile(Box::new(kept))
    }

    /// What was kept, if it is of this type, which a file system has for its own.
    pub fn get<T: Kept>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Likewise, to go on with it.
    pub fn into_kept<T: Kept>(self) -> Option<T> {
        let kept: Box<dyn Any> = self.0;
        kept.downcast().ok().map(|kept| *kept)
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
        self.hand_over_if(file, |kept| kept.0.is_mapped())
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
        self.lock().retain(|kept| !kept.0.is_removed());
    }

    /// Gives up all.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KeptFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
