//! Checkpoints of fields: the program has one routine that lists its state, and calls [`checkpoint`] and
//! [`restore`] with it. Names, files and the loop over older checkpoints are the library's.
//!
//! | file | what |
//! |---|---|
//! | `list`, `list_index` | the handle that the routine gets |
//! | `entry`, `options`, `kind` | what one call says of a field, and what is wrong with it |
//! | `memory`, `walk` | the memory of a field, and its elements in the order of files |
//! | `apart`, `remote` | memory that the processor does not reach: whether the elements are in it, and they as rectangles |
//! | `reach` | who copies that memory: the processor, the driver of a device, or the program |
//! | `index` | fields of unstructured codes: elements by their number in the whole |
//! | `region` | boxes in a whole: where they meet, holes, overlaps, cells |
//! | `file`, `write`, `write_remote`, `sums`, `sources` | the file of a rank: format, writer, checksums, reader |
//! | `agreement` | whether all ranks list the same, and whether parts make up their wholes |
//! | `copies` | elements that several ranks write: whether the copies are equal |
//! | `checkpoint`, `restore`, `reader` | the two calls |
//! | `spread`, `spread_index`, `plan_index`, `stored_index`, `messages` | who reads what for whom, if a restart has other boxes, and the messages |
//! | `shares`, `keyed` | a restart of bags: which elements each rank gets |
//! | `finding` | what stands in the way of a restart, and what that says of the checkpoint |
//! | `offline` | the fields of a dataset in a prefix directory, for commands |
//! | `convert` | kinds of which nothing is lost |
//!
//! Three decisions. No pointer is kept after the routine returns, so a list cannot go stale. In a restart the
//! routine is called twice: first to compare, when no memory changes, then to read. And each file is read by one
//! rank, which sends the others their parts: so the same code serves another number of ranks and other boxes of
//! the same number, and no byte is read twice.

pub mod agreement;
mod apart;
mod checkpoint;
mod convert;
mod copies;
pub mod entry;
pub mod file;
mod finding;
mod in_place;
pub mod index;
mod keyed;
pub mod kind;
mod list;
mod list_index;
pub mod memory;
mod messages;
mod options;
mod plan_index;
mod reach;
mod reader;
pub mod region;
mod remote;
mod restore;
mod shares;
pub mod sources;
mod spread;
mod spread_index;
mod stored_index;
mod sums;
pub mod walk;
pub mod write;
mod write_remote;

pub use apart::RemoteMemory;
pub use checkpoint::{checkpoint, checkpoint_if_needed};
pub use entry::{KnownIndex, MAX_NAME, MAX_RANK, Options, Order, Place, Spec};
pub use index::{Given, Indices};
pub use keyed::{Key, Owner};
pub use kind::{Class, Kind};
pub use list::{ByProgram, List, Pass, StoredField};
pub use memory::{Element, Memory, Slice};
pub use restore::restore;

#[cfg(test)]
mod entry_tests;
#[cfg(test)]
mod format_tests;
