//! The `scr` command as users call it: the program itself, on fixtures that SCR v3.1.0 wrote.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod by_index;
#[path = "../site/checkpoints.rs"]
mod checkpoints;
mod clean;
mod command_page;
mod completions;
mod config;
mod delete;
mod diff;
mod docs;
mod doctor;
mod extract;
mod fields;
#[path = "../site/fields.rs"]
mod fields_on_ranks;
mod files;
mod foreign;
mod halt;
mod help;
mod hostile;
mod hosts;
mod import_config;
mod index;
mod job;
mod json;
mod left_over;
mod links;
mod log;
mod man;
mod mapped;
mod message_page;
mod mpi;
mod nodes;
mod notices;
mod parameter_page;
mod params;
mod postrun;
mod random_calls;
mod rebuild;
mod refused_calls;
mod rehearse;
mod report;
mod run;
mod run_again;
mod running;
mod sandbox;
mod scavenge;
#[path = "../site/mod.rs"]
mod site;
mod startup;
mod terminal;
mod transfer;
mod watch;
