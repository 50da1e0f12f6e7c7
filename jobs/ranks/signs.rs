//! A node's signs of progress of a job: the calls of the library, and the processor time of its ranks.

use super::Wanted;
use super::processes::chosen;
use scr_engine::job::stat::Stat;
use scr_engine::job::{Environment, is_of_job};
use scr_engine::system::time::{SystemTime, UNIX_EPOCH};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The signs of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSigns {
    /// The name of the node in SCR.
    pub node: String,
    /// Number of calls that a rank there has made; `None` before the first report.
    pub calls: Option<u64>,
    /// Age of that number, by the clock of the node.
    #[serde(default)]
    pub age: Option<Duration>,
    /// The ranks of the node.
    pub processes: Vec<UsedTime>,
}

/// The processor time of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedTime {
    /// The process id.
    pub pid: u32,
    /// Processor time of all its threads, in ticks.
    pub ticks: u64,
    /// The state of the process, as in /proc: R, S, D, T, t, Z, X.
    pub state: char,
}

impl UsedTime {
    /// The time that process `pid` has used until now; `None` if the process does not run.
    pub(super) fn now(pid: u32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(UsedTime {
            pid,
            ticks: stat.ticks,
            state: stat.state,
        })
    }

    /// True if it is stopped, or waits for a file system or another device.
    pub fn is_stuck(&self) -> bool {
        matches!(self.state, 'T' | 't' | 'D')
    }
}

impl NodeSigns {
    /// Looks at this node. `count` is the file in which the library counts its calls, if they are asked for, and `wanted` the
    /// ranks of the job, if their processor time is. Local.
    pub fn here(
        environment: &Environment,
        node: &str,
        count: Option<&Path>,
        wanted: Option<&Wanted>,
    ) -> Self {
        let all = wanted.map(|wanted| chosen(environment, wanted));
        let all = all.unwrap_or_default().into_iter();
        let used = all.filter_map(|one| UsedTime::now(one.process.pid));
        let (calls, age) = count.and_then(calls).unzip();
        NodeSigns {
            node: node.to_string(),
            calls,
            age,
            processes: used.collect(),
        }
    }
}

/// The calls that the sessions of a job have made on this node, and how long ago the last of them was written; `path` is the file of
/// the session of MPI_COMM_WORLD.
fn calls(path: &Path) -> Option<(u64, Duration)> {
    let (name, dir) = (path.file_name()?, path.parent()?);
    let (job, of_user) = (dir.file_name()?.to_str()?, dir.parent()?);
    let listed = std::fs::read_dir(of_user).ok()?.flatten();
    let of_job = listed.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|id| is_of_job(id, job))
    });
    of_job
        .filter_map(|entry| count_in(&entry.path().join(name)))
        .reduce(|(sum, newest), (count, age)| (sum.wrapping_add(count), newest.min(age)))
}

fn count_in(path: &Path) -> Option<(u64, Duration)> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    let stat = file.metadata().ok()?;
    let seconds = u64::try_from(stat.mtime()).unwrap_or_default();
    let written = Duration::new(
        seconds,
        u32::try_from(stat.mtime_nsec()).unwrap_or_default(),
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    file.take(64).read_to_string(&mut text).ok()?;
    // A sign with a time in the future counts as written now.
    Some((text.trim().parse().ok()?, now.saturating_sub(written)))
}
