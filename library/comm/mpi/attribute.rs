//! The attribute whose deletion does the work of `at_finalize`: MPI calls its function.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The work in MPI_Finalize.
pub(super) static WORK: OnceLock<fn()> = OnceLock::new();

/// A duplicate of MPI_COMM_SELF does not get the attribute. `C` is a communicator in the form that this MPI has.
///
/// # Safety
/// Called by MPI only, with the address of an int.
pub(super) unsafe extern "C" fn copy<C>(
    _comm: C,
    _key: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _new_value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { *flag = 0 };
    0
}

/// Does the work.
///
/// # Safety
/// Called by MPI only.
pub(super) unsafe extern "C" fn delete<C>(
    _comm: C,
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
