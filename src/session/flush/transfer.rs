//! The messages between the library and transfer daemons: entries of parts, the permit of a flush, the end
//! of transfers of earlier runs.

use crate::Result;
use crate::daemon::client::{self, Entry};
use crate::daemon::control::Control;
use crate::events::Severity;
use crate::format::transfer::{PartId, TransferPart};
use crate::format::{Dataset, Name};
use crate::messages::EARLIER_DAEMON;
use crate::prefix::containers::ContainerPlace;
use crate::prefix::permit;
use crate::session::run::{Run, Store};
use crate::system::process::host;
use crate::system::time::sleep;
use crate::transfer::pace::Limits;
use std::time::Duration;

/// The findings of the ranks about the part of this rank's leader, or about all parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartShape {
    /// See [`PartPlace::split`](crate::prefix::part::PartPlace::split). The same on all ranks.
    pub split: bool,
    /// Leaders: where their part goes in containers.
    pub containers: Option<ContainerPlace>,
}

/// The identity of this run in permits and entries.
pub(super) fn permit_run(run: &Run) -> Name {
    let number = run.stores.first().and_then(|store| store.layout.run());
    Name::from(format!("{:016x}", number.unwrap_or(0)))
}

/// The control directory of this rank's node.
fn control(run: &Run) -> Option<Control> {
    let store = run.stores.get(run.descriptors.control)?;
    let control = Control::new(&*run.files, store.layout.job());
    Some(control.with_patience(Duration::from_secs(run.settings.flush_daemon_timeout)))
}

/// A leader's part of a flush: the files of the ranks that share its store.
pub(super) fn entry_of_part(
    run: &Run,
    store: &Store,
    dataset: &Dataset,
    shape: PartShape,
) -> Entry {
    let together = run.together_in(store);
    let ranks = together.ranks(run.comm.size());
    let settings = &run.settings;
    let patience = Duration::from_secs(settings.flush_daemon_timeout);
    let part = TransferPart {
        dataset: dataset.clone(),
        prefix: Name::from(run.prefix.root()),
        base: Name::from(store.layout.base()),
        run: permit_run(run),
        level: store.layout.level().map(|level| level as u64),
        host: host().into(),
        rank: ranks.iter().map(|rank| *rank as u64).collect(),
        parts: together.groups as u64,
        ranks: run.comm.size() as u64,
        split: shape.split,
        container_size: shape.containers.map(|place| place.size),
        begin: shape.containers.map(|place| place.begin),
        metadata: settings.copy_metadata,
        checksums: settings.crc_on_flush,
        buffer: settings.file_buf_size as u64,
        cores: settings
            .flush_async_cores
            .iter()
            .map(|core| *core as u64)
            .collect(),
        ..TransferPart::default()
    };
    Entry {
        control: Control::new(
            &*run.files,
            run.stores[run.descriptors.control].layout.job(),
        )
        .with_patience(patience),
        at: PartId {
            dataset: dataset.id,
            part: together.number as u64,
        },
        part,
        limits: Limits {
            bandwidth: settings.flush_async_bw,
            percent: settings.flush_async_percent,
        },
        patience,
    }
}

/// Rank 0: permits ranks, threads and daemons to copy a dataset that was announced. Local.
pub(super) fn grant(run: &Run, dataset: &Dataset) -> Result<()> {
    permit::grant(&*run.files, &run.prefix, dataset.id, &permit_run(run))
}

/// Ends the transfers of earlier runs, before their caches are taken over: on each node, and by
/// rank 0 for daemons on nodes that this run does not use. Local.
///
/// # Errors
/// The files of a daemon cannot be read or removed.
pub(in crate::session) fn end_earlier_transfers(run: &Run) -> Result<()> {
    let leads = run.stores.get(run.descriptors.control);
    if leads.is_some_and(|store| store.sharing.leader == run.rank())
        && let Some(control) = control(run)
    {
        let patience = Duration::from_secs(run.settings.flush_daemon_timeout);
        if let Some(why) = client::end_earlier(&control, patience)? {
            let text = format!("{why}; end it (kill -9) ({EARLIER_DAEMON})");
            run.tell(Severity::Warning, text);
        }
    }
    if run.rank() == 0 {
        match permit::revoke_all(&*run.files, &run.prefix) {
            Ok(false) => {}
            Ok(true) => sleep(permit::GRACE),
            Err(error) => run.tell(
                Severity::Warning,
                format!("processes of an earlier run may go on to copy: {error}"),
            ),
        }
    }
    Ok(())
}
