//! Calls of MPI: checks of their threads and of their results.

use super::raw::{
    MPI_Comm_get_parent, MPI_Comm_size, MPI_Count, MPI_Error_string, MPI_Finalized,
    MPI_Get_elements_x, MPI_Get_library_version, MPI_Query_thread, MPI_Status, comm_null,
    comm_world, thread_serialized, uint8,
};
use super::version_text::short;
use crate::{Error, Result};
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::thread::ThreadId;

/// Room for any MPI's error text (MPI_MAX_ERROR_STRING is 256 or 512).
const ERROR_TEXT: usize = 4096;

/// Room for any MPI's version text (MPI_MAX_LIBRARY_VERSION_STRING is 256 or 8192).
const VERSION_TEXT: usize = 16384;

/// The thread that may call MPI; `None` if any may.
#[derive(Clone, Copy)]
pub(super) struct MpiThread(Option<ThreadId>);

impl MpiThread {
    pub(super) fn here() -> Result<Self> {
        let mut level: c_int = 0;
        // SAFETY: MPI is initialised; the pointer is to a live local.
        check("MPI_Query_thread", unsafe { MPI_Query_thread(&mut level) })?;
        let many = level >= thread_serialized();
        Ok(MpiThread((!many).then(|| std::thread::current().id())))
    }

    pub(super) fn check(self, call: &str) -> Result<()> {
        match self.0 {
            Some(thread) if thread != std::thread::current().id() => Err(failure(
                call,
                "called from another thread than SCR_Init, which MPI's thread level forbids",
            )),
            _ => Ok(()),
        }
    }
}

pub(super) fn empty_status() -> MPI_Status {
    // SAFETY: a C struct of integers, for which zero is a value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Length of a received message, bytes.
pub(super) fn received(status: &MPI_Status) -> Result<usize> {
    const CALL: &str = "MPI_Get_elements_x";
    let mut count: MPI_Count = 0;
    // SAFETY: a status that MPI filled in, and a live local.
    check(CALL, unsafe {
        MPI_Get_elements_x(status, uint8(), &mut count)
    })?;
    usize::try_from(count).map_err(|_| failure(CALL, "the message's length is undefined"))
}

/// Asks MPI_Initialized or MPI_Finalized, which are allowed at any time.
pub(super) fn flag(
    call: &str,
    function: unsafe extern "C" fn(*mut c_int) -> c_int,
) -> Result<bool> {
    let mut flag: c_int = 0;
    // SAFETY: the pointer is to a live local.
    check(call, unsafe { function(&mut flag) })?;
    Ok(flag != 0)
}

pub(super) fn finalized() -> Result<bool> {
    flag("MPI_Finalized", MPI_Finalized)
}

/// The text of `MPI_Get_library_version`.
pub(super) fn running() -> Result<String> {
    let mut text = vec![0_u8; VERSION_TEXT];
    let mut length: c_int = 0;
    // SAFETY: the call is allowed at any time and takes no handle, so it may be that of any MPI; the
    // buffer is larger than MPI_MAX_LIBRARY_VERSION_STRING.
    check("MPI_Get_library_version", unsafe {
        MPI_Get_library_version(text.as_mut_ptr().cast::<c_char>(), &mut length)
    })?;
    text.truncate(usize::try_from(length).unwrap_or(0));
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The name of the MPI, if this process is the only one in its MPI_COMM_WORLD and no other has spawned it. Local; MPI can be
/// called.
pub(super) fn alone_in() -> Option<String> {
    let mut size: c_int = 0;
    let mut parent = comm_null();
    // SAFETY: the pointers are to live locals.
    unsafe {
        check("MPI_Comm_size", MPI_Comm_size(comm_world(), &mut size)).ok()?;
        check("MPI_Comm_get_parent", MPI_Comm_get_parent(&mut parent)).ok()?;
    }
    let alone = size == 1 && parent == comm_null();
    alone.then(|| running().map(|version| short(&version)).ok())?
}

/// MPI_SUCCESS is 0 by the standard (section 8.4); any other code becomes MPI's words.
pub(super) fn check(call: &str, code: c_int) -> Result<()> {
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

pub(super) fn failure(call: &str, what: impl Into<String>) -> Error {
    Error::comm(call, what.into())
}

pub(super) fn too_long(length: usize) -> Error {
    failure("MPI", format!("{length} is more than MPI can count"))
}
