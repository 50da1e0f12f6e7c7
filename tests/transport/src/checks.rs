//! The checks, for a program that says how MPI is started. Also used by `tests/found`.

#[path = "../../comm_checks/mod.rs"]
mod comm_checks;
#[path = "counts.rs"]
mod counts;
#[path = "speed.rs"]
mod speed;

use scr::comm::{Communicator, mpi::Mpi};
use std::path::Path;

/// `start` starts MPI; what it returns ends MPI when it is dropped.
pub fn main<M>(start: impl FnOnce() -> Result<M, String>) {
    if let Err(what) = run(start) {
        eprintln!("transport-check: {what}");
        std::process::exit(1);
    }
}

fn run<M>(start: impl FnOnce() -> Result<M, String>) -> Result<(), String> {
    expect_refusal("MPI_Init first")?;
    let mpi = start()?;
    match checked() {
        Ok(late) => {
            drop(mpi);
            // Too late to free anything, at which MPICH may print a warning.
            drop(late);
            expect_refusal("finalised")
        }
        Err(what) => {
            // Not by way of MPI_Finalize: the other ranks may be waiting, and mpiexec ends them.
            std::mem::forget(mpi);
            Err(what)
        }
    }
}

/// What is left of the checks, if none has failed.
fn checked() -> Result<Option<Mpi>, String> {
    let mut comm = Mpi::dup_world().map_err(|e| e.to_string())?;
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, directory] = &arguments[..]
        && word == "counts"
    {
        return counts::compare(&comm, Path::new(directory)).map(|()| None);
    }
    if arguments.get(1).is_some_and(|word| word == "speed") {
        return speed::measure(&comm)
            .map(|()| None)
            .map_err(|e| e.to_string());
    }
    comm_checks::all(&comm)?;
    // Again with nearly every message longer than the largest plain one.
    comm.set_block(1000);
    comm_checks::all(&comm)?;
    comm.set_block(usize::MAX);
    if std::env::args().any(|argument| argument == "large") {
        large(&comm).map_err(|e| e.to_string())?;
    }
    if comm.rank() == 0 {
        println!("{} ranks: all checks passed", comm.size());
    }
    drop(comm);
    Mpi::dup_world().map(Some).map_err(|e| e.to_string())
}

/// Without an MPI that can be called there is no communicator, for a reason with this word.
pub fn expect_refusal(word: &str) -> Result<(), String> {
    match Mpi::dup_world() {
        Err(error) if error.to_string().contains(word) => Ok(()),
        Err(error) => Err(format!("expected an error about '{word}', got: {error}")),
        Ok(_) => Err(format!("expected an error about '{word}'")),
    }
}

/// More bytes than an int can count, to the neighbour, with known and with unknown length.
fn large(comm: &dyn Communicator) -> scr::Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    let length = (1 << 31) + 12_345;
    let marks = [
        0,
        (1 << 30) - 1,
        1 << 30,
        (1 << 31) - 1,
        1 << 31,
        length - 1,
    ];
    let mut data = vec![0_u8; length];
    for mark in marks {
        data[mark] = me as u8 + 1;
    }
    for known in [true, false] {
        let posted = if known {
            Some(comm.irecv(from, 1, vec![0; length])?)
        } else {
            None
        };
        let send = comm.isend(to, 1, data)?;
        let message = match posted {
            Some(receive) => receive.wait()?,
            None => comm.recv(from, 1)?,
        };
        data = send.wait()?;
        let right = message.len() == length && marks.iter().all(|&m| message[m] == from as u8 + 1);
        if !right {
            let what = format!("known length: {known}; {} bytes", message.len());
            return Err(scr::Error::Comm {
                call: "large message".into(),
                what,
            });
        }
    }
    Ok(())
}
