//! Ranks of a simulated MPI job. Messages take a random time; those between two ranks with one tag arrive
//! in order. A rank that waits for a dead one waits until it is killed, as with MPI; or it gets an error, as with
//! User Level Failure Mitigation, if the world is told of the dead one.

use crate::flips::Flips;
use scr::comm::{Communicator, Pending, Tag, Term};
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{self, Key};
use scr::{Error, Result};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Longest time that a message is on its way.
const DELAY: u64 = 200;

/// After so long at the latest a rank that waits has noticed that another one has failed, microseconds.
const NOTICE: u64 = 20_000;

/// Below this length a send ends before its receive begins; one of these for each world.
const EAGER: [usize; 4] = [0, 64, 16 << 10, usize::MAX];

type Ticket = u64;

/// A message, and when it arrives.
struct Message {
    data: Vec<u8>,
    at: Duration,
    /// The send that is over when this is received, if it is not yet.
    send: Option<Ticket>,
}

#[derive(Default)]
struct Channel {
    posted: VecDeque<Ticket>,
    unexpected: VecDeque<Message>,
    /// When the last message arrives.
    last: Duration,
}

/// The receiver, the tag and the sender of messages.
type ChannelName = (usize, Tag, usize);

/// What messages cost, instead of a random time.
#[derive(Clone, Copy)]
pub struct Network {
    /// From one node to another.
    pub latency: Duration,
    /// From the end of one message to the end of the next one at a rank that receives many.
    pub gap: Duration,
    /// Of a rank that receives.
    pub bytes_per_second: u64,
}

impl Network {
    fn takes(&self, bytes: usize) -> Duration {
        self.gap + Duration::from_nanos(bytes as u64 * 1_000_000_000 / self.bytes_per_second)
    }
}

#[derive(Default)]
struct State {
    channels: BTreeMap<ChannelName, Channel>,
    /// When each rank has received all that was sent to it so far.
    received: BTreeMap<usize, Duration>,
    /// Transfers that are over, or will be at a time: their data.
    done: BTreeMap<Ticket, (Duration, Vec<u8>)>,
    next: Ticket,
    round: u64,
    arrived: usize,
    gathering: Vec<Term>,
    differ: bool,
    /// The terms of the last round; `None` if the ranks passed terms of different kinds.
    finished: Option<Vec<Term>>,
    /// When that was.
    finished_at: Duration,
    aborted: Option<(usize, i32)>,
    /// A rank has died, and the others may notice it.
    failed: bool,
    /// All calls fail from now on.
    revoked: bool,
}

impl State {
    /// # Errors
    /// The communicator was revoked.
    fn check(&self) -> Result<()> {
        if self.revoked {
            return Err(Error::comm("MPI", "the communicator was revoked"));
        }
        Ok(())
    }
}

/// The ranks of one run.
pub struct World {
    state: Mutex<State>,
    size: usize,
    eager: usize,
    /// A rank to and from which messages take up to so long.
    late: Option<(usize, Duration)>,
    flips: Arc<Flips>,
    network: Option<Network>,
    /// Keys of this world begin here.
    key: Key,
}

impl World {
    pub fn new(size: usize, late: Option<(usize, Duration)>, flips: Arc<Flips>) -> Arc<World> {
        let (eager, key) = scheduler::draw(|random| (*random.one_of(&EAGER), random.number()));
        Arc::new(World {
            state: Mutex::default(),
            size,
            eager,
            late,
            flips,
            network: None,
            key,
        })
    }

    /// Ranks whose messages take the time that they take in a network.
    pub fn timed(size: usize, network: Network) -> Arc<World> {
        let key = scheduler::draw(|random| random.number());
        Arc::new(World {
            state: Mutex::default(),
            size,
            eager: usize::MAX,
            late: None,
            flips: Arc::default(),
            network: Some(network),
            key,
        })
    }

    /// When a message arrives that is sent now.
    fn arrival(&self, state: &mut State, from: usize, to: usize, bytes: usize) -> Duration {
        match self.network {
            Some(network) => {
                let free = state.received.entry(to).or_default();
                *free = (*free).max(now() + network.latency) + network.takes(bytes);
                *free
            }
            None => {
                let delay = scheduler::draw(|random| random.below(self.delay(from, to)));
                now() + Duration::from_micros(delay)
            }
        }
    }

    /// How long a barrier or an allreduce takes after the last rank has come.
    fn round(&self, terms: usize) -> Duration {
        let one = |network: Network| network.latency + network.takes(16 * terms);
        let steps = self.size.next_power_of_two().trailing_zeros();
        self.network
            .map_or(Duration::ZERO, |network| one(network) * steps)
    }

    /// The longest time of a message, microseconds.
    fn delay(&self, from: usize, to: usize) -> u64 {
        let late = self.late.filter(|(rank, _)| [from, to].contains(rank));
        late.map_or(DELAY, |(_, most)| most.as_micros() as u64)
    }

    /// One of its ranks.
    pub fn rank(self: &Arc<World>, rank: usize) -> Box<dyn Communicator> {
        let world = self.clone();
        Box::new(SimRank { world, rank })
    }

    /// The rank that has aborted the job, and its code.
    pub fn aborted(&self) -> Option<(usize, i32)> {
        self.state().aborted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn wake(&self, rank: usize) {
        scheduler::wake(self.key.wrapping_add(rank as u64));
    }

    /// A rank has died, and its run is to be repaired: those that wait for it get an error.
    pub fn lose_rank(&self) {
        self.state().failed = true;
        self.wake_all();
    }

    /// True if a rank has died, and the others may know it.
    pub fn has_failed(&self) -> bool {
        self.state().failed
    }

    fn revoke(&self) {
        self.state().revoked = true;
        self.wake_all();
    }

    fn wake_all(&self) {
        (0..self.size).for_each(|rank| self.wake(rank));
    }

    /// Waits as `rank` until `look` finds something; it may name a time at which it will.
    fn wait<T>(&self, rank: usize, mut look: impl FnMut(&mut State) -> Look<T>) -> Result<T> {
        scheduler::pause();
        let mut notices = None;
        loop {
            if scheduler::is_dead() {
                return Err(Error::comm("MPI", "this process was killed"));
            }
            let mut state = self.state();
            let mut until = match look(&mut state) {
                Look::Found(found) => return Ok(found),
                Look::At(time) => Some(time),
                Look::Never => None,
            };
            state.check()?;
            if state.failed {
                let time = || scheduler::draw(|random| random.below(NOTICE));
                let at = *notices.get_or_insert_with(|| now() + Duration::from_micros(time()));
                if at <= now() {
                    drop(state);
                    self.revoke();
                    return Err(Error::comm(
                        "MPI",
                        "a process of the communicator has failed",
                    ));
                }
                until = Some(until.map_or(at, |time: Duration| time.min(at)));
            }
            drop(state);
            scheduler::wait(self.key.wrapping_add(rank as u64), until);
        }
    }
}

enum Look<T> {
    Found(T),
    At(Duration),
    Never,
}

fn now() -> Duration {
    scheduler::now().unwrap()
}

struct SimRank {
    world: Arc<World>,
    rank: usize,
}

/// A transfer of `rank`.
struct UnderWay {
    world: Arc<World>,
    rank: usize,
    ticket: Ticket,
    channel: ChannelName,
    /// What a receive expects.
    length: Option<usize>,
}

impl SimRank {
    fn check(&self, peer: usize) -> Result<()> {
        if peer < self.world.size {
            return Ok(());
        }
        Err(Error::comm(
            format!("MPI with rank {peer}"),
            "there is no such rank",
        ))
    }

    fn under_way(&self, ticket: Ticket, channel: ChannelName, length: Option<usize>) -> UnderWay {
        let (world, rank) = (self.world.clone(), self.rank);
        UnderWay {
            world,
            rank,
            ticket,
            channel,
            length,
        }
    }

    fn receive(&self, from: usize, tag: Tag, length: Option<usize>) -> Result<Box<UnderWay>> {
        self.check(from)?;
        scheduler::pause();
        let mut state = self.world.state();
        state.check()?;
        let ticket = state.next;
        state.next += 1;
        let name = (self.rank, tag, from);
        let channel = state.channels.entry(name).or_default();
        match channel.unexpected.pop_front() {
            Some(Message { data, at, send }) => {
                // A rank that receives from any other looks at all channels that it has.
                if channel.unexpected.is_empty()
                    && channel.posted.is_empty()
                    && channel.last <= now()
                {
                    state.channels.remove(&name);
                }
                if let Some(send) = send {
                    state.done.insert(send, (at, data.clone()));
                    self.world.wake(from);
                }
                state.done.insert(ticket, (at, data));
            }
            None => channel.posted.push_back(ticket),
        }
        Ok(Box::new(self.under_way(ticket, name, length)))
    }
}

impl Communicator for SimRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.size
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.check(to)?;
        scheduler::pause();
        let mut state = self.world.state();
        state.check()?;
        let arrival = self.world.arrival(&mut state, self.rank, to, data.len());
        let ticket = state.next;
        state.next += 1;
        let name = (to, tag, self.rank);
        let channel = state.channels.entry(name).or_default();
        let at = channel.last.max(arrival);
        channel.last = at;
        match channel.posted.pop_front() {
            Some(receive) => {
                state.done.insert(receive, (at, data.clone()));
                state.done.insert(ticket, (now(), data));
            }
            None if data.len() < self.world.eager => {
                let message = Message {
                    data: data.clone(),
                    at,
                    send: None,
                };
                channel.unexpected.push_back(message);
                state.done.insert(ticket, (now(), data));
            }
            None => {
                let send = Some(ticket);
                channel.unexpected.push_back(Message { data, at, send });
            }
        }
        self.world.wake(to);
        Ok(Box::new(self.under_way(ticket, name, None)))
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        Ok(self.receive(from, tag, Some(buffer.len()))?)
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.receive(from, tag, None)?.wait()
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        let from = self.world.wait(self.rank, |state| {
            let mut first = None;
            let mut able = Vec::new();
            let all = (self.rank, tag, 0)..=(self.rank, tag, usize::MAX);
            for (&(_, _, from), channel) in state.channels.range(all) {
                match channel.unexpected.front() {
                    _ if from == self.rank => {}
                    Some(message) if message.at <= now() => able.push(from),
                    Some(message) => {
                        first = Some(first.map_or(message.at, |t: Duration| t.min(message.at)))
                    }
                    None => {}
                }
            }
            match (able.is_empty(), first) {
                (false, _) => {
                    Look::Found(scheduler::draw(|random: &mut Random| *random.one_of(&able)))
                }
                (true, Some(time)) => Look::At(time),
                (true, None) => Look::Never,
            }
        })?;
        Ok((from, self.recv(from, tag)?))
    }

    fn barrier(&self) -> Result<()> {
        self.allreduce(&mut [])
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        scheduler::pause();
        let mut state = self.world.state();
        state.check()?;
        let number = state.round;
        if state.arrived == 0 {
            (state.gathering, state.differ) = (terms.to_vec(), false);
        } else {
            let mut differ = state.gathering.len() != terms.len();
            for (sum, term) in state.gathering.iter_mut().zip(&*terms) {
                match (&mut *sum, term) {
                    (Term::Sum(a), Term::Sum(b)) => *a = a.wrapping_add(*b),
                    (Term::Max(a), Term::Max(b)) => *a = (*a).max(*b),
                    (Term::Min(a), Term::Min(b)) => *a = (*a).min(*b),
                    _ => differ = true,
                }
            }
            state.differ |= differ;
        }
        state.arrived += 1;
        if state.arrived == self.world.size {
            state.arrived = 0;
            state.round += 1;
            let gathered = std::mem::take(&mut state.gathering);
            state.finished_at = now() + self.world.round(gathered.len());
            state.finished = (!state.differ).then_some(gathered);
            self.world.wake_all();
        }
        drop(state);
        let result = self.world.wait(self.rank, |state| {
            if state.round == number {
                Look::Never
            } else if state.finished_at > now() && state.round == number + 1 {
                Look::At(state.finished_at)
            } else {
                Look::Found(state.finished.clone())
            }
        })?;
        let result =
            result.ok_or_else(|| Error::comm("allreduce", "ranks passed different terms"))?;
        terms.copy_from_slice(&result);
        Ok(())
    }

    fn revoke(&self) {
        self.world.revoke();
    }

    fn abort(&self, code: i32) -> ! {
        self.world.state().aborted = Some((self.rank, code));
        loop {
            // Until the job is killed. Where the code of a killed process does this, there is no way back.
            assert!(!scheduler::is_dead(), "a killed rank aborts");
            scheduler::wait(0, None);
        }
    }
}

impl Pending for UnderWay {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let mut data = self
            .world
            .wait(self.rank, |state| match state.done.get(&self.ticket) {
                Some((at, _)) if *at <= now() => {
                    let done = state.done.remove(&self.ticket);
                    Look::Found(done.map_or_else(Vec::new, |(_, data)| data))
                }
                Some((at, _)) => Look::At(*at),
                None => Look::Never,
            })?;
        let (_, tag, from) = self.channel;
        if self.length.is_some() {
            self.world.flips.message(tag, &mut data);
        }
        match self.length.filter(|length| *length != data.len()) {
            None => Ok(data),
            Some(length) => {
                let text = format!(
                    "the message has {} bytes, {length} were expected",
                    data.len()
                );
                Err(Error::comm(
                    format!("receive from rank {from}, tag {tag:#x}"),
                    text,
                ))
            }
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.world.state();
        state.done.remove(&self.ticket);
        if let Some(channel) = state.channels.get_mut(&self.channel) {
            channel.posted.retain(|ticket| *ticket != self.ticket);
            for message in &mut channel.unexpected {
                message.send = message.send.filter(|send| *send != self.ticket);
            }
        }
    }
}
