//! How fast the transport is between two ranks. `benches/found` compares both kinds of library by it.

use scr::Result;
use scr::comm::{Communicator, Term};
use std::time::Instant;

const SMALL: usize = 8;
const LARGE: usize = 1 << 20;

/// Rank 0 prints the medians: microseconds of a small message and of an allreduce, MiB in a second with large messages.
pub fn measure(comm: &dyn Communicator) -> Result<()> {
    comm.barrier()?;
    let small = median(comm, 1000, |comm| there_and_back(comm, SMALL))? / 2.0;
    let large = median(comm, 100, |comm| there_and_back(comm, LARGE))? / 2.0;
    let reduced = median(comm, 500, |comm| comm.allreduce(&mut [Term::Sum(1)]))?;
    if comm.rank() == 0 {
        let rate = 1e6 / large;
        println!("latency {small:.3} bandwidth {rate:.0} allreduce {reduced:.3}");
    }
    Ok(())
}

/// The median time in microseconds, of so many, after some that do not count.
fn median(
    comm: &dyn Communicator,
    times: usize,
    work: impl Fn(&dyn Communicator) -> Result<()>,
) -> Result<f64> {
    let mut taken = Vec::new();
    for time in 0..times + times / 10 {
        let begun = Instant::now();
        work(comm)?;
        if time >= times / 10 {
            taken.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken.get(taken.len() / 2).copied().unwrap_or_default())
}

fn there_and_back(comm: &dyn Communicator, length: usize) -> Result<()> {
    let other = 1 - comm.rank().min(1);
    for turn in 0..2 {
        if comm.rank() == turn {
            comm.isend(other, 1, vec![1; length])?.wait()?;
        } else {
            comm.irecv(other, 1, vec![0; length])?.wait()?;
        }
    }
    Ok(())
}
