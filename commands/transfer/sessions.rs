//! Runs the daemons of sessions that have a name. The process that serves a job also serves these sessions, each
//! in a thread.

use super::ended;
use scr_engine::cache::layout::Layout;
use scr_engine::daemon::control::this_process;
use scr_engine::store::Files;
use scr_engine::system::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use scr_engine::system::sync::{Mutex, MutexGuard};
use scr_engine::system::thread::{Scope, scope};
use scr_jobs::transfers::serve::Ended;
use scr_jobs::transfers::service::{Process, Service};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Pause between two looks for sessions.
const TICK: Duration = Duration::from_millis(200);

/// The sessions of a job on this node. The control directory of a session, `scr.JOBID@NAME`, is
/// beside the control directory of the job. So sessions are found without a look at the prefix
/// directory.
pub(super) struct Sessions {
    pub files: Arc<dyn Files>,
    pub base: PathBuf,
    pub user: String,
    pub job: String,
    pub patience: Duration,
}

/// Tells the daemons of sessions to end when it is dropped, also if the thread unwinds.
struct OverAtEnd<'a>(&'a AtomicBool);

impl Drop for OverAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Sessions {
    /// Serves the sessions that exist or begin while `of_job` runs. If the daemon of a session was told to end, the
    /// session is not served again.
    pub fn beside<T>(&self, say: &(dyn Fn(&str) + Sync), of_job: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        let known = Mutex::default();
        let (end, ended) = channel();
        scope(|threads| {
            let _over = OverAtEnd(&over);
            // When this closure returns or panics, `_end` is dropped. That wakes the watching
            // thread.
            let _end: Sender<()> = end;
            let (known, over) = (&known, &over);
            threads.spawn(move || self.watch(threads, known, over, &ended, say));
            of_job()
        })
    }

    fn watch<'scope>(
        &'scope self,
        threads: &'scope Scope<'scope, '_>,
        known: &'scope Mutex<BTreeSet<String>>,
        over: &'scope AtomicBool,
        ended: &Receiver<()>,
        say: &'scope (dyn Fn(&str) + Sync),
    ) {
        loop {
            for id in self.ids() {
                let is_new = lock(known).insert(id.clone());
                if is_new {
                    threads.spawn(move || {
                        if self.serve(&id, over, say) == Some(Ended::Gone) {
                            // The next run begins with a daemon of its own.
                            lock(known).remove(&id);
                        }
                    });
                }
            }
            // The daemon of the job has ended, so this process must also end.
            if ended.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// The ids of the sessions that have a directory on this node.
    fn ids(&self) -> Vec<String> {
        let names = self.files.list(&self.base.join(&self.user));
        let names = names.unwrap_or_default();
        let ids = names.iter().filter_map(|name| {
            let id = name.to_str()?.strip_prefix("scr.")?;
            let session = id.strip_prefix(&self.job)?.strip_prefix('@')?;
            (!session.is_empty()).then(|| id.to_string())
        });
        ids.collect()
    }

    /// Runs the daemon of one session until the daemon ends.
    fn serve(&self, id: &str, over: &AtomicBool, say: &dyn Fn(&str)) -> Option<Ended> {
        let layout = Layout::new(&self.base, &self.user, id);
        let names = (self.user.as_str(), id);
        let service = Service::new(self.files.clone(), layout, names, self.patience);
        let (me, dir) = (this_process(), service.control().dir().display());
        let mut process = Process {
            say: &mut |_, text| say(text),
            stop: &|| over.load(Ordering::SeqCst),
        };
        match service.serve(&mut process, &|| say(&format!("{me} takes {dir}, too"))) {
            Ok(Ended::Signal) => Some(Ended::Signal),
            Ok(why) => {
                say(&format!("{me}: {dir}: {}", ended(why)));
                Some(why)
            }
            Err(error) => {
                say(&format!("{dir} is not served: {error}"));
                None
            }
        }
    }
}

fn lock(known: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
