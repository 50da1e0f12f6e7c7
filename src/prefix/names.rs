//! Names of files in messages between ranks.
//!
//! Each name has a rank that its hash tells. What several ranks know of a name comes together there,
//! so that all ranks share the work, and none holds all names.

use crate::Result;
use crate::comm::{Communicator, collective};
use crate::format::{Name, from_message, to_message};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A message with names of files.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(super) struct Names {
    pub names: Vec<Name>,
}

/// The answer to [`Names`]: for each name the rank that owns the file.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(super) struct Owners {
    pub owners: Vec<usize>,
}

/// The rank, of `size`, at which what is known of a name comes together.
pub(super) fn rank_of(name: &Path, size: usize) -> usize {
    crc32fast::hash(name.as_os_str().as_bytes()) as usize % size
}

/// Sends names to ranks, and returns what came, sorted by sender. Collective; one round.
pub(super) fn exchange_names(
    comm: &dyn Communicator,
    names: &BTreeMap<usize, Names>,
) -> Result<Vec<(usize, Names)>> {
    let messages = names
        .iter()
        .map(|(to, names)| Ok((*to, to_message(names)?)));
    let incoming = collective::exchange(comm, messages.collect::<Result<_>>()?)?;
    let decode = |(from, message): (usize, Vec<u8>)| Ok((from, from_message(&message)?));
    incoming.into_iter().map(decode).collect()
}
