//! Flow control: a limit for the ranks that work at the same time.

use crate::Result;
use crate::comm::collective::{decode_verdict, encode_verdict};
use crate::comm::{Communicator, Local, Tag};

/// To rank 0: this rank is done; with an error, the verdict.
const DONE: Tag = 0x10;
/// From rank 0: this rank may begin; with the verdict of a rank that failed, it must not.
const TURN: Tag = 0x11;

/// Runs `body` on every rank, on at most `width` (at least 1) ranks at the same time. As soon as one
/// is done the next begins. After the first failure no further rank begins: the ranks that have not
/// begun get the error of the rank that failed as an
/// [`Error::Remote`](crate::Error::Remote), which names it and which
/// [`agree`](crate::comm::collective::agree) passes on as it is. `node` is the name of this rank's
/// node in it. Collective.
///
/// With a width for all ranks there is no message, and all begin.
pub fn in_turns<T>(
    comm: &dyn Communicator,
    node: &str,
    width: usize,
    body: impl FnOnce() -> Result<T>,
) -> Result<Local<T>> {
    let (rank, width) = (comm.rank(), width.max(1));
    if width >= comm.size() {
        return Ok(body().into());
    }
    if rank == 0 {
        return lead(comm, width, body);
    }
    // The first ones need not wait for a turn.
    if rank > width {
        let verdict = comm.recv(0, TURN)?;
        if !verdict.is_empty() {
            return Ok(Err(decode_verdict(&verdict)).into());
        }
    }
    let done = body();
    let verdict = match &done {
        Ok(_) => Vec::new(),
        // Not empty in any case.
        Err(error) => encode_verdict(rank, node, 1, error.clone()).unwrap_or(vec![0]),
    };
    comm.isend(0, DONE, verdict)?.wait()?;
    Ok(done.into())
}

/// Rank 0: gives each free place to the next rank, and takes the last one itself.
fn lead<T>(
    comm: &dyn Communicator,
    width: usize,
    body: impl FnOnce() -> Result<T>,
) -> Result<Local<T>> {
    let turn = |rank, verdict| comm.isend(rank, TURN, verdict)?.wait().map(drop);
    let mut waiting = width + 1..comm.size();
    let (mut running, mut failure) = (width, None);
    while !waiting.is_empty() || running == width {
        let (_, verdict) = comm.recv_any(DONE)?;
        running -= 1;
        if !verdict.is_empty() {
            for rank in &mut waiting {
                turn(rank, verdict.clone())?;
            }
            failure = failure.or(Some(verdict));
        } else if let Some(rank) = waiting.next() {
            turn(rank, Vec::new())?;
            running += 1;
        }
    }
    let done = match failure {
        None => body(),
        Some(verdict) => Err(decode_verdict(&verdict)),
    };
    for _ in 0..running {
        comm.recv_any(DONE)?;
    }
    Ok(done.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::comm::collective::agree;
    use crate::comm::threads;
    use crate::counting::CountingComm;
    use crate::system::sync::{Condvar, Mutex};
    use std::time::Duration;

    const SIZE: usize = 6;
    const WIDTHS: [usize; 6] = [0, 1, 2, 3, SIZE - 1, SIZE];

    /// How many ranks have begun, and how many of them are done.
    #[derive(Default)]
    struct Progress {
        counts: Mutex<(usize, usize)>,
        changed: Condvar,
    }

    impl Progress {
        fn change(&self, change: impl FnOnce(&mut (usize, usize))) -> (usize, usize) {
            let mut counts = self.counts.lock().unwrap();
            change(&mut counts);
            self.changed.notify_all();
            *counts
        }

        /// Waits until the counts are as wanted; a test that is not ends here.
        fn wait(&self, wanted: impl Fn((usize, usize)) -> bool) {
            let mut counts = self.counts.lock().unwrap();
            while !wanted(*counts) {
                let limit = Duration::from_secs(60);
                let (now, waited) = self.changed.wait_timeout(counts, limit).unwrap();
                assert!(!waited.timed_out(), "the other ranks do not go on");
                counts = now;
            }
        }
    }

    #[test]
    fn all_ranks_run_and_as_many_at_a_time_as_may() {
        for width in WIDTHS {
            let at_once = width.clamp(1, SIZE);
            let progress = Progress::default();
            let results = threads::run(SIZE, |comm| {
                let body = || {
                    let (begun, done) = progress.change(|c| c.0 += 1);
                    assert!(begun - done <= at_once, "{begun} begun, {done} done");
                    // The first ones wait for each other, so they do run at the same time.
                    progress.wait(|(begun, _)| begun >= at_once);
                    // One that does not wait for its turn is seen meanwhile.
                    std::thread::sleep(Duration::from_millis(5));
                    progress.change(|c| c.1 += 1);
                    Ok(comm.rank())
                };
                in_turns(&comm, "n", width, body).unwrap().result().unwrap()
            });
            assert_eq!(results, (0..SIZE).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_slow_rank_holds_up_no_other_one() {
        for width in [2, 3, SIZE - 1] {
            for slow in 0..SIZE {
                let progress = Progress::default();
                threads::run(SIZE, |comm| {
                    let body = || {
                        if comm.rank() == slow {
                            progress.wait(|(_, done)| done == SIZE - 1);
                        }
                        progress.change(|c| c.1 += 1);
                        Ok(())
                    };
                    in_turns(&comm, "n", width, body).unwrap().result().unwrap();
                });
            }
        }
    }

    #[test]
    fn no_rank_begins_after_a_failure_and_all_learn_which_rank_failed() {
        for (width, bad) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (SIZE - 2, 4)] {
            let at_first = width.max(bad);
            let progress = Progress::default();
            let verdicts = threads::run(SIZE, |comm| {
                let body = || {
                    progress.change(|c| c.0 += 1);
                    match comm.rank() {
                        rank if rank == bad => return Err(Error::usage("copy", "disk full")),
                        // The others of the first ones go on until all that wait have been told.
                        _ if width > 1 => progress.wait(|(_, told)| told == SIZE - 1 - width),
                        _ => {}
                    }
                    Ok(())
                };
                let node = format!("n{}", comm.rank());
                let done = in_turns(&comm, &node, width, body).unwrap().result();
                if comm.rank() > at_first {
                    assert!(done.is_err());
                    progress.change(|c| c.1 += 1);
                }
                agree(&comm, "other", done).unwrap_err()
            });
            assert_eq!(progress.change(|_| ()).0, at_first, "ranks have begun");
            for verdict in verdicts {
                let text = verdict.to_string();
                let rank = format!("rank {bad} on node ");
                assert!(
                    text.starts_with(&rank) && text.contains("disk full"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn there_is_no_message_where_all_may_run() {
        for size in [1, 3] {
            let sent = threads::run(size, |comm| {
                let comm = CountingComm::new(comm);
                in_turns(&comm, "n", size, || Ok(()))
                    .unwrap()
                    .result()
                    .unwrap();
                comm.tally().counts().messages
            });
            assert_eq!(sent, vec![0; size]);
        }
    }
}
