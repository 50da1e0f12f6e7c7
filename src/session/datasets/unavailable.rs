//! A checkpoint that this run cannot use, though it is whole or may be. No older one is offered in
//! its place: a restart that silently goes back, or starts over, can cost weeks of work.

use crate::Error;
use crate::format::{Dataset, Name};
use serde::{Deserialize, Serialize};

/// The newest such checkpoint. The same on all ranks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::session) struct Unavailable {
    pub id: u64,
    pub name: Name,
    /// The time of creation of the dataset, microseconds since the epoch, if known.
    pub created: Option<u64>,
    pub cause: Cause,
    /// The reason why it cannot be used, and the remedy.
    pub why: String,
}

/// The reason why a checkpoint is unavailable, which decides when it may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::session) enum Cause {
    /// The checkpoint is in the prefix directory, which the next search reads again.
    InPrefix,
    /// The checkpoint is in the cache, which is read only in `SCR_Init`.
    InCache,
    /// The checkpoint is in the cache, and another number of ranks wrote it: it can be used if the program
    /// allows that.
    OfOtherRanks,
    /// The checkpoint was offered in this run, but a rank could not read it, for a reason other than
    /// its content. So it is not offered again: the program would try for ever.
    NotRead,
}

impl Unavailable {
    pub fn new(dataset: &Dataset, cause: Cause, why: String) -> Self {
        Unavailable {
            id: dataset.id,
            name: dataset.name.clone(),
            created: Some(dataset.created),
            cause,
            why,
        }
    }

    /// The error that `SCR_Have_restart` returns.
    pub fn error(&self) -> Error {
        Error::dataset(self.id, self.name.to_string(), self.why.clone())
    }

    /// True if `dataset` may be offered: it is a newer checkpoint, or it is this one, not yet offered,
    /// of which another copy may be readable.
    pub fn allows(&self, dataset: &Dataset) -> bool {
        let same_or_newer = match self.created {
            Some(created) => dataset.created.cmp(&created),
            None => dataset.id.cmp(&self.id),
        };
        match self.cause {
            Cause::NotRead => same_or_newer.is_gt(),
            Cause::InPrefix | Cause::InCache | Cause::OfOtherRanks => same_or_newer.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, Unavailable};
    use crate::format::Dataset;

    #[test]
    fn times_of_creation_decide_and_ids_only_without_them() {
        let dataset = |id, created| Dataset {
            id,
            created,
            ..Dataset::default()
        };
        let mut unavailable = Unavailable::new(&dataset(5, 100), Cause::InPrefix, String::new());
        assert!(unavailable.allows(&dataset(5, 100)), "itself");
        assert!(unavailable.allows(&dataset(4, 101)));
        assert!(!unavailable.allows(&dataset(6, 99)));
        unavailable.cause = Cause::NotRead;
        assert!(!unavailable.allows(&dataset(5, 100)), "itself again");
        assert!(unavailable.allows(&dataset(4, 101)));
        unavailable.cause = Cause::InCache;
        unavailable.created = None;
        assert!(unavailable.allows(&dataset(5, 0)), "itself");
        assert!(!unavailable.allows(&dataset(4, 101)));
    }
}
