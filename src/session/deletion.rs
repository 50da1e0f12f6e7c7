//! Deletion of cached datasets in background threads, at a lower priority than the program.

use crate::cache::dataset;
use crate::cache::layout::Layout;
use crate::store::Files;
use crate::store::block_signals::BlockedSignals;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The nice value of a deleting thread: it gets a tenth of a busy processor.
const NICE: i32 = 10;

/// Datasets whose directories were renamed out of the way, and the threads that delete them.
#[derive(Default)]
pub(super) struct BackgroundDeletion {
    threads: Vec<JoinHandle<()>>,
    /// Datasets to delete once the search for a restart is over.
    postponed: Vec<(Layout, u64)>,
}

impl BackgroundDeletion {
    /// Deletes the renamed directories of these datasets in a thread. Local.
    pub fn start(&mut self, files: &Arc<dyn Files>, trash: Vec<(Layout, u64)>) {
        if trash.is_empty() {
            return;
        }
        let files = files.clone();
        let work = move || {
            // On Linux this changes the thread alone.
            let _ = rustix::process::nice(NICE);
            for (layout, id) in trash {
                // The next run of this job deletes what cannot be deleted now.
                let _ = dataset::empty_trash(&*files, &layout, id);
            }
        };
        let _blocked = BlockedSignals::new();
        let thread = std::thread::Builder::new().name("scr-delete".to_string());
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.extend(thread.spawn(work));
    }

    /// Adds datasets to those that [`BackgroundDeletion::start_postponed`] deletes. Local.
    pub fn postpone(&mut self, trash: impl IntoIterator<Item = (Layout, u64)>) {
        self.postponed.extend(trash);
    }

    /// Deletes what was postponed. Local.
    pub fn start_postponed(&mut self, files: &Arc<dyn Files>) {
        let trash = std::mem::take(&mut self.postponed);
        self.start(files, trash);
    }

    /// True while a thread is deleting. Local.
    pub fn is_running(&self) -> bool {
        self.threads.iter().any(|thread| !thread.is_finished())
    }

    /// Waits until everything is deleted, except what is postponed. Local.
    pub fn finish(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
