//! A part of many cases, where `scripts/test --minutes` has no time for all: shared by the test programs
//! `session` and `model`.

use std::time::{Duration, SystemTime};

/// After its end, one of so many cases is tried.
const ONE_OF: usize = 10;

/// All cases as long as there is time: until `SCR_TEST_UNTIL`, in seconds since 1970, if that is set.
/// Afterwards one of ten. Says how many were left out.
pub fn sampled<I: IntoIterator>(cases: I) -> Sampled<I::IntoIter> {
    let until = std::env::var("SCR_TEST_UNTIL").ok();
    Sampled {
        cases: cases.into_iter(),
        until: until.and_then(|seconds| seconds.parse().ok()),
        tried: 0,
        left_out: 0,
    }
}

/// See [`sampled`].
pub struct Sampled<I> {
    cases: I,
    until: Option<u64>,
    tried: usize,
    left_out: usize,
}

impl<I: Iterator> Iterator for Sampled<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.is_over() {
            for _ in 1..ONE_OF {
                self.cases.next()?;
                self.left_out += 1;
            }
        }
        let case = self.cases.next()?;
        self.tried += 1;
        Some(case)
    }
}

impl<I> Sampled<I> {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| {
            SystemTime::now() >= SystemTime::UNIX_EPOCH + Duration::from_secs(until)
        })
    }
}

impl<I> Drop for Sampled<I> {
    fn drop(&mut self) {
        if self.left_out > 0 {
            println!(
                "SKIPPED: {} of {} cases, for which `scripts/test --minutes` had no time left",
                self.left_out,
                self.left_out + self.tried
            );
        }
    }
}
