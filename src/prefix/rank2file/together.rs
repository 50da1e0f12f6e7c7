//! Writes the leaves from the entries of all ranks: each rank finds from sums over the ranks before it
//! which rank writes its entry, so no rank holds more than one leaf.

use super::{RecordTarget, full_size};
use crate::Result;
use crate::comm::{Communicator, Local, Tag, Term, collective};
use crate::format::rank2file::{Leaf, RankEntry, fits_in_one, starts_group};
use crate::format::{from_message, to_message};

const ENTRIES: Tag = 0x20;
const BEGINS: Tag = 0x21;

/// Writes the leaves to `target`, each by the rank whose number it has. `mine` are this rank's files by path
/// relative to the prefix. Rank 0 gets the numbers of all leaves, ascending, for
/// [`write_branches`](super::write_branches).
/// Collective.
///
/// The leaves are the same with and without checksums, so they may be added later; see [`gather_leaf`].
pub fn write_leaves_together(
    comm: &dyn Communicator,
    target: &RecordTarget,
    mine: &RankEntry,
) -> Result<Local<Vec<u64>>> {
    let me = comm.rank();
    let group = find_group(comm, full_size(mine)?)?;
    let mut written = Ok(());
    if let Some(leaf) = gather(comm, &group, mine)? {
        written = target.write_leaf(me as u64, &leaf);
    }
    if group.alone {
        return Ok(written.map(|()| vec![0]).into());
    }
    let told = (group.writer == me).then(|| (0, Vec::new()));
    let writers = collective::exchange(comm, told.into_iter().collect())?;
    let mut numbers: Vec<u64> = writers.iter().map(|(writer, _)| *writer as u64).collect();
    numbers.sort_unstable();
    Ok(written.map(|()| numbers).into())
}

/// Gathers the leaf that this rank writes, if it writes one: like [`write_leaves_together`], for a tree
/// that already exists. [`RecordTarget::write_leaf`] puts the leaf in its place. Collective.
pub fn gather_leaf(comm: &dyn Communicator, mine: &RankEntry) -> Result<Option<Leaf>> {
    let group = find_group(comm, full_size(mine)?)?;
    gather(comm, &group, mine)
}

/// Sends each rank's entry to the rank that writes it, and gives that rank its leaf. Collective.
fn gather(comm: &dyn Communicator, group: &Group, mine: &RankEntry) -> Result<Option<Leaf>> {
    let me = comm.rank();
    let message = to_message(mine)?;
    let last = if group.alone {
        me + 1 == comm.size()
    } else {
        is_last(comm, group)?
    };
    let message = [&[u8::from(last)][..], &message].concat();
    let sent = comm.isend(group.writer, ENTRIES, message)?;
    let mut leaf = None;
    if group.writer == me {
        let mut gathered = Leaf::new(comm.size() as u64, Default::default());
        for rank in me..comm.size() {
            let received = comm.recv(rank, ENTRIES)?;
            let (last, entry) = received.split_first().unwrap_or((&0, &[]));
            gathered.entries.insert(rank as u64, from_message(entry)?);
            if *last == 1 {
                break;
            }
        }
        leaf = Some(gathered);
    }
    sent.wait()?;
    Ok(leaf)
}

/// The leaf with a rank's entry.
#[derive(Clone, Copy)]
struct Group {
    /// The rank that writes it.
    writer: usize,
    /// True if it is the only leaf. The same on all ranks.
    alone: bool,
}

/// Finds the leaf of this rank's entry, which has `size` packed bytes. Collective; it cuts as
/// [`LeafCutter`](super::LeafCutter) does in one process.
fn find_group(comm: &dyn Communicator, size: u64) -> Result<Group> {
    let [total] = collective::combine(comm, [Term::Sum(size as i64)])?;
    if fits_in_one(total.count()) {
        return Ok(Group {
            writer: 0,
            alone: true,
        });
    }
    let mut begin = [Term::Sum(size as i64)];
    collective::exscan(comm, &mut begin)?;
    let (me, begin) = (comm.rank(), begin[0].value() as u64);
    let starts = starts_group(me == 0, begin, size);
    let mut before = [Term::Max(if starts { me as i64 } else { 0 })];
    collective::exscan(comm, &mut before)?;
    let writer = if starts {
        me
    } else {
        usize::try_from(before[0].value()).unwrap_or(0)
    };
    Ok(Group {
        writer,
        alone: false,
    })
}

/// True if this rank is the last one in its leaf: each rank tells the one before it whether it begins
/// a leaf. Collective.
fn is_last(comm: &dyn Communicator, group: &Group) -> Result<bool> {
    let (me, begins) = (comm.rank(), group.writer == comm.rank());
    let sent = match me {
        0 => None,
        _ => Some(comm.isend(me - 1, BEGINS, vec![begins.into()])?),
    };
    let last = if me + 1 < comm.size() {
        comm.irecv(me + 1, BEGINS, vec![0])?.wait()? == [1]
    } else {
        true
    };
    if let Some(sent) = sent {
        sent.wait()?;
    }
    Ok(last)
}
