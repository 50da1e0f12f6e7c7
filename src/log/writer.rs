//! A thread that writes records to one destination.

use super::{Destination, NotWritten, Record, Tell};
use crate::Error;
use crate::events::Severity;
use crate::store::block_signals::BlockedSignals;
use crate::system::sync::{Condvar, Mutex, MutexGuard};
use crate::system::thread;
use crate::system::time::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The most records that wait to be written.
const LONGEST_QUEUE: usize = 4096;

/// Pauses after a record could not be written: the first, which is doubled each time, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Hands records to a destination, in a thread of its own. The queue is bounded: records that do not
/// fit are counted, and lost.
pub struct Writer {
    name: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Record>>,
    /// A record was taken out of the queue, and is not written yet.
    writing: bool,
    /// No more records come. The thread tries each of the remaining records once.
    ending: bool,
    /// No thread waits for records any more.
    closed: bool,
    /// The thread has ended.
    ended: bool,
    written: u64,
    lost: u64,
    /// The reason why the last unwritten record was not written.
    error: Option<Error>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Writer {
    /// Starts the thread. Signals of the process do not come to it.
    pub fn start(destination: Box<dyn Destination>, tell: Tell) -> Writer {
        let shared = Arc::new(Shared::default());
        let writer = Writer {
            name: destination.name(),
            shared: shared.clone(),
        };
        let _blocked = BlockedSignals::new();
        let thread = thread::Builder::new().name("scr-log".to_string());
        if let Err(error) = thread.spawn(move || run(destination, &shared, &tell)) {
            let mut state = writer.shared.lock();
            state.error = Some(Error::io("start a thread for", &writer.name, error));
            state.ended = true;
        }
        writer
    }

    /// Adds a record to the queue. Does not wait.
    pub fn write(&self, record: Arc<Record>) {
        let mut state = self.shared.lock();
        let full = state.queue.len() >= LONGEST_QUEUE;
        if full || state.ended || state.ending {
            state.lost += 1
        } else {
            state.queue.push_back(record)
        }
        self.shared.changed.notify_all();
    }

    /// Tells the thread that no more records come.
    pub fn end(&self) {
        self.shared.lock().ending = true;
        self.shared.changed.notify_all();
    }

    /// Waits until all records are written or lost, but not longer than `until`. Returns the number of
    /// lost records to report, once.
    pub fn close(&self, until: Instant) -> Option<String> {
        self.end();
        let mut state = self.shared.lock();
        // Nobody waits twice: a log is closed at the end of a run, and again when it is dropped.
        while !state.ended && !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.shared.wait(state, left);
        }
        if state.closed {
            return None;
        }
        state.closed = true;
        let unknown = state.queue.len() as u64 + u64::from(state.writing);
        state.queue.clear();
        state.lost += unknown;
        let all = state.lost + state.written;
        let why = match &state.error {
            Some(error) => error.to_string(),
            None => "it takes too long".to_string(),
        };
        let name = &self.name;
        let lost = state.lost;
        (lost > 0).then(|| format!("{name} lacks {lost} of {all} events of this run: {why}"))
    }
}

/// The thread: writes records until no more come. After a failure it tries the same record again, with
/// pauses.
fn run(mut destination: Box<dyn Destination>, shared: &Shared, tell: &Tell) {
    let mut pause = FIRST_PAUSE;
    while let Some(record) = next(shared) {
        let mut done = destination.write(&record);
        while let Err(NotWritten::Now(error)) = &done {
            let mut state = shared.lock();
            let first = state.error.is_none();
            state.error = Some(error.clone());
            if state.ending {
                // No time is left to wait.
                state.lost += state.queue.len() as u64;
                state.queue.clear();
                break;
            }
            drop(state);
            if first {
                let text = format!(
                    "{} cannot be written: {error}; it is tried again",
                    destination.name()
                );
                tell(Severity::Warning, text);
            }
            rest(shared, pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            done = destination.write(&record);
        }
        let mut state = shared.lock();
        if state.closed {
            // The record has been counted as lost.
            break;
        }
        state.writing = false;
        match done {
            Ok(()) => {
                state.written += 1;
                pause = FIRST_PAUSE;
            }
            Err(failed) => {
                state.lost += 1;
                state.error = Some(failed.error().clone());
            }
        }
    }
    shared.lock().ended = true;
    shared.changed.notify_all();
}

/// The next record; `None` if no more come.
fn next(shared: &Shared) -> Option<Arc<Record>> {
    let mut state = shared.lock();
    loop {
        if let Some(record) = state.queue.pop_front() {
            state.writing = true;
            return Some(record);
        }
        if state.ending {
            return None;
        }
        state = shared.wait(state, LONGEST_PAUSE);
    }
}

/// Waits for `pause`, or until no more records come.
fn rest(shared: &Shared, pause: Duration) {
    let until = Instant::now() + pause;
    let mut state = shared.lock();
    while !state.ending {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        state = shared.wait(state, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use crate::system::sync::mpsc::{Receiver, Sender, channel};

    /// The answers of the thread to each record, and the records that it was given.
    struct Scripted {
        answers: Receiver<Result<(), NotWritten>>,
        seen: Sender<u64>,
    }

    impl Destination for Scripted {
        fn name(&self) -> String {
            "the log".to_string()
        }

        fn write(&mut self, record: &Record) -> Result<(), NotWritten> {
            let answer = self.answers.recv().unwrap_or(Ok(()));
            self.seen.send(record.dset.unwrap_or(0)).unwrap();
            answer
        }
    }

    type Parts = (
        Writer,
        Sender<Result<(), NotWritten>>,
        Receiver<u64>,
        Arc<Mutex<Vec<String>>>,
    );

    fn scripted() -> Parts {
        let ((answer, answers), (seen, given)) = (channel(), channel());
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let tell: Tell = Arc::new(move |_, text| heard.lock().unwrap().push(text));
        let writer = Writer::start(Box::new(Scripted { answers, seen }), tell);
        (writer, answer, given, told)
    }

    fn record(id: u64) -> Arc<Record> {
        Arc::new(Record {
            dset: Some(id),
            ..Record::now(Event::Halt)
        })
    }

    fn bad() -> Error {
        Error::corrupt("/log", "is bad")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn all_is_written_in_order_before_the_end() {
        let (writer, answer, given, told) = scripted();
        drop(answer);
        for id in 0..1000 {
            writer.write(record(id));
        }
        assert_eq!(writer.close(soon()), None);
        assert_eq!(
            given.iter().collect::<Vec<_>>(),
            (0..1000).collect::<Vec<_>>()
        );
        assert!(told.lock().unwrap().is_empty());
    }

    #[test]
    fn a_record_that_fails_is_tried_again_and_told_once() {
        let (writer, answer, given, told) = scripted();
        for _ in 0..2 {
            answer.send(Err(NotWritten::Now(bad()))).unwrap();
        }
        answer.send(Ok(())).unwrap();
        writer.write(record(1));
        writer.write(record(2));
        // Written before the end; after the end no attempts are made.
        for _ in 0..3 {
            assert_eq!(given.recv(), Ok(1));
        }
        drop(answer);
        assert_eq!(writer.close(soon()), None);
        assert_eq!(given.iter().collect::<Vec<_>>(), [2]);
        let told = told.lock().unwrap();
        assert_eq!(
            told[..],
            ["the log cannot be written: /log: is bad; it is tried again"]
        );
    }

    #[test]
    fn a_record_that_is_refused_does_not_hold_up_others() {
        let (writer, answer, given, _) = scripted();
        answer.send(Err(NotWritten::Ever(bad()))).unwrap();
        drop(answer);
        writer.write(record(1));
        writer.write(record(2));
        let told = writer.close(soon()).unwrap();
        assert_eq!(
            told,
            "the log lacks 1 of 2 events of this run: /log: is bad"
        );
        assert_eq!(given.iter().collect::<Vec<_>>(), [1, 2]);
    }

    /// The destination hangs and takes no record.
    #[test]
    fn a_destination_that_hangs_costs_no_more_than_the_queue() {
        let (writer, answer, given, _) = scripted();
        for id in 0..LONGEST_QUEUE as u64 + 100 {
            writer.write(record(id));
        }
        let told = writer.close(Instant::now()).unwrap();
        let all = LONGEST_QUEUE + 100;
        assert_eq!(
            told,
            format!("the log lacks {all} of {all} events of this run: it takes too long")
        );
        let until = soon();
        assert_eq!(writer.close(until), None, "it is told once");
        assert!(Instant::now() < until, "it is waited for once");
        // When the destination goes on, the thread writes no more, and ends.
        drop(answer);
        assert!(given.iter().count() <= 1);
    }

    #[test]
    fn at_the_end_a_broken_destination_is_given_up() {
        let (writer, answer, given, _) = scripted();
        for id in 0..10 {
            writer.write(record(id));
        }
        writer.end();
        answer.send(Ok(())).unwrap();
        answer.send(Err(NotWritten::Now(bad()))).unwrap();
        let told = writer.close(soon()).unwrap();
        assert_eq!(
            told,
            "the log lacks 9 of 10 events of this run: /log: is bad"
        );
        assert_eq!(given.iter().collect::<Vec<_>>(), [0, 1]);
    }
}
