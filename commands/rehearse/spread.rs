//! How far two undisturbed runs are apart: the tolerance for the other one.

use super::super::fields::compare::Tolerance;
use super::super::fields::value::Distance;
use std::fmt;

/// Two undisturbed runs are a sample: a third one may be farther away than the second is.
const FACTOR: f64 = 10.0;

/// The difference of a field or file in two undisturbed runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Spread {
    /// Numbers differ, at most so much.
    Numbers(Distance),
    /// Something else differs, or the numbers have nothing in common.
    Unlike,
}

impl Spread {
    pub fn of(found: Option<Distance>) -> Self {
        match found {
            // A tolerance as great as the values would allow anything.
            Some(found) if FACTOR * found.absolute < found.magnitude => Spread::Numbers(found),
            _ => Spread::Unlike,
        }
    }

    /// The greater of both.
    pub fn and(self, other: Spread) -> Spread {
        match (self, other) {
            (Spread::Numbers(one), Spread::Numbers(other)) => Spread::of(Some(one.max(other))),
            _ => Spread::Unlike,
        }
    }

    /// True if this difference is no greater than that of any two runs.
    pub fn allows(&self, found: Option<Distance>) -> bool {
        match (self, found) {
            (Spread::Numbers(spread), Some(found)) => found.absolute <= FACTOR * spread.absolute,
            _ => false,
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spread::Numbers(found) => write!(
                f,
                "two undisturbed runs differ by at most {:.3e} absolute, {:.3e} relative",
                found.absolute, found.relative
            ),
            Spread::Unlike => f.write_str("two undisturbed runs differ in more than numbers"),
        }
    }
}

/// Reads `1e-9` or `1e-9,1e-12`: a relative difference, and an absolute one.
pub(super) fn parse(text: &str) -> Result<Tolerance, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok();
        number.filter(|number| (0.0..f64::INFINITY).contains(number))
    };
    let wrong = || format!("`{text}` is no tolerance, such as 1e-9, or 1e-9,1e-12");
    let (relative, absolute) = match text.split_once(',') {
        None => (number(text), Some(None)),
        Some((relative, absolute)) => (number(relative), number(absolute).map(Some)),
    };
    match (relative, absolute) {
        (Some(relative), Some(absolute)) => Ok(Tolerance {
            relative: Some(relative),
            absolute,
            ulp: None,
        }),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fields::value::distance_of_numbers;
    use super::*;

    #[test]
    fn a_third_run_may_be_farther_away_than_the_second() {
        let between = |a, b| Some(distance_of_numbers(a, b));
        let spread = Spread::of(between(1.0, 1.0 + 1e-9));
        assert!(spread.allows(between(1.0, 1.0 + 5e-9)));
        assert!(!spread.allows(between(1.0, 1.0 + 1e-7)));
        assert!(!spread.allows(between(1.0, f64::NAN)));
        assert!(!spread.allows(None));
    }

    #[test]
    fn random_numbers_are_no_tolerance() {
        let between = |a, b| Spread::of(Some(distance_of_numbers(a, b)));
        assert_eq!(between(0.3, 0.8), Spread::Unlike);
        assert_eq!(between(1.0, f64::INFINITY), Spread::Unlike);
        assert_eq!(Spread::of(None), Spread::Unlike);
        let near = between(1.0, 1.0 + 1e-9);
        assert!(matches!(near.and(near), Spread::Numbers(_)));
        assert_eq!(near.and(Spread::Unlike), Spread::Unlike);
    }

    #[test]
    fn tolerances_are_read() {
        let both = parse("1e-9,2").unwrap();
        assert_eq!((both.relative, both.absolute), (Some(1e-9), Some(2.0)));
        let one = parse("0.5").unwrap();
        assert_eq!((one.relative, one.absolute), (Some(0.5), None));
        for wrong in ["", "x", "-1", "1,", ",1", "nan", "inf"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
