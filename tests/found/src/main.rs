//! The checks of `tests/transport` in a program that is built without an MPI, and loads one as Python does: no other part
//! of the process sees its names.
//!
//! ```text
//! cargo build -p found-check
//! SCR_TEST_MPI=/usr/lib/x86_64-linux-gnu/libmpich.so mpiexec.mpich -n 5 target/debug/found-check
//! ```

#[path = "../../transport/src/checks.rs"]
mod checks;

use std::ffi::{CString, c_int, c_void};
use std::ptr;

fn main() {
    if let Err(what) =
        checks::expect_refusal("this process has loaded no MPI").and_then(|()| load())
    {
        eprintln!("found-check: {what}");
        std::process::exit(1);
    }
    checks::main(|| {
        let (nothing, mut level) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: the function has this type by the standard; MPI_THREAD_SINGLE is 0.
        let code = unsafe {
            type Start = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *mut c_int) -> c_int;
            let start: Start = std::mem::transmute(function("MPI_Init_thread")?);
            start(nothing, nothing, 0, &mut level)
        };
        (code == 0)
            .then_some(Mpi)
            .ok_or(format!("MPI_Init_thread returned {code}"))
    });
}

/// Loads the library that `SCR_TEST_MPI` names, with names that are its own.
fn load() -> Result<(), String> {
    open(libc::RTLD_NOW | libc::RTLD_LOCAL).map(drop)
}

fn open(flags: c_int) -> Result<*mut c_void, String> {
    let path = std::env::var("SCR_TEST_MPI").map_err(|_| "SCR_TEST_MPI names no library")?;
    let path = CString::new(path).map_err(|e| e.to_string())?;
    // SAFETY: a string; the library is an MPI.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    (!handle.is_null())
        .then_some(handle)
        .ok_or(format!("{path:?} cannot be loaded"))
}

fn function(name: &str) -> Result<*mut c_void, String> {
    let handle = open(libc::RTLD_NOW | libc::RTLD_NOLOAD)?;
    let c_name = CString::new(name).map_err(|e| e.to_string())?;
    // SAFETY: a handle that is open, and a string.
    let address = unsafe { libc::dlsym(handle, c_name.as_ptr()) };
    (!address.is_null())
        .then_some(address)
        .ok_or(format!("there is no {name}"))
}

/// MPI, until it is dropped.
struct Mpi;

impl Drop for Mpi {
    fn drop(&mut self) {
        if let Ok(address) = function("MPI_Finalize") {
            // SAFETY: the function has this type by the standard.
            unsafe {
                let end: unsafe extern "C" fn() -> c_int = std::mem::transmute(address);
                end();
            }
        }
    }
}
