//! Who and where am I: user, job, node, time left; and what commands need of the nodes of a
//! job: lists of them, who gave them, how programs are launched on them, how to reach each of
//! them, and which of them work.
//!
//! Nothing here is fatal for want of set-up: a value that nobody gave is found out or
//! derived, and [`Sourced::source`] tells from what, so that the caller can say so.
//!
//! A command that works with nodes goes, in this order:
//!
//! ```text
//! let environment = Environment::of_process();
//! let manager = manager::detect(&environment);                    // Box<dyn Manager>
//! let nodes = manager::nodes(&*manager, &environment, lookup)?;   // SCR_NODELIST first
//! let end = manager::end(&*manager, &environment, lookup)?;       // SCR_END_TIME first
//! let launcher = Launcher::named("srun", &environment)?;
//! let remote = Remote::choose(&*manager, Some(&launcher), &environment, lookup)?;
//! let report = NodeTests { .. }.report(&nodes, &known_down)?;        // HealthReport { down, notes }
//! let line = launcher.command(&arguments, &nodes, &report.nodes(), &environment)?;
//! let step = launcher.step(&environment, pid)?;                   // Some("77.0")
//! launcher.kill(&environment, &step)?;
//! let answers = remote.run(&up, &RemoteCommand { command, set }, limit);   // one NodeResult per node
//! ```
//!
//! A launcher other than srun and flux is ended through its process group, so start it as the
//! leader of one. Export SCR_JOB_ID before a launch in an instance of Flux: there each launch
//! has a FLUX_JOB_ID of its own, and the library would not find the cache of the one before.

pub mod clock;
pub mod environment;
pub mod health;
pub mod holders;
pub mod hostlist;
mod identity;
pub mod launcher;
pub mod log;
pub mod manager;
pub mod program;
pub mod remote;
pub mod signal;
#[cfg(test)]
mod testing;

pub use environment::Environment;
pub use health::{Down, HealthReport, NodeTests};
pub use identity::{Lookup, Sourced, ValueSource, end_time, job_id, node_name, user_name};
pub use launcher::Launcher;
pub use manager::Manager;
pub use remote::{NodeResult, Remote, RemoteCommand};
