//! To which job, and to which launch, a process belongs.

use scr_engine::job::stat::{Stat, at};
use serde::{Deserialize, Serialize};

/// Programs that start ranks: the beginnings of their names.
const LAUNCHERS: [&str; 10] = [
    "srun",
    "mpirun",
    "mpiexec",
    "hydra_pmi",
    "orted",
    "orterun",
    "prte",
    "flux",
    "jsrun",
    "aprun",
];

/// The way in which a process shows that it belongs to the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Belongs {
    /// The process does not tell its job.
    #[default]
    Untold,
    /// The process, or another process of its launcher, uses the prefix directory of the job.
    ByPrefix,
    /// The process tells the id of the job.
    ById,
}

/// Keeps those of the found processes that belong to the job the most surely.
pub fn keep_surest<T>(found: &mut Vec<T>, belongs: impl Fn(&T) -> Belongs) {
    let surest = found.iter().map(&belongs).max();
    found.retain(|one| Some(belongs(one)) == surest);
}

/// The topmost launcher above the process with this parent.
pub(super) fn launcher_above(parent: u32) -> Option<u32> {
    let mut above = parent;
    let mut found = None;
    // A process id may have been used again while this was read.
    for _ in 0..100 {
        let Some(stat) = Stat::read(above).filter(|_| above > 1) else {
            break;
        };
        if LAUNCHERS.iter().any(|name| stat.program.starts_with(name)) {
            found = Some(above);
        }
        above = stat.parent;
    }
    found
}

/// A launcher for people: `process 12 (mpiexec) in /p/run`.
pub(super) fn in_words(launcher: u32) -> Option<String> {
    let stat = Stat::read(launcher)?;
    let dir = std::fs::read_link(at(launcher, "cwd")).ok();
    let dir = dir.map_or(String::new(), |dir| format!(" in {}", dir.display()));
    Some(format!("process {launcher} ({}){dir}", stat.program))
}
