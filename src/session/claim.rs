//! The cache of a job on a node belongs to one run at a time. A second one, in another prefix
//! directory, would take what the first is writing for what a killed run has left.

use super::Session;
use crate::prefix::index::without_locks;
use crate::store::{Durability, Files, Lock};
use crate::{Error, Result};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Beside the datasets in a job's cache directory: the prefix directory of the run that has it.
const SIGN: &str = ".scr.run";

/// Longest name of a prefix directory, bytes.
const LONGEST: u64 = 1 << 16;

/// Whose a cache directory is.
enum Claim {
    /// This run's, for as long as the lock is held; without one where others of this run hold
    /// it, or where the file system knows no locks.
    Ours(Option<Box<dyn Lock>>),
    /// That of a run in this other prefix directory.
    Other(PathBuf),
}

impl Session {
    /// Claims the stores that this rank acts for. A store that no dataset of this run will go to
    /// is left to another run if that has it: nobody here looks into it then. Waits so long for
    /// a run whose last processes may need a moment to end. Local.
    ///
    /// # Errors
    /// Another run has a store that this one needs.
    pub(super) fn claim_stores(&mut self, patience: Duration) -> Result<()> {
        let schemes = &self.descriptors.schemes;
        let used = |store| {
            let mut here = schemes.iter().filter(|s| s.enabled && s.store == store);
            here.any(|scheme| !scheme.bypass)
        };
        let end = Instant::now() + patience;
        for at in 0..self.stores.len() {
            let store = &self.stores[at];
            if !store.leader {
                continue;
            }
            let (job, used) = (store.layout.job(), used(at));
            let end = if used { end } else { Instant::now() };
            match claim(&*self.files, &job, self.prefix.real(), end)? {
                // Who does not need it keeps nobody from it.
                Claim::Ours(lock) => self.claims.extend(lock.filter(|_| used)),
                Claim::Other(_) if !used => self.stores[at].leader = false,
                Claim::Other(prefix) => {
                    return Err(Error::Config {
                        place: job.display().to_string(),
                        what: format!(
                            "on node {} a run in {} uses this cache now; wait for its end, or give \
                             each run of a job its own SCR_JOB_ID, SCR_CACHE_BASE or nodes",
                            self.speaker.node,
                            prefix.display()
                        ),
                    });
                }
            }
        }
        Ok(())
    }
}

fn claim(files: &dyn Files, job: &Path, prefix: &Path, end: Instant) -> Result<Claim> {
    let sign = job.join(SIGN);
    let ours = prefix.as_os_str().as_bytes();
    loop {
        let lock = match files.try_lock(job) {
            Err(error) if without_locks(&error) => return Ok(Claim::Ours(None)),
            other => other?,
        };
        let holder = files.read(&sign, LONGEST).unwrap_or_default();
        if lock.is_some() && holder != ours {
            // Without it others only know less; a full file system is no reason not to start.
            let _ = files.replace(&sign, ours, Durability::Atomic);
        }
        // Of runs in one prefix directory there is but one: the lock there sees to that.
        if lock.is_some() || holder == ours {
            return Ok(Claim::Ours(lock));
        }
        if Instant::now() >= end {
            let holder = std::ffi::OsStr::from_bytes(&holder);
            return Ok(Claim::Other(holder.into()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
