//! The records that a recovery takes for those of its dataset.

use super::*;
use crate::cache::dataset::make_empty_directories_of;
use crate::comm::solo::Solo;
use crate::format::{Dataset, RankFiles, Reddesc, Scheme};
use crate::store::Durability;
use crate::store::posix::Posix;

fn filemap(rank: usize) -> Filemap {
    let members = vec![0, 1];
    Filemap {
        rank,
        ranks: 2,
        node: "n".into(),
        prefix: None,
        prefix_id: None,
        bypass: false,
        contained: None,
        dataset: Dataset {
            id: 1,
            created: 7,
            ..Dataset::default()
        },
        reddesc: Reddesc {
            scheme: Scheme::Xor.into(),
            group: "NODE".into(),
            set_id: 0,
            set_rank: rank,
            set_size: members.len(),
            members,
            set_failures: 1,
            interval: 1,
            store: "/dev/shm".into(),
        },
        files: RankFiles {
            rank,
            files: Vec::new(),
        },
    }
}

#[test]
fn the_record_of_another_rank_dataset_or_set_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path(), "user1", "1001").of_run(1);
    make_empty_directories_of(&Posix, &layout, 1, 0).unwrap();
    let order = RecoveryOrder {
        reddesc: filemap(0).reddesc,
        source: Some(0),
        level: None,
        sends: Vec::new(),
        holders: Vec::new(),
    };
    let read = |change: &dyn Fn(&mut Filemap)| {
        let mut map = filemap(0);
        change(&mut map);
        // The record is written at the path of rank 0.
        format::write(&Posix, &layout.filemap(1, 0), &map, Durability::Atomic).unwrap();
        let comm = Solo::new();
        let access = CacheAccess {
            dataset: &filemap(0).dataset,
            comm: &comm,
            files: &Posix,
            layout: &layout,
            node: "n",
            prefix: &OwnPrefix::default(),
            piece: 1,
            watch: &(),
        };
        let recovery = Recovery {
            access: &access,
            order: &order,
            damage: Vec::new(),
            verified: Vec::new(),
        };
        recovery.read_record(&layout, 0)
    };
    assert_eq!(read(&|_| {}).unwrap().rank, 0);
    let others: [&dyn Fn(&mut Filemap); 3] = [
        &|map| map.rank = 1,
        &|map| map.dataset.created = 8,
        &|map| map.reddesc.members = vec![0, 2],
    ];
    for other in others {
        let error = read(other).unwrap_err().to_string();
        assert!(error.contains("another dataset or rank"), "{error}");
    }
}
