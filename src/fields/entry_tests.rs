//! The arguments of a field: what is wrong is told, and what can be right is taken.

use super::entry::{Entry, Order, Place, Spec, check};
use crate::fields::kind::{Class, Kind};

const F64: Kind = Kind::new(Class::Real, 8);
const MOST: i64 = i64::MAX;

fn spec<'a>(
    name: &'a str,
    extents: &'a [i64],
    strides: Option<&'a [i64]>,
    place: Place<'a>,
) -> Spec<'a> {
    Spec {
        name,
        kind: F64,
        extents,
        strides,
        place,
    }
}

fn told(spec: Spec<'_>, has_memory: bool) -> Result<Entry, String> {
    let checked = check(spec.name.to_string(), &spec, Order::Column, has_memory);
    checked
        .map(|(entry, _)| entry)
        .map_err(|error| error.to_string())
}

#[test]
fn arguments_that_cannot_be_right_are_refused_with_the_name_of_the_field() {
    let part = |whole, at| Place::Part { whole, at };
    let long = "x".repeat(1024);
    let wrong = [
        (spec("", &[1], None, Place::Own), "empty name"),
        (spec(&long, &[1], None, Place::Own), "1024 bytes"),
        (spec("a\nb", &[1], None, Place::Own), "control character"),
        (spec("d", &[1; 8], None, Place::Own), "8 dimensions"),
        (spec("n", &[2, -1], None, Place::Own), "negative"),
        (spec("o", &[MOST, 2], None, Place::Own), "too many bytes"),
        (spec("o", &[MOST / 4], None, Place::Own), "too many bytes"),
        (
            spec("z", &[MOST, MOST, 0], None, Place::Own),
            "too many bytes",
        ),
        (spec("s", &[4], Some(&[4]), Place::Own), "overlap"),
        (spec("s", &[4], Some(&[0]), Place::Own), "overlap"),
        (spec("s", &[4, 2], Some(&[8, 16]), Place::Own), "overlap"),
        (
            spec("s", &[4, 2], Some(&[8]), Place::Own),
            "as many strides",
        ),
        (
            spec("s", &[4], Some(&[MOST]), Place::Own),
            "beyond any memory",
        ),
        (
            spec("s", &[4], Some(&[i64::MIN]), Place::Own),
            "beyond any memory",
        ),
        (
            spec("w", &[4], None, part(&[8], &[5])),
            "not inside the whole [8]",
        ),
        (
            spec("w", &[4], None, part(&[8], &[MOST])),
            "not inside the whole [8]",
        ),
        (spec("w", &[4], None, part(&[8], &[-1])), "negative"),
        (
            spec("w", &[4], None, part(&[8, 1], &[0])),
            "as many dimensions",
        ),
        (spec("w", &[], None, part(&[], &[])), "scalar"),
        (spec("w", &[1], None, part(&[MOST], &[0])), "too large"),
    ];
    for (spec, expected) in wrong {
        let error = told(spec, true).unwrap_err();
        assert!(error.contains(expected), "{error} says {expected}");
        let named = spec.name.len() > 1 || error.contains(&format!("\"{}\"", spec.name));
        assert!(named || spec.name.is_empty(), "{error}");
    }
    let error = told(spec("p", &[2, 3], None, Place::Own), false).unwrap_err();
    assert!(
        error.contains("NULL") && error.contains("6 elements"),
        "{error}"
    );
}

#[test]
fn arguments_that_can_be_right_are_taken() {
    let part = |whole, at| Place::Part { whole, at };
    told(spec("empty", &[0, 5], None, Place::Own), false).unwrap();
    told(spec("none", &[0], Some(&[0]), Place::Same), false).unwrap();
    told(spec("back", &[4, 2], Some(&[-16, 8]), Place::Own), true).unwrap();
    told(spec("one", &[1, 1], Some(&[0, 0]), Place::Own), true).unwrap();
    told(spec(&"x".repeat(1023), &[], None, Place::Own), true).unwrap();
    let entry = told(spec("d", &[4, 2], None, part(&[8, 3], &[4, 1])), true).unwrap();
    assert_eq!(entry.to_string(), "\"d\" (float64[4, 2] of [8, 3])");
    assert_eq!((entry.extents, entry.at), (vec![2, 4], vec![1, 4]));
}
