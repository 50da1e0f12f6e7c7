//! A thread that carries out tasks beside the program, one after the other.

use crate::store::block_signals::BlockedSignals;
use crate::system::sync::Mutex;
use crate::system::sync::mpsc::{Sender, channel};
use crate::system::thread;
use crate::system::thread::JoinHandle;
use crate::system::time::sleep;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that carries out jobs, and the way to it.
type Running = (Sender<Job>, JoinHandle<()>);

/// A thread for tasks. It ends when the worker is dropped, after the tasks that it was given.
pub struct Worker {
    name: &'static str,
    running: Option<Running>,
}

impl Worker {
    /// A thread of this name, of at most 15 bytes.
    pub fn new(name: &'static str) -> Self {
        Worker {
            name,
            running: None,
        }
    }

    /// Hands a task to the thread. The first task starts the thread, which then calls `begin` first.
    /// Signals of the process do not come to it. Local.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn submit<T: Send + 'static>(
        &mut self,
        begin: impl FnOnce() + Send + 'static,
        work: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<Task<T>> {
        let task = Task {
            result: Arc::default(),
            cancel: Cancel::default(),
        };
        let (result, cancel) = (task.result.clone(), task.cancel.clone());
        let job: Job = Box::new(move || {
            let done = work(&cancel);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        });
        if self.running.is_none() {
            self.running = Some(start(self.name, begin)?);
        }
        if let Some((jobs, _)) = &self.running {
            // Without a receiver the job is dropped, and the task ends without a result.
            let _ = jobs.send(job);
        }
        Ok(task)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some((jobs, thread)) = self.running.take() {
            drop(jobs);
            let _ = thread.join();
        }
    }
}

fn start(name: &str, begin: impl FnOnce() + Send + 'static) -> Result<Running> {
    let (sender, receiver) = channel::<Job>();
    let work = move || {
        begin();
        receiver.into_iter().for_each(|job| job());
    };
    let _blocked = BlockedSignals::new();
    let thread = thread::Builder::new().name(name.to_string());
    let thread = thread
        .spawn(work)
        .map_err(|error| Error::io("start a thread for", "background work", error))?;
    Ok((sender, thread))
}

/// Asks a task to end before its work is done.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the task was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A task of a [`Worker`].
pub struct Task<T> {
    result: Arc<Mutex<Option<T>>>,
    cancel: Cancel,
}

impl<T> Task<T> {
    /// True until the task has ended.
    pub fn is_running(&self) -> bool {
        // The thread has the other reference until it ends or gives up the task.
        Arc::strong_count(&self.result) > 1
    }

    /// Asks the task to end soon.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits until the task has ended; looks again after each `pause`.
    pub fn wait(&self, pause: Duration) {
        while self.is_running() {
            sleep(pause.max(Duration::from_micros(1)));
        }
    }

    /// The result of a task that has ended, once; `None` if it was given up.
    pub fn take(&self) -> Option<T> {
        self.result
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn tasks_run_in_order_and_the_worker_waits_for_them() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut worker = Worker::new("test");
        let mut tasks = Vec::new();
        for n in 0..5 {
            let order = order.clone();
            let work = move |_: &Cancel| {
                sleep(Duration::from_millis(5 - n));
                order.lock().unwrap().push(n);
                n
            };
            tasks.push(worker.submit(|| {}, work).unwrap());
        }
        tasks[2].wait(PAUSE);
        assert_eq!(tasks[2].take(), Some(2));
        assert_eq!(tasks[2].take(), None, "a result is given once");
        drop(worker);
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        assert!(!tasks[4].is_running());
    }

    #[test]
    fn a_task_is_cancelled_while_it_runs() {
        let mut worker = Worker::new("test");
        let work = |cancel: &Cancel| {
            while !cancel.is_cancelled() {
                sleep(PAUSE);
            }
        };
        let task = worker.submit(|| {}, work).unwrap();
        assert!(task.is_running());
        task.cancel();
        task.wait(PAUSE);
        assert_eq!(task.take(), Some(()));
    }
}
