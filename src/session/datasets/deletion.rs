//! Deletion of cached datasets in background threads, at a lower priority than the program.

use super::damage::{self, MovedTo};
use crate::cache::dataset;
use crate::cache::layout::Layout;
use crate::events::{Message, Severity};
use crate::session::run::Run;
use crate::store::block_signals::BlockedSignals;
use crate::system::thread;
use crate::system::thread::JoinHandle;
use std::path::PathBuf;

/// The nice value of a deleting thread: it gets a tenth of a busy processor.
const NICE: i32 = 10;

/// Number of deletions that may go on at once. If the program writes datasets faster than the old ones are
/// deleted, it waits: else the number of threads and deleted datasets would grow without limit.
const MOST: usize = 4;

/// A dataset whose directory was renamed out of the way, or parts of one.
#[derive(Debug, Clone)]
pub(in crate::session) struct Trash {
    pub layout: Layout,
    pub id: u64,
    /// True if the prefix directory has the whole dataset, if that is known.
    pub saved: Option<bool>,
}

impl Trash {
    /// A deletion where it is not known whether the prefix directory has the dataset.
    pub fn new(layout: &Layout, id: u64) -> Self {
        Trash {
            layout: layout.clone(),
            id,
            saved: None,
        }
    }
}

/// Datasets whose directories were renamed out of the way, and the threads that delete them.
#[derive(Default)]
pub(in crate::session) struct BackgroundDeletion {
    threads: Vec<JoinHandle<()>>,
    /// Directories to delete once the search for a restart is over.
    postponed: Vec<Trash>,
}

impl BackgroundDeletion {
    /// Deletes renamed directories in a thread, after the oldest deletion if there are [`MOST`]. With
    /// `SCR_CRC_ON_DELETE` it compares their files with the recorded checksums before, and reports
    /// differences. Local.
    pub fn start(&mut self, run: &Run, trash: Vec<Trash>) {
        if trash.is_empty() {
            return;
        }
        let (files, verify) = (run.files.clone(), run.settings.crc_on_delete);
        let (sink, speaker) = (run.sink.clone(), run.speaker.clone());
        self.spawn(move || {
            for Trash { layout, id, saved } in trash {
                if verify {
                    let moved = MovedTo {
                        dir: &layout.trash(id),
                        shown: &layout.dataset(id),
                    };
                    for found in damage::find(&*files, &layout, id, moved) {
                        let text = found.told(saved);
                        sink.take(&speaker, &Message::new(Severity::Warning, text));
                    }
                }
                // The next run of this job deletes the rest.
                let _ = dataset::empty_trash(&*files, &layout, id);
            }
        });
    }

    /// Deletes, in a thread, a directory that is not a dataset. Local.
    pub fn start_tree(&mut self, run: &Run, path: PathBuf) {
        let files = run.files.clone();
        self.spawn(move || {
            // The next run of this job deletes the rest.
            let _ = files.remove_tree(&path);
        });
    }

    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) {
        let work = move || {
            thread::nice(NICE);
            work();
        };
        let _blocked = BlockedSignals::new();
        let thread = thread::Builder::new().name("scr-delete".to_string());
        self.threads.retain(|thread| !thread.is_finished());
        if self.threads.len() >= MOST {
            let _ = self.threads.remove(0).join();
        }
        self.threads.extend(thread.spawn(work));
    }

    /// Adds a dataset to those that [`BackgroundDeletion::start_postponed`] deletes. Local.
    pub fn postpone(&mut self, trash: Trash) {
        self.postponed.push(trash);
    }

    /// Deletes the postponed directories. Local.
    pub fn start_postponed(&mut self, run: &Run) {
        let trash = std::mem::take(&mut self.postponed);
        self.start(run, trash);
    }

    /// True while a thread is deleting. Local.
    pub fn is_running(&self) -> bool {
        self.threads.iter().any(|thread| !thread.is_finished())
    }

    /// True if nothing was deleted since the last [`BackgroundDeletion::finish`], and nothing is
    /// postponed. Local.
    pub fn is_idle(&self) -> bool {
        self.threads.is_empty() && self.postponed.is_empty()
    }

    /// Waits until everything is deleted, except the postponed directories. Local.
    pub fn finish(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
