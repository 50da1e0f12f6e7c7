//! Memory of devices, with libraries that answer as those of CUDA and HIP do, and no device: `fake.h`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.

mod copies;
mod failures;
mod fake;
mod hip;
mod offload;
mod places;
