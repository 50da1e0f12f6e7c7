//! Fetches of datasets in containers where the stores have no room: what the program is offered, it can
//! read, and nothing is given up that is good.

use crate::sampled::sampled;
use crate::site::{Site, nodes};
use scr::format::index::Index;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::path::Path;
use std::sync::Arc;

/// A name, and which paths have no room.
type Full = (&'static str, fn(&Path) -> bool);

/// What has no room when the program starts again.
const FULL: [Full; 5] = [
    ("nothing", |_| false),
    ("nodes", in_node),
    ("redundancy and records", |path| {
        in_node(path) && has(path, ".scr")
    }),
    ("one node", |path| has(path, "n1")),
    ("everything", |_| true),
];

fn has(path: &Path, component: &str) -> bool {
    path.components().any(|c| c.as_os_str() == component)
}

fn in_node(path: &Path) -> bool {
    has(path, "nodes")
}

/// Checkpoints ck.1 and ck.2 of three ranks in containers, and nothing in the caches.
fn in_containers() -> Site {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "1")
        .set("SCR_USE_CONTAINERS", "1")
        .set("SCR_CONTAINER_SIZE", "1500");
    site.run(&nodes(3), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    nodes(3).iter().for_each(|node| site.lose(node));
    site
}

fn with_faults(site: &mut Site) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files);
    faults
}

#[test]
fn what_is_offered_can_be_read_or_the_start_fails_and_nothing_is_given_up() {
    for (full, is_full) in FULL {
        for scheme in ["SINGLE", "XOR"] {
            for (damaged, ranks) in [(false, 3), (true, 3), (false, 2), (true, 5)] {
                for bypass in ["0", "1"] {
                    let mut site = in_containers()
                        .set("SCR_COPY_TYPE", scheme)
                        .set("SCR_FETCH_BYPASS", bypass);
                    if damaged {
                        let container = site.prefix().join(".scr/scr.dataset.2/ctr.1.scr");
                        let mut bytes = std::fs::read(&container).unwrap();
                        bytes[700] ^= 1;
                        std::fs::write(&container, bytes).unwrap();
                    }
                    with_faults(&mut site).fill_up_where(is_full);
                    let told = site.run(&nodes(ranks), |rank| rank.try_restart(ranks));
                    let case = format!(
                        "{full} full, {scheme}, {ranks} ranks, SCR_FETCH_BYPASS={bypass}, damaged: \
                         {damaged}\n{told:?}\n{}",
                        site.events.lines().join("\n")
                    );
                    let newest = if damaged { "ck.1" } else { "ck.2" };
                    assert!(told.iter().all(|t| *t == told[0]), "{case}");
                    match &told[0] {
                        Ok(name) => assert_eq!(name.as_deref(), Some(newest), "{case}"),
                        // Where the prefix directory has no room, too, the files cannot be extracted.
                        Err(error) => assert!(
                            full == "everything"
                                && error.contains("start again when that is mended"),
                            "{case}"
                        ),
                    }
                    let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
                    assert!(index.get(1).unwrap().is_good(), "{case}");
                    assert!(index.get(2).unwrap().is_good() || damaged, "{case}");
                    // There is room again.
                    site.files = Arc::new(Posix);
                    let told = site.run(&nodes(ranks), |rank| rank.try_restart(ranks));
                    assert_eq!(told[0], Ok(Some(newest.to_string())), "then: {case}");
                }
            }
        }
    }
}

/// What is in the way of the extracted files says nothing of the containers.
#[test]
fn a_file_in_place_of_a_directory_costs_no_checkpoint() {
    for (bypass, ranks) in [("1", 3), ("0", 2)] {
        let site = in_containers().set("SCR_FETCH_BYPASS", bypass);
        std::fs::write(site.prefix().join("ck.2"), "mine").unwrap();
        for told in site.run(&nodes(ranks), |rank| rank.try_restart(ranks)) {
            let error = told.expect_err("it cannot be read now");
            assert!(error.contains("start again when that is mended"), "{error}");
        }
        std::fs::remove_file(site.prefix().join("ck.2")).unwrap();
        let told = site.run(&nodes(ranks), |rank| rank.try_restart(ranks));
        assert_eq!(told[0], Ok(Some("ck.2".to_string())));
    }
}

#[test]
fn a_kill_while_files_are_extracted_leaves_a_start_that_extracts_them() {
    let prepared = || in_containers().set("SCR_FETCH_BYPASS", "1");
    let start = |site: &Site| {
        site.start(&nodes(3), |started| {
            if let Ok(Some(mut rank)) = started {
                let _ = rank.session.have_restart();
            }
        });
    };
    let mut counted = prepared();
    let counter = with_faults_of(&mut counted, 1);
    start(&counted);
    let operations = counter.operations();
    assert!(operations >= 10, "{operations}");
    for n in sampled(1..=operations) {
        let mut site = prepared();
        with_faults_of(&mut site, 1).die_at(n);
        start(&site);
        site.by_rank.clear();
        site.expect_restart(&nodes(3), Some("ck.2"));
    }
}

/// Faults of the operations of one rank.
fn with_faults_of(site: &mut Site, rank: usize) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.by_rank = vec![None; 3];
    site.by_rank[rank] = Some(Arc::new(files));
    faults
}
