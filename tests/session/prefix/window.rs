//! The sliding window over the prefix directory (`SCR_PREFIX_SIZE`).

use crate::site::Site;
use scr::format::Name;
use scr::format::flush_file::FlushFile;
use scr::format::index::Index;
use scr::store::posix::Posix;
use std::collections::BTreeSet;

const NODES: [&str; 2] = ["n0", "n1"];

/// A prefix directory with checkpoints `ck.1` to `ck.<count>`, which `output` marks as such.
fn filled(count: usize, output: bool) -> Site {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_CACHE_BYPASS", "1");
    site.run(&NODES, |rank| {
        for i in 1..=count {
            rank.write(&format!("ck.{i}"), true, output).unwrap();
        }
    });
    site
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

/// The datasets that the index calls good; each must have its files, and the others none.
fn kept(site: &Site) -> Vec<String> {
    let index = index(site);
    let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
    let names: Vec<String> = good
        .map(|(id, _)| index.name(*id).unwrap().to_string())
        .collect();
    let listed = std::fs::read_dir(site.prefix()).unwrap();
    let there = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = there.filter(|name| name != ".scr").collect();
    assert_eq!(there, names.iter().cloned().collect());
    names
}

/// What was written after a restart from an older checkpoint has the highest ids all the same.
#[test]
fn the_window_begins_at_the_checkpoint_just_flushed() {
    let site = filled(5, false)
        .set("SCR_PREFIX_SIZE", "2")
        .set("SCR_CURRENT", "ck.2");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.checkpoint("new.6").unwrap();
    });
    assert_eq!(index(&site).current(), Some(&Name::from("new.6")));
    assert_eq!(kept(&site), ["ck.5", "new.6"]);
}

#[test]
fn checkpoints_marked_as_output_do_not_push_out_the_one_just_flushed() {
    let site = filled(5, true)
        .set("SCR_PREFIX_SIZE", "2")
        .set("SCR_CURRENT", "ck.1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.checkpoint("new.2").unwrap();
    });
    assert!(site.prefix().join("new.2/rank_1.dat").exists());
    assert_eq!(index(&site).current(), Some(&Name::from("new.2")));
}

/// A program that writes output without asking for a restart gets an id above all others.
#[test]
fn the_window_leaves_what_the_next_run_is_to_start_from() {
    let site = filled(4, false).set("SCR_PREFIX_SIZE", "2");
    let mut chosen = index(&site);
    assert!(chosen.set_current(&Name::from("ck.1")));
    let path = site.prefix().join(".scr/index.scr");
    chosen.write(&Posix, &path).unwrap();
    site.run(&NODES, |rank| rank.write("out", false, true).unwrap());
    assert_eq!(index(&site).id(&Name::from("out")), Some(5));
    assert_eq!(kept(&site), ["ck.1", "ck.3", "ck.4", "out"]);
}

/// One bad byte in an old list of files is nothing that a new checkpoint suffers from.
#[test]
fn what_cannot_be_deleted_is_told_and_the_flush_is_good() {
    let site = filled(1, false).set("SCR_PREFIX_SIZE", "1");
    let list = site.prefix().join(".scr/scr.dataset.1/rank2file");
    let mut bytes = std::fs::read(&list).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&list, bytes).unwrap();
    site.run(&NODES, |rank| rank.checkpoint("ck.2").unwrap());
    let told = site.heard("could not be deleted");
    assert_eq!(told.len(), 1, "{told:?}");
    for part in ["warning", "dataset 1 (ck.1)", "rank2file"] {
        assert!(told[0].to_lowercase().contains(part), "{told:?}");
    }
    assert!(index(&site).get(2).unwrap().is_good());
    assert!(site.prefix().join("ck.1/rank_0.dat").exists());
}

/// A command that saves what is left after the run would otherwise rely on files that were deleted.
#[test]
fn the_flush_file_does_not_have_what_left_the_window_as_saved() {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_CACHE_SIZE", "3")
        .set("SCR_PREFIX_SIZE", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        if rank.rank > 0 {
            return;
        }
        let path = site.prefix().join(".scr/flush.scr");
        let flush: FlushFile = scr::format::read(&Posix, &path).unwrap();
        assert!(flush.datasets[&1].needs_flush());
        assert!(!flush.datasets[&2].needs_flush());
    });
}
