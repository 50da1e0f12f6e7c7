//! The best time between checkpoints, from the cost of one and the rate of failures.

/// Formulas for the best time between checkpoints. Both assume that failures are independent of each
/// other and come at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// Young (1974), of first order: good if a checkpoint takes much less time than passes between failures.
    Young,
    /// Daly (2006), of higher order.
    Daly,
}

impl Formula {
    /// The best time of computation between two checkpoints if one takes `cost` and a failure comes every
    /// `between` on average. All in seconds and above 0.
    pub fn interval(self, cost: f64, between: f64) -> f64 {
        let twice = 2.0 * between;
        match self {
            Formula::Young => (cost * twice).sqrt(),
            Formula::Daly if cost < twice => {
                let part = cost / twice;
                (cost * twice).sqrt() * (1.0 + part.sqrt() / 3.0 + part / 9.0) - cost
            }
            Formula::Daly => between,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Formula::{Daly, Young};

    #[test]
    fn the_formulas_as_computed_by_hand() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        near(Young.interval(2.0, 100.0), 20.0);
        near(
            Daly.interval(2.0, 100.0),
            20.0 * (1.0 + 0.1 / 3.0 + 0.01 / 9.0) - 2.0,
        );
        near(Daly.interval(300.0, 100.0), 100.0);
    }
}
