//! Operations that wait for another one.

use crate::system::sync::{Condvar, Mutex, MutexGuard};
use std::path::Path;
use std::sync::PoisonError;

/// Paths whose operations wait.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// Parts of the paths that are held, and of the path that releases them.
    paths: Mutex<Option<(String, String)>>,
    changed: Condvar,
}

impl Hold {
    /// See [`Faults::hold`](super::Faults::hold).
    pub fn set(&self, held: &str, until: &str) {
        *self.paths() = Some((held.to_string(), until.to_string()));
    }

    /// Lets all go on.
    pub fn release(&self) {
        self.paths().take();
        self.changed.notify_all();
    }

    /// An operation begins at `path`.
    pub fn pass(&self, path: &Path) {
        let path = path.to_string_lossy();
        let mut paths = self.paths();
        if paths
            .take_if(|(_, until)| path.contains(&**until))
            .is_some()
        {
            self.changed.notify_all();
        }
        while paths
            .as_ref()
            .is_some_and(|(held, _)| path.contains(&**held))
        {
            let waited = self.changed.wait(paths);
            paths = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn paths(&self) -> MutexGuard<'_, Option<(String, String)>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
