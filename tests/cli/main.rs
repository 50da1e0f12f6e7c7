//! The `scr` command as users call it: the program itself, on fixtures that SCR v3.1.0 wrote.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod files;
mod halt;
mod help;
mod hostile;
mod index;
#[path = "../job/mod.rs"]
mod job;
mod man;
mod params;
mod rebuild;
mod sandbox;
mod scavenge;
