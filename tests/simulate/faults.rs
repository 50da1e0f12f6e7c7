//! Errors of file systems, drawn for each operation.

use scr::system::simulated::scheduler;
use std::sync::Mutex;

/// What operations may fail with, where it says.
const READING: [i32; 2] = [libc::EIO, libc::ESTALE];
const WRITING: [i32; 3] = [libc::EIO, libc::ENOSPC, libc::EDQUOT];

/// How many operations fail, and how often.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// One in so many operations fails; none if it is 0.
    pub one_in: u64,
    /// So many at most.
    pub left: u64,
    /// So many operations go well before.
    pub after: u64,
    /// They begin when the program reads a checkpoint.
    pub in_restart: bool,
}

/// The faults of one job.
#[derive(Debug, Default)]
pub struct Faults(Mutex<(Budget, Vec<String>)>);

impl Faults {
    pub fn set(&self, budget: Budget) {
        self.0.lock().unwrap().0 = budget;
    }

    /// The faults since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }

    /// True if there was one since the last [`Faults::take`].
    pub fn any_hit(&self) -> bool {
        !self.0.lock().unwrap().1.is_empty()
    }

    /// The program reads a checkpoint.
    pub fn restarts(&self) {
        self.0.lock().unwrap().0.in_restart = false;
    }

    /// Whether an operation goes well.
    pub fn check(&self, action: &'static str) -> Result<(), i32> {
        let mut state = self.0.lock().unwrap();
        if state.0.left == 0 || state.0.one_in == 0 || state.0.in_restart {
            return Ok(());
        }
        if state.0.after > 0 {
            state.0.after -= 1;
            return Ok(());
        }
        let errno = scheduler::draw(|random| {
            let hits = random.once_in(state.0.one_in);
            let reads = matches!(action, "open" | "read" | "stat" | "list directory" | "lock");
            let all: &[i32] = if reads { &READING } else { &WRITING };
            hits.then(|| *random.one_of(all))
        });
        let Some(errno) = errno else {
            return Ok(());
        };
        state.0.left -= 1;
        let process = scheduler::current_process().unwrap_or(0);
        state
            .1
            .push(format!("errno {errno} of '{action}' in process {process}"));
        Err(errno)
    }
}
