//! The transport over a real MPI (3.0 or newer).
//!
//! Works at any thread level: MPI is called by the caller's thread alone, and below
//! MPI_THREAD_SERIALIZED a call from another thread than the one that made the communicator
//! is refused. Every return code is checked; errors on our communicator are returned, not
//! fatal. Nothing here relies on how an MPI represents its handles.

use super::threads::Rank;
use super::{Communicator, Pending, Tag, Term, check_length, check_rank};
use crate::{Error, Result};
use mpi::ffi::{
    MPI_Abort, MPI_Aint, MPI_Allreduce, MPI_Barrier, MPI_Cancel, MPI_Comm, MPI_Comm_dup,
    MPI_Comm_free, MPI_Comm_get_errhandler, MPI_Comm_rank, MPI_Comm_set_errhandler, MPI_Comm_size,
    MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_Errhandler_free, MPI_Error_string, MPI_Finalized,
    MPI_Get_elements_x, MPI_Initialized, MPI_Irecv, MPI_Isend, MPI_Mprobe, MPI_Mrecv, MPI_Op,
    MPI_Op_create, MPI_Op_free, MPI_Query_thread, MPI_Request, MPI_Status, MPI_Test,
    MPI_Type_commit, MPI_Type_contiguous, MPI_Type_create_struct, MPI_Type_free, MPI_Wait,
    RSMPI_COMM_NULL, RSMPI_COMM_WORLD, RSMPI_DATATYPE_NULL, RSMPI_ERRORS_RETURN, RSMPI_INT64_T,
    RSMPI_MAX, RSMPI_MESSAGE_NULL, RSMPI_REQUEST_NULL, RSMPI_STATUS_IGNORE,
    RSMPI_THREAD_SERIALIZED, RSMPI_UINT8_T,
};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

/// MPI counts are `int`: longer messages travel as a derived type of blocks of this size.
const BLOCK: usize = 1 << 30;

/// Room for any MPI's error text (MPI_MAX_ERROR_STRING is 256 or 512).
const ERROR_TEXT: usize = 4096;

/// A communicator of our own over MPI ranks.
///
/// To be dropped by all ranks at the same point, and before MPI_Finalize; a later drop frees
/// nothing and does no harm.
pub struct Mpi {
    comm: MPI_Comm,
    /// Combines terms, each encoded as the pair (kind, value).
    combine: MPI_Op,
    pair: MPI_Datatype,
    rank: usize,
    size: usize,
    block: usize,
    home: Home,
    /// Carries the messages of this rank to itself, because Open MPI 4.1 cuts those that are
    /// longer than the receiver's buffer without a word.
    to_self: Rank,
}

// SAFETY: MPI handles name objects of the process, not of a thread. Which threads may use
// them depends on the thread level, which `Home::check` enforces before each call.
unsafe impl Send for Mpi {}
// SAFETY: as above; at MPI_THREAD_SERIALIZED it is the application that keeps its calls, and
// so ours, from overlapping.
unsafe impl Sync for Mpi {}

impl Mpi {
    /// Duplicates MPI_COMM_WORLD, with an error handler that returns. An error if MPI is not
    /// initialised, or is finalised already. Collective.
    pub fn dup_world() -> Result<Mpi> {
        if !flag("MPI_Initialized", MPI_Initialized)? {
            return Err(failure(
                "MPI_Comm_dup",
                "MPI is not initialised; call MPI_Init first",
            ));
        }
        if finalized()? {
            return Err(failure("MPI_Comm_dup", "MPI is finalised already"));
        }
        let mut mpi = Mpi {
            // SAFETY: constants of the C library, never written.
            comm: unsafe { RSMPI_COMM_NULL },
            // SAFETY: as above; stands in until there is an operation of our own.
            combine: unsafe { RSMPI_MAX },
            // SAFETY: as above.
            pair: unsafe { RSMPI_DATATYPE_NULL },
            rank: 0,
            size: 1,
            block: BLOCK,
            home: Home::here()?,
            to_self: Rank::alone(),
        };
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: MPI is initialised and not finalised; all pointers are to live locals or
        // fields of the type MPI expects.
        unsafe {
            check(
                "MPI_Comm_dup",
                MPI_Comm_dup(RSMPI_COMM_WORLD, &mut mpi.comm),
            )?;
            let handler = MPI_Comm_set_errhandler(mpi.comm, RSMPI_ERRORS_RETURN);
            check("MPI_Comm_set_errhandler", handler)?;
            check("MPI_Comm_rank", MPI_Comm_rank(mpi.comm, &mut rank))?;
            check("MPI_Comm_size", MPI_Comm_size(mpi.comm, &mut size))?;
            let pair = MPI_Type_contiguous(2, RSMPI_INT64_T, &mut mpi.pair);
            check("MPI_Type_contiguous", pair)?;
            check("MPI_Type_commit", MPI_Type_commit(&mut mpi.pair))?;
            check(
                "MPI_Op_create",
                MPI_Op_create(Some(combine_pairs), 1, &mut mpi.combine),
            )?;
        }
        mpi.rank = usize::try_from(rank).unwrap_or_default();
        mpi.size = usize::try_from(size).unwrap_or(1);
        Ok(mpi)
    }

    /// Sets from which length on, in bytes, messages travel as a derived type: 1 GiB unless
    /// told, at least 1. Ranks may differ. Tests make it small.
    pub fn set_block(&mut self, bytes: usize) {
        self.block = bytes.clamp(1, BLOCK);
    }

    fn peer(&self, call: &'static str, rank: usize) -> Result<c_int> {
        check_rank(call, rank, self.size)?;
        c_int::try_from(rank).map_err(|_| failure(call, "the rank is no int"))
    }

    /// Exactly `length` bytes, as a count and a type.
    fn shape(&self, length: usize) -> Result<Shape> {
        // SAFETY: constant of the C library.
        let byte = unsafe { RSMPI_UINT8_T };
        if length <= self.block {
            let count = c_int::try_from(length).map_err(|_| too_long(length))?;
            return Ok(Shape {
                count,
                datatype: byte,
                ours: false,
            });
        }
        let block = c_int::try_from(self.block).map_err(|_| too_long(length))?;
        let blocks = c_int::try_from(length / self.block).map_err(|_| too_long(length))?;
        let tail = c_int::try_from(length % self.block).map_err(|_| too_long(length))?;
        let tail_at = MPI_Aint::try_from(length - length % self.block);
        let tail_at = tail_at.map_err(|_| too_long(length))?;
        // SAFETY: constant of the C library.
        let null = unsafe { RSMPI_DATATYPE_NULL };
        let mut whole = Shape {
            count: 1,
            datatype: null,
            ours: true,
        };
        let mut one = Shape {
            count: 1,
            datatype: null,
            ours: true,
        };
        // SAFETY: the arrays have the two elements announced; types are committed before
        // use, and freed by `Shape` once made, which MPI delays until no transfer needs them.
        unsafe {
            check(
                "MPI_Type_contiguous",
                MPI_Type_contiguous(block, byte, &mut one.datatype),
            )?;
            let made = MPI_Type_create_struct(
                2,
                [blocks, tail].as_ptr(),
                [0, tail_at].as_ptr(),
                [one.datatype, byte].as_ptr(),
                &mut whole.datatype,
            );
            check("MPI_Type_create_struct", made)?;
            check("MPI_Type_commit", MPI_Type_commit(&mut whole.datatype))?;
        }
        Ok(whole)
    }

    fn request(&self, call: String, buffer: Vec<u8>, receive: Option<(usize, Tag)>) -> Request {
        // SAFETY: constant of the C library.
        let handle = unsafe { RSMPI_REQUEST_NULL };
        Request {
            handle,
            buffer,
            call,
            receive,
            home: self.home,
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.home.check("MPI_Comm_free").is_err() || !matches!(finalized(), Ok(false)) {
            return;
        }
        // SAFETY: MPI is usable from this thread; what was never made is still the constant
        // that it was initialised with. There is nobody to tell of an error any more.
        unsafe {
            if self.combine != RSMPI_MAX {
                MPI_Op_free(&mut self.combine);
            }
            if self.pair != RSMPI_DATATYPE_NULL {
                MPI_Type_free(&mut self.pair);
            }
            if self.comm != RSMPI_COMM_NULL {
                MPI_Comm_free(&mut self.comm);
            }
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
        self.home.check("MPI_Isend")?;
        let peer = self.peer("MPI_Isend", to)?;
        if to == self.rank {
            return self.to_self.isend(0, tag, data);
        }
        let shape = self.shape(data.len())?;
        let call = format!("MPI_Isend to rank {to}");
        let mut request = self.request(call, data, None);
        // SAFETY: the request owns the buffer, whose heap memory stays where it is, until
        // MPI is done with it (see `Request`). The shape covers exactly the buffer.
        let code = unsafe {
            let start = request.buffer.as_ptr().cast::<c_void>();
            let (count, datatype) = (shape.count, shape.datatype);
            let tag = c_int::from(tag);
            MPI_Isend(
                start,
                count,
                datatype,
                peer,
                tag,
                self.comm,
                &mut request.handle,
            )
        };
        check(&request.call, code)?;
        Ok(Box::new(request))
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.home.check("MPI_Irecv")?;
        let peer = self.peer("MPI_Irecv", from)?;
        if from == self.rank {
            return self.to_self.irecv(0, tag, buffer);
        }
        let shape = self.shape(buffer.len())?;
        let call = format!("MPI_Irecv from rank {from}");
        let mut request = self.request(call, buffer, Some((from, tag)));
        // SAFETY: as for the send; nobody reads or writes the buffer until it is complete.
        let code = unsafe {
            let start = request.buffer.as_mut_ptr().cast::<c_void>();
            let (count, datatype) = (shape.count, shape.datatype);
            let tag = c_int::from(tag);
            MPI_Irecv(
                start,
                count,
                datatype,
                peer,
                tag,
                self.comm,
                &mut request.handle,
            )
        };
        check(&request.call, code)?;
        Ok(Box::new(request))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.home.check("MPI_Mprobe")?;
        let peer = self.peer("MPI_Mprobe", from)?;
        if from == self.rank {
            return self.to_self.recv(0, tag);
        }
        let call = format!("MPI_Mprobe from rank {from}");
        // SAFETY: constant of the C library.
        let mut message = unsafe { RSMPI_MESSAGE_NULL };
        let mut status = empty_status();
        // SAFETY: live locals of the right types.
        let code =
            unsafe { MPI_Mprobe(peer, c_int::from(tag), self.comm, &mut message, &mut status) };
        check(&call, code)?;
        let length = received(&status)?;
        let mut buffer = Vec::new();
        buffer
            .try_reserve_exact(length)
            .map_err(|_| failure(&call, format!("no memory for a message of {length} bytes")))?;
        buffer.resize(length, 0);
        let shape = self.shape(length)?;
        // SAFETY: the shape covers exactly the buffer, which outlives this blocking call.
        let code = unsafe {
            let start = buffer.as_mut_ptr().cast::<c_void>();
            MPI_Mrecv(
                start,
                shape.count,
                shape.datatype,
                &mut message,
                RSMPI_STATUS_IGNORE,
            )
        };
        check(&format!("MPI_Mrecv from rank {from}"), code)?;
        Ok(buffer)
    }

    fn barrier(&self) -> Result<()> {
        self.home.check("MPI_Barrier")?;
        // SAFETY: the communicator is ours and alive.
        check("MPI_Barrier", unsafe { MPI_Barrier(self.comm) })
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        const CALL: &str = "MPI_Allreduce";
        self.home.check(CALL)?;
        let count = c_int::try_from(terms.len()).map_err(|_| too_long(terms.len()))?;
        let mine: Vec<Pair> = terms.iter().copied().map(encode).collect();
        let mut all = mine.clone();
        // SAFETY: both buffers hold `count` pairs, and `pair` is that type.
        let code = unsafe {
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            MPI_Allreduce(from, to, count, self.pair, self.combine, self.comm)
        };
        check(CALL, code)?;
        for (term, pair) in terms.iter_mut().zip(all) {
            *term = decode(pair)
                .ok_or_else(|| failure(CALL, "ranks passed terms of different kinds"))?;
        }
        Ok(())
    }

    fn abort(&self, code: i32) -> ! {
        if self.home.check("MPI_Abort").is_ok() && matches!(finalized(), Ok(false)) {
            // SAFETY: MPI is usable from this thread and the communicator is ours.
            unsafe { MPI_Abort(self.comm, code) };
        }
        std::process::abort()
    }
}

/// A transfer under way. The buffer is MPI's until the handle is null again.
struct Request {
    handle: MPI_Request,
    buffer: Vec<u8>,
    call: String,
    /// Source and tag of a receive.
    receive: Option<(usize, Tag)>,
    home: Home,
}

// SAFETY: as for `Mpi`; each use checks the thread first.
unsafe impl Send for Request {}

impl Pending for Request {
    fn wait(mut self: Box<Self>) -> Result<Vec<u8>> {
        self.home.check("MPI_Wait")?;
        let mut status = empty_status();
        let errors_return = WorldErrorsReturn::new()?;
        // SAFETY: the handle is of an active request of ours.
        let code = unsafe { MPI_Wait(&mut self.handle, &mut status) };
        drop(errors_return);
        check(&self.call, code)?;
        if let Some((from, tag)) = self.receive {
            check_length(from, tag, self.buffer.len(), received(&status)?)?;
        }
        Ok(std::mem::take(&mut self.buffer))
    }
}

/// While one of these lives, errors on MPI_COMM_WORLD are returned.
///
/// MPICH (4.0) has forgotten the communicator when it reports the error of a completed
/// request, and applies the handler of MPI_COMM_WORLD, by default the end of the job. The
/// handler belongs to the application, so it is put back by the last of those alive.
struct WorldErrorsReturn;

/// How many are alive, and the application's handler.
static WORLD_ERRORS: Mutex<(usize, Option<Handler>)> = Mutex::new((0, None));

struct Handler(MPI_Errhandler);

// SAFETY: as for `Mpi`; a handle that is not bound to a thread.
unsafe impl Send for Handler {}

impl WorldErrorsReturn {
    fn new() -> Result<Self> {
        let mut alive = WORLD_ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
        if alive.0 == 0 {
            // SAFETY: the thread was checked by the caller; constants of the C library, and a
            // pointer to a live local.
            unsafe {
                let mut handler = RSMPI_ERRORS_RETURN;
                let got = MPI_Comm_get_errhandler(RSMPI_COMM_WORLD, &mut handler);
                check("MPI_Comm_get_errhandler", got)?;
                alive.1 = Some(Handler(handler));
                let set = MPI_Comm_set_errhandler(RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN);
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
                MPI_Comm_set_errhandler(RSMPI_COMM_WORLD, handler);
                MPI_Errhandler_free(&mut handler);
            }
        }
    }
}

/// Nobody waited, or the wait failed: memory that MPI may still use must not be freed. A
/// receive is cancelled. The buffer of a send is leaked unless it happens to be over,
/// because to cancel a send is not reliable, and to wait for it could take for ever.
impl Drop for Request {
    fn drop(&mut self) {
        let usable = || self.home.check("MPI_Cancel").is_ok() && matches!(finalized(), Ok(false));
        // SAFETY: constant of the C library.
        let null = unsafe { RSMPI_REQUEST_NULL };
        if self.handle != null && usable() {
            let mut done: c_int = 0;
            let _errors_return = WorldErrorsReturn::new();
            // SAFETY: the handle is of an active request of ours. Cancel and wait end a
            // receive for good: either it was cancelled, or its message is coming in.
            unsafe {
                if self.receive.is_none() {
                    MPI_Test(&mut self.handle, &mut done, RSMPI_STATUS_IGNORE);
                } else if MPI_Cancel(&mut self.handle) == 0 {
                    MPI_Wait(&mut self.handle, RSMPI_STATUS_IGNORE);
                }
            }
        }
        if self.handle != null {
            std::mem::forget(std::mem::take(&mut self.buffer));
        }
    }
}

/// Count and type of a buffer.
struct Shape {
    count: c_int,
    datatype: MPI_Datatype,
    /// To be freed by us.
    ours: bool,
}

impl Drop for Shape {
    fn drop(&mut self) {
        // SAFETY: a type that we made and that nobody else holds. MPI keeps it alive for
        // transfers under way.
        unsafe {
            if self.ours && self.datatype != RSMPI_DATATYPE_NULL {
                MPI_Type_free(&mut self.datatype);
            }
        }
    }
}

/// The thread that may call MPI; `None` if any may.
#[derive(Clone, Copy)]
struct Home(Option<ThreadId>);

impl Home {
    fn here() -> Result<Self> {
        let mut level: c_int = 0;
        // SAFETY: MPI is initialised; the pointer is to a live local.
        check("MPI_Query_thread", unsafe { MPI_Query_thread(&mut level) })?;
        // SAFETY: constant of the C library.
        let many = level >= unsafe { RSMPI_THREAD_SERIALIZED };
        Ok(Home((!many).then(|| std::thread::current().id())))
    }

    fn check(self, call: &str) -> Result<()> {
        match self.0 {
            Some(home) if home != std::thread::current().id() => Err(failure(
                call,
                "called from another thread than SCR_Init, which MPI's thread level forbids",
            )),
            _ => Ok(()),
        }
    }
}

type Pair = [i64; 2];

const SUM: i64 = 0;
const MAX: i64 = 1;
const MIN: i64 = 2;
/// What becomes of terms that cannot be combined, and of all that it is combined with.
const MISFIT: Pair = [-1, 0];

fn encode(term: Term) -> Pair {
    match term {
        Term::Sum(value) => [SUM, value],
        Term::Max(value) => [MAX, value],
        Term::Min(value) => [MIN, value],
    }
}

fn decode([kind, value]: Pair) -> Option<Term> {
    match kind {
        SUM => Some(Term::Sum(value)),
        MAX => Some(Term::Max(value)),
        MIN => Some(Term::Min(value)),
        _ => None,
    }
}

fn combine(left: Pair, right: Pair) -> Pair {
    match (decode(left), decode(right)) {
        (Some(left), Some(right)) => left.combine(right).map_or(MISFIT, encode),
        _ => MISFIT,
    }
}

/// The user-defined operation (MPI 3.1, section 5.9.5): `inout[i] = in[i] op inout[i]`.
///
/// SAFETY: called by MPI only, with two arrays of `*len` pairs.
unsafe extern "C" fn combine_pairs(
    input: *mut c_void,
    inout: *mut c_void,
    len: *mut c_int,
    _datatype: *mut MPI_Datatype,
) {
    let (input, inout) = (input.cast::<Pair>(), inout.cast::<Pair>());
    // SAFETY: MPI passes a valid length, and arrays of that many pairs. MPI's own temporary
    // buffers need not be aligned for us.
    unsafe {
        for i in 0..usize::try_from(*len).unwrap_or(0) {
            let combined = combine(input.add(i).read_unaligned(), inout.add(i).read_unaligned());
            inout.add(i).write_unaligned(combined);
        }
    }
}

fn empty_status() -> MPI_Status {
    // SAFETY: a C struct of integers, for which zero is a value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Length of a received message, bytes.
fn received(status: &MPI_Status) -> Result<usize> {
    const CALL: &str = "MPI_Get_elements_x";
    let mut count: MPI_Count = 0;
    // SAFETY: a status that MPI filled in, and a live local.
    check(CALL, unsafe {
        MPI_Get_elements_x(status, RSMPI_UINT8_T, &mut count)
    })?;
    usize::try_from(count).map_err(|_| failure(CALL, "the message's length is undefined"))
}

/// Asks MPI_Initialized or MPI_Finalized, which are allowed at any time.
fn flag(call: &str, function: unsafe extern "C" fn(*mut c_int) -> c_int) -> Result<bool> {
    let mut flag: c_int = 0;
    // SAFETY: the pointer is to a live local.
    check(call, unsafe { function(&mut flag) })?;
    Ok(flag != 0)
}

fn finalized() -> Result<bool> {
    flag("MPI_Finalized", MPI_Finalized)
}

/// MPI_SUCCESS is 0 by the standard (section 8.4); any other code becomes MPI's words.
fn check(call: &str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let mut text = [0_u8; ERROR_TEXT];
    let mut length: c_int = 0;
    // SAFETY: the buffer is larger than MPI_MAX_ERROR_STRING.
    let told = unsafe { MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0);
    Err(match text.get(..length) {
        Some(text) if told == 0 => failure(call, String::from_utf8_lossy(text)),
        _ => failure(call, format!("MPI error {code}")),
    })
}

fn failure(call: &str, what: impl Into<String>) -> Error {
    Error::Comm {
        call: call.to_string(),
        what: what.into(),
    }
}

fn too_long(length: usize) -> Error {
    failure("MPI", format!("{length} is more than MPI can count"))
}
