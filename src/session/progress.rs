//! Tells how far a long flush or fetch has come.

use crate::events::Severity;
use crate::session::calls::CallSigns;
use crate::session::run::Run;
use crate::store::Watch;
use crate::system::time::Instant;
use crate::text::bytes;
use std::cell::Cell;
use std::time::Duration;

/// Time between two messages of rank 0.
const EACH: Duration = Duration::from_secs(10);

/// Bytes that rank 0 has copied of its own files; with `SCR_DEBUG=1` printed each ten seconds. The
/// other ranks have about as much to do, and say nothing.
pub(super) struct CopyProgress<'a> {
    run: &'a Run,
    /// The work, such as "the flush of dataset 3 (ck.3)".
    what: String,
    each: Duration,
    told: Cell<Instant>,
    total: Cell<u64>,
    done: Cell<u64>,
    signs: CallSigns,
}

impl<'a> CopyProgress<'a> {
    /// The progress of work that begins now.
    pub fn new(run: &'a Run, what: String) -> Self {
        CopyProgress {
            run,
            what,
            each: EACH,
            told: Cell::new(Instant::now()),
            total: Cell::new(0),
            done: Cell::new(0),
            signs: CallSigns::new(run),
        }
    }
}

impl Watch for CopyProgress<'_> {
    fn expect(&self, bytes: u64) {
        self.total.set(self.total.get().saturating_add(bytes));
    }

    fn moved(&self, count: u64) {
        self.signs.moved(count);
        self.done.set(self.done.get().saturating_add(count));
        if self.told.get().elapsed() < self.each {
            return;
        }
        self.told.set(Instant::now());
        let (done, total) = (bytes(self.done.get()), bytes(self.total.get()));
        let text = format!("{}: rank 0 has copied {done} of {total}", self.what);
        self.run.tell_once(Severity::Debug(1), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::run_in;

    #[test]
    fn a_long_copy_tells_how_far_it_is_and_a_short_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (run, messages) = run_in(&dir, &[("SCR_DEBUG", "1")]);
        let mut progress = CopyProgress::new(&run, "the flush of dataset 3".to_string());
        progress.expect(4 << 20);
        progress.moved(1 << 20);
        assert_eq!(messages.lines(), Vec::<String>::new());
        progress.each = Duration::ZERO;
        progress.moved(1 << 20);
        let told = messages.lines().concat();
        let line = "the flush of dataset 3: rank 0 has copied 2.0 MiB of 4.0 MiB";
        assert!(told.contains(line), "{told}");
    }
}
