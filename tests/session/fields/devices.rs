//! Fields in memory that only copies reach: written straight to kept files or piece by piece, with copies that fail, and
//! with bounds that are too narrow.

use super::{array, load, own, part};
use crate::fields_on_ranks::{Devices, save};
use crate::helpers::is_mapped;
use crate::site::{Rank, Site, nodes};
use scr::fields::{Class, Element, Kind, List, Place, RemoteMemory, Slice, Spec, restore};
use scr_testing::apart::{Apart, Copies};
use scr_testing::faulty::Faulty;
use std::sync::Arc;

/// Numbers of a large field: more than any buffer has.
const LARGE: usize = 700_000;

/// The state of a rank: a large field that lies as in the file, a large one with gaps, a part, and small ones.
#[derive(Clone, PartialEq, Debug)]
struct State {
    step: [i64; 1],
    whole: Vec<f64>,
    /// Rows of which the last two numbers of each five are no elements.
    gaps: Vec<i32>,
    part: Vec<f32>,
    small: [u8; 5],
}

impl State {
    fn new(step: i64, me: usize) -> Self {
        let number = |at: usize, field: i64| (at as i64 * field + step * 1000 + me as i64) as f64;
        let gap = |at: usize| match at % 5 {
            3 | 4 => -7,
            _ => number(at, 5) as i32,
        };
        State {
            step: [step],
            whole: (0..LARGE).map(|at| number(at, 3)).collect(),
            gaps: (0..5 * 60_000).map(gap).collect(),
            part: (0..100_000).map(|at| number(at, 7) as f32).collect(),
            small: [step as u8, me as u8, 3, 4, 5],
        }
    }

    fn empty() -> Self {
        State {
            step: [0],
            whole: vec![-1.0; LARGE],
            gaps: vec![-7; 5 * 60_000],
            part: vec![-1.0; 100_000],
            small: [9; 5],
        }
    }

    /// All fields, in an order that `turn` gives.
    fn list(
        &mut self,
        list: &mut List<'_>,
        (me, size): (usize, usize),
        turn: i64,
    ) -> scr::Result<()> {
        for field in 0..5 {
            match (field + turn) % 5 {
                0 => array(list, "step", &mut self.step, Place::Same)?,
                1 => own(list, "whole", &mut self.whole)?,
                2 => {
                    let spec = Spec {
                        name: "gaps",
                        kind: i32::KIND,
                        extents: &[60_000, 3],
                        strides: Some(&[20, 4]),
                        place: Place::Own,
                    };
                    let length = size_of_val(&self.gaps[..]);
                    let mut memory = Slice::new(&mut self.gaps);
                    crate::fields_on_ranks::give(list, spec, &mut memory, (0, length))?;
                }
                3 => {
                    let length = self.part.len();
                    part(list, "part", &mut self.part, size * length, me * length)?;
                }
                _ => own(list, "small", &mut self.small)?,
            }
        }
        Ok(())
    }
}

fn write(rank: &mut Rank, step: i64) -> scr::Result<()> {
    let me = (rank.rank, rank.session.comm().size());
    let mut state = State::new(step, me.0);
    let written = save(rank, &format!("ck.{step}"), |list| {
        state.list(list, me, step)
    });
    assert!(
        state == State::new(step, me.0),
        "a checkpoint changes nothing"
    );
    written
}

/// Restores, and compares all with what the step has; the step, or 0 without a checkpoint.
fn read(rank: &mut Rank, turn: i64) -> scr::Result<i64> {
    let me = (rank.rank, rank.session.comm().size());
    let mut state = State::empty();
    let found = load(rank, |list| state.list(list, me, turn))?;
    let [step] = state.step;
    if found.is_some() {
        assert!(
            state == State::new(step, me.0),
            "rank {} of step {step}",
            me.0
        );
    }
    Ok(step)
}

fn site() -> Site {
    Site::in_memory()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_COPY_TYPE", "XOR")
        .set("SCR_FLUSH", "0")
}

/// Any fields on devices in any of the checkpoints, with and without kept files, and with a lost node.
#[test]
fn fields_on_devices_come_back_beside_others_in_any_order() {
    for (seed, mapped) in [(1, "1"), (2, "1"), (3, "0")] {
        let site = site().set("SCR_CACHE_MAPPED", mapped);
        site.run(&nodes(3), |rank| {
            for step in 1..=6 {
                Devices::some(seed * 100 + step as u64 * 3 + rank.rank as u64).use_now();
                write(rank, step).unwrap();
            }
        });
        site.lose("n1");
        site.run(&nodes(3), |rank| {
            Devices::some(seed + rank.rank as u64).use_now();
            assert_eq!(read(rank, 6).unwrap(), 6);
        });
    }
}

/// The first checkpoints are written to new files, and later ones straight to the files that were kept.
#[test]
fn kept_files_are_filled_straight_and_pinned_once() {
    let site = site();
    if !is_mapped(&site) {
        return;
    }
    let large = (LARGE * 8 + 400_000) as u64;
    site.run(&nodes(3), |rank| {
        let devices = Devices::all();
        devices.use_now();
        let copies = &devices.copies;
        for step in [1, 6, 11, 16] {
            let before = copies.straight();
            write(rank, step).unwrap();
            let straight = copies.straight() - before;
            assert_eq!(straight, if step > 6 { large } else { 0 }, "step {step}");
        }
        assert_eq!(copies.pins(), 2, "once for each of two files");
        assert_eq!(read(rank, 1).unwrap(), 16);
        // A file that cannot be pinned is filled all the same.
        copies.refuse_pins();
        for step in [21, 26] {
            write(rank, step).unwrap();
        }
        assert_eq!(read(rank, 1).unwrap(), 26);
        rank.finalize().unwrap();
        assert_eq!(copies.late(), 0, "unpinned before the pages go");
    });
}

/// Bytes of a number that mean nothing may differ from rank to rank, and none is in a file.
#[test]
fn padding_of_numbers_on_devices_is_not_compared() {
    let site = site();
    site.run(&nodes(2), |rank| {
        let mut bytes = vec![0x40_u8; 16 * 6000];
        for number in bytes.chunks_mut(16) {
            number[10..].fill(rank.rank as u8 + 1);
        }
        let mut list = |list: &mut List<'_>| {
            let spec = Spec {
                name: "x87",
                kind: Kind::new(Class::Extended, 16),
                extents: &[6000],
                strides: None,
                place: Place::Same,
            };
            let mut memory = RemoteMemory(Apart::new(bytes.clone(), 0, &Copies::default()));
            list.field(spec, Some(&mut memory))?;
            bytes = memory.0.into_bytes();
            Ok(())
        };
        save(rank, "ck.1", &mut list).unwrap();
        load(rank, &mut list).unwrap();
        assert!(bytes.chunks(16).all(|number| number[..10] == [0x40; 10]));
    });
}

/// The checkpoint fails on all ranks, the error names the field, and the last one stays.
#[test]
fn a_copy_that_fails_fails_the_checkpoint_and_no_other() {
    for mapped in ["1", "0"] {
        let site = site().set("SCR_CACHE_MAPPED", mapped);
        site.run(&nodes(3), |rank| {
            let devices = Devices::all();
            devices.use_now();
            let mut last = 0;
            for step in 1..=5 {
                write(rank, step).unwrap();
                last = step;
            }
            let before = devices.copies.made();
            write(rank, 6).unwrap();
            let all = devices.copies.made() - before;
            last = last.max(6);
            for at in (1..=all).step_by(3) {
                if rank.rank == 1 {
                    devices.copies.fail_at(at);
                }
                let error = write(rank, last + 1).unwrap_err().to_string();
                assert!(
                    error.contains("field \"") && error.contains("DEVICE_LOST"),
                    "{error}"
                );
                devices.copies.fail_at(0);
                assert_eq!(read(rank, 1).unwrap(), last, "after copy {at}");
                last += 1;
                write(rank, last).unwrap();
            }
        });
        site.run(&nodes(3), |rank| {
            Devices::none();
            assert!(read(rank, 1).unwrap() > 6);
        });
    }
}

/// A restart says so on all ranks, and the checkpoints stay.
#[test]
fn a_copy_that_fails_in_a_restart_is_an_error_and_costs_no_checkpoint() {
    let site = site();
    site.run(&nodes(3), |rank| write(rank, 1).unwrap());
    for at in [1, 2, 3, 5] {
        site.run(&nodes(3), |rank| {
            let devices = Devices::all();
            devices.use_now();
            if rank.rank == 2 {
                devices.copies.fail_at(at);
            }
            let error = read(rank, 1).unwrap_err().to_string();
            assert!(
                error.contains("DEVICE_LOST") && error.contains("field \""),
                "{error}"
            );
            devices.copies.fail_at(0);
        });
    }
    site.run(&nodes(3), |rank| assert_eq!(read(rank, 1).unwrap(), 1));
}

/// Lists a field of `extents` and `strides` in a memory of `bytes`, whose byte `first` is that of the first element.
fn bounded(
    list: &mut List<'_>,
    (extents, strides): (&[i64], &[i64]),
    (bytes, first): (&mut Vec<u8>, usize),
    copies: &Copies,
) -> scr::Result<()> {
    let spec = Spec {
        name: "rho",
        kind: f64::KIND,
        extents,
        strides: Some(strides),
        place: Place::Own,
    };
    let mut memory = RemoteMemory(Apart::new(std::mem::take(bytes), first, copies));
    let listed = list.field(spec, Some(&mut memory));
    *bytes = memory.0.into_bytes();
    listed
}

#[test]
fn a_field_beyond_its_allocation_is_an_error_before_anything_is_copied() {
    /// Extents, strides, bytes of the memory and of what is before the first element, and what the error tells.
    type Case = (&'static [i64], &'static [i64], usize, usize, &'static str);
    let cases: [Case; 4] = [
        (&[10, 10], &[80, 8], 800, 0, "from 0 to before 800"),
        (&[10, 10], &[80, 8], 801, 1, "from 0 to before 800"),
        (&[4], &[-16], 56, 48, "from -48 to before 8"),
        (&[3, 2], &[8, 24], 48, 0, "from 0 to before 48"),
    ];
    for (extents, strides, bytes, first, told) in cases {
        let site = site();
        site.run(&nodes(3), |rank| {
            let copies = Copies::default();
            let me = rank.rank;
            let list = |list: &mut List<'_>, (less, first): (usize, usize)| {
                let less = if me == 1 { less } else { 0 };
                let mut memory = vec![me as u8; bytes - less];
                bounded(list, (extents, strides), (&mut memory, first), &copies)
            };
            save(rank, "ck.1", |state| list(state, (0, first))).unwrap();
            let error = save(rank, "ck.2", |state| list(state, (1, first)));
            let error = error.unwrap_err().to_string();
            assert!(error.contains("\"rho\"") && error.contains(told), "{error}");
            if me == 1 {
                let made = copies.made();
                let mut passes = 0;
                let mut routine = |state: &mut List<'_>| {
                    passes += 1;
                    list(state, (1, first))
                };
                let error = restore(&mut rank.session, &mut routine).unwrap_err();
                assert!(error.to_string().contains(told), "{error}");
                assert_eq!((passes, copies.made()), (1, made), "it is not read");
            } else {
                let error = restore(&mut rank.session, &mut |state| list(state, (0, first)));
                let error = error.unwrap_err().to_string();
                assert!(error.contains("\"rho\""), "{error}");
            }
        });
        site.run(&nodes(3), |rank| {
            let mut memory = vec![9; bytes];
            let found = load(rank, |list| {
                let memory = (&mut memory, first);
                bounded(list, (extents, strides), memory, &Copies::default())
            });
            assert_eq!(found.unwrap().as_deref(), Some("ck.1"));
        });
    }
}

#[test]
fn a_field_that_begins_before_its_allocation_is_an_error() {
    site().run(&nodes(1), |rank| {
        let copies = Copies::default();
        let mut list = |list: &mut List<'_>| {
            let memory = (&mut vec![1; 100], 47);
            bounded(list, (&[4], &[-16]), memory, &copies)
        };
        let error = save(rank, "ck.1", &mut list).unwrap_err().to_string();
        assert!(error.contains("from -48 to before 8"), "{error}");
        assert_eq!(copies.made(), 0);
    });
}

/// The process dies at any of the operations on files, also when half of a fill was done.
#[test]
fn a_kill_while_kept_files_are_filled_costs_nothing_but_the_checkpoint() {
    let site_of = || site().set("SCR_COPY_TYPE", "SINGLE");
    if !is_mapped(&site_of()) {
        return;
    }
    let mut at = 1;
    loop {
        let mut site = site_of();
        let files = Faulty::new(scr::store::posix::Posix);
        let faults = files.faults();
        site.files = Arc::new(files);
        let ended = site.run(&nodes(1), |rank| {
            Devices::all().use_now();
            for step in [1, 6, 11] {
                write(rank, step).unwrap();
            }
            faults.die_at(faults.operations() + at);
            let written = write(rank, 16);
            written.is_ok() && !faults.is_dead()
        });
        site.files = Arc::new(scr::store::posix::Posix);
        let found = site.run(&nodes(1), |rank| {
            Devices::all().use_now();
            read(rank, 1).unwrap()
        });
        assert!(
            found[0] == 16 || found[0] == 11 && !ended[0],
            "{at}: {found:?}"
        );
        if ended[0] {
            break;
        }
        at += 1;
    }
    assert!(at > 5, "{at}");
}
