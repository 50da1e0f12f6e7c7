//! Ranks as threads of one process, for tests; with one rank also what
//! [`Solo`](super::solo::Solo) is made of.
//!
//! Sends are buffered, receives match in the order in which they were posted, as in MPI.
//! Nobody waits for ever: a rank that waits for one that has ended gets an error, and so
//! do all when every rank that is left waits for something that can no longer come. For
//! the latter to be decidable each rank communicates from its own thread only, which MPI
//! asks of the crate anyway.

use super::{Communicator, Pending, Tag, Term, check_length, check_rank};
use crate::{Error, Result};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Runs `body` as each of `size` ranks, one thread each, and returns what they returned,
/// in rank order. A panic of a rank is passed on once all threads have ended (the first one
/// if there are several), an abort as a panic whose payload is [`Aborted`].
pub fn run<R: Send>(size: usize, body: impl Fn(Box<dyn Communicator>) -> R + Sync) -> Vec<R> {
    let world = Arc::new(World::new(size));
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let start = |rank| {
            let world = Arc::clone(&world);
            let body = &body;
            move || {
                let comm = Box::new(Rank {
                    world: Arc::clone(&world),
                    rank,
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
    // The later panics are mostly consequences of the first.
    let first = world.lock().first_panic;
    if let Some(rank) = first
        && let Err(panic) = results.swap_remove(rank)
    {
        resume_unwind(panic);
    }
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
        .collect()
}

/// Payload of the panic by which [`Communicator::abort`] ends a rank here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted {
    /// The rank that called it.
    pub rank: usize,
    /// Its argument.
    pub code: i32,
}

type Ticket = u64;

/// What a rank blocks on.
#[derive(Debug, Clone, Copy)]
enum Want {
    Message {
        from: usize,
        tag: Tag,
        ticket: Ticket,
    },
    Round(u64),
}

/// Messages from one rank to another with one tag that have no receive yet, and the
/// receives that have no message yet. One of the two is always empty.
#[derive(Default)]
struct Channel {
    unexpected: VecDeque<Vec<u8>>,
    posted: VecDeque<Ticket>,
}

/// Terms of a round, or how the ranks contradict each other.
type Terms = std::result::Result<Vec<Term>, &'static str>;

struct State {
    channels: HashMap<(usize, usize, Tag), Channel>,
    delivered: HashMap<Ticket, Vec<u8>>,
    next_ticket: Ticket,
    /// Number of the round (barrier or allreduce) under way, ranks in it, and its terms.
    round: u64,
    arrived: usize,
    gathering: Terms,
    /// Result of the round before. It stays until all ranks have come to the next one.
    finished: Terms,
    waiting: Vec<Option<Want>>,
    ended: Vec<bool>,
    first_panic: Option<usize>,
    /// Why nothing can work any more.
    broken: Option<String>,
}

impl State {
    fn satisfied(&self, want: Want) -> bool {
        match want {
            Want::Message { ticket, .. } => self.delivered.contains_key(&ticket),
            Want::Round(number) => self.round > number,
        }
    }

    /// Why `want`, unsatisfied, never will be.
    fn hopeless(&self, want: Want) -> Option<String> {
        if self.broken.is_some() {
            return self.broken.clone();
        }
        match want {
            Want::Message { from, .. } if self.ended.get(from) == Some(&true) => {
                Some(format!("rank {from} has ended"))
            }
            Want::Round(_) => self
                .ended
                .iter()
                .position(|&e| e)
                .map(|rank| format!("rank {rank} has ended")),
            Want::Message { .. } => None,
        }
    }

    /// Breaks the world if each rank that is left waits for what cannot come.
    fn check_progress(&mut self) {
        let mut story = String::from("every rank waits:");
        for (rank, want) in self.waiting.iter().enumerate() {
            match want {
                _ if self.ended.get(rank) == Some(&true) => continue,
                Some(want) if !self.satisfied(*want) && self.hopeless(*want).is_none() => {
                    story += &match want {
                        Want::Message { from, tag, .. } => {
                            format!(" rank {rank} for rank {from}, tag {tag:#x};")
                        }
                        Want::Round(_) => format!(" rank {rank} in a collective call;"),
                    };
                }
                _ => return,
            }
        }
        self.broken = Some(story);
    }
}

struct World {
    state: Mutex<State>,
    /// One for each rank.
    changed: Vec<Condvar>,
}

impl World {
    fn new(size: usize) -> Self {
        let state = State {
            channels: HashMap::new(),
            delivered: HashMap::new(),
            next_ticket: 0,
            round: 0,
            arrived: 0,
            gathering: Ok(Vec::new()),
            finished: Ok(Vec::new()),
            waiting: vec![None; size],
            ended: vec![false; size],
            first_panic: None,
            broken: None,
        };
        let changed = (0..size).map(|_| Condvar::new()).collect();
        World {
            state: Mutex::new(state),
            changed,
        }
    }

    /// No invariant is broken between two statements that can panic, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, rank: usize) {
        if let Some(changed) = self.changed.get(rank) {
            changed.notify_all();
        }
    }

    fn wake_all(&self) {
        self.changed.iter().for_each(Condvar::notify_all);
    }

    fn end(&self, rank: usize, panicked: bool) {
        let mut state = self.lock();
        if let Some(ended) = state.ended.get_mut(rank) {
            *ended = true;
        }
        if panicked && state.first_panic.is_none() {
            state.first_panic = Some(rank);
        }
        state.check_progress();
        self.wake_all();
    }

    /// Blocks `rank` until `want` is satisfied.
    fn wait(&self, rank: usize, want: Want, call: &str) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        while !state.satisfied(want) {
            if let Some(what) = state.hopeless(want) {
                return Err(Error::Comm {
                    call: call.to_string(),
                    what,
                });
            }
            state.set_waiting(rank, Some(want));
            state.check_progress();
            if state.broken.is_some() {
                self.wake_all();
            } else if let Some(changed) = self.changed.get(rank) {
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.set_waiting(rank, None);
        }
        Ok(state)
    }
}

impl State {
    fn set_waiting(&mut self, rank: usize, want: Option<Want>) {
        if let Some(slot) = self.waiting.get_mut(rank) {
            *slot = want;
        }
    }
}

/// One rank's end of the world.
pub(super) struct Rank {
    world: Arc<World>,
    rank: usize,
}

impl Rank {
    /// The only rank of a world of its own, on the caller's thread.
    pub(super) fn alone() -> Self {
        Rank {
            world: Arc::new(World::new(1)),
            rank: 0,
        }
    }

    fn post(&self, from: usize, tag: Tag, length: Option<usize>) -> Result<Receive> {
        check_rank("receive", from, self.size())?;
        let mut state = self.world.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let key = (from, self.rank, tag);
        let channel = state.channels.entry(key).or_default();
        match channel.unexpected.pop_front() {
            Some(data) => {
                state.delivered.insert(ticket, data);
            }
            None => channel.posted.push_back(ticket),
        }
        Ok(Receive {
            world: Arc::clone(&self.world),
            key,
            ticket,
            length,
        })
    }

    /// One round of all ranks, in which `terms` are combined.
    fn round(&self, call: &str, terms: &mut [Term]) -> Result<()> {
        let mut state = self.world.lock();
        if state.arrived == 0 {
            state.gathering = Ok(terms.to_vec());
        } else {
            let so_far = std::mem::replace(&mut state.gathering, Ok(Vec::new()));
            state.gathering = so_far.and_then(|so_far| combine(&so_far, terms));
        }
        state.arrived += 1;
        let number = state.round;
        if state.arrived == self.size() {
            state.arrived = 0;
            state.round += 1;
            state.finished = std::mem::replace(&mut state.gathering, Ok(Vec::new()));
            self.world.wake_all();
        }
        drop(state);
        let state = self.world.wait(self.rank, Want::Round(number), call)?;
        match &state.finished {
            Ok(result) => terms.copy_from_slice(result),
            Err(what) => {
                return Err(Error::Comm {
                    call: call.to_string(),
                    what: (*what).to_string(),
                });
            }
        }
        Ok(())
    }
}

fn combine(left: &[Term], right: &[Term]) -> Terms {
    if left.len() != right.len() {
        return Err("ranks passed different numbers of terms");
    }
    let pairs = left.iter().zip(right);
    pairs
        .map(|(a, b)| a.combine(*b).ok_or("ranks passed terms of different kinds"))
        .collect()
}

impl Communicator for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.changed.len()
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        check_rank("send", to, self.size())?;
        let mut state = self.world.lock();
        if let Some(what) = state.broken.clone() {
            return Err(Error::Comm {
                call: format!("send to rank {to}"),
                what,
            });
        }
        let copy = data.clone();
        let channel = state.channels.entry((self.rank, to, tag)).or_default();
        match channel.posted.pop_front() {
            Some(ticket) => {
                state.delivered.insert(ticket, copy);
            }
            None => channel.unexpected.push_back(copy),
        }
        self.world.wake(to);
        Ok(Box::new(Sent(data)))
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        Ok(Box::new(self.post(from, tag, Some(buffer.len()))?))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        Box::new(self.post(from, tag, None)?).wait()
    }

    fn barrier(&self) -> Result<()> {
        self.round("barrier", &mut [])
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.round("allreduce", terms)
    }

    fn abort(&self, code: i32) -> ! {
        let rank = self.rank;
        self.world.lock().broken = Some(format!("rank {rank} has aborted the job"));
        self.world.wake_all();
        panic_any(Aborted { rank, code })
    }
}

/// A buffered send is over as soon as it has begun.
struct Sent(Vec<u8>);

impl Pending for Sent {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        Ok(self.0)
    }
}

struct Receive {
    world: Arc<World>,
    /// From, to, tag.
    key: (usize, usize, Tag),
    ticket: Ticket,
    length: Option<usize>,
}

impl Pending for Receive {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let (from, rank, tag) = self.key;
        let want = Want::Message {
            from,
            tag,
            ticket: self.ticket,
        };
        let call = format!("receive from rank {from}, tag {tag:#x}");
        let data = self
            .world
            .wait(rank, want, &call)?
            .delivered
            .remove(&self.ticket);
        let data = data.unwrap_or_default();
        check_length(from, tag, self.length.unwrap_or(data.len()), data.len())?;
        Ok(data)
    }
}

/// Cancels a receive that nobody waited for.
impl Drop for Receive {
    fn drop(&mut self) {
        let mut state = self.world.lock();
        state.delivered.remove(&self.ticket);
        if let Some(channel) = state.channels.get_mut(&self.key) {
            channel.posted.retain(|&ticket| ticket != self.ticket);
        }
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
