//! Matches sends with receives where both are in one process.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A send of at least this many bytes completes only when a receive has taken the message. MPI
/// libraries have limits between 4 and 64 KiB; correct code works with any limit.
pub const RENDEZVOUS: usize = 16 << 10;

/// Names a send or a receive.
pub type Ticket = u64;

/// A message that has no receive yet.
struct Message {
    data: Vec<u8>,
    /// The send that gets `data` back once it is taken; `None` if it was buffered.
    send: Option<Ticket>,
}

/// A receive that has no message yet, and where it wants one.
struct Posted {
    ticket: Ticket,
    buffer: Vec<u8>,
}

/// Unmatched messages and receives of one key. One of the two is always empty.
#[derive(Default)]
struct Channel {
    unexpected: VecDeque<Message>,
    posted: VecDeque<Posted>,
}

/// `data` in `buffer`, which is only as long as was expected.
fn filled(mut buffer: Vec<u8>, data: &[u8]) -> Vec<u8> {
    buffer.clear();
    buffer.extend_from_slice(data);
    buffer
}

/// Sends and receives under way. As in MPI, transfers of one key, such as ranks and tag, match in their
/// order.
pub struct Matching<K> {
    channels: HashMap<K, Channel>,
    /// Buffers of completed transfers that no rank has waited for yet.
    done: HashMap<Ticket, Vec<u8>>,
    next_ticket: Ticket,
}

impl<K> Default for Matching<K> {
    fn default() -> Self {
        Matching {
            channels: HashMap::new(),
            done: HashMap::new(),
            next_ticket: 0,
        }
    }
}

impl<K: Eq + Hash> Matching<K> {
    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// Begins to send `data`. The transfer is done at once if the message is small, or a receive
    /// waits for it.
    pub fn send(&mut self, key: K, data: Vec<u8>) -> Ticket {
        let send = self.ticket();
        let channel = self.channels.entry(key).or_default();
        match channel.posted.pop_front() {
            Some(Posted { ticket, buffer }) => {
                self.done.insert(ticket, filled(buffer, &data));
                self.done.insert(send, data);
            }
            None if data.len() < RENDEZVOUS => {
                channel.unexpected.push_back(Message {
                    data: data.clone(),
                    send: None,
                });
                self.done.insert(send, data);
            }
            None => channel.unexpected.push_back(Message {
                data,
                send: Some(send),
            }),
        }
        send
    }

    /// Begins to receive into `buffer`. The transfer is done at once if a message is waiting.
    pub fn receive(&mut self, key: K, buffer: Vec<u8>) -> Ticket {
        let ticket = self.ticket();
        let channel = self.channels.entry(key).or_default();
        match channel.unexpected.pop_front() {
            Some(Message { data, send: None }) => {
                self.done.insert(ticket, data);
            }
            Some(Message {
                data,
                send: Some(send),
            }) => {
                self.done.insert(ticket, filled(buffer, &data));
                self.done.insert(send, data);
            }
            None => channel.posted.push_back(Posted { ticket, buffer }),
        }
        ticket
    }

    /// True if there is a message without a receive.
    pub fn has_message(&self, key: &K) -> bool {
        let channel = self.channels.get(key);
        channel.is_some_and(|channel| !channel.unexpected.is_empty())
    }

    /// True if the transfer is done.
    pub fn is_done(&self, ticket: Ticket) -> bool {
        self.done.contains_key(&ticket)
    }

    /// The buffer of a transfer that is done, once.
    pub fn take(&mut self, ticket: Ticket) -> Option<Vec<u8>> {
        self.done.remove(&ticket)
    }

    /// Forgets a transfer: a posted receive matches no message any more. A message that was sent is
    /// still delivered, but its buffer is not returned.
    pub fn forget(&mut self, key: &K, ticket: Ticket) {
        self.done.remove(&ticket);
        let Some(channel) = self.channels.get_mut(key) else {
            return;
        };
        channel.posted.retain(|posted| posted.ticket != ticket);
        let mut unexpected = channel.unexpected.iter_mut();
        if let Some(message) = unexpected.find(|message| message.send == Some(ticket)) {
            message.send = None;
        }
    }
}
