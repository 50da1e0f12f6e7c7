//! The work in the background: flushes, and checksums that no other pass takes. In later calls of the program all
//! ranks note together which work has ended.

use super::Flush;
use super::background::BackgroundFlushes;
use super::checksums::BackgroundChecksums;
use crate::Result;
use crate::format::Name;
use crate::session::state::Call;
use crate::session::wait_for::WaitFor;

/// The tasks of a run in the background.
#[derive(Default)]
pub(in crate::session) struct Background {
    pub flushes: BackgroundFlushes,
    pub checksums: BackgroundChecksums,
}

impl Background {
    /// Ends this process's work in the background. Local.
    pub fn abandon(&mut self) {
        self.flushes.abandon();
        self.checksums.cancel();
    }
}

impl Flush<'_> {
    /// Notes, before the work of a call of the program, which background work has ended, and waits for what the call
    /// needs. Collective; one round if flushes go on, and one if checksums of a dataset in bypass are taken.
    ///
    /// # Errors
    /// Only errors of the transport.
    pub fn look_after(&mut self, call: Call) -> Result<()> {
        match call {
            Call::ShouldExit => {
                self.end_flushes(WaitFor::Nothing)?;
                self.collect_checksums(false)
            }
            Call::CompleteOutput | Call::CompleteCheckpoint => {
                self.end_flushes(WaitFor::Nothing)?;
                // The checksums of earlier datasets are recorded while the files of this dataset are synced.
                self.background
                    .checksums
                    .begin_recording(self.run, self.cached)?;
                // All ranks have taken the files of evicted datasets that they use again.
                self.cached.deletion().start_postponed(self.run);
                Ok(())
            }
            // A search may evict and fetch datasets, so no flush may go on during the search.
            Call::HaveRestart | Call::CompleteRestart | Call::Current => {
                self.end_flushes(WaitFor::All)
            }
            Call::Finalize => self.collect_checksums(true),
            _ => Ok(()),
        }
    }

    /// Waits until nothing goes on in the background but the deletion of evicted datasets. Collective.
    ///
    /// # Errors
    /// Only errors of the transport. A failed flush is reported.
    pub fn finish_background(&mut self) -> Result<()> {
        self.end_flushes(WaitFor::All)?;
        self.collect_checksums(true)
    }

    fn collect_checksums(&mut self, wait: bool) -> Result<()> {
        self.background
            .checksums
            .collect(self.run, self.cached, wait)
    }

    /// Cancels the background work for datasets of this name, except dataset `id`, because their files in the prefix
    /// directory are about to be deleted or overwritten. Collective.
    pub fn cancel_name(&mut self, name: &Name, id: u64) -> Result<()> {
        self.cancel_flushes(&self.background.flushes.ids_of_name(name, id))?;
        self.background.checksums.cancel_bypass(Some(name));
        Ok(())
    }
}
