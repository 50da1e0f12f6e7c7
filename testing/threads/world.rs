//! The state that the ranks of [`threads`](super) share, behind one lock: unmatched messages and
//! receives, the current round, and what each rank waits for.

use crate::comm::matching::{Matching, Ticket};
use crate::comm::{Tag, Term};
use crate::{Error, Result};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The end of a message that a transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Send,
    Receive,
}

impl Side {
    fn call(self, from: usize, to: usize, tag: Tag) -> String {
        match self {
            Side::Send => format!("send to rank {to}, tag {tag:#x}"),
            Side::Receive => format!("receive from rank {from}, tag {tag:#x}"),
        }
    }
}

/// The ranks of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub from: usize,
    pub to: usize,
}

/// A send or a receive that somebody may wait for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub side: Side,
    pub from: usize,
    pub to: usize,
    pub tag: Tag,
    pub ticket: Ticket,
}

impl Transfer {
    /// The rank at the other end.
    fn peer(&self) -> usize {
        match self.side {
            Side::Send => self.to,
            Side::Receive => self.from,
        }
    }

    /// The name of the wait in errors.
    fn call(&self) -> String {
        self.side.call(self.from, self.to, self.tag)
    }
}

/// The event for which a rank waits.
#[derive(Debug, Clone, Copy)]
enum Want {
    Transfer(Transfer),
    /// A message with this tag from any other rank to this one.
    Any(usize, Tag),
    Round(u64),
}

/// Terms of a round, or how the ranks contradict each other.
type Terms = std::result::Result<Vec<Term>, &'static str>;

fn combine(left: &[Term], right: &[Term]) -> Terms {
    if left.len() != right.len() {
        return Err("ranks passed different numbers of terms");
    }
    let pairs = left.iter().zip(right);
    pairs
        .map(|(a, b)| a.combine(*b).ok_or("ranks passed terms of different kinds"))
        .collect()
}

struct WorldState {
    /// The sends and receives, by sender, receiver and tag.
    messages: Matching<(usize, usize, Tag)>,
    /// Number of the current round (barrier or allreduce), ranks in it, and its terms.
    round: u64,
    arrived: usize,
    gathering: Terms,
    /// Result of the previous round. Kept until all ranks have entered the next one.
    finished: Terms,
    waiting: Vec<Option<Want>>,
    ended: Vec<bool>,
    /// Number of ranks that neither wait nor have ended.
    running: usize,
    first_panic: Option<usize>,
    /// Set when all further calls must fail: the reason.
    broken: Option<String>,
}

impl WorldState {
    fn has_ended(&self, rank: usize) -> bool {
        self.ended.get(rank) == Some(&true)
    }

    fn set_waiting(&mut self, rank: usize, want: Option<Want>) {
        if let Some(slot) = self.waiting.get_mut(rank) {
            match (want.is_some(), slot.is_some()) {
                (true, false) => self.running -= 1,
                (false, true) => self.running += 1,
                _ => {}
            }
            *slot = want;
        }
    }

    fn satisfied(&self, want: Want) -> bool {
        match want {
            Want::Transfer(transfer) => self.messages.is_done(transfer.ticket),
            Want::Any(to, tag) => self.sender(to, tag).is_some(),
            Want::Round(number) => self.round > number,
        }
    }

    /// The lowest rank that has sent `to` a message with this tag that has no receive yet.
    fn sender(&self, to: usize, tag: Tag) -> Option<usize> {
        let has_message = |from: &usize| self.messages.has_message(&(*from, to, tag));
        (0..self.ended.len())
            .filter(|from| *from != to)
            .find(has_message)
    }

    /// The reason why `want` can never be satisfied, if it cannot.
    fn hopeless(&self, want: Want) -> Option<String> {
        if self.broken.is_some() {
            return self.broken.clone();
        }
        let gone = match want {
            Want::Transfer(transfer) => Some(transfer.peer()).filter(|r| self.has_ended(*r)),
            Want::Any(to, _) => {
                let mut others = (0..self.ended.len()).filter(|rank| *rank != to);
                return others
                    .all(|rank| self.has_ended(rank))
                    .then(|| "all other ranks have ended".to_string());
            }
            Want::Round(_) => self.ended.iter().position(|&ended| ended),
        };
        gone.map(|rank| format!("rank {rank} has ended"))
    }

    /// Makes all calls fail if every remaining rank waits for something that cannot come.
    fn check_progress(&mut self) {
        if self.running > 0 {
            return;
        }
        let mut story = String::from("every rank waits:");
        for (rank, want) in self.waiting.iter().enumerate() {
            match want {
                _ if self.has_ended(rank) => continue,
                Some(want) if !self.satisfied(*want) && self.hopeless(*want).is_none() => {
                    story += &match want {
                        Want::Transfer(transfer) => format!(" rank {rank}: {};", transfer.call()),
                        Want::Any(_, tag) => {
                            format!(" rank {rank}: receive from any rank, tag {tag:#x};")
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

pub(super) struct World {
    state: Mutex<WorldState>,
    /// A condition variable for each rank.
    changed: Vec<Condvar>,
}

impl World {
    pub fn new(size: usize) -> Self {
        let state = WorldState {
            messages: Matching::default(),
            round: 0,
            arrived: 0,
            gathering: Ok(Vec::new()),
            finished: Ok(Vec::new()),
            waiting: vec![None; size],
            ended: vec![false; size],
            running: size,
            first_panic: None,
            broken: None,
        };
        let changed = (0..size).map(|_| Condvar::new()).collect();
        World {
            state: Mutex::new(state),
            changed,
        }
    }

    pub fn size(&self) -> usize {
        self.changed.len()
    }

    /// No invariant is broken between two statements that can panic, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, WorldState> {
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

    /// Notes that `rank` has ended.
    pub fn end(&self, rank: usize, panicked: bool) {
        let mut state = self.lock();
        if let Some(ended) = state.ended.get_mut(rank) {
            *ended = true;
        }
        state.running -= 1;
        if panicked && state.first_panic.is_none() {
            state.first_panic = Some(rank);
        }
        state.check_progress();
        self.wake_all();
    }

    /// The rank that panicked first.
    pub fn first_panic(&self) -> Option<usize> {
        self.lock().first_panic
    }

    /// Makes all further calls of all ranks fail.
    pub fn break_with(&self, why: String) {
        self.lock().broken = Some(why);
        self.wake_all();
    }

    /// Begins a transfer: sends `buffer`, or receives a message into it.
    pub fn begin(
        &self,
        side: Side,
        Ends { from, to }: Ends,
        tag: Tag,
        buffer: Vec<u8>,
    ) -> Result<Transfer> {
        let mut state = self.lock();
        let key = (from, to, tag);
        if let (Side::Send, Some(what)) = (side, state.broken.clone()) {
            return Err(Error::comm(side.call(from, to, tag), what));
        }
        let ticket = match side {
            Side::Send => state.messages.send(key, buffer),
            Side::Receive => state.messages.receive(key, buffer),
        };
        let transfer = Transfer {
            side,
            from,
            to,
            tag,
            ticket,
        };
        self.wake(transfer.peer());
        Ok(transfer)
    }

    /// Blocks until the transfer is complete, and returns its buffer.
    pub fn finish(&self, transfer: &Transfer) -> Result<Vec<u8>> {
        let rank = match transfer.side {
            Side::Send => transfer.from,
            Side::Receive => transfer.to,
        };
        let mut state = self.wait(rank, Want::Transfer(*transfer), &transfer.call())?;
        Ok(state.messages.take(transfer.ticket).unwrap_or_default())
    }

    /// Blocks until another rank has sent `rank` a message with this tag, and returns that rank.
    pub fn wait_for_any(&self, rank: usize, tag: Tag) -> Result<usize> {
        let call = format!("receive from any rank, tag {tag:#x}");
        let state = self.wait(rank, Want::Any(rank, tag), &call)?;
        let sender = state.sender(rank, tag);
        sender.ok_or_else(|| Error::comm(call, "the message is gone"))
    }

    /// Forgets a transfer: a posted receive matches no message any more. A message that was sent is
    /// still delivered, but its buffer is not returned.
    pub fn forget(&self, transfer: &Transfer) {
        let Transfer {
            from,
            to,
            tag,
            ticket,
            ..
        } = *transfer;
        self.lock().messages.forget(&(from, to, tag), ticket);
    }

    /// One round of all ranks, in which `terms` are combined.
    pub fn round(&self, rank: usize, call: &str, terms: &mut [Term]) -> Result<()> {
        let mut state = self.lock();
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
            self.wake_all();
        }
        drop(state);
        let state = self.wait(rank, Want::Round(number), call)?;
        match &state.finished {
            Ok(result) => terms.copy_from_slice(result),
            Err(what) => {
                return Err(Error::comm(call, (*what).to_string()));
            }
        }
        Ok(())
    }

    /// Blocks `rank` until `want` is satisfied.
    fn wait(&self, rank: usize, want: Want, call: &str) -> Result<MutexGuard<'_, WorldState>> {
        let mut state = self.lock();
        while !state.satisfied(want) {
            if let Some(what) = state.hopeless(want) {
                return Err(Error::comm(call, what));
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
