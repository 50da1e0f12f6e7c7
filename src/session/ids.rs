//! The ids of datasets and the numbers of checkpoints. They only rise: an id names one dataset for
//! good, so a new dataset never takes the index entry, the metadata or the cache directory of another
//! one. (SCR v3.1.0 counts on from the checkpoint that was restarted from.)

use crate::format::dataset::HIGHEST;
use crate::{Error, Result};

/// The highest that prefix directory, cache and this run have. The same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ids {
    dataset: u64,
    checkpoint: u64,
}

impl Ids {
    /// The highest id of a dataset so far.
    pub fn last(&self) -> u64 {
        self.dataset
    }

    /// The highest id of a dataset, and the highest number of a checkpoint.
    pub fn highest(self) -> (u64, u64) {
        (self.dataset, self.checkpoint)
    }

    /// Takes note of a dataset, and of its number if it is a checkpoint.
    pub fn know(&mut self, dataset: u64, checkpoint: Option<u64>) {
        self.dataset = self.dataset.max(dataset);
        self.checkpoint = self.checkpoint.max(checkpoint.unwrap_or(0));
    }

    /// The id of the next dataset, and the number of the next checkpoint.
    ///
    /// # Errors
    /// The highest that is possible has been used.
    pub fn next(self, call: &'static str) -> Result<(u64, u64)> {
        let next = |last: u64| last.checked_add(1).filter(|next| *next <= HIGHEST);
        let both = next(self.dataset).zip(next(self.checkpoint));
        both.ok_or_else(|| {
            let what = "a dataset in the prefix directory or in the cache has the highest number \
                        that there can be; remove it, or use another prefix directory";
            Error::usage(call, what)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{HIGHEST, Ids};

    #[test]
    fn numbers_only_rise() {
        let mut ids = Ids::default();
        assert_eq!(ids.next("SCR_Start_output"), Ok((1, 1)));
        ids.know(5, Some(2));
        ids.know(3, Some(3));
        ids.know(4, None);
        assert_eq!(ids.next("SCR_Start_output"), Ok((6, 4)));
    }

    #[test]
    fn after_the_highest_number_there_is_none() {
        for (dataset, checkpoint) in [(HIGHEST, 1), (1, HIGHEST), (u64::MAX, 1)] {
            let mut ids = Ids::default();
            ids.know(dataset, Some(checkpoint));
            let error = ids.next("SCR_Start_output").unwrap_err().to_string();
            assert!(error.contains("highest number"), "{error}");
        }
    }
}
