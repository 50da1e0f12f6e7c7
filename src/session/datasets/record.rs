//! Records of datasets in the cache, with their redundancy and checksums.

use crate::cache::dataset;
use crate::cache::layout::Layout;
use crate::comm::Tag;
use crate::config::descriptors::SchemeDescriptor;
use crate::format::filemap::Filemap;
use crate::format::{Dataset, Name, RankFiles, Reddesc, Scheme};
use crate::redundancy::{self, Context, Encoded, RankRecord, RedundancyScheme};
use crate::session::calls::CallSigns;
use crate::session::datasets::location::Location;
use crate::session::run::Run;
use crate::store::Files;
use crate::{Error, Result};
use std::path::Path;

/// Tag of the messages of a redundancy set while it encodes.
const ENCODE: Tag = 0x40;

/// The place to which a dataset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Target {
    /// Index of the redundancy descriptor.
    pub scheme: usize,
    pub location: Location,
}

impl Target {
    /// The place to which datasets of a redundancy descriptor are written.
    pub fn of(descriptor: &SchemeDescriptor) -> Self {
        Target {
            scheme: descriptor.index,
            location: Location::of(descriptor),
        }
    }
}

/// This rank's record of a dataset. Local.
pub(in crate::session) fn filemap(
    run: &Run,
    dataset: &Dataset,
    Target { scheme, location }: Target,
    files: RankFiles,
) -> Filemap {
    let descriptor = &run.descriptors.schemes[scheme];
    let set = &run.sets[scheme];
    let scheme = match set.size() {
        0 | 1 => Scheme::Single,
        _ => descriptor.scheme,
    };
    // A small set may tolerate fewer losses than the descriptor asks for.
    let protection = RedundancyScheme::new(scheme, descriptor.set_failures as usize);
    let set_failures = protection.losses(set.size());
    let store = &run.descriptors.stores[descriptor.store];
    Filemap {
        rank: run.rank(),
        ranks: run.comm.size(),
        node: run.node().into(),
        prefix: Some(run.own_prefix.path.clone()),
        prefix_id: run.own_prefix.tag.clone(),
        bypass: location.is_bypass(),
        contained: None,
        dataset: dataset.clone(),
        reddesc: Reddesc {
            scheme: scheme.into(),
            group: descriptor.group.as_str().into(),
            set_id: set.id,
            set_rank: set.index,
            members: set.members.to_vec(),
            set_size: descriptor.set_size as usize,
            set_failures,
            interval: descriptor.interval,
            store: Name::from(store.dir.as_path()),
        },
        files,
    }
}

/// Makes the redundancy data and checksums of this rank's files, which lie by `layout` in a store. Its record is written
/// once the checksums are known, so that the next run can protect the files if this one is killed before that is done.
/// All ranks have their files. The redundancy goes through `files`. Collective over the redundancy set; the result is local.
pub(in crate::session) fn protect(
    run: &Run,
    files: &dyn Files,
    store: usize,
    layout: &Layout,
    filemap: &mut Filemap,
) -> Result<Encoded> {
    let id = filemap.dataset.id;
    let (data_dir, meta_dir) = (layout.data(id, run.rank()), layout.meta(id));
    let reddesc = &filemap.reddesc;
    let missing = || Error::format(0, format!("no scheme {}", reddesc.scheme));
    let scheme = redundancy::scheme_of(reddesc).ok_or_else(missing)?;
    let set = redundancy::Set::new(reddesc.set_rank, reddesc.members.clone())
        .ok_or_else(|| Error::format(0, "no redundancy set"))?;
    let context = Context {
        comm: &*run.comm,
        files,
        set: &set,
        data_dir: &data_dir,
        common: layout.is_common(),
        meta_dir: &meta_dir,
        piece: run.settings.mpi_buf_size,
        tag: ENCODE,
        holders: &[],
        sync: true,
        watch: &CallSigns::new(run),
    };
    let mut record = RankRecord {
        dataset: filemap.dataset.clone(),
        reddesc: filemap.reddesc.clone(),
        files: filemap.files.clone(),
    };
    // When a node is lost, data that it has not yet written to a store of several nodes are lost
    // with it.
    let synced = if run.descriptors.stores[store].outlives_nodes() {
        sync_files(&*run.files, &data_dir, &record.files)
    } else {
        Ok(())
    };
    let mut write = |files: &RankFiles| {
        synced.clone()?;
        filemap.files = files.clone();
        dataset::write_record(&*run.files, layout, filemap)
    };
    scheme.encode(&context, &mut record, &mut write)
}

/// Brings a rank's files below `dir` to stable storage. Local.
fn sync_files(files: &dyn Files, dir: &Path, list: &RankFiles) -> Result<()> {
    let mut all = list.files.iter();
    all.try_for_each(|file| files.open(&file.file.below(dir)?)?.sync())
}
