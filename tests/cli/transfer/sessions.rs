//! Daemons and sessions of the program that have a name.

use super::poststage::{POSTSTAGE, on_nodes};
use super::*;

fn in_ocean<T: Send>(site: &Site, body: impl Fn(&mut Rank) -> T + Sync) -> Vec<T> {
    let ocean = Config::of_session("ocean");
    site.run_as(&NODES, &ocean, |rank| {
        rank.session.set_cwd(site.prefix().join("ocean"));
        body(rank)
    })
}

#[test]
fn the_daemon_of_a_job_serves_its_sessions() {
    let site = by_daemon();
    let mut daemons = ["n0", "n1"].map(|node| Running::on(&site, node));
    let text = Mutex::new(String::new());
    in_ocean(&site, |rank| {
        let takes = |daemon: &Running| daemon.says("/scr.1001@ocean, too");
        daemons.iter().for_each(takes);
        rank.checkpoint("o.1").unwrap();
        finalize(rank);
        *text.lock().unwrap() = events(&site);
    });
    daemons[0].says("dataset 1, part 0 of 2 (o.1): copied");
    daemons[1].says("dataset 1, part 1 of 2 (o.1): copied");
    let text = text.into_inner().unwrap();
    assert!(!text.contains("no transfer daemon"), "{text}");
    // One that is stopped stops those of the sessions.
    for (node, daemon) in ["n0", "n1"].iter().zip(&mut daemons) {
        transfer(&site, node, &["--stop"]).out();
        assert_eq!(daemon.ends(), Some(0));
        let base = site.node(node);
        let dir = base.join("user1/scr.1001@ocean");
        let status = transfer(
            &site,
            node,
            &["--status", "--cntldir", dir.to_str().unwrap()],
        )
        .out();
        assert!(status.starts_with("daemon: none\n"), "{status}");
    }
    lose_all(&site);
    let names = in_ocean(&site, Rank::restart);
    assert_eq!(names, vec![Some("o.1".to_string()); 4]);
}

#[test]
fn poststage_finishes_what_sessions_have_left() {
    let site = slow()
        .set("SCR_FLUSH_TYPE", "PTHREAD")
        .set("SCR_FLUSH_POSTSTAGE", "1");
    site.run(&NODES, finalize);
    in_ocean(&site, |rank| {
        rank.checkpoint("o.1").unwrap();
        finalize(rank);
    });
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert!(
        said.starts_with("The last run has left no flush behind\nSession in "),
        "{said}"
    );
    let end = "/ocean:\nDataset 1 (`o.1') is complete in the prefix directory\n";
    assert!(said.ends_with(end), "{said}");
    lose_all(&site);
    let names = in_ocean(&site, Rank::restart);
    assert_eq!(names, vec![Some("o.1".to_string()); 4]);
}
