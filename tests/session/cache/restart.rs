//! Restart from the cache on thread ranks: nothing lost, ranks on other nodes, nodes lost, or both;
//! and what happens if more is lost than the redundancy tolerates.

use crate::checkpoints::double_nodes;
use crate::site::{Site, nodes};
use scr::format::index::Index;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Where the ranks run: one a node for 1, 2, 4, 5 and 8 ranks, and 8 ranks on 4 nodes.
fn shapes() -> Vec<Vec<&'static str>> {
    let mut shapes: Vec<_> = [1, 2, 4, 5, 8].map(nodes).into();
    shapes.push(double_nodes(4));
    shapes
}

/// The nodes with one replaced.
fn replaced<'a>(nodes: &[&'a str], old: &str, new: &'a str) -> Vec<&'a str> {
    let swap = |node: &&'a str| if *node == old { new } else { *node };
    nodes.iter().map(swap).collect()
}

/// Every rank where its neighbour was.
fn shifted<'a>(nodes: &[&'a str]) -> Vec<&'a str> {
    let mut nodes = nodes.to_vec();
    nodes.rotate_left(1);
    nodes
}

fn with_checkpoints(site: Site, nodes: &[&str], names: &[&str]) -> Site {
    site.run(nodes, |rank| {
        for name in names {
            rank.checkpoint(name).unwrap();
        }
    });
    site
}

#[test]
fn the_newest_checkpoint_comes_back_where_it_was() {
    for nodes in shapes() {
        let site = Site::new().set("SCR_CACHE_SIZE", "2");
        let site = with_checkpoints(site, &nodes, &["ck.1", "ck.2", "ck.3"]);
        site.expect_restart(&nodes, Some("ck.3"));
        assert_eq!(site.heard("rebuilt"), [""; 0]);
    }
}

#[test]
fn ranks_may_run_on_other_nodes_than_before() {
    for nodes in shapes() {
        let site = with_checkpoints(Site::new(), &nodes, &["ck.1"]);
        site.expect_restart(&shifted(&nodes), Some("ck.1"));
        // And back again, from where it was moved to.
        site.expect_restart(&nodes, Some("ck.1"));
        assert_eq!(site.heard("rebuilt"), [""; 0]);
    }
}

#[test]
fn nothing_is_left_where_ranks_have_moved_from() {
    for nodes in shapes() {
        let site = Site::new().set("SCR_FLUSH", "0");
        let site = with_checkpoints(site, &nodes, &["ck.1"]);
        site.run(&shifted(&nodes), |rank| {
            assert!(rank.restart().is_some());
            rank.finalize().unwrap();
        });
        for node in nodes {
            assert_eq!(site.entries(node, "scr.trash."), [""; 0], "{node}");
        }
    }
}

/// Also for one that is asked for when the newest has been read and refused, and for those
/// that only come back to be flushed.
#[test]
fn nothing_is_left_where_older_ones_have_moved_from() {
    for flush_on_restart in ["0", "1"] {
        let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
        let site = with_checkpoints(site, &nodes(4), &["ck.1", "ck.2"]);
        let site = site.set("SCR_FLUSH_ON_RESTART", flush_on_restart);
        // Then SCR_Finalize keeps what is in the prefix directory, too.
        let site = site.set("SCR_FETCH", "0");
        site.run(&shifted(&nodes(4)), |rank| {
            if flush_on_restart == "0" {
                rank.session.have_restart().unwrap();
                rank.session.start_restart().unwrap();
                assert!(rank.session.complete_restart(false).is_err());
                assert_eq!(rank.restart().as_deref(), Some("ck.1"));
            }
            rank.finalize().unwrap();
        });
        // Rank 0 had its part on n0 and runs on n1 now.
        assert!(site.dataset("n1", 1).join("rank_0").exists());
        assert!(!site.dataset("n0", 1).join("rank_0").exists());
        for node in nodes(4) {
            assert_eq!(site.entries(node, "scr.trash."), [""; 0], "{node}");
        }
    }
}

#[test]
fn what_killed_restarts_left_goes() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let site = with_checkpoints(site, &nodes(4), &["ck.1"]);
    let dataset = || site.dataset("n0", 1);
    let strays = [
        "rank_3/half a file",
        ".scr/3_of_4_in_0.xor",
        ".scr/next_1_of_4_in_0.xor",
    ];
    for stray in strays {
        let path = dataset().join(stray);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"left").unwrap();
    }
    site.run(&nodes(4), |rank| {
        assert!(rank.restart().is_some());
        rank.finalize().unwrap();
    });
    for stray in strays {
        let path = dataset().join(stray);
        assert!(!path.exists(), "{}", path.display());
    }
    assert!(!dataset().join("rank_3").exists());
    assert_eq!(site.entries("n0", "scr.trash."), [""; 0]);
    site.lose("n1");
    site.expect_restart(&nodes(4), Some("ck.1"));
}

/// Runs of one job in several directories share a cache, but never a checkpoint.
#[test]
fn a_run_in_another_prefix_directory_does_not_count() {
    let nodes = nodes(4);
    let site = Site::new().set("SCR_FLUSH", "0");
    let site = site.set("SCR_CACHE_SIZE", "4");
    let link = site.prefix();
    let enter = |name: &str| {
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(name, &link).unwrap();
    };
    std::fs::rename(&link, link.with_file_name("first")).unwrap();
    std::os::unix::fs::symlink("first", &link).unwrap();
    std::fs::create_dir(link.with_file_name("second")).unwrap();

    let site = with_checkpoints(site, &nodes, &["ck.1", "ck.2"]);
    enter("second");
    site.expect_restart(&nodes, None);
    assert_eq!(site.heard("was written by a run in").len(), 2);
    let site = with_checkpoints(site, &nodes, &["ck.7"]);
    enter("first");
    site.expect_restart(&nodes, Some("ck.2"));
    enter("second");
    site.expect_restart(&nodes, Some("ck.7"));

    // A directory that was moved is the same.
    std::fs::rename(link.with_file_name("first"), link.with_file_name("third")).unwrap();
    enter("third");
    site.expect_restart(&nodes, Some("ck.2"));
}

/// Loses each node in turn, in each shape with more than one; `place` says where the ranks
/// run then. Afterwards the redundancy must be whole again, so another node may go.
fn each_node_lost(place: impl for<'a> Fn(&[&'a str], &str) -> Vec<&'a str>) {
    for nodes in shapes() {
        let distinct: BTreeSet<&str> = nodes.iter().copied().collect();
        for &lost in distinct.iter().filter(|_| distinct.len() > 1) {
            let site = with_checkpoints(Site::new(), &nodes, &["ck.1"]);
            site.lose(lost);
            let now = place(&nodes, lost);
            site.expect_restart(&now, Some("ck.1"));
            assert_eq!(site.heard("rebuilt with XOR").len(), 1);

            // A node whose ranks are in sets with no other rank of that node.
            let next = now.iter().find(|n| nodes.contains(n) || **n == "spare");
            let next = next.copied().unwrap();
            if now.iter().filter(|node| **node == next).count() == nodes.len() / distinct.len() {
                site.lose(next);
                site.expect_restart(&replaced(&now, next, "spare2"), Some("ck.1"));
            }
        }
    }
}

#[test]
fn a_spare_takes_over_from_each_single_node() {
    each_node_lost(|nodes, lost| replaced(nodes, lost, "spare"));
}

#[test]
fn a_lost_rank_may_double_up_on_a_node_that_is_left() {
    each_node_lost(|nodes, lost| {
        let left = nodes.iter().rfind(|node| **node != lost).unwrap();
        replaced(nodes, lost, left)
    });
}

#[test]
fn one_node_may_be_lost_and_all_others_changed_at_once() {
    each_node_lost(|nodes, lost| shifted(&replaced(nodes, lost, "spare")));
}

/// n0 is lost, and `faulty` has trouble that passes: the job must not start from the cache, say
/// why, and find all there the next time. The part of rank 3 is with rank 2, of another set, so it
/// moves before its set rebuilds rank 1.
fn trouble_that_passes(faulty: usize, begin: impl Fn(&Site, &Faults), why: &str) {
    let mut site = Site::new().set("SCR_FLUSH", "0");
    site.run(&double_nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    site.lose("n0");
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.by_rank.resize(6, None);
    site.by_rank[faulty] = Some(Arc::new(files));
    begin(&site, &faults);
    let nodes = ["spare", "spare", "n1", "n2", "n2", "n2"];
    site.expect_none_now(&nodes, why);
    faults.limit_space(None);
    faults.fail_reads(None);
    site.expect_restart(&nodes, Some("ck.1"));
}

#[test]
fn a_full_disk_where_files_move_to_costs_no_checkpoint() {
    trouble_that_passes(3, |_, faults| faults.limit_space(Some(0)), "No space left");
}

#[test]
fn a_failing_disk_where_files_move_from_costs_no_checkpoint() {
    for file in ["rank_3/ck.1/rank_3.dat", ".scr/filemap_3"] {
        let begin = |_: &Site, faults: &Faults| {
            faults.fail_reads(Some((Path::new("scr.dataset.1").join(file), libc::EIO)));
        };
        trouble_that_passes(2, begin, "Input/output error");
    }
}

/// ck.2 is in the prefix directory, ck.3 in the cache only.
fn flushed(site: Site) -> Site {
    site.set("SCR_FLUSH", "2").set("SCR_CACHE_SIZE", "2")
}

const THREE: [&str; 3] = ["ck.1", "ck.2", "ck.3"];

#[test]
fn one_rank_that_lost_its_only_node_goes_back_to_the_flush_and_says_so() {
    let site = with_checkpoints(flushed(Site::new()), &["n0"], &THREE);
    site.lose("n0");
    site.expect_restart(&["n1"], Some("ck.2"));
    let heard = site.heard("dataset 3 (ck.3) cannot be used: no rank's record of it is left");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
}

#[test]
fn single_keeps_nothing_for_a_lost_node() {
    let site = flushed(Site::new()).set("SCR_COPY_TYPE", "SINGLE");
    let site = with_checkpoints(site, &nodes(4), &THREE);
    site.lose("n3");
    site.expect_restart(&["n0", "n1", "n2", "spare"], Some("ck.2"));
    let heard = site.heard("dataset 3 (ck.3) cannot be used: the files of rank 3 are lost");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
}

#[test]
fn two_nodes_of_a_set_lost_go_back_to_the_flush() {
    let site = with_checkpoints(flushed(Site::new()), &nodes(5), &THREE);
    site.lose("n1");
    site.lose("n3");
    site.expect_restart(&["n0", "s1", "n2", "s2", "n4"], Some("ck.2"));
    let heard = site.heard("dataset 3 (ck.3) cannot be used: the files of ranks 1 and 3 are lost");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
    assert!(heard[0].contains("XOR over 5 ranks survives the loss of 1"));
}

#[test]
fn an_older_checkpoint_in_the_cache_comes_before_the_prefix() {
    let site = Site::new().set("SCR_FLUSH", "2").set("SCR_CACHE_SIZE", "3");
    let site = with_checkpoints(site, &nodes(4), &["ck.1", "ck.2", "ck.3", "ck.4", "ck.5"]);
    // ck.4 was flushed, so its cached copy is as new as what the prefix has.
    for node in ["n1", "n2"] {
        std::fs::remove_dir_all(site.dataset(node, 5)).unwrap();
    }
    site.expect_restart(&nodes(4), Some("ck.4"));
    assert_eq!(site.heard("dataset 5 (ck.5) cannot be used").len(), 1);
    assert_eq!(
        site.heard("dataset 4 (ck.4) is ready in the cache").len(),
        1
    );
}

#[test]
fn with_nothing_left_the_start_from_the_beginning_is_said() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let site = with_checkpoints(site, &nodes(4), &["ck.1"]);
    site.lose("n1");
    site.lose("n2");
    site.expect_restart(&["n0", "s1", "s2", "n3"], None);
    assert_eq!(site.heard("dataset 1 (ck.1) cannot be used").len(), 1);
    assert_eq!(site.heard("starts from the beginning").len(), 1);
}

/// Names of the complete datasets in the prefix directory, and the current one.
fn in_prefix(site: &Site) -> (Vec<String>, Option<String>) {
    let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
    let good = index.datasets().iter().filter(|(_, entry)| entry.complete);
    let names = good
        .filter_map(|(id, _)| index.name(*id))
        .map(ToString::to_string);
    (names.collect(), index.current().map(ToString::to_string))
}

#[test]
fn all_that_is_not_flushed_is_flushed_on_restart() {
    for flushed in [None, Some("2"), Some("3")] {
        let site = Site::new()
            .set("SCR_CACHE_SIZE", "3")
            .set("SCR_FLUSH", flushed.unwrap_or("0"));
        let site = with_checkpoints(site, &nodes(4), &["ck.1", "ck.2", "ck.3"]);
        let site = site.set("SCR_FLUSH", "0").set("SCR_FLUSH_ON_RESTART", "1");
        site.lose("n1");
        let now = replaced(&nodes(4), "n1", "spare");
        site.run(&now, |rank| {
            assert_eq!(rank.restart().as_deref(), Some("ck.3"));
            rank.session.need_checkpoint().unwrap();
            rank.checkpoint("ck.4").unwrap();
        });
        let (names, current) = in_prefix(&site);
        assert_eq!(names, ["ck.1", "ck.2", "ck.3"], "{flushed:?}");
        assert_eq!(current.as_deref(), Some("ck.3"), "{flushed:?}");
        // From there they come back byte for byte.
        for node in &now {
            site.lose(node);
        }
        site.expect_restart(&nodes(4), Some("ck.3"));
    }
}

#[test]
fn what_cannot_be_rebuilt_does_not_keep_the_rest_from_being_flushed() {
    let site = Site::new().set("SCR_CACHE_SIZE", "3").set("SCR_FLUSH", "0");
    let site = with_checkpoints(site, &nodes(4), &["ck.1", "ck.2", "ck.3"]);
    for node in ["n0", "n3"] {
        let file = site.dataset(node, 2).join("rank_0/ck.2/rank_0.dat");
        let file = match node {
            "n0" => file,
            _ => site.dataset(node, 2).join("rank_3/ck.2/rank_3.dat"),
        };
        std::fs::write(file, b"damaged").unwrap();
    }
    let site = site.set("SCR_FLUSH_ON_RESTART", "1");
    site.run(&nodes(4), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.3"));
        // All ranks agree on what makes room first.
        rank.checkpoint("ck.4").unwrap();
        rank.checkpoint("ck.5").unwrap();
    });
    assert_eq!(in_prefix(&site).0, ["ck.1", "ck.3"]);
    assert_eq!(
        site.heard("dataset 2 (ck.2) cannot be brought back").len(),
        1
    );
    for node in nodes(4) {
        assert_eq!(site.entries(node, "scr.quarantine."), [""; 0]);
        assert_eq!(site.entries(node, "scr.dataset.").len(), 3);
    }
}

#[test]
fn what_stays_in_the_cache_unused_stays_in_the_flush_file() {
    let site = Site::new().set("SCR_CACHE_SIZE", "3").set("SCR_FLUSH", "0");
    let site = with_checkpoints(site, &nodes(4), &["ck.1"]);
    let entries = || {
        let path = site.prefix().join(".scr/flush.scr");
        let file: scr::format::flush_file::FlushFile = scr::format::read(&Posix, &path).unwrap();
        file.datasets.keys().copied().collect::<Vec<_>>()
    };
    // Of no use to three ranks; then it goes, since there is no room.
    site.run(&nodes(3), |rank| {
        if rank.rank == 0 {
            assert_eq!(entries(), [1]);
        }
        rank.session.need_checkpoint().unwrap();
        rank.checkpoint("a").unwrap();
        rank.checkpoint("b").unwrap();
        if rank.rank == 0 {
            assert_eq!(entries(), [1, 2, 3]);
        }
        rank.checkpoint("c").unwrap();
        if rank.rank == 0 {
            assert_eq!(entries(), [2, 3, 4]);
        }
    });
}

#[test]
fn one_file_is_unverified_and_two_are() {
    for ranks in [1, 2] {
        let site = Site::new().set("SCR_CACHE_BYPASS", "1");
        let site = with_checkpoints(site, &nodes(ranks), &["ck.1"]);
        site.expect_restart(&nodes(ranks), Some("ck.1"));
        let said = ["1 file is unverified", "2 files are unverified"][ranks - 1];
        assert_eq!(site.heard(said).len(), 1, "{:?}", site.events.lines());
    }
}

/// ck.2 is taken from the prefix directory: no warning says that it is not used.
#[test]
fn what_is_wrong_with_a_copy_in_the_cache_is_no_warning_if_the_prefix_directory_has_it() {
    let site = Site::new().set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "2");
    let site = site.set("SCR_COPY_TYPE", "SINGLE");
    let site = with_checkpoints(site, &nodes(3), &["ck.1", "ck.2"]);
    site.lose("n2");
    site.expect_restart(&["n0", "n1", "spare"], Some("ck.2"));
    let warnings = site.heard("Warning: ");
    assert!(
        warnings.iter().all(|line| !line.contains("ck.")),
        "{warnings:?}"
    );
    let note = site.heard("dataset 2 (ck.2) is sought in the prefix directory");
    assert_eq!(note.len(), 1, "{:?}", site.events.lines());
}

/// A kill between the renames of an eviction and the change of the flush file.
#[test]
fn what_was_evicted_as_planned_is_not_told_to_be_lost() {
    for evicted in [true, false] {
        let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
        let site = with_checkpoints(site, &nodes(3), &["ck.1", "ck.2"]);
        for node in nodes(3) {
            let dir = site.dataset(node, 1);
            if evicted {
                std::fs::rename(&dir, dir.with_file_name("scr.trash.1")).unwrap();
            } else {
                std::fs::remove_dir_all(&dir).unwrap();
            }
        }
        site.expect_restart(&nodes(3), Some("ck.2"));
        let told = site.heard("SCR-215").len();
        assert_eq!(told, usize::from(!evicted), "{:?}", site.events.lines());
    }
}
