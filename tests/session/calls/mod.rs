//! The calls of the API: order, arguments, configuration, halting, messages, rounds.

mod after_kill;
mod api;
mod auto;
mod bad_input;
mod configuration;
mod given;
mod halt;
mod identity;
mod levels;
mod lifecycle;
mod log;
mod messages;
mod no_fetch;
mod repair;
mod rounds;
mod sessions;
mod start_output;
mod two_runs;
