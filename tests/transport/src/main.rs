//! Runs the checks that every transport must pass over MPI. The exit status tells.
//!
//! ```text
//! MPICC=mpicc cargo build -p transport-check
//! mpiexec -n 5 target/debug/transport-check
//! ```
//!
//! With the arguments `counts` and a directory it compares what the calls of SCR cost with what they cost on threads.
//! With the argument `large` it also sends one message of more than 2 GiB between
//! neighbours, which takes some 5 GiB of memory per rank.

mod checks;

fn main() {
    checks::main(|| {
        let universe = mpi::initialize_with_threading(mpi::Threading::Single);
        universe.ok_or("MPI is initialised already".to_string())
    });
}
