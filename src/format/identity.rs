//! `.scr/identity.scr`: what names a prefix directory, wherever it is moved.
//!
//! The path alone does not: a directory that was deleted and made again is another one, and one that was moved, or
//! mounted at another place, is the same.

use super::filemap::Filemap;
use super::{Name, file};
use crate::Result;
use crate::store::Files;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The identity of a prefix directory. A copy of it has the same file, and is told by path and inode.
///
/// ```text
///   ID = 5f0c3a9be27d4418
///   INODE = 1234567
///   PATH = /p/run1
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Identity {
    /// A random number, as 16 hexadecimal digits. In a directory that was used before there were identities: what
    /// its path hashes to, which is what its caches are named after.
    pub id: Name,
    /// The inode of `.scr`; 0 if it is not known.
    #[serde(default)]
    pub inode: u64,
    /// Where the directory was, with all links resolved.
    pub path: Name,
}

impl Identity {
    /// Reads the file at `path`.
    pub fn read(files: &dyn Files, path: &Path) -> Result<Self> {
        file::read(files, path)
    }

    /// The identity as a number; `None` if the text is no number.
    pub fn number(&self) -> Option<u64> {
        let text = self.id.as_str().filter(|text| text.len() == 16)?;
        u64::from_str_radix(text, 16).ok()
    }

    /// What records in a cache have of it.
    fn tag(&self) -> Name {
        format!("{}.{}", self.id, self.inode).as_str().into()
    }
}

/// The prefix directory for which a run writes its datasets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct OwnPrefix {
    /// Its path, with all links resolved.
    pub path: Name,
    /// Identity and inode, as in records; `None` if it has no identity.
    pub tag: Option<Name>,
    /// The identity is random: no other directory has it.
    pub is_random: bool,
}

/// The prefix directory for which another run wrote a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct OtherPrefix {
    /// Its path.
    pub path: Name,
    /// It is another directory for certain, by its identity, also if the path is the same. Else the path differs.
    pub is_certain: bool,
}

impl OwnPrefix {
    /// Of a directory with this path and identity. `is_random` as in the struct.
    pub fn new(path: &Path, identity: Option<&Identity>, is_random: bool) -> Self {
        OwnPrefix {
            path: Name::from(path),
            tag: identity.map(Identity::tag),
            is_random,
        }
    }

    /// Where a record in the cache was written for another directory. One without an identity is of this one if the
    /// path is.
    pub fn other(&self, record: &Filemap) -> Option<OtherPrefix> {
        let path = record.prefix.clone()?;
        let parts = |tag: &Name| {
            let (id, inode) = tag.as_str()?.split_once('.')?;
            Some((id.to_string(), inode.to_string()))
        };
        let both = |tag: &Option<Name>| tag.as_ref().and_then(parts);
        let (same_inode, is_certain) = match (both(&self.tag), both(&record.prefix_id)) {
            (Some((ours, inode)), Some((theirs, of_record))) => {
                let differs = ours != theirs;
                (
                    !differs && inode == of_record && inode != "0",
                    differs && self.is_random,
                )
            }
            _ => (false, false),
        };
        let same = same_inode || path == self.path && !is_certain;
        (!same).then_some(OtherPrefix { path, is_certain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_of_a_directory_that_was_moved_and_not_of_one_that_was_made_again_or_copied() {
        let identity = |id: &str, inode, path: &str| Identity {
            id: id.into(),
            inode,
            path: path.into(),
        };
        let (old, new) = ("00000000000000aa", "00000000000000bb");
        let record = |tag: Option<&str>, path: &str| Filemap {
            prefix: Some(path.into()),
            prefix_id: tag.map(Name::from),
            ..Filemap::sample()
        };
        let run = |id: &str, inode, path: &str| {
            OwnPrefix::new(Path::new(path), Some(&identity(id, inode, path)), true)
        };
        let of_old = record(Some(&format!("{old}.7")), "/run");
        let other = |run: OwnPrefix, record: &Filemap| run.other(record).map(|o| o.is_certain);
        assert_eq!(other(run(old, 7, "/run"), &of_old), None);
        assert_eq!(other(run(old, 7, "/moved"), &of_old), None);
        assert_eq!(
            other(run(old, 9, "/run"), &of_old),
            None,
            "restored at its place"
        );
        assert_eq!(other(run(old, 9, "/copy"), &of_old), Some(false));
        assert_eq!(
            other(run(new, 7, "/run"), &of_old),
            Some(true),
            "made again"
        );
        let earlier = record(None, "/run");
        assert_eq!(other(run(new, 7, "/run"), &earlier), None);
        assert_eq!(other(run(new, 7, "/other"), &earlier), Some(false));
        let unknown = OwnPrefix::new(Path::new("/run"), None, false);
        assert_eq!(other(unknown, &of_old), None);
    }
}
