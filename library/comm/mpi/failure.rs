//! Processes that fail while others go on: User Level Failure Mitigation (ULFM), where the MPI has it.
//!
//! The rank that first sees a failure revokes the communicator. So every other rank gets an error too, in whatever call
//! it waits. A rank that waits for one that is alive, but has left the call, would else wait for ever.

use super::calls::check;
use super::raw::{
    self, Comm, MPI_Comm_free, MPI_Comm_group, MPI_Group, MPI_Group_free, MPI_Group_size,
    MPI_Group_translate_ranks, comm_null, group_null, has_ulfm, is_failure,
};
use crate::{Error, Result};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time between two looks of a waiting rank for failed processes.
const LOOK: Duration = Duration::from_millis(20);

/// Time in which a new communicator is left alone: in Open MPI 5.0 a rank that is still making it crashes if it is
/// revoked.
const YOUNG: Duration = Duration::from_millis(300);

/// Number of failed ranks that are named.
const NAMED: usize = 8;

/// A communicator of our own, and whether it can still be used.
pub(super) struct Handle {
    pub comm: Comm,
    broken: AtomicBool,
    /// All ranks are known to have made it.
    complete: AtomicBool,
}

// SAFETY: as for `Mpi`.
unsafe impl Send for Handle {}
// SAFETY: as for `Mpi`.
unsafe impl Sync for Handle {}

impl Handle {
    /// Takes a communicator over, or MPI_COMM_NULL.
    pub fn new(comm: Comm) -> Self {
        Handle {
            comm,
            broken: AtomicBool::new(false),
            complete: AtomicBool::new(false),
        }
    }

    /// As [`check`] of a call on this communicator. If a process has failed, all ranks get an error from now on.
    pub fn check(&self, call: &str, code: c_int) -> Result<()> {
        if is_failure(code) {
            self.revoke();
        }
        self.tell(call, code)
    }

    /// As [`check`]. The error says which processes have failed, if that is why. Local.
    pub fn tell(&self, call: &str, code: c_int) -> Result<()> {
        if is_failure(code) {
            Err(self.failure(call))
        } else {
            check(call, code)
        }
    }

    /// Fails if the communicator cannot be used any more.
    pub fn usable(&self, call: &str) -> Result<()> {
        if self.broken.load(Relaxed) {
            Err(self.failure(call))
        } else {
            Ok(())
        }
    }

    /// A call has succeeded here in which each rank took part. Local.
    pub fn is_complete(&self) {
        self.complete.store(true, Relaxed);
    }

    /// Makes all calls of all ranks on it fail from now on. Local.
    pub fn revoke(&self) {
        if !self.broken.swap(true, Relaxed) && self.is_made() {
            if has_ulfm() && !self.complete.load(Relaxed) {
                std::thread::sleep(YOUNG);
            }
            // SAFETY: the communicator is ours and alive.
            unsafe { raw::revoke(self.comm) };
        }
    }

    /// The ranks that are known to have failed. Local.
    pub fn failed(&self) -> Vec<usize> {
        if !self.is_made() {
            return Vec::new();
        }
        // SAFETY: the communicator is ours and alive.
        let Some(group) = (unsafe { raw::failed(self.comm) }) else {
            return Vec::new();
        };
        let failed = Group(group);
        failed.ranks_in(self.comm).into_iter().flatten().collect()
    }

    /// The ranks of this communicator that have not failed and are not in `other`. Empty if the failed processes are
    /// not known. Local.
    pub fn missing_in(&self, other: Comm) -> Vec<usize> {
        if !has_ulfm() || !self.is_made() {
            return Vec::new();
        }
        let Some(ours) = Group::of(self.comm) else {
            return Vec::new();
        };
        let failed = self.failed();
        let there = ours.ranks_in(other);
        let missing = there.iter().enumerate().filter(|(_, rank)| rank.is_none());
        let missing = missing.map(|(rank, _)| rank);
        missing.filter(|rank| !failed.contains(rank)).collect()
    }

    fn is_made(&self) -> bool {
        self.comm != comm_null()
    }

    /// The error of a call after a process has failed.
    fn failure(&self, call: &str) -> Error {
        let failed = self.failed();
        let who = match failed.as_slice() {
            [] => "a process has failed, or the communicator was revoked".to_string(),
            [rank] => format!("the process of rank {rank} has failed"),
            many => {
                let named: Vec<String> = many.iter().take(NAMED).map(ToString::to_string).collect();
                let more = if many.len() > NAMED { ", ..." } else { "" };
                format!(
                    "the processes of ranks {}{more} have failed",
                    named.join(", ")
                )
            }
        };
        let what = format!(
            "{who}; the session can go on after SCR_Session_repair, or SCR_Session_create where that has failed"
        );
        Error::comm(call, what)
    }

    /// Frees the communicator. All ranks must do so at the same point, unless the communicator cannot be
    /// used any more.
    pub fn free(&mut self) {
        if self.is_made() {
            // SAFETY: the communicator is ours, and freed once. Nobody is left to hear of an error.
            unsafe { MPI_Comm_free(&mut self.comm) };
        }
    }
}

/// Looks now and then, in a wait, whether the wait can end.
pub(super) struct Watch<'a> {
    handle: &'a Handle,
    call: &'a str,
    next: Instant,
}

impl<'a> Watch<'a> {
    pub fn new(handle: &'a Handle, call: &'a str) -> Self {
        Watch {
            handle,
            call,
            next: Instant::now() + LOOK,
        }
    }

    /// # Errors
    /// A process of the communicator has failed.
    pub fn look(&mut self) -> Result<()> {
        if !has_ulfm() || Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + LOOK;
        // SAFETY: the communicator is ours and alive.
        let revoked = unsafe { raw::is_revoked(self.handle.comm) };
        if revoked || !self.handle.failed().is_empty() {
            self.handle.revoke();
        }
        self.handle.usable(self.call)
    }
}

/// A group that is freed when it is dropped.
struct Group(MPI_Group);

impl Group {
    fn of(comm: Comm) -> Option<Group> {
        let mut group = group_null();
        // SAFETY: the pointer is to a live local.
        let code = unsafe { MPI_Comm_group(comm, &mut group) };
        (code == 0).then_some(Group(group))
    }

    /// The ranks that its processes have in a communicator; `None` for one that is not in it, and no entry at all if MPI
    /// does not tell.
    fn ranks_in(&self, comm: Comm) -> Vec<Option<usize>> {
        let mut size: c_int = 0;
        // SAFETY: the pointer is to a live local.
        let sized = unsafe { MPI_Group_size(self.0, &mut size) };
        let Some(there) = Group::of(comm).filter(|_| sized == 0) else {
            return Vec::new();
        };
        let ours: Vec<c_int> = (0..size).collect();
        let mut theirs = vec![-1; ours.len()];
        // SAFETY: both arrays have `size` elements.
        let code = unsafe {
            MPI_Group_translate_ranks(self.0, size, ours.as_ptr(), there.0, theirs.as_mut_ptr())
        };
        if code != 0 {
            return Vec::new();
        }
        // MPI_UNDEFINED is negative.
        let rank = |rank: c_int| usize::try_from(rank).ok();
        theirs.into_iter().map(rank).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.0 != group_null() {
            // SAFETY: the group is ours, and freed once.
            unsafe { MPI_Group_free(&mut self.0) };
        }
    }
}
