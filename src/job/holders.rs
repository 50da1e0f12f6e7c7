//! The processes of this node that hold a lock on a directory.

use std::path::Path;

/// The ids of the processes that have `dir` open with an flock on it, in order. A process that a rank
/// has forked may hold the lock of a rank that has ended, so this asks the system. Only processes of
/// this node that this process may inspect; empty if the system does not tell. Local.
pub fn holders(dir: &Path) -> Vec<u32> {
    let Ok(dir) = dir.canonicalize() else {
        return Vec::new();
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = numbers.filter(|pid| holds(*pid, &dir)).collect();
    found.sort_unstable();
    found
}

/// The processes in words, such as "process 12"; `None` if none is found. Local.
pub fn in_words(dir: &Path) -> Option<String> {
    let pids: Vec<String> = holders(dir).iter().map(u32::to_string).collect();
    match pids.as_slice() {
        [] => None,
        [pid] => Some(format!("process {pid}")),
        _ => Some(format!("processes {}", pids.join(" and "))),
    }
}

/// The links are read and not followed: their targets may be on a file system that hangs.
fn holds(pid: u32, dir: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let mut open = open.into_iter().flatten().flatten();
    open.any(|entry| {
        let is_dir = std::fs::read_link(entry.path()).is_ok_and(|path| path == dir);
        is_dir && {
            let number = entry.file_name();
            let info = Path::new("/proc").join(pid.to_string()).join("fdinfo");
            let info = std::fs::read_to_string(info.join(number));
            info.is_ok_and(|info| info.contains("FLOCK"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{holders, in_words};
    use crate::store::Files;
    use crate::store::posix::Posix;
    use crate::system::process;

    #[test]
    fn who_has_the_lock_is_told_and_not_who_has_the_directory_open() {
        let dir = tempfile::tempdir().unwrap();
        let open = std::fs::File::open(dir.path()).unwrap();
        assert!(holders(dir.path()).is_empty());
        let lock = Posix.try_lock(dir.path()).unwrap().unwrap();
        // Another test's child may have it too, between its fork and its exec.
        assert!(holders(dir.path()).contains(&process::id()));
        assert!(
            in_words(dir.path())
                .unwrap()
                .contains(&process::id().to_string())
        );
        drop((open, lock));
        assert!(!holders(dir.path()).contains(&process::id()));
        assert_eq!(in_words(&dir.path().join("none")), None);
    }
}
