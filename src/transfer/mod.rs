//! Copying between stores, and flow control.

pub mod copy;
pub mod turns;
