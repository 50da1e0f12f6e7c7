//! How the ranks of a run come together: each learns from rank 0 what is common, finds its own directories, and
//! gets its redundancy sets.

use super::Setup;
use super::exchange::exchange;
use super::local_setup::LocalSetup;
use super::run_info::{RootSetup, RootState, receive};
use crate::Result;
use crate::cache::layout::Layout;
use crate::comm::{AtRoot, Communicator, Term, collective};
use crate::config::Config;
use crate::config::descriptors::{Descriptors, View};
use crate::events::Speaker;
use crate::job::Environment;
use crate::prefix::paths::Prefix;
use crate::redundancy::topology::{Note, RankAssignment};
use crate::session::datasets::survey::Survey;
use crate::session::ids::Ids;
use crate::session::log;
use crate::session::output::stores::confirm_shared;
use crate::session::run::{Run, Store};

/// A run whose ranks have found each other.
pub(super) struct Joined {
    pub run: Run,
    /// The highest ids in the index.
    pub ids: Ids,
    pub root: AtRoot<RootState>,
    pub survey: AtRoot<Survey>,
    /// Rank 0: about descriptors that cannot protect as configured.
    pub notes: Vec<Note>,
    /// What the configuration permits of it.
    pub environment: Environment,
}

impl Joined {
    /// Joins the run; `None` if SCR is disabled. Collective.
    pub fn new(mut setup: Setup, config: &mut Config) -> Result<Option<Self>> {
        let mut speaker = Speaker {
            rank: setup.comm.rank(),
            node: setup.environment.host.clone(),
        };
        let root_setup = RootSetup {
            files: &*setup.files,
            sink: &*setup.sink,
            speaker: &speaker,
            environment: &setup.environment,
            lock_timeout: setup.lock_timeout,
        };
        let Some((root, message)) = share_run_info(&*setup.comm, &root_setup, config)? else {
            return Ok(None);
        };
        let received = receive(&message, &setup.environment, config);
        setup.environment = config.permitted(setup.environment);
        let local = received
            .and_then(|info| LocalSetup::find(&*setup.files, &setup.environment, config, info));
        if let Ok(local) = &local {
            speaker.node.clone_from(&local.node);
        }
        let local = collective::agree(&*setup.comm, &speaker.node, local)?;
        Self::assigned(setup, speaker, local, config, root).map(Some)
    }

    /// The ranks know their settings: rank 0 makes the sets, and finds out which ranks share a store.
    /// Collective.
    fn assigned(
        setup: Setup,
        speaker: Speaker,
        local: LocalSetup,
        config: &Config,
        root: AtRoot<RootState>,
    ) -> Result<Self> {
        let LocalSetup {
            info,
            settings,
            descriptors,
            stores,
            common,
            ..
        } = local;
        let Setup {
            comm,
            files,
            sink,
            environment,
            ..
        } = setup;
        let (assignment, sets, survey) =
            exchange(&*comm, &speaker.node, config, &descriptors, &common)?;
        let stores = stores_of(&*comm, stores, &descriptors, &assignment);
        let prefix = Prefix::new(&settings.prefix);
        let files = prefix.confine(&*files, stores.iter().map(|store| store.layout.job()));
        let mut ids = Ids::default();
        ids.know(info.dataset, Some(info.checkpoint));
        let mut run = Run {
            nodes: assignment.nodes,
            of_node: assignment.of_node,
            user: info.user,
            job: info.job,
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
            log: None,
        };
        confirm_shared(&run, info.run)?;
        run.log = log::open(&run);
        Ok(Joined {
            run,
            ids,
            root,
            survey,
            notes: assignment.notes,
            environment,
        })
    }
}

/// The stores as this rank sees them.
fn stores_of(
    comm: &dyn Communicator,
    layouts: Vec<Layout>,
    descriptors: &Descriptors,
    assignment: &RankAssignment,
) -> Vec<Store> {
    let of_store = layouts.into_iter().zip(&descriptors.stores);
    of_store
        .zip(&assignment.stores)
        .map(|((layout, store), sharing)| Store {
            layout: layout.at((store.view == View::Global).then_some(assignment.node)),
            // A disabled store may be out of order: nobody looks into it.
            leader: sharing.leader == comm.rank() && store.enabled,
            sharing: sharing.clone(),
        })
        .collect()
}

/// Rank 0 finds out what is common to all ranks, and sends it to them; `None` if SCR is disabled.
/// Collective; two rounds.
fn share_run_info(
    comm: &dyn Communicator,
    setup: &RootSetup,
    config: &mut Config,
) -> Result<Option<(AtRoot<RootState>, Vec<u8>)>> {
    let found = collective::if_root(comm, || setup.find(config));
    let enabled = found
        .as_ref()
        .is_ok_and(|found| !matches!(found.get(), Some(None)));
    let terms = [Term::Min(enabled.into())];
    let agreement = collective::agree_with(comm, &setup.speaker.node, found, terms)?;
    let (found, [enabled]) = agreement.all_done()?;
    if !enabled.on_any() {
        return Ok(None);
    }
    let mut message = Vec::new();
    let root = found.flatten().map(|(root, made)| {
        message = made;
        root
    });
    collective::bcast(comm, 0, &mut message)?;
    Ok(Some((root, message)))
}
