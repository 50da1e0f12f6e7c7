//! The MPI that the library is built with, through the crate `mpi`: its functions, handles and constants.

use super::attribute::{copy, delete};
pub(super) use mpi::ffi::{
    MPI_Abort, MPI_Aint, MPI_Cancel, MPI_Comm_dup, MPI_Comm_free, MPI_Comm_free_keyval,
    MPI_Comm_get_errhandler, MPI_Comm_get_parent, MPI_Comm_group, MPI_Comm_rank, MPI_Comm_set_attr,
    MPI_Comm_set_errhandler, MPI_Comm_size, MPI_Comm_test_inter, MPI_Count, MPI_Datatype,
    MPI_Errhandler, MPI_Errhandler_free, MPI_Error_string, MPI_Finalized, MPI_Get_elements_x,
    MPI_Get_library_version, MPI_Group, MPI_Group_free, MPI_Group_size, MPI_Group_translate_ranks,
    MPI_Iallreduce, MPI_Ibarrier, MPI_Improbe, MPI_Imrecv, MPI_Initialized, MPI_Irecv, MPI_Isend,
    MPI_Message, MPI_Op, MPI_Op_create, MPI_Op_free, MPI_Query_thread, MPI_Request, MPI_Status,
    MPI_Test, MPI_Type_commit, MPI_Type_contiguous, MPI_Type_create_struct, MPI_Type_free,
    MPI_Wait,
};
use mpi::ffi::{
    MPI_Comm, MPI_Comm_create_keyval, MPI_Finalize, RSMPI_ANY_SOURCE, RSMPI_COMM_NULL,
    RSMPI_COMM_SELF, RSMPI_COMM_WORLD, RSMPI_DATATYPE_NULL, RSMPI_ERRORS_RETURN, RSMPI_GROUP_NULL,
    RSMPI_INT64_T, RSMPI_MAX, RSMPI_MESSAGE_NULL, RSMPI_REQUEST_NULL, RSMPI_THREAD_SERIALIZED,
    RSMPI_UINT8_T,
};
use std::ffi::c_int;
use std::ptr;

pub(super) type Comm = MPI_Comm;

unsafe extern "C" {
    // Defined in `failure.c`.
    fn scr_ulfm_is_there() -> c_int;
    fn scr_ulfm_is_failure(code: c_int) -> c_int;
    fn scr_ulfm_revoke(comm: MPI_Comm);
    fn scr_ulfm_is_revoked(comm: MPI_Comm) -> c_int;
    fn scr_ulfm_failed(comm: MPI_Comm, group: *mut MPI_Group) -> c_int;
    fn scr_comm_of_fortran(comm: c_int) -> MPI_Comm;
}

macro_rules! constants {
    ($($name:ident: $type:ty = $value:ident;)*) => {
        $(pub(super) fn $name() -> $type {
            // SAFETY: constant of the C library, never written.
            unsafe { $value }
        })*
    };
}

constants! {
    comm_world: MPI_Comm = RSMPI_COMM_WORLD;
    comm_self: MPI_Comm = RSMPI_COMM_SELF;
    comm_null: MPI_Comm = RSMPI_COMM_NULL;
    group_null: MPI_Group = RSMPI_GROUP_NULL;
    request_null: MPI_Request = RSMPI_REQUEST_NULL;
    message_null: MPI_Message = RSMPI_MESSAGE_NULL;
    datatype_null: MPI_Datatype = RSMPI_DATATYPE_NULL;
    int64: MPI_Datatype = RSMPI_INT64_T;
    uint8: MPI_Datatype = RSMPI_UINT8_T;
    op_max: MPI_Op = RSMPI_MAX;
    errors_return: MPI_Errhandler = RSMPI_ERRORS_RETURN;
    any_source: c_int = RSMPI_ANY_SOURCE;
    thread_serialized: c_int = RSMPI_THREAD_SERIALIZED;
}

/// The sender of a message that was received.
pub(super) fn source(status: &MPI_Status) -> c_int {
    status.MPI_SOURCE
}

/// A handle as the program gives it.
pub(super) fn of_caller(comm: MPI_Comm) -> MPI_Comm {
    comm
}

/// The handle of a communicator that Fortran knows by a number.
pub(super) fn of_fortran(comm: c_int) -> MPI_Comm {
    // SAFETY: MPI takes any number; one that it does not know gives a handle that it refuses.
    unsafe { scr_comm_of_fortran(comm) }
}

/// Makes a key of attributes with the functions of `attribute`.
///
/// # Safety
/// MPI can be called.
pub(super) unsafe fn create_keyval(key: &mut c_int) -> c_int {
    // SAFETY: the caller's promise. Both functions have the form that MPI asks for and stay in memory (libscr cannot
    // be unloaded); NULL is for state that neither uses.
    unsafe {
        MPI_Comm_create_keyval(
            Some(copy::<MPI_Comm>),
            Some(delete::<MPI_Comm>),
            key,
            ptr::null_mut(),
        )
    }
}

/// True if the MPI of the build has ULFM.
pub(super) fn has_ulfm() -> bool {
    // SAFETY: takes nothing, and returns a constant.
    unsafe { scr_ulfm_is_there() != 0 }
}

/// True if a call returned this code because a process has failed, or the communicator was revoked.
pub(super) fn is_failure(code: c_int) -> bool {
    // SAFETY: takes any code.
    code != 0 && unsafe { scr_ulfm_is_failure(code) != 0 }
}

/// Makes all calls of all processes on a communicator fail.
///
/// # Safety
/// MPI can be called, and the communicator is alive.
pub(super) unsafe fn revoke(comm: MPI_Comm) {
    // SAFETY: the caller's promise.
    unsafe { scr_ulfm_revoke(comm) }
}

/// True if all calls on a communicator fail.
///
/// # Safety
/// As [`revoke`].
pub(super) unsafe fn is_revoked(comm: MPI_Comm) -> bool {
    // SAFETY: the caller's promise.
    unsafe { scr_ulfm_is_revoked(comm) != 0 }
}

/// The processes of a communicator that are known to have failed, as a group to be freed.
///
/// # Safety
/// As [`revoke`].
pub(super) unsafe fn failed(comm: MPI_Comm) -> Option<MPI_Group> {
    let mut group = group_null();
    // SAFETY: the caller's promise; the pointer is to a live local.
    (unsafe { scr_ulfm_failed(comm, &mut group) } != 0).then_some(group)
}

/// Calls MPI_Finalize of an MPI that cannot be used.
pub(super) fn leave_other() {
    // SAFETY: the call takes no handle, so it works with any MPI.
    unsafe { MPI_Finalize() };
}
