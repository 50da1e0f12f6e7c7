//! What parameters do to datasets in the course of their life, one after the other, with both values.

use crate::site::{Rank, Site, content, of_run};
use scr::format::Name;
use scr::format::index::Index;
use scr::store::posix::Posix;
use scr_jobs::tally::CountingFiles;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const NODES: [&str; 2] = ["n0", "n1"];

fn site(settings: &[(&str, &str)]) -> Site {
    let with = |site: Site, (name, value): &(&str, &str)| site.set(name, value);
    settings.iter().fold(Site::in_memory(), with)
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

/// The good datasets in the index.
fn saved(site: &Site) -> Vec<String> {
    let index = index(site);
    let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
    good.map(|(id, _)| index.name(*id).unwrap().to_string())
        .collect()
}

fn lose_all(site: &Site) {
    let there = NODES.iter().filter(|node| site.node(node).exists());
    there.for_each(|node| site.lose(node));
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[500] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// All ranks are here: what is changed between is seen by all after.
fn meet(rank: &mut Rank) {
    rank.session.should_exit().unwrap();
}

/// The file of rank 1 in the cache.
fn cached_file(site: &Site, id: u64, name: &str) -> PathBuf {
    let file = format!("rank_1/{name}/rank_1.dat");
    site.dataset("n1", id).join(file)
}

#[test]
fn a_file_that_was_damaged_in_the_cache_is_told_before_it_is_deleted() {
    for (on, scheme) in [("0", "XOR"), ("1", "XOR"), ("1", "SINGLE")] {
        let site = site(&[("SCR_CRC_ON_DELETE", on), ("SCR_COPY_TYPE", scheme)]);
        let site = site.set("SCR_FLUSH", "0");
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.session.finish_background().unwrap();
            meet(rank);
            if rank.rank == 1 {
                flip(&cached_file(&site, 1, "ck.1"));
            }
            meet(rank);
            rank.checkpoint("ck.2").unwrap();
            rank.checkpoint("ck.3").unwrap();
            rank.finalize().unwrap();
        });
        for node in NODES {
            assert_eq!(
                site.entries(node, "scr."),
                ["scr.dataset.3"],
                "it goes all the same"
            );
        }
        let told = site.heard("SCR_CRC_ON_DELETE");
        assert_eq!(told.len(), usize::from(on == "1"), "{told:?}");
        for told in told {
            for part in [
                "rank 1",
                "scr.dataset.1/rank_1/ck.1/rank_1.dat",
                "CRC32",
                "no copy",
            ] {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
    }
}

/// There the files of all ranks are in one directory, and their records elsewhere.
#[test]
fn in_a_store_that_nodes_share_the_right_files_are_looked_at() {
    for damaged in [false, true] {
        let site = site(&[("SCR_CRC_ON_DELETE", "1"), ("SCR_COPY_TYPE", "FILE")]);
        let dir = site.outside().display().to_string();
        site.configure(&format!(
            "STORE={dir} VIEW=GLOBAL COUNT=1\nCKPT=0 STORE={dir}"
        ));
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.session.finish_background().unwrap();
            meet(rank);
            if rank.rank == 1 && damaged {
                let run = of_run(&site.outside().join("user1/scr.1001"));
                flip(&run.join("scr.dataset.1/files/ck.1/rank_1.dat"));
            }
            meet(rank);
            rank.checkpoint("ck.2").unwrap();
            rank.finalize().unwrap();
        });
        let told = site.heard("SCR_CRC_ON_DELETE");
        assert_eq!(told.len(), usize::from(damaged), "{told:?}");
        assert!(
            told.iter().all(|told| told.contains("a file of rank 1")),
            "{told:?}"
        );
    }
}

#[test]
fn output_that_leaves_and_a_purge_are_looked_at_too() {
    let site = site(&[("SCR_CRC_ON_DELETE", "1"), ("SCR_FLUSH", "0")]);
    // This flush does not look at checksums, so only the deletion does.
    let site = site.set("SCR_CRC_ON_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    let in_the_way = site.prefix().join("out.1/rank_0.dat");
    fs::create_dir_all(&in_the_way).unwrap();
    site.run(&NODES, |rank| {
        rank.write("out.1", false, true).unwrap_err();
        meet(rank);
        if rank.rank == 1 {
            flip(&cached_file(&site, 1, "out.1"));
            fs::remove_dir(&in_the_way).unwrap();
        }
        meet(rank);
        rank.checkpoint("ck.2").unwrap();
        rank.finalize().unwrap();
    });
    let told = site.heard("SCR_CRC_ON_DELETE");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("has another copy"), "{told:?}");
    flip(&cached_file(&site, 2, "ck.2"));
    let site = site.set("SCR_CACHE_PURGE", "1");
    site.run(&NODES, |rank| assert_eq!(rank.restart(), None));
    let told = site.heard("SCR_CRC_ON_DELETE");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("ck.2/rank_1.dat"), "{told:?}");
}

/// Checksums were recorded by an earlier run.
#[test]
fn copies_into_the_cache_are_compared_if_the_user_wants_it() {
    for (on_copy, offered) in [("0", "ck.2"), ("1", "ck.1")] {
        let site = site(&[("SCR_FLUSH", "1"), ("SCR_CRC_ON_COPY", on_copy)]);
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        lose_all(&site);
        flip(&site.prefix().join("ck.2/rank_1.dat"));
        let site = site.set("SCR_CRC_ON_FLUSH", "0");
        let names = site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap().unwrap().to_string()
        });
        assert_eq!(names, [offered; 2]);
    }
}

#[test]
fn the_current_checkpoint_drops_newer_ones_if_the_user_wants_it() {
    for (bypass, drop) in [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")] {
        let site = site(&[("SCR_FLUSH", "1"), ("SCR_DROP_AFTER_CURRENT", drop)]);
        let site = site
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", "4");
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
            rank.write("out.3", false, true).unwrap();
            rank.checkpoint("ck.4").unwrap();
            rank.session.current(&Name::from("ck.2")).unwrap();
            assert_eq!(rank.restart().as_deref(), Some("ck.2"));
            rank.finalize().unwrap();
        });
        let left: &[&str] = match drop {
            "1" => &["ck.1", "ck.2"],
            _ => &["ck.1", "ck.2", "out.3", "ck.4"],
        };
        assert_eq!(saved(&site), left);
        // No file is deleted, and the next run starts from there.
        assert!(site.prefix().join("ck.4/rank_1.dat").exists());
        lose_all(&site);
        site.expect_restart(&NODES, Some("ck.2"));
        // An unknown name drops nothing.
        site.run(&NODES, |rank| {
            rank.session.current(&Name::from("none")).unwrap_err();
        });
        assert_eq!(saved(&site), left);
    }
}

#[test]
fn without_distribution_the_cache_is_emptied() {
    for (distribute, fetch, offered) in [
        ("1", "1", Some("ck.2")),
        ("0", "1", Some("ck.1")),
        ("0", "0", None),
    ] {
        let site = site(&[("SCR_FLUSH", "0"), ("SCR_CACHE_SIZE", "2")]);
        site.run(&NODES, |rank| {
            rank.write("ck.1", true, true).unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        let site = site
            .set("SCR_DISTRIBUTE", distribute)
            .set("SCR_FETCH", fetch);
        let names = site.run(&NODES, |rank| {
            if distribute == "0" {
                let node = NODES[rank.rank];
                assert_eq!(site.entries(node, "scr.dataset."), [""; 0]);
            }
            meet(rank);
            rank.restart()
        });
        assert_eq!(
            names,
            vec![offered.map(str::to_string); 2],
            "{distribute} {fetch}"
        );
    }
}

const OLD: Duration = Duration::from_secs(1_000_000_000);

/// Writes a checkpoint whose files have a mode and a time that no new file has.
fn checkpoint_with_attributes(rank: &mut Rank) {
    let session = &mut rank.session;
    session
        .start_output(Some("ck".into()), true, false)
        .unwrap();
    let file = format!("ck/rank_{}.dat", rank.rank);
    let path = session.route(Path::new(&file)).unwrap();
    fs::write(&path, content("ck", rank.rank, 1000 + 7 * rank.rank)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let opened = fs::File::options().write(true).open(&path).unwrap();
    opened.set_modified(SystemTime::UNIX_EPOCH + OLD).unwrap();
    session.complete_output(true).unwrap();
}

fn keeps_attributes(path: &Path) -> bool {
    let meta = fs::metadata(path).unwrap();
    let (mode, old) = (
        meta.mode() & 0o777 == 0o750,
        meta.mtime() as u64 == OLD.as_secs(),
    );
    assert_eq!(mode, old, "{meta:?}");
    mode
}

#[test]
fn modes_and_times_are_copied_in_both_directions_or_in_none() {
    for (containers, background) in [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")] {
        for (flush, fetch) in [("1", "1"), ("1", "0"), ("0", "1")] {
            let site = site(&[("SCR_FLUSH", "1"), ("SCR_USE_CONTAINERS", containers)]);
            let site = site
                .set("SCR_FLUSH_ASYNC", background)
                .set("SCR_FLUSH_ASYNC_BW", "0");
            let site = site.set("SCR_COPY_METADATA", flush);
            site.run(&NODES, |rank| {
                checkpoint_with_attributes(rank);
                rank.finalize().unwrap();
            });
            if containers == "0" {
                let plain = site.prefix().join("ck/rank_1.dat");
                assert_eq!(keeps_attributes(&plain), flush == "1");
            }
            lose_all(&site);
            let site = site.set("SCR_COPY_METADATA", fetch);
            site.expect_restart(&NODES, Some("ck"));
            let file = cached_file(&site, 1, "ck");
            let both = flush == "1" && fetch == "1";
            assert_eq!(
                keeps_attributes(&file),
                both,
                "{containers} {background} {flush} {fetch}"
            );
        }
    }
}

/// How many reads and writes of file content a flush of two ranks takes, and how many a fetch.
fn pieces(buffer: &str, size: usize, containers: &str) -> (u64, u64) {
    let files = CountingFiles::new(Posix);
    let tally = files.tally();
    let mut site = site(&[("SCR_FLUSH", "0"), ("SCR_FILE_BUF_SIZE", buffer)]);
    site.files = Arc::new(files);
    let site = site
        .set("SCR_USE_CONTAINERS", containers)
        .set("SCR_COPY_TYPE", "SINGLE");
    let counted = || {
        let counts = tally.take();
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        of("read_at") + of("write_at")
    };
    site.run(&NODES, |rank| {
        let session = &mut rank.session;
        session.start_output(Some("ck".into()), true, true).unwrap();
        let file = format!("ck/rank_{}.dat", rank.rank);
        let path = session.route(Path::new(&file)).unwrap();
        fs::write(&path, content("ck", rank.rank, size)).unwrap();
        session.complete_output(true).unwrap();
    });
    let flush = counted();
    lose_all(&site);
    site.run(&NODES, |rank| {
        rank.session.have_restart().unwrap().unwrap();
    });
    (flush, counted())
}

#[test]
fn the_buffer_limits_each_read_and_write_of_a_copy() {
    for containers in ["0", "1"] {
        let (flush, fetch) = pieces("32m", 100_000, containers);
        let (small_flush, small_fetch) = pieces("1000", 100_000, containers);
        // 100 pieces are read and written on each of two ranks, in place of one.
        let more = 2 * (100 - 1) * 2;
        assert!(small_flush >= flush + more, "{flush} {small_flush}");
        assert!(small_fetch >= fetch + more, "{fetch} {small_fetch}");
        // Above 1 MiB it has no effect.
        assert_eq!(
            pieces("1m", 3 << 20, containers),
            pieces("32m", 3 << 20, containers)
        );
    }
}

#[test]
fn after_a_purge_of_the_prefix_directory_the_cache_has_the_only_copy() {
    for (global, size) in [("0", "1"), ("0", "3"), ("1", "3")] {
        let site = site(&[("SCR_FLUSH", "1"), ("SCR_CACHE_SIZE", size)]);
        site.run(&NODES, |rank| {
            rank.write("ck.1", true, false).unwrap();
            rank.write("ck.2", true, false).unwrap();
        });
        let site = site
            .set("SCR_PREFIX_PURGE", "1")
            .set("SCR_GLOBAL_RESTART", global);
        site.run(&NODES, |rank| {
            if rank.rank == 0 && global == "0" {
                assert_eq!(saved(&site), [""; 0]);
            }
            meet(rank);
            assert_eq!(rank.restart().as_deref(), Some("ck.2"));
            rank.finalize().unwrap();
        });
        let kept = saved(&site);
        assert!(
            kept.contains(&"ck.2".to_string()),
            "{global} {size}: {kept:?}"
        );
        let site = site.set("SCR_PREFIX_PURGE", "0");
        lose_all(&site);
        site.expect_restart(&NODES, Some("ck.2"));
    }
}

/// One byte a second: who waits for a flush in the background does not come back.
#[test]
fn a_flush_on_restart_goes_on_in_the_background_and_one_for_a_global_restart_does_not() {
    let site = site(&[("SCR_FLUSH", "0"), ("SCR_CACHE_SIZE", "3")]);
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    let site = site
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_FLUSH_ASYNC_BW", "1");
    let site = site.set("SCR_FLUSH_ON_RESTART", "1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.session.abandon();
    });
    assert_eq!(saved(&site), [""; 0]);
    let site = site
        .set("SCR_FLUSH_ON_RESTART", "0")
        .set("SCR_GLOBAL_RESTART", "1");
    site.run(&NODES, |rank| {
        rank.session.have_restart().unwrap().unwrap();
        rank.session.start_restart().unwrap();
        let path = rank.session.route(Path::new("ck.2/rank_0.dat")).unwrap();
        assert_eq!(path, site.prefix().join("ck.2/rank_0.dat"));
        rank.session.complete_restart(true).unwrap();
    });
    assert_eq!(saved(&site), ["ck.1", "ck.2"]);
}

/// Nothing could be fetched from where the datasets went.
#[test]
fn a_global_restart_without_fetch_keeps_the_cache() {
    for (fetch, in_prefix) in [("0", false), ("1", true)] {
        let site = site(&[("SCR_FLUSH", "0"), ("SCR_GLOBAL_RESTART", "1")]);
        let site = site.set("SCR_FETCH", fetch);
        site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
        site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap().unwrap();
            rank.session.start_restart().unwrap();
            let file = format!("ck.1/rank_{}.dat", rank.rank);
            let path = rank.session.route(Path::new(&file)).unwrap();
            assert_eq!(path.starts_with(site.prefix()), in_prefix);
            rank.session.complete_restart(true).unwrap();
        });
        assert_eq!(saved(&site), ["ck.1"]);
    }
}

const MODES: [&[(&str, &str)]; 3] = [
    &[("SCR_CACHE_BYPASS", "1")],
    &[("SCR_CACHE_BYPASS", "0")],
    &[("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "0")],
];

#[test]
fn the_window_keeps_the_newest_good_ones_however_they_are_flushed() {
    for settings in MODES {
        for (size, kept) in [("0", 1..=5), ("2", 4..=5), ("1", 5..=5)] {
            let site = site(settings)
                .set("SCR_FLUSH", "1")
                .set("SCR_PREFIX_SIZE", size);
            site.run(&NODES, |rank| {
                for id in 1..=5 {
                    rank.checkpoint(&format!("ck.{id}")).unwrap();
                }
                rank.finalize().unwrap();
            });
            let kept: Vec<String> = kept.map(|id| format!("ck.{id}")).collect();
            assert_eq!(saved(&site), kept, "{settings:?} {size}");
            lose_all(&site);
            site.expect_restart(&NODES, Some("ck.5"));
        }
    }
}

/// What is not complete, or was rejected, takes no place of a good one.
#[test]
fn the_window_counts_only_good_checkpoints() {
    for settings in MODES {
        let site = site(settings)
            .set("SCR_FLUSH", "1")
            .set("SCR_PREFIX_SIZE", "2");
        let bypass = settings[0] == ("SCR_CACHE_BYPASS", "1");
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
            rank.session.finish_background().unwrap();
            assert_eq!(rank.session.have_restart().unwrap(), Some("ck.2".into()));
            rank.session.start_restart().unwrap();
            rank.session.complete_restart(false).unwrap_err();
            // In bypass it is in the index as not complete.
            rank.session
                .start_output(Some("bad".into()), true, false)
                .unwrap();
            rank.session.complete_output(false).unwrap_err();
            rank.checkpoint("ck.4").unwrap();
            rank.finalize().unwrap();
        });
        assert_eq!(saved(&site), ["ck.1", "ck.4"], "{settings:?}");
        assert_eq!(index(&site).id(&Name::from("bad")).is_some(), bypass);
        assert!(site.prefix().join("ck.1/rank_1.dat").exists());
    }
}
