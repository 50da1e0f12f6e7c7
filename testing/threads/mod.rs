//! Ranks as threads of one process.
//!
//! As in MPI, small sends are buffered, large sends wait for their receive ([`RENDEZVOUS`]), and
//! receives match in the order in which they were posted. Nobody waits for ever: a rank that waits
//! for a rank that has ended gets an error. If all remaining ranks wait for something that can no
//! longer come, all get an error. To detect this, each rank must communicate from its own thread
//! only.

mod world;

use self::world::{Ends, Side, Transfer, World};
use crate::Result;
pub use crate::comm::matching::RENDEZVOUS;
use crate::comm::{Communicator, Pending, Tag, Term, check_length, check_rank};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;

/// Runs `body` as each of `size` ranks, one thread each, and returns their results in rank order. A
/// panic of a rank, the first if there are several, is passed on when all threads have ended. An
/// abort is a panic with the payload [`Aborted`].
pub fn run<R: Send>(size: usize, body: impl Fn(Box<dyn Communicator>) -> R + Sync) -> Vec<R> {
    let world = Arc::new(World::new(size));
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let start = |rank| {
            let world = Arc::clone(&world);
            let body = &body;
            move || {
                let comm = Box::new(ThreadRank {
                    world: Arc::clone(&world),
                    rank,
                    ends: false,
                });
                let result = catch_unwind(AssertUnwindSafe(|| body(comm)));
                world.end(rank, result.is_err());
                result
            }
        };
        let threads: Vec<_> = (0..size).map(|rank| scope.spawn(start(rank))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().and_then(|result| result))
            .collect()
    });
    // Later panics are mostly consequences of the first.
    if let Some(rank) = world.first_panic()
        && let Err(panic) = results.swap_remove(rank)
    {
        resume_unwind(panic);
    }
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
        .collect()
}

/// `size` ranks for threads of the caller's. A rank has ended when its communicator is dropped.
pub fn connected(size: usize) -> Vec<Box<dyn Communicator>> {
    let world = Arc::new(World::new(size));
    let rank = |rank| {
        Box::new(ThreadRank {
            world: Arc::clone(&world),
            rank,
            ends: true,
        }) as Box<dyn Communicator>
    };
    (0..size).map(rank).collect()
}

/// Payload of the panic with which [`Communicator::abort`] ends a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted {
    /// The rank that called `abort`.
    pub rank: usize,
    /// The argument of `abort`.
    pub code: i32,
}

/// One rank of a world of threads.
struct ThreadRank {
    world: Arc<World>,
    rank: usize,
    /// The rank ends when this is dropped.
    ends: bool,
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        if self.ends {
            self.world.end(self.rank, std::thread::panicking());
        }
    }
}

impl ThreadRank {
    /// Posts a receive of `length` bytes, or of any length.
    fn post(
        &self,
        from: usize,
        tag: Tag,
        buffer: Vec<u8>,
        length: Option<usize>,
    ) -> Result<Box<dyn Pending>> {
        check_rank("receive", from, self.size())?;
        let to = self.rank;
        self.begin(Side::Receive, Ends { from, to }, tag, buffer, length)
    }

    fn begin(
        &self,
        side: Side,
        ends: Ends,
        tag: Tag,
        buffer: Vec<u8>,
        length: Option<usize>,
    ) -> Result<Box<dyn Pending>> {
        Ok(Box::new(UnderWay {
            transfer: self.world.begin(side, ends, tag, buffer)?,
            world: Arc::clone(&self.world),
            length,
        }))
    }
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.size()
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        check_rank("send", to, self.size())?;
        let from = self.rank;
        self.begin(Side::Send, Ends { from, to }, tag, data, None)
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        let length = buffer.len();
        self.post(from, tag, buffer, Some(length))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.post(from, tag, Vec::new(), None)?.wait()
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        let from = self.world.wait_for_any(self.rank, tag)?;
        Ok((from, self.recv(from, tag)?))
    }

    fn barrier(&self) -> Result<()> {
        self.world.round(self.rank, "barrier", &mut [])
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.world.round(self.rank, "allreduce", terms)
    }

    fn revoke(&self) {
        let rank = self.rank;
        self.world
            .break_with(format!("rank {rank} has left the group"));
    }

    fn abort(&self, code: i32) -> ! {
        let rank = self.rank;
        self.world
            .break_with(format!("rank {rank} has aborted the job"));
        panic_any(Aborted { rank, code })
    }
}

struct UnderWay {
    world: Arc<World>,
    transfer: Transfer,
    /// The expected length of a receive, if it is known.
    length: Option<usize>,
}

impl Pending for UnderWay {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let Transfer { from, tag, .. } = self.transfer;
        let data = self.world.finish(&self.transfer)?;
        check_length(from, tag, self.length.unwrap_or(data.len()), data.len())?;
        Ok(data)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.world.forget(&self.transfer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_rank_order() {
        assert_eq!(run(5, |comm| comm.rank() * 10), [0, 10, 20, 30, 40]);
    }

    #[test]
    fn a_rank_that_returns_early_does_not_hold_up_the_others() {
        let results = run(3, |comm| match comm.rank() {
            0 => Ok(()),
            1 => comm.recv(0, 7).map(drop),
            _ => comm.barrier(),
        });
        assert_eq!(results[0], Ok(()));
        for result in &results[1..] {
            let message = result.as_ref().unwrap_err().to_string();
            assert!(
                message.contains("rank") && message.contains("has ended"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_message_of_a_rank_that_has_ended_still_arrives() {
        let results = run(2, |comm| match comm.rank() {
            0 => comm.isend(1, 7, vec![1, 2]).and_then(Pending::wait),
            _ => comm.recv(0, 7),
        });
        assert_eq!(results, [Ok(vec![1, 2]), Ok(vec![1, 2])]);
    }

    #[test]
    fn ranks_that_all_wait_are_told_so() {
        for error in run(3, |comm| comm.recv((comm.rank() + 1) % 3, 1).unwrap_err()) {
            assert!(error.to_string().contains("every rank waits"), "{error}");
        }
    }

    /// Rank 0 waits for its send before a barrier, rank 1 receives after it.
    fn send_before_and_receive_after_a_barrier(length: usize) -> Vec<Result<()>> {
        run(2, |comm| match comm.rank() {
            0 => {
                assert_eq!(comm.isend(1, 7, vec![5; length])?.wait()?, vec![5; length]);
                comm.barrier()
            }
            _ => {
                comm.barrier()?;
                assert_eq!(comm.recv(0, 7)?, vec![5; length]);
                Ok(())
            }
        })
    }

    #[test]
    fn a_large_send_waits_for_its_receive_and_a_small_one_does_not() {
        for length in [0, RENDEZVOUS - 1] {
            let results = send_before_and_receive_after_a_barrier(length);
            assert_eq!(results, [Ok(()), Ok(())]);
        }
        for result in send_before_and_receive_after_a_barrier(RENDEZVOUS) {
            let message = result.unwrap_err().to_string();
            let waits = ["rank 0: send to rank 1", "rank 1 in a collective call"];
            assert!(waits.iter().all(|part| message.contains(part)), "{message}");
        }
    }

    #[test]
    fn a_large_send_is_over_when_its_receive_is_posted() {
        run(2, |comm| match comm.rank() {
            0 => {
                comm.barrier().unwrap();
                let send = comm.isend(1, 7, vec![5; RENDEZVOUS]).unwrap();
                assert_eq!(send.wait().unwrap().len(), RENDEZVOUS);
                comm.barrier().unwrap();
            }
            _ => {
                let receive = comm.irecv(0, 7, vec![0; RENDEZVOUS]).unwrap();
                comm.barrier().unwrap();
                comm.barrier().unwrap();
                assert_eq!(receive.wait().unwrap(), vec![5; RENDEZVOUS]);
            }
        });
    }

    #[test]
    fn a_circle_of_large_sends_is_reported() {
        for size in [1, 2, 3] {
            let errors = run(size, |comm| {
                let right = (comm.rank() + 1) % size;
                let send = comm.isend(right, 1, vec![0; RENDEZVOUS]).unwrap();
                send.wait().unwrap_err().to_string()
            });
            for error in errors {
                let circle = ["every rank waits", "rank 0: send to rank"];
                assert!(circle.iter().all(|part| error.contains(part)), "{error}");
            }
        }
    }

    #[test]
    fn a_large_send_to_a_rank_that_has_ended_is_an_error() {
        let results = run(2, |comm| match comm.rank() {
            0 => comm.isend(1, 7, vec![0; RENDEZVOUS])?.wait().map(drop),
            _ => Ok(()),
        });
        let message = results[0].as_ref().unwrap_err().to_string();
        assert!(message.contains("rank 1 has ended"), "{message}");
    }

    #[test]
    fn a_large_message_arrives_after_its_send_was_dropped() {
        let results = run(2, |comm| match comm.rank() {
            0 => comm.isend(1, 7, vec![3; RENDEZVOUS]).map(|_| Vec::new()),
            _ => comm.recv(0, 7),
        });
        assert_eq!(results[1], Ok(vec![3; RENDEZVOUS]));
    }

    #[test]
    fn the_first_panic_is_passed_on() {
        let caught = catch_unwind(|| {
            run(3, |comm| {
                assert!(comm.rank() != 1, "the cause");
                comm.barrier().unwrap();
            })
        });
        let panic = caught.unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the cause"));
    }

    #[test]
    fn abort_ends_every_rank() {
        let caught = catch_unwind(|| {
            run(3, |comm| {
                if comm.rank() == 2 {
                    comm.abort(9);
                }
                assert!(comm.recv(0, 1).is_err() && comm.barrier().is_err());
            })
        });
        let payload = *caught.unwrap_err().downcast_ref::<Aborted>().unwrap();
        assert_eq!(payload, Aborted { rank: 2, code: 9 });
    }

    #[test]
    fn terms_that_do_not_fit_are_an_error_everywhere() {
        let kinds = run(2, |comm| {
            let mine = if comm.rank() == 0 {
                Term::Sum(1)
            } else {
                Term::Max(1)
            };
            comm.allreduce(&mut [mine])
        });
        assert!(kinds.iter().all(Result::is_err));
        let counts = run(2, |comm| {
            comm.allreduce(&mut vec![Term::Sum(1); comm.rank()])
        });
        assert!(counts.iter().all(Result::is_err));
    }
}
