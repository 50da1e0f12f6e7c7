//! Checkpoints of fields: the program has one routine that lists its state, and calls [`checkpoint`] and
//! [`restore`] with it. Names, files and the loop over older checkpoints are the library's.
//!
//! | file | what |
//! |---|---|
//! | `list` | the handle that the routine gets |
//! | `entry`, `kind` | what one call says of a field, and what is wrong with it |
//! | `memory`, `walk` | the memory of a field, and its elements in the order of files |
//! | `index` | fields of unstructured codes: elements by their number in the whole |
//! | `region` | boxes in a whole: where they meet, holes, overlaps, cells |
//! | `file`, `write`, `sources` | the file of a rank: format, writer, reader |
//! | `agreement` | whether all ranks list the same, and whether parts make up their wholes |
//! | `checkpoint`, `restore`, `reader` | the two calls |
//! | `spread`, `messages` | who reads what for whom, if a restart has other boxes, and the messages |
//! | `finding` | what stands in the way of a restart, and what that says of the checkpoint |
//! | `offline` | the fields of a dataset in a prefix directory, for commands |
//! | `convert` | kinds of which nothing is lost |
//!
//! Three decisions. No pointer is kept after the routine returns, so a list cannot go stale. In a restart the
//! routine is called twice: first to compare, when no memory changes, then to read. And each file is read by one
//! rank, which sends the others their parts: so the same code serves another number of ranks and other boxes of
//! the same number, and no byte is read twice.

pub mod agreement;
mod checkpoint;
mod convert;
pub mod entry;
pub mod file;
mod finding;
pub mod index;
pub mod kind;
mod list;
pub mod memory;
mod messages;
mod reader;
pub mod region;
mod restore;
pub mod sources;
mod spread;
pub mod walk;
pub mod write;

pub use checkpoint::{checkpoint, checkpoint_if_needed};
pub use entry::{KnownIndex, MAX_NAME, MAX_RANK, Options, Order, Place, Spec};
pub use index::{Given, Indices};
pub use kind::{Class, Kind};
pub use list::{List, Pass, StoredField};
pub use memory::{Element, Memory, Slice};
pub use restore::restore;

#[cfg(test)]
mod format_tests;
