//! Bad input: an error on all ranks that names field, rank and remedy. No phase stays open, and nothing is lost.

use super::{array, load, own, part, save};
use crate::site::{Rank, Site, nodes};
use scr::Error;
use scr::fields::{Class, Element, Kind, List, Place, Spec};
use scr::session::state::State;

/// A list that is wrong on rank 1.
type Wrong = fn(&mut List<'_>, usize) -> scr::Result<()>;

fn spec<'a>(name: &'a str, extents: &'a [i64], place: Place<'a>) -> Spec<'a> {
    Spec {
        name,
        kind: f64::KIND,
        extents,
        strides: None,
        place,
    }
}

const WRONG: [(Wrong, &[&str]); 14] = [
    (
        |list, me| own(list, if me == 1 { "" } else { "a" }, &mut [1.0]),
        &["empty name"],
    ),
    (
        |list, me| {
            own(
                list,
                &"n".repeat(if me == 1 { 1024 } else { 1023 }),
                &mut [1.0],
            )
        },
        &["1024 bytes", "at most 1023"],
    ),
    (
        |list, me| own(list, if me == 1 { "a\nb" } else { "a" }, &mut [1.0]),
        &["control character"],
    ),
    (
        |list, me| {
            own(list, "twice", &mut [1.0])?;
            own(list, if me == 1 { "twice" } else { "once" }, &mut [1.0])
        },
        &["\"twice\"", "listed twice"],
    ),
    (
        |list, me| match me {
            1 => list.field(spec("null", &[3], Place::Own), None),
            _ => own(list, "null", &mut [1.0; 3]),
        },
        &["\"null\"", "NULL", "3 elements"],
    ),
    (
        |list, me| {
            let extents = [i64::MAX, if me == 1 { 2 } else { 0 }];
            list.field(spec("huge", &extents, Place::Own), None)
        },
        &["\"huge\"", "too many bytes"],
    ),
    (
        |list, me| {
            let strides = [if me == 1 { 4 } else { 8 }];
            let mut data = [0.0; 4];
            let spec = Spec {
                strides: Some(&strides),
                ..spec("steps", &[4], Place::Own)
            };
            list.field(spec, Some(&mut scr::fields::Slice::new(&mut data)))
        },
        &["\"steps\"", "overlap"],
    ),
    (
        |list, me| {
            part(
                list,
                "beyond",
                &mut [0.0; 4],
                12,
                4 * me + 8 * (me / 2) + me % 2,
            )
        },
        &["\"beyond\""],
    ),
    (
        |list, me| {
            part(
                list,
                "doubled",
                &mut vec![0.0; if me == 0 { 5 } else { 4 }],
                12,
                4 * me,
            )
        },
        &["\"doubled\"", "ranks 0 and 1 both have the element [4]"],
    ),
    (
        |list, me| {
            part(
                list,
                "hole",
                &mut vec![0.0; if me == 1 { 3 } else { 4 }],
                12,
                4 * me,
            )
        },
        &["\"hole\"", "no rank has the element [7] of the whole [12]"],
    ),
    (
        |list, me| {
            array(
                list,
                "equal",
                &mut [if me == 1 { 2i32 } else { 1 }],
                Place::Same,
            )
        },
        &["\"equal\"", "the same on all ranks"],
    ),
    (
        |list, me| own(list, if me == 1 { "b" } else { "a" }, &mut [1.0]),
        &["as number 1 this rank lists \"b\"", "rank 0 lists \"a\""],
    ),
    (
        |list, me| match me {
            1 => own(list, "a", &mut [1.0f32]),
            _ => own(list, "a", &mut [1.0f64]),
        },
        &["\"a\"", "float32", "float64"],
    ),
    (
        |_, me| match me {
            1 => Err(Error::usage("SCR_Checkpoint", "the routine returned 7")),
            _ => Ok(()),
        },
        &["the routine returned 7"],
    ),
];

fn good(rank: &mut Rank, step: f64) {
    let mut x = [step + rank.rank as f64];
    save(rank, &format!("good.{step}"), |list| own(list, "x", &mut x)).unwrap();
}

fn expect(rank: &mut Rank, step: f64) {
    let mut x = [0.0];
    let found = load(rank, |list| own(list, "x", &mut x)).unwrap();
    assert_eq!(found, Some(format!("good.{step}")));
    assert_eq!(x, [step + rank.rank as f64]);
}

#[test]
fn a_list_that_is_wrong_on_one_rank_fails_on_all_and_costs_nothing() {
    let site = Site::in_memory().set("SCR_CACHE_SIZE", "2");
    site.run(&nodes(3), |rank| {
        good(rank, 1.0);
        for (wrong, expected) in WRONG {
            let me = rank.rank;
            let failed = save(rank, "bad", |list| wrong(list, me));
            let error = failed.expect_err(expected[0]).to_string();
            for expected in expected {
                assert!(error.contains(expected), "{error} says {expected}");
            }
            assert!(error.contains("rank "), "{error} names a rank");
            assert_eq!(rank.session.state(), State::Idle);
        }
        expect(rank, 1.0);
        good(rank, 2.0);
    });
    site.run(&nodes(3), |rank| expect(rank, 2.0));
    site.run(&nodes(3), |rank| {
        // In a restart, too; and the checkpoint is not given up.
        let me = rank.rank;
        let mut x = [-1.0];
        let failed = load(rank, |list| {
            own(list, "x", &mut x)?;
            if me == 1 {
                own(list, "x", &mut [1.0])
            } else {
                Ok(())
            }
        });
        let error = failed.unwrap_err().to_string();
        assert!(
            error.contains("listed twice") && error.contains("not given up"),
            "{error}"
        );
        assert_eq!(x, [-1.0]);
        assert_eq!(rank.session.state(), State::Idle);
    });
    site.run(&nodes(3), |rank| expect(rank, 2.0));
}

#[test]
fn a_routine_that_lists_otherwise_when_it_reads_fails_on_all_ranks() {
    let site = Site::in_memory();
    site.run(&nodes(3), |rank| {
        let me = rank.rank;
        save(rank, "ck.1", |list| {
            part(list, "a", &mut [1.0; 2], 6, 2 * me)?;
            part(list, "b", &mut [1.0; 2], 6, 2 * me)
        })
        .unwrap();
    });
    site.run(&nodes(2), |rank| {
        let me = rank.rank;
        let mut calls = 0;
        let failed = load(rank, |list| {
            calls += 1;
            part(list, "a", &mut [0.0; 3], 6, 3 * me)?;
            match (calls, me) {
                (2, 1) => Ok(()),
                _ => part(list, "b", &mut [0.0; 3], 6, 3 * me),
            }
        });
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("does not list \"b\""), "{error}");
        assert_eq!(rank.session.state(), State::Idle);
    });
}

#[test]
fn a_call_inside_of_another_phase_is_refused() {
    let site = Site::in_memory();
    site.run(&nodes(2), |rank| {
        rank.session.start_checkpoint().unwrap();
        let error = save(rank, "ck.1", |list| own(list, "x", &mut [1.0]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("SCR_Checkpoint is not allowed between SCR_Start_checkpoint"),
            "{error}"
        );
        assert_eq!(rank.session.state(), State::Checkpoint);
        rank.session.complete_checkpoint(true).unwrap();
        assert_eq!(Kind::new(Class::Real, 8), f64::KIND);
    });
}

/// An error in the middle of the list comes back from every later call.
#[test]
fn the_first_error_of_a_list_counts_whatever_the_routine_returns() {
    let site = Site::in_memory();
    site.run(&nodes(2), |rank| {
        let failed = save(rank, "ck.1", |list| {
            let first = own(list, "", &mut [1.0]).unwrap_err();
            assert_eq!(own(list, "x", &mut [1.0]).unwrap_err(), first);
            Ok(())
        });
        assert!(failed.unwrap_err().to_string().contains("empty name"));
        let failed = save(rank, "ck.1", |list| list.begin("cells"));
        assert!(
            failed
                .unwrap_err()
                .to_string()
                .contains("\"cells/\" was begun and not ended")
        );
        let failed = save(rank, "ck.1", |list| list.end());
        assert!(
            failed
                .unwrap_err()
                .to_string()
                .contains("no list was begun")
        );
    });
}
