//! What is done with a dataset after its job, without a job: its parts in the nodes are copied
//! to the prefix directory, what is missing is rebuilt, and the whole is entered in the index.
//! Everything here is local: one process does it, no ranks.
//!
//! [`survey`] reads the records of a directory, [`mend`](mod@mend) makes a dataset whole from
//! what is there.

pub mod home;
pub mod mend;
pub mod survey;
