//! Channels. See [`std::sync::mpsc`].

use super::scheduler::{self, Key};
use std::collections::VecDeque;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Queue<T> {
    values: VecDeque<T>,
    /// Number of values that may wait to be received.
    most: usize,
    senders: usize,
    received: bool,
}

/// The lock is never held while a task waits.
struct Channel<T>(Mutex<Queue<T>>);

impl<T> Channel<T> {
    fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self) -> Key {
        std::ptr::from_ref(self) as Key
    }
}

/// Sends without waiting.
pub struct Sender<T>(Arc<Channel<T>>);

/// Sends, and waits while the channel is full.
pub struct SyncSender<T>(Sender<T>);

/// Receives.
pub struct Receiver<T>(Arc<Channel<T>>);

fn new<T>(most: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Queue {
        values: VecDeque::new(),
        most,
        senders: 1,
        received: true,
    };
    let channel = Arc::new(Channel(Mutex::new(queue)));
    (Sender(channel.clone()), Receiver(channel))
}

/// A channel without a limit.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    new(usize::MAX)
}

/// A channel in which `most` values may wait. With 0 it takes one, which is more than the standard
/// library's.
pub fn sync_channel<T>(most: usize) -> (SyncSender<T>, Receiver<T>) {
    let (sender, receiver) = new(most.max(1));
    (SyncSender(sender), receiver)
}

impl<T> Sender<T> {
    /// Sends; fails without a receiver.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        scheduler::pause();
        loop {
            let mut queue = self.0.queue();
            if !queue.received || (scheduler::is_dead() && queue.values.len() >= queue.most) {
                return Err(SendError(value));
            }
            if queue.values.len() < queue.most {
                queue.values.push_back(value);
                scheduler::wake(self.0.key());
                return Ok(());
            }
            drop(queue);
            scheduler::wait(self.0.key(), None);
        }
    }
}

impl<T> SyncSender<T> {
    /// Sends; fails without a receiver.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.queue().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.queue().senders -= 1;
        scheduler::wake(self.0.key());
    }
}

impl<T> Receiver<T> {
    /// The next value, if one is waiting.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        scheduler::pause();
        let mut queue = self.0.queue();
        match queue.values.pop_front() {
            Some(value) => {
                scheduler::wake(self.0.key());
                Ok(value)
            }
            None if queue.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Waits for a value.
    pub fn recv(&self) -> Result<T, RecvError> {
        self.receive(None).map_err(|_| RecvError)
    }

    /// Waits for a value, for some time at most.
    pub fn recv_timeout(&self, most: Duration) -> Result<T, RecvTimeoutError> {
        let until = scheduler::now().map(|now| now.saturating_add(most));
        self.receive(until)
    }

    fn receive(&self, until: Option<Duration>) -> Result<T, RecvTimeoutError> {
        loop {
            match self.try_recv() {
                Ok(value) => return Ok(value),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if scheduler::is_dead() => {
                    return Err(RecvTimeoutError::Disconnected);
                }
                Err(TryRecvError::Empty) if until.is_some_and(over) => {
                    return Err(RecvTimeoutError::Timeout);
                }
                Err(TryRecvError::Empty) => {
                    // A value may have come during the pause in `try_recv`; then the queue is not empty.
                    scheduler::wait(self.0.key(), until);
                }
            }
        }
    }

    /// All values, until the last sender is gone.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }
}

fn over(until: Duration) -> bool {
    scheduler::now().is_none_or(|now| now >= until)
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.received = false;
        let values = std::mem::take(&mut queue.values);
        drop(queue);
        drop(values);
        scheduler::wake(self.0.key());
    }
}

/// The values of a channel, until the last sender is gone.
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
