//! Counts the calls of the library in the control directory of each node, for those who watch whether the job makes progress
//! (`scr run --watch calls`).

use crate::job::ranks::CALLS_FILE;
use crate::session::run::Run;
use crate::system::time::Instant;
use std::time::Duration;

/// Least time between two writes of the count.
const EACH: Duration = Duration::from_secs(1);

/// A run that is shorter than this and a second more writes no count.
const AT_BEGIN: Duration = Duration::from_secs(4);

/// The calls of this rank so far.
pub(super) struct CallCount {
    calls: u64,
    written: Instant,
    each: Duration,
}

impl CallCount {
    /// Of a run that begins now.
    pub fn new() -> Self {
        CallCount {
            calls: 0,
            written: Instant::now() + AT_BEGIN,
            each: EACH,
        }
    }

    /// Counts a call. One rank of each node writes the count, at most once a second. A run goes on without it, so errors do not
    /// matter. Local.
    pub fn add(&mut self, run: &Run) {
        self.calls += 1;
        if self.written.elapsed() < self.each {
            return;
        }
        let Some(store) = run.led_store(run.descriptors.control) else {
            return;
        };
        self.written = Instant::now();
        let path = store.layout.job().join(CALLS_FILE);
        // The text always has the same length, so that it needs no other way to be whole.
        let text = format!("{:020}\n", self.calls);
        let file = run.files.rewrite(&path, 0o600);
        let _ = file.and_then(|file| file.write_at(0, text.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Environment;
    use crate::job::ranks::NodeSigns;
    use crate::session::testing::run_in;

    #[test]
    fn calls_are_counted_and_written_only_after_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let control = run.stores[run.descriptors.control].layout.job();
        let told = || NodeSigns::here(&Environment::empty(), "n0", Some(&control), None).calls;
        let mut count = CallCount::new();
        count.each = Duration::from_secs(1000);
        count.add(&run);
        assert_eq!(told(), None);
        count.each = Duration::ZERO;
        for calls in 2..12 {
            count.add(&run);
            assert_eq!(told(), Some(calls));
        }
    }
}
