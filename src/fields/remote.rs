//! The elements of a field in memory that only copies reach, as of an accelerator, as rectangles.

use super::walk::{ElementRun, Walk};
use crate::Result;
use crate::device::{Rectangle, Remote};

/// Rectangles that are copied by one call, so that their list stays short.
const MOST: usize = 1024;

/// Fills `out` with the elements of a walk, from element `from` on.
///
/// # Errors
/// The copy has failed.
pub fn gather(remote: &dyn Remote, walk: &Walk, from: u64, out: &mut [u8]) -> Result<()> {
    let mut left = out;
    let count = left.len() as u64 / walk.size().max(1);
    each_batch(walk, from, count, |rectangles, bytes| {
        let (now, rest) = std::mem::take(&mut left).split_at_mut(bytes);
        left = rest;
        remote.gather(rectangles, now)
    })
}

/// Writes `data` to the elements of a walk, from element `from` on.
///
/// # Errors
/// The copy has failed.
pub fn scatter(remote: &mut dyn Remote, walk: &Walk, from: u64, data: &[u8]) -> Result<()> {
    let mut left = data;
    let count = data.len() as u64 / walk.size().max(1);
    each_batch(walk, from, count, |rectangles, bytes| {
        let (now, rest) = left.split_at(bytes);
        left = rest;
        remote.scatter(rectangles, now)
    })
}

/// Calls `copy` with some rectangles, and the number of their bytes, until these have had all elements in the order of the
/// walk.
fn each_batch(
    walk: &Walk,
    from: u64,
    count: u64,
    mut copy: impl FnMut(&[Rectangle], usize) -> Result<()>,
) -> Result<()> {
    let mut batch: Vec<Rectangle> = Vec::new();
    let mut bytes = 0;
    walk.runs(from, from.saturating_add(count), |run| {
        let next = rectangle_of(&run, walk.size());
        if !batch.last_mut().is_some_and(|last| goes_on(last, &next)) {
            if batch.len() == MOST {
                copy(&batch, std::mem::take(&mut bytes))?;
                batch.clear();
            }
            batch.push(next);
        }
        bytes += next.width * next.rows;
        Ok(())
    })?;
    if batch.is_empty() {
        return Ok(());
    }
    copy(&batch, bytes)
}

/// A run is one row if its elements follow each other, and else a row for each.
fn rectangle_of(run: &ElementRun, size: u64) -> Rectangle {
    let dense = run.count == 1 || run.stride == size as i64;
    let (elements, rows) = if dense {
        (run.count, 1)
    } else {
        (1, run.count)
    };
    let width = (elements * size) as usize;
    Rectangle {
        offset: run.offset,
        width,
        rows: rows as usize,
        pitch: if dense { width as i64 } else { run.stride },
    }
}

/// Adds `next` to `last` if it is its next row.
fn goes_on(last: &mut Rectangle, next: &Rectangle) -> bool {
    let distance = next.offset.wrapping_sub(last.offset);
    let follows = last.rows == 1 || last.pitch.wrapping_mul(last.rows as i64) == distance;
    // Two columns that are shorter than the gap between them are two rectangles.
    if next.rows > 1 || next.width != last.width || !follows {
        return false;
    }
    if last.rows == 1 {
        last.pitch = distance;
    }
    last.rows += 1;
    true
}

#[cfg(test)]
mod tests {
    use super::{MOST, Rectangle, each_batch};
    use crate::fields::walk::{Walk, row_major};

    fn rectangles(walk: &Walk, from: u64, count: u64) -> Vec<Rectangle> {
        let mut all = Vec::new();
        each_batch(walk, from, count, |batch, bytes| {
            let sum: usize = batch.iter().map(|one| one.width * one.rows).sum();
            assert_eq!(sum, bytes);
            assert!(batch.len() <= MOST);
            all.extend_from_slice(batch);
            Ok(())
        })
        .unwrap();
        all
    }

    fn elements(walk: &Walk, from: u64, count: u64) -> Vec<i64> {
        let mut places = Vec::new();
        for one in rectangles(walk, from, count) {
            for row in 0..one.rows as i64 {
                let begin = one.offset + row * one.pitch;
                places.extend((begin..begin + one.width as i64).step_by(walk.size() as usize));
            }
        }
        places
    }

    #[test]
    fn the_elements_of_any_part_of_a_walk_are_in_rectangles() {
        let walks = [
            Walk::new(&[3, 4, 2], &[100, -20, 4], 60, 4),
            Walk::new(&[3, 4, 2], &[100, 16, 8], 0, 4),
            Walk::new(&[4, 3, 2], &[4, 40, 400], 0, 4),
            Walk::new(&[5, 1, 5], &row_major(&[5, 1, 5], 8), 0, 8),
            Walk::new(&[7], &[-24], 144, 8),
        ];
        for walk in walks {
            for from in 0..walk.count() {
                for count in 1..=walk.count() - from {
                    let mut right = Vec::new();
                    let add = |run: super::ElementRun| {
                        right.extend((0..run.count as i64).map(|i| run.offset + i * run.stride));
                        Ok(())
                    };
                    walk.runs(from, from + count, add).unwrap();
                    assert_eq!(
                        elements(&walk, from, count),
                        right,
                        "{walk:?} {from} {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_at_equal_distances_are_one_rectangle() {
        let rows = Walk::new(&[100, 8], &[96, 8], 0, 8);
        let right = Rectangle {
            offset: 0,
            width: 64,
            rows: 100,
            pitch: 96,
        };
        assert_eq!(rectangles(&rows, 0, 800), [right]);
        let column = Walk::new(&[100], &[96], 0, 8);
        let right = Rectangle { width: 8, ..right };
        assert_eq!(rectangles(&column, 0, 100), [right]);
        let dense = Walk::new(&[1 << 30], &[8], 0, 8);
        let [all] = rectangles(&dense, 1, (1 << 30) - 1)[..] else {
            panic!("more than one");
        };
        assert_eq!((all.offset, all.width, all.rows), (8, (8 << 30) - 8, 1));
    }

    #[test]
    fn the_lists_of_rectangles_stay_short() {
        let columns = Walk::new(&[3000, 3, 5], &[1000, 200, 16], 0, 8);
        assert_eq!(rectangles(&columns, 0, 45_000).len(), 9000);
    }
}
