//! `.scr/identity.scr`: the name of a prefix directory, which stays wherever the directory is
//! moved.
//!
//! The path alone is not enough: a directory that was deleted and made again is another one, and a directory that
//! was moved, or mounted at another place, is the same one.

use super::filemap::Filemap;
use super::{Name, file};
use crate::Result;
use crate::store::Files;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The identity of a prefix directory. A copy of the directory has the same file, and differs by path
/// and inode.
///
/// ```text
///   ID = 5f0c3a9be27d4418
///   INODE = 1234567
///   PATH = /p/run1
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Identity {
    /// A random number, as 16 hexadecimal digits. In a directory that was used before identities existed: the
    /// hash of its path, since its caches have that name.
    pub id: Name,
    /// The inode of `.scr`; 0 if it is not known.
    #[serde(default)]
    pub inode: u64,
    /// Path of the directory at the time of writing, with all links resolved.
    pub path: Name,
}

impl Identity {
    /// Reads the file at `path`.
    pub fn read(files: &dyn Files, path: &Path) -> Result<Self> {
        file::read(files, path)
    }

    /// The identity as a number; `None` if the text is not a number.
    pub fn number(&self) -> Option<u64> {
        let text = self.id.as_str().filter(|text| text.len() == 16)?;
        u64::from_str_radix(text, 16).ok()
    }

    /// The text that records in a cache have of the identity.
    fn tag(&self) -> Name {
        format!("{}.{}", self.id, self.inode).as_str().into()
    }
}

/// The prefix directory of this run, for which it writes its datasets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct OwnPrefix {
    /// The path of the prefix directory, with all links resolved.
    pub path: Name,
    /// Identity and inode, as in records; `None` if it has no identity.
    pub tag: Option<Name>,
    /// True if the identity is random: no other directory has it.
    pub is_random: bool,
}

/// The prefix directory of another run that wrote a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct OtherPrefix {
    /// The path of the other prefix directory.
    pub path: Name,
    /// True if the identity proves that it is another directory, also at the same path. Else the path differs.
    pub is_certain: bool,
}

impl OwnPrefix {
    /// The prefix directory with this path and identity. `is_random` as in the struct.
    pub fn new(path: &Path, identity: Option<&Identity>, is_random: bool) -> Self {
        OwnPrefix {
            path: Name::from(path),
            tag: identity.map(Identity::tag),
            is_random,
        }
    }

    /// The other directory for which a record in the cache was written. A record without an identity belongs to
    /// this directory if it has the same path.
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
