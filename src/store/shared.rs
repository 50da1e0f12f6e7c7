//! Files for their user alone, but in directories that people share.

use super::Files;
use crate::Result;
use std::path::Path;

/// The mode of a new file in `dir` that may say more than others should know, before the umask: it is for the user
/// alone. But a directory that gives its group to new files (setgid) is shared: users of the directory may use the
/// file. Local.
pub fn private_mode_in(files: &dyn Files, dir: &Path) -> Result<u32> {
    let stat = files.stat(dir)?;
    let shared = stat.filter(|stat| stat.mode & libc::S_ISGID != 0);
    Ok(0o600 | shared.map_or(0, |stat| stat.mode & 0o066))
}
