//! The functions of an MPI, and the handles and constants of its family: of the MPI that the library is linked with
//! (feature `mpi`), or of the one that is found in the process when it is first needed (`any-mpi`).

// The names of C.
#![allow(non_camel_case_types)]

mod calls;
mod constants;
#[cfg(not(feature = "mpi"))]
mod find;
mod functions;
mod handle;
#[cfg(feature = "mpi")]
mod linked;
#[cfg(not(feature = "mpi"))]
mod search;

use self::calls::{
    Comm_get_failed, Comm_is_revoked, Comm_revoke, MPI_Error_class, NO_MPI, functions,
};
pub(super) use self::calls::{
    MPI_Abort, MPI_Cancel, MPI_Comm_dup, MPI_Comm_free, MPI_Comm_free_keyval,
    MPI_Comm_get_errhandler, MPI_Comm_get_parent, MPI_Comm_group, MPI_Comm_rank, MPI_Comm_set_attr,
    MPI_Comm_set_errhandler, MPI_Comm_size, MPI_Comm_test_inter, MPI_Errhandler_free,
    MPI_Error_string, MPI_Finalized, MPI_Get_elements_x, MPI_Get_library_version, MPI_Group_free,
    MPI_Group_size, MPI_Group_translate_ranks, MPI_Iallreduce, MPI_Ibarrier, MPI_Improbe,
    MPI_Imrecv, MPI_Initialized, MPI_Irecv, MPI_Isend, MPI_Op_create, MPI_Op_free,
    MPI_Query_thread, MPI_Test, MPI_Type_commit, MPI_Type_contiguous, MPI_Type_create_struct,
    MPI_Type_free, MPI_Wait,
};
use self::constants::{Handles, Numbers};
#[cfg(not(feature = "mpi"))]
use self::find::found;
#[cfg(not(feature = "mpi"))]
pub(super) use self::find::{check_family, leave_other};
use self::functions::{Forms, Functions};
use self::handle::{Form, Handle};
#[cfg(feature = "mpi")]
use self::linked::{Library, found};
#[cfg(feature = "mpi")]
pub(super) use self::linked::{check_linked, leave_other};
#[cfg(not(feature = "mpi"))]
use self::search::Library;
use super::attribute::{copy, delete};
use std::ffi::c_int;
use std::ptr;

pub(super) type Comm = Handle;
pub(super) type MPI_Datatype = Handle;
pub(super) type MPI_Errhandler = Handle;
pub(super) type MPI_Group = Handle;
pub(super) type MPI_Op = Handle;
pub(super) type MPI_Request = Handle;
pub(super) type MPI_Aint = isize;
pub(super) type MPI_Count = i64;

/// Room for the status of any MPI: they have 20 to 32 bytes.
#[repr(C, align(8))]
pub(super) struct MPI_Status([c_int; 16]);

/// Room for any MPI's error text (MPI_MAX_ERROR_STRING is 256 or 512).
const ERROR_TEXT: usize = 4096;

/// An MPI that can be called.
struct Mpi {
    functions: Forms,
    handles: Handles,
    numbers: Numbers,
}

macro_rules! handles_found {
    ($($name:ident)*) => {
        $(pub(super) fn $name() -> Handle {
            found().map_or_else(|| 0_usize.handle(), |mpi| mpi.handles.$name)
        })*
    };
}

handles_found! {
    comm_null comm_world comm_self group_null message_null errors_return request_null datatype_null uint8 int64 op_max
}

pub(super) fn any_source() -> c_int {
    found().map_or(-1, |mpi| mpi.numbers.any_source)
}

pub(super) fn thread_serialized() -> c_int {
    found().map_or(c_int::MAX, |mpi| mpi.numbers.thread_serialized)
}

/// The sender of a message that was received.
pub(super) fn source(status: &MPI_Status) -> c_int {
    let at = found().map(|mpi| mpi.numbers.source_in_status);
    at.and_then(|at| status.0.get(at).copied()).unwrap_or(-1)
}

/// A handle as the program gives it: C says nothing about the rest of a register in which there is an `int`.
pub(super) fn of_caller(comm: Handle) -> Handle {
    match functions() {
        Some(Forms::Integers(_)) => c_int::of(comm).handle(),
        _ => comm,
    }
}

/// The handle of a communicator that Fortran knows by a number.
pub(super) fn of_fortran(comm: c_int) -> Handle {
    match functions() {
        Some(Forms::Pointers(Functions {
            of_fortran: Some(convert),
            ..
        })) => {
            // SAFETY: MPI takes any number; one that it does not know gives a handle that it refuses.
            unsafe { convert(comm) }.handle()
        }
        _ => comm.handle(),
    }
}

/// Makes a key of attributes with the functions of `attribute`.
///
/// # Safety
/// MPI can be called.
pub(super) unsafe fn create_keyval(key: &mut c_int) -> c_int {
    // SAFETY: the caller's promise. The functions have the form that this MPI asks for and stay in memory (libscr cannot
    // be unloaded); NULL is for state that neither uses.
    unsafe {
        match functions() {
            Some(Forms::Integers(f)) => (f.MPI_Comm_create_keyval)(
                Some(copy::<c_int>),
                Some(delete::<c_int>),
                key,
                ptr::null_mut(),
            ),
            Some(Forms::Pointers(f)) => (f.MPI_Comm_create_keyval)(
                Some(copy::<usize>),
                Some(delete::<usize>),
                key,
                ptr::null_mut(),
            ),
            None => NO_MPI,
        }
    }
}

/// True if this MPI has ULFM.
pub(super) fn has_ulfm() -> bool {
    match functions() {
        Some(Forms::Integers(f)) => f.has_ulfm(),
        Some(Forms::Pointers(f)) => f.has_ulfm(),
        None => false,
    }
}

/// True if a call returned this code because a process has failed, or the communicator was revoked. The numbers of these
/// classes of errors are not the same in all versions of an MPI, but its text of a class begins with the name.
pub(super) fn is_failure(code: c_int) -> bool {
    if code == 0 || !has_ulfm() {
        return false;
    }
    let mut text = [0_u8; ERROR_TEXT];
    let (mut class, mut length) = (0, 0);
    // SAFETY: the pointers are to live locals; the buffer is larger than MPI_MAX_ERROR_STRING.
    let told = unsafe {
        MPI_Error_class(code, &mut class) == 0
            && MPI_Error_string(class, text.as_mut_ptr().cast(), &mut length) == 0
    };
    let text = text.get(..usize::try_from(length).unwrap_or(0));
    let text = String::from_utf8_lossy(text.unwrap_or_default());
    told && ["ERR_PROC_FAILED", "ERR_REVOKED"]
        .iter()
        .any(|name| text.contains(name))
}

/// Makes all calls of all processes on a communicator fail.
///
/// # Safety
/// MPI can be called, and the communicator is alive.
pub(super) unsafe fn revoke(comm: Handle) {
    // SAFETY: the caller's promise.
    unsafe { Comm_revoke(comm) };
}

/// True if all calls on a communicator fail.
///
/// # Safety
/// As [`revoke`].
pub(super) unsafe fn is_revoked(comm: Handle) -> bool {
    let mut revoked = 0;
    // SAFETY: the caller's promise; the pointer is to a live local.
    unsafe { Comm_is_revoked(comm, &mut revoked) == 0 && revoked != 0 }
}

/// The processes of a communicator that are known to have failed, as a group to be freed.
///
/// # Safety
/// As [`revoke`].
pub(super) unsafe fn failed(comm: Handle) -> Option<MPI_Group> {
    let mut group = group_null();
    // SAFETY: the caller's promise; the pointer is to a live local.
    (unsafe { Comm_get_failed(comm, &mut group) } == 0).then_some(group)
}
