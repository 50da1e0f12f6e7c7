//! Copying between stores: in the calling process and in the background, with flow control.

pub mod copy;
pub mod pace;
pub mod sync;
pub mod turns;
pub mod worker;
