//! The codes of the schemes: pure arithmetic.
//!
//! A set protects *columns*. A column has some blocks of data and some blocks of redundancy, each
//! on another member. Any of its blocks, if they are as many as its blocks of data, determine all
//! others. So encoding, rebuilding files and rebuilding redundancy are the same operation for each
//! column: collect enough blocks, and compute the missing ones. With N members and k blocks of
//! redundancy in a column:
//!
//! | scheme | columns | blocks of data | redundancy |
//! |---|---|---|---|
//! | PARTNER | N, one for each member | 1, all files of the member | copies on its k right neighbours |
//! | XOR | N | N - 1 chunks | one, on the member with the column's number |
//! | RS | N | N - k chunks | k, on that member and its k - 1 left neighbours |
//!
//! For XOR and RS, a member's logical file is cut into as many chunks as there are columns in which
//! it has data, in rising order. The layout, and the coefficients of RS, are those of SCR v3.1.0,
//! so files of both can be compared. XOR is RS with k = 1, except that all its coefficients are 1.

use super::kernel::field::{inverse, mul};
pub use crate::format::scheme::{CodeKind, MAX_BLOCKS};

/// The place of a member's block of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPlace {
    /// This chunk of its logical file.
    Data(usize),
    /// This block of its redundancy file.
    Parity(usize),
}

/// A block of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Index of the member in the set.
    pub member: usize,
    /// The place of the block at the member.
    pub place: BlockPlace,
}

/// The code of one set.
pub struct Code {
    kind: CodeKind,
    members: usize,
    parities: usize,
    /// For RS, the coefficients of each member's chunk in each block of redundancy.
    rows: Vec<Vec<u8>>,
}

impl Code {
    /// The code for a set of `members` that tolerates `failures` losses. It tolerates fewer if the
    /// set is too small: XOR tolerates 1, the others less than the number of members, and members
    /// plus losses are at most [`MAX_BLOCKS`]. `None` if the set would tolerate no loss.
    pub fn new(kind: CodeKind, members: usize, failures: usize) -> Option<Code> {
        let most = members.saturating_sub(1);
        let parities = match kind {
            CodeKind::Copies => failures.min(most),
            CodeKind::Sum => most.min(1),
            CodeKind::Products => failures.min(most),
        };
        // The field has no more points. Sums and copies get the same limit, to keep sets small.
        let parities = parities.min(MAX_BLOCKS.saturating_sub(members));
        let rows = match kind {
            CodeKind::Products if parities > 0 => (0..parities).map(|i| row(members, i)).collect(),
            CodeKind::Copies | CodeKind::Sum | CodeKind::Products => Vec::new(),
        };
        (parities > 0).then_some(Code {
            kind,
            members,
            parities,
            rows,
        })
    }

    /// Number of members, which is also the number of columns.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Blocks of redundancy in a column, and on each member. This number of members may be lost.
    pub fn parities(&self) -> usize {
        self.parities
    }

    /// Number of blocks of data in a column. Any blocks of a column, if they are this many, give all others.
    pub fn data(&self) -> usize {
        match self.kind {
            CodeKind::Copies => 1,
            CodeKind::Sum | CodeKind::Products => self.members - self.parities,
        }
    }

    /// The blocks of a column: data first, then redundancy. Each is on another member.
    pub fn column(&self, column: usize) -> Vec<Block> {
        let (n, k) = (self.members, self.parities);
        let data = |member, number| Block {
            member,
            place: BlockPlace::Data(number),
        };
        let parity = |member, number| Block {
            member,
            place: BlockPlace::Parity(number),
        };
        match self.kind {
            CodeKind::Copies => {
                let copies = (0..k).map(|i| parity((column + 1 + i) % n, i));
                std::iter::once(data(column, 0)).chain(copies).collect()
            }
            CodeKind::Sum | CodeKind::Products => {
                let chunks = (1..=n - k).map(|steps| {
                    let member = (column + steps) % n;
                    data(member, self.chunk_number(column, member))
                });
                let sums = (0..k).map(|i| parity((column + n - i) % n, i));
                chunks.chain(sums).collect()
            }
        }
    }

    /// True if each block of redundancy is the sum (XOR) of its blocks of data, or a copy.
    pub fn is_sum(&self) -> bool {
        match self.kind {
            CodeKind::Copies | CodeKind::Sum => true,
            CodeKind::Products => false,
        }
    }

    /// Number of blocks of data of a member.
    pub fn blocks_of_data(&self) -> usize {
        match self.kind {
            CodeKind::Copies => 1,
            CodeKind::Sum | CodeKind::Products => self.members - self.parities,
        }
    }

    /// The number of a member's chunk in a column. A member has no chunk in columns whose
    /// redundancy it keeps.
    fn chunk_number(&self, column: usize, member: usize) -> usize {
        let kept = (0..self.parities).map(|i| (member + i) % self.members);
        column - kept.filter(|c| *c < column).count()
    }

    /// Size of the chunks of XOR and RS for logical files of these sizes: bytes, at least 1. 0 for
    /// PARTNER, which has no chunks.
    pub fn chunk(&self, sizes: &[u64]) -> u64 {
        match self.kind {
            CodeKind::Copies => 0,
            CodeKind::Sum | CodeKind::Products => {
                let largest = sizes.iter().copied().max().unwrap_or(0);
                largest.div_ceil(self.data() as u64).max(1)
            }
        }
    }

    /// Bytes in each block of a column, for logical files of these sizes.
    pub fn length(&self, sizes: &[u64], column: usize) -> u64 {
        match self.kind {
            CodeKind::Copies => sizes.get(column).copied().unwrap_or(0),
            CodeKind::Sum | CodeKind::Products => self.chunk(sizes),
        }
    }

    /// True if each column has enough blocks left after these members lost their data and those
    /// their redundancy. Always true if at most [`Code::parities`] members lost anything.
    pub fn recoverable(&self, data_lost: &[bool], parity_lost: &[bool]) -> bool {
        let is = |flags: &[bool], member: usize| flags.get(member).copied().unwrap_or(false);
        (0..self.members).all(|column| {
            let left = self
                .column(column)
                .into_iter()
                .filter(|block| match block.place {
                    BlockPlace::Data(_) => !is(data_lost, block.member),
                    BlockPlace::Parity(_) => !is(parity_lost, block.member),
                });
            left.count() >= self.data()
        })
    }

    /// The coefficients that give the blocks `targets` of a column from the blocks `sources`,
    /// target by target. Both are positions in [`Code::column`]. `None` unless there are
    /// [`Code::data`] different sources.
    pub fn solve(&self, column: usize, sources: &[usize], targets: &[usize]) -> Option<Vec<u8>> {
        let blocks = self.column(column);
        let size = self.data();
        if sources.len() != size {
            return None;
        }
        if sources.iter().copied().eq(0..size) {
            let rows = targets.iter().map(|b| self.in_data(&blocks, *b));
            return Some(rows.flatten().collect());
        }
        let matrix = sources.iter().map(|b| self.in_data(&blocks, *b));
        let inverted = invert(matrix.collect())?;
        let mut coefficients = Vec::with_capacity(targets.len() * size);
        for target in targets {
            let wanted = self.in_data(&blocks, *target);
            for source in 0..size {
                let products = wanted
                    .iter()
                    .zip(&inverted)
                    .map(|(a, row)| mul(*a, row.get(source).copied().unwrap_or(0)));
                coefficients.push(products.fold(0, |sum, product| sum ^ product));
            }
        }
        Some(coefficients)
    }

    /// The coefficients of a column's blocks of data in its block of redundancy `number`, as many as
    /// [`Code::column`] has blocks of data.
    pub fn coefficients(&self, column: usize, number: usize) -> Vec<u8> {
        self.in_data(&self.column(column), self.data() + number)
    }

    /// The coefficients of block `position` over the blocks of data.
    fn in_data(&self, blocks: &[Block], position: usize) -> Vec<u8> {
        let Some(parity) = position.checked_sub(self.data()) else {
            return (0..self.data()).map(|i| u8::from(i == position)).collect();
        };
        let coefficient = |member| match self.rows.get(parity) {
            Some(row) => row.get(member).copied().unwrap_or(0),
            None => 1,
        };
        let data = blocks.iter().take(self.data());
        data.map(|block| coefficient(block.member)).collect()
    }
}

/// Row `members + number` of the matrix with entries `row ^ column`, after column operations that
/// turn its first `members` rows into the identity. Entry `s` is the value at the point `members +
/// number` of the polynomial that is 1 at the point `s` and 0 at the other points below `members`.
fn row(members: usize, number: usize) -> Vec<u8> {
    let at = (members + number) as u8;
    let value = |s: usize| {
        let others = (0..members).filter(|t| *t != s);
        others.fold(1, |product, t| {
            let (s, t) = (s as u8, t as u8);
            mul(product, mul(at ^ t, inverse(s ^ t)))
        })
    };
    (0..members).map(value).collect()
}

/// The inverse of a square matrix, by elimination; `None` if it is singular.
fn invert(mut matrix: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let size = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|j| u8::from(i == j)));
    }
    for column in 0..size {
        let entry = |row: &Vec<u8>| row.get(column).copied().unwrap_or(0);
        let pivot = (column..size).find(|r| matrix.get(*r).is_some_and(|row| entry(row) != 0))?;
        matrix.swap(column, pivot);
        let mut chosen = std::mem::take(matrix.get_mut(column)?);
        let scale = inverse(entry(&chosen));
        chosen.iter_mut().for_each(|c| *c = mul(*c, scale));
        for row in &mut matrix {
            let factor = row.get(column).copied().unwrap_or(0);
            if factor != 0 {
                let pairs = row.iter_mut().zip(&chosen);
                pairs.for_each(|(c, p)| *c ^= mul(*p, factor));
            }
        }
        *matrix.get_mut(column)? = chosen;
    }
    matrix.iter_mut().for_each(|row| drop(row.drain(..size)));
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redundancy::kernel::field::power;

    #[test]
    fn coefficients_are_those_of_the_reference() {
        let code = Code::new(CodeKind::Products, 4, 2).unwrap();
        assert_eq!(code.rows, [[27, 28, 18, 20], [28, 27, 20, 18]]);
    }

    /// The definition of the rows: a matrix of powers, times the inverse of its upper part.
    #[test]
    fn rows_equal_the_reduced_matrix_of_powers() {
        for (members, parities) in [(2, 1), (3, 2), (5, 4), (12, 4), (100, 3)] {
            let power_row =
                |r: usize| -> Vec<u8> { (0..members).map(|c| power(r as u8, c)).collect() };
            let upper = invert((0..members).map(power_row).collect()).unwrap();
            for number in 0..parities {
                let lower = power_row(members + number);
                let expected: Vec<u8> = (0..members)
                    .map(|c| (0..members).fold(0, |sum, i| sum ^ mul(lower[i], upper[i][c])))
                    .collect();
                assert_eq!(row(members, number), expected);
            }
        }
    }

    fn codes() -> impl Iterator<Item = Code> {
        [CodeKind::Copies, CodeKind::Sum, CodeKind::Products]
            .into_iter()
            .flat_map(|kind| (2..8).flat_map(move |n| (1..5).map(move |k| (kind, n, k))))
            .filter_map(|(kind, n, k)| Code::new(kind, n, k))
    }

    #[test]
    fn a_code_is_for_as_many_members_and_losses_as_were_asked_for() {
        for (kind, parities) in [
            (CodeKind::Copies, 3),
            (CodeKind::Sum, 1),
            (CodeKind::Products, 3),
        ] {
            let code = Code::new(kind, 7, 3).unwrap();
            assert_eq!((code.members(), code.parities()), (7, parities));
        }
    }

    #[test]
    fn blocks_are_as_long_as_the_largest_part_of_a_file() {
        let sizes = [10, 3, 0, 7];
        let of = |kind| {
            let code = Code::new(kind, 4, 2).unwrap();
            let each = (0..5).map(|column| code.length(&sizes, column));
            (code.chunk(&sizes), each.collect::<Vec<_>>())
        };
        assert_eq!(of(CodeKind::Sum), (4, vec![4; 5]));
        assert_eq!(of(CodeKind::Products), (5, vec![5; 5]));
        assert_eq!(of(CodeKind::Copies), (0, vec![10, 3, 0, 7, 0]));
        let empty = Code::new(CodeKind::Sum, 4, 1).unwrap();
        assert_eq!(empty.chunk(&[0; 4]), 1);
    }

    #[test]
    fn every_member_has_each_of_its_blocks_in_one_column() {
        for code in codes() {
            let n = code.members();
            let mut seen = vec![Vec::new(); n];
            for column in 0..n {
                let blocks = code.column(column);
                assert_eq!(blocks.len(), code.data() + code.parities());
                for block in blocks {
                    seen[block.member].push(block.place);
                }
            }
            let chunks = if code.kind == CodeKind::Copies {
                1
            } else {
                code.data()
            };
            for places in seen {
                let data: Vec<BlockPlace> = (0..chunks).map(BlockPlace::Data).collect();
                let found = places.iter().filter(|p| matches!(p, BlockPlace::Data(_)));
                assert!(found.eq(&data), "chunks in rising order");
                for i in 0..code.parities() {
                    assert_eq!(
                        places
                            .iter()
                            .filter(|p| **p == BlockPlace::Parity(i))
                            .count(),
                        1
                    );
                }
            }
        }
    }

    /// [`any_enough_blocks_give_all_others`] relies on these sums.
    #[test]
    fn redundancy_is_made_of_the_data_of_its_column_as_the_code_says() {
        for code in codes() {
            let rows: Vec<Vec<u8>> = (0..code.parities())
                .map(|number| row(code.members(), number))
                .collect();
            for column in 0..code.members() {
                let blocks = code.column(column);
                let (data, sums) = blocks.split_at(code.data());
                for position in 0..data.len() {
                    let itself: Vec<u8> =
                        (0..data.len()).map(|i| u8::from(i == position)).collect();
                    assert_eq!(code.in_data(&blocks, position), itself);
                }
                assert_eq!(sums.len(), rows.len());
                for (number, row) in rows.iter().enumerate() {
                    let expected: Vec<u8> = match code.kind {
                        CodeKind::Copies | CodeKind::Sum => vec![1; data.len()],
                        CodeKind::Products => data.iter().map(|block| row[block.member]).collect(),
                    };
                    assert_eq!(code.in_data(&blocks, data.len() + number), expected);
                }
            }
        }
    }

    #[test]
    fn any_enough_blocks_give_all_others() {
        for code in codes() {
            for column in 0..code.members() {
                let blocks = code.column(column);
                let value: Vec<u8> = (0..code.data()).map(|i| (i * 91 + 17) as u8).collect();
                let of = |position| {
                    let row = code.in_data(&blocks, position);
                    row.iter()
                        .zip(&value)
                        .fold(0, |sum, (a, b)| sum ^ mul(*a, *b))
                };
                for subset in 0..1u32 << blocks.len() {
                    let has = |b: &usize| subset >> b & 1 == 1;
                    let (sources, targets): (Vec<usize>, Vec<usize>) =
                        (0..blocks.len()).partition(has);
                    let solved = code.solve(column, &sources, &targets);
                    assert_eq!(solved.is_some(), sources.len() == code.data());
                    for (t, row) in targets
                        .iter()
                        .zip(solved.iter().flat_map(|c| c.chunks(sources.len())))
                    {
                        let pairs = sources.iter().zip(row);
                        let sum = pairs.fold(0, |sum, (s, c)| sum ^ mul(of(*s), *c));
                        assert_eq!(sum, of(*t));
                    }
                }
            }
        }
    }

    #[test]
    fn losses_that_are_recoverable() {
        for code in codes() {
            let n = code.members();
            for subset in 0..1u32 << n {
                let lost: Vec<bool> = (0..n).map(|m| subset >> m & 1 == 1).collect();
                let count = lost.iter().filter(|l| **l).count();
                let whole = code.recoverable(&lost, &lost);
                let by_rule = match code.kind {
                    // A copy is on one of the next k members on the right.
                    CodeKind::Copies => (0..n)
                        .filter(|m| lost[*m])
                        .all(|m| (1..=code.parities()).any(|i| !lost[(m + i) % n])),
                    CodeKind::Sum | CodeKind::Products => count <= code.parities(),
                };
                assert_eq!(whole, by_rule, "{:?} {n} {lost:?}", code.kind);
                assert!(code.recoverable(&[], &lost), "data alone are enough");
            }
        }
        assert!(
            Code::new(CodeKind::Products, 1, 2).is_none()
                && Code::new(CodeKind::Products, 256, 2).is_none()
        );
        assert_eq!(Code::new(CodeKind::Products, 3, 7).unwrap().parities(), 2);
        assert_eq!(Code::new(CodeKind::Products, 254, 7).unwrap().parities(), 2);
        assert_eq!(Code::new(CodeKind::Sum, 9, 7).unwrap().parities(), 1);
        assert_eq!(
            Code::new(CodeKind::Copies, 200, 300).unwrap().parities(),
            56
        );
        assert!(Code::new(CodeKind::Sum, 256, 1).is_none());
    }
}
