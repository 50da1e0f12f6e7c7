//! The ranks of a job as the system shows them: their processes, the places in their code, and the objects that they
//! wait for. For a job that makes no progress, whether the program is linked with the library or not.

mod groups;
mod launches;
mod leftovers;
mod processes;
mod signs;
mod stack;
mod times;
mod tree;

pub use groups::{Group, groups, missing, page, summary};
pub use launches::{Belongs, keep_surest};
pub use leftovers::end_leftovers;
pub use processes::{Wanted, find, rank_in};
pub use signs::{NodeSigns, UsedTime};
pub use times::{age, started};
pub use tree::ProcessTree;

use scr_engine::job::Environment;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time that all stacks of a node may take.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// The processes of a job on one node, and the free resources of the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeReport {
    /// The name of the node in SCR.
    pub node: String,
    /// The load averages of the last 1, 5 and 15 minutes.
    pub load: String,
    /// Memory that is available, bytes.
    pub free: u64,
    /// The ranks that run there.
    pub processes: Vec<RankProcess>,
}

/// One rank.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankProcess {
    /// The rank; `None` if it is not known.
    pub rank: Option<usize>,
    /// Number of ranks that the launcher has started; `None` if no process tells it.
    pub ranks: Option<usize>,
    /// The name of its node in SCR.
    pub node: String,
    /// The process id.
    pub pid: u32,
    /// The name of the program, as the kernel has it.
    pub program: String,
    /// The state of the process, as in /proc: R, S, D, T, t, Z, X.
    pub state: char,
    /// Number of its threads.
    pub threads: u64,
    /// Memory that it occupies, bytes.
    pub memory: u64,
    /// Share of a processor that it used while it was looked at.
    pub processor: f64,
    /// The reason why its first thread waits, according to the kernel.
    pub waits: Option<String>,
    /// The function of the kernel in which its first thread waits, on its node.
    #[serde(skip)]
    pub channel: Option<String>,
    /// The first of its open files.
    pub files: Vec<String>,
    /// The stack of its first thread, innermost function first.
    pub stack: Vec<Frame>,
    /// A few of its other threads that are in a call of MPI or of this library.
    #[serde(default)]
    pub other_threads: Vec<Vec<Frame>>,
    /// The reason why a thread other than the first one cannot be traced, on its node.
    #[serde(skip)]
    pub stuck_thread: Option<String>,
    /// The program that launched it on its node, in words.
    #[serde(default)]
    pub launcher: Option<String>,
    /// The way in which it shows that it belongs to the job.
    #[serde(default)]
    pub belongs: Belongs,
    /// The reason why the stack is missing.
    pub no_stack: Option<String>,
}

/// One function on a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The name of the function, as in the program's source.
    pub function: String,
    /// File and line, if the program was compiled with them.
    pub place: Option<String>,
}

impl NodeReport {
    /// Looks at the ranks of this node. Takes half a second, and for the stacks at most [`PATIENCE`]. A process that may not
    /// be traced has no stack, and says so. Local.
    pub fn here(environment: &Environment, wanted: &Wanted) -> Self {
        let mut processes = find(environment, wanted);
        processes::measure(&mut processes);
        stack::read_all(environment, &mut processes, PATIENCE);
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let load = read("/proc/loadavg");
        let load: Vec<&str> = load.split_whitespace().take(3).collect();
        NodeReport {
            node: wanted.node.clone(),
            load: load.join(" "),
            free: times::field(&read("/proc/meminfo"), "MemAvailable") * 1024,
            processes,
        }
    }
}
