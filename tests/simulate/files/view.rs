//! What a node remembers of a network file system: attributes and names, for some seconds. What the node
//! changes itself it sees at once. A file that is opened is always that of the server.

use crate::volume::Errno;
use scr::store::Stat;
use scr::system::simulated::scheduler;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time for which something is remembered, milliseconds.
const LONGEST: u64 = 3000;

/// Something remembered, and until when.
type Remembered<T> = BTreeMap<PathBuf, (Duration, T)>;

#[derive(Default)]
pub struct View {
    stats: Remembered<Option<Stat>>,
    lists: Remembered<Vec<OsString>>,
}

fn look<T: Clone>(
    known: &mut Remembered<T>,
    path: &Path,
    ask: impl FnOnce() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let now = scheduler::now().unwrap_or_default();
    if let Some((until, found)) = known.get(path)
        && now < *until
    {
        return Ok(found.clone());
    }
    let found = ask()?;
    let time = scheduler::draw(|random| Duration::from_millis(random.below(LONGEST)));
    known.insert(path.to_path_buf(), (now + time, found.clone()));
    Ok(found)
}

impl View {
    pub fn stat(
        &mut self,
        path: &Path,
        ask: impl FnOnce() -> Result<Option<Stat>, Errno>,
    ) -> Result<Option<Stat>, Errno> {
        look(&mut self.stats, path, ask)
    }

    pub fn list(
        &mut self,
        path: &Path,
        ask: impl FnOnce() -> Result<Vec<OsString>, Errno>,
    ) -> Result<Vec<OsString>, Errno> {
        look(&mut self.lists, path, ask)
    }

    /// This node changes a path.
    pub fn forget(&mut self, path: &Path) {
        self.stats.retain(|known, _| !known.starts_with(path));
        self.lists.retain(|known, _| !known.starts_with(path));
        if let Some(parent) = path.parent() {
            self.lists.remove(parent);
        }
    }
}
