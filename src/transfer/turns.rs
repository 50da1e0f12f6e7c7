//! Flow control: a limit for the ranks that work at the same time.

use crate::Result;
use crate::comm::{Communicator, Tag};

const TURN: Tag = 0x10;

/// Runs `body` on every rank, on at most `width` (at least 1) ranks at the same time: rank r starts
/// when rank r - width is done. A failure of `body` does not stop other ranks. The outer error is a
/// failure of communication; the inner result is that of `body`. Collective.
pub fn in_turns<T>(
    comm: &dyn Communicator,
    width: usize,
    body: impl FnOnce() -> Result<T>,
) -> Result<Result<T>> {
    let (rank, width) = (comm.rank(), width.max(1));
    if rank >= width {
        comm.irecv(rank - width, TURN, Vec::new())?.wait()?;
    }
    let done = body();
    if rank + width < comm.size() {
        comm.isend(rank + width, TURN, Vec::new())?.wait()?;
    }
    Ok(done)
}
