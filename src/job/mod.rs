//! The job of this process: user, job id, node and time left. For commands also the nodes of the job:
//! host lists, resource managers, launchers, commands on other nodes, and node tests.
//!
//! A value that is not configured is detected or derived; [`Sourced::source`] says from what.
//!
//! A command that works with nodes calls, in this order:
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
//! Launchers other than srun and flux are ended through their process group, so start them as leaders
//! of a group. In an instance of Flux, export SCR_JOB_ID before a launch: each launch has its own
//! FLUX_JOB_ID there, and the library would not find the cache of the previous one.

pub mod clock;
pub mod environment;
pub mod health;
pub mod holders;
pub mod hostlist;
mod identity;
pub mod launcher;
pub mod manager;
pub mod program;
pub mod ranks;
pub mod remote;
pub mod signal;
#[cfg(test)]
mod testing;

pub use environment::Environment;
pub use health::{Down, HealthReport, NodeTests};
pub use identity::{
    Lookup, PrefixPlace, Sourced, ValueSource, end_time, is_of_job, job_id, node_name, of_session,
    session_name, user_name,
};
pub use launcher::Launcher;
pub use manager::Manager;
pub use program::Heard;
pub use remote::{NodeResult, Remote, RemoteCommand};
