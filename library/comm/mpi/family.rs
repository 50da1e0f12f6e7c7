//! Checks that the program runs with an MPI of the family that the library was built with.
//!
//! A shared library finds the functions of the MPI that the program is linked to, but it was compiled
//! with the handles of its own. If the handles have another form, the first call with one crashes.

use super::calls::running;
use super::raw::check_linked;
use super::version_text::{Family, short};
use crate::{Error, Result};
use scr_engine::messages::OTHER_MPI;
use std::ffi::{CStr, c_char};

unsafe extern "C" {
    /// Defined in `built_with.c`.
    fn scr_mpi_built_with() -> *const c_char;
}

/// Checks that the program's MPI is of the family that the library was built with. Local; may be
/// called before MPI_Init, and gives the same on all ranks.
pub(super) fn check_family() -> Result<()> {
    check_linked()?;
    // SAFETY: returns a string literal.
    let built = unsafe { CStr::from_ptr(scr_mpi_built_with()) }.to_string_lossy();
    compare(&built, &running()?)
}

fn compare(built: &str, running: &str) -> Result<()> {
    match (Family::of(built), Family::of(running)) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let theirs = short(running);
            // CMake names the compiler.
            let compiler = option_env!("MPICC").unwrap_or("mpicc");
            Err(Error::usage(
                "SCR_Init",
                format!(
                    "the program runs with {theirs}, but this SCR was built with {built}: compile \
                     and run the program with that MPI ({compiler}), or link an SCR that was built \
                     with {theirs} ({OTHER_MPI})"
                ),
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MPICH: &str = "MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7 2022";
    const OPEN_MPI: &str = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";

    #[test]
    fn another_version_of_the_same_mpi_is_no_error_and_nor_is_an_unknown_one() {
        assert_eq!(compare("Open MPI v5.0.3", OPEN_MPI), Ok(()));
        assert_eq!(compare("MPICH 3.4", MPICH), Ok(()));
        assert_eq!(compare("Open MPI v5.0.3", "NEC MPI: Version 2.22"), Ok(()));
        assert_eq!(compare("", OPEN_MPI), Ok(()));
    }

    #[test]
    fn the_error_names_both() {
        let text = compare("Open MPI v4.1.4", MPICH).unwrap_err().to_string();
        assert!(text.contains("runs with MPICH 4.0.2, but"), "{text}");
        let text = compare("MPICH 4.0.2", OPEN_MPI).unwrap_err().to_string();
        assert!(text.contains("runs with Open MPI v4.1.4, but"), "{text}");
    }
}
