//! Writes files in a thread while messages are exchanged.
//!
//! A rank whose files are rebuilt writes more than the others, so writing should not keep it from
//! receiving.

use super::block_signals::BlockedSignals;
use crate::Result;
use crate::system::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use crate::system::thread::{Builder, Scope, ScopedJoinHandle};
use std::panic::resume_unwind;

/// Limit for buffers that wait to be written.
const QUEUE: usize = 4;

/// Takes the bytes of blocks in order.
pub trait BlockSink: Send {
    /// Takes the next bytes of a block.
    fn put(&mut self, block: usize, bytes: &[u8]) -> Result<()>;
}

/// A sink, used directly or by a thread. After its first error it gets no more bytes.
pub enum WriteBehind<'scope, T> {
    /// Used directly; the first error is kept.
    Direct(T, Result<()>),
    /// Used by a thread.
    Threaded(Thread<'scope, T>),
}

/// A thread with a sink.
pub struct Thread<'scope, T> {
    jobs: SyncSender<(usize, Vec<u8>)>,
    spare: Receiver<Vec<u8>>,
    thread: ScopedJoinHandle<'scope, Option<(T, Result<()>)>>,
}

impl<'scope, T: BlockSink + 'scope> WriteBehind<'scope, T> {
    /// Uses the sink in the caller's thread.
    pub fn direct(sink: T) -> Self {
        WriteBehind::Direct(sink, Ok(()))
    }

    /// Uses the sink in a new thread, or in the caller's if no thread can be started.
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, sink: T) -> Self {
        let (hand_over, sinks) = sync_channel::<T>(1);
        let (jobs, queue) = sync_channel::<(usize, Vec<u8>)>(QUEUE);
        let (give_back, spare) = channel();
        let work = move || {
            let (mut sink, mut result) = (sinks.recv().ok()?, Ok(()));
            for (block, bytes) in queue {
                if result.is_ok() {
                    result = sink.put(block, &bytes);
                }
                // The receiver may be gone.
                let _ = give_back.send(bytes);
            }
            Some((sink, result))
        };
        let blocked = BlockedSignals::new();
        let started = Builder::new()
            .name("scr-write".to_string())
            .spawn_scoped(scope, work);
        drop(blocked);
        match started {
            Ok(thread) => match hand_over.send(sink) {
                Ok(()) => WriteBehind::Threaded(Thread {
                    jobs,
                    spare,
                    thread,
                }),
                Err(refused) => WriteBehind::direct(refused.0),
            },
            Err(_) => WriteBehind::direct(sink),
        }
    }

    /// Passes on the next bytes of a block. Returns a used buffer, if there is one.
    pub fn put(&mut self, block: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            WriteBehind::Direct(sink, result) => {
                if result.is_ok() {
                    *result = sink.put(block, &bytes);
                }
                Some(bytes)
            }
            // If the thread is gone, `finish` returns its error.
            WriteBehind::Threaded(writer) => match writer.jobs.send((block, bytes)) {
                Ok(()) => writer.spare.try_recv().ok(),
                Err(refused) => Some(refused.0.1),
            },
        }
    }

    /// The sink, after it got all bytes; or its first error.
    pub fn finish(self) -> Result<T> {
        let (sink, result) = match self {
            WriteBehind::Direct(sink, result) => (sink, result),
            WriteBehind::Threaded(Thread { jobs, thread, .. }) => {
                drop(jobs);
                let ended = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                ended.ok_or_else(|| crate::Error::format(0, "a writing thread had no file"))?
            }
        };
        result.map(|()| sink)
    }
}
