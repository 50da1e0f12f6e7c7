//! A dataset that will not fit is not started: the error has the numbers, and nothing changes.

use crate::site::{Rank, Site, content, nodes};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::path::Path;
use std::sync::Arc;

/// Two ranks on node a, one on b; what file systems tell of their free space is made up.
const NODES: [&str; 3] = ["a", "a", "b"];

fn site() -> (Site, Vec<Faults>) {
    let mut site = Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_COPY_TYPE", "SINGLE");
    let mut faults = Vec::new();
    for _ in NODES {
        let files = Faulty::new(Posix);
        faults.push(files.faults());
        site.by_rank.push(Some(Arc::new(files) as Arc<dyn Files>));
    }
    (site, faults)
}

/// Writes a checkpoint of one file of `size` bytes, and waits until its record is not written again.
fn write(rank: &mut Rank, name: &str, size: usize) -> scr::Result<()> {
    rank.session.start_output(Some(name.into()), true, false)?;
    let file = format!("{name}/rank_{}.dat", rank.rank);
    let path = rank.session.route(Path::new(&file))?;
    std::fs::write(path, content(name, rank.rank, size)).unwrap();
    rank.session.complete_output(true)?;
    rank.session.finish_background()
}

/// All directories of datasets, and the flush file.
fn state(site: &Site) -> (Vec<String>, Vec<String>, Vec<u8>) {
    let flush = std::fs::read(site.prefix().join(".scr/flush.scr")).unwrap();
    (site.entries("a", ""), site.entries("b", ""), flush)
}

/// All ranks are here: what is changed between is seen by all after, and not before.
fn meet(rank: &mut Rank) {
    rank.session.need_checkpoint().unwrap();
}

const KIB: usize = 1024;

#[test]
fn a_refusal_names_all_and_touches_nothing() {
    for size in ["1", "2", "3"] {
        let (site, faults) = site();
        let site = site.set("SCR_CACHE_SIZE", size);
        site.run(&NODES, |rank| {
            // 2 x (64 + record) KiB on node a, 64 on b.
            write(rank, "ck.1", 64 * KIB).unwrap();
            meet(rank);
            let evicted: u64 = if size == "1" {
                2 * (64 + 4) * KIB as u64
            } else {
                0
            };
            let need = 2 * (64 + 4) * KIB as u64;
            let before = state(&site);
            if rank.rank == 0 {
                let free = (need - evicted).saturating_sub(1);
                faults[0].limit_space(Some(free));
            }
            meet(rank);
            let started = write(rank, "ck.2", 64 * KIB);
            if evicted >= need {
                // What goes makes the room.
                started.unwrap();
                return;
            }
            let text = started.unwrap_err().to_string();
            for part in [
                "rank 0 on node a",
                "dataset 2 (ck.2): is not started",
                &format!("STORE={} on node a", site.node("a").display()),
                &format!("has {} B free", need - 1),
                &format!("it needs {need} B;"),
                &format!("COUNT (now {size})"),
                "SCR_CACHE_CHECK=0",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(!text.contains("evicted"), "{text}");
            meet(rank);
            assert_eq!(state(&site), before);
            assert!(!site.prefix().join(".scr/index.scr").exists());
            // The id is not used up, and room is room.
            meet(rank);
            if rank.rank == 0 {
                faults[0].limit_space(None);
            }
            meet(rank);
            write(rank, "ck.2", 64 * KIB).unwrap();
        });
        let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
        assert_eq!(names[2].as_ref().unwrap().to_string(), "ck.2");
    }
}

#[test]
fn what_no_restart_can_use_goes_where_room_is_short() {
    let (site, faults) = site();
    let site = site.set("SCR_CACHE_SIZE", "3");
    site.run(&NODES, |rank| write(rank, "ck.1", 64 * KIB).unwrap());
    let aside = || site.cache("b").join("scr.quarantine.1");
    std::fs::rename(site.dataset("b", 1), aside()).unwrap();
    site.run(&NODES, |rank| {
        write(rank, "ck.2", 64 * KIB).unwrap();
        assert!(aside().exists(), "there is room");
        meet(rank);
        if rank.rank == 2 {
            faults[2].limit_space(Some(16 * KIB as u64));
        }
        meet(rank);
        write(rank, "ck.3", 64 * KIB).unwrap();
        assert!(!aside().exists());
    });
}

#[test]
fn what_evicted_datasets_give_back_counts_and_is_waited_for() {
    let (site, faults) = site();
    site.run(&NODES, |rank| {
        write(rank, "ck.1", 64 * KIB).unwrap();
        meet(rank);
        if rank.rank == 2 {
            faults[2].limit_space(Some(0));
        }
        meet(rank);
        // On node b, the old one has to be gone before the new one is written.
        rank.session
            .start_output(Some("ck.2".into()), true, false)
            .unwrap();
        assert_eq!(site.entries("b", "scr.trash."), [""; 0]);
        assert_eq!(site.entries("b", "scr.dataset."), ["scr.dataset.2"]);
        let file = format!("ck.2/rank_{}.dat", rank.rank);
        let path = rank.session.route(Path::new(&file)).unwrap();
        std::fs::write(path, content("ck.2", rank.rank, 64 * KIB)).unwrap();
        rank.session.complete_output(true).unwrap();
    });
}

#[test]
fn the_check_knows_each_node_and_each_descriptor_and_can_be_switched_off() {
    let (site, faults) = site();
    let site = site.set("SCR_COPY_TYPE", "FILE").set("SCR_CACHE_SIZE", "9");
    site.configure("CKPT=0 TYPE=SINGLE\nCKPT=1 INTERVAL=2 TYPE=XOR SET_SIZE=2");
    site.run(&NODES, |rank| {
        let size = if rank.rank == 2 { 8 } else { 64 } * KIB;
        write(rank, "ck.1", size).unwrap();
        meet(rank);
        // Enough for node b's small rank, and for its part without redundancy only.
        if rank.rank == 2 {
            faults[2].limit_space(Some(12 * KIB as u64 - 1));
        }
        meet(rank);
        // XOR for the first time: estimated from the data of the others.
        let text = write(rank, "ck.2", size).unwrap_err().to_string();
        assert!(
            text.contains("rank 2 on node b") && text.contains("12288 B"),
            "{text}"
        );
    });
    let (site, faults) = self::site();
    let site = site.set("SCR_CACHE_CHECK", "0").set("SCR_CACHE_SIZE", "9");
    site.run(&NODES, |rank| {
        write(rank, "ck.1", 64 * KIB).unwrap();
        meet(rank);
        if rank.rank == 2 {
            faults[2].limit_space(Some(32 * KIB as u64));
        }
        meet(rank);
        // A smaller one, as promised.
        write(rank, "ck.2", KIB).unwrap();
        if rank.rank == 2 {
            faults[2].limit_space(Some(0));
        }
        meet(rank);
        let text = write(rank, "ck.3", KIB).unwrap_err().to_string();
        assert!(
            text.contains("is not complete, so it was dropped"),
            "{text}"
        );
    });
}

#[test]
fn the_size_is_known_again_after_a_restart() {
    let (site, faults) = site();
    let site = site.set("SCR_CACHE_SIZE", "3");
    site.run(&NODES, |rank| write(rank, "ck.1", 64 * KIB).unwrap());
    site.run(&NODES, |rank| {
        meet(rank);
        if rank.rank == 0 {
            faults[0].limit_space(Some(100 * KIB as u64));
        }
        meet(rank);
        // Both ranks of node a together do not fit.
        let text = write(rank, "ck.2", 64 * KIB).unwrap_err().to_string();
        assert!(text.contains("on node a has 100.0 KiB free"), "{text}");
    });
}

#[test]
fn nothing_is_refused_that_nothing_is_known_of() {
    let (site, faults) = site();
    faults
        .iter()
        .for_each(|f| f.limit_space(Some(64 * KIB as u64)));
    site.run(&NODES, |rank| {
        write(rank, "ck.1", KIB).unwrap();
        // Output is not judged by checkpoints, nor what is in bypass by the cache.
        rank.write("out", false, true).unwrap();
    });
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(2), |rank| {
        (1..4).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
}

#[test]
fn a_global_store_is_judged_by_the_whole_dataset() {
    let (site, faults) = site();
    let site = site.set("SCR_COPY_TYPE", "FILE");
    let dir = site.outside().display().to_string();
    site.configure(&format!(
        "STORE={dir} VIEW=GLOBAL COUNT=4\nCKPT=0 STORE={dir}"
    ));
    site.run(&NODES, |rank| {
        write(rank, "ck.1", 64 * KIB).unwrap();
        meet(rank);
        if rank.rank == 0 {
            faults[0].limit_space(Some(190 * KIB as u64));
        }
        meet(rank);
        let text = write(rank, "ck.2", 64 * KIB).unwrap_err().to_string();
        assert!(
            text.contains("has 190.0 KiB free") && text.contains("it needs 192.0 KiB;"),
            "{text}"
        );
    });
}

/// Node a has no room left; the programs' own files do not count here, so it is said again.
fn fill(rank: &mut Rank, faults: &[Faults]) {
    meet(rank);
    if rank.rank == 0 {
        faults[0].limit_space(Some(0));
    }
    meet(rank);
}

#[test]
fn in_a_full_store_older_checkpoints_make_way_for_newer_ones() {
    let (site, faults) = site();
    let site = site.set("SCR_CACHE_SIZE", "4");
    site.run(&NODES, |rank| {
        write(rank, "ck.1", 64 * KIB).unwrap();
        write(rank, "ck.2", 64 * KIB).unwrap();
        for n in 3..8 {
            fill(rank, &faults);
            write(rank, &format!("ck.{n}"), 64 * KIB).unwrap();
            // All nodes have the same ones, and not one more than must be is gone.
            meet(rank);
            for node in ["a", "b"] {
                let left = site.entries(node, "scr.dataset.");
                assert_eq!(left, [n - 1, n].map(|id| format!("scr.dataset.{id}")));
            }
        }
    });
    let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
    assert_eq!(names[0].as_ref().unwrap().to_string(), "ck.7");
}

#[test]
fn the_last_good_checkpoint_makes_way_only_if_it_is_in_the_prefix_directory() {
    for (flush, goes) in [("0", false), ("1", true)] {
        let (site, faults) = site();
        let site = site.set("SCR_CACHE_SIZE", "4").set("SCR_FLUSH", flush);
        site.run(&NODES, |rank| {
            write(rank, "ck.1", 64 * KIB).unwrap();
            fill(rank, &faults);
            let started = rank.session.start_output(Some("ck.2".into()), true, false);
            assert_eq!(started.is_ok(), goes, "{started:?}");
            // Evicted before anybody has written; on node b, where there is room, all the same.
            assert_eq!(site.entries("b", "scr.dataset.1").is_empty(), goes);
        });
        let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
        assert_eq!(names[0].as_ref().unwrap().to_string(), "ck.1");
    }
}

/// A store that holds one checkpoint does not keep the first one for the whole run.
#[test]
fn the_last_good_checkpoint_is_flushed_to_make_room() {
    let (site, faults) = site();
    let site = site.set("SCR_CACHE_SIZE", "4").set("SCR_FLUSH", "10");
    site.run(&NODES, |rank| {
        for n in 1..=4 {
            write(rank, &format!("ck.{n}"), 64 * KIB).unwrap();
            let older = site.prefix().join(format!("ck.{}", n - 1));
            assert_eq!(older.exists(), n > 1);
            meet(rank);
            assert_eq!(site.entries("b", "scr.dataset.").len(), 1);
            meet(rank);
            // Too little for two ranks, and enough for the flush of one, which counts, too.
            if rank.rank == 0 {
                faults[0].limit_space(Some(120 * KIB as u64));
            }
            meet(rank);
        }
    });
    let told = site.heard("is flushed, so that it can make room for the next dataset");
    let full = format!(
        "STORE={} on node a has 120.0 KiB free",
        site.node("a").display()
    );
    assert!(
        told[0].contains("dataset 1 (ck.1)") && told[0].contains(&full),
        "{told:?}"
    );
    assert!(told[0].contains("it needs 136.0 KiB"), "{told:?}");
    let notes = told.iter().filter(|line| line.contains("Note"));
    assert_eq!((notes.count(), told.len()), (1, 3), "{told:?}");
    // After the loss of all nodes the one before the last is there.
    ["a", "b"].iter().for_each(|node| site.lose(node));
    let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
    assert_eq!(names[0].as_ref().unwrap().to_string(), "ck.3");
}

#[test]
fn a_checkpoint_that_cannot_be_flushed_does_not_make_room() {
    for (fetch, prefix_full) in [("0", false), ("1", true)] {
        let (site, faults) = site();
        let site = site.set("SCR_CACHE_SIZE", "4").set("SCR_FLUSH", "10");
        let site = site.set("SCR_FETCH", fetch);
        site.run(&NODES, |rank| {
            write(rank, "ck.1", 64 * KIB).unwrap();
            fill(rank, &faults);
            if prefix_full {
                faults[rank.rank].fill_up_where(|path| path.to_string_lossy().contains("/ck.1/"));
            }
            for n in 2..=4 {
                let error = write(rank, &format!("ck.{n}"), 64 * KIB).unwrap_err();
                let text = error.to_string();
                let part = match (prefix_full, n) {
                    (false, 2) => "dataset 2 (ck.2): is not started: STORE=",
                    (false, _) => ": is not started, again: STORE=",
                    (true, _) => "there is no room for the next dataset beside it: ",
                };
                assert!(
                    text.contains(part) && text.contains("has 0 B free"),
                    "{text}"
                );
                assert_eq!(
                    text.contains("SCR_CACHE_CHECK=0"),
                    !prefix_full && n == 2,
                    "{text}"
                );
            }
            faults[rank.rank].fill_up_where(|_| false);
            meet(rank);
            assert_eq!(site.entries("a", "scr.dataset."), ["scr.dataset.1"]);
        });
    }
}

/// The program's own write has failed, and it says so.
#[test]
fn a_full_store_is_told_with_its_sizes_where_the_program_says_that_it_could_not_write() {
    let (site, faults) = site();
    site.run(&NODES, |rank| {
        for again in [false, true] {
            let session = &mut rank.session;
            session
                .start_output(Some("ck".into()), true, false)
                .unwrap();
            faults[rank.rank].leave_space(1 << 20, 4096);
            let error = rank.session.complete_output(rank.rank != 2).unwrap_err();
            let text = error.to_string();
            let place = format!("STORE={} on node b is full", site.node("b").display());
            let parts: [&str; 3] = if again {
                ["with valid=0", " again, with ", "(SCR-301)"]
            } else {
                ["with valid=0", "SCR_CACHE_SIZE", "(SCR-301)"]
            };
            for part in [&place[..], "4.0 KiB of 1.0 MiB free"]
                .into_iter()
                .chain(parts)
            {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert_eq!(text.contains("keep fewer"), !again, "{text}");
        }
    });
}

#[test]
fn datasets_that_grow_are_not_given_up_for_ever() {
    let (site, faults) = site();
    let site = site.set("SCR_CACHE_SIZE", "4");
    site.run(&NODES, |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            write(rank, name, 64 * KIB).unwrap();
        }
        // There is room for one as large as the last one, and this one is larger.
        for left in [3, 2, 1] {
            meet(rank);
            if rank.rank == 0 {
                faults[0].limit_space(Some(140 * KIB as u64));
            }
            meet(rank);
            let session = &mut rank.session;
            session
                .start_output(Some("big".into()), true, false)
                .unwrap();
            let mut found = site.entries(NODES[rank.rank], "scr.dataset.");
            found.pop();
            assert_eq!(found.len(), left);
            assert!(session.complete_output(rank.rank != 0).is_err());
        }
    });
}
