//! The progress of a long command, on standard error.

use scr_engine::job::Heard;
use scr_engine::scavenge::rebuild::RebuildWatch;
use scr_engine::store::Watch;
use scr_engine::system::sync::mpsc::{RecvTimeoutError, Sender, channel};
use scr_engine::system::sync::{Mutex, MutexGuard};
use scr_engine::system::thread;
use scr_engine::system::thread::JoinHandle;
use scr_engine::system::time::Instant;
use scr_engine::text::bytes;
use scr_jobs::tally::FileTally;
use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, Write, stderr};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Work that takes less is not shown on a terminal.
const SHORT: Duration = Duration::from_secs(1);

/// Time between two changes of a bar on a terminal.
const REDRAW: Duration = Duration::from_millis(200);

/// Time between two lines elsewhere.
const LINE: Duration = Duration::from_secs(10);

/// Characters of the bar.
const WIDTH: u64 = 30;

/// The place for one bar, or for lines.
struct Display {
    terminal: bool,
    begun: Instant,
    shown: Option<Instant>,
}

impl Display {
    /// A display for work that begins now.
    fn new() -> Self {
        Display {
            terminal: stderr().is_terminal(),
            begun: Instant::now(),
            shown: None,
        }
    }

    /// Shows `done` of `total` if it is time, with the text for the time that has passed.
    fn show(&mut self, (done, total): (u64, u64), text: impl FnOnce(Duration) -> String) {
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(self.begun);
        let since = self.shown.map(|s| now.saturating_duration_since(s));
        if !is_due(self.terminal, elapsed, since) {
            return;
        }
        self.shown = Some(now);
        let line = text(elapsed);
        // Nobody needs to know that it cannot be shown.
        let _ = if self.terminal {
            write!(stderr(), "\r{} {line}\x1b[K", bar(done, total))
        } else {
            writeln!(stderr(), "{line}")
        };
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if self.terminal && self.shown.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// Shows the number of moved bytes: on a terminal as a bar, elsewhere as one line each ten seconds.
pub(super) struct Progress {
    what: &'static str,
    display: RefCell<Display>,
    total: Cell<u64>,
    done: Cell<u64>,
}

impl Progress {
    /// The progress of work that begins now; `what` is its name, such as "copied".
    pub fn new(what: &'static str) -> Self {
        Progress {
            what,
            display: RefCell::new(Display::new()),
            total: Cell::new(0),
            done: Cell::new(0),
        }
    }
}

impl Watch for Progress {
    fn expect(&self, bytes: u64) {
        self.total.set(self.total.get().saturating_add(bytes));
    }

    fn moved(&self, bytes: u64) {
        self.done.set(self.done.get().saturating_add(bytes));
        let (done, total) = (self.done.get(), self.total.get());
        let text = |elapsed| line(self.what, done, total, elapsed);
        self.display.borrow_mut().show((done, total), text);
    }
}

/// A thread that shows the progress of work elsewhere, until it is dropped.
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The sample that a [`Ticker`] shows: a phase of the work, done and total, and the text for the time
/// that the phase has taken.
type Sample = (u8, (u64, u64), Box<dyn FnOnce(Duration) -> String>);

impl Ticker {
    /// Shows the samples of `sample`; nothing as long as it returns none.
    fn new(sample: impl Fn() -> Option<Sample> + Send + 'static) -> Self {
        let (stop, stopped) = channel();
        let show = move || {
            let mut display: Option<(u8, Display)> = None;
            while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let Some((phase, amount, text)) = sample() else {
                    continue;
                };
                display.take_if(|(shown, _)| *shown != phase);
                let (_, display) = display.get_or_insert_with(|| (phase, Display::new()));
                display.show(amount, text);
            }
        };
        Ticker {
            stop: Some(stop),
            // If no thread can be started, no progress is shown.
            thread: thread::Builder::new().spawn(show).ok(),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread has no result.
            let _ = thread.join();
        }
    }
}

/// Shows the progress of a rebuild: the bytes read while files are compared, then the bytes
/// written.
pub(super) struct RebuildProgress {
    tally: FileTally,
    /// Phase, total bytes of the phase, and bytes that were moved before it began.
    state: Arc<Mutex<(u8, u64, u64)>>,
    _ticker: Ticker,
}

impl RebuildProgress {
    /// Watches the files whose operations are counted in `tally`.
    pub fn new(tally: FileTally) -> Self {
        let state = Arc::new(Mutex::new((0, 0, 0)));
        let (counted, shared) = (tally.clone(), state.clone());
        let sample = move || {
            let (phase, total, before) = *lock(&shared);
            let (read, written) = counted.bytes();
            let (what, moved) = match phase {
                0 => return None,
                1 => ("compared", read),
                _ => ("rebuilt", written),
            };
            let done = moved.saturating_sub(before);
            let text = move |elapsed| line(what, done, total, elapsed);
            Some((phase, (done, total), Box::new(text) as Box<_>))
        };
        RebuildProgress {
            tally,
            state,
            _ticker: Ticker::new(sample),
        }
    }

    fn add(&self, wanted: u8, bytes: u64, before: u64) {
        let mut state = lock(&self.state);
        if state.0 != wanted {
            *state = (wanted, 0, before);
        }
        state.1 = state.1.saturating_add(bytes);
    }
}

impl RebuildWatch for RebuildProgress {
    fn compares(&self, bytes: u64) {
        self.add(1, bytes, self.tally.bytes().0);
    }

    fn rebuilds(&self, bytes: u64) {
        self.add(2, bytes, self.tally.bytes().1);
    }
}

/// Shows how many of some nodes have finished a copy, and how many bytes they have copied.
pub(super) struct NodeProgress {
    /// Nodes, and bytes.
    done: Arc<Mutex<(u64, u64)>>,
    _ticker: Ticker,
}

impl NodeProgress {
    /// The progress on `nodes` nodes, which begin now.
    pub fn new(nodes: usize) -> Self {
        let done = Arc::new(Mutex::new((0, 0)));
        let (shared, total) = (done.clone(), nodes as u64);
        let sample = move || {
            let (nodes, moved) = *lock(&shared);
            let text = move |elapsed| node_line((nodes, total), moved, elapsed);
            Some((1, (nodes, total), Box::new(text) as Box<_>))
        };
        let _ticker = Ticker::new(sample);
        NodeProgress { done, _ticker }
    }

    /// Hears the lines that `scr copy` prints on the nodes.
    pub fn listener(&self) -> Heard {
        let done = self.done.clone();
        Arc::new(move |text: &str| {
            let (node, bytes) = heard(text);
            let mut done = lock(&done);
            done.0 += u64::from(node);
            done.1 = done.1.saturating_add(bytes);
        })
    }
}

/// True for the last line of `scr copy`; and the number of bytes in the line.
fn heard(line: &str) -> (bool, u64) {
    let copied = line.split_once(" file").and_then(|(_, rest)| {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let rest = rest.strip_prefix(" copied, ")?;
        let (bytes, _) = rest.split_once(" bytes")?;
        bytes.parse().ok()
    });
    let ended = line.contains("scr_copy: ") && line.contains(": Return code: ");
    (ended, copied.unwrap_or(0))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells whether a line is due, `elapsed` after the beginning and `since` after the last line.
fn is_due(terminal: bool, elapsed: Duration, since: Option<Duration>) -> bool {
    if terminal {
        elapsed >= SHORT && since.is_none_or(|since| since >= REDRAW)
    } else {
        since.unwrap_or(elapsed) >= LINE
    }
}

/// "copied 512 MiB of 1.0 GiB (50%), 256 MiB/s, 2 s left".
fn line(what: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-3);
    let mut text = format!("{what} {}", bytes(done));
    if total > 0 {
        let percent = (done as f64 / total as f64 * 100.0).min(100.0) as u64;
        text += &format!(" of {} ({percent}%)", bytes(total));
    }
    text + &format!(", {}/s", bytes(rate as u64)) + &left(done, total, elapsed)
}

/// "copied on 3 of 8 nodes, 12.0 GiB, 1.2 GiB/s, 17 s left".
fn node_line((done, total): (u64, u64), moved: u64, elapsed: Duration) -> String {
    let rate = moved as f64 / elapsed.as_secs_f64().max(1e-3);
    format!(
        "copied on {done} of {total} nodes, {}, {}/s{}",
        bytes(moved),
        bytes(rate as u64),
        left(done, total, elapsed)
    )
}

/// ", 2 s left", if that can be told.
fn left(done: u64, total: u64, elapsed: Duration) -> String {
    if done == 0 || total <= done {
        return String::new();
    }
    let left = (total - done) as f64 * elapsed.as_secs_f64().max(1e-3) / done as f64;
    match left.ceil() as u64 {
        left @ 0..100 => format!(", {left} s left"),
        left => format!(", {} min left", left.div_ceil(60)),
    }
}

/// `[#####.....]`, full if the total is not known.
fn bar(done: u64, total: u64) -> String {
    let part = match total {
        0 => WIDTH,
        _ => ((done as f64 / total as f64).min(1.0) * WIDTH as f64) as u64,
    };
    let marks = |mark: &str, count: u64| mark.repeat(usize::try_from(count).unwrap_or(0));
    format!("[{}{}]", marks("#", part), marks(".", WIDTH - part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_is_silent_and_long_work_is_not() {
        let s = Duration::from_secs;
        assert!(!is_due(true, Duration::from_millis(900), None));
        assert!(is_due(true, s(1), None));
        assert!(!is_due(true, s(2), Some(Duration::from_millis(100))));
        assert!(is_due(true, s(2), Some(REDRAW)));
        assert!(!is_due(false, s(9), None));
        assert!(is_due(false, s(10), None));
        assert!(!is_due(false, s(19), Some(s(9))));
        assert!(is_due(false, s(20), Some(s(10))));
    }

    #[test]
    fn a_line_has_amount_rate_and_time_left() {
        let s = Duration::from_secs;
        let of = |done, total| line("copied", done, total, s(2));
        assert_eq!(
            of(512 << 20, 1 << 30),
            "copied 512.0 MiB of 1.0 GiB (50%), 256.0 MiB/s, 2 s left"
        );
        assert_eq!(of(2 << 20, 0), "copied 2.0 MiB, 1.0 MiB/s");
        assert_eq!(
            of(1 << 20, 1 << 30),
            "copied 1.0 MiB of 1.0 GiB (0%), 512.0 KiB/s, 35 min left"
        );
        // Bytes that were already there may be read as well.
        assert_eq!(
            of(3 << 20, 2 << 20),
            "copied 3.0 MiB of 2.0 MiB (100%), 1.5 MiB/s"
        );
        assert_eq!(bar(0, 10), format!("[{}]", ".".repeat(30)));
        assert_eq!(
            bar(5, 10),
            format!("[{}{}]", "#".repeat(15), ".".repeat(15))
        );
        assert_eq!(bar(11, 10), format!("[{}]", "#".repeat(30)));
    }

    #[test]
    fn a_line_of_nodes_has_their_number_bytes_rate_and_time_left() {
        let s = Duration::from_secs;
        assert_eq!(
            node_line((2, 8), 4 << 30, s(10)),
            "copied on 2 of 8 nodes, 4.0 GiB, 409.6 MiB/s, 30 s left"
        );
        assert_eq!(
            node_line((0, 8), 0, s(10)),
            "copied on 0 of 8 nodes, 0 B, 0 B/s"
        );
        let said = "n1: dataset 2 (ck.2): 2 ranks of this node saved, 3 files copied, 2013 bytes";
        assert_eq!(heard(said), (false, 2013));
        assert_eq!(heard("n1: scr_copy: n1: Return code: 0"), (true, 0));
        assert_eq!(heard("anything, x files copied, y bytes"), (false, 0));
    }

    #[test]
    fn the_copies_on_nodes_are_counted() {
        let progress = NodeProgress::new(3);
        let listener = progress.listener();
        for line in ["a: 1 files copied, 7 bytes", "scr_copy: a: Return code: 0"] {
            listener(line);
        }
        assert_eq!(*lock(&progress.done), (1, 7));
    }
}
