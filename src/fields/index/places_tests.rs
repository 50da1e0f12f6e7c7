//! Places: what is copied from them and to them.

use super::places::{Next, Places, copy_in, copy_out, each_place};
use crate::fields::index::ids::{Encoder, Run};
use crate::fields::index::set::{Builder, WINDOW};

fn listed(list: &[u64]) -> Places {
    let (mut encoder, mut places) = (Encoder::default(), Places::default());
    for first in list {
        encoder.add(Run {
            first: *first,
            count: 1,
        });
    }
    places.add_list(encoder.finish());
    places
}

fn direct(list: &[u64]) -> Places {
    let mut places = Places::default();
    for part in list.chunks(list.len().div_ceil(3).max(1)) {
        places.add_direct(part.iter().map(|at| *at as u32).collect());
    }
    places
}

/// Places that ascend, as several sets.
fn ascending(list: &[u64]) -> Places {
    let mut places = Places::default();
    for part in list.chunks(list.len().div_ceil(3).max(1)) {
        let mut builder = Builder::default();
        part.iter().for_each(|at| builder.add_bits(*at, 1));
        let set = builder.finish();
        places.add_set(set.bytes, set.count);
    }
    places
}

/// Few places, and many: some of them follow each other, also over the ends of words and windows.
fn lists() -> [Vec<u64>; 3] {
    let many = (0..WINDOW + 500).filter(|at| at / 70 % 2 == 0 || at * at % 7 == 1);
    let all = 3..WINDOW + 200;
    [vec![1, 2, 3, 6, 9, 10, 14], many.collect(), all.collect()]
}

#[test]
fn elements_of_any_size_are_copied_in_pieces() {
    for (list, unit) in lists().iter().flat_map(|list| {
        let units = [1, 2, 3, 4, 8, 12, 16, 24, 32, 40];
        units.map(|unit| (list, unit))
    }) {
        let end = list.last().unwrap() + 1;
        let file: Vec<u8> = (0..end as usize * unit)
            .map(|i| (i * 7 / 3) as u8)
            .collect();
        let steps = if list.len() < 10 { 1..4 } else { 4101..4102 };
        for (step, places) in
            steps.flat_map(|step| [listed, ascending, direct].map(|of| (step, of(list))))
        {
            let (mut next, mut out) = (Next::default(), Vec::new());
            for from in (0..end).step_by(step) {
                let to = (from + step as u64).min(end);
                let piece = &file[from as usize * unit..to as usize * unit];
                copy_out(&places, &mut next, from..to, (piece, unit), &mut out).unwrap();
            }
            let right = list.iter().map(|at| &file[*at as usize * unit..][..unit]);
            assert_eq!(out, right.collect::<Vec<_>>().concat());
            // The copied elements go to places in another order, or to places with gaps.
            let back: Vec<u64> = (0..list.len() as u64).rev().collect();
            for (to, order) in [
                (listed(&back), &back),
                (direct(&back), &back),
                (ascending(list), list),
            ] {
                for with_gaps in [false, true] {
                    let mut memory = vec![0; end as usize * unit];
                    let mut next = Next::default();
                    for piece in out.chunks((2 + step / 3) * unit) {
                        let done = if with_gaps {
                            each_place(&to, &mut next, (piece, unit), |at, bytes| {
                                memory[at as usize * unit..][..bytes.len()].copy_from_slice(bytes);
                                Ok(())
                            })
                        } else {
                            copy_in(&to, &mut next, (piece, unit), &mut memory)
                        };
                        done.unwrap();
                    }
                    let mut right = vec![0; memory.len()];
                    for (at, element) in order.iter().zip(out.chunks(unit)) {
                        right[*at as usize * unit..][..unit].copy_from_slice(element);
                    }
                    assert!(memory == right, "{unit} {step}");
                }
            }
        }
    }
}

#[test]
fn wrong_places_and_elements_are_an_error() {
    let (file, mut out) = ([0; 12], Vec::new());
    for places in [listed, ascending, direct] {
        let mut out_of = |list: &[u64], from: std::ops::Range<u64>| {
            copy_out(
                &places(list),
                &mut Next::default(),
                from,
                (&file, 4),
                &mut out,
            )
        };
        assert!(out_of(&[3, 5], 3..6).is_ok());
        assert!(out_of(&[2, 5], 3..6).is_err());
        assert!(out_of(&[6], 3..7).is_err());
        assert!(out_of(&[64], 64..65).is_ok());
        assert!(out_of(&[68], 64..69).is_err());
    }
    let put = |places: Places, length: usize| {
        let mut memory = [0; 12];
        copy_in(
            &places,
            &mut Next::default(),
            (&file[..length], 4),
            &mut memory,
        )
    };
    assert!(put(listed(&[2, 0]), 8).is_ok());
    assert!(put(direct(&[2, 0]), 8).is_ok());
    assert!(put(ascending(&[0, 2]), 8).is_ok());
    for (list, length) in [(&[2][..], 8), (&[3], 4), (&[0, 2], 7), (&[1, 2, 3], 12)] {
        assert!(put(listed(list), length).is_err(), "{list:?}, {length}");
        assert!(put(direct(list), length).is_err(), "{list:?}, {length}");
        assert!(put(ascending(list), length).is_err(), "{list:?}, {length}");
    }
    let lost = each_place(&listed(&[2]), &mut Next::default(), (&file, 4), |_, _| {
        Ok(())
    });
    assert!(lost.is_err());
}
