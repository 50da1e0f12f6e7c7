//! The constants of a run: its ranks, settings and directories. Also the ways in which a rank
//! reports to the user, and in which the ranks agree.

use crate::cache::layout::Layout;
use crate::comm::{Agreed, Agreement, AtRoot, Communicator, Term, collective};
use crate::config::descriptors::{Descriptors, SchemeDescriptor, choose};
use crate::config::settings::Settings;
use crate::events::{Message, Severity, Sink, Speaker};
use crate::format::identity::OwnPrefix;
use crate::format::{Dataset, Name};
use crate::log::Log;
use crate::messages::STALE_RECORD;
use crate::prefix::access::{PrefixAccess, first_with};
use crate::prefix::paths::Prefix;
use crate::redundancy::Set;
use crate::redundancy::topology::Sharing;
use crate::store::{Files, Unkept};
use crate::system::time::Instant;
use crate::system::time::SystemTime;
use crate::transfer::copy::PIECE;
use crate::{Error, Result};
use std::sync::Arc;

/// A store as this rank sees it.
pub(super) struct Store {
    /// Paths, at the level at which this rank puts new datasets.
    pub layout: Layout,
    /// True on the one rank that acts for all ranks that share the directory.
    pub leader: bool,
    /// The ranks that share the directory with this one.
    pub sharing: Sharing,
    /// The lowest of the ranks whose datasets in the store are lost together with the datasets of
    /// this rank.
    pub lost_with: usize,
}

/// The facts that `SCR_Init` finds out. They do not change afterwards.
pub(super) struct Run {
    pub comm: Box<dyn Communicator>,
    pub files: Arc<dyn Files>,
    /// Attributes of files that file systems have refused to keep.
    pub unkept: Unkept,
    pub sink: Arc<dyn Sink>,
    pub speaker: Speaker,
    pub settings: Settings,
    pub descriptors: Descriptors,
    pub prefix: Prefix,
    /// The form in which records in the cache name the prefix directory.
    pub own_prefix: OwnPrefix,
    pub user: Name,
    pub job: Name,
    /// Number of nodes.
    pub nodes: u64,
    /// The ranks of this rank's node.
    pub of_node: Sharing,
    /// Indexed by the store descriptor.
    pub stores: Vec<Store>,
    /// This rank's redundancy set for each redundancy descriptor.
    pub sets: Vec<Set>,
    /// For each redundancy descriptor, how many failure groups may be lost.
    pub tolerates: Vec<usize>,
    /// Rank 0: the event log, if events are recorded.
    pub log: Option<Log>,
}

impl Run {
    pub fn rank(&self) -> usize {
        self.comm.rank()
    }

    /// The number of this run, after which its directory in each store is named. The same on all ranks.
    pub fn id(&self) -> u64 {
        self.stores
            .iter()
            .find_map(|store| store.layout.run())
            .unwrap_or(0)
    }

    pub fn node(&self) -> &str {
        &self.speaker.node
    }

    /// The redundancy descriptor that applies to such a dataset now.
    pub fn descriptor_of(&self, dataset: &Dataset) -> Option<&SchemeDescriptor> {
        choose(&self.descriptors.schemes, dataset.ckpt, dataset.flag_output)
    }

    /// True if the next run of this job can restart from the prefix directory as it is now: that run
    /// may fetch, and does not purge. The parameters of that run are likely those of this run.
    pub fn next_run_fetches(&self) -> bool {
        self.settings.fetch && !self.settings.prefix_purge
    }

    /// The store if this rank is its leader.
    pub fn led_store(&self, store: usize) -> Option<&Store> {
        self.stores.get(store).filter(|store| store.leader)
    }

    /// The ranks whose directories in a store one rank makes, and whose files it copies: the ranks of the
    /// node in a store with levels of nodes, else all ranks that share the directory.
    pub fn together_in<'a>(&'a self, store: &'a Store) -> &'a Sharing {
        match store.layout.level() {
            Some(_) => &self.of_node,
            None => &store.sharing,
        }
    }

    /// All ranks that are [`Run::together_in`] this store, with this rank, if it acts for its group. `None` on
    /// the other ranks.
    pub fn ranks_led_in(&self, store: usize) -> Option<Vec<usize>> {
        let together = self.together_in(self.stores.get(store)?);
        (together.leader == self.rank()).then(|| together.ranks(self.comm.size()))
    }

    /// Reports one line to the user. Local.
    pub fn tell(&self, severity: Severity, text: impl Into<String>) {
        self.sink.take(&self.speaker, &Message::new(severity, text));
    }

    /// Reports one line for all ranks: rank 0 speaks. Local.
    pub fn tell_once(&self, severity: Severity, text: impl Into<String>) {
        if self.rank() == 0 {
            self.sink
                .take(&self.speaker, &Message::of_run(severity, text));
        }
    }

    /// Like [`Run::tell_once`], as a note with the time that has passed since `begun`. Local.
    pub fn tell_timed(&self, text: impl Into<String>, begun: Instant) {
        if self.rank() == 0 {
            let message = Message {
                seconds: Some(begun.elapsed().as_secs_f64()),
                ..Message::of_run(Severity::Note, text)
            };
            self.sink.take(&self.speaker, &message);
        }
    }

    /// The term that tells which rank is the first with a warning. See [`Run::warns_first`].
    pub fn has_warning(&self, local: bool) -> Term {
        first_with(local, self.rank())
    }

    /// True on the rank that is to warn, as [`Run::has_warning`] has found. Local.
    pub fn warns_first(&self, first: Agreed<i64>) -> bool {
        first.get() == self.rank() as i64
    }

    /// Warns of attributes of files that could not be kept. Only the `first` rank with such a note prints the
    /// warning. Local; all ranks call it.
    pub fn tell_unkept(&self, first: Agreed<i64>) {
        if first.get() == i64::MAX {
            return;
        }
        if self.warns_first(first) {
            let warning = self.unkept.tell();
            warning
                .into_iter()
                .for_each(|text| self.tell(Severity::Warning, text));
        }
        self.unkept.told();
    }

    /// Warns of files that could not be removed or moved, and that no restart uses. Local.
    pub fn tell_not_removed(&self, result: Result<()>) {
        if let Err(error) = result {
            let text = format!("{error}; what is left there is not used");
            self.tell(Severity::Warning, text);
        }
    }

    /// Fails on all ranks if `local` is an error on one rank. Collective; one round.
    pub fn agree<T>(&self, local: Result<T>) -> Result<T> {
        collective::agree(&*self.comm, self.node(), local)
    }

    /// Agrees on a result, and combines `terms` over all ranks. Collective; one round.
    pub fn agree_with<T, const N: usize>(
        &self,
        local: Result<T>,
        terms: [Term; N],
    ) -> Result<Agreement<T, N>> {
        collective::agree_with(&*self.comm, self.node(), local, terms)
    }

    /// True if `local` is true on any rank. Collective; one round.
    pub fn on_any(&self, local: bool) -> Result<bool> {
        let [any] = collective::combine(&*self.comm, [Term::Max(local.into())])?;
        Ok(any.on_any())
    }

    /// Runs `work` on rank 0; all ranks learn whether it failed. Collective; one round.
    pub fn on_root<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<AtRoot<T>> {
        collective::on_root(&*self.comm, self.node(), work)
    }

    /// Runs `make` on rank 0 and gives its result to all ranks. Collective; two rounds.
    pub fn share_from_root<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.share(AtRoot::new(&*self.comm, make))
    }

    /// Gives rank 0's value to all ranks. Collective; two rounds.
    pub fn share<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        made: AtRoot<Result<T>>,
    ) -> Result<T> {
        made.share(&*self.comm, self.node())
    }

    /// Runs `write` on rank 0, for a record that the run does not need: a failure is only reported.
    /// Local.
    pub fn keep_record(&self, write: impl FnOnce() -> Result<()>) {
        if self.rank() == 0
            && let Err(error) = write()
        {
            self.tell_once(Severity::Warning, record_not_written(&error));
        }
    }

    /// The access to the prefix directory for a flush, a fetch or a delete with at most `width`
    /// ranks at a time.
    pub fn prefix_access(&self, width: usize) -> PrefixAccess<'_> {
        PrefixAccess {
            comm: &*self.comm,
            files: &*self.files,
            prefix: &self.prefix,
            node: self.node(),
            first_of_node: self.of_node.leader == self.rank(),
            width,
            buffer: self.settings.file_buf_size.min(PIECE),
            metadata: self.settings.copy_metadata,
            unkept: &self.unkept,
            watch: &(),
        }
    }
}

/// The warning about a record that could not be written and that the run does not need.
pub(super) fn record_not_written(error: &Error) -> String {
    format!("a record of this run is not up to date ({STALE_RECORD}): {error}")
}

/// Local time as the index shows it: `YYYY-MM-DDTHH:MM:SS`.
pub(super) fn time_now() -> String {
    crate::job::clock::local_time(SystemTime::now())
}
