//! Restarts on another number of ranks, and in other boxes.

use super::{array, load, save};
use crate::fields_on_ranks::{Devices, Part, Random, cut, elements, list_part};
use crate::sampled::sampled;
use crate::site::{Rank, Site, nodes};
use scr::fields::Place;
use scr::store::posix::Posix;
use scr_jobs::tally::{CountingFiles, Observer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

fn write(rank: &mut Rank, name: &str, whole: &[i64], part: &Part) {
    let mut data = elements(whole, part, 0.5);
    let mut step = [17i32];
    save(rank, name, |list| {
        list_part(list, "grid", whole, part, &mut data)?;
        array(list, "step", &mut step, Place::Same)
    })
    .unwrap();
}

fn read(rank: &mut Rank, whole: &[i64], part: &Part) {
    let right = elements(whole, part, 0.5);
    let mut data = vec![-1.0; right.len()];
    let mut step = [0i32];
    let found = load(rank, |list| {
        list_part(list, "grid", whole, part, &mut data)?;
        array(list, "step", &mut step, Place::Same)
    });
    assert!(found.unwrap().is_some());
    assert_eq!(step, [17]);
    assert!(data == right, "rank {} of {whole:?}: {part:?}", rank.rank);
}

/// Nine ranks at most, on four nodes.
fn on_nodes(ranks: usize) -> Vec<&'static str> {
    (0..ranks).map(|rank| nodes(4)[rank * 4 / ranks]).collect()
}

#[test]
fn any_number_of_ranks_restores_what_any_other_wrote() {
    let mut random = Random(3);
    for dims in 1..=3 {
        for old in 1..=9 {
            let whole: Vec<i64> = [vec![101], vec![13, 11], vec![7, 6, 5]][dims - 1].clone();
            let written = cut(&whole, old, &mut random);
            let site = Site::in_memory().set("SCR_FLUSH", "1");
            let write_all = |rank: &mut Rank| {
                Devices::some(rank.rank as u64).use_now();
                write(rank, "ck.1", &whole, &written[rank.rank]);
            };
            site.run(&on_nodes(old), write_all);
            for new in sampled(1..=9) {
                let wanted = cut(&whole, new, &mut random);
                site.run(&on_nodes(new), |rank| {
                    Devices::some((7 * new + rank.rank) as u64).use_now();
                    read(rank, &whole, &wanted[rank.rank])
                });
            }
        }
    }
}

/// How often each file of fields is opened, and how many bytes of it are read.
#[derive(Clone, Default)]
struct Reads(Arc<Mutex<BTreeMap<String, (u64, u64)>>>);

impl Reads {
    fn add(&self, path: &Path, opened: u64, bytes: u64) {
        let name = path.file_name().unwrap().to_string_lossy();
        if name.starts_with("rank_") {
            let mut all = self.0.lock().unwrap();
            let counts = all.entry(name.into_owned()).or_default();
            *counts = (counts.0 + opened, counts.1 + bytes);
        }
    }
}

impl Observer for Reads {
    fn operation(&self, operation: &'static str, path: &Path, _: u64) {
        self.add(path, (operation == "open").into(), 0);
    }

    fn read(&self, path: &Path, bytes: u64) {
        self.add(path, 0, bytes);
    }

    fn written(&self, _: &Path, _: u64) {}
}

/// Each byte of a field is read by one rank and once, also where files that are fetched go to the caches.
#[test]
fn no_more_is_read_than_the_field_has() {
    let whole = [64i64, 64, 64];
    let bytes = 8 * 64 * 64 * 64;
    let mut random = Random(5);
    for (old, new) in [(4, 3), (3, 7), (8, 2), (1, 5), (4, 4), (7, 4), (3, 2)] {
        let written = cut(&whole, old, &mut random);
        // Columns, of which each needs something of every file.
        let wanted: Vec<Part> = (0..new as i64)
            .map(|rank| {
                let begin = |rank: i64| 64 * rank / new as i64;
                (
                    vec![0, 0, begin(rank)],
                    vec![64, 64, begin(rank + 1) - begin(rank)],
                )
            })
            .collect();
        let two_nodes: Vec<&str> = (0..new).map(|rank| nodes(2)[rank * 2 / new]).collect();
        for bypass in ["1", "0"] {
            let mut site = Site::in_memory()
                .set("SCR_FLUSH", "1")
                .set("SCR_CACHE_BYPASS", "0")
                .set("SCR_FETCH_BYPASS", bypass);
            site.run(&on_nodes(old), |rank| {
                write(rank, "ck.1", &whole, &written[rank.rank])
            });
            let files = CountingFiles::observed(Posix, Reads::default());
            let reads = files.tally();
            site.files = Arc::new(files);
            site.run(&two_nodes, |rank| {
                rank.session.allow_other_ranks(true).unwrap();
                rank.session.have_restart().unwrap().unwrap();
                rank.session.comm().barrier().unwrap();
                reads.0.lock().unwrap().clear();
                rank.session.comm().barrier().unwrap();
                read(rank, &whole, &wanted[rank.rank]);
            });
            let reads = reads.0.lock().unwrap();
            let read: u64 = reads.values().map(|(_, bytes)| bytes).sum();
            let case = format!("{old} to {new}, bypass {bypass}: {reads:?} of {bytes}");
            assert!(read >= bytes && read <= bytes * 11 / 10, "{case}");
            // A rank that holds no file reads in one of another rank what there is.
            let shared = new > old;
            // Routing opens it, and so does its reader.
            let once = reads.values().all(|(opened, _)| *opened == 2);
            assert!(shared || once && reads.len() == old, "{case}");
        }
    }
}

#[test]
fn other_boxes_of_the_same_ranks_come_from_the_cache() {
    let mut random = Random(9);
    let whole = [40i64, 30];
    let site = Site::in_memory().set("SCR_FLUSH", "0");
    let written = cut(&whole, 4, &mut random);
    let wanted = cut(&whole, 4, &mut random);
    site.run(&nodes(4), |rank| {
        write(rank, "ck.1", &whole, &written[rank.rank])
    });
    site.run(&nodes(4), |rank| read(rank, &whole, &wanted[rank.rank]));
    assert!(!site.prefix().join("ck.1").exists(), "nothing was flushed");
}

#[test]
fn a_field_without_a_place_needs_its_ranks_or_is_read_part_by_part() {
    let site = Site::in_memory().set("SCR_FLUSH", "1");
    site.run(&on_nodes(5), |rank| {
        let mut own = vec![rank.rank as f64; rank.rank + 1];
        let mut count = own.len() as i64;
        save(rank, "ck.1", |list| {
            list.count("particles", &mut count)?;
            super::own(list, "x", &mut own)
        })
        .unwrap();
    });
    site.run(&on_nodes(2), |rank| {
        let mut own = [-1.0; 3];
        let error = load(rank, |list| super::own(list, "x", &mut own))
            .unwrap_err()
            .to_string();
        for expected in [
            "\"x\"",
            "5 ranks wrote it",
            "this run has 2",
            "SCR_From_rank",
        ] {
            assert!(error.contains(expected), "{error} says {expected}");
        }
        assert_eq!(own, [-1.0; 3]);
    });
    site.run(&on_nodes(2), |rank| {
        let me = rank.rank as u64;
        let mut parts: Vec<(u64, Vec<f64>)> = Vec::new();
        let found = load(rank, |list| {
            parts.clear();
            for old in (0..list.stored_ranks().unwrap()).filter(|old| old % 2 == me) {
                let options = scr::fields::Options {
                    from: Some(old),
                    ..Default::default()
                };
                let mut count = 0;
                list.next(options);
                list.count("particles", &mut count)?;
                list.next(options);
                let stored = list.stored("x")?.unwrap();
                assert_eq!(stored.extents, [count]);
                let mut part = vec![0.0; count as usize];
                super::own(list, "x", &mut part)?;
                parts.push((old, part));
            }
            Ok(())
        });
        assert!(found.unwrap().is_some());
        for (old, part) in parts {
            assert_eq!(part, vec![old as f64; old as usize + 1]);
        }
    });
}
