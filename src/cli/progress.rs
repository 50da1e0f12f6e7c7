//! How far a long command has come, on standard error.

use crate::text::bytes;
use crate::transfer::Watch;
use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Work that takes less is not shown on a terminal.
const SHORT: Duration = Duration::from_secs(1);

/// How often a bar on a terminal changes.
const REDRAW: Duration = Duration::from_millis(200);

/// How often a line is written elsewhere.
const LINE: Duration = Duration::from_secs(10);

/// Characters of the bar.
const WIDTH: u64 = 30;

/// Shows how many bytes were moved: on a terminal as a bar, elsewhere as one line each ten seconds.
pub(super) struct Progress {
    what: &'static str,
    terminal: bool,
    begun: Instant,
    shown: Cell<Option<Instant>>,
    total: Cell<u64>,
    done: Cell<u64>,
}

impl Progress {
    /// Of work that begins now; `what` it is called, such as "copied".
    pub fn new(what: &'static str) -> Self {
        Progress {
            what,
            terminal: stderr().is_terminal(),
            begun: Instant::now(),
            shown: Cell::new(None),
            total: Cell::new(0),
            done: Cell::new(0),
        }
    }

    fn show(&self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.begun);
        let since = self.shown.get().map(|s| now.saturating_duration_since(s));
        if !is_due(self.terminal, elapsed, since) {
            return;
        }
        self.shown.set(Some(now));
        let (done, total) = (self.done.get(), self.total.get());
        let line = line(self.what, done, total, elapsed);
        // Nobody needs to know that it cannot be shown.
        let _ = match self.terminal {
            true => write!(stderr(), "\r{} {line}\x1b[K", bar(done, total)),
            false => writeln!(stderr(), "{line}"),
        };
    }
}

impl Watch for Progress {
    fn expect(&self, bytes: u64) {
        self.total.set(self.total.get().saturating_add(bytes));
    }

    fn moved(&self, bytes: u64) {
        self.done.set(self.done.get().saturating_add(bytes));
        self.show(Instant::now());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal && self.shown.get().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// Whether something is to be shown, `elapsed` after the beginning and `since` it was shown last.
fn is_due(terminal: bool, elapsed: Duration, since: Option<Duration>) -> bool {
    match terminal {
        true => elapsed >= SHORT && since.is_none_or(|since| since >= REDRAW),
        false => since.unwrap_or(elapsed) >= LINE,
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
    text += &format!(", {}/s", bytes(rate as u64));
    if total > done && rate > 0.0 {
        let left = ((total - done) as f64 / rate).ceil() as u64;
        text += &match left {
            0..100 => format!(", {left} s left"),
            _ => format!(", {} min left", left.div_ceil(60)),
        };
    }
    text
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
        // What was already there may be read as well.
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
}
