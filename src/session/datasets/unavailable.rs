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
    /// Its time of creation, microseconds since the epoch, if known.
    pub created: Option<u64>,
    /// True if it was found in the prefix directory, which the next search reads again. The cache
    /// is read only in `SCR_Init`.
    pub in_prefix: bool,
    /// Another number of ranks wrote it: it can be used if the program allows that.
    pub of_other_ranks: bool,
    /// It was offered in this run, which could not read it for a reason that says nothing of it. So it
    /// is not offered again: the program would try for ever.
    pub was_offered: bool,
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
            was_offered: false,
            why,
        }
    }

    /// What `SCR_Have_restart` returns.
    pub fn error(&self) -> Error {
        Error::dataset(self.id, self.name.to_string(), self.why.clone())
    }

    /// True if `dataset` may be offered: a newer checkpoint, or this one, of which another copy may be
    /// readable, unless it was offered before.
    pub fn allows(&self, dataset: &Dataset) -> bool {
        let same_or_newer = match self.created {
            Some(created) => dataset.created.cmp(&created),
            None => dataset.id.cmp(&self.id),
        };
        match self.was_offered {
            true => same_or_newer.is_gt(),
            false => same_or_newer.is_ge(),
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
        assert!(unavailable.allows(&dataset(5, 100)), "itself");
        assert!(unavailable.allows(&dataset(4, 101)));
        assert!(!unavailable.allows(&dataset(6, 99)));
        unavailable.was_offered = true;
        assert!(!unavailable.allows(&dataset(5, 100)), "itself again");
        assert!(unavailable.allows(&dataset(4, 101)));
        unavailable.was_offered = false;
        unavailable.created = None;
        assert!(unavailable.allows(&dataset(5, 0)), "itself");
        assert!(!unavailable.allows(&dataset(4, 101)));
    }
}
