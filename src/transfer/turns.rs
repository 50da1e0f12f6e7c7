//! Flow control: at most so many ranks at a time.

use crate::Result;
use crate::comm::{Communicator, Tag};

const TURN: Tag = 0x10;

/// Runs `body` on every rank, on at most `width` (at least 1) ranks at once: rank r starts
/// when rank r - width is done. The outer error is the transport's; the body's own result
/// comes back whatever it is, so that a failure never stops the others. Collective.
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
