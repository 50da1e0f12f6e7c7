//! `SCR_Session_repair`: a run goes on after ranks were lost. Surviving processes keep their locks and their
//! caches. Other processes take the places of lost ones, or the run has fewer ranks from then on.
//!
//! First the ranks find out which of them have survived. Then they start a run as `SCR_Init` does, with the settings of
//! a survivor, and without what only the first start of a session may do (`SCR_CACHE_PURGE`, `SCR_PREFIX_PURGE`,
//! `SCR_HALT_SECONDS`). The new run has a number of its own. So threads of the broken run, and processes of it that
//! still live, do not find the paths that they know.

use crate::comm::{Communicator, Term, collective};
use crate::config::Config;
use crate::job::Environment;
use crate::session::Session;
use crate::session::ids::Ids;
use crate::session::locks::Locks;
use crate::session::statistics::Statistics;
use crate::store::Lock;
use crate::text::counted;
use crate::{Error, Result};

/// The name of the call in errors.
const CALL: &str = "SCR_Session_repair";

/// The share of a process in a session that is to be repaired.
#[derive(Default)]
pub struct Member(Option<Box<Kept>>);

/// The parts that a survivor keeps of the run that was broken.
pub(in crate::session) struct Kept {
    /// See [`identity_of`].
    pub identity: u64,
    pub locks: Locks,
    pub ids: Ids,
    pub statistics: Statistics,
    /// The program can read checkpoints of another number of ranks.
    pub allows_other_ranks: bool,
}

/// The way in which a run begins. All ranks have the same value, except for the state that each
/// keeps.
#[derive(Default)]
pub(in crate::session) enum Beginning {
    /// This is the first run of a session.
    #[default]
    First,
    /// The session goes on after ranks were lost.
    Repair {
        agreed: Repair,
        /// This process's state of the run before; `None` for a new process.
        kept: Option<Box<Kept>>,
    },
}

impl Beginning {
    /// The agreement of the ranks of a repair.
    pub fn repair(&self) -> Option<&Repair> {
        match self {
            Beginning::First => None,
            Beginning::Repair { agreed, .. } => Some(agreed),
        }
    }

    /// True for the first run of a session.
    pub fn is_first(&self) -> bool {
        self.repair().is_none()
    }

    /// The lock on the prefix directory, if this process has it already.
    pub fn take_prefix_lock(&mut self) -> Option<Box<dyn Lock>> {
        match self {
            Beginning::Repair { kept, .. } => kept.as_mut()?.locks.take_prefix(),
            Beginning::First => None,
        }
    }

    /// This process's state of the run before, for the run that begins.
    pub fn take_kept(&mut self) -> Option<Box<Kept>> {
        match self {
            Beginning::Repair { kept, .. } => kept.take(),
            Beginning::First => None,
        }
    }

    /// The run cannot begin. In a repair, keeps the parts that a later repair needs.
    pub fn keep(&mut self, session: Session) {
        if let Beginning::Repair { kept, .. } = self {
            *kept = Some(Box::new(Kept::of(session)));
        }
    }
}

impl Member {
    /// A process that takes the place of a lost one, or that is new. Local.
    pub fn new() -> Self {
        Member(None)
    }

    /// A survivor of a run that cannot go on. Waits for its threads. Local.
    pub(in crate::session) fn of(session: Session) -> Self {
        Member(Some(Box::new(Kept::of(session))))
    }

    /// True if this process was part of the run. Local.
    pub fn has_survived(&self) -> bool {
        self.0.is_some()
    }

    /// Decides how the repaired run begins, when the ranks have agreed.
    pub(super) fn begin(&mut self, agreed: Repair) -> Beginning {
        let kept = self.0.take();
        Beginning::Repair { agreed, kept }
    }

    /// Gives the process back the state that the run that begins has not taken.
    pub(super) fn put_back(&mut self, mut beginning: Beginning) {
        self.0 = beginning.take_kept();
    }
}

impl Kept {
    /// The state of a process that had no run.
    pub fn of_new(identity: u64) -> Self {
        Kept {
            identity,
            locks: Locks::default(),
            ids: Ids::default(),
            statistics: Statistics::new(),
            allows_other_ranks: false,
        }
    }

    /// The state of a process whose run cannot go on. Waits for its threads. Local.
    pub fn of(mut session: Session) -> Self {
        let locks = std::mem::take(&mut session.locks);
        let statistics = std::mem::replace(&mut session.statistics, Statistics::new());
        let (identity, ids) = (session.identity, session.ids);
        let allows_other_ranks = session.other_ranks.allowed;
        // The session is dropped before the result is made: if the drop panics, the locks must end.
        drop(session);
        Kept {
            identity,
            locks,
            ids,
            statistics,
            allows_other_ranks,
        }
    }
}

/// A number that names a session: the same in all its runs, and different in each session. The identity is made
/// from the number of its first run.
pub(super) fn identity_of(run: u64) -> u64 {
    // No session gets the number that means "none" in a reduction.
    run >> 2
}

/// The agreement of the ranks of a repair. The same on all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) struct Repair {
    pub identity: u64,
    /// Number of ranks that have survived.
    pub survivors: usize,
    /// The highest ids that any survivor has used.
    pub ids: Ids,
    pub allows_other_ranks: bool,
}

impl Repair {
    /// Tells the log how many ranks of `size` are survivors and how many are new.
    pub fn words(&self, size: usize) -> String {
        let survivors = counted(self.survivors, "rank");
        let new = size.saturating_sub(self.survivors);
        format!("repaired: {survivors} of the run before, {new} new")
    }
}

/// Finds out which ranks have survived, and gives all ranks the settings of the lowest survivor; `None` if all
/// are new. Collective over the ranks of the repaired run, survivors and new ones.
///
/// # Errors
/// The ranks belong to several sessions.
pub(super) fn meet(
    comm: &dyn Communicator,
    environment: &Environment,
    member: &Member,
    config: &mut Config,
) -> Result<Option<Repair>> {
    let kept = member.0.as_deref();
    let has_survived = kept.is_some();
    let identity = kept.map(|kept| kept.identity as i64);
    let survivor = has_survived.then_some(comm.rank() as i64);
    let ids = kept.map_or_else(Ids::default, |kept| kept.ids);
    let (dataset, checkpoint) = ids.highest();
    let allows = kept.is_some_and(|kept| kept.allows_other_ranks);
    let terms = [
        Term::Sum(has_survived.into()),
        Term::Min(survivor.unwrap_or(i64::MAX)),
        Term::Min(identity.unwrap_or(i64::MAX)),
        Term::Max(identity.unwrap_or(i64::MIN)),
        Term::Max(dataset as i64),
        Term::Max(checkpoint as i64),
        Term::Max(allows.into()),
    ];
    let [survivors, lowest, least, most, dataset, checkpoint, allows] =
        collective::combine(comm, terms)?;
    if !survivors.on_any() {
        return Ok(None);
    }
    if least != most {
        let what = "the ranks of the communicator are of several sessions; repair each on a communicator of its own";
        return Err(Error::usage(CALL, what));
    }
    let lowest = usize::try_from(lowest.get()).unwrap_or(0);
    let is_lowest = comm.rank() == lowest;
    let settings = if is_lowest {
        config.to_message()
    } else {
        Ok(Vec::new())
    };
    let mut settings = collective::agree(comm, &environment.host, settings)?;
    collective::bcast(comm, lowest, &mut settings)?;
    let taken = if is_lowest {
        Ok(())
    } else {
        config.take_over(&settings, environment.clone())
    };
    collective::agree(comm, &environment.host, taken)?;
    let mut ids = Ids::default();
    ids.know(dataset.count(), Some(checkpoint.count()));
    Ok(Some(Repair {
        identity: least.get() as u64,
        survivors: survivors.count() as usize,
        ids,
        allows_other_ranks: allows.on_any(),
    }))
}
