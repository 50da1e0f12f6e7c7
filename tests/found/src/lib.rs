//! The C interface.

pub use scr::capi;
