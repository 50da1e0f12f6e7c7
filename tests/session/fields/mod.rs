//! Checkpoints of fields: what is written is what is restored, on any number of ranks, or nothing is.

mod changed_lists;
mod changes;
mod damage;
mod damaged_lists;
mod devices;
mod indexed;
mod input;
mod keyed;
mod kinds;
mod mixed;
mod model;
mod places;
mod ranks;
mod refused;
mod shared;
mod stored_lists;

use crate::fields_on_ranks::{give, save};
use crate::sampled::sampled;
use crate::site::{Rank, Site, nodes};
use scr::fields::{Element, List, Place, Slice, Spec, restore};

/// Restores what `routine` lists; the name of the checkpoint.
pub fn load(
    rank: &mut Rank,
    mut routine: impl FnMut(&mut List<'_>) -> scr::Result<()>,
) -> scr::Result<Option<String>> {
    let found = restore(&mut rank.session, &mut routine)?;
    Ok(found.map(|name| name.to_string()))
}

/// The seeds of random programs: the `usual` number of them, or as many as `SCR_FIELDS_PROGRAMS` says.
fn programs(usual: u64) -> impl Iterator<Item = u64> {
    let number = std::env::var("SCR_FIELDS_PROGRAMS");
    let number = number.ok().and_then(|number| number.parse().ok());
    sampled(1..=number.unwrap_or(usual))
}

/// Lists an array of this rank's own.
pub fn own<T: Element>(list: &mut List<'_>, name: &str, data: &mut [T]) -> scr::Result<()> {
    array(list, name, data, Place::Own)
}

pub fn array<T: Element>(
    list: &mut List<'_>,
    name: &str,
    data: &mut [T],
    place: Place<'_>,
) -> scr::Result<()> {
    let extents = [data.len() as i64];
    let spec = Spec {
        name,
        kind: T::KIND,
        extents: &extents,
        strides: None,
        place,
    };
    let length = size_of_val(data);
    give(list, spec, &mut Slice::new(data), (0, length))
}

/// Lists a part of a whole of one dimension.
pub fn part<T: Element>(
    list: &mut List<'_>,
    name: &str,
    data: &mut [T],
    whole: usize,
    at: usize,
) -> scr::Result<()> {
    let (whole, at) = ([whole as i64], [at as i64]);
    array(
        list,
        name,
        data,
        Place::Part {
            whole: &whole,
            at: &at,
        },
    )
}

/// A number of a rank, an element and a step.
fn value(rank: usize, element: usize, step: i64) -> f64 {
    rank as f64 * 1e6 + element as f64 + step as f64 * 1e-3
}

#[test]
fn what_was_written_is_restored_from_the_cache_and_from_the_prefix_directory() {
    for (bypass, flush, lost) in [("0", "0", false), ("0", "1", true), ("1", "1", false)] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", flush);
        site.run(&nodes(3), |rank| {
            let me = rank.rank;
            for step in 1..=2i64 {
                let mut grid: Vec<f64> = (0..1000 + me).map(|i| value(me, i, step)).collect();
                let mut done = [step];
                save(rank, &format!("ck.{step}"), |list| {
                    own(list, "grid", &mut grid)?;
                    array(list, "step", &mut done, Place::Same)
                })
                .unwrap();
            }
        });
        if lost {
            nodes(3).iter().for_each(|node| site.lose(node));
        }
        site.run(&nodes(3), |rank| {
            let me = rank.rank;
            let (mut grid, mut done) = (vec![0.0; 1000 + me], [0i64]);
            let found = load(rank, |list| {
                own(list, "grid", &mut grid)?;
                array(list, "step", &mut done, Place::Same)
            });
            assert_eq!(found.unwrap().as_deref(), Some("ck.2"));
            assert_eq!(done, [2]);
            let right = grid.iter().enumerate().all(|(i, x)| *x == value(me, i, 2));
            assert!(right, "rank {me}");
        });
    }
}

#[test]
fn a_run_without_a_checkpoint_starts_from_the_beginning() {
    let site = Site::new();
    site.run(&nodes(2), |rank| {
        let mut x = [7.0f64];
        assert_eq!(load(rank, |list| own(list, "x", &mut x)).unwrap(), None);
        assert_eq!(x, [7.0]);
    });
}
