//! Runs the checks that every transport must pass over MPI. The exit status tells.
//!
//! ```text
//! MPICC=mpicc cargo build -p transport-check
//! mpiexec -n 5 target/debug/transport-check
//! ```
//!
//! With the arguments `counts` and a directory it compares what the calls of SCR cost with what they cost on threads.
//! With the argument `speed` two ranks measure latency and bandwidth (`benches/found`).
//! With the argument `large` it also sends one message of more than 2 GiB between
//! neighbours, which takes some 5 GiB of memory per rank.

mod checks;

use std::ffi::{c_int, c_void};
use std::ptr;

// Of the MPI that the library is linked with. The arguments are those of the standard.
unsafe extern "C" {
    fn MPI_Init_thread(
        count: *mut c_int,
        words: *mut c_void,
        required: c_int,
        provided: *mut c_int,
    ) -> c_int;
    fn MPI_Finalize() -> c_int;
}

fn main() {
    checks::main(|| {
        let mut level = 0;
        // SAFETY: NULL is allowed for the arguments of the program; MPI_THREAD_SINGLE is 0; a live local.
        match unsafe { MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), 0, &mut level) } {
            0 => Ok(Mpi),
            code => Err(format!("MPI_Init_thread returned {code}")),
        }
    });
}

/// MPI, until it is dropped.
struct Mpi;

impl Drop for Mpi {
    fn drop(&mut self) {
        // SAFETY: MPI has begun, and ends once.
        unsafe { MPI_Finalize() };
    }
}
