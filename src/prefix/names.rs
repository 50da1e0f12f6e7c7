//! Names of files in messages between ranks.
//!
//! Each name has a rank that its hash tells. All facts about a name come together at one rank, so
//! that the ranks share the work, and no rank holds all names.

use crate::comm::{Communicator, collective};
use crate::format::{Name, from_message, to_message};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
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

/// The rank, of `size`, at which all facts about a name come together.
pub(super) fn rank_of(name: &Path, size: usize) -> usize {
    crc32fast::hash(name.as_os_str().as_bytes()) as usize % size
}

/// Sends names to ranks, and returns the received ones, sorted by sender. Collective; one round.
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

/// Finds files that several ranks have registered. Returns for each of `mine` the lowest rank that
/// has it. Each name is sent to the rank that its hash tells, and that rank answers. Collective.
pub fn owners(comm: &dyn Communicator, mine: &[&Path]) -> Result<Vec<usize>> {
    let judges: Vec<usize> = mine.iter().map(|path| rank_of(path, comm.size())).collect();
    let mut asked: BTreeMap<usize, Names> = BTreeMap::new();
    for (judge, path) in judges.iter().zip(mine) {
        let names = &mut asked.entry(*judge).or_default().names;
        names.push(path.as_os_str().into());
    }
    let questions = exchange_names(comm, &asked)?;
    let mut lowest: BTreeMap<&Name, usize> = BTreeMap::new();
    for (rank, Names { names }) in &questions {
        for name in names {
            // Questions come sorted by rank.
            lowest.entry(name).or_insert(*rank);
        }
    }
    let answer = |(rank, Names { names }): &(usize, Names)| {
        let owner = |name| lowest.get(name).copied().unwrap_or(*rank);
        let owners = names.iter().map(owner).collect();
        Ok((*rank, to_message(&Owners { owners })?))
    };
    let answers = questions.iter().map(answer).collect::<Result<_>>()?;
    let mut owners: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    for (judge, message) in collective::exchange(comm, answers)? {
        let answer: Owners = from_message(&message)?;
        owners.insert(judge, answer.owners.into());
    }
    let mut next = |judge| owners.get_mut(judge)?.pop_front();
    judges
        .iter()
        .map(|judge| {
            next(judge).ok_or_else(|| Error::comm("exchange of file names", "an answer is missing"))
        })
        .collect()
}
