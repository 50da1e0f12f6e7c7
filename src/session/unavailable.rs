//! A checkpoint that this run cannot use, though it is whole or may be. No older one is offered in
//! its place: a restart that silently goes back, or starts over, can cost weeks of work.

use crate::Error;
use crate::format::{Dataset, Name};
use serde::{Deserialize, Serialize};

/// The newest such checkpoint. The same on all ranks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct Unavailable {
    pub id: u64,
    pub name: Name,
    /// Its time of creation, microseconds since the epoch, if known.
    pub created: Option<u64>,
    /// True if it was found in the prefix directory, which the next search reads again. The cache
    /// is read only in `SCR_Init`.
    pub in_prefix: bool,
    /// Another number of ranks wrote it: it can be used if the program allows that.
    pub of_other_ranks: bool,
    /// Why it cannot be used, and what the user can do.
    pub why: String,
}

impl Unavailable {
    pub fn new(dataset: &Dataset, in_prefix: bool, why: String) -> Self {
        Unavailable {
            id: dataset.id,
            name: dataset.name.clone(),
            created: Some(dataset.created),
            in_prefix,
            of_other_ranks: false,
            why,
        }
    }

    /// What `SCR_Have_restart` returns.
    pub fn error(&self) -> Error {
        Error::dataset(self.id, self.name.to_string(), self.why.clone())
    }

    /// True if `dataset` is this checkpoint, of which another copy may be readable, or a newer one.
    pub fn is_no_newer_than(&self, dataset: &Dataset) -> bool {
        match self.created {
            Some(created) => dataset.created >= created,
            None => dataset.id >= self.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Unavailable;
    use crate::format::Dataset;

    #[test]
    fn times_of_creation_decide_and_ids_only_without_them() {
        let dataset = |id, created| Dataset {
            id,
            created,
            ..Dataset::default()
        };
        let mut unavailable = Unavailable::new(&dataset(5, 100), true, String::new());
        assert!(unavailable.is_no_newer_than(&dataset(5, 100)), "itself");
        assert!(unavailable.is_no_newer_than(&dataset(4, 101)));
        assert!(!unavailable.is_no_newer_than(&dataset(6, 99)));
        unavailable.created = None;
        assert!(unavailable.is_no_newer_than(&dataset(5, 0)), "itself");
        assert!(!unavailable.is_no_newer_than(&dataset(4, 101)));
    }
}
