//! PARTNER and Reed-Solomon on thread ranks: each survives the losses for which it is configured.
//! If more is lost, the next older dataset is used.

use crate::site::{Site, nodes};

fn site(scheme: &str, failures: &str, count: usize) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_SET_FAILURES", failures)
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "2");
    site.run(&nodes(count), |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
    });
    site
}

/// Loses the nodes; spares take their places.
fn replaced(site: &Site, count: usize, lost: &[&'static str]) -> Vec<&'static str> {
    const SPARES: [&str; 3] = ["s0", "s1", "s2"];
    let mut now = nodes(count);
    for (node, spare) in lost.iter().zip(SPARES) {
        site.lose(node);
        let place = now.iter_mut().find(|n| *n == node).unwrap();
        *place = spare;
    }
    now
}

#[test]
fn as_many_nodes_as_configured_may_be_lost() {
    for scheme in ["RS", "PARTNER"] {
        for (count, lost) in [(4, ["n1", "n2"]), (4, ["n0", "n3"]), (5, ["n0", "n2"])] {
            let site = site(scheme, "2", count);
            let now = replaced(&site, count, &lost);
            site.expect_restart(&now, Some("ck.3"));
            // Full redundancy is restored: two others may go.
            let now: Vec<&str> = now
                .into_iter()
                .map(|node| match node {
                    "s0" => "s3",
                    "s1" => "s4",
                    other => other,
                })
                .collect();
            site.lose("s0");
            site.lose("s1");
            site.expect_restart(&now, Some("ck.3"));
        }
    }
}

#[test]
fn one_more_goes_back_to_the_flush_and_says_why() {
    let site = site("RS", "2", 5);
    let now = replaced(&site, 5, &["n0", "n1", "n3"]);
    site.expect_restart(&now, Some("ck.2"));
    let heard =
        site.heard("dataset 3 (ck.3) cannot be used: the files of ranks 0, 1 and 3 are lost");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
    assert!(heard[0].contains("RS over 5 ranks survives the loss of 2"));
}

#[test]
fn partner_survives_more_where_a_copy_is_left() {
    // One copy on the right neighbour: every second node may go.
    let site = site("PARTNER", "1", 4);
    let now = replaced(&site, 4, &["n0", "n2"]);
    site.expect_restart(&now, Some("ck.3"));
}

#[test]
fn a_set_too_small_says_what_it_survives() {
    let site = site("RS", "4", 3);
    let heard = site.heard("you survive the loss of any 2 nodes, not of 3");
    assert!(!heard.is_empty(), "{:?}", site.events.lines());
    let now = replaced(&site, 3, &["n0", "n1"]);
    site.expect_restart(&now, Some("ck.3"));
}
