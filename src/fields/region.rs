//! Boxes of elements in the whole of a field: their common parts, and the elements that they leave
//! uncovered.

use serde::{Deserialize, Serialize};

/// A box: the index of its first element, and its extents. The slowest dimension comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Region {
    /// Index of the first element.
    pub at: Vec<u64>,
    /// Number of elements in each dimension.
    pub extents: Vec<u64>,
}

impl Region {
    /// All of an array.
    pub fn all(extents: &[u64]) -> Self {
        Region {
            at: vec![0; extents.len()],
            extents: extents.to_vec(),
        }
    }

    /// Number of its elements.
    pub fn volume(&self) -> u64 {
        self.extents.iter().product()
    }

    /// True if it has no element.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// True if the whole region is in `other`. The region may come from a message: it may have another number of
    /// dimensions, and any numbers.
    pub fn is_in(&self, other: &Region) -> bool {
        let dims = other.at.len();
        self.at.len() == dims
            && self.extents.len() == dims
            && (0..dims).all(|dim| {
                let end = self.at[dim].checked_add(self.extents[dim]);
                self.at[dim] >= other.at[dim] && end.is_some_and(|end| end <= other.end(dim))
            })
    }

    /// The common part of two boxes, if they meet.
    pub fn meet(&self, other: &Region) -> Option<Region> {
        let dims = self.at.len().min(other.at.len());
        let mut met = Region {
            at: Vec::with_capacity(dims),
            extents: Vec::with_capacity(dims),
        };
        for dim in 0..dims {
            let from = self.at[dim].max(other.at[dim]);
            let to = self.end(dim).min(other.end(dim));
            if from >= to {
                return None;
            }
            met.at.push(from);
            met.extents.push(to - from);
        }
        Some(met)
    }

    /// The index after the last one in a dimension.
    fn end(&self, dim: usize) -> u64 {
        self.at[dim] + self.extents[dim]
    }

    /// True if this element is in the box.
    pub fn has(&self, index: &[u64]) -> bool {
        let mut dims = index.iter().enumerate();
        dims.all(|(dim, index)| (self.at[dim]..self.end(dim)).contains(index))
    }

    /// The parts of this box that are not in `other`, as boxes that do not overlap.
    fn without(&self, other: &Region, parts: &mut Vec<Region>) {
        let Some(met) = self.meet(other) else {
            parts.push(self.clone());
            return;
        };
        let mut rest = self.clone();
        for dim in 0..self.at.len() {
            for (from, to) in [(rest.at[dim], met.at[dim]), (met.end(dim), rest.end(dim))] {
                if from < to {
                    let mut part = rest.clone();
                    part.at[dim] = from;
                    part.extents[dim] = to - from;
                    parts.push(part);
                }
            }
            rest.at[dim] = met.at[dim];
            rest.extents[dim] = met.extents[dim];
        }
    }

    /// The first element of this box that is in none of the boxes, in row-major order.
    pub fn first_hole<'a>(&self, boxes: impl IntoIterator<Item = &'a Region>) -> Option<Vec<u64>> {
        let mut left = if self.is_empty() {
            Vec::new()
        } else {
            vec![self.clone()]
        };
        for taken in boxes {
            if taken.is_empty() {
                continue;
            }
            let mut next = Vec::new();
            for part in left {
                part.without(taken, &mut next);
            }
            left = next;
        }
        left.into_iter().map(|part| part.at).min()
    }
}

/// The first two boxes that overlap, with their common part: those whose common part has the lowest
/// first element.
pub fn first_overlap(boxes: &[Region]) -> Option<(usize, usize, Region)> {
    let mut order: Vec<usize> = (0..boxes.len()).filter(|i| !boxes[*i].is_empty()).collect();
    order.sort_by_key(|i| &boxes[*i]);
    let mut first: Option<(usize, usize, Region)> = None;
    for (place, i) in order.iter().enumerate() {
        for j in &order[place + 1..] {
            // Later boxes begin behind this one.
            if boxes[*j].at.first()
                >= boxes[*i]
                    .at
                    .first()
                    .map(|at| at + boxes[*i].extents[0])
                    .as_ref()
            {
                break;
            }
            if let Some(met) = boxes[*i].meet(&boxes[*j])
                && first.as_ref().is_none_or(|(_, _, least)| met.at < least.at)
            {
                first = Some((*i.min(j), *i.max(j), met));
            }
        }
    }
    first
}

/// The cells into which the whole of a field is cut, so that each of the ranks looks after one at most.
/// A box of about the size of a cell is in few cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    whole: Vec<u64>,
    /// Number of cells in each dimension.
    cells: Vec<u64>,
}

impl Grid {
    /// Divides the whole into at most `most` cells.
    pub fn new(whole: &[u64], most: usize) -> Self {
        let mut cells = vec![1; whole.len()];
        let mut left = most as u64;
        let mut factor = 2;
        while left > 1 {
            // A large prime factor of the number of cells would cut the whole into thin slices. So a number without a
            // small factor is first rounded down to an even one. The ranks beyond that number get no cell.
            while !left.is_multiple_of(factor) && factor <= 7 {
                factor += 1;
            }
            if factor > 7 {
                factor = 2;
                left -= left % 2;
                continue;
            }
            let widest = (0..whole.len()).max_by_key(|dim| whole[*dim] / cells[*dim]);
            match widest {
                Some(dim) if whole[dim] / cells[dim] >= factor => cells[dim] *= factor,
                _ => break,
            }
            left /= factor;
        }
        Grid {
            whole: whole.to_vec(),
            cells,
        }
    }

    /// Number of cells.
    pub fn count(&self) -> u64 {
        self.cells.iter().product()
    }

    /// The first index of cell `number` in a dimension.
    fn begin(&self, dim: usize, number: u64) -> u64 {
        (u128::from(self.whole[dim]) * u128::from(number) / u128::from(self.cells[dim])) as u64
    }

    /// The cell of a dimension in which an index is.
    pub fn number(&self, dim: usize, index: u64) -> u64 {
        let (cells, whole) = (self.cells[dim], self.whole[dim].max(1));
        let guess = (u128::from(index) * u128::from(cells) / u128::from(whole)) as u64;
        if guess + 1 < cells && self.begin(dim, guess + 1) <= index {
            guess + 1
        } else {
            guess
        }
    }

    /// The box of a cell.
    pub fn cell(&self, number: u64) -> Region {
        let mut region = Region::all(&self.whole);
        let mut number = number;
        for dim in (0..self.whole.len()).rev() {
            let place = number % self.cells[dim];
            number /= self.cells[dim];
            region.at[dim] = self.begin(dim, place);
            region.extents[dim] = self.begin(dim, place + 1) - region.at[dim];
        }
        region
    }

    /// The cells that a box meets.
    pub fn cells_of(&self, region: &Region) -> Vec<u64> {
        let mut found = vec![0];
        if region.is_empty() {
            return Vec::new();
        }
        for dim in 0..self.whole.len() {
            let first = self.number(dim, region.at[dim]);
            let last = self.number(dim, region.end(dim) - 1);
            let mut next = Vec::with_capacity(found.len());
            for before in found {
                next.extend((first..=last).map(|place| before * self.cells[dim] + place));
            }
            found = next;
        }
        found
    }
}

/// The rank that looks at a cell of a field.
pub fn owner(field: usize, cell: u64, size: usize) -> usize {
    (field.wrapping_mul(7) + cell as usize) % size
}

/// The cell of a field at which a rank looks.
pub fn cell_of(field: usize, rank: usize, size: usize, grid: &Grid) -> Option<u64> {
    let cell = (rank + size - field.wrapping_mul(7) % size) % size;
    let cell = cell as u64;
    (cell < grid.count()).then_some(cell)
}

#[cfg(test)]
mod tests {
    use super::{Grid, Region, first_overlap};

    fn region(at: &[u64], extents: &[u64]) -> Region {
        Region {
            at: at.to_vec(),
            extents: extents.to_vec(),
        }
    }

    /// All indices of a box, in row-major order.
    fn indices(region: &Region) -> Vec<Vec<u64>> {
        let mut all = vec![Vec::new()];
        for (at, extent) in region.at.iter().zip(&region.extents) {
            let mut next = Vec::new();
            for before in &all {
                next.extend((*at..at + extent).map(|i| [&before[..], &[i]].concat()));
            }
            all = next;
        }
        all
    }

    /// A generator of small numbers.
    fn random(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut x = seed | 1;
        move |below| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) % below
        }
    }

    #[test]
    fn holes_and_overlaps_of_random_boxes_are_those_that_counting_finds() {
        let mut next = random(7);
        let (mut holes, mut overlaps) = (0, 0);
        for _ in 0..3000 {
            let dims = 1 + next(3) as usize;
            let whole: Vec<u64> = (0..dims).map(|_| 1 + next(4)).collect();
            let mut boxes = Vec::new();
            for _ in 0..next(5) {
                let at: Vec<u64> = whole.iter().map(|extent| next(*extent)).collect();
                let ends = at.iter().zip(&whole);
                let extents = ends.map(|(at, extent)| next(extent - at + 1)).collect();
                boxes.push(Region { at, extents });
            }
            let whole = Region::all(&whole);
            let owners = |index: &Vec<u64>| {
                boxes
                    .iter()
                    .filter(|b| !b.is_empty() && b.has(index))
                    .count()
            };
            let all = indices(&whole);
            let hole = all.iter().find(|index| owners(index) == 0).cloned();
            assert_eq!(whole.first_hole(&boxes), hole, "{boxes:?}");
            let twice = all.iter().find(|index| owners(index) > 1).cloned();
            let found = first_overlap(&boxes);
            assert_eq!(found.map(|(_, _, met)| met.at), twice, "{boxes:?}");
            holes += u32::from(hole.is_some());
            overlaps += u32::from(twice.is_some());
        }
        assert!(holes > 500 && overlaps > 100, "{holes} {overlaps}");
    }

    #[test]
    fn seven_dimensions_work_as_one() {
        let whole = Region::all(&[2, 1, 2, 1, 2, 1, 2]);
        let mut half = whole.clone();
        half.extents[6] = 1;
        assert_eq!(whole.first_hole([&half]), Some(vec![0, 0, 0, 0, 0, 0, 1]));
        let mut other = half.clone();
        other.at[6] = 1;
        assert_eq!(whole.first_hole([&half, &other]), None);
        assert_eq!(first_overlap(&[half.clone(), other]), None);
        assert_eq!(
            first_overlap(&[half.clone(), half.clone()]),
            Some((0, 1, half))
        );
    }

    #[test]
    fn the_cells_of_a_grid_are_the_whole_once() {
        for most in 1..40 {
            for whole in [vec![1], vec![13], vec![5, 7], vec![4, 1, 9], vec![2; 7]] {
                let grid = Grid::new(&whole, most);
                assert!(grid.count() <= most as u64, "{grid:?}");
                let cells: Vec<Region> = (0..grid.count()).map(|n| grid.cell(n)).collect();
                assert_eq!(Region::all(&whole).first_hole(&cells), None, "{grid:?}");
                assert_eq!(first_overlap(&cells), None, "{grid:?}");
                for index in indices(&Region::all(&whole)) {
                    let one = region(&index, &vec![1; whole.len()]);
                    let [number] = grid.cells_of(&one)[..] else {
                        panic!("{index:?} is in one cell of {grid:?}");
                    };
                    assert!(grid.cell(number).has(&index), "{grid:?} {index:?}");
                }
            }
        }
    }

    #[test]
    fn ranks_with_large_prime_factors_have_cells_too() {
        assert_eq!(Grid::new(&[1000, 1000, 1000], 1000).count(), 1000);
        assert!(Grid::new(&[1000, 1000], 11).count() >= 8);
        assert!(Grid::new(&[1000, 1000], 13 * 11).count() >= 64);
    }
}
