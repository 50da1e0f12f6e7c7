//! Rectangles as copies that a driver can do: rows in order, at a distance that it takes, of a size that fits a buffer.
//! Rectangles that are planes of one box are one copy.

use super::Rectangle;
use super::driver::{Shape, Way};
use std::ptr;

/// The largest distance of rows that drivers take.
const MOST_PITCH: u64 = i32::MAX as u64;

/// Rows that one copy takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Offset of the row with the lowest address.
    pub offset: i64,
    pub shape: Shape,
    /// Place of the rows among those of all rectangles, where they lie one after the other.
    pub host: usize,
    /// The rows lie in the other order there.
    pub is_reversed: bool,
    /// The copy needs no buffer.
    pub is_direct: bool,
}

impl Part {
    pub fn bytes(&self) -> usize {
        self.shape.bytes()
    }
}

/// The copies that rectangles are made of.
pub struct Parts<'a> {
    rectangles: &'a [Rectangle],
    /// Rows of so many bytes need no buffer.
    direct_row: usize,
    /// Rectangles of rows need no buffer.
    direct_rows: bool,
    /// Bytes of a buffer.
    buffer: usize,
    /// Rows of the first rectangle that are done, and bytes of the row after them.
    rows: usize,
    bytes: usize,
    host: usize,
}

impl<'a> Parts<'a> {
    pub fn new(
        rectangles: &'a [Rectangle],
        direct_row: usize,
        direct_rows: bool,
        buffer: usize,
    ) -> Parts<'a> {
        Parts {
            rectangles,
            direct_row,
            direct_rows,
            buffer,
            rows: 0,
            bytes: 0,
            host: 0,
        }
    }

    /// Bytes of a buffer.
    pub fn buffer(&self) -> usize {
        self.buffer
    }

    /// The next rows of a rectangle.
    fn part(&mut self, of: &Rectangle) -> Part {
        let left = of.rows - self.rows;
        let offset = of
            .offset
            .wrapping_add((self.rows as i64).wrapping_mul(of.pitch));
        let distance = of.pitch.unsigned_abs();
        let dense = of.pitch >= 0 && distance == of.width as u64;
        let one_row = Part {
            offset,
            shape: Shape::line(of.width),
            host: self.host,
            is_reversed: false,
            is_direct: of.width >= self.direct_row,
        };
        if dense && left > 1 && self.bytes == 0 && left.saturating_mul(of.width) >= self.direct_row
        {
            // One row as long as all of them.
            self.rows = of.rows;
            return Part {
                shape: Shape::line(left * of.width),
                is_direct: true,
                ..one_row
            };
        }
        let is_box = left > 1 && distance >= of.width as u64 && distance <= MOST_PITCH;
        if is_box && self.bytes == 0 && (one_row.is_direct || of.width <= self.buffer) {
            let is_direct = of.pitch > 0 && (self.direct_rows || one_row.is_direct);
            let fit = (self.buffer / of.width).max(1);
            if is_direct || of.width <= self.buffer {
                let rows = if is_direct { left } else { left.min(fit) };
                self.rows += rows;
                let is_reversed = of.pitch < 0;
                let back = if is_reversed { (rows - 1) as i64 } else { 0 };
                let mut shape = Shape {
                    width: of.width,
                    rows,
                    pitch: distance as usize,
                    planes: 1,
                    plane_rows: rows,
                };
                if rows == of.rows && !is_reversed {
                    let most = if is_direct { usize::MAX } else { fit / rows };
                    self.add_planes(&mut shape, most);
                }
                return Part {
                    offset: offset.wrapping_add(back.wrapping_mul(of.pitch)),
                    shape,
                    is_reversed,
                    is_direct,
                    ..one_row
                };
            }
        }
        // A row, or what a buffer takes of it.
        let rest = of.width - self.bytes;
        let width = if one_row.is_direct {
            rest
        } else {
            rest.min(self.buffer)
        };
        let offset = offset.wrapping_add(self.bytes as i64);
        self.bytes += width;
        if self.bytes == of.width {
            self.bytes = 0;
            self.rows += 1;
        }
        Part {
            offset,
            shape: Shape::line(width),
            ..one_row
        }
    }

    /// Adds the next rectangles to the first one, which `shape` has whole, as long as they are planes of one box.
    fn add_planes(&mut self, shape: &mut Shape, most: usize) {
        let [first, second, ..] = self.rectangles else {
            return;
        };
        let distance = second.offset.checked_sub(first.offset).unwrap_or(0);
        let plane_rows = (distance / first.pitch) as usize;
        if distance <= 0 || distance % first.pitch != 0 || plane_rows < first.rows {
            return;
        }
        let is_next = |pair: &&[Rectangle]| {
            let next = Rectangle {
                offset: pair[0].offset.wrapping_add(distance),
                ..pair[0]
            };
            pair[1] == next
        };
        let pairs = self.rectangles.windows(2);
        let planes = 1 + pairs.take_while(is_next).take(most.max(1) - 1).count();
        if planes > 1 {
            (shape.planes, shape.plane_rows) = (planes, plane_rows);
            // The last one is done, as all of its rows are.
            self.rectangles = &self.rectangles[planes - 1..];
        }
    }
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        loop {
            let (first, rest) = self.rectangles.split_first()?;
            if self.rows < first.rows && first.width > 0 {
                let part = self.part(first);
                self.host += part.bytes();
                return Some(part);
            }
            (self.rectangles, self.rows) = (rest, 0);
        }
    }
}

/// The rows that lie in a buffer, one part after the other.
#[derive(Default)]
pub struct Packed {
    parts: Vec<(usize, Part)>,
    pub bytes: usize,
}

impl Packed {
    /// Adds a part. On the way to the device its rows are copied to the buffer.
    ///
    /// # Safety
    /// The buffer has room for them, and the memory at `host` has the rows of all rectangles.
    pub unsafe fn add(&mut self, way: Way, part: Part, buffer: *mut u8, host: *const u8) {
        if way == Way::ToDevice {
            let at = buffer.wrapping_add(self.bytes);
            // SAFETY: the caller's promise; a buffer is no memory of the caller's.
            unsafe { copy_rows(&part, host.wrapping_add(part.host), at) };
        }
        self.parts.push((self.bytes, part));
        self.bytes += part.bytes();
    }

    /// Forgets all parts. On the way to the host, their rows are copied from the buffer to their places.
    ///
    /// # Safety
    /// The rows are in the buffer, and the memory at `host` has room for those of all rectangles.
    pub unsafe fn empty(&mut self, way: Way, buffer: *const u8, host: *mut u8) {
        for (at, part) in self.parts.drain(..) {
            if way == Way::ToHost {
                // SAFETY: the caller's promise; a buffer is no memory of the caller's.
                unsafe { copy_rows(&part, buffer.wrapping_add(at), host.wrapping_add(part.host)) };
            }
        }
        self.bytes = 0;
    }
}

/// Copies the rows of a part, in the other order if it is reversed.
///
/// # Safety
/// Both places have the bytes of the part.
unsafe fn copy_rows(part: &Part, from: *const u8, to: *mut u8) {
    if !part.is_reversed {
        // SAFETY: the caller's promise.
        return unsafe { ptr::copy_nonoverlapping(from, to, part.bytes()) };
    }
    let Shape { rows, width, .. } = part.shape;
    for row in 0..rows {
        let other = rows - 1 - row;
        // SAFETY: a row of each place.
        unsafe {
            ptr::copy_nonoverlapping(
                from.wrapping_add(row * width),
                to.wrapping_add(other * width),
                width,
            );
        }
    }
}
