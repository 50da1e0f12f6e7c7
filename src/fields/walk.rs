//! The elements of a box, in the order in which files have them, as places in memory or in a file.

use crate::Result;
use std::ops::Range;

/// One dimension: number of elements, and distance to the next one, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dim {
    extent: u64,
    stride: i64,
}

/// The elements of a box in row-major order, the last dimension fastest. Neighbouring dimensions that can
/// be passed as one are merged, so that runs are as long as possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Slowest first; at least one.
    dims: Vec<Dim>,
    /// Place of the first element, bytes.
    base: i64,
    /// Bytes of an element.
    size: u64,
    count: u64,
}

/// Elements at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementRun {
    /// Place of the first one, bytes.
    pub offset: i64,
    /// Number of elements in the run.
    pub count: u64,
    /// The distance, bytes.
    pub stride: i64,
}

impl Walk {
    /// Extents and strides are slowest first; the strides are bytes. The caller has checked that neither
    /// the number of elements nor a place overflows.
    pub fn new(extents: &[u64], strides: &[i64], base: i64, size: u64) -> Self {
        let mut dims: Vec<Dim> = Vec::with_capacity(extents.len() + 1);
        for (extent, stride) in extents.iter().copied().zip(strides.iter().copied()) {
            if extent == 1 {
                continue;
            }
            match dims.last_mut() {
                Some(outer)
                    if i128::from(outer.stride) == i128::from(stride) * i128::from(extent) =>
                {
                    *outer = Dim {
                        extent: outer.extent * extent,
                        stride,
                    };
                }
                _ => dims.push(Dim { extent, stride }),
            }
        }
        if dims.is_empty() {
            dims.push(Dim {
                extent: 1,
                stride: size as i64,
            });
        }
        Walk {
            count: extents.iter().product(),
            dims,
            base,
            size,
        }
    }

    /// Number of elements.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of one element.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// True if the elements lie one after the other.
    pub fn is_contiguous(&self) -> bool {
        self.count == 0 || matches!(self.dims[..], [dim] if dim.stride == self.size as i64)
    }

    /// Place of the first element, bytes.
    pub fn base(&self) -> i64 {
        self.base
    }

    /// The bytes from the first one that an element takes to before the last one's end. Empty without elements.
    pub fn reach(&self) -> Range<i64> {
        if self.count == 0 {
            return self.base..self.base;
        }
        let (mut begin, mut end) = (self.base, self.base.saturating_add(self.size as i64));
        for dim in &self.dims {
            let last = (dim.extent.saturating_sub(1) as i64).saturating_mul(dim.stride);
            begin = begin.saturating_add(last.min(0));
            end = end.saturating_add(last.max(0));
        }
        begin..end
    }

    /// Visits the elements from `from` to before `to`, as runs.
    ///
    /// # Errors
    /// The errors of `visit`.
    pub fn runs(
        &self,
        from: u64,
        to: u64,
        mut visit: impl FnMut(ElementRun) -> Result<()>,
    ) -> Result<()> {
        let (Some(inner), to) = (self.dims.last(), to.min(self.count)) else {
            return Ok(());
        };
        if from >= to || self.size == 0 {
            return Ok(());
        }
        let outer = &self.dims[..self.dims.len() - 1];
        let mut index = vec![0; outer.len()];
        let (mut row, mut column) = (from / inner.extent, from % inner.extent);
        let mut place = self.base;
        for (at, dim) in outer.iter().enumerate().rev() {
            index[at] = row % dim.extent;
            place += index[at] as i64 * dim.stride;
            row /= dim.extent;
        }
        let mut left = to - from;
        while left > 0 {
            let count = left.min(inner.extent - column);
            visit(ElementRun {
                offset: place + column as i64 * inner.stride,
                count,
                stride: inner.stride,
            })?;
            left -= count;
            column = 0;
            for (at, dim) in outer.iter().enumerate().rev() {
                index[at] += 1;
                place += dim.stride;
                if index[at] < dim.extent {
                    break;
                }
                place -= dim.extent as i64 * dim.stride;
                index[at] = 0;
            }
        }
        Ok(())
    }

    /// Number of elements that begin before the place `offset`. Only for strides that are positive and
    /// ordered, like the strides of a file.
    pub fn elements_before(&self, offset: i64) -> u64 {
        let mut left = offset - self.base;
        let mut each = self.count;
        let mut before = 0;
        for (at, dim) in self.dims.iter().enumerate() {
            if left <= 0 || dim.extent == 0 {
                return before;
            }
            each /= dim.extent;
            let last = at + 1 == self.dims.len();
            let whole = if last {
                (left + dim.stride - 1) / dim.stride
            } else {
                left / dim.stride
            } as u64;
            if whole >= dim.extent {
                return before + dim.extent * each;
            }
            before += whole * each;
            left -= whole as i64 * dim.stride;
        }
        before
    }
}

/// The strides of an array whose elements of `size` bytes lie one after the other, slowest first.
pub fn row_major(extents: &[u64], size: u64) -> Vec<i64> {
    let mut strides = vec![0; extents.len()];
    let mut step = size as i64;
    for (stride, extent) in strides.iter_mut().zip(extents).rev() {
        *stride = step;
        step = step.wrapping_mul(*extent as i64);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::{Walk, row_major};

    fn places(walk: &Walk, from: u64, to: u64) -> Vec<i64> {
        let mut places = Vec::new();
        let mut add = |run: super::ElementRun| {
            places.extend((0..run.count as i64).map(|i| run.offset + i * run.stride));
            Ok(())
        };
        walk.runs(from, to, &mut add).unwrap();
        places
    }

    #[test]
    fn every_part_of_a_walk_is_what_the_loops_give() {
        let strides = [100, -20, 4];
        let walk = Walk::new(&[3, 4, 2], &strides, 60, 4);
        let mut all = Vec::new();
        for i in 0..3 {
            for j in 0..4 {
                for k in 0..2 {
                    all.push(60 + i * 100 - j * 20 + k * 4);
                }
            }
        }
        for from in 0..=24 {
            for to in from..=24 {
                let expected = &all[from..to];
                assert_eq!(places(&walk, from as u64, to as u64), expected);
            }
        }
    }

    #[test]
    fn dimensions_without_gaps_are_one_run() {
        let walk = Walk::new(&[3, 1, 5], &row_major(&[3, 1, 5], 8), 0, 8);
        assert!(walk.is_contiguous());
        let mut runs = 0;
        walk.runs(0, 15, |_| {
            runs += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(runs, 1);
        assert!(Walk::new(&[], &[], 0, 4).is_contiguous());
        assert!(Walk::new(&[0, 3], &[1, 77], 0, 4).is_contiguous());
        assert!(!Walk::new(&[3], &[-8], 16, 8).is_contiguous());
        assert_eq!(places(&Walk::new(&[], &[], 7, 4), 0, 1), [7]);
        assert!(places(&Walk::new(&[0, 3], &[12, 4], 0, 4), 0, 0).is_empty());
    }

    #[test]
    fn a_walk_reaches_from_its_first_byte_to_its_last() {
        let walk = Walk::new(&[3, 4, 2], &[100, -20, 4], 60, 4);
        let all = places(&walk, 0, 24);
        let (first, last) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert_eq!(walk.reach(), *first..*last + 4);
        assert_eq!(Walk::new(&[], &[], 7, 4).reach(), 7..11);
        assert!(Walk::new(&[0, 3], &[12, 4], 0, 4).reach().is_empty());
    }

    #[test]
    fn the_elements_before_a_place_are_counted() {
        // A box of 2 x 3 x 2 in an array of 4 x 5 x 6.
        let strides = row_major(&[4, 5, 6], 4);
        let base = strides[0] + 2 * strides[1] + 3 * strides[2];
        let walk = Walk::new(&[2, 3, 2], &strides, base, 4);
        let all = places(&walk, 0, 12);
        for offset in 0..480 {
            let expected = all.iter().filter(|place| **place < offset).count();
            assert_eq!(walk.elements_before(offset), expected as u64, "{offset}");
        }
    }
}
