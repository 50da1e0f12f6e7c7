//! `SCR_Init`: finds out the settings and the ranks that take part, then recovers datasets in the
//! cache.

pub(super) mod consistency;
mod flush_recovered;
pub(super) mod join;
pub(super) mod local_setup;
pub(super) mod repair;
pub(super) mod run_info;
pub(super) mod wait;

use super::Session;
use crate::comm::{Agreed, Agreement, Communicator, Term};
use crate::config::{Config, Settings};
use crate::events::{Console, Severity, Sink};
use crate::format::{Dataset, Name};
use crate::job::Environment;
use crate::messages::{CACHE_OF_ONE, INCOMPLETE_DATASET, PURGED};
use crate::policy::halt::FINALIZED;
use crate::prefix::records;
use crate::redundancy::topology::Note;
use crate::session::calls::CallCount;
use crate::session::datasets::cached::{CachedDatasets, title};
use crate::session::datasets::other_ranks::OtherRanks;
use crate::session::datasets::search::{Offer, RestartSearch};
use crate::session::datasets::survey::Survey;
use crate::session::fields_state::FieldsState;
use crate::session::flush::chores::Background;
use crate::session::flush::transfer::end_earlier_transfers;
use crate::session::halt::HaltState;
use crate::session::output::failures::FailureRate;
use crate::session::output::interval::CheckpointInterval;
use crate::session::output::shared_names::NameForms;
use crate::session::output::ways::Ways;
use crate::session::restart::reading::Reading;
use crate::session::start::flush_recovered::flush_recovered;
use crate::session::start::join::Joined;
use crate::session::start::repair::{Beginning, Kept, Member, Repair, identity_of};
use crate::session::state::State;
use crate::store::{Files, posix::Posix};
use crate::text::counted;
use crate::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// Time that a run should wait for the lock of another run: after a kill, the last processes of
/// that run may need a moment to end.
pub const OTHER_RUN: Duration = Duration::from_secs(10);

/// The values from which a session is made.
pub struct Setup {
    /// All ranks of the run; the session owns it.
    pub comm: Box<dyn Communicator>,
    /// File systems.
    pub files: Arc<dyn Files>,
    /// Receives events.
    pub sink: Arc<dyn Sink>,
    /// This process's environment.
    pub environment: Environment,
    /// Time to wait for the locks of another run; see [`OTHER_RUN`].
    pub lock_timeout: Duration,
}

impl Setup {
    /// The setup of a program: the real file system, this process's environment, messages on standard
    /// error. `comm` is usually the result of `Mpi::dup_world`.
    pub fn of_process(comm: impl Communicator + 'static) -> Self {
        Setup {
            comm: Box::new(comm),
            files: Arc::new(Posix),
            sink: Arc::new(Console::default()),
            environment: Environment::of_process(),
            lock_timeout: OTHER_RUN,
        }
    }
}

impl Session {
    /// Starts a run; `None` if SCR is disabled (`SCR_ENABLE=0`). `config` holds the settings of
    /// `SCR_Config`, equal on all ranks. Collective.
    ///
    /// # Errors
    /// A parameter or descriptor cannot be used, a directory cannot be made or belongs to somebody
    /// else, or another run uses the prefix directory. All ranks return the same error.
    pub fn init(setup: Setup, config: &mut Config) -> Result<Option<Session>> {
        Session::start(setup, &mut Beginning::First, config)
    }

    /// Goes on with a session whose ranks were lost, on another communicator: of the survivors only, of as many ranks
    /// as before, or of any others. The newest checkpoint that is complete, or can be rebuilt, is offered for a
    /// restart, as after `SCR_Init`. `None` if no rank has survived: then only two rounds were made. Collective:
    /// survivors and new ranks call it.
    ///
    /// # Errors
    /// As [`Session::init`], and if the ranks belong to several sessions. After an error `member` still has
    /// the state of this process, so that another repair can follow.
    pub fn repair(
        setup: Setup,
        member: &mut Member,
        config: &mut Config,
    ) -> Result<Option<Session>> {
        let (comm, environment) = (&*setup.comm, &setup.environment);
        let Some(agreed) = repair::meet(comm, environment, member, config)? else {
            return Ok(None);
        };
        config.thaw();
        let mut beginning = member.begin(agreed);
        let started = Session::start(setup, &mut beginning, config);
        member.put_back(beginning);
        started
    }

    /// Starts a run. If the run cannot start, this process still has its state of the run before, but its locks may
    /// be released. Collective.
    fn start(
        setup: Setup,
        beginning: &mut Beginning,
        config: &mut Config,
    ) -> Result<Option<Session>> {
        let lock_timeout = setup.lock_timeout;
        let Some(joined) = Joined::new(setup, beginning, config)? else {
            return Ok(None);
        };
        let Joined {
            run,
            ids,
            root,
            survey,
            notes,
            environment,
        } = joined;
        let identity = identity_of(run.id());
        let kept = beginning.take_kept();
        let Kept {
            mut locks,
            statistics,
            ..
        } = kept.map_or_else(|| Kept::of_new(identity), |kept| *kept);
        let mut unfinished = None;
        let names = root.map(|root| {
            locks.hold_prefix(root.lock);
            unfinished = root.unfinished;
            root.names
        });
        let mut session = Session {
            identity,
            cwd: environment.cwd.clone(),
            state: State::Idle,
            ids,
            cached: CachedDatasets::default(),
            search: RestartSearch {
                offer: Offer::default(),
                survey,
            },
            other_ranks: OtherRanks::new(&run.settings, names),
            reading: Reading::default(),
            open: None,
            name_forms: NameForms::default(),
            ways: Ways::default(),
            interval: CheckpointInterval::new(None),
            fields: FieldsState::default(),
            halt: HaltState::new(environment),
            background: Background::default(),
            statistics,
            calls: CallCount::new(&run),
            why_invalid: None,
            locks,
            run,
        };
        if let Some(repair) = beginning.repair() {
            session.continue_from(repair);
        }
        let warnings = config.take_warnings();
        session.tell_configuration(&notes);
        session.tell_run();
        session.interval = CheckpointInterval::new(FailureRate::find(&session.run));
        let note = beginning
            .repair()
            .map(|repair| repair.words(session.run.comm.size()));
        if let Some(note) = &note {
            let text = format!("the session goes on: {note}");
            session.run.tell_once(Severity::Note, text);
        }
        session.run.log_start(note);
        let begun = session.begin(lock_timeout, beginning.is_first(), warnings, unfinished);
        if let Err(error) = begun {
            beginning.keep(session);
            return Err(error);
        }
        session.statistics.compute_starts(&session.run);
        config.freeze();
        Ok(Some(session))
    }

    /// Takes over the facts on which the ranks of a repair have agreed. Local; the same on all
    /// ranks.
    fn continue_from(&mut self, repair: &Repair) {
        self.identity = repair.identity;
        let (dataset, checkpoint) = repair.ids.highest();
        self.ids.know(dataset, Some(checkpoint));
        self.other_ranks.allowed |= repair.allows_other_ranks && !self.run.settings.start_anew;
    }

    /// Reports the ranks that take part and the places of datasets.
    fn tell_run(&self) {
        let run = &self.run;
        let (ranks, prefix) = (run.comm.size(), run.prefix.root().display());
        let text = format!(
            "{} on {}, prefix directory {prefix}",
            counted(ranks, "rank"),
            counted(run.nodes as usize, "node"),
        );
        run.tell_once(Severity::Debug(2), text);
        for scheme in run.descriptors.schemes.iter().filter(|s| s.enabled) {
            let text = if scheme.bypass {
                "datasets are written to the prefix directory".to_string()
            } else {
                format!(
                    "datasets are written to {} with {} by {}; rank 0 is in a set of {}",
                    run.stores[scheme.store].layout.root().display(),
                    scheme.scheme.word(),
                    scheme.group,
                    counted(run.sets[scheme.index].size(), "rank")
                )
            };
            run.tell_once(Severity::Debug(2), format!("{}: {text}", scheme.place));
        }
    }

    /// Tells the user about the configuration: warnings, redundancy descriptors that cannot protect
    /// as configured here, and a cache size of one dataset.
    fn tell_configuration(&self, notes: &[Note]) {
        let run = &self.run;
        for warning in &run.descriptors.warnings {
            run.tell_once(Severity::Warning, warning.clone());
        }
        let schemes = &run.descriptors.schemes;
        for Note { plan, text } in notes {
            let Some(scheme) = schemes.get(*plan).filter(|s| s.enabled) else {
                continue;
            };
            // In bypass the cache holds nothing that could be lost.
            let severity = if scheme.bypass {
                Severity::Debug(2)
            } else {
                Severity::Note
            };
            let place = match schemes.len() {
                1 => String::new(),
                _ => format!("{}: ", scheme.place),
            };
            run.tell_once(severity, format!("{place}{text}"));
        }
        if run.settings.use_containers && schemes.iter().all(|s| s.bypass || !s.enabled) {
            let text = "SCR_USE_CONTAINERS=1 has no effect with SCR_CACHE_BYPASS=1: the program \
                        itself writes its files to the prefix directory";
            run.tell_once(Severity::Note, text);
        }
        let mut cached = schemes.iter().filter(|s| s.enabled && !s.bypass);
        let store = |at: usize| run.descriptors.stores.get(at);
        let sole = cached.find_map(|scheme| store(scheme.store).filter(|s| s.count == 1));
        if let Some(store) = sole {
            let text = format!(
                "STORE={} keeps one dataset (SCR_CACHE_SIZE=1): a failure while a checkpoint is \
                 written loses the one before it, too, and the restart is from the prefix \
                 directory; with room for two, set SCR_CACHE_SIZE=2 ({CACHE_OF_ONE})",
                store.dir.display()
            );
            run.tell_once(Severity::Note, text);
        }
    }

    /// Recovers datasets in the cache, and writes the records of this run. `is_first` is true for the first run of a
    /// session, `warnings` are those of this rank's settings, and `unfinished` is rank 0's newest dataset in the index,
    /// if it is not complete.
    fn begin(
        &mut self,
        lock_timeout: Duration,
        is_first: bool,
        warnings: Vec<String>,
        unfinished: Option<Dataset>,
    ) -> Result<()> {
        let ended = end_earlier_transfers(&self.run);
        let locked = ended.and_then(|()| self.locks.lock_stores(&mut self.run, lock_timeout));
        let Settings {
            cache_purge,
            distribute,
            prefix_purge,
            ..
        } = self.run.settings;
        if is_first && (cache_purge || !distribute) {
            self.purge_cache(locked.clone())?;
        }
        let purged = if prefix_purge && is_first {
            self.purge_prefix()?
        } else {
            None
        };
        let recovered = self.restart().search_stores(locked)?;
        if let Some(purged) = purged {
            self.tell_purged(&purged, recovered);
        }
        if let Some(unfinished) = unfinished {
            self.tell_unfinished(&unfinished);
        }
        let keep_all = !self.search.offer.unavailable().is_empty();
        self.locks.unlock_unused(&self.run, &self.cached, keep_all);
        let survey = self.search.survey.get();
        let written = survey.map_or(Ok(()), |survey| self.write_records(survey, is_first));
        self.tell_settings(written, warnings)?;
        match flush_recovered(self, recovered) {
            // The checkpoint is complete in the cache, so the program can go on with it.
            Err(error @ Error::Dataset { .. }) => {
                self.run.tell_once(Severity::Error, error.to_string());
            }
            other => other?,
        }
        // A checkpoint is offered only when the program asks for one.
        self.search.offer.withdraw();
        self.flush_before_halt()?;
        // Deletion starts last, since it would slow the rounds of a start.
        self.cached.deletion().start_postponed(&self.run);
        Ok(())
    }

    /// Reports which datasets `SCR_PREFIX_PURGE` has deleted, and whether a restart is possible
    /// without them. Local.
    fn tell_purged(&self, purged: &str, recovered: Option<u64>) {
        let found = recovered.is_some() || !self.search.offer.unavailable().is_empty();
        let (severity, rest) = if found {
            (Severity::Note, "")
        } else {
            (
                Severity::Warning,
                "; the cache has no checkpoint either, so the program starts from the beginning",
            )
        };
        let text = format!(
            "SCR_PREFIX_PURGE=1 has deleted {purged} from the prefix directory{rest} ({PURGED})"
        );
        self.run.tell_once(severity, text);
    }

    /// Tells of the newest dataset in the index, which is not complete there: the user must know what a
    /// restart lacks. Local.
    fn tell_unfinished(&self, dataset: &Dataset) {
        // A dataset that this run cannot use yet may be used once the program allows other numbers of ranks.
        let created = dataset.created;
        let cached = self.cached.iter().any(|c| c.dataset.created == created);
        let waiting = self.search.offer.unavailable();
        let in_cache = cached || waiting.iter().any(|one| one.created == Some(created));
        let (severity, what) = if in_cache {
            (
                Severity::Note,
                "is not complete in the prefix directory, since a run ended or failed during its \
                 flush; the cache has it"
                    .to_string(),
            )
        } else {
            (
                Severity::Warning,
                format!(
                    "was being written when a run ended, or could not be completed; it is not used \
                     ({INCOMPLETE_DATASET})"
                ),
            )
        };
        self.run
            .tell_once(severity, format!("{} {what}", title(dataset)));
    }

    /// Reports the warnings of the lowest rank that has some, since others mostly have the same. Fails
    /// on all ranks if `local` is an error on one. Collective; one round.
    fn tell_settings(&self, local: Result<()>, warnings: Vec<String>) -> Result<()> {
        let run = &self.run;
        let first = if warnings.is_empty() {
            i64::MAX
        } else {
            run.rank() as i64
        };
        let terms = [Term::Min(first), Term::Sum((!warnings.is_empty()).into())];
        let Agreement { verdict, terms } = run.agree_with(local, terms)?;
        let [first, count] = terms.map(Agreed::get);
        if first == run.rank() as i64 {
            for warning in warnings {
                let others = match count {
                    1 => String::new(),
                    n => format!(" (warnings of {} other ranks are not shown)", n - 1),
                };
                run.tell(Severity::Warning, format!("{warning}{others}"));
            }
        }
        verdict
    }

    /// Rank 0: writes the records of this run in the prefix directory. The run does not need them.
    ///
    /// # Errors
    /// The halt file is damaged, and `SCR_HALT_SECONDS` must be written to it.
    fn write_records(&self, survey: &Survey, is_first: bool) -> Result<()> {
        let (run, files, prefix) = (&self.run, &*self.run.files, &self.run.prefix);
        run.keep_record(|| records::write_nodes(files, prefix, run.nodes));
        // The time counts from the first start of a session.
        let halt_seconds = run.settings.halt_seconds.filter(|_| is_first);
        let halt_seconds = halt_seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        let update = || {
            records::update_halt(files, prefix, |halt| {
                if let Some(seconds) = halt_seconds {
                    halt.halt_seconds = Some(seconds).filter(|seconds| *seconds > 0);
                }
                // The last run has ended normally. This one may be killed.
                let normal_end = |reason: &Name| reason.to_string() == FINALIZED;
                halt.exit_reason = halt.exit_reason.take().filter(|r| !normal_end(r));
            })
        };
        match halt_seconds {
            Some(1..) => {
                match update() {
                    Err(error @ Error::Io { .. }) => {
                        let text = format!("SCR_HALT_SECONDS does not count: {error}");
                        run.tell_once(Severity::Warning, text);
                    }
                    other => other?,
                }
                self.halt.end_of_allocation(run);
            }
            _ => run.keep_record(update),
        }
        let mut record = records::read_flush_file(files, prefix).unwrap_or_default();
        survey.renew(&mut record, &self.cached);
        run.keep_record(|| records::write_flush_file(files, prefix, &record));
        Ok(())
    }
}
