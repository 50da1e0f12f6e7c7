//! Memory that the processor does not reach by itself, such as that of an accelerator: where it is, and how its bytes
//! come to the processor's memory and back.
//!
//! Two decisions. A library of a device is used only if the program has loaded it: it is found among the loaded ones,
//! never started, and no context is made. And when a copy begins, all work of the program on that memory has ended:
//! its context is waited for, or the stream that the program has named.

mod context;
mod devices;
mod driver;
mod located;
mod measure;
mod offload;
mod pinned;
mod remote;
mod rows;
mod staging;

pub use devices::{Devices, Place};
pub use located::Located;
pub use measure::{Bus, measure};
pub use remote::{Pin, Rectangle, Remote};
