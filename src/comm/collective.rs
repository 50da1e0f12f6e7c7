//! Collective patterns over any [`Communicator`].
//!
//! All ranks of the group must call the same functions in the same order. A round has O(log P)
//! messages on its critical path. If the arguments of one rank are wrong, that rank still sends and
//! receives its messages before it returns the error, so that the others do not wait for ever. Tags
//! from [`FIRST_RESERVED_TAG`] on are used only here.
//!
//! An error of the transport is returned by the rank that notices it. After that the ranks are out
//! of step, and the group cannot be used any more.

use super::packet::{Packet, pack, unpack};
use super::{
    Agreed, Agreement, AtRoot, Communicator, FIRST_RESERVED_TAG, Pending, RankList, Tag, Term,
};
use crate::format::{from_message, to_message};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hasher};

const BCAST: Tag = FIRST_RESERVED_TAG;
pub(super) const GATHER: Tag = FIRST_RESERVED_TAG + 1;
const SCATTER: Tag = FIRST_RESERVED_TAG + 2;
const EXCHANGE: Tag = FIRST_RESERVED_TAG + 3;
const SCAN: Tag = FIRST_RESERVED_TAG + 4;
pub(super) const MEET: Tag = FIRST_RESERVED_TAG + 5;

/// Longest error text in a verdict, bytes.
const VERDICT_LIMIT: usize = 16 * 1024;

/// A number that is the same on all ranks, which run one program, if their `data` are the same. If
/// they differ, so do the fingerprints, except with a chance of one in 2^64.
pub fn fingerprint(data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    hasher.finish()
}

/// Copies `data` of `root` to all ranks. Collective; binomial tree.
pub fn bcast(comm: &dyn Communicator, root: usize, data: &mut Vec<u8>) -> Result<()> {
    comm.count_round("bcast");
    let tree = BinomialTree::new(comm, root)?;
    if let Some(parent) = tree.parent() {
        *data = comm.recv(parent, BCAST)?;
    }
    let mut sends = Vec::new();
    for (child, _) in tree.children() {
        sends.push(comm.isend(child, BCAST, data.clone())?);
    }
    wait_all(sends)
}

/// Sends the data of all ranks to `root`, which gets them in rank order. The others get `None`.
/// Collective; binomial tree, in which each rank holds the data of its subtree.
pub fn gather(comm: &dyn Communicator, root: usize, data: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
    comm.count_round("gather");
    let tree = BinomialTree::new(comm, root)?;
    let mut packets = vec![Packet {
        from: comm.rank(),
        to: root,
        body: data,
    }];
    let mut damage = None;
    for (child, _) in tree.children() {
        match unpack(&comm.recv(child, GATHER)?, comm.size()) {
            Ok(more) => packets.extend(more),
            Err(error) => damage = damage.or(Some(error)),
        }
    }
    if let Some(parent) = tree.parent() {
        comm.isend(parent, GATHER, pack(&packets))?.wait()?;
    }
    if let Some(error) = damage {
        return Err(error);
    }
    if tree.parent().is_some() {
        return Ok(None);
    }
    packets.sort_by_key(|packet| packet.from);
    if !packets.iter().map(|packet| packet.from).eq(0..comm.size()) {
        return Err(Error::comm("gather", "a rank's data got lost on the way"));
    }
    Ok(Some(
        packets.into_iter().map(|packet| packet.body).collect(),
    ))
}

/// Sends each rank its element of `data`, the list of `root` with one element for each rank. The
/// other ranks pass `None`. Collective; binomial tree, in which each rank holds the data of its
/// subtree.
pub fn scatter(
    comm: &dyn Communicator,
    root: usize,
    data: Option<Vec<Vec<u8>>>,
) -> Result<Vec<u8>> {
    comm.count_round("scatter");
    let tree = BinomialTree::new(comm, root)?;
    let size = comm.size();
    let packets = match tree.parent() {
        Some(parent) => unpack(&comm.recv(parent, SCATTER)?, size),
        None => match data {
            Some(data) if data.len() == size => {
                let packet = |(to, body)| Packet {
                    from: root,
                    to,
                    body,
                };
                Ok(data.into_iter().enumerate().map(packet).collect())
            }
            _ => Err(Error::comm(
                "scatter",
                "the root must give one element for each rank",
            )),
        },
    };
    // After an error the children still get a message, though an empty one.
    let (mut packets, damage) = match packets {
        Ok(packets) => (packets, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut sends = Vec::new();
    for (child, span) in tree.children() {
        let below = |p: &Packet| span.contains(&tree.relative(p.to));
        let (theirs, rest) = packets.into_iter().partition(below);
        packets = rest;
        sends.push(comm.isend(child, SCATTER, pack(&theirs))?);
    }
    wait_all(sends)?;
    if let Some(error) = damage {
        return Err(error);
    }
    let mine = packets.into_iter().find(|packet| packet.to == comm.rank());
    mine.map(|packet| packet.body)
        .ok_or_else(|| Error::comm("scatter", "nothing for this rank came from the root"))
}

/// Sends each rank its message from rank 0. Each message is for a list of ranks, and each rank is in one list. The
/// other ranks pass `None`. Collective; binomial tree. A message for many ranks is sent once to each child that has
/// some of them below it.
pub fn scatter_alike(
    comm: &dyn Communicator,
    messages: Option<Vec<(RankList, Vec<u8>)>>,
) -> Result<Vec<u8>> {
    comm.count_round("scatter");
    let tree = BinomialTree::new(comm, 0)?;
    let size = comm.size();
    let packets = match (tree.parent(), messages) {
        (Some(parent), _) => unpack(&comm.recv(parent, SCATTER)?, size).and_then(|packets| {
            let unpacked = packets
                .iter()
                .map(|packet| RankList::unpack_with(&packet.body, size));
            unpacked.collect()
        }),
        (None, Some(messages)) => Ok(messages),
        (None, None) => Err(Error::comm("scatter", "the root must give messages")),
    };
    // After an error the children still get a message, though an empty one.
    let (messages, damage) = match packets {
        Ok(messages) => (messages, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut sends = Vec::new();
    for (child, span) in tree.children() {
        let below = messages
            .iter()
            .map(|(ranks, body)| (ranks.within(&span), body));
        let theirs = below.filter(|(ranks, _)| !ranks.is_empty());
        let packets: Vec<Packet> = theirs
            .map(|(ranks, body)| Packet {
                from: 0,
                to: child,
                body: ranks.pack_with(body),
            })
            .collect();
        sends.push(comm.isend(child, SCATTER, pack(&packets))?);
    }
    wait_all(sends)?;
    if let Some(error) = damage {
        return Err(error);
    }
    let me = comm.rank();
    let is_mine = |(ranks, _): &(RankList, Vec<u8>)| !ranks.within(&(me..me + 1)).is_empty();
    let mine = messages.into_iter().find(is_mine);
    mine.map(|(_, body)| body)
        .ok_or_else(|| Error::comm("scatter", "nothing for this rank came from the root"))
}

/// Sends each `(destination, bytes)` to its destination. Returns the messages for this rank as
/// `(source, bytes)`, sorted by source. Messages of one pair of ranks keep their order. A rank may
/// send nothing, send to itself, or send several messages to one destination.
///
/// Collective. In step k each rank passes on, to rank me + 2^k, the messages whose remaining distance
/// has bit k set. Each rank sends log2 P messages, and no rank needs to know which ranks will send to
/// it. A payload travels up to log2 P times, so this is for metadata, not for files.
pub fn exchange(
    comm: &dyn Communicator,
    messages: Vec<(usize, Vec<u8>)>,
) -> Result<Vec<(usize, Vec<u8>)>> {
    comm.count_round("exchange");
    let (me, size) = (comm.rank(), comm.size());
    let mut damage = None;
    let mut held = Vec::with_capacity(messages.len());
    for (to, body) in messages {
        if to < size {
            held.push(Packet { from: me, to, body });
        } else {
            damage = Some(Error::comm(
                "exchange",
                format!("there is no rank {to} among {size}"),
            ));
        }
    }
    let mut step = 1;
    while step < size {
        let goes_on = |p: &Packet| ((p.to + size - me) % size) & step != 0;
        let (leaving, staying) = held.into_iter().partition(goes_on);
        held = staying;
        let send = comm.isend((me + step) % size, EXCHANGE, pack(&leaving))?;
        match unpack(&comm.recv((me + size - step) % size, EXCHANGE)?, size) {
            Ok(arrived) => held.extend(arrived),
            Err(error) => damage = damage.or(Some(error)),
        }
        send.wait()?;
        step *= 2;
    }
    if let Some(error) = damage {
        return Err(error);
    }
    if held.iter().any(|packet| packet.to != me) {
        return Err(Error::comm("exchange", "a message came to the wrong rank"));
    }
    // Stable, so that each pair's messages, which travelled together, stay in order.
    held.sort_by_key(|packet| packet.from);
    Ok(held
        .into_iter()
        .map(|packet| (packet.from, packet.body))
        .collect())
}

/// Replaces each term by the combined terms of all lower ranks: a sum before this rank, or the
/// largest or smallest value before it. Rank 0 gets 0 for a sum, the lowest number for a maximum and
/// the highest for a minimum. Collective; each rank sends log2 P messages of 8 bytes a term.
pub fn exscan(comm: &dyn Communicator, terms: &mut [Term]) -> Result<()> {
    comm.count_round("scan");
    let (me, size) = (comm.rank(), comm.size());
    // The values of this rank and of the 2^k - 1 ranks before it.
    let mut with_mine = terms.to_vec();
    terms.iter_mut().for_each(|term| *term = term.neutral());
    let mut step = 1;
    while step < size {
        let mut send = None;
        if me + step < size {
            let values = with_mine.iter().flat_map(|term| term.value().to_be_bytes());
            send = Some(comm.isend(me + step, SCAN, values.collect())?);
        }
        if me >= step {
            let length = size_of::<i64>() * terms.len();
            let receive = comm.irecv(me - step, SCAN, vec![0; length])?;
            let message = receive.wait()?;
            let values = message.as_chunks().0.iter();
            let values = values.map(|bytes| i64::from_be_bytes(*bytes));
            for ((before, with), value) in terms.iter_mut().zip(&mut with_mine).zip(values) {
                *before = before.joined(value);
                *with = with.joined(value);
            }
        }
        if let Some(send) = send {
            send.wait()?;
        }
        step *= 2;
    }
    Ok(())
}

/// Turns local results into one verdict. Returns `local` if it is `Ok` on all ranks. Otherwise all
/// ranks return the same [`Error::Remote`] with the message of the lowest rank that failed; `node`
/// is the name of this rank's node in it. An error that is a verdict already is passed on unchanged.
///
/// Collective: one allreduce, and a broadcast if a rank failed.
pub fn agree<T>(comm: &dyn Communicator, node: &str, local: Result<T>) -> Result<T> {
    agree_with(comm, node, local, [])?.verdict
}

/// Combines each term over all ranks. Collective; one allreduce.
pub fn combine<const N: usize>(
    comm: &dyn Communicator,
    mut terms: [Term; N],
) -> Result<[Agreed<i64>; N]> {
    comm.allreduce(&mut terms)?;
    Ok(terms.map(|term| Agreed::new(term.value())))
}

/// [`combine`] for a number of terms that all ranks know. Collective; one allreduce.
pub fn combine_all(comm: &dyn Communicator, mut terms: Vec<Term>) -> Result<Vec<Agreed<i64>>> {
    comm.allreduce(&mut terms)?;
    let values = terms.into_iter().map(|term| Agreed::new(term.value()));
    Ok(values.collect())
}

/// Like [`agree`], and combines `terms` over all ranks in the same allreduce. The terms are combined even
/// if a rank failed; the ranks that failed also pass terms.
///
/// # Errors
/// Only errors of the transport.
pub fn agree_with<T, const N: usize>(
    comm: &dyn Communicator,
    node: &str,
    local: Result<T>,
    mut terms: [Term; N],
) -> Result<Agreement<T, N>> {
    let (me, size) = (comm.rank(), comm.size());
    let failed = local.is_err();
    let count = Term::Sum(i64::from(failed));
    let first = Term::Min(if failed { me as i64 } else { i64::MAX });
    let mut all = [&[count, first], &terms[..]].concat();
    comm.allreduce(&mut all)?;
    let (failures, rest) = all.split_at(2);
    terms.copy_from_slice(rest);
    let terms = terms.map(|term| Agreed::new(term.value()));
    let verdict = match failures {
        [count, first] if count.value() != 0 => {
            let count = usize::try_from(count.value()).unwrap_or(size);
            let first = usize::try_from(first.value()).unwrap_or(size);
            Err(share_failure(comm, node, local.err(), first, count)?)
        }
        _ => local,
    };
    Ok(Agreement { verdict, terms })
}

/// The error of rank `first` on all ranks, after `count` ranks have failed. Collective; a
/// broadcast.
fn share_failure(
    comm: &dyn Communicator,
    node: &str,
    local: Option<Error>,
    first: usize,
    count: usize,
) -> Result<Error> {
    let me = comm.rank();
    let mut message = match local {
        Some(error) if me == first => encode_verdict(me, node, count, error).unwrap_or_default(),
        _ => Vec::new(),
    };
    bcast(comm, first, &mut message)?;
    Ok(decode_verdict(&message))
}

/// Calls `work` on rank 0. Local.
pub fn if_root<T>(comm: &dyn Communicator, work: impl FnOnce() -> Result<T>) -> Result<AtRoot<T>> {
    AtRoot::new(comm, work).transpose()
}

/// Calls `work` on rank 0, and all ranks agree on whether it succeeded.
///
/// Collective; rounds as for [`agree`].
pub fn on_root<T>(
    comm: &dyn Communicator,
    node: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<AtRoot<T>> {
    agree(comm, node, if_root(comm, work))
}

/// A verdict as the lowest rank that failed sends it to all.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct FailureMessage {
    rank: usize,
    node: String,
    count: usize,
    error: String,
}

/// The error of a rank as a message that [`decode_verdict`] makes an [`Error::Remote`] of. An error
/// that is a verdict already stays as it is.
pub fn encode_verdict(rank: usize, node: &str, count: usize, error: Error) -> Result<Vec<u8>> {
    let (rank, node, count, error) = match error {
        Error::Remote {
            rank,
            node,
            count,
            error,
        } => (rank, node, count, error),
        other => (rank, node.to_string(), count, other.to_string()),
    };
    let end = error.char_indices().map(|(at, _)| at);
    let end = end
        .take_while(|at| *at <= VERDICT_LIMIT)
        .last()
        .unwrap_or(0);
    let error = match error.len() {
        ..=VERDICT_LIMIT => &error,
        _ => &error[..end],
    };
    let plain = |text: &str| text.replace('\0', " ");
    to_message(&FailureMessage {
        rank,
        node: plain(&node),
        count,
        error: plain(error),
    })
}

/// See [`encode_verdict`].
pub fn decode_verdict(message: &[u8]) -> Error {
    match from_message(message) {
        Ok(FailureMessage {
            rank,
            node,
            count,
            error,
        }) => Error::Remote {
            rank,
            node,
            count,
            error,
        },
        Err(_) => Error::comm("agree", "a rank has failed, and its message cannot be read"),
    }
}

/// The binomial tree over the ranks, numbered relative to the root.
pub(super) struct BinomialTree {
    root: usize,
    me: usize,
    size: usize,
}

impl BinomialTree {
    pub(super) fn new(comm: &dyn Communicator, root: usize) -> Result<Self> {
        super::check_rank("collective operation", root, comm.size())?;
        Ok(BinomialTree {
            root,
            me: comm.rank(),
            size: comm.size(),
        })
    }

    fn relative(&self, rank: usize) -> usize {
        (rank + self.size - self.root) % self.size
    }

    fn absolute(&self, relative: usize) -> usize {
        (relative + self.root) % self.size
    }

    /// The rank with the lowest set bit cleared.
    pub(super) fn parent(&self) -> Option<usize> {
        let relative = self.relative(self.me);
        (relative != 0).then(|| self.absolute(relative & (relative - 1)))
    }

    /// The children, each with the relative ranks of its subtree. Largest subtree first.
    pub(super) fn children(&self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> + '_ {
        let relative = self.relative(self.me);
        let reach = match relative {
            0 => self.size.next_power_of_two(),
            _ => 1 << relative.trailing_zeros(),
        };
        let bits = std::iter::successors(Some(reach / 2), |bit| Some(bit / 2));
        bits.take_while(|&bit| bit > 0)
            .map(move |bit| (relative + bit, relative + 2 * bit))
            .filter(|&(first, _)| first < self.size)
            .map(|(first, end)| (self.absolute(first), first..end.min(self.size)))
    }
}

fn wait_all(pending: Vec<Box<dyn Pending>>) -> Result<()> {
    pending
        .into_iter()
        .try_for_each(|send| send.wait().map(drop))
}
