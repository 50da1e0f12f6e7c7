//! A checkpoint that this run cannot use, though it is whole or may be. Nothing older is offered
//! in its place: a restart that silently goes back, or starts over, can cost weeks of work.

use super::Session;
use crate::Error;
use crate::format::Dataset;

/// The newest such checkpoint. The same on all ranks.
#[derive(Debug, Clone)]
pub(super) struct Unavailable {
    pub id: u64,
    /// Its time of creation, microseconds since the epoch, if it is known.
    pub created: Option<u64>,
    /// It was found in the prefix directory, which the next search reads again; the cache is read
    /// in `SCR_Init` only.
    pub in_prefix: bool,
    /// What `SCR_Have_restart` returns in its place.
    pub error: Error,
}

impl Unavailable {
    /// True if `dataset` is this checkpoint (another copy of it may be readable), or a newer one.
    fn is_no_newer_than(&self, dataset: &Dataset) -> bool {
        match self.created {
            Some(created) => dataset.created >= created,
            None => dataset.id >= self.id,
        }
    }
}

impl Session {
    /// True if a restart from `dataset` leaves out no newer checkpoint that may be whole. Local;
    /// the same on all ranks.
    pub(super) fn may_offer(&self, dataset: &Dataset) -> bool {
        let unavailable = self.unavailable.as_ref();
        unavailable.is_none_or(|newest| newest.is_no_newer_than(dataset))
    }

    /// Notes a checkpoint that cannot be used. The first one that a search meets is the newest.
    pub(super) fn cannot_use(&mut self, unavailable: Unavailable) {
        self.unavailable.get_or_insert(unavailable);
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
