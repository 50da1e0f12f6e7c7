//! The identity of the prefix directory: established by a run, and by `scr prerun`; found by commands.
//!
//! There are two copies of the file, since a run that does not find it could not find its cache either.

use crate::format::Name;
use crate::format::identity::{Identity, OwnPrefix};
use crate::prefix::paths::Prefix;
use crate::store::{Durability, Files, retry};
use crate::system::process;
use crate::text::fnv1a;
use crate::{Error, Result, format};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file, and its copy.
const NAMES: [&str; 2] = ["identity.scr", "identity.2.scr"];

/// A prefix directory and its identity.
pub struct KnownPrefix {
    /// The form in which records in a cache name it.
    pub own: OwnPrefix,
    /// The number that names it in the id of a job; `None` if the hash of its path does.
    pub number: Option<u64>,
    /// A note for the user.
    pub note: Option<Note>,
}

/// Something that the user should know.
pub struct Note {
    /// True if the run can go on after the error.
    pub is_warning: bool,
    /// The text of the note.
    pub text: String,
}

impl KnownPrefix {
    fn of(prefix: &Prefix, identity: Option<&Identity>) -> Self {
        let number = identity.and_then(Identity::number);
        let path = identity.map_or(prefix.real(), |known| known.path.as_path());
        let of_path = [prefix.real(), path].map(number_of_path);
        let is_random = number.is_some_and(|number| !of_path.contains(&number));
        KnownPrefix {
            own: OwnPrefix::new(prefix.real(), identity, is_random),
            number,
            note: None,
        }
    }

    /// The file cannot be read or written.
    fn not_known(prefix: &Prefix, error: Error) -> Self {
        let note = Note {
            is_warning: true,
            text: format!("{error}; the path of the prefix directory stands for its identity"),
        };
        KnownPrefix {
            note: Some(note),
            ..KnownPrefix::of(prefix, None)
        }
    }
}

/// The number for a directory without an identity.
fn number_of_path(path: &Path) -> u64 {
    fnv1a(path.as_os_str().as_bytes())
}

/// The owner of an identity that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The record is of this directory, at this path.
    Own,
    /// The record is of this directory, which has another path now, or several.
    Moved,
    /// This directory is a copy of the one that has it, or was moved to another file system.
    Copied,
}

fn whose(identity: &Identity, prefix: &Prefix, inode: u64) -> Whose {
    if identity.path.as_path() == prefix.real() {
        Whose::Own
    } else if inode != 0 && identity.inode == inode {
        Whose::Moved
    } else {
        Whose::Copied
    }
}

/// Returns the identity of the prefix directory, in which `.scr` exists. Makes one if it is missing or if the directory
/// is a copy of another directory. If the file is damaged, or is missing and cannot be written, the path stands for the
/// identity. Local; one process at a time.
///
/// # Errors
/// The file cannot be read now: without it the run would not find its cache.
pub fn establish(files: &dyn Files, prefix: &Prefix) -> Result<KnownPrefix> {
    let inode = inode(files, prefix);
    let found = match read(files, prefix) {
        Ok(found) => found,
        Err(error) if error.is_transient() => return Err(error),
        Err(error) => return Ok(KnownPrefix::not_known(prefix, error)),
    };
    let path = Name::from(prefix.real());
    let new = |number: u64| Identity {
        id: format!("{number:016x}").as_str().into(),
        inode,
        path: path.clone(),
    };
    let (mut note, mut is_new) = (None, found.is_none());
    let identity = match found {
        Some(known) => match whose(&known, prefix, inode) {
            Whose::Own => Identity { inode, ..known },
            Whose::Moved => Identity {
                path: path.clone(),
                ..known
            },
            Whose::Copied => {
                let text = format!(
                    "{} is a copy of {}, or was moved to another file system: it has caches of its own from now on",
                    prefix.real().display(),
                    known.path.as_path().display()
                );
                note = Some(Note {
                    is_warning: false,
                    text,
                });
                is_new = true;
                new(process::random())
            }
        },
        // An earlier version has used it: its caches are named after the path.
        None if was_used(files, prefix) => new(number_of_path(prefix.real())),
        None => new(process::random()),
    };
    match write(files, prefix, &identity) {
        Err(error) if is_new => Ok(KnownPrefix::not_known(prefix, error)),
        // The part that could not be written only tells where the directory is now.
        _ => Ok(KnownPrefix {
            note,
            ..KnownPrefix::of(prefix, Some(&identity))
        }),
    }
}

/// The identity that the last run in the prefix directory had. Local.
///
/// # Errors
/// The file cannot be read now.
pub fn find(files: &dyn Files, prefix: &Prefix) -> Result<KnownPrefix> {
    let found = match read(files, prefix) {
        Err(error) if error.is_transient() => return Err(error),
        found => found.ok().flatten(),
    };
    let inode = inode(files, prefix);
    let own = found.filter(|known| whose(known, prefix, inode) != Whose::Copied);
    Ok(KnownPrefix::of(prefix, own.as_ref()))
}

fn inode(files: &dyn Files, prefix: &Prefix) -> u64 {
    let stat = files.stat(&prefix.meta());
    stat.ok().flatten().map_or(0, |stat| stat.inode)
}

/// Reads the file, or its copy; `None` if there is neither.
fn read(files: &dyn Files, prefix: &Prefix) -> Result<Option<Identity>> {
    let mut failed: Option<Error> = None;
    for name in NAMES {
        let path = prefix.file(name);
        let read = retry(|| Identity::read(files, &path)).and_then(|known| match known.number() {
            Some(_) => Ok(known),
            None => Err(Error::corrupt(
                &path,
                "has no identity of 16 hexadecimal digits",
            )),
        });
        match read {
            Ok(known) => return Ok(Some(known)),
            Err(error) if error.is_not_found() => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Writes both files, unless they have it already. One of the two is enough.
fn write(files: &dyn Files, prefix: &Prefix, identity: &Identity) -> Result<()> {
    let bytes = format::encode_record(identity)?;
    let put = |name: &str| {
        let path = prefix.file(name);
        let there = files.read(&path, bytes.len() as u64);
        if there.is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        files.replace(&path, &bytes, Durability::Synced)
    };
    let [one, other] = NAMES.map(put);
    one.or(other)
}

/// True if a run of an earlier version has been in the prefix directory.
fn was_used(files: &dyn Files, prefix: &Prefix) -> bool {
    ["index.scr", "flush.scr"]
        .iter()
        .any(|name| !matches!(files.stat(&prefix.file(name)), Ok(None)))
}
