//! Which MPI this process runs with, and which one the library was built with.
//!
//! A shared library finds the functions of the MPI that the program is linked to, but it was compiled
//! with the handles of its own. If these are of another form, the first call with one crashes.

use super::calls::check;
use crate::{Error, Result};
use mpi::ffi::{
    MPI_Comm_get_parent, MPI_Comm_size, MPI_Get_library_version, RSMPI_COMM_NULL, RSMPI_COMM_WORLD,
};
use scr_engine::messages::OTHER_MPI;
use std::ffi::{CStr, c_char, c_int};

/// Room for any MPI's version text (MPI_MAX_LIBRARY_VERSION_STRING is 256 or 8192).
const VERSION_TEXT: usize = 16384;

unsafe extern "C" {
    /// Defined in `built_with.c`.
    fn scr_mpi_built_with() -> *const c_char;
}

/// MPI libraries with the same handles and structures: one may take the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Mpich,
    OpenMpi,
}

impl Family {
    /// From the text of `MPI_Get_library_version`; `None` if it is not known.
    fn of(version: &str) -> Option<Family> {
        const WORDS: [(&str, Family); 6] = [
            ("Open MPI", Family::OpenMpi),
            ("Spectrum MPI", Family::OpenMpi),
            ("MPICH", Family::Mpich),
            ("MVAPICH", Family::Mpich),
            ("Intel(R) MPI", Family::Mpich),
            ("ParaStation MPI", Family::Mpich),
        ];
        let found = WORDS.iter().find(|(word, _)| version.contains(word));
        found.map(|(_, family)| *family)
    }
}

/// Checks that the program's MPI is of the family that the library was built with. Local; may be
/// called before MPI_Init, and gives the same on all ranks.
pub(super) fn check_family() -> Result<()> {
    // SAFETY: returns a string literal.
    let built = unsafe { CStr::from_ptr(scr_mpi_built_with()) }.to_string_lossy();
    compare(&built, &running()?)
}

/// The text of `MPI_Get_library_version`.
fn running() -> Result<String> {
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
    // SAFETY: constants of the C library; the pointers are to live locals.
    let alone = unsafe {
        let mut parent = RSMPI_COMM_NULL;
        check("MPI_Comm_size", MPI_Comm_size(RSMPI_COMM_WORLD, &mut size)).ok()?;
        check("MPI_Comm_get_parent", MPI_Comm_get_parent(&mut parent)).ok()?;
        size == 1 && parent == RSMPI_COMM_NULL
    };
    alone.then(|| running().map(|version| short(&version)).ok())?
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

/// Name and number: the first line, up to a comma.
fn short(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let name = line.split(',').next().unwrap_or_default();
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").replace("Version: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MPICH: &str = "MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7 2022";
    const OPEN_MPI: &str = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";

    #[test]
    fn mpis_with_the_handles_of_mpich_are_one_family() {
        for running in [
            MPICH,
            "Intel(R) MPI Library 2021.9 for Linux* OS\n",
            "MVAPICH2 Version      :\t2.3.7",
            "MPI VERSION    : CRAY MPICH version 8.1.4.31 (ANL base 3.4a2)",
        ] {
            assert_eq!(Family::of(running), Some(Family::Mpich), "{running}");
            assert_eq!(compare("MPICH 3.4", running), Ok(()));
            assert!(compare("Open MPI v5.0.3", running).is_err());
        }
    }

    #[test]
    fn another_version_of_the_same_mpi_is_no_error_and_nor_is_an_unknown_one() {
        assert_eq!(compare("Open MPI v5.0.3", OPEN_MPI), Ok(()));
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
