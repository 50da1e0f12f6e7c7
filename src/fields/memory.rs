//! The memory of a field, as the program gives it for the time of one call.

use super::kind::{Class, Kind};
use super::remote;
use super::walk::{ElementRun, Walk};
use crate::device::Remote;
use crate::{Error, Result};

/// Memory that holds a field. Offsets are bytes from its first element, and may be negative.
pub trait Memory {
    /// `length` bytes from `offset` on.
    ///
    /// # Errors
    /// These bytes are not part of the memory.
    fn bytes(&self, offset: i64, length: usize) -> Result<&[u8]>;

    /// [`Memory::bytes`], to be changed.
    ///
    /// # Errors
    /// These bytes are not part of the memory.
    fn bytes_mut(&mut self, offset: i64, length: usize) -> Result<&mut [u8]>;

    /// Who copies the bytes, if the processor does not reach them. Then [`Memory::bytes`] is an error, and all comes and
    /// goes by copies.
    fn remote(&self) -> Option<&dyn Remote> {
        None
    }

    /// [`Memory::remote`], to be changed.
    fn remote_mut(&mut self) -> Option<&mut dyn Remote> {
        None
    }

    /// Fills `out` with elements of `size` bytes, the first at `offset`, each `stride` bytes after the one before. The
    /// method is here, and not beside the trait, so that each kind of memory has loops of its own.
    ///
    /// # Errors
    /// An element is not part of the memory.
    fn copy_out(&self, offset: i64, stride: i64, size: usize, out: &mut [u8]) -> Result<()> {
        match size {
            1 => copy_sized::<1, _>(self, offset, stride, out),
            2 => copy_sized::<2, _>(self, offset, stride, out),
            4 => copy_sized::<4, _>(self, offset, stride, out),
            8 => copy_sized::<8, _>(self, offset, stride, out),
            16 => copy_sized::<16, _>(self, offset, stride, out),
            _ => {
                let mut at = offset;
                for place in out.chunks_exact_mut(size.max(1)) {
                    place.copy_from_slice(self.bytes(at, size)?);
                    at = at.wrapping_add(stride);
                }
                Ok(())
            }
        }
    }

    /// Writes `data` to elements, as [`Memory::copy_out`] reads them.
    ///
    /// # Errors
    /// An element is not part of the memory.
    fn copy_in(&mut self, offset: i64, stride: i64, size: usize, data: &[u8]) -> Result<()> {
        match size {
            1 => store_sized::<1, _>(self, offset, stride, data),
            2 => store_sized::<2, _>(self, offset, stride, data),
            4 => store_sized::<4, _>(self, offset, stride, data),
            8 => store_sized::<8, _>(self, offset, stride, data),
            16 => store_sized::<16, _>(self, offset, stride, data),
            _ => {
                let mut at = offset;
                for now in data.chunks_exact(size.max(1)) {
                    self.bytes_mut(at, size)?.copy_from_slice(now);
                    at = at.wrapping_add(stride);
                }
                Ok(())
            }
        }
    }
}

/// [`Memory::copy_out`] for elements of `N` bytes. An array is moved, where a slice would be copied by a call.
#[inline]
fn copy_sized<const N: usize, M: Memory + ?Sized>(
    memory: &M,
    offset: i64,
    stride: i64,
    out: &mut [u8],
) -> Result<()> {
    let mut at = offset;
    for place in out.as_chunks_mut::<N>().0 {
        let element = memory.bytes(at, N)?.first_chunk::<N>();
        *place = *element.ok_or_else(|| outside(at, N))?;
        at = at.wrapping_add(stride);
    }
    Ok(())
}

/// [`Memory::copy_in`] for elements of `N` bytes.
#[inline]
fn store_sized<const N: usize, M: Memory + ?Sized>(
    memory: &mut M,
    offset: i64,
    stride: i64,
    data: &[u8],
) -> Result<()> {
    let mut at = offset;
    for now in data.as_chunks::<N>().0 {
        let place = memory.bytes_mut(at, N)?.first_chunk_mut::<N>();
        *place.ok_or_else(|| outside(at, N))? = *now;
        at = at.wrapping_add(stride);
    }
    Ok(())
}

/// Fills `out` with the elements of a walk through memory, from element `from` on.
///
/// # Errors
/// An element is not in the memory.
pub fn gather(memory: &dyn Memory, walk: &Walk, from: u64, out: &mut [u8]) -> Result<()> {
    if let Some(remote) = memory.remote() {
        return remote::gather(remote, walk, from, out);
    }
    let size = walk.size() as usize;
    let count = out.len().checked_div(size).unwrap_or(0);
    let mut left = out;
    walk.runs(from, from + count as u64, |run| {
        let (now, rest) = std::mem::take(&mut left).split_at_mut(run.count as usize * size);
        left = rest;
        if is_dense(&run, walk) {
            now.copy_from_slice(memory.bytes(run.offset, now.len())?);
            return Ok(());
        }
        memory.copy_out(run.offset, run.stride, size, now)
    })
}

/// Writes `data` to the elements of a walk through memory, from element `from` on.
///
/// # Errors
/// An element is not in the memory.
pub fn scatter(memory: &mut dyn Memory, walk: &Walk, from: u64, data: &[u8]) -> Result<()> {
    if let Some(remote) = memory.remote_mut() {
        return remote::scatter(remote, walk, from, data);
    }
    let size = walk.size() as usize;
    let count = data.len().checked_div(size).unwrap_or(0);
    let mut left = data;
    walk.runs(from, from + count as u64, |run| {
        let (now, rest) = left.split_at(run.count as usize * size);
        left = rest;
        if is_dense(&run, walk) {
            let place = memory.bytes_mut(run.offset, now.len())?;
            place.copy_from_slice(now);
            return Ok(());
        }
        memory.copy_in(run.offset, run.stride, size, now)
    })
}

fn is_dense(run: &ElementRun, walk: &Walk) -> bool {
    run.count == 1 || run.stride == walk.size() as i64
}

/// A type of Rust that can be an element of a field: any bytes are a valid value, and the type has
/// no padding.
pub trait Element: Copy + sealed::Plain {
    /// The type of the element in a file.
    const KIND: Kind;
}

mod sealed {
    /// Only this module says which types are plain.
    pub trait Plain {}
}

macro_rules! elements {
    ($($type:ty: $class:ident,)*) => {$(
        impl sealed::Plain for $type {}
        impl Element for $type {
            const KIND: Kind = Kind::new(Class::$class, size_of::<$type>() as u32);
        }
    )*};
}

elements! {
    i8: Integer,
    i16: Integer,
    i32: Integer,
    i64: Integer,
    i128: Integer,
    u8: Unsigned,
    u16: Unsigned,
    u32: Unsigned,
    u64: Unsigned,
    u128: Unsigned,
    f32: Real,
    f64: Real,
    [f32; 2]: Complex,
    [f64; 2]: Complex,
}

/// A slice whose element `first` is the first one of a field.
pub struct Slice<'a> {
    bytes: &'a mut [u8],
    first: usize,
}

impl<'a> Slice<'a> {
    /// All of a slice.
    pub fn new<T: Element>(elements: &'a mut [T]) -> Self {
        Slice::from(elements, 0)
    }

    /// A slice in which the first element of the field is element `first`: for negative strides.
    pub fn from<T: Element>(elements: &'a mut [T], first: usize) -> Self {
        Slice {
            first: first * size_of::<T>(),
            bytes: bytes_of(elements),
        }
    }

    /// Bytes as they are, with the first element at byte `first`.
    pub fn of_bytes(bytes: &'a mut [u8], first: usize) -> Self {
        Slice { bytes, first }
    }

    fn place(&self, offset: i64, length: usize) -> Option<std::ops::Range<usize>> {
        let from = usize::try_from(self.first as i64 + offset).ok()?;
        let to = from.checked_add(length)?;
        (to <= self.bytes.len()).then_some(from..to)
    }
}

fn bytes_of<T: Element>(elements: &mut [T]) -> &mut [u8] {
    let length = size_of_val(elements);
    // SAFETY: the slice is `length` bytes of initialised memory that is borrowed for as long as the result.
    // `Element` is sealed, and each of its types has no padding and takes any bytes.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), length) }
}

fn outside(offset: i64, length: usize) -> Error {
    let end = offset.saturating_add(length as i64);
    Error::usage(
        "SCR_Field",
        format!("bytes {offset} to {end} from the first element are not in its memory"),
    )
}

impl Memory for Slice<'_> {
    fn bytes(&self, offset: i64, length: usize) -> Result<&[u8]> {
        let place = self.place(offset, length);
        let bytes = place.and_then(|place| self.bytes.get(place));
        bytes.ok_or_else(|| outside(offset, length))
    }

    fn bytes_mut(&mut self, offset: i64, length: usize) -> Result<&mut [u8]> {
        let place = self.place(offset, length);
        let bytes = place.and_then(|place| self.bytes.get_mut(place));
        bytes.ok_or_else(|| outside(offset, length))
    }
}

#[cfg(test)]
mod tests {
    use super::{Slice, gather, scatter};
    use crate::fields::walk::Walk;

    #[test]
    fn a_section_goes_out_and_comes_back() {
        // Every second column of the rows of a 4 x 6 array, the last row first.
        let mut array: Vec<i32> = (0..24).collect();
        let walk = Walk::new(&[4, 3], &[-24, 8], 0, 4);
        let mut out = [0; 48];
        let (first, rest) = out.split_at_mut(20);
        gather(&Slice::from(&mut array, 18), &walk, 0, first).unwrap();
        gather(&Slice::from(&mut array, 18), &walk, 5, rest).unwrap();
        let found: Vec<i32> = out
            .chunks(4)
            .map(|b| i32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(found, [18, 20, 22, 12, 14, 16, 6, 8, 10, 0, 2, 4]);
        let mut other = vec![-1; 24];
        for (from, to) in [(0, 5), (5, 12)] {
            let part = &out[from * 4..to * 4];
            scatter(&mut Slice::from(&mut other, 18), &walk, from as u64, part).unwrap();
        }
        for (i, value) in other.iter().enumerate() {
            assert_eq!(*value, if i % 2 == 0 { i as i32 } else { -1 });
        }
    }

    #[test]
    fn elements_of_all_sizes_go_out_and_come_back() {
        for size in 1..=17usize {
            for stride in [size as i64 + 1, 40, -(size as i64) - 3] {
                let mut bytes: Vec<u8> = (0..200).collect();
                let first = if stride < 0 { 150 } else { 0 };
                let walk = Walk::new(&[4], &[stride], 0, size as u64);
                let mut out = vec![0; 4 * size];
                gather(&Slice::of_bytes(&mut bytes, first), &walk, 0, &mut out).unwrap();
                let mut other = vec![0xff; 200];
                scatter(&mut Slice::of_bytes(&mut other, first), &walk, 0, &out).unwrap();
                let mut expected = vec![0xff; 200];
                for i in 0..4 {
                    let at = (first as i64 + i * stride) as usize;
                    expected[at..at + size].copy_from_slice(&bytes[at..at + size]);
                    assert_eq!(out[i as usize * size..][..size], bytes[at..at + size]);
                }
                assert_eq!(other, expected, "{size} {stride}");
            }
        }
    }

    #[test]
    fn what_is_not_in_the_slice_is_not_touched() {
        let mut array = [1u8; 4];
        let walk = Walk::new(&[3], &[2], 0, 1);
        let mut slice = Slice::new(&mut array);
        assert!(gather(&slice, &walk, 0, &mut [0; 3]).is_err());
        let error = scatter(&mut slice, &walk, 0, &[7, 7, 7]).unwrap_err();
        assert!(error.to_string().contains("bytes 4 to 5"), "{error}");
    }
}
