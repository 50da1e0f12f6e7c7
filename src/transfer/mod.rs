//! Moving bytes between stores.

pub mod copy;
pub mod turns;
