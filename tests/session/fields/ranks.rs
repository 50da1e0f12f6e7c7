//! Restarts on another number of ranks, and in other boxes.

use super::{array, load, save};
use crate::sampled::sampled;
use crate::site::{Rank, Site, nodes};
use scr::fields::{Class, Kind, List, Place, Slice, Spec};
use scr::store::counting::CountingFiles;
use scr::store::posix::Posix;
use std::sync::Arc;

/// A box: where it begins, and its extents.
pub type Part = (Vec<i64>, Vec<i64>);

/// A generator of small numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Cuts a whole into one box for each rank, at random places. Some boxes may be empty.
pub fn cut(whole: &[i64], ranks: usize, random: &mut Random) -> Vec<Part> {
    let mut parts = vec![(vec![0; whole.len()], whole.to_vec())];
    while parts.len() < ranks {
        let which = random.below(parts.len() as u64) as usize;
        let dim = random.below(whole.len() as u64) as usize;
        let (mut at, mut extents) = parts[which].clone();
        let first = random.below(extents[dim] as u64 + 1) as i64;
        parts[which].1[dim] = first;
        at[dim] += first;
        extents[dim] -= first;
        parts.push((at, extents));
    }
    // Any rank may have any box.
    for i in (1..parts.len()).rev() {
        parts.swap(i, random.below(i as u64 + 1) as usize);
    }
    parts
}

/// The elements of a box of a whole whose elements are their numbers.
pub fn elements(whole: &[i64], (at, extents): &Part, add: f64) -> Vec<f64> {
    let count: i64 = extents.iter().product();
    let element = |number: i64| {
        let (mut rest, mut index, mut step) = (number, 0, 1);
        for dim in (0..whole.len()).rev() {
            index += (at[dim] + rest % extents[dim]) * step;
            rest /= extents[dim];
            step *= whole[dim];
        }
        index as f64 + add
    };
    (0..count).map(element).collect()
}

pub fn list_part(
    list: &mut List<'_>,
    name: &str,
    whole: &[i64],
    (at, extents): &Part,
    data: &mut [f64],
) -> scr::Result<()> {
    let spec = Spec {
        name,
        kind: Kind::new(Class::Real, 8),
        extents,
        strides: None,
        place: Place::Part { whole, at },
    };
    list.field(spec, Some(&mut Slice::new(data)))
}

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
