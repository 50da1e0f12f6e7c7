//! Restarts on another number of ranks, and in other boxes.

use super::{array, load, save};
use crate::fields_on_ranks::{Part, Random, cut, elements, list_part};
use crate::sampled::sampled;
use crate::site::{Rank, Site, nodes};
use scr::fields::Place;
use scr::store::posix::Posix;
use scr_jobs::tally::CountingFiles;
use std::sync::Arc;

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
            let write_all = |rank: &mut Rank| write(rank, "ck.1", &whole, &written[rank.rank]);
            site.run(&on_nodes(old), write_all);
            for new in sampled(1..=9) {
                let wanted = cut(&whole, new, &mut random);
                site.run(&on_nodes(new), |rank| {
                    read(rank, &whole, &wanted[rank.rank])
                });
            }
        }
    }
}

/// Each byte of a field is read once, whoever needs it.
#[test]
fn no_more_is_read_than_the_field_has() {
    let whole = [64i64, 64, 64];
    let bytes = 8 * 64 * 64 * 64;
    let mut random = Random(5);
    for (old, new) in [(4, 3), (3, 7), (8, 2), (1, 5), (4, 4)] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", "1")
            .set("SCR_FETCH_BYPASS", "1");
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
        site.run(&on_nodes(old), |rank| {
            write(rank, "ck.1", &whole, &written[rank.rank])
        });
        let files = CountingFiles::new(Posix);
        let tally = files.tally();
        let mut site = site;
        site.files = Arc::new(files);
        let before: Vec<u64> = site.run(&on_nodes(new), |rank| {
            rank.session.allow_other_ranks(true).unwrap();
            rank.session.have_restart().unwrap().unwrap();
            rank.session.comm().barrier().unwrap();
            let before = tally.bytes().0;
            rank.session.comm().barrier().unwrap();
            read(rank, &whole, &wanted[rank.rank]);
            before
        });
        let read = tally.bytes().0 - before[0];
        assert!(read >= bytes, "{old} to {new}: {read}");
        assert!(read <= bytes * 11 / 10, "{old} to {new}: {read} of {bytes}");
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
