//! A checkpoint that this run cannot use, though it is whole or may be. No older one is offered in
//! its place: a restart that silently goes back, or starts over, can cost weeks of work.

use crate::Error;
use crate::format::Dataset;

/// The newest such checkpoint. The same on all ranks.
#[derive(Debug, Clone)]
pub(super) struct Unavailable {
    pub id: u64,
    /// Its time of creation, microseconds since the epoch, if known.
    pub created: Option<u64>,
    /// True if it was found in the prefix directory, which the next search reads again. The cache
    /// is read only in `SCR_Init`.
    pub in_prefix: bool,
    /// What `SCR_Have_restart` returns.
    pub error: Error,
}

impl Unavailable {
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
    use crate::Error;
    use crate::format::Dataset;

    #[test]
    fn times_of_creation_decide_and_ids_only_without_them() {
        let dataset = |id, created| Dataset {
            id,
            created,
            ..Dataset::default()
        };
        let mut unavailable = Unavailable {
            id: 5,
            created: Some(100),
            in_prefix: true,
            error: Error::dataset(5, "ck.5", "of a test"),
        };
        assert!(unavailable.is_no_newer_than(&dataset(5, 100)), "itself");
        assert!(unavailable.is_no_newer_than(&dataset(4, 101)));
        assert!(!unavailable.is_no_newer_than(&dataset(6, 99)));
        unavailable.created = None;
        assert!(unavailable.is_no_newer_than(&dataset(5, 0)), "itself");
        assert!(!unavailable.is_no_newer_than(&dataset(4, 101)));
    }
}
