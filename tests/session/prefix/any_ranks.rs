//! Restarts on another number of ranks than wrote the checkpoint, where the program or the user allows
//! it: from the prefix directory, and from caches.

use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use scr::format::index::Index;
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two ranks on each of four nodes.
const EIGHT: [&str; 8] = ["n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"];
const THREE: [&str; 3] = ["n0", "n1", "n2"];
const TWELVE: [&str; 12] = [
    "n0", "n0", "n0", "n1", "n1", "n1", "n2", "n2", "n2", "n3", "n3", "n3",
];

fn site(bypass: &str, flush: &str) -> Site {
    Site::new()
        .set("SCR_CACHE_BYPASS", bypass)
        .set("SCR_FLUSH", flush)
        .set("SCR_CACHE_SIZE", "3")
}

fn lose_all(site: &Site) {
    for node in nodes(4).iter().filter(|node| site.node(node).exists()) {
        site.lose(node);
    }
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

/// Reads the checkpoint that is offered, which `ranks` ranks wrote: every rank finds every file in the
/// list, and opens it by the name with which it was written. The name of the checkpoint.
fn read_all(rank: &mut Rank, ranks: usize) -> Option<String> {
    let name = rank.session.have_restart().unwrap()?.to_string();
    rank.session.start_restart().unwrap();
    assert_eq!(rank.session.restart_ranks().unwrap(), ranks as u64);
    let listed = rank.session.restart_files().unwrap();
    let listed: Vec<(u64, PathBuf)> = listed.collect::<scr::Result<_>>().unwrap();
    assert_eq!(listed.len(), ranks);
    for (old, path) in listed {
        let file = format!("{name}/rank_{old}.dat");
        assert!(path.ends_with(&file), "{} is {file}", path.display());
        assert_eq!(
            rank.session.restart_files_of(old).unwrap(),
            std::slice::from_ref(&path)
        );
        let routed = rank.session.route(Path::new(&file)).unwrap();
        assert_eq!(rank.session.route(&path).unwrap(), routed);
        let old = old as usize;
        let right = content(&name, old, 1000 + 7 * old);
        assert_eq!(
            std::fs::read(routed).unwrap(),
            right,
            "rank {old} of {name}"
        );
    }
    rank.session.complete_restart(true).unwrap();
    Some(name)
}

/// Restarts from a checkpoint of eight ranks and goes on.
fn restart_and_go_on(site: &Site, nodes: &[&str], expected: &str) {
    site.run(nodes, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        assert_eq!(read_all(rank, 8).as_deref(), Some(expected));
        rank.checkpoint("next").unwrap();
        rank.finalize().unwrap();
    });
    let found = index(site);
    let next = found.id(&Name::from("next")).unwrap();
    assert_eq!(found.current_id(), Some(next));
    assert!(next > found.id(&Name::from(expected)).unwrap());
    assert!(found.get(next).unwrap().is_good());
    // The next run has as many ranks as wrote it, and asks for nothing.
    site.expect_restart(nodes, Some("next"));
}

#[test]
fn eight_ranks_restart_as_three_and_as_twelve_from_the_prefix_directory() {
    for (bypass, nodes) in [("1", &THREE[..]), ("0", &TWELVE[..]), ("0", &THREE[..])] {
        let site = site(bypass, "1");
        site.run(&EIGHT, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        lose_all(&site);
        restart_and_go_on(&site, nodes, "ck.2");
        assert_eq!(site.heard("8 ranks wrote it, and this run has").len(), 1);
    }
}

#[test]
fn eight_ranks_restart_as_three_and_as_twelve_from_the_cache() {
    for (lost, nodes) in [
        (Some("n3"), &THREE[..]),
        (None, &TWELVE[..]),
        (Some("n1"), &TWELVE[..]),
    ] {
        let site = site("0", "0").set("SCR_COPY_TYPE", "XOR");
        site.run(&EIGHT, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        assert!(!site.prefix().join("ck.2").exists(), "nothing is flushed");
        lost.into_iter().for_each(|node| site.lose(node));
        let site = site.set("SCR_FLUSH", "1");
        restart_and_go_on(&site, nodes, "ck.2");
        assert_eq!(site.heard("of 8 ranks was copied from the cache").len(), 1);
    }
}

#[test]
fn a_store_that_all_nodes_share_is_read_too() {
    let site = Site::new();
    let store = site.outside().display().to_string();
    std::fs::create_dir(&store).unwrap();
    site.configure(&format!(
        "STORE={store} GROUP=WORLD COUNT=3 VIEW=GLOBAL\nCKPT=0 INTERVAL=1 GROUP=NODE STORE={store} \
         TYPE=SINGLE\n"
    ));
    let site = site.set("SCR_COPY_TYPE", "FILE").set("SCR_FLUSH", "0");
    site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
    let site = site.set("SCR_FLUSH", "1");
    restart_and_go_on(&site, &THREE, "ck.1");
}

#[test]
fn the_parameters_allow_it_too() {
    for name in ["SCR_FETCH_BYPASS", "SCR_GLOBAL_RESTART"] {
        for flush in ["0", "1"] {
            let site = site("0", flush);
            site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
            let site = site.set(name, "1");
            let names = site.run(&TWELVE, |rank| read_all(rank, 8));
            assert_eq!(names, vec![Some("ck.1".to_string()); 12], "{name} {flush}");
        }
    }
}

#[test]
fn without_permission_there_is_none() {
    for flush in ["0", "1"] {
        let site = site("0", flush).set("SCR_FETCH_BYPASS", "1");
        site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
        site.run(&THREE, |rank| {
            rank.session.allow_other_ranks(false).unwrap();
            let error = rank.session.have_restart().map(|_| ()).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("was written by 8 ranks, this run has 3"),
                "{text}"
            );
            assert!(text.contains("SCR_FETCH_BYPASS=1"), "{text}");
        });
        // The user has given up what other numbers of ranks wrote, whatever the program can do.
        let site = site.set("SCR_START_ANEW", "1");
        site.run(&THREE, |rank| {
            rank.session.allow_other_ranks(true).unwrap();
            assert_eq!(rank.session.have_restart().unwrap(), None);
        });
    }
}

#[test]
fn permission_may_come_after_a_refusal_and_be_taken_back() {
    for flush in ["0", "1"] {
        let site = site("0", flush);
        site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
        site.run(&THREE, |rank| {
            let own = rank.rank == 1;
            let error = rank.session.allow_other_ranks(own).unwrap_err().to_string();
            assert!(error.contains("differs between ranks"), "{error}");
            rank.session.have_restart().unwrap_err();
            rank.session.allow_other_ranks(true).unwrap();
            assert_eq!(read_all(rank, 8).as_deref(), Some("ck.1"));
            assert_eq!(read_all(rank, 8).as_deref(), Some("ck.1"), "offered again");
            rank.session.allow_other_ranks(false).unwrap();
            rank.session.have_restart().unwrap_err();
        });
    }
}

#[test]
fn a_damaged_file_is_named_and_the_older_one_is_offered() {
    for damage in ["byte", "missing"] {
        let site = site("0", "1");
        site.run(&EIGHT, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        lose_all(&site);
        let path = site.prefix().join("ck.2/rank_7.dat");
        match damage {
            "byte" => {
                let mut bytes = std::fs::read(&path).unwrap();
                bytes[3] ^= 1;
                std::fs::write(&path, bytes).unwrap();
            }
            _ => std::fs::remove_file(&path).unwrap(),
        }
        let names = site.run(&THREE, |rank| {
            rank.session.allow_other_ranks(true).unwrap();
            read_all(rank, 8)
        });
        assert_eq!(names, vec![Some("ck.1".to_string()); 3]);
        let said = site.heard("cannot fetch dataset 2 (ck.2)");
        assert!(
            said.len() == 1 && said[0].contains("ck.2/rank_7.dat"),
            "{said:?}"
        );
        assert!(!index(&site).get(2).unwrap().is_good());
    }
}

#[test]
fn what_cannot_be_rebuilt_from_the_cache_is_named_and_the_older_one_is_offered() {
    let site = site("0", "0").set("SCR_COPY_TYPE", "SINGLE");
    site.run(&EIGHT, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    let path = site.dataset("n2", 2).join("rank_5/ck.2/rank_5.dat");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let names = site.run(&TWELVE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        read_all(rank, 8)
    });
    assert_eq!(names, vec![Some("ck.1".to_string()); 12]);
    assert_eq!(
        site.heard("cached dataset 2 (ck.2) cannot be copied").len(),
        1
    );
    assert_eq!(
        site.heard("rank_5.dat").len(),
        1,
        "{:?}",
        site.events.lines()
    );
}

#[test]
fn a_rejected_one_is_marked_and_the_older_one_is_offered() {
    let site = site("1", "1");
    site.run(&EIGHT, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    site.run(&THREE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        assert_eq!(rank.session.have_restart().unwrap(), Some("ck.2".into()));
        rank.session.start_restart().unwrap();
        rank.session.complete_restart(rank.rank != 1).unwrap_err();
        assert_eq!(read_all(rank, 8).as_deref(), Some("ck.1"));
    });
    assert!(!index(&site).get(2).unwrap().is_good());
}

/// Also one that is in the cache only.
#[test]
fn the_user_can_choose_an_older_one() {
    let site = site("0", "0");
    site.run(&EIGHT, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    let site = site.set("SCR_FLUSH", "1");
    site.run(&TWELVE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        assert_eq!(rank.session.have_restart().unwrap(), Some("ck.2".into()));
        rank.session.current(&Name::from("ck.9")).unwrap_err();
        rank.session.current(&Name::from("ck.1")).unwrap();
        assert_eq!(read_all(rank, 8).as_deref(), Some("ck.1"));
        rank.checkpoint("ck.3").unwrap();
    });
    let found = index(&site);
    assert!(found.id(&Name::from("ck.3")) > found.id(&Name::from("ck.2")));
}

/// They are overwritten as those of the same number of ranks are: under the same names and paths.
#[test]
fn old_names_and_paths_may_be_written_again() {
    for bypass in ["1", "0"] {
        let site = site(bypass, "1");
        site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
        lose_all(&site);
        site.run(&THREE, |rank| {
            rank.session.allow_other_ranks(true).unwrap();
            read_all(rank, 8);
            rank.checkpoint("ck.1").unwrap();
        });
        site.expect_restart(&THREE, Some("ck.1"));
        assert_eq!(index(&site).id(&Name::from("ck.1")), Some(2));
    }
}

#[test]
fn lists_tell_what_they_cannot_give() {
    let site = site("1", "1");
    site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
    site.run(&THREE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        rank.session.restart_ranks().unwrap_err();
        rank.session.have_restart().unwrap();
        rank.session.start_restart().unwrap();
        rank.session.allow_other_ranks(true).unwrap_err();
        let error = rank.session.restart_files_of(8).unwrap_err().to_string();
        assert!(
            error.contains("there is no rank 8: 8 ranks wrote dataset 1"),
            "{error}"
        );
        // A file that is there, but not in the checkpoint.
        std::fs::write(site.prefix().join("other"), b"x").unwrap();
        for name in ["other", "ck.1/rank_8.dat"] {
            let error = rank.session.route(Path::new(name)).unwrap_err().to_string();
            assert!(
                error.contains("is not a file of dataset 1 (ck.1)"),
                "{error}"
            );
        }
        rank.session.complete_restart(true).unwrap();
        rank.session.restart_files_of(0).unwrap_err();
    });
}

/// With the same number of ranks, a restart from the cache gives each rank its own files only.
#[test]
fn as_many_ranks_read_their_own_files_in_the_cache() {
    let site = site("0", "0");
    site.run(&EIGHT, |rank| rank.checkpoint("ck.1").unwrap());
    site.run(&EIGHT, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        rank.session.have_restart().unwrap();
        rank.session.start_restart().unwrap();
        assert_eq!(rank.session.restart_ranks().unwrap(), 8);
        let (own, other) = (rank.rank as u64, (rank.rank as u64 + 1) % 8);
        let files = rank.session.restart_files_of(own).unwrap().to_vec();
        assert_eq!(files.len(), 1);
        let path = rank.session.route(&files[0]).unwrap();
        assert!(path.starts_with(site.dir.path().join("nodes")));
        let error = rank
            .session
            .restart_files_of(other)
            .unwrap_err()
            .to_string();
        assert!(error.contains("SCR_GLOBAL_RESTART=1"), "{error}");
        rank.session.complete_restart(true).unwrap();
    });
}

/// All ranks share the work, also if one old rank wrote everything.
#[test]
fn one_rank_wrote_all_and_each_of_four_reads_a_part() {
    let site = site("1", "1");
    site.run(&["n0"], |rank| {
        let name = Some(Name::from("ck"));
        rank.session.start_output(name, true, false).unwrap();
        for i in 0..40 {
            let path = rank.session.route(Path::new(&format!("ck/{i}"))).unwrap();
            std::fs::write(path, content("ck", i, 100)).unwrap();
        }
        rank.session.complete_output(true).unwrap();
    });
    let mut site = site.set("SCR_CRC_ON_FLUSH", "1");
    let counting: Vec<_> = (0..4)
        .map(|_| std::sync::Arc::new(scr_jobs::tally::CountingFiles::new(Posix)))
        .collect();
    let each = counting.iter().cloned();
    site.by_rank = each.map(|files| Some(files as _)).collect();
    let stats: Vec<BTreeMap<_, u64>> = site.run(&nodes(4), |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        let tally = counting[rank.rank].tally();
        tally.take();
        assert!(rank.session.have_restart().unwrap().is_some());
        tally.take()
    });
    for (rank, stats) in stats.iter().enumerate() {
        let looked = stats.get("stat").copied().unwrap_or(0);
        assert!((10..30).contains(&looked), "rank {rank}: {stats:?}");
    }
}

/// A copy that fails for a reason that may pass is no reason to go back to an older checkpoint.
#[test]
fn a_full_prefix_directory_is_told_and_the_next_run_finds_it() {
    let site = site("0", "0");
    site.run(&EIGHT, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    let files = Faulty::new(Posix);
    let faults = files.faults();
    let mut full = site;
    full.by_rank = vec![None, Some(Arc::new(files))];
    full.run(&THREE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        if rank.rank == 1 {
            faults.limit_space(Some(0));
        }
        let error = rank.session.have_restart().unwrap_err().to_string();
        for part in [
            "dataset 2 (ck.2)",
            "cannot be copied from the cache",
            "start again when",
        ] {
            assert!(error.contains(part), "{error}");
        }
        rank.session.have_restart().unwrap_err();
    });
    assert!(
        !full.heard("No space left").is_empty(),
        "{:?}",
        full.events.lines()
    );
    full.by_rank = Vec::new();
    let names = full.run(&THREE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        read_all(rank, 8)
    });
    assert_eq!(names, vec![Some("ck.2".to_string()); 3]);
}

/// A file that cannot be read for now, and lost ones which need it, are no reason either.
#[test]
fn a_copy_that_cannot_be_read_is_told_and_the_next_run_finds_it() {
    let site = site("0", "0");
    site.run(&EIGHT, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    site.lose("n3");
    let files = Faulty::new(Posix);
    let faults = files.faults();
    faults.fail_reads(Some(("prefix/ck.2/rank_2.dat".into(), libc::EIO)));
    let mut unread = site;
    unread.by_rank = vec![Some(Arc::new(files))];
    unread.run(&THREE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        let error = rank.session.have_restart().unwrap_err().to_string();
        for part in ["dataset 2 (ck.2)", "rank_2.dat", "start again when"] {
            assert!(error.contains(part), "{error}");
        }
    });
    unread.by_rank = Vec::new();
    let names = unread.run(&THREE, |rank| {
        rank.session.allow_other_ranks(true).unwrap();
        read_all(rank, 8)
    });
    assert_eq!(names, vec![Some("ck.2".to_string()); 3]);
}
