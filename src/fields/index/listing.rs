//! Index lists that may be read several times, wherever they are: in memory as their bytes, in the memory of the
//! program, or in a file, of which one piece at a time is in memory.

use super::ids::{Cursor, Ids, LONGEST, Run, Runs};
use super::set::Set;
use crate::Result;

/// An index list.
pub trait Listing {
    /// Number of indices.
    fn count(&self) -> u64;

    /// Each index is larger than the one before.
    fn ascends(&self) -> bool;

    /// Visits all runs. Two runs may follow each other without a gap.
    ///
    /// # Errors
    /// The list is damaged, or cannot be read.
    fn each(&mut self, visit: impl FnMut(Run)) -> Result<()>;
}

/// A list of which all bytes are in memory, and the whole.
pub struct Listed<'a>(pub &'a Ids, pub u64);

impl Listing for Listed<'_> {
    fn count(&self) -> u64 {
        self.0.count
    }

    fn ascends(&self) -> bool {
        self.0.ascending
    }

    fn each(&mut self, mut visit: impl FnMut(Run)) -> Result<()> {
        self.0.runs(self.1).each(|run| {
            visit(run);
            Ok(run.count)
        })
    }
}

impl Listing for &Set {
    fn count(&self) -> u64 {
        self.count
    }

    fn ascends(&self) -> bool {
        true
    }

    fn each(&mut self, mut visit: impl FnMut(Run)) -> Result<()> {
        let mut before: Option<Run> = None;
        for run in self.runs() {
            let run = run?;
            match &mut before {
                Some(before) if before.end() == run.first => before.count += run.count,
                _ => {
                    before.replace(run).into_iter().for_each(&mut visit);
                }
            }
        }
        before.into_iter().for_each(visit);
        Ok(())
    }
}

/// Reads a list piece by piece. Runs may begin in one piece and end in the next.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Bytes of a run that is not complete.
    left: Vec<u8>,
    /// The end of the run that was read last.
    end: u64,
}

impl Decoder {
    /// Visits the runs, all below `whole`, that are complete with this piece; all that are left if it is the `last` one.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn add(
        &mut self,
        piece: &[u8],
        last: bool,
        whole: u64,
        mut visit: impl FnMut(Run),
    ) -> Result<()> {
        let mut joined = std::mem::take(&mut self.left);
        let bytes = if joined.is_empty() {
            piece
        } else {
            joined.extend_from_slice(piece);
            &joined
        };
        let open = if last { 0 } else { LONGEST };
        let mut runs = Runs::from(bytes, whole, Cursor::after(self.end));
        runs.each_until(open, |run| {
            visit(run);
            Ok(run.count)
        })?;
        let next = runs.cursor();
        self.end = next.last_end();
        self.left = bytes.get(next.bytes()..).unwrap_or_default().to_vec();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, Listed, Listing};
    use crate::fields::index::ids::{Encoder, Run};
    use crate::fields::index::set::Set;

    #[test]
    fn a_list_in_pieces_has_the_runs_of_the_whole_one() {
        let mut encoder = Encoder::default();
        for (first, count) in [(5, 1), (9, 700), (1 << 40, 3), (2, 1), (1 << 20, 1 << 30)] {
            encoder.add(Run { first, count });
        }
        let ids = encoder.finish();
        let mut right = Vec::new();
        Listed(&ids, 1 << 50).each(|run| right.push(run)).unwrap();
        assert_eq!(right.len(), 5);
        for step in 1..=ids.bytes.len() {
            let (mut decoder, mut found) = (Decoder::default(), Vec::new());
            let mut pieces = ids.bytes.chunks(step).peekable();
            while let Some(piece) = pieces.next() {
                let last = pieces.peek().is_none();
                let add = decoder.add(piece, last, 1 << 50, |run| found.push(run));
                add.unwrap();
            }
            assert_eq!(found, right, "{step}");
        }
        let cut = &ids.bytes[..ids.bytes.len() - 1];
        assert!(Decoder::default().add(cut, true, 1 << 50, |_| ()).is_err());
    }

    #[test]
    fn a_set_is_a_list_of_long_runs() {
        let mut encoder = Encoder::default();
        for (first, count) in [(5, 100_000), (200_000, 1), (200_010, 64)] {
            encoder.add(Run { first, count });
        }
        let ids = encoder.finish();
        let set = Set::of(&ids, 1 << 20).unwrap();
        let (mut found, mut right) = (Vec::new(), Vec::new());
        (&set).each(|run| found.push(run)).unwrap();
        Listed(&ids, 1 << 20).each(|run| right.push(run)).unwrap();
        assert_eq!(found, right);
        assert_eq!(((&set).count(), (&set).ascends()), (100_065, true));
    }
}
