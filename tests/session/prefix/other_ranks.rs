//! Checkpoints in the prefix directory that another number of ranks wrote: they are not used, they
//! are reported, and they are not overwritten.

use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use scr::format::index::Index;
use scr::store::posix::Posix;
use std::path::Path;

/// Checkpoints of four ranks, of which no cache has anything.
fn of_four(bypass: &str, names: &[&str]) -> Site {
    let site = Site::new()
        .set("SCR_CACHE_BYPASS", bypass)
        .set("SCR_FLUSH", "1");
    site.run(&nodes(4), |rank| {
        names.iter().for_each(|name| rank.checkpoint(name).unwrap());
    });
    nodes(4).iter().for_each(|node| lose(&site, node));
    site
}

fn lose(site: &Site, node: &str) {
    if site.node(node).exists() {
        site.lose(node);
    }
}

fn refused(rank: &mut Rank) -> String {
    rank.session.have_restart().unwrap_err().to_string()
}

fn is_whole(site: &Site, name: &str) -> bool {
    (0..4).all(|rank| {
        let path = site.prefix().join(format!("{name}/rank_{rank}.dat"));
        std::fs::read(path).unwrap() == content(name, rank, 1000 + 7 * rank)
    })
}

#[test]
fn one_message_names_the_number_of_ranks_and_the_ways_out() {
    for bypass in ["1", "0"] {
        let site = of_four(bypass, &["ck.1", "ck.2", "ck.3"]);
        let before = site.events.lines().len();
        for error in site.run(&nodes(3), |rank| {
            let error = refused(rank);
            assert_eq!(refused(rank), error, "the next call says the same");
            error
        }) {
            for words in [
                "dataset 3 (ck.3)",
                "was written by 4 ranks, this run has 3",
                "2 other checkpoints",
                "run with 4 ranks",
                "other names",
                "scr index --drop ck.3",
                "SCR_START_ANEW=1",
            ] {
                assert!(error.contains(words), "{error}");
            }
        }
        let said = site.events.lines().split_off(before);
        let loud = said.iter().filter(|line| line.contains("4 ranks")).count();
        assert_eq!(loud, 0, "only the error says it: {said:?}");
        site.expect_restart(&nodes(4), Some("ck.3"));
    }
}

#[test]
fn an_older_one_that_fits_is_no_way_round() {
    let site = of_four("1", &["ck.4"]);
    let ours = site.set("SCR_START_ANEW", "1");
    ours.run(&nodes(3), |rank| rank.checkpoint("ck.3").unwrap());
    ours.run(&nodes(4), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.4"));
        rank.checkpoint("ck.5").unwrap();
    });
    let ours = ours.set("SCR_START_ANEW", "0");
    ours.run(&nodes(3), |rank| assert!(refused(rank).contains("ck.5")));
    let ours = ours.set("SCR_START_ANEW", "1");
    ours.expect_restart(&nodes(3), Some("ck.3"));
}

#[test]
fn none_is_overwritten_under_its_name_or_its_paths() {
    for bypass in ["1", "0"] {
        let site = of_four(bypass, &["ck.1", "ck.2"]);
        site.run(&nodes(3), |rank| {
            // Also a program that never asks for a restart.
            let name = || Some(Name::from("ck.1"));
            let error = rank.session.start_output(name(), true, false).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("would overwrite a checkpoint"), "{error}");
            assert!(error.contains("scr index --drop ck.1"), "{error}");
            refused(rank);
            rank.session.start_output(name(), true, false).unwrap_err();
            // Another name, and the paths of an old one.
            let name = Some("new".into());
            rank.session.start_output(name, true, false).unwrap();
            let old = format!("ck.2/rank_{}.dat", rank.rank);
            let routed = rank.session.route(Path::new(&old));
            if bypass == "1" {
                let error = routed.unwrap_err().to_string();
                assert!(error.contains("is a file of dataset 2 (ck.2)"), "{error}");
                rank.session.complete_output(true).unwrap();
            } else {
                std::fs::write(routed.unwrap(), b"new").unwrap();
                let error = rank.session.complete_output(true).unwrap_err().to_string();
                assert!(error.contains("is a file of dataset 2 (ck.2)"), "{error}");
            }
            rank.checkpoint("ck.3").unwrap();
        });
        assert!(is_whole(&site, "ck.1") && is_whole(&site, "ck.2"));
        nodes(4).iter().for_each(|node| lose(&site, node));
        site.expect_restart(&nodes(3), Some("ck.3"));
    }
}

#[test]
fn what_was_given_up_may_be_overwritten() {
    let site = of_four("1", &["ck.1", "ck.2"]);
    site.run(&nodes(3), |rank| {
        refused(rank);
        // As `scr index --drop ck.1` does while the run is on.
        rank.session.drop_dataset(&"ck.1".into()).unwrap();
        rank.checkpoint("ck.1").unwrap();
    });
    let path = site.prefix().join(".scr/index.scr");
    let index = Index::read(&Posix, &path).unwrap();
    assert_eq!(index.id(&Name::from("ck.1")), Some(3));
    assert_eq!(index.id(&Name::from("ck.2")), Some(2));
    let site = site.set("SCR_START_ANEW", "1");
    site.run(&nodes(3), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.checkpoint("ck.2").unwrap();
    });
    let site = site.set("SCR_START_ANEW", "0");
    site.expect_restart(&nodes(3), Some("ck.2"));
}
