//! Memory of devices, with libraries that answer as those of CUDA and HIP do, and no device: `fake.h`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.
#![allow(clippy::macro_metavars_in_unsafe)] // `call!` is of these tests, and its arguments are plain.

mod copies;
mod failures;
mod fake;
mod fields;
#[allow(dead_code)] // The programs `session` and `cli` use all of it.
#[path = "../site/fields.rs"]
mod fields_on_ranks;
mod hip;
mod listed;
mod offload;
mod places;
#[allow(dead_code)] // As above.
#[path = "../site/mod.rs"]
mod site;
