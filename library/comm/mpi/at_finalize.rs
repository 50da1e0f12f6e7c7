//! Work to be done when the program calls MPI_Finalize.

use super::attribute::WORK;
use super::calls::check;
use super::raw::{MPI_Comm_free_keyval, MPI_Comm_set_attr, comm_self, create_keyval};
use crate::Result;
use std::ffi::c_int;
use std::ptr;

/// Has `work` called at the beginning of MPI_Finalize, when MPI can still be used and all ranks are in
/// MPI_Finalize. Only the first call has an effect. Local.
///
/// This is the way of the MPI standard (section 8.7.1): MPI_Finalize deletes the attributes of
/// MPI_COMM_SELF before it does anything else.
pub(super) fn at_finalize(work: fn()) -> Result<()> {
    if WORK.set(work).is_err() {
        return Ok(());
    }
    let mut key: c_int = 0;
    // SAFETY: MPI is initialised; the pointers are to live locals, or NULL for a value that is not used.
    unsafe {
        check("MPI_Comm_create_keyval", create_keyval(&mut key))?;
        let set = MPI_Comm_set_attr(comm_self(), key, ptr::null_mut());
        check("MPI_Comm_set_attr", set)?;
        // The key lives on until the attribute is deleted.
        check("MPI_Comm_free_keyval", MPI_Comm_free_keyval(&mut key))
    }
}
