//! Names that several ranks have routed where each rank has a file of its own: in a cache that is not one
//! directory for all ranks. Such files cannot become one file in the prefix directory, so a dataset with
//! them could never be flushed. This is found when the dataset is completed.

use crate::Result;
use crate::comm::Local;
use crate::prefix::names::owners;
use crate::session::datasets::location::Location;
use crate::session::flush::begin;
use crate::session::output::OpenDataset;
use crate::session::run::{Run, Store};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// A rank remembers at most this many forms of names (see [`NameForms`]). If there would be more, it first forgets
/// all of them.
const MOST: usize = 10_000;

/// The forms of names that are known to be of one rank each. Names have the same form if they differ in
/// numbers only, as `ck.1/rank_7.dat` and `ck.2/rank_7.dat`. To compare the names of all ranks takes two
/// rounds. With this, only the first dataset with names of a form pays for that.
#[derive(Default)]
pub(in crate::session) struct NameForms(BTreeSet<u64>);

impl NameForms {
    /// True if this rank has routed a name of a form that was not compared yet. Local.
    pub fn are_new(&self, open: &OpenDataset) -> bool {
        let mut names = open.files.keys();
        names.any(|name| !self.0.contains(&form(name)))
    }

    /// The names of a dataset were compared. Local.
    pub fn know(&mut self, open: &OpenDataset) {
        if self.0.len() + open.files.len() > MOST {
            self.0.clear();
        }
        self.0
            .extend(open.files.keys().take(MOST).map(|name| form(name)));
    }
}

/// A number that is the same for names that differ in numbers only.
pub(super) fn form(name: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut in_number = false;
    for byte in name.as_os_str().as_encoded_bytes() {
        let digit = byte.is_ascii_digit();
        if !(digit && in_number) {
            let shown = if digit { b'0' } else { *byte };
            shown.hash(&mut hasher);
        }
        in_number = digit;
    }
    hasher.finish()
}

/// True if several ranks can write one file together: in bypass, and in a store with one directory for
/// all ranks.
pub(in crate::session) fn may_share(run: &Run, open: &OpenDataset) -> bool {
    match open.target.location {
        Location::Bypass(_) => true,
        Location::Cache(store) => {
            let Store {
                layout, sharing, ..
            } = &run.stores[store];
            layout.is_common() && sharing.all
        }
    }
}

/// Fails if a lower rank has also routed a name of this rank. Collective.
pub(in crate::session) fn check(run: &Run, open: &OpenDataset) -> Result<Local<()>> {
    let names: Vec<&Path> = open.files.keys().map(PathBuf::as_path).collect();
    let owners = owners(&*run.comm, &names)?;
    let mut owned = names.iter().zip(owners);
    let other = owned.find(|(_, owner)| *owner != run.rank());
    let free = match other {
        None => Ok(()),
        Some((name, owner)) => Err(begin::routed_twice(&open.dataset, owner, name)),
    };
    Ok(free.into())
}

#[cfg(test)]
mod tests {
    use super::form;
    use std::path::Path;

    #[test]
    fn names_of_one_form_differ_in_numbers_only() {
        let form = |name: &str| form(Path::new(name));
        assert_eq!(form("ck.1/rank_7.dat"), form("ck.250/rank_13.dat"));
        for other in [
            "ck.1/rank_.dat",
            "ck.1/rank_7",
            "ck/rank_7.dat",
            "ck.1/rank_7.dat.1",
        ] {
            assert_ne!(form("ck.1/rank_7.dat"), form(other), "{other}");
        }
    }
}
