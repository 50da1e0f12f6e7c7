//! The end of a run: `SCR_Finalize`, or a program that ends without it.

use super::Session;
use crate::Result;
use crate::config::Config;
use crate::events::Severity;
use crate::policy::halt;
use crate::prefix::records;
use crate::session::datasets::cached::{due_at_end, title};
use crate::session::start::repair::Member;
use crate::session::state::{Call, State};
use crate::system::time::Instant;

impl Session {
    /// Ends the run (`SCR_Finalize`): flushes the newest checkpoint unless `SCR_FLUSH` is 0, and
    /// records in the halt file that the job ended normally. A reason to halt that was set before
    /// stays, so that the next run also stops. If everything in the cache is in the prefix
    /// directory, nothing stays in the cache, unless the next run is likely not to use it there
    /// (`SCR_FETCH=0`, `SCR_PREFIX_PURGE=1`). Collective.
    ///
    /// # Errors
    /// The flush failed: the checkpoint is still in the cache. The session has ended all the same.
    pub fn finalize(&mut self, config: &mut Config) -> Result<()> {
        self.state.allow(Call::Finalize)?;
        let begun = Instant::now();
        self.statistics.compute_ends(&self.run, begun);
        self.interval.explain_none_due(&self.run);
        let marked = self.run.on_root(|| {
            records::update_halt(&*self.run.files, &self.run.prefix, |halt| {
                halt.exit_reason.get_or_insert(halt::FINALIZED.into());
            })
        });
        let recorded = self.flush().look_after(Call::Finalize);
        let flushed = self.flush_newest();
        self.cached.leave_to_next_run(&self.run);
        self.fields.kept.clear();
        self.cached.deletion().finish();
        self.locks.remove_empty_directories(&self.run);
        self.state = State::Uninit;
        self.statistics.log_end(&self.run, None);
        self.add_blocked(begun);
        self.statistics.tell(&self.run);
        config.thaw();
        marked.map(|_| ()).and(recorded).and(flushed)
    }

    /// Ends the run of a program that calls MPI_Finalize without `SCR_Finalize`, and tells so. Nothing
    /// is flushed, and the cache stays as it is. Local; MPI must still be usable.
    pub fn abandon(&mut self) {
        self.background.abandon();
        self.cached.deletion().finish();
        self.state = State::Uninit;
        self.statistics.log_end(
            &self.run,
            Some("MPI_Finalize was called before SCR_Finalize"),
        );
        let rest = match due_at_end(&self.run, &self.cached) {
            Some(dataset) => format!(
                "{} is only in the cache, from where the next run of this job restarts, and \
                 scr_postrun saves it",
                title(dataset)
            ),
            None => "nothing is lost, as no flush was due".to_string(),
        };
        let text =
            format!("MPI_Finalize was called before SCR_Finalize: {rest}; call SCR_Finalize first");
        self.run.tell_once(Severity::Warning, text);
    }

    /// Ends this process's work for a run that has lost ranks, and keeps what a repair needs. Waits for the
    /// threads of the session. Local.
    pub fn leave(mut self) -> Member {
        self.run.comm.revoke();
        self.background.abandon();
        self.cached.deletion().finish();
        if let Some(log) = self.run.log.take() {
            log.close();
        }
        Member::of(self)
    }
}
