//! Finds the MPI of the process, and its family.

use super::super::version_text::{self, short};
use super::Mpi;
use super::constants::{Family, Handles, Numbers};
use super::functions::{Forms, function};
use super::search::{self, Library, refusal};
use crate::Result;
use scr_engine::messages::NO_USABLE_MPI;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// Room for any MPI's version text (MPI_MAX_LIBRARY_VERSION_STRING is 256 or 8192).
const VERSION_TEXT: usize = 16384;

static FOUND: OnceLock<Mpi> = OnceLock::new();

/// The MPI of the process. It is looked for in each call until it is found, since a program may
/// load it later.
pub(super) fn found() -> Option<&'static Mpi> {
    FOUND.get().or_else(|| find().ok())
}

/// # Errors
/// The process has no MPI that can be used.
pub(super) fn find() -> Result<&'static Mpi> {
    if let Some(mpi) = FOUND.get() {
        return Ok(mpi);
    }
    let mpi = Mpi::of(the_only_one(search::libraries())?)?;
    Ok(FOUND.get_or_init(|| mpi))
}

fn the_only_one(mut libraries: Vec<Library>) -> Result<Library> {
    match (libraries.pop(), libraries.last()) {
        (Some(library), None) => Ok(library),
        (Some(one), Some(other)) => Err(refusal(format!(
            "this process has loaded two MPIs, {other} and {one}: a part of the program was linked with another one \
             than the rest, or LD_LIBRARY_PATH and the loaded modules are of both ({NO_USABLE_MPI})"
        ))),
        (None, _) if search::is_static() => Err(refusal(format!(
            "the program is linked statically, and an SCR that looks for MPI at run time cannot see into it: link it \
             with an SCR that was built with its MPI (SCR_MPI=linked) ({NO_USABLE_MPI})"
        ))),
        (None, _) => Err(refusal(format!(
            "this process has loaded no MPI: link the program with MPI, and call MPI_Init first. If the MPI is inside \
             of the program (a static library), link with -rdynamic, or with an SCR that was built with this MPI \
             (SCR_MPI=linked) ({NO_USABLE_MPI})"
        ))),
    }
}

impl Mpi {
    fn of(mut library: Library) -> Result<Mpi> {
        let (version, subversion) = standard(&library)?;
        if version < 3 {
            return Err(refusal(format!(
                "{library} is MPI {version}.{subversion}, but SCR needs MPI 3.0 or newer ({NO_USABLE_MPI})"
            )));
        }
        let text = version_text(&library)?;
        library.name = short(&text);
        let Some(family) = family(&library, &text) else {
            return Err(refusal(format!(
                "{library} is of no family of MPIs that SCR knows: use an SCR that was built with it \
                 (SCR_MPI=linked) ({NO_USABLE_MPI})"
            )));
        };
        Ok(Mpi {
            functions: Forms::of(family, &library)?,
            handles: Handles::of(family, &library)?,
            numbers: Numbers::of(family),
        })
    }
}

/// `None` if it is not known.
fn family(library: &Library, text: &str) -> Option<Family> {
    if let Some(address) = library.own(c"MPI_Abi_get_version") {
        let mut version: [c_int; 2] = [-1; 2];
        let [major, minor] = &mut version;
        // SAFETY: the function has this type by the standard, and may be called at any time; -1 is its answer where the
        // handles are not those of the standard.
        let code = unsafe {
            let ask: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = function(address);
            ask(major, minor)
        };
        if code == 0 && version[0] >= 1 {
            return (version[0] == 1).then_some(Family::Standard);
        }
    }
    if library.own(c"ompi_mpi_comm_world").is_some() {
        return Some(Family::OpenMpi);
    }
    match version_text::Family::of(text) {
        Some(version_text::Family::Mpich) => Some(Family::Mpich),
        _ => None,
    }
}

/// The version of the standard that an MPI has.
fn standard(library: &Library) -> Result<(c_int, c_int)> {
    let address = library.required("MPI_Get_version")?;
    let (mut version, mut subversion) = (0, 0);
    // SAFETY: the function has this type by the standard, and may be called at any time; the pointers are to live locals.
    let code = unsafe {
        let ask: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = function(address);
        ask(&mut version, &mut subversion)
    };
    match code {
        0 => Ok((version, subversion)),
        _ => Err(refusal(format!(
            "{library} does not tell its version ({NO_USABLE_MPI})"
        ))),
    }
}

/// The text of `MPI_Get_library_version`.
fn version_text(library: &Library) -> Result<String> {
    let address = library.required("MPI_Get_library_version")?;
    let mut text = vec![0_u8; VERSION_TEXT];
    let mut length: c_int = 0;
    // SAFETY: as in `standard`; the buffer is larger than MPI_MAX_LIBRARY_VERSION_STRING.
    unsafe {
        let ask: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = function(address);
        ask(text.as_mut_ptr().cast(), &mut length);
    }
    text.truncate(usize::try_from(length).unwrap_or(0));
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Checks that the process has an MPI that can be used. Local.
pub(in super::super) fn check_family() -> Result<()> {
    find().map(drop)
}

/// Calls MPI_Finalize of an MPI that [`check_family`] refuses, if it has begun.
pub(in super::super) fn leave_other() {
    for library in search::libraries() {
        let ask = |name| {
            let mut flag: c_int = 0;
            // SAFETY: the function has this type by the standard, and may be called at any time.
            let code = library.own(name).map(|address| unsafe {
                let ask: unsafe extern "C" fn(*mut c_int) -> c_int = function(address);
                ask(&mut flag)
            });
            (code == Some(0)).then_some(flag != 0)
        };
        let runs = ask(c"MPI_Initialized") == Some(true) && ask(c"MPI_Finalized") == Some(false);
        if runs && let Some(address) = library.own(c"MPI_Finalize") {
            // SAFETY: the call takes no handle, so it may be that of any MPI.
            unsafe {
                let finalize: unsafe extern "C" fn() -> c_int = function(address);
                finalize();
            }
        }
    }
}
