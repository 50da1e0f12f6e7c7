//! The MPI that the library is linked with, whose functions and constants `linked.c` has from `mpi.h`.

use super::Mpi;
use super::constants::{Family, Handles, Numbers};
use super::functions::{Forms, function};
use super::handle::{Form, Handle};
use crate::{Error, Result};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    // Defined in `linked.c`.
    fn scr_mpi_function(name: *const c_char) -> *mut c_void;
    fn scr_mpi_handle(name: *const c_char, room: *mut Handle) -> c_int;
    fn scr_mpi_any_source() -> c_int;
    fn scr_mpi_thread_serialized() -> c_int;
    fn scr_mpi_source_in_status() -> c_int;
    fn scr_mpi_form() -> c_int;
}

/// What is linked.
pub(super) struct Library;

impl Library {
    /// The address of a function; at last one that `mpi.h` does not declare, but the program has.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: a string.
        let declared = unsafe { scr_mpi_function(name.as_ptr()) };
        let found = if declared.is_null() {
            // SAFETY: a scope, and a string.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
        } else {
            declared
        };
        (!found.is_null()).then_some(found)
    }

    /// # Errors
    /// The library has no function of this name.
    pub fn required(&self, name: &str) -> Result<*mut c_void> {
        let missing = || Error::comm(name, "the MPI of the program does not have it".to_string());
        self.symbol(name).ok_or_else(missing)
    }

    /// A handle that MPI has from the beginning, as `mpi.h` has it.
    ///
    /// # Errors
    /// `linked.c` does not list this handle.
    pub fn handle(
        &self,
        _family: Family,
        (name, _): (&str, &str),
        _values: (c_int, usize),
    ) -> Result<Handle> {
        let mut handle = 0_usize.handle();
        let words = CString::new(name).unwrap_or_default();
        // SAFETY: a string, and a live local that is large enough and zero.
        match unsafe { scr_mpi_handle(words.as_ptr(), &mut handle) } {
            0 => Err(Error::comm(name, "linked.c does not have it".to_string())),
            _ => Ok(handle),
        }
    }
}

static LINKED: OnceLock<Result<Mpi>> = OnceLock::new();

/// The MPI of the build.
pub(super) fn found() -> Option<&'static Mpi> {
    LINKED.get_or_init(linked).as_ref().ok()
}

/// Checks that the MPI of the build can be called. Local.
///
/// # Errors
/// It lacks what the transport needs.
pub(in super::super) fn check_linked() -> Result<()> {
    let linked = LINKED.get_or_init(linked);
    linked.as_ref().map(drop).map_err(Error::clone)
}

fn linked() -> Result<Mpi> {
    // SAFETY: takes nothing, and returns a constant.
    let family = match unsafe { scr_mpi_form() } {
        0 => Family::Mpich,
        1 => Family::OpenMpi,
        _ => Family::Standard,
    };
    Ok(Mpi {
        functions: Forms::of(family, &Library)?,
        handles: Handles::of(family, &Library)?,
        numbers: numbers(),
    })
}

fn numbers() -> Numbers {
    // SAFETY: each takes nothing, and returns a constant.
    unsafe {
        Numbers {
            any_source: scr_mpi_any_source(),
            thread_serialized: scr_mpi_thread_serialized(),
            source_in_status: usize::try_from(scr_mpi_source_in_status()).unwrap_or(usize::MAX),
        }
    }
}

/// Calls MPI_Finalize of an MPI that cannot be used.
pub(in super::super) fn leave_other() {
    if let Some(address) = Library.symbol("MPI_Finalize") {
        // SAFETY: the call takes no handle, so it may be that of any MPI.
        unsafe {
            let finalize: unsafe extern "C" fn() -> c_int = function(address);
            finalize();
        }
    }
}
