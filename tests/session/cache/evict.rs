//! Which dataset is evicted for a new one, on disk. Restarts after lost nodes show it.

use crate::site::{Site, nodes};

/// One store for two datasets; each fourth checkpoint survives a lost node.
fn site(count: &str) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", "FILE")
        .set("SCR_CACHE_SIZE", count)
        .set("SCR_FLUSH", "0");
    site.configure("CKPT=0 TYPE=SINGLE\nCKPT=1 INTERVAL=4 TYPE=XOR");
    site
}

fn datasets(site: &Site) -> Vec<String> {
    let names = site.entries("n0", "scr.dataset.").into_iter();
    names
        .map(|name| name["scr.dataset.".len()..].to_string())
        .collect()
}

#[test]
fn the_one_that_survives_a_node_stays_until_there_is_another() {
    let site = site("2");
    site.run(&nodes(3), |rank| {
        let kept = [
            "1", "1 2", "2 3", "3 4", "4 5", "4 6", "4 7", "4 8", "8 9", "10 8",
        ];
        for (number, kept) in (1..).zip(kept) {
            rank.checkpoint(&format!("ck.{number}")).unwrap();
            // Rank 0 is the only one that changes anything on its node.
            if rank.rank == 0 {
                assert_eq!(datasets(&site).join(" "), kept, "after {number}");
            }
        }
    });
    site.lose("n2");
    site.expect_restart(&["n0", "n1", "s"], Some("ck.8"));
}

#[test]
fn a_copy_in_the_prefix_directory_is_as_good() {
    let site = site("2").set("SCR_FLUSH", "6");
    site.run(&nodes(3), |rank| {
        (1..=7).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    // 4 survives a node, but 6 is newer and saved, so 4 went and 6 stayed.
    assert_eq!(datasets(&site), ["6", "7"]);
    site.lose("n1");
    site.expect_restart(&["n0", "s", "n2"], Some("ck.6"));
    // Unless nothing may be fetched.
    let site = self::site("2").set("SCR_FLUSH", "6").set("SCR_FETCH", "0");
    site.run(&nodes(3), |rank| {
        (1..=7).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    assert_eq!(datasets(&site), ["4", "7"]);
}

#[test]
fn what_a_dataset_survives_counts_as_it_is_after_the_restart() {
    let site = site("3");
    site.run(&nodes(4), |rank| {
        (1..=6).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    assert_eq!(datasets(&site), ["4", "5", "6"]);
    // Not brought back, since 6 is whole; but it is known to be safe, so 5 goes.
    site.run(&nodes(4), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.6"));
        rank.checkpoint("ck.7").unwrap();
    });
    assert_eq!(datasets(&site), ["4", "6", "7"]);
    // On half of the nodes its ranks protect each other no longer, so now it goes.
    let doubled = ["n0", "n1", "n0", "n1"];
    for (from, to) in [("n2", "n0"), ("n3", "n1")] {
        for id in [4, 6, 7] {
            let script = "cp -r \"$1\"/. \"$2\"/ && rm -r \"$1\"";
            let mut copy = std::process::Command::new("sh");
            copy.args(["-c", script, "sh"]);
            copy.args([site.dataset(from, id), site.dataset(to, id)]);
            assert!(copy.status().unwrap().success());
        }
    }
    site.run(&doubled, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.7"));
        rank.checkpoint("ck.8").unwrap();
    });
    assert_eq!(datasets(&site), ["6", "7", "8"]);
}

/// Nobody asked for it in the prefix directory, and no restart needs it.
#[test]
fn what_is_neither_checkpoint_nor_output_goes_before_the_last_checkpoint() {
    let site = site("2");
    site.run(&nodes(3), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.write("other", false, false).unwrap();
        if rank.rank == 0 {
            assert_eq!(datasets(&site), ["1", "2"]);
        }
        rank.checkpoint("ck.2").unwrap();
    });
    assert_eq!(datasets(&site), ["1", "3"]);
}

#[test]
fn a_dataset_that_has_lost_ranks_stands_less() {
    let site = site("2");
    site.configure(
        "CKPT=0 TYPE=SINGLE\nCKPT=1 INTERVAL=4 TYPE=XOR\n\
         CKPT=2 INTERVAL=8 TYPE=RS SET_FAILURES=2",
    );
    site.run(&nodes(5), |rank| {
        (1..=12).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    assert_eq!(datasets(&site), ["12", "8"]);
    // 12 is rebuilt each time, 8 is not: it has lost as much as it tolerates.
    site.lose("n1");
    site.expect_restart(&["n0", "s1", "n2", "n3", "n4"], Some("ck.12"));
    site.lose("n2");
    site.run(&["n0", "s1", "s2", "n3", "n4"], |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.12"));
        rank.checkpoint("ck.13").unwrap();
    });
    site.lose("n3");
    site.expect_restart(&["n0", "s1", "s2", "s3", "n4"], Some("ck.12"));
}

#[test]
fn what_was_dropped_from_the_index_does_not_count_as_saved() {
    let site = site("2").set("SCR_FLUSH", "5");
    site.run(&nodes(3), |rank| {
        (1..=5).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
        rank.session.drop_dataset(&"ck.5".into()).unwrap();
        rank.checkpoint("ck.6").unwrap();
    });
    site.lose("n1");
    site.expect_restart(&["n0", "s", "n2"], Some("ck.4"));
}
