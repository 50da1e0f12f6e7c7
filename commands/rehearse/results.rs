//! Compares a file with results of two runs: text by its numbers, other files byte by byte.

use super::super::fields::compare::Tolerance;
use super::super::fields::value::{Distance, distance_of_numbers};
use scr_engine::text::counted;

/// The difference of two files.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    /// In words.
    pub how: String,
    /// The greatest distances, if only numbers in a text differ.
    pub greatest: Option<Distance>,
}

/// Compares the undisturbed file with another one. `None` if they are the same, numbers within the tolerance.
pub(super) fn difference(one: &[u8], other: &[u8], given: &Tolerance) -> Option<Difference> {
    if one == other {
        return None;
    }
    if let (Ok(a), Ok(b)) = (std::str::from_utf8(one), std::str::from_utf8(other))
        && let Some(numbers) = Numbers::of(a, b, given)
    {
        return numbers.difference();
    }
    let mut pairs = one.iter().zip(other);
    let how = match pairs.position(|(a, b)| a != b) {
        Some(byte) => format!("differs from byte {byte} on, of {} undisturbed", one.len()),
        None => format!("has {} bytes, and {} undisturbed", other.len(), one.len()),
    };
    Some(Difference {
        how,
        greatest: None,
    })
}

/// The numbers of two texts that are the same besides.
#[derive(Default)]
struct Numbers {
    all: usize,
    differ: usize,
    greatest: Option<Distance>,
}

impl Numbers {
    /// `None` if something else differs.
    fn of(a: &str, b: &str, given: &Tolerance) -> Option<Self> {
        let mut found = Numbers::default();
        let (mut a, mut b) = (words(a), words(b));
        loop {
            match (a.next(), b.next()) {
                (None, None) => return Some(found),
                (Some(a), Some(b)) => match (number(a), number(b)) {
                    (Some(a), Some(b)) => found.add(distance_of_numbers(a, b), given),
                    _ if a == b => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn add(&mut self, distance: Distance, given: &Tolerance) {
        self.all += 1;
        if distance.absolute > 0.0 && !given.allows(&distance) {
            self.differ += 1;
            self.greatest = Some(self.greatest.map_or(distance, |most| most.max(distance)));
        }
    }

    fn difference(self) -> Option<Difference> {
        let greatest = self.greatest?;
        let all = counted(self.all, "number");
        Some(Difference {
            how: format!(
                "{} of {all} differ, at most {:.3e} absolute, {:.3e} relative",
                self.differ, greatest.absolute, greatest.relative
            ),
            greatest: Some(greatest),
        })
    }
}

/// The parts of a text between blanks and brackets.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let between = |letter: char| letter.is_whitespace() || ",:;=()[]{}\"'|".contains(letter);
    text.split(between).filter(|word| !word.is_empty())
}

/// A number as C and Fortran print it.
fn number(word: &str) -> Option<f64> {
    if !word.contains(|letter: char| letter.is_ascii_digit()) {
        // Not a number, or infinite: as text.
        return None;
    }
    let plain = word.parse().ok();
    plain.or_else(|| word.replace(['d', 'D'], "e").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &str, b: &str, given: Tolerance) -> Option<Difference> {
        difference(a.as_bytes(), b.as_bytes(), &given)
    }

    #[test]
    fn texts_are_compared_by_their_numbers() {
        let exact = Tolerance::default();
        assert_eq!(found("x = 1\n", "x = 1\n", exact), None);
        let text = "step 8: u=(1.5, 2.0D-3) NaN\n";
        let near = "step 8: u=(1.5, 2.5D-3) NaN\n";
        let how = found(text, near, exact).unwrap();
        assert_eq!(
            how.how,
            "1 of 3 numbers differ, at most 5.000e-4 absolute, 2.000e-1 relative"
        );
        let of = |relative| Tolerance {
            relative: Some(relative),
            ..exact
        };
        assert_eq!(found(text, near, of(0.3)), None);
        assert!(found(text, near, of(0.1)).is_some());
    }

    #[test]
    fn other_differences_are_no_numbers() {
        let most = Tolerance {
            relative: Some(9.0),
            ..Tolerance::default()
        };
        for (a, b, how) in [
            ("a 1", "b 1", "differs from byte 0 on, of 3 undisturbed"),
            ("1 2", "1 2 3", "has 5 bytes, and 3 undisturbed"),
            ("1 NaN", "1 inf", "differs from byte 2 on, of 5 undisturbed"),
        ] {
            let found = found(a, b, most).unwrap();
            assert_eq!((&*found.how, found.greatest), (how, None));
        }
        let binary = difference(&[0, 255, 1], &[0, 255, 2], &most).unwrap();
        assert_eq!(binary.how, "differs from byte 2 on, of 3 undisturbed");
    }
}
