//! The rate of failures, as far as a number of failures tells it.

/// The share of cases in which the limits hold.
pub const CONFIDENCE: f64 = 0.95;

/// Limits of the expected number of failures in a time in which `seen` failures came. The failures must
/// be independent of each other and come at a constant rate (Garwood 1936, exact for Poisson's
/// distribution). [`CONFIDENCE`] leaves a share of cases in which a limit may be wrong. Each limit is
/// wrong in at most half of this share. If `seen` is 0, only an upper limit exists; this limit may be
/// wrong in the whole share.
pub fn expected_failures(seen: u64) -> (f64, f64) {
    let outside = 1.0 - CONFIDENCE;
    match seen {
        0 => (0.0, -outside.ln()),
        _ => {
            let half = outside / 2.0;
            // If the mean is the upper one, at most `seen` failures come with probability `half`. If it is the
            // lower mean, at least `seen` failures come with probability `half`, so at most `seen -
            // 1` come with probability `1 - half`.
            let upper = mean_where(seen, half);
            (mean_where(seen - 1, 1.0 - half), upper)
        }
    }
}

/// The mean of the Poisson distribution for which at most `most` events come with the given
/// probability.
fn mean_where(most: u64, probability: f64) -> f64 {
    let count = most as f64;
    // The search begins far outside of both limits, but so near that no computed number is 0.
    let far = 10.0 * count.sqrt() + 20.0;
    let (mut low, mut high) = ((count - far).max(0.0), count + far);
    let logarithm = log_factorial(most);
    for _ in 0..100 {
        let mean = (low + high) / 2.0;
        if at_most(most, mean, logarithm) > probability {
            low = mean
        } else {
            high = mean
        }
    }
    (low + high) / 2.0
}

/// The probability that at most `most` events come if the mean is `mean`. `logarithm` is the logarithm
/// of the factorial of `most`.
fn at_most(most: u64, mean: f64, logarithm: f64) -> f64 {
    let mut term = (most as f64 * mean.ln() - mean - logarithm).exp();
    let mut sum = term;
    let mut count = most as f64;
    while count > 0.0 && (count > mean || term > sum * 1e-17) {
        term *= count / mean;
        sum += term;
        count -= 1.0;
    }
    sum
}

fn log_factorial(number: u64) -> f64 {
    (2..=number).map(|factor| (factor as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::expected_failures;

    /// The values of Garwood's table, Biometrika 28 (1936), as textbooks print them.
    #[test]
    fn the_limits_are_those_of_published_tables() {
        for (seen, lower, upper) in [
            (1, 0.0253, 5.572),
            (2, 0.2422, 7.225),
            (3, 0.6187, 8.767),
            (5, 1.6235, 11.668),
            (10, 4.7954, 18.390),
            (20, 12.217, 30.888),
            (50, 37.111, 65.919),
            (100, 81.364, 121.627),
        ] {
            let (low, high) = expected_failures(seen);
            assert!((low - lower).abs() < 1e-3, "{seen}: {low}");
            assert!((high - upper).abs() < 2e-3, "{seen}: {high}");
        }
        // The limit is one-sided, since no number is below 0: the "rule of three".
        let (low, high) = expected_failures(0);
        assert_eq!(low, 0.0);
        assert!((high - 2.9957).abs() < 1e-4);
    }

    #[test]
    fn many_failures_have_limits_near_their_number() {
        let (low, high) = expected_failures(1_000_000);
        assert!((low - 998_041.0).abs() < 5.0, "{low}");
        assert!((high - 1_001_962.0).abs() < 5.0, "{high}");
    }
}
