//! The parts of jobs and their datasets that only commands need: a package between the commands and the engine. The
//! engine has the parts that programs also run.
//!
//! A command that works with the nodes of a job calls, in this order:
//!
//! ```text
//! let environment = Environment::of_process();
//! let manager = manager::detect(&environment);                    // Box<dyn Manager>
//! let nodes = manager::nodes(&*manager, &environment, lookup)?;   // SCR_NODELIST first
//! let end = job::end_of_allocation(&environment, lookup)?;        // SCR_END_TIME first
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
//!
//! # Modules
//!
//! Top layer first, as in the engine, of which each may use modules, too:
//!
//! ```text
//! transfers clean datasets saved_fields
//! relaunch hang
//! ranks health remote launcher manager
//! hostlist variables tally
//! ```
//!
//! `docs/architecture.md` says what each module does.

pub mod clean;
pub mod datasets;
pub mod hang;
pub mod health;
pub mod hostlist;
pub mod launcher;
pub mod manager;
pub mod ranks;
pub mod relaunch;
pub mod remote;
pub mod saved_fields;
pub mod tally;
pub mod transfers;
pub mod variables;

// The unit tests of the engine also compile `tally`, as a module of the engine. So `tally` names these from `crate::`.
use scr_engine::{Result, store, system};
