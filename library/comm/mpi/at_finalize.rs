//! Work to be done when the program calls MPI_Finalize.

use super::calls::check;
use crate::Result;
use mpi::ffi::{
    MPI_Comm, MPI_Comm_create_keyval, MPI_Comm_free_keyval, MPI_Comm_set_attr, RSMPI_COMM_SELF,
};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

static WORK: OnceLock<fn()> = OnceLock::new();

/// Has `work` called at the beginning of MPI_Finalize, when MPI can still be used. All ranks are in
/// MPI_Finalize then. Only the first call has an effect. Local.
///
/// This is the way of the MPI standard (section 8.7.1): MPI_Finalize deletes the attributes of
/// MPI_COMM_SELF before it does anything else.
pub(super) fn at_finalize(work: fn()) -> Result<()> {
    if WORK.set(work).is_err() {
        return Ok(());
    }
    let mut key: c_int = 0;
    // SAFETY: MPI is initialised; both functions have the form that MPI asks for and stay in memory
    // (libscr cannot be unloaded); the pointers are to live locals, or NULL for state that neither uses.
    unsafe {
        let made = MPI_Comm_create_keyval(Some(copy), Some(delete), &mut key, ptr::null_mut());
        check("MPI_Comm_create_keyval", made)?;
        let set = MPI_Comm_set_attr(RSMPI_COMM_SELF, key, ptr::null_mut());
        check("MPI_Comm_set_attr", set)?;
        // The key lives on until the attribute is deleted.
        check("MPI_Comm_free_keyval", MPI_Comm_free_keyval(&mut key))
    }
}

/// A duplicate of MPI_COMM_SELF does not get the attribute.
unsafe extern "C" fn copy(
    _comm: MPI_Comm,
    _key: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _new_value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives the address of an int.
    unsafe { *flag = 0 };
    0
}

unsafe extern "C" fn delete(
    _comm: MPI_Comm,
    _key: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    if let Some(work) = WORK.get() {
        // A panic must not unwind into MPI.
        let _ = catch_unwind(AssertUnwindSafe(work));
    }
    0
}
