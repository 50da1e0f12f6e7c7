//! Restart from the cache on thread ranks: nothing lost, ranks elsewhere, nodes lost.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod job;

use job::Site;

#[test]
fn the_newest_checkpoint_comes_back_where_it_was() {
    let site = Site::new().set("SCR_CACHE_SIZE", "2");
    let nodes = ["n0", "n1", "n2", "n3"];
    site.run(&nodes, |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
    });
    let names = site.run(&nodes, |rank| rank.restart());
    assert!(
        names.iter().all(|name| name.as_deref() == Some("ck.3")),
        "{names:?}"
    );
}

#[test]
fn each_single_node_may_be_lost() {
    for lost in 0..4 {
        let site = Site::new();
        let mut nodes = vec!["n0", "n1", "n2", "n3"];
        site.run(&nodes, |rank| rank.checkpoint("ck.1").unwrap());
        site.lose(nodes[lost]);
        nodes[lost] = "spare";
        let names = site.run(&nodes, |rank| rank.restart());
        assert!(
            names.iter().all(|name| name.as_deref() == Some("ck.1")),
            "{names:?}"
        );
    }
}

#[test]
fn ranks_may_run_on_other_nodes_than_before() {
    let site = Site::new();
    site.run(&["n0", "n0", "n1", "n1"], |rank| {
        rank.checkpoint("ck.1").unwrap()
    });
    let names = site.run(&["n1", "n2", "n0", "n1"], |rank| rank.restart());
    assert!(
        names.iter().all(|name| name.as_deref() == Some("ck.1")),
        "{names:?}"
    );
}
