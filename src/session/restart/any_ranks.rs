//! A restart from a checkpoint in the cache that another number of ranks wrote, where that is allowed.
//!
//! The redundancy sets of the old ranks differ from those of this run, so nothing is moved or rebuilt in
//! the cache. The leaders of the store copy their parts to the prefix directory, and rank 0 rebuilds
//! lost files there. The restart is from there, where each rank can read every file, as if the job had
//! ended and its dataset had been scavenged.

use crate::cache::plan::{Candidate, Slot};
use crate::comm::{Agreement, Term, collective};
use crate::events::Severity;
use crate::messages::NOT_COPIED;
use crate::scavenge::copy::CopySettings;
use crate::scavenge::{BuildSettings, Redundancy, build, copy};
use crate::session::datasets::cached::{CachedDataset, title};
use crate::session::datasets::search::Restart;
use crate::session::datasets::survey::PassedOver;
use crate::session::datasets::unavailable::{Cause, Unavailable};
use crate::session::progress::CopyProgress;
use crate::session::restart::recovery_plan::{Planner, cannot_be_used_now};
use crate::session::restart::step::{Messages, RecoveryStep};
use crate::session::run::{Run, time_now};
use crate::system::time::Instant;
use crate::{Error, Result};
use std::collections::BTreeSet;

impl Planner<'_> {
    /// The messages to use a candidate that another number of ranks wrote. Local.
    pub fn orders_of_other_ranks(&mut self, candidate: Candidate) -> Result<Messages> {
        let found = CachedDataset {
            writers: self.writers(&candidate),
            ..self.in_cache(&candidate)?
        };
        self.survey.set_tried(Some(candidate));
        let step = RecoveryStep {
            rejected: self.survey.take_rejected(),
            cached: Some(found),
            ..RecoveryStep::default()
        };
        step.for_all(self.run.comm.size())
    }
}

impl Restart<'_> {
    /// Brings a dataset to the prefix directory, and fetches a checkpoint from there. Gives its id if it is ready.
    /// Collective.
    pub fn use_other_ranks(&mut self, found: &CachedDataset) -> Result<Option<u64>> {
        let (run, dataset) = (self.run, &found.dataset);
        let begun = Instant::now();
        // Files that are left in the cache do not belong to this run.
        self.cached.cannot_use(found.slot());
        if !found.prefix.is_saved() {
            let (saved, trouble) = save(run, found)?;
            match saved {
                Ok(()) => run.tell_timed(
                    format!(
                        "{} of {} ranks was copied from the cache to {}",
                        title(dataset),
                        found.writers.count(run),
                        run.prefix.root().display()
                    ),
                    begun,
                ),
                Err(error) => {
                    self.not_saved(found, &error, trouble);
                    return Ok(None);
                }
            }
        }
        if !dataset.is_checkpoint() {
            return Ok(None);
        }
        self.fetch_dataset(dataset, found.writers)
    }

    /// A dataset could not be brought to the prefix directory: it is passed over if it is damaged, and
    /// keeps older ones from being offered after `trouble` that may pass. Local; the same on all ranks.
    fn not_saved(&mut self, found: &CachedDataset, error: &Error, trouble: bool) {
        let dataset = &found.dataset;
        let text = format!(
            "cannot be copied from the cache to {}: {error} ({NOT_COPIED})",
            self.run.prefix.root().display()
        );
        if !trouble {
            self.search.pass_over(PassedOver {
                severity: Severity::Error,
                named: title(dataset),
                text: format!("cached {} {text}", title(dataset)),
            });
            return;
        }
        if let Some(survey) = self.search.survey.get_mut() {
            survey.put_off();
        }
        if dataset.is_checkpoint() {
            let why = cannot_be_used_now(&text);
            let unavailable = Unavailable::new(dataset, Cause::InCache, why);
            self.search.offer.cannot_use(unavailable);
        }
    }
}

/// Copies a dataset from the store to the prefix directory and completes it there. The inner result is
/// the same on all ranks; the flag is true if an error of the system stood in the way. Collective.
fn save(run: &Run, found: &CachedDataset) -> Result<(Result<()>, bool)> {
    let Slot { store, id } = found.slot();
    let mut trouble = false;
    let mut told = BTreeSet::new();
    let progress = CopyProgress::new(run, format!("the copy of {}", title(&found.dataset)));
    for redundancy in [Redundancy::None, Redundancy::Needed(&[])] {
        let settings = CopySettings {
            files: &*run.files,
            prefix: &run.prefix,
            node: run.node(),
            redundancy,
            only_redundancy: false,
            // A copy that is killed must leave no part of a plain file: it would be in the way when files are
            // extracted from the containers of a later copy.
            containers: run
                .settings
                .use_containers
                .then_some(run.settings.container_size),
            checksums: run.settings.crc_on_flush,
            buffer: run.settings.file_buf_size,
            metadata: run.settings.copy_metadata,
            watch: &progress,
        };
        let led = run.led_store(store);
        let copied = led.map(|store| copy(&settings, std::slice::from_ref(&store.layout), id));
        let problems = copied.map_or(Vec::new(), |copied| copied.problems);
        for text in problems.iter().map(ToString::to_string) {
            // Both passes look at the files of a rank that could not be copied.
            if told.insert(text.clone()) {
                let text = format!("cached {}: {text}", title(&found.dataset));
                run.tell(Severity::Warning, text);
            }
        }
        // The second pass can only be planned when the first has ended on all nodes.
        trouble |= run.on_any(problems.iter().any(is_trouble))?;
    }
    let built = collective::if_root(&*run.comm, || build_saved(run, found));
    let not_built = [Term::Max(built.as_ref().is_err_and(is_trouble).into())];
    let Agreement {
        verdict,
        terms: [not_built],
    } = run.agree_with(built, not_built)?;
    Ok((verdict.map(drop), trouble || not_built.on_any()))
}

/// Rank 0: rebuilds the lost files of a dataset that was copied to the prefix directory, and completes the
/// dataset. Local.
fn build_saved(run: &Run, found: &CachedDataset) -> Result<()> {
    let id = found.dataset.id;
    let mut notes = Vec::new();
    let how = BuildSettings {
        node: run.node(),
        time: &time_now(),
        checksums: run.settings.crc_on_flush,
        watch: &(),
    };
    let built = build(&*run.files, &run.prefix, id, how, &mut notes);
    let named = title(&found.dataset);
    for note in notes {
        // If the dataset could be completed, its lost or damaged files are there again.
        let (severity, end) = match built {
            Ok(_) => (Severity::Note, "; the dataset is complete now"),
            Err(_) => (Severity::Warning, ""),
        };
        run.tell(severity, format!("{named}: {note}{end}"));
    }
    let built = built?.dataset;
    if built.created == found.dataset.created {
        Ok(())
    } else {
        Err(Error::dataset(
            id,
            built.name.to_string(),
            "was found in its place, of another time",
        ))
    }
}

/// True for errors that say nothing of the dataset: a full disk, an I/O error. A file that is not there is lost.
fn is_trouble(error: &Error) -> bool {
    matches!(error, Error::Io { .. }) && !error.is_not_found()
}
