//! `SCR_Init`: find out who and where we are, then get back what the cache still has.

use super::cached::title;
use super::foreign::{self, Foreign};
use super::halt::Deadline;
use super::local_setup::LocalSetup;
use super::state::State;
use super::{Ids, Search, Session, Store, consistency, stale};
use crate::comm::{Communicator, Term, collective};
use crate::config::descriptors::{Descriptors, StoreDescriptor, View};
use crate::config::{Config, MAX_FILE, Settings};
use crate::events::{Event, Severity, Sink, Speaker};
use crate::format::flush_file;
use crate::format::index::Index;
use crate::format::{Name, from_message, from_tree, to_message, unpack};
use crate::job::{self, Environment};
use crate::policy::checkpoint::History;
use crate::policy::halt::FINALIZED;
use crate::prefix::index;
use crate::prefix::paths::Prefix;
use crate::prefix::records;
use crate::redundancy::Set;
use crate::redundancy::topology::{
    Note, Plan, RankAssignment, RankReport, SetMembership, answer, domains_of_nodes,
    first_different,
};
use crate::store::{Durability, FileKind, Files, Lock};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run should wait for another one on the same prefix to be gone: after a kill,
/// its last processes may need a moment.
pub const OTHER_RUN: Duration = Duration::from_secs(10);

/// What a session is made of.
pub struct Setup {
    /// All ranks of the run; the session owns it.
    pub comm: Box<dyn Communicator>,
    /// File systems.
    pub files: Arc<dyn Files>,
    /// Who hears of events.
    pub sink: Arc<dyn Sink>,
    /// This process's environment.
    pub environment: Environment,
    /// How long to wait for another run to leave the prefix directory; see [`OTHER_RUN`].
    pub lock_timeout: Duration,
}

/// What rank 0 finds out for all.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(super) struct RunInfo {
    pub user: Name,
    pub job: Name,
    dataset: u64,
    checkpoint: u64,
    /// The identity of this run, as no other has it: its directory in each store is called so.
    pub run: u64,
}

/// What rank 0 has for itself.
#[derive(Default)]
struct Root {
    run_lock: Option<Box<dyn Lock>>,
    foreign: Foreign,
}

impl Session {
    /// Starts a run; `None` if SCR is disabled (`SCR_ENABLE=0`). `config` holds what
    /// `SCR_Config` set, the same on all ranks. Collective.
    ///
    /// # Errors
    /// A parameter or descriptor that cannot be used, a directory that cannot be made or is
    /// not ours, or another run on the same prefix. All ranks return the same error.
    pub fn init(setup: Setup, config: &mut Config) -> Result<Option<Session>> {
        let Setup {
            comm,
            files,
            sink,
            environment,
            lock_timeout,
        } = setup;
        let mut speaker = Speaker {
            rank: comm.rank(),
            node: environment.host.clone(),
        };
        let mut root = Root::default();

        // Rank 0 reads all that is common, and everyone hears it.
        let mut local = Ok(None);
        if comm.rank() == 0 {
            local = run_info(
                &*files,
                &*sink,
                &speaker,
                &environment,
                config,
                &mut root,
                lock_timeout,
            )
            .map(Some);
        }
        let enabled = matches!(local, Ok(Some(Some(_))) | Ok(None));
        let mut terms = [Term::Min(enabled.into())];
        let run_info = collective::agree_with(&*comm, &speaker.node, local, &mut terms)?;
        if terms[0].value() == 0 {
            return Ok(None);
        }
        let mut message = run_info.flatten().unwrap_or_default();
        collective::bcast(&*comm, 0, &mut message)?;

        // Then each rank its own directories, and rank 0 who shares what with whom.
        let own = receive(&message, &environment, config)
            .and_then(|run_info| LocalSetup::find(&*files, &environment, config, run_info));
        if let Ok(own) = &own {
            speaker.node.clone_from(&own.node);
        }
        let LocalSetup {
            run_info,
            settings,
            descriptors,
            stores,
            common,
            ..
        } = collective::agree(&*comm, &speaker.node, own)?;
        let (assignment, sets, search) =
            exchange(&*comm, &speaker.node, config, &descriptors, &common)?;
        let of_store = stores.into_iter().zip(&descriptors.stores);
        let stores: Vec<Store> = of_store
            .zip(assignment.stores)
            .map(|((layout, store), share)| Store {
                layout: layout.at((store.view == View::Global).then_some(assignment.node)),
                // Nobody looks into a store that is switched off: it may be out of order.
                leader: share.leader == comm.rank() && store.enabled,
                share,
            })
            .collect();
        let prefix = Prefix::new(&settings.prefix);
        let files = prefix.confine(&*files, stores.iter().map(|store| store.layout.job()));
        confirm_shared(
            &*comm,
            &*files,
            &speaker.node,
            (&stores, &descriptors),
            run_info.run,
        )?;

        let mut ids = Ids::default();
        ids.know(run_info.dataset, Some(run_info.checkpoint));
        let mut session = Session {
            cwd: environment.cwd.clone(),
            state: State::Idle,
            ids,
            cache: Vec::new(),
            unusable: Vec::new(),
            search,
            loaded: None,
            unavailable: None,
            chosen: None,
            foreign: root.foreign,
            phase: None,
            gave_up: 0,
            history: History::default(),
            last_checkpoint: Instant::now(),
            deleters: Vec::new(),
            trash: Vec::new(),
            recycled: Vec::new(),
            halting: false,
            deadline: Deadline::new(environment),
            signal: 0,
            nodes: assignment.nodes,
            user: run_info.user,
            job: run_info.job,
            _run_lock: root.run_lock,
            claims: Vec::new(),
            comm,
            files,
            sink,
            speaker,
            settings,
            descriptors,
            prefix,
            stores,
            sets,
            tolerates: assignment.tolerates,
            volumes: Default::default(),
        };
        for warning in config.take_warnings() {
            session.tell(Severity::Warning, warning);
        }
        for warning in &session.descriptors.warnings {
            session.tell_once(Severity::Warning, warning.clone());
        }
        session.tell_notes(&assignment.notes);
        session.tell_sole_checkpoint();
        session.begin(lock_timeout)?;
        config.freeze();
        Ok(Some(session))
    }

    /// What descriptors cannot do here; of those that are used.
    fn tell_notes(&self, notes: &[Note]) {
        let schemes = &self.descriptors.schemes;
        for Note { plan, text } in notes {
            let Some(scheme) = schemes.get(*plan).filter(|s| s.enabled) else {
                continue;
            };
            // In bypass nothing is kept in the cache that could be lost there.
            let severity = match scheme.bypass {
                true => Severity::Debug(1),
                false => Severity::Note,
            };
            let place = match schemes.len() {
                1 => String::new(),
                _ => format!("{}: ", scheme.place),
            };
            self.tell_once(severity, format!("{place}{text}"));
        }
    }

    /// With room for one dataset, the last checkpoint goes before the next one is written.
    fn tell_sole_checkpoint(&self) {
        let schemes = self.descriptors.schemes.iter();
        let mut cached = schemes.filter(|scheme| scheme.enabled && !scheme.bypass);
        let store = |at: usize| self.descriptors.stores.get(at);
        let sole = cached.find_map(|scheme| store(scheme.store).filter(|s| s.count == 1));
        if let Some(store) = sole {
            let text = format!(
                "STORE={} keeps one dataset (SCR_CACHE_SIZE=1): a failure while a checkpoint is \
                 written loses the one before it, too, and the restart is from the prefix \
                 directory; with room for two, set SCR_CACHE_SIZE=2",
                store.dir.display()
            );
            self.tell_once(Severity::Note, text);
        }
    }

    /// The second half: what the cache still has, then the records in the prefix.
    fn begin(&mut self, lock_timeout: Duration) -> Result<()> {
        let claimed = self.claim_stores(lock_timeout);
        if self.settings.cache_purge || !self.settings.distribute {
            self.purge_cache(claimed.clone())?;
        }
        if self.settings.prefix_purge {
            self.purge_prefix()?;
        }
        self.recover_cached(claimed)?;
        self.release_stores();
        let written = match self.rank() {
            0 => self.write_records(),
            _ => Ok(()),
        };
        self.agree(written)?;
        match self.settle_recovered() {
            // The checkpoint is whole in the cache: no reason to keep the program from it.
            Err(error @ Error::Dataset { .. }) => {
                self.tell_once(Severity::Error, error.to_string());
            }
            other => other?,
        }
        // Nothing is offered before the program asks.
        self.loaded = None;
        self.check_halt()?;
        // Not before: the last rounds of a start would wait for it.
        self.delete_trash();
        Ok(())
    }

    /// Rank 0: the records of this run, which can do without them.
    ///
    /// # Errors
    /// The halt file is damaged, and the user wants a condition in it.
    fn write_records(&self) -> Result<()> {
        let (files, prefix) = (&*self.files, &self.prefix);
        self.keep_record(|| records::write_nodes(files, prefix, self.nodes));
        let set = self.settings.halt_seconds;
        let set = set.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        let update = || {
            records::update_halt(files, prefix, |halt| {
                if let Some(seconds) = set {
                    halt.halt_seconds = Some(seconds).filter(|seconds| *seconds > 0);
                }
                // That the last run came to its end says nothing of this one, which may be
                // killed.
                let ended = |reason: &Name| reason.to_string() == FINALIZED;
                halt.exit_reason = halt.exit_reason.take().filter(|reason| !ended(reason));
            })
        };
        match set {
            Some(1..) => {
                match update() {
                    Err(error @ Error::Io { .. }) => {
                        let text = format!("SCR_HALT_SECONDS does not count: {error}");
                        self.tell(Severity::Warning, text);
                    }
                    other => other?,
                }
                self.end_of_allocation();
            }
            _ => self.keep_record(update),
        }
        // What is kept in the cache though this run has no use for it still is there.
        let mut record = records::read_flush_file(files, prefix).unwrap_or_default();
        let kept = |id: &u64| self.unusable.iter().any(|slot| slot.id == *id);
        let in_bypass = |id: &u64| self.search.in_bypass.keys().any(|(other, _)| other == id);
        record.datasets.retain(|id, _| kept(id) || in_bypass(id));
        for cached in &self.cache {
            let mut entry = flush_file::FlushEntry::cached(cached.dataset.clone());
            if cached.in_prefix {
                entry.locations.insert(flush_file::PFS.into());
            }
            record.datasets.insert(cached.dataset.id, entry);
        }
        self.keep_record(|| records::write_flush_file(files, prefix, &record));
        Ok(())
    }
}

/// Rank 0: parameters, names, and the prefix directory, as the message that [`receive`] takes;
/// `None` if SCR is disabled.
fn run_info(
    files: &dyn Files,
    sink: &dyn Sink,
    speaker: &Speaker,
    environment: &Environment,
    config: &mut Config,
    root: &mut Root,
    lock_timeout: Duration,
) -> Result<Option<Vec<u8>>> {
    let tell = |severity, text: String| sink.take(speaker, &Event::new(severity, text));
    load(files, environment, config)?;
    let settings = Settings::from(config);
    for warning in config.take_warnings() {
        tell(Severity::Warning, warning);
    }
    let settings = settings?;
    if !settings.enable {
        return Ok(None);
    }
    sink.set_debug(settings.debug);
    let prefix = Prefix::new(&settings.prefix);
    prefix.confine(files, []).make_dirs(&prefix.meta())?;
    // Now that the directory is there, its true name is known.
    let prefix = Prefix::new(&settings.prefix);
    let files = &*prefix.confine(files, []);
    root.run_lock = lock_run(files, &prefix, lock_timeout)?;
    let user = job::user_name(environment, &|_| settings.user_name.clone())?;
    let job = job::job_id(environment, &|_| settings.job_id.clone(), prefix.real())?;
    tell(
        Severity::Debug(1),
        format!("user {} ({})", user.value, user.source),
    );
    tell(
        Severity::Debug(1),
        format!("job {} ({})", job.value, job.source),
    );
    let app_conf = prefix.file("app.conf");
    if let Err(error) = records::put(files, &app_conf, config.app_conf().as_bytes()) {
        tell(Severity::Warning, stale(&error));
    }
    let index = index::read(files, &prefix)?;
    root.foreign.names = foreign::names(&index);
    if let Some(unfinished) = unfinished(&index) {
        tell(Severity::Warning, unfinished);
    }
    let run_info = RunInfo {
        user: user.value.as_str().into(),
        job: job.value.as_str().into(),
        dataset: index.max_dataset(),
        checkpoint: index.max_checkpoint(),
        // Keyed at random, other than a time or the number of a process.
        run: RandomState::new().hash_one(std::process::id()),
    };
    // A tree is followed by what is not its own: the settings.
    Ok(Some(
        [to_message(&run_info)?, config.to_message()?].concat(),
    ))
}

/// The newest dataset in the index, if it is not complete, in words: what a restart lacks is never
/// passed over in silence.
fn unfinished(index: &Index) -> Option<String> {
    let (_, newest) = index.datasets().last_key_value()?;
    let dataset = newest.dataset.as_ref().filter(|_| !newest.complete)?;
    let what = "was being written when a run ended, or could not be completed; it is not used";
    Some(format!("{} {what}", title(dataset)))
}

/// What rank 0 found out for all. Local.
fn receive(message: &[u8], environment: &Environment, config: &mut Config) -> Result<RunInfo> {
    let (tree, used) = unpack(message)?;
    let settings = message.get(used..).unwrap_or_default();
    config.take_over(settings, environment.clone())?;
    from_tree(&tree)
}

/// Reads environment and files into `config`. Local.
pub fn load(files: &dyn Files, environment: &Environment, config: &mut Config) -> Result<()> {
    let read_file = |path: &Path| match files.read(path, MAX_FILE) {
        Err(error) if error.is_not_found() => Ok(None),
        other => other.map(Some),
    };
    config.load(environment.clone(), &environment.cwd, &read_file)
}

/// One live run per prefix directory: the lock dies with rank 0.
fn lock_run(
    files: &dyn Files,
    prefix: &Prefix,
    lock_timeout: Duration,
) -> Result<Option<Box<dyn Lock>>> {
    let end = Instant::now() + lock_timeout;
    loop {
        match files.try_lock(&prefix.meta()) {
            Ok(Some(lock)) => return Ok(Some(lock)),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                return Err(Error::Config {
                    place: prefix.root().display().to_string(),
                    what: format!(
                        "another run uses this prefix directory{}; wait for its end, or give each \
                         run its own SCR_PREFIX",
                        // Known only on the node where it is.
                        job::holders::in_words(&prefix.meta())
                            .map_or_else(String::new, |who| format!(" ({who})"))
                    ),
                });
            }
            Err(error) if index::without_locks(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// A directory that SCR is told not to make must be there. Local.
pub(super) fn require_base(files: &dyn Files, store: &StoreDescriptor, node: &str) -> Result<()> {
    let there = |stat: crate::store::Stat| stat.kind == FileKind::Directory;
    if store.mkdir || files.stat(&store.dir)?.is_some_and(there) {
        return Ok(());
    }
    Err(Error::Config {
        place: store.place.clone(),
        what: format!(
            "STORE={} is no directory on node {node}, and MKDIR=0 says that SCR must not make \
             it; make it there, or set MKDIR=1",
            store.dir.display()
        ),
    })
}

/// Sees that stores which are said to be shared by several nodes are: what the leader of an
/// instance puts there, the others must find. Elsewhere data would seem to be lost at every
/// restart on other nodes. Collective; two rounds if there is such a store, or one if one of them
/// is full.
fn confirm_shared(
    comm: &dyn Communicator,
    files: &dyn Files,
    node: &str,
    (stores, descriptors): (&[Store], &Descriptors),
    run: u64,
) -> Result<()> {
    let shared: Vec<(&Store, &StoreDescriptor)> = stores
        .iter()
        .zip(&descriptors.stores)
        .filter(|(_, store)| store.enabled && store.outlives_nodes())
        .collect();
    if shared.is_empty() {
        return Ok(());
    }
    let mark = |store: &Store| store.layout.job().join(".scr.shared");
    let text = |store: &Store| format!("{run:016x} {}", store.share.leader).into_bytes();
    let mut written = shared.iter().filter(|(store, _)| store.leader);
    let written = written
        .try_for_each(|(store, _)| files.replace(&mark(store), &text(store), Durability::Atomic));
    // Nothing can be put into a full store, into which not even the directory may have gone; what
    // is in it may be wanted all the same.
    let full = |error: &Error| error.is_full() || error.is_not_found();
    let full = written.as_ref().is_err_and(full);
    let mut terms = [Term::Max(full.into())];
    let written = if full { Ok(()) } else { written };
    collective::agree_with(comm, node, written, &mut terms)?;
    if terms[0].value() > 0 {
        return Ok(());
    }
    let seen = shared.iter().try_for_each(|(store, descriptor)| {
        let same = |found: Vec<u8>| found == text(store);
        if files.read(&mark(store), 64).is_ok_and(same) {
            return Ok(());
        }
        Err(Error::Config {
            place: descriptor.place.clone(),
            what: format!(
                "STORE={} is not the same directory for all of GROUP={}: node {node} does not \
                 see what rank {} has put there; say GROUP=NODE and VIEW=PRIVATE for storage in \
                 the nodes",
                descriptor.dir.display(),
                descriptor.group,
                store.share.leader
            ),
        })
    });
    collective::agree(comm, node, seen)
}

/// Tells rank 0 where we are and hears the answer, with this rank's sets; rank 0 keeps what
/// it knows of everybody. `common` is what must be the same on all ranks. Collective.
fn exchange(
    comm: &dyn Communicator,
    node: &str,
    config: &Config,
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(RankAssignment, Vec<Set>, Search)> {
    let report = RankReport::new(node, descriptors, consistency::fingerprint(common));
    let mut local = Ok(());
    let mut search = Search::default();
    let mut messages = None;
    if let Some(all) = collective::gather(comm, 0, to_message(&report)?)? {
        match answers(&all, descriptors, common) {
            Ok((answers, found)) => {
                search = found;
                messages = Some(answers);
            }
            Err(error) => {
                local = Err(error);
                messages = Some(vec![to_message(&RankAssignment::default())?; comm.size()]);
            }
        }
    }
    let answer = collective::scatter(comm, 0, messages)?;
    let found = local
        .and_then(|()| unpack(&answer))
        .and_then(|(tree, used)| Ok((from_tree::<RankAssignment>(&tree)?, used)))
        .and_then(|(assignment, used)| {
            if let Some(root) = &assignment.first_different {
                let theirs = answer.get(used..).unwrap_or_default();
                return Err(consistency::difference(
                    common,
                    (root, theirs),
                    config,
                    descriptors,
                ));
            }
            let sets = assignment.sets.iter().cloned().map(SetMembership::set);
            Ok((sets.collect::<Result<_>>()?, assignment))
        });
    let (sets, assignment) = collective::agree(comm, node, found)?;
    Ok((assignment, sets, search))
}

/// Rank 0: what to answer to the greetings of all ranks, and where to search for what. If a
/// rank has other settings, the first of these hears rank 0's and can say how they differ; the
/// others hear nothing of use, since nobody goes on.
fn answers(
    all: &[Vec<u8>],
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(Vec<Vec<u8>>, Search)> {
    let reports = all.iter().map(|bytes| from_message(bytes));
    let reports = reports.collect::<Result<Vec<RankReport>>>()?;
    let mut search = Search::default();
    if let Some(odd) = first_different(&reports) {
        let mut messages = vec![to_message(&RankAssignment::default())?; all.len()];
        let reply = RankAssignment {
            first_different: reports.first().map(|root| root.node.clone()),
            ..RankAssignment::default()
        };
        if let Some(message) = messages.get_mut(odd) {
            *message = [&to_message(&reply)?, common].concat();
        }
        return Ok((messages, search));
    }
    let answers = answer(&reports, &Plan::all(descriptors))?;
    for store in 0..descriptors.stores.len() {
        let shares = answers.iter().filter_map(|a| a.stores.get(store));
        let leaders = shares.map(|share| share.leader).collect();
        search.leaders.push(leaders);
        search.domains.push(domains_of_nodes(&reports, store));
    }
    let messages = answers.iter().map(to_message).collect::<Result<_>>()?;
    Ok((messages, search))
}
