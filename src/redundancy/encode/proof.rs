//! The proof that a redundancy file is right.
//!
//! Each member takes the checksum of each of its blocks when it reads it. The member that keeps the redundancy gets these
//! checksums with those of the files, and computes from them the checksum that its redundancy must have. It compares that
//! with the checksum of what it has written, as it lies in the file. So a bit that flips on the way, in a buffer or in a
//! message or in the file, is noticed, wherever the redundancy was computed, without a message of its own.
//!
//! For copies and sums (PARTNER, XOR) the checksum is CRC32, which is linear for sums, and is taken for the files anyway.
//! For sums of multiples (RS) it is a [`Fold`](crate::redundancy::fold::Fold).

use super::SentSums;
use crate::redundancy::Context;
use crate::redundancy::code::{BlockPlace, Code};
use crate::redundancy::fold::{self, Digest, LINE};
use crate::redundancy::parity_file::ParityWriter;
use crate::redundancy::sums::sum_of_blocks;
use crate::text::ranks_in_words;
use crate::{Error, Result};

/// The checksums of the blocks of data of a member.
pub enum BlockSums {
    Crcs(Vec<u32>),
    Folds(Vec<Digest>),
}

impl Default for BlockSums {
    fn default() -> Self {
        BlockSums::Crcs(Vec::new())
    }
}

impl BlockSums {
    /// The bytes of one checksum.
    fn get(&self, block: usize) -> Option<Vec<u8>> {
        match self {
            BlockSums::Crcs(all) => all.get(block).map(|crc| crc.to_le_bytes().to_vec()),
            BlockSums::Folds(all) => all.get(block).map(|fold| fold.to_vec()),
        }
    }
}

/// The checksums that members of a set send each other.
pub struct Proof<'a> {
    pub code: &'a Code,
    /// Index of this member.
    me: usize,
    /// Bytes of a checksum.
    width: usize,
    /// For each member, the blocks of data of this one that its redundancy protects, by column.
    to: Vec<Vec<usize>>,
    /// For each member, the blocks of redundancy of this one that protect its data, by column.
    from: Vec<Vec<usize>>,
    /// Each block of redundancy of this member.
    blocks: Vec<ProvenBlock>,
}

/// A block of redundancy.
#[derive(Clone, Default)]
struct ProvenBlock {
    /// Bytes.
    length: u64,
    /// The members with its blocks of data, and their coefficients.
    sources: Vec<(usize, u8)>,
}

impl<'a> Proof<'a> {
    /// For the member `me` of a set whose members have data of these `sizes`, bytes.
    pub fn new(code: &'a Code, sizes: &[u64], me: usize) -> Self {
        let nothing = vec![Vec::new(); code.members()];
        let mut proof = Proof {
            code,
            me,
            width: if code.is_sum() { 4 } else { LINE },
            to: nothing.clone(),
            from: nothing,
            blocks: vec![ProvenBlock::default(); code.parities()],
        };
        (0..code.members()).for_each(|column| proof.add(column, sizes));
        proof
    }

    fn add(&mut self, column: usize, sizes: &[u64]) {
        let blocks = self.code.column(column);
        let (data, redundancy) = blocks.split_at(self.code.data());
        match blocks.iter().find(|b| b.member == self.me).map(|b| b.place) {
            Some(BlockPlace::Data(number)) => {
                let all = redundancy.iter();
                all.for_each(|b| push(&mut self.to, b.member, number));
            }
            Some(BlockPlace::Parity(number)) => {
                data.iter()
                    .for_each(|b| push(&mut self.from, b.member, number));
                let members = data.iter().map(|b| b.member);
                if let Some(block) = self.blocks.get_mut(number) {
                    *block = ProvenBlock {
                        length: self.code.length(sizes, column),
                        sources: members
                            .zip(self.code.coefficients(column, number))
                            .collect(),
                    };
                }
            }
            None => {}
        }
    }

    /// The checksums of this member's `blocks` for the member that many steps to the right. Their number does not depend on
    /// `blocks`, which may be missing after an error.
    pub fn message(&self, steps: usize, blocks: &BlockSums) -> Vec<u8> {
        let to = (self.me + steps) % self.code.members();
        let shared = self.to.get(to).into_iter().flatten();
        let sum = |data: &usize| blocks.get(*data).unwrap_or_else(|| vec![0; self.width]);
        shared.flat_map(sum).collect()
    }

    /// Bytes of the message of that member.
    pub fn length(&self, member: usize) -> usize {
        self.width * self.from.get(member).map_or(0, Vec::len)
    }

    /// Compares what lies in the file with the checksums that the members have sent.
    pub fn check(
        &self,
        context: &Context,
        sent: &[Option<SentSums>],
        file: &ParityWriter,
    ) -> Result<()> {
        for (number, block) in self.blocks.iter().enumerate() {
            let each = block.sources.iter().map(|(member, coefficient)| {
                let sums = sent.get(*member)?.as_ref()?;
                let at = self.from.get(*member)?.iter().position(|n| *n == number)?;
                Some((sums.blocks.chunks_exact(self.width).nth(at)?, *coefficient))
            });
            let right = match each.collect::<Option<Vec<_>>>() {
                Some(sums) if self.code.is_sum() => {
                    let crcs = sums.iter().filter_map(|(sum, _)| sum.first_chunk());
                    let crcs = crcs.map(|sum| u32::from_le_bytes(*sum));
                    sum_of_blocks(crcs, block.length) == file.block_crc(number)
                }
                Some(sums) => {
                    let mut expected = [0; LINE];
                    for (sum, coefficient) in sums {
                        let sum = sum.first_chunk().copied().unwrap_or_default();
                        fold::add(&mut expected, sum, coefficient);
                    }
                    file.block_fold(number) == Some(expected)
                }
                None => false,
            };
            if !right {
                let members = block.sources.iter();
                let ranks: Vec<usize> = members.map(|(m, _)| context.member(*m)).collect();
                let what = format!(
                    "it is not the redundancy of {}: a message, memory or the file was changed",
                    ranks_in_words(&ranks)
                );
                return Err(Error::corrupt(file.path(), what));
            }
        }
        Ok(())
    }
}

fn push(all: &mut [Vec<usize>], member: usize, block: usize) {
    if let Some(blocks) = all.get_mut(member) {
        blocks.push(block);
    }
}
