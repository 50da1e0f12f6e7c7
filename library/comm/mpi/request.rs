//! Transfers in progress, and the handling of their errors.

use super::calls::{MpiThread, check, empty_status, finalized, received};
use super::failure::{Handle, Watch};
use super::poll;
use super::raw::{
    MPI_Cancel, MPI_Comm_get_errhandler, MPI_Comm_set_errhandler, MPI_Errhandler,
    MPI_Errhandler_free, MPI_Request, MPI_Test, MPI_Wait, comm_world, errors_return, request_null,
};
use crate::Result;
use crate::comm::{Pending, Tag, check_length};
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

/// A transfer in progress. MPI uses the buffer until the handle is null again.
pub(super) struct Request {
    pub handle: MPI_Request,
    pub buffer: Vec<u8>,
    pub call: String,
    /// Source and tag of a receive.
    receive: Option<(usize, Tag)>,
    thread: MpiThread,
    communicator: Arc<Handle>,
}

// SAFETY: as for `Mpi`; each use checks the thread first.
unsafe impl Send for Request {}

impl Request {
    /// A request that is not started. `receive`: source and tag of a receive.
    pub(super) fn new(
        call: String,
        buffer: Vec<u8>,
        receive: Option<(usize, Tag)>,
        thread: MpiThread,
        communicator: Arc<Handle>,
    ) -> Self {
        Request {
            handle: request_null(),
            buffer,
            call,
            receive,
            thread,
            communicator,
        }
    }
}

impl Pending for Request {
    fn wait(mut self: Box<Self>) -> Result<Vec<u8>> {
        self.thread.check("MPI_Test")?;
        let mut status = empty_status();
        let errors_return = WorldErrorsReturn::new()?;
        let mut watch = Watch::new(&self.communicator, &self.call);
        poll::until(|| {
            let mut done: c_int = 0;
            // SAFETY: the handle is of an active request of ours.
            let code = unsafe { MPI_Test(&mut self.handle, &mut done, &mut status) };
            self.communicator.check(&self.call, code)?;
            match done {
                0 => watch.look().map(|()| false),
                _ => Ok(true),
            }
        })?;
        drop(errors_return);
        if let Some((from, tag)) = self.receive {
            check_length(from, tag, self.buffer.len(), received(&status)?)?;
        }
        Ok(std::mem::take(&mut self.buffer))
    }
}

/// While one of these lives, errors on MPI_COMM_WORLD are returned.
///
/// MPICH (4.0) has forgotten the communicator when it reports the error of a completed
/// request, and applies the handler of MPI_COMM_WORLD, which by default ends the job. That handler
/// belongs to the application, so the last value that is dropped restores it.
pub(super) struct WorldErrorsReturn;

/// Number of values that exist, and the application's handler.
static WORLD_ERRORS: Mutex<(usize, Option<Handler>)> = Mutex::new((0, None));

struct Handler(MPI_Errhandler);

// SAFETY: as for `Mpi`; a handle that is not bound to a thread.
unsafe impl Send for Handler {}

impl WorldErrorsReturn {
    pub(super) fn new() -> Result<Self> {
        let mut alive = WORLD_ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
        if alive.0 == 0 {
            // SAFETY: the thread was checked by the caller; the pointer is to a live local.
            unsafe {
                let mut handler = errors_return();
                let got = MPI_Comm_get_errhandler(comm_world(), &mut handler);
                check("MPI_Comm_get_errhandler", got)?;
                alive.1 = Some(Handler(handler));
                let set = MPI_Comm_set_errhandler(comm_world(), errors_return());
                check("MPI_Comm_set_errhandler", set)?;
            }
        }
        alive.0 += 1;
        Ok(WorldErrorsReturn)
    }
}

impl Drop for WorldErrorsReturn {
    fn drop(&mut self) {
        let mut alive = WORLD_ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
        alive.0 -= 1;
        if alive.0 == 0
            && let Some(Handler(mut handler)) = alive.1.take()
        {
            // SAFETY: the handler is the reference that MPI_Comm_get_errhandler gave us, to
            // be freed once (MPI 3.1, section 8.3.4).
            unsafe {
                MPI_Comm_set_errhandler(comm_world(), handler);
                MPI_Errhandler_free(&mut handler);
            }
        }
    }
}

/// Reached with an active handle after a failed wait, or without one. Memory that MPI may still use must not be
/// freed. A receive is cancelled. The buffer of a send is leaked unless the send is complete, because cancelling a
/// send is not reliable and waiting for it could take for ever. If a process of the communicator has failed, no
/// more is called, and the buffer is leaked.
impl Drop for Request {
    fn drop(&mut self) {
        let usable = || self.thread.check("MPI_Cancel").is_ok() && matches!(finalized(), Ok(false));
        let whole = self.communicator.usable("MPI_Cancel").is_ok();
        if self.handle != request_null() && whole && usable() {
            let mut done: c_int = 0;
            let mut status = empty_status();
            let _errors_return = WorldErrorsReturn::new();
            // SAFETY: the handle is of an active request of ours. Cancel and wait end a
            // receive for good: either it was cancelled, or its message is coming in.
            unsafe {
                if self.receive.is_none() {
                    MPI_Test(&mut self.handle, &mut done, &mut status);
                } else if MPI_Cancel(&mut self.handle) == 0 {
                    MPI_Wait(&mut self.handle, &mut status);
                }
            }
        }
        if self.handle != request_null() {
            std::mem::forget(std::mem::take(&mut self.buffer));
        }
    }
}
