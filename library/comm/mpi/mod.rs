//! The transport over a real MPI (3.0 or newer).
//!
//! Works at any thread level: only the caller's thread calls MPI. Below MPI_THREAD_SERIALIZED, calls
//! from any thread but the one that made the communicator are refused. Every return code is checked,
//! and errors on our communicator are returned, not fatal. Nothing here relies on how an MPI
//! represents its handles.

mod at_finalize;
mod attribute;
mod calls;
mod datatype;
mod failure;
#[cfg(feature = "mpi")]
mod family;
mod poll;
mod raw;
mod reduce;
mod request;
mod version_text;

use self::calls::{MpiThread, check, empty_status, failure, finalized, flag, received, too_long};
use self::datatype::MpiBuffer;
use self::failure::{Handle, Watch};
#[cfg(feature = "mpi")]
use self::family::check_family;
#[cfg(not(feature = "mpi"))]
use self::raw::check_family;
use self::raw::{
    MPI_Abort, MPI_Comm_dup, MPI_Comm_get_errhandler, MPI_Comm_rank, MPI_Comm_set_errhandler,
    MPI_Comm_size, MPI_Comm_test_inter, MPI_Datatype, MPI_Errhandler_free, MPI_Iallreduce,
    MPI_Ibarrier, MPI_Improbe, MPI_Imrecv, MPI_Initialized, MPI_Irecv, MPI_Isend, MPI_Op,
    MPI_Op_create, MPI_Op_free, MPI_Type_commit, MPI_Type_contiguous, MPI_Type_free, any_source,
    comm_null, comm_world, datatype_null, errors_return, int64, message_null, op_max,
};
use self::reduce::{Pair, combine_pairs, decode, encode};
use self::request::{Request, WorldErrorsReturn};
use super::solo::Solo;
use super::{Communicator, Pending, Tag, Term, check_rank};
use crate::{Error, Result};
use scr_engine::messages::MPI_IS_OVER;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// MPI counts are `int`: longer messages travel as a derived type of blocks of this size.
const BLOCK: usize = 1 << 30;

/// `MPI_Comm` of C.
#[allow(non_camel_case_types)]
pub type MPI_Comm = raw::Comm;

/// A communicator of our own over MPI ranks.
///
/// All ranks must drop it at the same point and before MPI_Finalize. A later drop frees nothing and
/// does no harm.
pub struct Mpi {
    handle: Arc<Handle>,
    /// Combines terms, each encoded as the pair (kind, value).
    combine: MPI_Op,
    pair: MPI_Datatype,
    rank: usize,
    size: usize,
    block: usize,
    thread: MpiThread,
    /// Carries the messages of this rank to itself, because Open MPI 4.1 cuts those that are
    /// longer than the receiver's buffer without a word.
    to_self: Solo,
}

// SAFETY: MPI handles name objects of the process, not of a thread. Which threads may use
// them depends on the thread level, which `MpiThread::check` enforces before each call.
unsafe impl Send for Mpi {}
// SAFETY: as above; at MPI_THREAD_SERIALIZED it is the application that keeps its calls, and
// so ours, from overlapping.
unsafe impl Sync for Mpi {}

impl Mpi {
    /// Duplicates MPI_COMM_WORLD, with an error handler that returns. Collective.
    ///
    /// # Errors
    /// The program runs with another MPI than the library was built with. MPI is not initialised, or is
    /// finalised already. The same on all ranks.
    pub fn dup_world() -> Result<Mpi> {
        usable("SCR_Init")?;
        // Another thread may wait for a request of its session, and would take our handler for the program's.
        let _errors_return = WorldErrorsReturn::new()?;
        Mpi::dup_usable("SCR_Init", comm_world())
    }

    /// Duplicates a communicator of the program for `call`, with an error handler that returns. Collective over the
    /// communicator.
    ///
    /// # Errors
    /// As [`Mpi::dup_world`]. The communicator is MPI_COMM_NULL, an inter-communicator, or unknown
    /// to MPI.
    pub fn dup(call: &'static str, comm: MPI_Comm) -> Result<Mpi> {
        usable(call)?;
        let comm = raw::of_caller(comm);
        if comm == comm_null() {
            let what = "the communicator is MPI_COMM_NULL: give one that this process is in, or leave out the call";
            return Err(Error::usage(call, what));
        }
        let _errors_return = WorldErrorsReturn::new()?;
        let mut inter: c_int = 0;
        // SAFETY: MPI checks the handle; the pointer is to a live local.
        let code = unsafe { MPI_Comm_test_inter(comm, &mut inter) };
        if let Err(error) = check("MPI_Comm_test_inter", code) {
            let what = format!("the communicator cannot be used, was it freed? ({error})");
            return Err(Error::usage(call, what));
        }
        if inter != 0 {
            let what = "the communicator is an inter-communicator; merge it with MPI_Intercomm_merge first";
            return Err(Error::usage(call, what));
        }
        Mpi::dup_usable(call, comm)
    }

    /// The handle of a communicator that Fortran knows by a number. Local.
    pub fn of_fortran(comm: c_int) -> MPI_Comm {
        raw::of_fortran(comm)
    }

    /// A communicator over the same ranks, for use instead of this one. Collective. Where processes can fail, the
    /// caller's communicator is used: a failure while one is made can harm the MPI itself. With Open MPI 5.0 a process
    /// can crash, or can never make one of a younger communicator again.
    pub fn again(&self) -> Result<Mpi> {
        self.handle.usable("MPI_Comm_dup")?;
        if Mpi::sees_failures() {
            return Mpi::over(self.handle.clone());
        }
        let dup = Mpi::dup_usable("MPI_Comm_dup", self.handle.comm);
        if dup.is_err() {
            // A rank that has got its communicator must not wait in it for this one.
            self.handle.revoke();
        }
        dup
    }

    /// Makes a communicator over the ranks of another one, for `call`. Collective.
    fn dup_usable(call: &str, comm: MPI_Comm) -> Result<Mpi> {
        let mut made = comm_null();
        // SAFETY: MPI is initialised and not finalised; all pointers are to live locals or
        // fields of the type MPI expects. The handler is a reference of ours, to be freed once (MPI 3.1, section 8.3.4).
        unsafe {
            let mut handler = errors_return();
            let got = MPI_Comm_get_errhandler(comm, &mut handler);
            check("MPI_Comm_get_errhandler", got)?;
            MPI_Comm_set_errhandler(comm, errors_return());
            let code = MPI_Comm_dup(comm, &mut made);
            MPI_Comm_set_errhandler(comm, handler);
            MPI_Errhandler_free(&mut handler);
            // A handle that is dropped frees nothing.
            Handle::new(comm).tell(call, code)?;
        }
        Mpi::over(Arc::new(Handle::new(made)))
    }

    /// Uses a communicator of ours. Local.
    fn over(handle: Arc<Handle>) -> Result<Mpi> {
        let made = handle.comm;
        let mut ours = Mpi::without_terms(handle)?;
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: MPI is usable, and the communicator is alive; all pointers are to live locals or fields of the type
        // MPI expects.
        unsafe {
            let handler = MPI_Comm_set_errhandler(made, errors_return());
            check("MPI_Comm_set_errhandler", handler)?;
            check("MPI_Comm_rank", MPI_Comm_rank(made, &mut rank))?;
            check("MPI_Comm_size", MPI_Comm_size(made, &mut size))?;
            let pair = MPI_Type_contiguous(2, int64(), &mut ours.pair);
            check("MPI_Type_contiguous", pair)?;
            check("MPI_Type_commit", MPI_Type_commit(&mut ours.pair))?;
            check(
                "MPI_Op_create",
                MPI_Op_create(Some(combine_pairs), 1, &mut ours.combine),
            )?;
        }
        ours.rank = usize::try_from(rank).unwrap_or_default();
        ours.size = usize::try_from(size).unwrap_or(1);
        Ok(ours)
    }

    /// Cannot combine terms yet.
    fn without_terms(handle: Arc<Handle>) -> Result<Mpi> {
        Ok(Mpi {
            handle,
            // Stands in until there is an operation of our own.
            combine: op_max(),
            pair: datatype_null(),
            rank: 0,
            size: 1,
            block: BLOCK,
            thread: MpiThread::here()?,
            to_self: Solo::new(),
        })
    }

    /// True if the library can see that processes fail while others go on: the MPI has ULFM. Local.
    pub fn sees_failures() -> bool {
        raw::has_ulfm()
    }

    /// The ranks of MPI_COMM_WORLD that have not failed, as far as is known, and are not in a communicator. Local.
    pub fn missing_of_world(comm: &Mpi) -> Vec<usize> {
        // A handle that is dropped frees nothing.
        let world = Handle::new(comm_world());
        world.missing_in(comm.handle.comm)
    }

    /// The ranks that have not failed, as far as is known, and are not in another communicator. Local.
    pub fn missing_in(&self, other: &Mpi) -> Vec<usize> {
        self.handle.missing_in(other.handle.comm)
    }

    /// True if MPI_Abort may be called. Local.
    pub fn can_abort() -> bool {
        let initialized = || matches!(flag("MPI_Initialized", MPI_Initialized), Ok(true));
        check_family().is_ok() && initialized() && !Mpi::is_finalized()
    }

    /// Ends the program on all ranks by MPI_Abort; only this process if that cannot be called. Local.
    pub fn abort(code: i32) -> ! {
        if Mpi::can_abort() {
            // SAFETY: MPI is usable, and the handle is one of this MPI.
            unsafe { MPI_Abort(comm_world(), code) };
        }
        std::process::exit(code)
    }

    /// Calls MPI_Finalize if this MPI is not the one of the build. A launcher kills the other
    /// processes if one ends without it. Collective.
    pub fn leave_other_mpi() {
        if check_family().is_err() {
            raw::leave_other();
        }
    }

    /// True after MPI_Finalize, when no call of MPI is possible. Local.
    pub fn is_finalized() -> bool {
        matches!(finalized(), Ok(true))
    }

    /// True if calls of MPI are possible: the MPI is the one of the build, has begun, and has not ended.
    /// Local.
    pub fn is_usable() -> bool {
        usable("MPI").is_ok()
    }

    /// Has `work` called at the beginning of MPI_Finalize, on each rank, when MPI can still be used. Only
    /// the first call in a process has an effect. Local.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn at_finalize(&self, work: fn()) -> Result<()> {
        self.thread.check("MPI_Comm_set_attr")?;
        at_finalize::at_finalize(work)
    }

    /// Sets the length in bytes from which messages are sent as a derived type: at least 1, by
    /// default 1 GiB. Ranks may differ. Tests set it to a small value.
    pub fn set_block(&mut self, bytes: usize) {
        self.block = bytes.clamp(1, BLOCK);
    }

    /// Checks that this thread may make `call`, and that it can succeed.
    fn ready(&self, call: &str) -> Result<()> {
        self.thread.check(call)?;
        self.handle.usable(call)
    }

    fn request(&self, call: String, buffer: Vec<u8>, receive: Option<(usize, Tag)>) -> Request {
        Request::new(call, buffer, receive, self.thread, self.handle.clone())
    }

    fn peer(&self, call: &'static str, rank: usize) -> Result<c_int> {
        check_rank(call, rank, self.size)?;
        c_int::try_from(rank).map_err(|_| failure(call, "the rank is no int"))
    }

    /// Receives one message of unknown length from `peer`, which is `name` in messages. Also returns the
    /// rank of the sender.
    fn receive(&self, peer: c_int, name: String, tag: Tag) -> Result<(usize, Vec<u8>)> {
        let call = format!("MPI_Improbe from {name}");
        let mut message = message_null();
        let mut status = empty_status();
        let comm = self.handle.comm;
        let mut watch = Watch::new(&self.handle, &call);
        poll::until(|| {
            let mut there: c_int = 0;
            let tag = c_int::from(tag);
            // SAFETY: live locals of the right types.
            let code =
                unsafe { MPI_Improbe(peer, tag, comm, &mut there, &mut message, &mut status) };
            self.handle.check(&call, code)?;
            match there {
                0 => watch.look().map(|()| false),
                _ => Ok(true),
            }
        })?;
        let from = usize::try_from(raw::source(&status))
            .map_err(|_| failure(&call, "the message has no sender"))?;
        let length = received(&status)?;
        let mut buffer = Vec::new();
        buffer
            .try_reserve_exact(length)
            .map_err(|_| failure(&call, format!("no memory for a message of {length} bytes")))?;
        buffer.resize(length, 0);
        let part = MpiBuffer::of(self.block, length)?;
        let call = format!("MPI_Imrecv from rank {from}");
        let mut request = self.request(call, buffer, Some((from, tag)));
        // SAFETY: as for `irecv`; the message was matched by us.
        let code = unsafe {
            let start = request.buffer.as_mut_ptr().cast::<c_void>();
            let (count, datatype) = (part.count, part.datatype);
            let handle = &mut request.handle;
            MPI_Imrecv(start, count, datatype, &mut message, handle)
        };
        self.handle.check(&request.call, code)?;
        Ok((from, Box::new(request).wait()?))
    }
}

/// Checks that MPI can be called, and is the one of the build. Local; the same on all ranks.
fn usable(call: &'static str) -> Result<()> {
    check_family()?;
    // First, because MPICH 3.4 does not say after its end that it has begun.
    if Mpi::is_finalized() {
        let what = format!(
            "MPI is finalised already; call SCR between MPI_Init and MPI_Finalize ({MPI_IS_OVER})"
        );
        return Err(Error::usage(call, what));
    }
    if !flag("MPI_Initialized", MPI_Initialized)? {
        return Err(Error::usage(
            call,
            "MPI is not initialised; call MPI_Init first",
        ));
    }
    Ok(())
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.thread.check("MPI_Comm_free").is_err() || !matches!(finalized(), Ok(false)) {
            return;
        }
        // SAFETY: MPI is usable from this thread; a handle that was never made is still the
        // constant that it was initialised with. Nobody is left to hear of an error.
        unsafe {
            if self.combine != op_max() {
                MPI_Op_free(&mut self.combine);
            }
            if self.pair != datatype_null() {
                MPI_Type_free(&mut self.pair);
            }
        }
        // A transfer that is still there keeps the handle, and so the communicator.
        if let Some(handle) = Arc::get_mut(&mut self.handle) {
            handle.free();
        }
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.ready("MPI_Isend")?;
        let peer = self.peer("MPI_Isend", to)?;
        if to == self.rank {
            return self.to_self.isend(0, tag, data);
        }
        let part = MpiBuffer::of(self.block, data.len())?;
        let call = format!("MPI_Isend to rank {to}");
        let mut request = self.request(call, data, None);
        // SAFETY: the request owns the buffer, whose heap memory stays where it is, until
        // MPI is done with it (see `Request`). The count and type cover exactly the buffer.
        let code = unsafe {
            let start = request.buffer.as_ptr().cast::<c_void>();
            let (count, datatype) = (part.count, part.datatype);
            let tag = c_int::from(tag);
            MPI_Isend(
                start,
                count,
                datatype,
                peer,
                tag,
                self.handle.comm,
                &mut request.handle,
            )
        };
        self.handle.check(&request.call, code)?;
        Ok(Box::new(request))
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.ready("MPI_Irecv")?;
        let peer = self.peer("MPI_Irecv", from)?;
        if from == self.rank {
            return self.to_self.irecv(0, tag, buffer);
        }
        let part = MpiBuffer::of(self.block, buffer.len())?;
        let call = format!("MPI_Irecv from rank {from}");
        let mut request = self.request(call, buffer, Some((from, tag)));
        // SAFETY: as for the send; nobody reads or writes the buffer until it is complete.
        let code = unsafe {
            let start = request.buffer.as_mut_ptr().cast::<c_void>();
            let (count, datatype) = (part.count, part.datatype);
            let tag = c_int::from(tag);
            MPI_Irecv(
                start,
                count,
                datatype,
                peer,
                tag,
                self.handle.comm,
                &mut request.handle,
            )
        };
        self.handle.check(&request.call, code)?;
        Ok(Box::new(request))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.ready("MPI_Improbe")?;
        let peer = self.peer("MPI_Improbe", from)?;
        if from == self.rank {
            return self.to_self.recv(0, tag);
        }
        self.receive(peer, format!("rank {from}"), tag)
            .map(|(_, data)| data)
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        self.ready("MPI_Improbe")?;
        self.receive(any_source(), "any rank".to_string(), tag)
    }

    fn barrier(&self) -> Result<()> {
        const CALL: &str = "MPI_Ibarrier";
        self.ready(CALL)?;
        let mut request = self.request(CALL.to_string(), Vec::new(), None);
        // SAFETY: the communicator is ours and alive.
        let code = unsafe { MPI_Ibarrier(self.handle.comm, &mut request.handle) };
        self.handle.check(CALL, code)?;
        Box::new(request).wait()?;
        self.handle.is_complete();
        Ok(())
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        const CALL: &str = "MPI_Iallreduce";
        self.ready(CALL)?;
        let count = c_int::try_from(terms.len()).map_err(|_| too_long(terms.len()))?;
        // The first half is sent, the second received. Open MPI refuses two buffers at one address,
        // so a byte lies between them even without terms.
        let mine: Vec<Pair> = terms.iter().copied().map(encode).collect();
        let mut both: Vec<u8> = mine
            .as_flattened()
            .iter()
            .flat_map(|n| n.to_ne_bytes())
            .collect();
        let length = both.len();
        let second = length.max(size_of::<Pair>());
        both.resize(second + length, 0);
        let mut request = self.request(CALL.to_string(), both, None);
        // SAFETY: the request owns the buffer until MPI is done with it; both its parts hold
        // `count` pairs, and `pair` is that type.
        let code = unsafe {
            let from = request.buffer.as_mut_ptr();
            let (from, to) = (from.cast::<c_void>(), from.add(second).cast::<c_void>());
            let (pair, combine) = (self.pair, self.combine);
            MPI_Iallreduce(
                from,
                to,
                count,
                pair,
                combine,
                self.handle.comm,
                &mut request.handle,
            )
        };
        self.handle.check(CALL, code)?;
        let both = Box::new(request).wait()?;
        self.handle.is_complete();
        let all = both.get(second..).unwrap_or_default();
        let (numbers, _) = all.as_chunks::<8>();
        let (pairs, _) = numbers.as_chunks::<2>();
        for (term, [kind, value]) in terms.iter_mut().zip(pairs) {
            let pair = [i64::from_ne_bytes(*kind), i64::from_ne_bytes(*value)];
            *term = decode(pair)
                .ok_or_else(|| failure(CALL, "ranks passed terms of different kinds"))?;
        }
        Ok(())
    }

    fn revoke(&self) {
        if self.thread.check("MPIX_Comm_revoke").is_ok() && matches!(finalized(), Ok(false)) {
            self.handle.revoke();
        }
    }

    fn alone_in(&self) -> Option<String> {
        (self.size == 1).then(calls::alone_in).flatten()
    }

    fn abort(&self, code: i32) -> ! {
        if self.thread.check("MPI_Abort").is_ok() && matches!(finalized(), Ok(false)) {
            // SAFETY: MPI is usable from this thread and the communicator is ours.
            unsafe { MPI_Abort(self.handle.comm, code) };
        }
        std::process::abort()
    }
}
