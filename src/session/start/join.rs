//! The ranks of a run come together: each learns the common facts from rank 0, and finds its own directories
//! and the ranks with which it shares a node, a store or a redundancy set.

use super::Setup;
use super::consistency;
use super::local_setup::LocalSetup;
use super::repair::Beginning;
use super::run_info::{RootSetup, RootState, receive};
use crate::Result;
use crate::cache::layout::Layout;
use crate::comm::{AtRoot, Communicator, Term, collective, is_same};
use crate::config::Config;
use crate::config::descriptors::{Descriptors, View};
use crate::events::Speaker;
use crate::job::Environment;
use crate::prefix::paths::Prefix;
use crate::redundancy::topology::{Divisions, Note, SetPlan, Topology};
use crate::session::datasets::survey::Survey;
use crate::session::ids::Ids;
use crate::session::log;
use crate::session::run::{Run, Store};
use crate::session::stores::confirm_shared;
use crate::store::{Lock, Unkept};

/// A run whose ranks have found each other.
pub(super) struct Joined {
    pub run: Run,
    /// The highest ids in the index.
    pub ids: Ids,
    pub root: AtRoot<RootState>,
    pub survey: AtRoot<Survey>,
    /// About descriptors that cannot protect as configured.
    pub notes: Vec<Note>,
    /// The environment, as far as the configuration permits it.
    pub environment: Environment,
}

impl Joined {
    /// Joins the run; `None` if SCR is disabled. Takes the lock on the prefix directory, if this process has it already.
    /// Collective.
    pub fn new(
        mut setup: Setup,
        beginning: &mut Beginning,
        config: &mut Config,
    ) -> Result<Option<Self>> {
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
            is_first: beginning.is_first(),
            alone_in: setup.comm.alone_in(),
        };
        let held = beginning.take_prefix_lock();
        let shared = share_run_info(&*setup.comm, &root_setup, held, config)?;
        let Some((root, message)) = shared else {
            return Ok(None);
        };
        let received = receive(&message, &setup.environment, config);
        setup.environment = config.permitted(setup.environment);
        let local = received
            .and_then(|info| LocalSetup::find(&*setup.files, &setup.environment, config, info));
        if let Ok(local) = &local {
            speaker.node.clone_from(&local.node);
        }
        let common = local.as_ref().map_or(&[][..], |local| &local.common);
        let terms = consistency::terms(common);
        let agreement = collective::agree_with(&*setup.comm, &speaker.node, local, terms)?;
        let (local, settings) = agreement.all_done()?;
        if !is_same(settings) {
            let LocalSetup {
                common,
                descriptors,
                ..
            } = &local;
            let (comm, node) = (&*setup.comm, &speaker.node);
            consistency::report_difference(comm, node, common, config, descriptors)?;
        }
        Self::placed(setup, speaker, local, root).map(Some)
    }

    /// The ranks know their settings, and now find the ranks with which they share a node, a store or
    /// a set. Collective.
    fn placed(
        setup: Setup,
        speaker: Speaker,
        local: LocalSetup,
        root: AtRoot<RootState>,
    ) -> Result<Self> {
        let LocalSetup {
            info,
            settings,
            descriptors,
            stores,
            ..
        } = local;
        let Setup {
            comm,
            files,
            sink,
            environment,
            ..
        } = setup;
        let (divisions, plans) = (Divisions::of(&descriptors), SetPlan::all(&descriptors));
        let topology = Topology::find(&*comm, &divisions, &plans)?;
        let stores = stores_of(&*comm, stores, &descriptors, &topology);
        let survey = AtRoot::new(&*comm, Survey::default);
        let prefix = Prefix::new(&settings.prefix);
        let files = prefix.confine(&*files, stores.iter().map(|store| store.layout.job()));
        let unkept = Unkept::default();
        let files = unkept.note(files);
        let mut ids = Ids::default();
        ids.know(info.dataset, Some(info.checkpoint));
        let mut run = Run {
            nodes: topology.of_node.groups as u64,
            of_node: topology.of_node,
            user: info.user,
            job: info.job,
            comm,
            files,
            unkept,
            sink,
            speaker,
            settings,
            descriptors,
            prefix,
            own_prefix: info.prefix,
            stores,
            sets: topology.sets,
            tolerates: topology.tolerates,
            log: None,
        };
        confirm_shared(&run, info.run)?;
        run.log = log::open(&run);
        Ok(Joined {
            run,
            ids,
            root,
            survey,
            notes: topology.notes,
            environment,
        })
    }
}

/// The stores as this rank sees them.
fn stores_of(
    comm: &dyn Communicator,
    layouts: Vec<Layout>,
    descriptors: &Descriptors,
    topology: &Topology,
) -> Vec<Store> {
    let of_store = layouts.into_iter().zip(&descriptors.stores);
    of_store
        .zip(topology.stores.iter().zip(&topology.lost_with))
        .map(|((layout, store), (sharing, lost_with))| Store {
            layout: layout.at((store.view == View::Global).then_some(topology.of_node.number)),
            // A disabled store may be broken, so nobody looks into it.
            leader: sharing.leader == comm.rank() && store.enabled,
            sharing: sharing.clone(),
            lost_with: *lost_with,
        })
        .collect()
}

/// Rank 0 finds out the facts that all ranks need, and sends them; `None` if SCR is disabled.
/// Collective; two rounds.
fn share_run_info(
    comm: &dyn Communicator,
    setup: &RootSetup,
    held: Option<Box<dyn Lock>>,
    config: &mut Config,
) -> Result<Option<(AtRoot<RootState>, Vec<u8>)>> {
    let found = collective::if_root(comm, || setup.find(held, config));
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
