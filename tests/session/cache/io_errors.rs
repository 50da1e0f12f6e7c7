//! A temporary I/O error does not cost a checkpoint, and no run starts from the beginning without a
//! message because of it. A dataset that may have lost data is not called complete.

use crate::site::{Site, nodes};
use scr::format::Name;
use scr::format::flush_file::FlushFile;
use scr::format::index::Index;
use scr::prefix::paths::Prefix;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The site's file systems from now on, to be disturbed.
fn disturbed(site: &mut Site) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files);
    faults
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

/// A checkpoint in the prefix directory, of which the caches have nothing.
fn in_the_prefix_only(count: usize) -> Site {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(count), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.finalize().unwrap();
    });
    nodes(count).iter().for_each(|node| site.lose(node));
    site
}

#[test]
fn a_cached_checkpoint_that_cannot_be_read_for_now_stays_and_is_told() {
    // As Lustre, NFS and GPFS put it.
    for errno in [libc::EIO, libc::ENOTCONN, libc::ESHUTDOWN, libc::EAGAIN] {
        let site = Site::new().set("SCR_FLUSH", "0");
        let mut site = site.set("SCR_COPY_TYPE", "SINGLE");
        site.run(&nodes(2), |rank| rank.checkpoint("ck.1").unwrap());
        let faults = disturbed(&mut site);
        for file in ["rank_0/ck.1/rank_0.dat", ".scr/filemap_0"] {
            faults.fail_reads(Some((Path::new("scr.dataset.1").join(file), errno)));
            site.expect_none_now(&nodes(2), "SCR_CACHE_PURGE=1");
            faults.fail_reads(None);
            site.expect_restart(&nodes(2), Some("ck.1"));
        }
    }
}

/// The program takes it for bad, as it has got no path.
#[test]
fn what_cannot_be_looked_at_for_now_is_not_given_up() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let mut site = site.set("SCR_COPY_TYPE", "SINGLE");
    site.run(&nodes(1), |rank| rank.checkpoint("ck.1").unwrap());
    let faults = disturbed(&mut site);
    site.run(&nodes(1), |rank| {
        rank.session.have_restart().unwrap().unwrap();
        rank.session.start_restart().unwrap();
        faults.fail_read_at(1, libc::EIO, u64::MAX);
        let file = Path::new("ck.1/rank_0.dat");
        let error = rank.session.route(file).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EIO), "{error}");
        rank.session.complete_restart(false).unwrap_err();
    });
    site.files = Arc::new(Posix);
    site.expect_restart(&nodes(1), Some("ck.1"));
}

#[test]
fn a_user_may_give_up_what_cannot_be_read() {
    let mut site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    let faults = disturbed(&mut site);
    faults.fail_reads(Some((
        "scr.dataset.1/rank_0/ck.1/rank_0.dat".into(),
        libc::EIO,
    )));
    let site = site.set("SCR_CACHE_PURGE", "1");
    site.expect_restart(&nodes(4), None);
}

#[test]
fn the_prefix_is_read_again_when_it_could_not_be_read() {
    for bypass in ["0", "1"] {
        let mut site = in_the_prefix_only(2).set("SCR_CACHE_BYPASS", bypass);
        let faults = disturbed(&mut site);
        let file = if bypass == "0" {
            "ck.1/rank_1.dat"
        } else {
            ".scr/scr.dataset.1/summary.scr"
        };
        faults.fail_reads(Some((site.prefix().join(file), libc::EIO)));
        site.run(&nodes(2), |rank| {
            let told = rank.session.have_restart().unwrap_err().to_string();
            assert!(told.contains("scr index --drop ck.1"), "{told}");
            faults.fail_reads(None);
            rank.session.have_restart().unwrap().expect("ck.1");
        });
        site.expect_restart(&nodes(2), Some("ck.1"));
    }
}

/// In a full prefix directory the index cannot say that a checkpoint is bad.
#[test]
fn a_rejected_checkpoint_is_not_offered_again_where_the_index_cannot_be_written() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_FLUSH", "1")
            .set("SCR_CACHE_BYPASS", bypass);
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
            rank.finalize().unwrap();
        });
        nodes(2).iter().for_each(|node| site.lose(node));
        let mut site = site;
        let faults = disturbed(&mut site);
        let is_index = |path: &Path| path.to_string_lossy().contains("index.scr");
        faults.refuse("replace", libc::EDQUOT, is_index);
        site.run(&nodes(2), |rank| {
            for name in ["ck.2", "ck.1"] {
                assert_eq!(rank.session.have_restart().unwrap(), Some(name.into()));
                rank.session.start_restart().unwrap();
                let told = rank.session.complete_restart(false).unwrap_err();
                let told = told.to_string();
                assert!(
                    told.contains("cannot replace") && told.contains("index.scr"),
                    "{told}"
                );
            }
            assert_eq!(rank.session.have_restart().unwrap(), None);
        });
        // The next run is offered both again, and a checkpoint that the program names is offered in the same run.
        site.run(&nodes(2), |rank| {
            assert_eq!(rank.session.have_restart().unwrap(), Some("ck.2".into()));
            rank.session.start_restart().unwrap();
            rank.session.complete_restart(false).unwrap_err();
            faults.refuse_nothing();
            rank.session.current(&"ck.2".into()).unwrap();
            assert_eq!(rank.session.have_restart().unwrap(), Some("ck.2".into()));
        });
    }
}

/// A record in the control directory says that a run has used SCR_CURRENT, so that it counts once.
#[test]
fn a_rejected_scr_current_is_not_offered_again_where_its_use_cannot_be_recorded() {
    for bypass in ["0", "1"] {
        let mut site = Site::new()
            .set("SCR_FLUSH", "1")
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CURRENT", "ck.1");
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
            rank.finalize().unwrap();
        });
        nodes(2).iter().for_each(|node| site.lose(node));
        let faults = disturbed(&mut site);
        let is_record = |path: &Path| path.to_string_lossy().contains("cindex.scrinfo");
        faults.refuse("replace", libc::ENOSPC, is_record);
        site.run(&nodes(2), |rank| {
            for name in ["ck.1", "ck.2"] {
                assert_eq!(rank.session.have_restart().unwrap(), Some(name.into()));
                rank.session.start_restart().unwrap();
                rank.session.complete_restart(false).unwrap_err();
            }
            assert_eq!(rank.session.have_restart().unwrap(), None);
        });
    }
}

#[test]
fn what_does_not_fit_into_the_cache_is_read_in_the_prefix() {
    // Not even the first file; all files, but not the redundancy.
    for space in [1500, 8000] {
        let mut site = in_the_prefix_only(4);
        let faults = disturbed(&mut site);
        site.run(&nodes(4), |rank| {
            if rank.rank == 0 {
                faults.limit_space(Some(space));
            }
            assert_eq!(rank.restart().as_deref(), Some("ck.1"));
            if rank.rank == 0 {
                faults.limit_space(None);
            }
            rank.checkpoint("ck.2").unwrap();
            rank.finalize().unwrap();
        });
        let heard = site.heard("cannot be kept in the cache, so it is read in place");
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(site.entries("n0", "scr.dataset.1").is_empty());
        site.expect_restart(&nodes(4), Some("ck.2"));
    }
}

/// That is no trouble that passes: it is bad, marked, and the one before comes.
#[test]
fn a_file_where_a_directory_was_is_not_trouble() {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    nodes(2).iter().for_each(|node| site.lose(node));
    for (name, left) in [("ck.2", Some("ck.1")), ("ck.1", None)] {
        let dir = site.prefix().join(name);
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::write(&dir, b"a file").unwrap();
        site.expect_restart(&nodes(2), left);
        let id = index(&site).id(&Name::from(name)).unwrap();
        assert!(!index(&site).get(id).unwrap().is_good(), "{name}");
        nodes(2).iter().for_each(|node| site.lose(node));
    }
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[10] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn what_has_the_id_of_a_bad_copy_in_the_prefix_stays_in_the_cache() {
    let site = Site::new().set("SCR_COPY_TYPE", "SINGLE");
    let mut site = site.set("SCR_FLUSH", "1");
    site.run(&nodes(2), |rank| rank.checkpoint("ck.1").unwrap());
    flip(&site.prefix().join("ck.1/rank_1.dat"));
    let faults = disturbed(&mut site);
    let file = "scr.dataset.1/rank_0/ck.1/rank_0.dat".into();
    faults.fail_reads(Some((file, libc::EIO)));
    site.expect_none_now(&nodes(2), "Input/output error");
    faults.fail_reads(None);
    site.expect_restart(&nodes(2), Some("ck.1"));
}

#[test]
fn what_would_make_room_for_a_bad_copy_in_the_prefix_stays_in_the_cache() {
    let site = Site::new().set("SCR_CACHE_SIZE", "2");
    let site = site.set("SCR_FLUSH", "2");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    for node in nodes(2) {
        std::fs::remove_dir_all(site.dataset(node, 2)).unwrap();
    }
    flip(&site.prefix().join("ck.2/rank_1.dat"));
    let site = site.set("SCR_CACHE_SIZE", "1");
    site.expect_restart(&nodes(2), Some("ck.1"));
}

#[test]
fn in_bypass_what_was_not_synced_once_is_never_complete() {
    let mut site = Site::new().set("SCR_CACHE_BYPASS", "1");
    let faults = disturbed(&mut site);
    let mut failures = 0;
    let certified = AtomicU32::new(0);
    for n in 1.. {
        let done = site.run(&nodes(1), |rank| {
            rank.checkpoint("good").unwrap();
            let session = &mut rank.session;
            let name = Name::from("bad");
            session
                .start_output(Some(name.clone()), true, false)
                .unwrap();
            let path = session.route(Path::new("bad/rank_0.dat")).unwrap();
            std::fs::write(path, b"data").unwrap();
            faults.fail_at(faults.operations() + n, libc::EIO);
            let done = session.complete_output(true).is_ok();
            faults.fail_at(0, libc::EIO);
            // A record that the run can do without may be what failed. And once all is on stable
            // storage, the next search finishes what the flush could not.
            let prefix = Prefix::new(&site.prefix());
            let id = index(&site).id(&name);
            let synced = id.is_some_and(|id| prefix.dataset(id).join("rank2file.0.0").exists());
            certified.fetch_add(u32::from(synced && !done), Ordering::Relaxed);
            let offered = session.have_restart().unwrap().unwrap();
            assert_eq!(offered == name, synced, "operation {n}");
            rank.finalize().unwrap();
            synced
        });
        let entry = index(&site).id(&Name::from("bad"));
        let complete = entry.is_some_and(|id| index(&site).get(id).unwrap().complete);
        assert_eq!(complete, done[0], "operation {n}");
        failures += u32::from(!done[0]);
        if done[0] && faults.operations() > 0 && failures > 5 && n > 30 {
            break;
        }
    }
    assert!(failures > 5 && certified.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_flush_does_not_fail_for_a_record_that_is_not_needed() {
    let site = Site::new().set("SCR_FLUSH", "1");
    let record = site.prefix().join(".scr/flush.scr");
    site.run(&nodes(2), |rank| {
        rank.session.have_restart().unwrap();
        if rank.rank == 0 {
            std::fs::remove_file(&record).unwrap();
            std::fs::create_dir(&record).unwrap();
        }
        rank.checkpoint("ck.1").unwrap();
        if rank.rank == 0 {
            std::fs::remove_dir(&record).unwrap();
        }
        rank.checkpoint("ck.2").unwrap();
    });
    assert!(
        !site
            .heard("a record of this run is not up to date")
            .is_empty()
    );
    assert!(
        index(&site)
            .datasets()
            .values()
            .all(|entry| entry.is_good())
    );
    let record = scr::format::read::<FlushFile>(&Posix, &record).unwrap();
    assert!(!record.datasets[&2].needs_flush());
}

#[test]
fn a_global_restart_does_not_delete_what_could_not_be_read() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let mut site = site.set("SCR_COPY_TYPE", "SINGLE");
    site.run(&nodes(2), |rank| rank.checkpoint("ck.1").unwrap());
    let faults = disturbed(&mut site);
    let mut site = site.set("SCR_GLOBAL_RESTART", "1");
    faults.fail_reads(Some((
        "scr.dataset.1/rank_0/ck.1/rank_0.dat".into(),
        libc::EIO,
    )));
    site.expect_none_now(&nodes(2), "Input/output error");
    faults.fail_reads(None);
    site = site.set("SCR_FETCH_BYPASS", "1");
    site.expect_restart(&nodes(2), Some("ck.1"));
}

#[test]
fn a_bad_copy_in_the_prefix_is_no_copy() {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(2), |rank| rank.checkpoint("ck.1").unwrap());
    let mut index = index(&site);
    index.mark_failed(1, "2026-11-21T00:00:00");
    index
        .write(&Posix, &site.prefix().join(".scr/index.scr"))
        .unwrap();
    std::fs::write(site.prefix().join("ck.1/rank_0.dat"), b"bad").unwrap();
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.finalize().unwrap();
    });
    nodes(2).iter().for_each(|node| site.lose(node));
    site.expect_restart(&nodes(2), Some("ck.1"));
}

/// In bypass each file is read once: a single error must not make an older checkpoint the one to
/// restart from, and a lasting one must not either.
#[test]
fn an_error_that_passes_never_changes_which_checkpoint_is_used() {
    for bypass in ["1", "0"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "1");
        let mut site = site;
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        let faults = disturbed(&mut site);
        for file in [
            ".scr/index.scr",
            ".scr/scr.dataset.2/summary.scr",
            ".scr/scr.dataset.2/rank2file",
            ".scr/scr.dataset.2/rank2file.0.0",
        ] {
            nodes(2).iter().for_each(|node| site.lose(node));
            let path = site.prefix().join(file);
            let lasting = || faults.fail_reads(Some((path.clone(), libc::EIO)));
            site.run(&nodes(2), |rank| {
                if rank.rank == 0 {
                    faults.fail_next_reads(path.clone(), libc::EIO, 1);
                }
                assert_eq!(rank.restart().as_deref(), Some("ck.2"), "{file}");
                assert_eq!(faults.reads_to_fail(), 0, "{file} was read");
            });
            nodes(2).iter().for_each(|node| site.lose(node));
            site.run(&nodes(2), |rank| {
                if rank.rank == 0 {
                    lasting();
                }
                rank.session.have_restart().unwrap_err();
                faults.fail_reads(None);
                assert_eq!(rank.restart().as_deref(), Some("ck.2"), "{file}");
            });
        }
    }
}

/// The newest in the cache cannot be read now; an older one could.
#[test]
fn no_older_checkpoint_in_the_cache_takes_the_place_of_one_that_cannot_be_read_now() {
    let mut site = Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_COPY_TYPE", "SINGLE");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    let faults = disturbed(&mut site);
    for file in ["rank_0/ck.2/rank_0.dat", ".scr/filemap_0"] {
        faults.fail_reads(Some((Path::new("scr.dataset.2").join(file), libc::EIO)));
        site.expect_none_now(&nodes(2), "SCR_CACHE_PURGE=1");
        faults.fail_reads(None);
    }
    site.expect_restart(&nodes(2), Some("ck.2"));
}
