//! Restarts with full caches and a full prefix directory, and restarts with a temporary read error.
//! Neither costs a checkpoint.

use crate::site::{Rank, Site, content, nodes, of_run};
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The site's files with faults, from now on.
fn with_faults(site: &mut Site) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files);
    faults
}

/// Checkpoints ck.1 and ck.2 of four ranks, then nothing that takes anything.
fn written_then_full(site: Site) -> Site {
    let mut site = site;
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    with_faults(&mut site).fill_up(true);
    site
}

/// A cache of two datasets.
fn cached(flush: &str) -> Site {
    Site::new()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", flush)
}

#[test]
fn the_newest_checkpoint_in_full_caches_is_offered() {
    for flush in ["0", "1"] {
        for scheme in ["SINGLE", "XOR", "PARTNER", "RS"] {
            let site = cached(flush).set("SCR_COPY_TYPE", scheme);
            let site = written_then_full(site);
            site.expect_restart(&nodes(4), Some("ck.2"));
            // Nor is it in the way of the one after.
            site.expect_restart(&nodes(4), Some("ck.2"));
        }
    }
}

#[test]
fn what_a_user_sets_for_the_restart_needs_no_room() {
    let site = written_then_full(cached("0"));
    let site = site.set("SCR_HALT_SECONDS", "100").set("SCR_END_TIME", "1");
    site.expect_restart(&nodes(4), Some("ck.2"));
    assert_eq!(site.heard("SCR_HALT_SECONDS does not count: ").len(), 1);
    let site = site.set("SCR_DEBUG", "2").set("SCR_CLUSTER_NAME", "c");
    site.expect_restart(&nodes(4), Some("ck.2"));
    // From the prefix directory, the one that the user wants.
    let site = written_then_full(Site::new().set("SCR_CACHE_BYPASS", "1"));
    let site = site.set("SCR_CURRENT", "ck.1");
    site.expect_restart(&nodes(4), Some("ck.1"));
}

#[test]
fn a_full_prefix_directory_is_read_in_bypass() {
    let site = written_then_full(Site::new().set("SCR_CACHE_BYPASS", "1"));
    site.expect_restart(&nodes(4), Some("ck.2"));
    // Nor need there be room for a directory in a store that nothing goes to.
    nodes(4).iter().for_each(|node| site.lose(node));
    site.expect_restart(&nodes(4), Some("ck.2"));
    // One that is bad is passed over, though it cannot be marked as such.
    std::fs::write(site.prefix().join("ck.2/rank_1.dat"), "short").unwrap();
    site.expect_restart(&nodes(4), Some("ck.1"));
}

#[test]
fn what_cannot_be_fetched_into_full_caches_is_read_in_place() {
    let site = written_then_full(cached("1"));
    nodes(4).iter().for_each(|node| site.lose(node));
    site.expect_restart(&nodes(4), Some("ck.2"));
}

#[test]
fn a_full_store_that_nodes_share_is_read() {
    for children in ["GROUP=WORLD", "VIEW=GLOBAL"] {
        let site = cached("0").set("SCR_COPY_TYPE", "FILE");
        let dir = site.outside().display().to_string();
        site.configure(&format!(
            "STORE={dir} {children} COUNT=2\nCKPT=0 STORE={dir} TYPE=SINGLE"
        ));
        let site = written_then_full(site);
        site.expect_restart(&nodes(4), Some("ck.2"));
        // On other nodes: the records would name them, and need not.
        site.expect_restart(&["a", "b", "c", "d"], Some("ck.2"));
        assert!(of_run(&site.outside().join("user1/scr.1001")).exists());
    }
}

/// All files below a directory, with their inodes.
fn inodes(dir: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let (path, meta) = entry.map(|e| (e.path(), e.metadata().unwrap())).unwrap();
            if meta.is_dir() {
                todo.push(path)
            } else {
                let below = path.strip_prefix(dir).unwrap().to_path_buf();
                found.insert(below, meta.ino());
            }
        }
    }
    found
}

#[test]
fn nothing_is_written_again_that_has_not_changed() {
    let site = cached("1");
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    site.expect_restart(&nodes(4), Some("ck.2"));
    let state = || {
        let mut all = vec![inodes(&site.prefix())];
        // It says again what is in the prefix directory, too, once that has been found out.
        all[0].remove(Path::new(".scr/flush.scr"));
        all.extend(nodes(4).iter().map(|node| inodes(&site.cache(node))));
        all
    };
    let before = state();
    site.expect_restart(&nodes(4), Some("ck.2"));
    assert_eq!(state(), before);
}

#[test]
fn a_record_that_cannot_be_read_for_a_moment_costs_no_checkpoint() {
    for errno in [libc::EIO, libc::EAGAIN, libc::ENOTCONN] {
        let site = cached("0").set("SCR_COPY_TYPE", "SINGLE");
        let mut site = site;
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        let faults = with_faults(&mut site);
        faults.fail_next_reads("scr.dataset.2/.scr/filemap_1".into(), errno, 2);
        site.expect_restart(&nodes(2), Some("ck.2"));
        assert_eq!(faults.reads_to_fail(), 0);
        assert_eq!(site.heard("Warning"), [""; 0]);
    }
}

/// One attempt in which the program tells SCR of its own failure.
fn attempt(rank: &mut Rank, name: &str) -> scr::Result<()> {
    rank.session.start_output(Some(name.into()), true, false)?;
    let path = rank
        .session
        .route(Path::new(&format!("{name}/rank_{}.dat", rank.rank)));
    let content = content(name, rank.rank, 1000 + 7 * rank.rank);
    let written = path.is_ok_and(|path| std::fs::write(path, content).is_ok());
    rank.session.complete_output(written)
}

#[test]
fn a_disk_that_stays_full_keeps_the_checkpoint_before_and_the_job() {
    for room in [0, 1, 300, 1000, 1500, 2000] {
        // Without the look beforehand, which would refuse.
        let mut site = cached("0").set("SCR_CACHE_CHECK", "0");
        let files = Faulty::new(Posix);
        let faults = files.faults();
        site.by_rank = vec![None, Some(Arc::new(files))];
        let results = site.run(&nodes(4), |rank| {
            rank.checkpoint("ck.1").unwrap();
            if rank.rank == 1 {
                faults.limit_space(Some(room));
            }
            let full = attempt(rank, "ck.2").map_err(|e| e.to_string());
            rank.session.should_exit().unwrap();
            if rank.rank == 1 {
                faults.limit_space(None);
            }
            rank.session.should_exit().unwrap();
            // The next one finds room again.
            attempt(rank, "ck.3").unwrap();
            full
        });
        let error = results[0].clone().unwrap_err();
        assert!(results.iter().all(|r| *r == results[0]), "{results:?}");
        assert!(error.contains("rank 1"), "{error}");
        assert!(error.contains("/nodes/n1/"), "{error}");
        assert!(error.contains("No space left"), "{error}");
        site.by_rank.clear();
        site.expect_restart(&nodes(4), Some("ck.3"));
        for node in nodes(4) {
            std::fs::remove_dir_all(site.dataset(node, 3)).unwrap();
        }
        site.expect_restart(&nodes(4), Some("ck.1"));
    }
}
