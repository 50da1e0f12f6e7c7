//! Copies a file and computes its checksum in the same pass.

use crate::store::{File, Files};
use crate::{Error, Result};
use std::path::Path;

/// Recorded or measured content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Size, bytes.
    pub size: u64,
    /// CRC32 (zlib, IEEE 802.3), if recorded.
    pub crc: Option<u32>,
}

impl Content {
    /// Compares with what was `recorded` for the file at `path`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], with both values.
    pub fn check(&self, recorded: &Content, path: &Path) -> Result<()> {
        if self.size != recorded.size {
            return Err(Error::corrupt(
                path,
                format!("has {} bytes, {} were recorded", self.size, recorded.size),
            ));
        }
        match (self.crc, recorded.crc) {
            (Some(found), Some(wanted)) if found != wanted => Err(Error::corrupt(
                path,
                format!("has CRC32 0x{found:08x}, 0x{wanted:08x} was recorded"),
            )),
            _ => Ok(()),
        }
    }
}

/// Size and checksum of a file, which is read once through `buffer` (not empty).
pub fn checksum(files: &dyn Files, path: &Path, buffer: &mut [u8]) -> Result<Content> {
    pass(&*files.open(path)?, buffer, |_, _| Ok(()))
}

/// Copies `from` over `to` (mode 0666 less the umask) and syncs it. The directory of `to` must
/// exist. If the content differs from `recorded`, this is an error and `to` is removed.
pub fn copy(
    files: &dyn Files,
    from: &Path,
    to: &Path,
    recorded: Option<&Content>,
    buffer: &mut [u8],
) -> Result<Content> {
    let source = files.open(from)?;
    let target = files.create(to, 0o666)?;
    let done = target
        .allocate(source.size()?)
        .and_then(|()| {
            pass(&*source, buffer, |offset, data| {
                target.write_at(offset, data)
            })
        })
        .and_then(|found| match recorded {
            Some(recorded) => found.check(recorded, from).map(|()| found),
            None => Ok(found),
        })
        .and_then(|found| target.sync().map(|()| found));
    if done.is_err() {
        // The first error is reported.
        let _ = files.remove_file(to);
    }
    done
}

fn pass(
    source: &dyn File,
    buffer: &mut [u8],
    mut each: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Content> {
    let size = source.size()?;
    let mut hasher = crc32fast::Hasher::new();
    let mut offset = 0;
    while offset < size {
        let n = (size - offset).min(buffer.len() as u64) as usize;
        let piece = &mut buffer[..n];
        source.read_at(offset, piece)?;
        hasher.update(piece);
        each(offset, piece)?;
        offset += n as u64;
    }
    Ok(Content {
        size,
        crc: Some(hasher.finalize()),
    })
}
