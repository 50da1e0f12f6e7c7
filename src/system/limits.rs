//! The limits that the system sets this process.

use rustix::process::{Resource, getrlimit};

/// Number of files that this process may have open (`ulimit -n`); `None` without a limit.
pub fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Bytes that this process may lock in memory (`ulimit -l`); `None` without a limit.
pub fn locked_memory() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// Number of files that one reader may keep open, if it would like `most`: an eighth of the limit of the process,
/// and at least 1. The program, the MPI library and other readers also have files.
pub fn share_of_open_files(most: usize) -> usize {
    share(open_files(), most)
}

fn share(limit: Option<u64>, most: usize) -> usize {
    let eighth = limit.map_or(most, |limit| usize::try_from(limit / 8).unwrap_or(most));
    eighth.min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_reader_takes_an_eighth_of_a_low_limit() {
        let limits = [None, Some(1024), Some(64), Some(40), Some(4)];
        assert_eq!(limits.map(|limit| share(limit, 32)), [32, 32, 8, 5, 1]);
    }
}
