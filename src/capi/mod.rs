//! The C interface: the only place with `extern "C"` functions and pointers from callers.
//!
//! Everything that C can call is declared in this file, since `include/scr.h` is generated
//! from it: a doc comment here is the comment there. `SCR_Configf` is variadic, which Rust
//! cannot define; it lives in `configf.c` and calls [`SCR_Config`].
//!
//! Each body is a closure given to [`guard`], where errors and panics become return codes.

mod guard;

use crate::{Error, Result, version};
use guard::guard;
use std::ffi::{c_char, c_int};
use std::ptr;

/// The call did what its description says.
pub const SCR_SUCCESS: c_int = 0;

/// Size of a buffer for a file or dataset name, bytes, with the terminating NUL.
pub const SCR_MAX_FILENAME: c_int = 1024;

/// Neither a checkpoint nor output: initial value for a set of flags.
pub const SCR_FLAG_NONE: c_int = 0;

/// The application can restart from the dataset.
pub const SCR_FLAG_CHECKPOINT: c_int = 1;

/// The dataset must be written to the prefix directory.
pub const SCR_FLAG_OUTPUT: c_int = 2;

/// What failing calls return. Not in the header: SCR v3.1.0 has no name for it either.
const FAILURE: c_int = 1;

/// Starts the library. Collective over MPI_COMM_WORLD, after MPI_Init.
///
/// Reads the parameters, and rebuilds datasets which an earlier run left in cache.
/// Returns 1 if SCR is disabled (SCR_ENABLE=0) or cannot start.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Init() -> c_int {
    guard(FAILURE, || missing("SCR_Init"))
}

/// Stops the library, before MPI_Finalize. Collective.
///
/// Brings the newest checkpoint to the prefix directory unless SCR_FLUSH is 0, and records
/// that the job ended on its own, so that it is not started again.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Finalize() -> c_int {
    guard(FAILURE, || missing("SCR_Finalize"))
}

/// Sets ("NAME=value"), unsets ("NAME=") or queries ("NAME") a parameter. Collective, with
/// the same string on all processes. To set and unset is possible before SCR_Init only.
///
/// Parameters of several items are given with their children: "CKPT=0 TYPE=XOR SET_SIZE=8"
/// sets, "CKPT=0 TYPE" queries. A query returns a string which the caller must free(), or
/// NULL if the parameter has no value. Setting and unsetting return NULL.
///
/// # Safety
/// `config` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Config(config: *const c_char) -> *const c_char {
    guard(ptr::null(), || missing("SCR_Config").map(|_| config))
}

/// Tells in `file` the path at which a process must access the file that it knows as `name`.
/// Local to the calling process; any number of times for a file.
///
/// `file` is a buffer of SCR_MAX_FILENAME bytes. Between start and complete of an output
/// phase the call makes the file part of the dataset, and its directory. In a restart phase
/// it fails if the file is not there. In no phase it copies `name`. A path that does not fit
/// is an error.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string, `file` is NULL or a buffer of SCR_MAX_FILENAME
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Route_file(name: *const c_char, file: *mut c_char) -> c_int {
    guard(FAILURE, || {
        let _ = (name, file);
        missing("SCR_Route_file")
    })
}

/// Sets `flag` to 1 if there is a checkpoint to restart from, otherwise to 0. Collective.
///
/// `name` may be NULL, or is a buffer of SCR_MAX_FILENAME bytes which receives the name of
/// that checkpoint, when there is one.
///
/// # Safety
/// `flag` is NULL or points to an int, `name` is NULL or a buffer of SCR_MAX_FILENAME bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Have_restart(flag: *mut c_int, name: *mut c_char) -> c_int {
    guard(FAILURE, || {
        let _ = (flag, name);
        missing("SCR_Have_restart")
    })
}

/// Begins to read the checkpoint which SCR_Have_restart offered. Collective.
///
/// `name` may be NULL, or is a buffer of SCR_MAX_FILENAME bytes which receives its name.
///
/// # Safety
/// `name` is NULL or a buffer of SCR_MAX_FILENAME bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Start_restart(name: *mut c_char) -> c_int {
    guard(FAILURE, || {
        let _ = name;
        missing("SCR_Start_restart")
    })
}

/// Ends the restart: `valid` is 1 if this process read all its files, 0 if not. Collective.
///
/// Returns SCR_SUCCESS only if all processes gave 1. Otherwise SCR_Have_restart tells
/// whether there is an older checkpoint to try.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Complete_restart(valid: c_int) -> c_int {
    guard(FAILURE, || {
        let _ = valid;
        missing("SCR_Complete_restart")
    })
}

/// Sets `flag` to 1 if the application should write a checkpoint now, otherwise to 0.
/// Collective, same answer everywhere.
///
/// # Safety
/// `flag` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Need_checkpoint(flag: *mut c_int) -> c_int {
    guard(FAILURE, || {
        let _ = flag;
        missing("SCR_Need_checkpoint")
    })
}

/// Begins a checkpoint: SCR_Start_output with no name and SCR_FLAG_CHECKPOINT. Collective;
/// ended by SCR_Complete_checkpoint.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Start_checkpoint() -> c_int {
    guard(FAILURE, || missing("SCR_Start_checkpoint"))
}

/// Ends a checkpoint, as SCR_Complete_output ends a dataset. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Complete_checkpoint(valid: c_int) -> c_int {
    guard(FAILURE, || {
        let _ = valid;
        missing("SCR_Complete_checkpoint")
    })
}

/// Begins a dataset, before any of its files is made. Collective, with the same arguments
/// on all processes.
///
/// `name` is shorter than SCR_MAX_FILENAME, or NULL for a name made from the dataset id.
/// `flags` are SCR_FLAG_CHECKPOINT and SCR_FLAG_OUTPUT, or-ed.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Start_output(name: *const c_char, flags: c_int) -> c_int {
    guard(FAILURE, || {
        let _ = (name, flags);
        missing("SCR_Start_output")
    })
}

/// Ends a dataset whose files are all closed: `valid` is 1 if this process wrote its files,
/// or had none, and 0 if it could not. Collective.
///
/// Returns SCR_SUCCESS only if all processes gave 1 and the data are protected as
/// configured.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Complete_output(valid: c_int) -> c_int {
    guard(FAILURE, || {
        let _ = valid;
        missing("SCR_Complete_output")
    })
}

/// Sets `flag` to 1 if the application should stop, otherwise to 0. Collective, same answer
/// everywhere; best asked after each checkpoint.
///
/// # Safety
/// `flag` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Should_exit(flag: *mut c_int) -> c_int {
    guard(FAILURE, || {
        let _ = flag;
        missing("SCR_Should_exit")
    })
}

/// Makes the checkpoint `name` the one to restart from; newer ones leave the cache.
/// Collective.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Current(name: *const c_char) -> c_int {
    guard(FAILURE, || {
        let _ = name;
        missing("SCR_Current")
    })
}

/// Removes the dataset `name` from the index, and no file. Collective.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Drop(name: *const c_char) -> c_int {
    guard(FAILURE, || {
        let _ = name;
        missing("SCR_Drop")
    })
}

/// Removes the dataset `name` with its files from cache and prefix directory. Collective.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Delete(name: *const c_char) -> c_int {
    guard(FAILURE, || {
        let _ = name;
        missing("SCR_Delete")
    })
}

/// Returns SCR_VERSION of the library in use. Local, at any time, without MPI too; the
/// string must not be freed or changed.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Get_version() -> *mut c_char {
    version::INTERFACE_C.as_ptr().cast_mut()
}

/// The answer of a call before the session is joined to this interface.
fn missing(call: &'static str) -> Result<c_int> {
    Err(Error::State {
        call,
        state: "in a library without session",
        remedy: "link a complete build",
    })
}
