//! Files that stay open when they were written, because they are written over later.

use super::File;
use super::mapping::Mapping;
use rustix::fd::OwnedFd;
use rustix::fs::fstat;

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

/// Files that were kept.
#[derive(Default)]
pub struct KeptFiles(Vec<KeptFile>);

impl KeptFiles {
    /// Keeps a file that was written, if that helps.
    pub fn add(&mut self, file: Box<dyn File>) {
        self.0.extend(file.keep());
    }

    /// Hands what was kept over to `file`, which was opened again to write over it.
    pub fn hand_over(&mut self, file: &mut dyn File) {
        let kept = std::mem::take(&mut self.0).into_iter();
        self.0 = kept.filter_map(|kept| file.take_over(kept)).collect();
    }

    /// Gives up the files that have no name any more.
    pub fn drop_removed(&mut self) {
        self.0.retain(|kept| !kept.is_removed());
    }

    /// Gives up all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
