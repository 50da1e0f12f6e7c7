//! Containers: few files that hold the bytes of many (`SCR_USE_CONTAINERS`).
//!
//! The files of a dataset follow each other as one sequence of bytes: the files of a rank in the order
//! of its record, the files of the ranks of a node together. The sequence is cut into the containers
//! `ctr.<n>.scr` of `SCR_CONTAINER_SIZE` bytes, in the dataset's directory in `.scr`. The rank2file says
//! for each file where its bytes are.
//!
//! [`place`] finds where a rank's bytes begin, [`Writer`] writes them, and [`ContainerReader`] gives the files
//! back.

mod claim;
mod reader;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub use claim::{claim, remove_unused};
pub(super) use reader::stat_of;
pub use reader::{ContainerReader, Restored, other_file, temporary_path};
pub use view::ContainedFiles;
pub use writer::Writer;

use crate::comm::{Communicator, Term, collective};
use crate::format::rank2file::Segment;
use crate::{Error, Result};

/// The settings by which a flush fills containers.
#[derive(Debug, Clone, Copy)]
pub struct Containers {
    /// Size of a container, bytes, at least 1 (`SCR_CONTAINER_SIZE`).
    pub size: u64,
    /// The lowest rank of this rank's node.
    pub leader: usize,
}

/// The place of bytes in the containers of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerPlace {
    /// Size of a container, bytes, at least 1 (`SCR_CONTAINER_SIZE`).
    pub size: u64,
    /// Offset of the first byte in the sequence of all bytes.
    pub begin: u64,
}

/// The most containers of a dataset: a directory should have no more files.
const MOST: u64 = 1_000_000;

/// The name of a container in the dataset's directory.
pub fn file_name(number: u64) -> String {
    format!("ctr.{number}.scr")
}

/// Finds where the bytes of this rank begin in the sequence of the bytes of all ranks, in which the
/// ranks of a node are together. `bytes`: how many this rank has. Collective: an allreduce, a scan and
/// two exchanges; all ranks return the same verdict.
///
/// # Errors
/// The dataset would need too many containers.
pub fn place(comm: &dyn Communicator, containers: &Containers, bytes: u64) -> Result<u64> {
    let [total] = collective::combine(comm, [Term::Sum(bytes as i64)])?;
    check_number(total.count(), containers.size)?;

    let to_leader = vec![(containers.leader, bytes.to_be_bytes().to_vec())];
    let of_node = collective::exchange(comm, to_leader)?;
    let of_node = of_node
        .iter()
        .map(|(rank, bytes)| Ok((*rank, number(bytes)?)));
    let of_node: Vec<(usize, u64)> = of_node.collect::<Result<_>>()?;
    let all = of_node.iter().map(|(_, bytes)| *bytes as i64).sum();
    let mut before = [Term::Sum(all)];
    collective::exscan(comm, &mut before)?;
    let mut begin = before[0].value() as u64;
    let mut answers = Vec::with_capacity(of_node.len());
    for (rank, bytes) in of_node {
        answers.push((rank, begin.to_be_bytes().to_vec()));
        begin = begin.wrapping_add(bytes);
    }
    match &collective::exchange(comm, answers)?[..] {
        [(_, begin)] => number(begin),
        _ => Err(Error::comm("exchange of sizes", "an answer is missing")),
    }
}

fn number(message: &[u8]) -> Result<u64> {
    let bytes = message.try_into();
    let bytes = bytes.map_err(|_| Error::comm("exchange of sizes", "a message has no number"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Checks that `total` bytes do not need too many containers.
fn check_number(total: u64, size: u64) -> Result<()> {
    let wanted = total.div_ceil(size.max(1));
    if wanted <= MOST {
        return Ok(());
    }
    let what = format!(
        "{total} bytes would need {wanted} containers of {size} bytes, and at most {MOST} are allowed; \
         set it to {} or more",
        total.div_ceil(MOST)
    );
    Err(Error::config("SCR_CONTAINER_SIZE", what))
}

/// The numbers of the containers of a sequence of bytes: every `step`-th one, from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    /// The number of the first container.
    pub first: u64,
    /// The difference to the next one.
    pub step: u64,
}

impl Numbering {
    /// 0, 1, 2, and so on: one sequence for all ranks.
    pub const ALL: Numbering = Numbering { first: 0, step: 1 };

    /// The number of the container at this place in the sequence.
    pub fn number(self, place: u64) -> u64 {
        self.first.saturating_add(place.saturating_mul(self.step))
    }
}

/// The pieces of containers of `size` bytes (at least 1) that hold `length` bytes from `begin` on in
/// the sequence of all bytes. No bytes have no segment.
pub fn segments(begin: u64, length: u64, size: u64, numbering: Numbering) -> Vec<Segment> {
    let (mut at, mut left) = (begin, length);
    let mut segments = Vec::new();
    while left > 0 {
        let offset = at % size.max(1);
        let length = left.min(size.max(1) - offset);
        segments.push(Segment {
            container: file_name(numbering.number(at / size.max(1)))
                .as_str()
                .into(),
            length,
            offset,
        });
        at = at.saturating_add(length);
        left -= length;
    }
    segments
}
