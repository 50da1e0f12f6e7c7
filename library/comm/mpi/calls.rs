//! Calls of MPI: from which thread, with what result.

use crate::{Error, Result};
use mpi::ffi::{
    MPI_Count, MPI_Error_string, MPI_Finalized, MPI_Get_elements_x, MPI_Query_thread, MPI_Status,
    RSMPI_THREAD_SERIALIZED, RSMPI_UINT8_T,
};
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::thread::ThreadId;

/// Room for any MPI's error text (MPI_MAX_ERROR_STRING is 256 or 512).
const ERROR_TEXT: usize = 4096;

/// The thread that may call MPI; `None` if any may.
#[derive(Clone, Copy)]
pub(super) struct MpiThread(Option<ThreadId>);

impl MpiThread {
    pub(super) fn here() -> Result<Self> {
        let mut level: c_int = 0;
        // SAFETY: MPI is initialised; the pointer is to a live local.
        check("MPI_Query_thread", unsafe { MPI_Query_thread(&mut level) })?;
        // SAFETY: constant of the C library.
        let many = level >= unsafe { RSMPI_THREAD_SERIALIZED };
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
        MPI_Get_elements_x(status, RSMPI_UINT8_T, &mut count)
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
