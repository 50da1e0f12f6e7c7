//! The files of one rank, part of the records in the cache.

use super::{Name, with};
use crate::store::{FileKind, Stat};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::path::Path;

/// One file of a dataset.
///
/// ```text
///   ATIME_NSECS = 0
///   ATIME_SECS = 1795221727
///   COMPLETE = 1
///   CRC = 0x1b39e4e4
///   CTIME_NSECS = 0
///   CTIME_SECS = 1795221727
///   FILE = ck.1/rank_0/state_0.dat
///   GID = 100
///   MODE = 33188
///   MTIME_NSECS = 0
///   MTIME_SECS = 1795221727
///   NAME = state_0.dat
///   ORIG = ../run/ck.1/rank_0/state_0.dat
///   SIZE = 524294
///   TYPE = FULL
///   UID = 1000
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct FileMeta {
    /// Path relative to the prefix directory, and likewise to the rank's own directory in
    /// the cache. Untrusted when read: use [`Name::below`].
    pub file: Name,
    /// The path as the program gave it.
    pub orig: Name,
    /// Size, bytes.
    pub size: u64,
    /// CRC32 of the content, if it was read.
    pub crc: Option<u32>,
    /// True if the program said that it is whole.
    pub complete: bool,
    /// Mode bits as in `st_mode`, file type included.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last access: seconds and nanoseconds since the epoch.
    pub atime: (i64, u32),
    /// Last change of the inode, likewise.
    pub ctime: (i64, u32),
    /// Last change of the content, likewise.
    pub mtime: (i64, u32),
}

impl FileMeta {
    /// A whole file with its attributes from `stat` and an unknown checksum.
    pub fn new(file: Name, orig: Name, stat: &Stat) -> Self {
        FileMeta {
            file,
            orig,
            size: stat.size,
            crc: None,
            complete: true,
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            atime: stat.atime,
            ctime: stat.ctime,
            mtime: stat.mtime,
        }
    }

    /// The attributes for [`crate::store::Files::restore`], which makes a copy like the original.
    pub fn stat(&self) -> Stat {
        Stat {
            kind: FileKind::File,
            size: self.size,
            blocks: self.size,
            inode: 0,
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            atime: self.atime,
            ctime: self.ctime,
            mtime: self.mtime,
        }
    }
}

/// In the order of the keys, from where the values are: there may be many thousands.
impl Serialize for FileMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("FileMeta", 16)?;
        out.serialize_field("ATIME_NSECS", &self.atime.1)?;
        out.serialize_field("ATIME_SECS", &self.atime.0)?;
        out.serialize_field("COMPLETE", &self.complete)?;
        out.serialize_field("CRC", &self.crc.map(with::crc::text))?;
        out.serialize_field("CTIME_NSECS", &self.ctime.1)?;
        out.serialize_field("CTIME_SECS", &self.ctime.0)?;
        out.serialize_field("FILE", &self.file)?;
        out.serialize_field("GID", &self.gid)?;
        out.serialize_field("MODE", &self.mode)?;
        out.serialize_field("MTIME_NSECS", &self.mtime.1)?;
        out.serialize_field("MTIME_SECS", &self.mtime.0)?;
        // The last component of `file`, for people and for readers of SCR's own records.
        let name = self.file.as_path().file_name().unwrap_or_default();
        out.serialize_field("NAME", &Name::from(name))?;
        out.serialize_field("ORIG", &self.orig)?;
        out.serialize_field("SIZE", &self.size)?;
        // A file of the program, no redundancy data.
        out.serialize_field("TYPE", "FULL")?;
        out.serialize_field("UID", &self.uid)?;
        out.end()
    }
}

/// The keys of [`FileMeta`] that are read.
#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
struct Wire {
    file: Name,
    #[serde(default)]
    orig: Name,
    size: u64,
    #[serde(default, with = "with::crc")]
    crc: Option<u32>,
    complete: bool,
    mode: u32,
    uid: u32,
    gid: u32,
    atime_secs: i64,
    atime_nsecs: u32,
    ctime_secs: i64,
    ctime_nsecs: u32,
    mtime_secs: i64,
    mtime_nsecs: u32,
}

impl From<Wire> for FileMeta {
    fn from(w: Wire) -> Self {
        FileMeta {
            file: w.file,
            orig: w.orig,
            size: w.size,
            crc: w.crc,
            complete: w.complete,
            mode: w.mode,
            uid: w.uid,
            gid: w.gid,
            atime: (w.atime_secs, w.atime_nsecs),
            ctime: (w.ctime_secs, w.ctime_nsecs),
            mtime: (w.mtime_secs, w.mtime_nsecs),
        }
    }
}

/// The files of a rank, in the order in which they are joined to its logical file.
///
/// ```text
///   FILE
///     0
///       COMPLETE = 1
///       FILE = ck.1/rank_3/state_3.dat
///       ...
///   FILES = 1
///   RANK = 3
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "WireList")]
pub struct RankFiles {
    /// World rank.
    pub rank: usize,
    /// The files of the rank.
    pub files: Vec<FileMeta>,
}

impl RankFiles {
    /// Bytes of all files; `None` if that is more than 2^64 - 1, which only a damaged record
    /// can say.
    pub fn size(&self) -> Option<u64> {
        self.files
            .iter()
            .try_fold(0u64, |sum, file| sum.checked_add(file.size))
    }

    /// The file of this path relative to the prefix directory.
    pub fn find(&self, file: &Path) -> Option<&FileMeta> {
        self.files.iter().find(|meta| meta.file.as_path() == file)
    }
}

impl Serialize for RankFiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("RankFiles", 3)?;
        out.serialize_field("FILE", &self.files)?;
        // So that a missing entry shows.
        out.serialize_field("FILES", &self.files.len())?;
        out.serialize_field("RANK", &self.rank)?;
        out.end()
    }
}

#[derive(Deserialize)]
struct WireList {
    #[serde(rename = "RANK")]
    rank: usize,
    #[serde(rename = "FILES")]
    count: usize,
    #[serde(rename = "FILE", default)]
    files: Vec<FileMeta>,
}

impl TryFrom<WireList> for RankFiles {
    type Error = String;

    fn try_from(list: WireList) -> Result<Self, String> {
        let WireList { rank, count, files } = list;
        if count != files.len() {
            return Err(format!(
                "FILES is {count}, but {} files are listed",
                files.len()
            ));
        }
        Ok(RankFiles { rank, files })
    }
}
