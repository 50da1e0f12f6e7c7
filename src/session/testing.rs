//! A run of one rank in a temporary directory, for the unit tests of the parts of a session.

use crate::cache::layout::Layout;
use crate::cache::plan::{CachedRecord, Inventory, Slot};
use crate::comm::solo::Solo;
use crate::config::describe::descriptors;
use crate::config::{Config, Settings};
use crate::events::{Memory, Speaker};
use crate::faulty::Faulty;
use crate::format::Scheme;
use crate::format::filemap::Filemap;
use crate::format::{Dataset, RankFiles, Reddesc};
use crate::job::Environment;
use crate::prefix::paths::Prefix;
use crate::prefix::records;
use crate::redundancy::Set;
use crate::redundancy::topology::Sharing;
use crate::session::datasets::cached::{CachedDataset, OwnPart};
use crate::session::run::{Run, Store};
use crate::store::Unkept;
use crate::store::posix::Posix;
use std::sync::Arc;

/// A run whose prefix directory and cache are below `dir`. Also gives the messages of the run.
pub(super) fn run_in(dir: &tempfile::TempDir, more: &[(&str, &str)]) -> (Run, Arc<Memory>) {
    let prefix = dir.path().join("prefix");
    let (cache, control) = (dir.path().join("cache"), dir.path().join("control"));
    let path = |path: &std::path::Path| path.display().to_string();
    let given = [
        ("SCR_PREFIX", path(&prefix)),
        ("SCR_CACHE_BASE", path(&cache)),
        ("SCR_CNTL_BASE", path(&control)),
        ("SCR_CACHE_BYPASS", "0".to_string()),
    ];
    let more = more
        .iter()
        .map(|(name, value)| (*name, (*value).to_string()));
    let given: Vec<(&str, String)> = given.into_iter().chain(more).collect();
    let environment: Environment = given.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let mut config = Config::new();
    config.load(environment, dir.path(), &|_| Ok(None)).unwrap();
    let settings = Settings::from(&config).unwrap();
    let descriptors = descriptors(&config, &settings, "n0").unwrap();
    let prefix = Prefix::new(&prefix);
    std::fs::create_dir_all(prefix.meta()).unwrap();
    let store = |store: &crate::config::descriptors::StoreDescriptor| {
        let layout = Layout::new(&store.dir, "user", "job").of_run(1);
        std::fs::create_dir_all(layout.root()).unwrap();
        Store {
            layout,
            leader: true,
            sharing: Sharing::default(),
            lost_with: 0,
        }
    };
    let messages = Arc::new(Memory::default());
    let run = Run {
        comm: Box::new(Solo::new()),
        files: Arc::new(Faulty::new(Posix)),
        unkept: Unkept::default(),
        sink: messages.clone(),
        speaker: Speaker {
            rank: 0,
            node: "n0".to_string(),
        },
        prefix,
        own_prefix: crate::format::identity::OwnPrefix::default(),
        user: "user".into(),
        job: "job".into(),
        nodes: 1,
        of_node: Sharing {
            all: true,
            groups: 1,
            ..Sharing::default()
        },
        stores: descriptors.stores.iter().map(store).collect(),
        sets: descriptors
            .schemes
            .iter()
            .filter_map(|_| Set::new(0, vec![0]))
            .collect(),
        tolerates: vec![0; descriptors.schemes.len()],
        log: None,
        settings,
        descriptors,
    };
    (run, messages)
}

/// Checkpoint `id`, created at time `id`.
pub(super) fn checkpoint(id: u64) -> Dataset {
    Dataset {
        id,
        name: format!("ck.{id}").as_str().into(),
        created: id,
        ckpt: Some(id),
        flag_ckpt: true,
        ..Dataset::default()
    }
}

/// A checkpoint of this run in the first store.
pub(super) fn cached(id: u64) -> CachedDataset {
    CachedDataset {
        dataset: checkpoint(id),
        ..CachedDataset::default()
    }
}

/// A checkpoint of this run with this rank's record, which has no files.
pub(super) fn recovered(id: u64) -> CachedDataset {
    let filemap = Filemap {
        rank: 0,
        ranks: 1,
        node: "n0".into(),
        prefix: None,
        prefix_id: None,
        bypass: false,
        contained: None,
        dataset: checkpoint(id),
        reddesc: single(0),
        files: RankFiles::default(),
    };
    let own = OwnPart {
        filemap,
        level: None,
        bytes: None,
    };
    CachedDataset {
        own: Some(own),
        ..cached(id)
    }
}

fn single(rank: usize) -> Reddesc {
    Reddesc {
        scheme: Scheme::Single.into(),
        group: "NODE".into(),
        set_id: rank,
        set_rank: 0,
        members: vec![rank],
        set_size: 1,
        set_failures: 0,
        interval: 1,
        store: "/dev/shm".into(),
    }
}

/// The inventory of a leader with a checkpoint that `ranks` ranks wrote with SINGLE: all their
/// records.
pub(super) fn found(id: u64, ranks: usize) -> Inventory {
    let record = |rank| CachedRecord {
        store: 0,
        level: None,
        rank,
        ranks,
        dataset: checkpoint(id),
        reddesc: single(rank),
        other_prefix: None,
    };
    Inventory {
        records: (0..ranks).map(record).collect(),
        present: vec![Slot { store: 0, id }],
        ..Inventory::default()
    }
}

/// Several inventories, joined as that of one leader.
pub(super) fn joined(inventories: Vec<Inventory>) -> Inventory {
    let mut all = Inventory::default();
    for one in inventories {
        all.records.extend(one.records);
        all.present.extend(one.present);
        all.unread.extend(one.unread);
    }
    all
}

/// The ids in the flush file.
pub(super) fn ids_in_flush_file(run: &Run) -> Vec<u64> {
    let record = records::read_flush_file(&*run.files, &run.prefix).unwrap();
    record.datasets.into_keys().collect()
}
