//! Which datasets the cache keeps: its size is a hard limit, no good dataset is deleted before the
//! next one is complete, and datasets that cannot be used now are kept while there is space.

use crate::checkpoints::double_nodes;
use crate::site::{self, Rank, Site, nodes};
use std::path::Path;

fn site(size: &str) -> Site {
    Site::new()
        .set("SCR_CACHE_SIZE", size)
        .set("SCR_FLUSH", "0")
}

fn datasets(site: &Site, node: &str) -> Vec<String> {
    let names = site.entries(node, "scr.dataset.");
    names
        .iter()
        .map(|name| name["scr.dataset.".len()..].to_string())
        .collect()
}

#[test]
fn the_newest_remain_and_never_more_than_allowed() {
    for (size, kept) in [
        ("1", &["5"][..]),
        ("2", &["4", "5"]),
        ("3", &["3", "4", "5"]),
    ] {
        let site = site(size);
        site.run(&nodes(2), |rank| {
            for id in 1..=5usize {
                let name = format!("ck.{id}");
                rank.session
                    .start_output(Some(name.as_str().into()), true, false)
                    .unwrap();
                let path = rank
                    .session
                    .route(Path::new(&format!("{name}/rank_{}.dat", rank.rank)));
                assert!(datasets(&site, nodes(2)[rank.rank]).len() <= kept.len());
                let content = site::content(&name, rank.rank, 1000 + 7 * rank.rank);
                std::fs::write(path.unwrap(), content).unwrap();
                rank.session.complete_output(true).unwrap();
                assert!(datasets(&site, nodes(2)[rank.rank]).len() <= kept.len());
            }
        });
        for node in ["n0", "n1"] {
            assert_eq!(datasets(&site, node), kept, "size {size}");
        }
        site.expect_restart(&nodes(2), Some("ck.5"));
    }
}

/// Ends in the middle of a dataset, as if killed.
fn die_in(rank: &mut Rank, name: &str) {
    rank.session
        .start_output(Some(name.into()), true, false)
        .unwrap();
    let path = rank.session.route(Path::new(&format!("{name}/x"))).unwrap();
    std::fs::write(path, b"half").unwrap();
}

#[test]
fn with_two_the_last_good_one_stays_until_the_next_is_whole() {
    for size in ["2", "3"] {
        let site = site(size);
        site.run(&nodes(4), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
            die_in(rank, "ck.3");
        });
        site.expect_restart(&nodes(4), Some("ck.2"));
        assert!(!datasets(&site, "n0").contains(&"3".to_string()));
    }
}

#[test]
fn with_one_a_kill_in_the_next_goes_back_to_the_flush() {
    let site = site("1").set("SCR_FLUSH", "2");
    site.run(&nodes(4), |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
        die_in(rank, "ck.4");
    });
    site.expect_restart(&nodes(4), Some("ck.2"));
    assert_eq!(datasets(&site, "n0"), ["2"]);
}

#[test]
fn a_fetch_makes_room_first() {
    let site = site("1").set("SCR_FLUSH", "1");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    let site = site.set("SCR_FLUSH", "0");
    // ck.2 is in the cache only, and cannot be used by three ranks.
    site.run(&nodes(4), |rank| {
        rank.restart();
        rank.checkpoint("ck.2").unwrap();
    });
    for node in ["n1", "n2"] {
        std::fs::remove_dir_all(site.dataset(node, 2)).unwrap();
    }
    site.expect_restart(&nodes(4), Some("ck.1"));
    assert_eq!(datasets(&site, "n0"), ["1"]);
    assert_eq!(
        site.entries("n0", "scr.quarantine."),
        [""; 0],
        "it was in the way"
    );
}

#[test]
fn a_run_of_another_size_says_so_and_leaves_the_data() {
    let site = site("2");
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    for told in site.run(&nodes(3), |rank| rank.session.have_restart()) {
        let error = told.unwrap_err().to_string();
        assert!(
            error.contains("dataset 2 (ck.2): was written by 4 ranks, this run has 3"),
            "{error}"
        );
        for way_out in ["run with 4 ranks", "SCR_START_ANEW=1", "SCR_CACHE_PURGE=1"] {
            assert!(error.contains(way_out), "{error}");
        }
    }
    site.expect_restart(&nodes(4), Some("ck.2"));

    // A checkpoint of the other run takes the room of the older one.
    let site = site.set("SCR_START_ANEW", "1");
    site.run(&nodes(3), |rank| {
        assert_eq!(rank.restart(), None);
        rank.checkpoint("other").unwrap();
    });
    assert_eq!(datasets(&site, "n0").len(), 2);
    site.expect_restart(&nodes(4), Some("ck.2"));
    site.expect_restart(&nodes(3), Some("other"));
}

#[test]
fn what_was_whole_and_cannot_be_rebuilt_is_kept_aside_until_room_is_needed() {
    let site = site("4");
    site.run(&nodes(4), |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
    });
    for node in ["n1", "n2"] {
        for id in [2, 3] {
            let record = format!(".scr/filemap_{}", &node[1..]);
            std::fs::write(site.dataset(node, id).join(record), b"gone").unwrap();
        }
    }
    site.run(&nodes(4), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        let kept = site.entries("n0", "scr.quarantine.");
        assert_eq!(kept, ["scr.quarantine.2", "scr.quarantine.3"]);
        rank.session.need_checkpoint().unwrap();
        rank.checkpoint("again").unwrap();
        assert_eq!(site.entries("n3", "scr.quarantine."), kept);
    });
    assert!(
        site.heard("is kept in")
            .iter()
            .any(|line| line.contains("scr.quarantine.3"))
    );
    // With less room it is the first to go.
    let site = site.set("SCR_CACHE_SIZE", "3");
    site.run(&nodes(4), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("again"));
        rank.session.need_checkpoint().unwrap();
        rank.checkpoint("last").unwrap();
        assert_eq!(site.entries("n0", "scr.quarantine."), [""; 0]);
        assert_eq!(datasets(&site, "n0"), ["1", "4", "5"]);
    });
}

#[test]
fn a_node_that_was_away_does_not_mix_its_old_dataset_in() {
    for (back, then) in [("n3", "n3"), ("n3", "s"), ("n1", "n3")] {
        let site = site("2");
        site.run(&nodes(4), |rank| rank.checkpoint("old").unwrap());
        // The node goes away; the others begin again, and come to the same id.
        std::fs::rename(site.node(back), site.outside()).unwrap();
        nodes(4)
            .iter()
            .filter(|node| **node != back)
            .for_each(|node| site.lose(node));
        site.run(&nodes(4), |rank| {
            assert_eq!(rank.restart(), None);
            rank.checkpoint("new").unwrap();
        });
        assert_eq!(datasets(&site, "n0"), ["1"]);
        site.lose(back);
        std::fs::rename(site.outside(), site.node(back)).unwrap();
        site.expect_restart(&["n0", "n1", "n2", then], Some("new"));
        site.lose("n0");
        site.expect_restart(&["s0", "n1", "n2", then], Some("new"));
    }
}

#[test]
fn a_newer_dataset_of_the_same_id_that_is_lost_does_not_take_the_older_with_it() {
    let site = site("2");
    site.run(&nodes(4), |rank| rank.checkpoint("old").unwrap());
    let keep = ["n0", "n1", "n2"];
    let aside = |node: &str| site.outside().join(node);
    std::fs::create_dir(site.outside()).unwrap();
    keep.iter()
        .for_each(|node| std::fs::rename(site.node(node), aside(node)).unwrap());
    site.lose("n3");
    site.run(&nodes(4), |rank| rank.checkpoint("new").unwrap());
    for node in keep {
        site.lose(node);
        std::fs::rename(aside(node), site.node(node)).unwrap();
    }
    site.expect_restart(&nodes(4), Some("old"));
    assert_eq!(site.heard("dataset 1 (new) cannot be used").len(), 1);
}

/// All files of each rank, by name below the dataset: none, empty ones, alike ones.
fn files(rank: usize) -> Vec<(String, usize)> {
    let files = match rank % 4 {
        0 => vec![("state", 700), ("a/x", 20), ("b/x", 30)],
        1 => vec![("state", 900), ("empty", 0)],
        2 => vec![],
        _ => vec![
            ("mit Leerzeichen", 5),
            ("größe/ß 漢字.dat", 333),
            ("deep/er/and/deeper", 1),
        ],
    };
    let named = |(name, size)| (format!("{name}.{rank}"), size);
    files.into_iter().map(named).collect()
}

fn write_files(rank: &mut Rank) {
    rank.session
        .start_output(Some("odd".into()), true, false)
        .unwrap();
    for (name, size) in files(rank.rank) {
        let path = rank.session.route(Path::new(&name)).unwrap();
        std::fs::write(path, site::content(&name, rank.rank, size)).unwrap();
    }
    rank.session.complete_output(true).unwrap();
}

fn read_files(rank: &mut Rank) {
    assert_eq!(
        rank.session.have_restart().unwrap().unwrap().to_string(),
        "odd"
    );
    rank.session.start_restart().unwrap();
    for (name, size) in files(rank.rank) {
        let path = rank.session.route(Path::new(&name)).unwrap();
        assert!(
            std::fs::read(path).unwrap() == site::content(&name, rank.rank, size),
            "{name}"
        );
    }
    rank.session.complete_restart(true).unwrap();
}

#[test]
fn any_names_and_numbers_of_files_come_back() {
    for lost in ["n0", "n1", "n2", "n3"] {
        let site = site("1");
        site.run(&double_nodes(4), write_files);
        site.run(&double_nodes(4), read_files);
        site.lose(lost);
        let mut moved = double_nodes(4);
        moved
            .iter_mut()
            .filter(|node| **node == lost)
            .for_each(|node| *node = "spare");
        moved.rotate_left(1);
        site.run(&moved, read_files);
    }
}
