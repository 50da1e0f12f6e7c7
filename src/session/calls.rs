//! Counts the calls of the library in the control directory of each node, for watches of the job's progress (`scr run
//! --watch calls`).

use crate::session::run::Run;
use crate::store::{CALLS_FILE, Files, Watch};
use crate::system::time::Instant;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Least time between two writes of the count.
const EACH: Duration = Duration::from_secs(1);

/// Least time between the first write and the second. Short runs write once, however quick the machine is.
const AT_BEGIN: Duration = Duration::from_secs(5);

/// Time between two signs by which a rank shows that a long call makes progress.
const EACH_SIGN: Duration = Duration::from_secs(5);

/// The longest count that is read, bytes.
const LONGEST: u64 = 64;

/// The calls of this rank so far.
pub(super) struct CallCount {
    calls: u64,
    /// Time at which the count may be written again.
    due: Instant,
    each: Duration,
}

impl CallCount {
    /// Writes a count of 0, which tells that the program is linked with the library. Local.
    pub fn new(run: &Run) -> Self {
        let count = CallCount {
            calls: 0,
            due: Instant::now() + AT_BEGIN,
            each: EACH,
        };
        count.write(run);
        count
    }

    /// Counts a call. One rank of each node writes the count, at most once a second. Local.
    pub fn add(&mut self, run: &Run) {
        self.calls += 1;
        if Instant::now() >= self.due {
            self.due = Instant::now() + self.each;
            self.write(run);
        }
    }

    fn write(&self, run: &Run) {
        if let Some(store) = run.led_store(run.descriptors.control) {
            write_count(
                &*run.files,
                &store.layout.job().join(CALLS_FILE),
                self.calls,
            );
        }
    }
}

/// Shows that a long call makes progress: raises the count of calls of this node, so that a long checkpoint does not
/// look like a hang. Every rank does so, since ranks that share a node do not copy at the same time.
pub(super) struct CallSigns {
    files: Arc<dyn Files>,
    /// The count of this node; `None` on a rank without a store.
    path: Option<PathBuf>,
    due: Cell<Instant>,
    each: Duration,
}

impl CallSigns {
    /// The progress of work that begins now.
    pub fn new(run: &Run) -> Self {
        let store = run.stores.get(run.descriptors.control);
        CallSigns {
            files: run.files.clone(),
            path: store.map(|store| store.layout.job().join(CALLS_FILE)),
            due: Cell::new(Instant::now() + EACH_SIGN),
            each: EACH_SIGN,
        }
    }

    /// Adds one to the count. Watches do not care which rank made the calls.
    fn sign(&self) -> Option<()> {
        let path = self.path.as_ref()?;
        let text = self.files.read(path, LONGEST).ok()?;
        let count: u64 = std::str::from_utf8(&text).ok()?.trim().parse().ok()?;
        write_count(&*self.files, path, count.wrapping_add(1));
        Some(())
    }
}

impl Watch for CallSigns {
    fn expect(&self, _: u64) {}

    fn moved(&self, _: u64) {
        let now = Instant::now();
        if now >= self.due.get() {
            self.due.set(now + self.each);
            // A run goes on without the file.
            let _ = self.sign();
        }
    }
}

/// A run goes on without the file, so errors do not matter.
fn write_count(files: &dyn Files, path: &Path, count: u64) {
    // The text always has the same length, so that a reader always gets a whole number.
    let text = format!("{count:020}\n");
    let file = files.rewrite(path, 0o600);
    let _ = file.and_then(|file| file.write_at(0, text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::run_in;

    #[test]
    fn calls_are_counted_and_written_at_the_begin_and_when_it_is_time() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let control = run.stores[run.descriptors.control].layout.job();
        let count_file = control.join(CALLS_FILE);
        let told = || {
            std::fs::read_to_string(&count_file)
                .ok()?
                .trim()
                .parse()
                .ok()
        };
        assert_eq!(told(), None::<u64>);
        let mut count = CallCount::new(&run);
        assert_eq!(told(), Some(0));
        count.due += Duration::from_secs(1000);
        count.add(&run);
        assert_eq!(told(), Some(0));
        (count.due, count.each) = (Instant::now(), Duration::ZERO);
        for calls in 2..12 {
            count.add(&run);
            assert_eq!(told(), Some(calls));
        }
        // A long call also moves the time of the next report.
        let mut signs = CallSigns::new(&run);
        signs.moved(1);
        assert_eq!(told(), Some(11));
        signs.due.set(Instant::now());
        signs.each = Duration::from_secs(1000);
        signs.moved(1);
        signs.moved(1);
        assert_eq!(told(), Some(12));
    }
}
