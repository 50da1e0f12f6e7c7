//! The record of a rank is lost, damaged, contradicted or cannot be read now, while its files may
//! be whole. They are checked before anything is written over. If more is lost than the scheme
//! tolerates, nothing changes.

use crate::sampled::sampled;
use crate::site::{self, Site, nodes};
use scr::format::{self, Filemap};
use scr::store::Durability;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn site() -> Site {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    site
}

fn data(site: &Site, rank: usize) -> PathBuf {
    let name = format!("rank_{rank}/ck.1/rank_{rank}.dat");
    site.dataset(&format!("n{rank}"), 1).join(name)
}

fn record(site: &Site) -> PathBuf {
    site.dataset("n1", 1).join(RECORD)
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[10] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// A good record, but of another time.
fn dispute(path: &Path) {
    let mut map: Filemap = format::read(&Posix, path).unwrap();
    map.dataset.created -= 1;
    format::write(&Posix, path, &map, Durability::Atomic).unwrap();
}

/// What can become of a record.
const LOSSES: [fn(&Path); 3] = [|path| std::fs::remove_file(path).unwrap(), flip, dispute];

/// Where a record is below its dataset's directory.
const RECORD: &str = ".scr/filemap_1";

/// All files of rank 1 by their paths below the dataset's directory, with inode and content.
fn listing(site: &Site) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let root = site.dataset("n1", 1);
    let mut todo = vec![root.clone()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let inode = std::fs::metadata(&path).unwrap().ino();
                let content = std::fs::read(&path).unwrap();
                let below = path.strip_prefix(&root).unwrap().to_path_buf();
                found.insert(below, (inode, content));
            }
        }
    }
    found
}

/// Rank 1 gets files that fail.
fn faults(site: &mut Site) -> Faults {
    let faulty = Faulty::new(Posix);
    let faults = faulty.faults();
    site.by_rank = vec![None, Some(Arc::new(faulty))];
    faults
}

#[test]
fn a_rank_that_lost_only_its_record_keeps_its_files() {
    for lose in LOSSES {
        let site = site();
        let mut before = listing(&site);
        lose(&record(&site));
        site.expect_restart(&nodes(4), Some("ck.1"));
        let mut after = listing(&site);
        assert!(after.remove(Path::new(RECORD)).is_some());
        before.remove(Path::new(RECORD));
        assert!(before == after);
        assert_eq!(site.heard("rebuilt"), [""; 0]);
        site.lose("n0");
        site.expect_restart(&["spare", "n1", "n2", "n3"], Some("ck.1"));
    }
}

/// The files without a record count, so that the damage elsewhere is no loss too many.
#[test]
fn files_without_a_record_help_to_rebuild_others() {
    for lose in LOSSES {
        let site = site();
        flip(&data(&site, 2));
        lose(&record(&site));
        site.expect_restart(&nodes(4), Some("ck.1"));
        assert_eq!(site.heard("files of 1 rank rebuilt with XOR").len(), 1);
    }
}

#[test]
fn nothing_is_touched_if_more_is_lost_than_the_scheme_stands() {
    let mut site = site();
    let whole = std::fs::read(data(&site, 1)).unwrap();
    cut(&data(&site, 1));
    flip(&data(&site, 2));
    let before = listing(&site);
    let faults = faults(&mut site);
    faults.fail_reads(Some((RECORD.into(), libc::EIO)));
    site.expect_none_now(&nodes(4), "Input/output error");
    assert!(before == listing(&site));

    // What could not be read was whole.
    faults.fail_reads(None);
    std::fs::write(data(&site, 1), whole).unwrap();
    site.expect_restart(&nodes(4), Some("ck.1"));
}

/// Rank 1 has files of something else, and of one of its own a part.
fn with_leftovers(lose: fn(&Path)) -> Site {
    let site = site();
    std::fs::write(data(&site, 1).with_file_name("former"), b"former").unwrap();
    cut(&data(&site, 1));
    lose(&record(&site));
    site
}

#[test]
fn what_a_former_content_left_does_not_stay_beside_the_new_files() {
    for lose in LOSSES {
        let site = with_leftovers(lose);
        site.expect_restart(&nodes(4), Some("ck.1"));
        assert!(!data(&site, 1).with_file_name("former").exists());
        assert_eq!(site.heard("files of 1 rank rebuilt with XOR").len(), 1);
    }
}

#[test]
fn a_kill_while_files_are_replaced_leaves_no_record_of_what_is_gone() {
    let mut counted = with_leftovers(dispute);
    let counter = faults(&mut counted);
    counted.start(&nodes(4), drop);
    for n in sampled(1..=counter.operations()) {
        let mut site = with_leftovers(dispute);
        let before = listing(&site);
        faults(&mut site).die_at(n);
        site.start(&nodes(4), drop);
        let mut after = listing(&site);
        // The old one, with all it describes, or the new one, with that.
        if let Some((_, content)) = after.remove(Path::new(RECORD)) {
            let old = content == before[Path::new(RECORD)].1;
            assert!(!old || after.iter().all(|(path, file)| before[path] == *file));
            assert!(
                old || std::fs::read(data(&site, 1)).unwrap() == site::content("ck.1", 1, 1007)
            );
        }
        site.by_rank.clear();
        site.expect_restart(&nodes(4), Some("ck.1"));
        assert!(!data(&site, 1).with_file_name("former").exists(), "{n}");
    }
}
