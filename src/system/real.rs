//! Threads, locks, time and processes of the standard library and the kernel.

/// Threads, and their priority.
pub mod thread {
    pub use crate::system::priority::{lower_priority, nice};
    pub use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, scope, spawn};

    /// Number of processors that the calling thread may use.
    pub fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}

/// The objects that threads wait for. Types that never wait (`Arc`, atomic values, `OnceLock` of a
/// constant) need no replacement.
pub mod sync {
    pub use std::sync::{Condvar, Mutex, MutexGuard, mpsc};
}

/// Clocks, and sleep.
pub mod time {
    pub use std::thread::sleep;
    pub use std::time::{Instant, SystemTime, UNIX_EPOCH};
}

/// The ids of processes.
pub mod process {
    use std::hash::{BuildHasher, RandomState};

    pub use std::process::id;

    /// The name of this host, as uname(2) has it.
    pub fn host() -> String {
        let system = rustix::system::uname();
        system.nodename().to_string_lossy().into_owned()
    }

    /// The number of the user to whom new files of this process belong.
    pub fn user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// A number that no other process is likely to draw.
    pub fn random() -> u64 {
        RandomState::new().hash_one(id())
    }
}

/// Sizes at which the code takes another way: splits, pieces, groups.
pub mod size {
    /// The size itself. In a simulation it may be much less, so that a few ranks with small files take the
    /// ways of thousands with large ones.
    pub const fn scaled(usual: usize) -> usize {
        usual
    }
}
