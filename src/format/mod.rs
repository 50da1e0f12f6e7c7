//! Key trees and the files made of them.
//!
//! Apart from application data, SCR writes trees of byte strings ([`Tree`]). [`packed`] is their form
//! in messages, [`file`](mod@file) their form on disk, and [`print`](mod@print) prints them. [`ser`]
//! and [`de`] convert serde structs to trees and back. So each kind of file is one plain struct in a
//! module of its own:
//!
//! | module | file |
//! |---|---|
//! | [`index`] | `.scr/index.scr`: the datasets of a prefix directory |
//! | [`summary`] | `.scr/scr.dataset.<id>/summary.scr` |
//! | [`rank2file`] | `.scr/scr.dataset.<id>/rank2file*`: which rank reads which file |
//! | [`flush_file`] | `.scr/flush.scr`: where the cached datasets are |
//! | [`identity`] | `.scr/identity.scr`: what names a prefix directory |
//! | [`halt`], [`nodes`] | `.scr/halt.scr`, `.scr/nodes.scr` |
//! | [`dataset`] | the description of a dataset, part of the others |
//! | [`filemap`] | a rank's completion record in the cache |
//! | [`transfer`] | what a transfer daemon has to copy |
//! | [`parity`] | the header of a redundancy file in the cache |
//! | [`stop`] | a program's stop for a look at its memory, as lines of text |
//! | [`files`] | the files of a rank, part of the last two |
//!
//! [`scheme`] is the table of redundancy schemes, which records and parameters name.

pub mod dataset;
pub mod de;
pub mod file;
pub mod filemap;
pub mod files;
pub mod flush_file;
pub mod halt;
pub mod identity;
pub mod index;
pub mod nodes;
pub mod packed;
pub mod parity;
pub mod print;
pub mod rank2file;
pub mod scheme;
pub mod ser;
pub mod stop;
pub mod summary;
pub mod transfer;
pub mod tree;
pub mod with;

pub use dataset::Dataset;
pub use de::{from_message, from_tree};
pub use file::{decode, encode, encode_record, read, read_header, read_tree, write};
pub use filemap::{Filemap, Reddesc};
pub use files::{FileMeta, RankFiles};
pub use packed::unpack;
pub use scheme::{RecordedScheme, Scheme};
pub use ser::{to_message, to_tree};
pub use tree::{Name, Tree};

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod serde_tests;
