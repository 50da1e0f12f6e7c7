//! The cache of a job on a node belongs to one run at a time. A second one would take what the
//! first is writing for what a killed run has left. The first may be a run that was killed, if
//! one of its processes is still there, such as one that was stopped.

use super::Session;
use crate::cache::earlier_runs::take_over_earlier_runs;
use crate::cache::layout::Layout;
use crate::format::{self, Name};
use crate::job::holders;
use crate::prefix::index::without_locks;
use crate::store::{Durability, FileKind, Files, Lock};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// In a job's cache directory, beside those of its runs: who has it.
const SIGN: &str = ".scr.run";

/// How long a store that this run does not need is waited for: another rank of this run may have
/// it and not have said so yet.
const GLANCE: Duration = Duration::from_secs(1);

/// Who has the cache of a job on a node.
///
/// ```text
///   NODE = n3
///   PID = 4242
///   PREFIX = /p/run1
///   RANK = 3
///   RUN = 6fd1be5a0a6f42c7
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Sign {
    /// The identity of the run, as in the name of its directory.
    run: Name,
    node: Name,
    pid: u32,
    rank: usize,
    /// Its prefix directory.
    prefix: Name,
}

/// Whose a cache directory is.
enum Claim {
    /// This run's, for as long as the lock is held; without one where another rank of this run
    /// holds it, or where the file system knows no locks.
    Ours(Option<Box<dyn Lock>>),
    /// That of another run, as its sign says.
    Other(Sign),
}

impl Session {
    /// Claims the stores that this rank acts for, and takes over what earlier runs have left there.
    /// A store that no dataset of this run will go to is left to another run if that has it:
    /// nobody here looks into it then. Waits so long for a run whose last processes may need a
    /// moment to end. Local.
    ///
    /// # Errors
    /// Another run has a store that this one needs, or what is in it cannot be taken over.
    pub(super) fn claim_stores(&mut self, lock_timeout: Duration) -> Result<()> {
        let begun = Instant::now();
        for at in 0..self.stores.len() {
            let store = &self.stores[at];
            if !store.leader {
                continue;
            }
            let (layout, used) = (store.layout.clone(), self.is_used(at));
            let lock_timeout = if used {
                lock_timeout
            } else {
                lock_timeout.min(GLANCE)
            };
            let sign = Sign {
                run: run_name(&layout),
                node: self.speaker.node.as_str().into(),
                pid: std::process::id(),
                rank: self.rank(),
                prefix: Name::from(self.prefix.real()),
            };
            match claim(&*self.files, &layout, &sign, begun + lock_timeout)? {
                Claim::Ours(lock) => self.claims.extend(lock.map(|lock| (at, lock))),
                // Who does not need it keeps nobody from it.
                Claim::Other(_) if !used => self.stores[at].leader = false,
                Claim::Other(other) => return Err(self.taken(&layout.job(), &other)),
            }
        }
        Ok(())
    }

    /// Lets others have the stores that no dataset of this run will go to, and that it found
    /// nothing of use in. Local.
    pub(super) fn release_stores(&mut self) {
        let mut claims = std::mem::take(&mut self.claims);
        let holds =
            |store| self.cache.iter().any(|c| c.store == store) || self.unavailable.is_some();
        claims.retain(|(store, _)| self.is_used(*store) || holds(*store));
        self.claims = claims;
    }

    /// True if a dataset of this run may go to a store.
    fn is_used(&self, store: usize) -> bool {
        let schemes = &self.descriptors.schemes;
        let mut here = schemes.iter().filter(|s| s.enabled && s.store == store);
        here.any(|scheme| !scheme.bypass)
    }

    /// What to say of a cache that another run has.
    fn taken(&self, job: &Path, sign: &Sign) -> Error {
        // A run that could not sign has left the sign of the one before, or none.
        let run = match sign.prefix.is_empty() {
            true => "another run".to_string(),
            false => format!("a run in {}", sign.prefix.as_path().display()),
        };
        let who = match holders::in_words(job) {
            Some(who) => format!("{who} of {run}"),
            // Seen from here, nobody: it is on another node, or in another container.
            None if sign.pid == 0 => run,
            None => {
                let Sign {
                    pid, node, rank, ..
                } = sign;
                format!("process {pid} on node {node} (rank {rank}) of {run}")
            }
        };
        Error::Config {
            place: job.display().to_string(),
            what: format!(
                "on node {} this cache is held by {who} now; if that run was killed, end what is \
                 left of it (kill -9), else wait for its end, or give each run of a job its own \
                 SCR_JOB_ID, SCR_CACHE_BASE or nodes",
                self.speaker.node
            ),
        }
    }
}

/// The identity of the run that a layout is for, in words.
fn run_name(layout: &Layout) -> Name {
    let root = layout.root();
    root.file_name().map(Name::from).unwrap_or_default()
}

/// Takes the lock on a job's directory, then what is in it, and only then says so.
fn claim(files: &dyn Files, layout: &Layout, sign: &Sign, end: Instant) -> Result<Claim> {
    let path = layout.job().join(SIGN);
    loop {
        let lock = match files.try_lock(&layout.job()) {
            // It could not be made. Whoever wants to write there will be told why.
            Err(error) if error.is_not_found() => return Ok(Claim::Ours(None)),
            Err(error) if without_locks(&error) => {
                take_over_earlier_runs(files, layout)?;
                return Ok(Claim::Ours(None));
            }
            other => other?,
        };
        if lock.is_some() {
            take_over_earlier_runs(files, layout)?;
            // Without it others only know less; a full file system is no reason not to start.
            let _ = format::write(files, &path, sign, Durability::Atomic);
            return Ok(Claim::Ours(lock));
        }
        let other = format::read::<Sign>(files, &path).unwrap_or_default();
        if other.run == sign.run {
            return Ok(Claim::Ours(None));
        }
        if Instant::now() >= end {
            // A rank of this run may have taken over what is there, and have had no room to sign.
            let root = files.stat(&layout.root())?;
            return Ok(match root.is_some_and(|s| s.kind == FileKind::Directory) {
                true => Claim::Ours(None),
                false => Claim::Other(other),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
