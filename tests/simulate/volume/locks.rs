//! The locks of processes on files and directories.

use super::Ino;
use std::collections::BTreeMap;

/// Who has a lock.
#[derive(Debug, Clone)]
enum Held {
    Alone,
    /// That many.
    Shared(usize),
}

/// All locks of a volume.
#[derive(Debug, Clone, Default)]
pub struct Locks(BTreeMap<Ino, Held>);

impl Locks {
    /// Takes a lock; false if somebody else has it.
    pub fn take(&mut self, ino: Ino, shared: bool) -> bool {
        match (self.0.get_mut(&ino), shared) {
            (None, true) => self.0.insert(ino, Held::Shared(1)),
            (None, false) => self.0.insert(ino, Held::Alone),
            (Some(Held::Shared(holders)), true) => {
                *holders += 1;
                None
            }
            (Some(_), _) => return false,
        };
        true
    }

    /// Gives a lock back.
    pub fn release(&mut self, ino: Ino) {
        match self.0.get_mut(&ino) {
            Some(Held::Shared(holders)) if *holders > 1 => *holders -= 1,
            _ => drop(self.0.remove(&ino)),
        }
    }

    /// Forgets all, as when the machine of the file system has stopped.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
