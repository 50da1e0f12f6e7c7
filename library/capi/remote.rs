//! The C interface of checkpoints of fields: memory of devices. As `mod.rs`, this file is a source of `include/scr.h`.

use super::fields::{SCR_Option, SCR_State};
use super::list::{failed, with_list};
use crate::device::{Pin, Rectangle, Remote};
use crate::{Error, Result};
use std::ffi::{c_int, c_void};
use std::ops::Range;

/// The function of a program that copies memory of a field (SCR_Copy): `bytes` bytes from `from` to `to`. With `direction`
/// SCR_COPY_OUT `from` is in the field and `to` in memory of the processor; with SCR_COPY_IN it is the other way round.
/// It returns 0 when the copy has ended, or another number if it has failed. `context` is the pointer that the program
/// has given with it.
#[allow(non_camel_case_types)]
pub type SCR_Copy_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        direction: c_int,
    ) -> c_int,
>;

type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_void, usize, c_int) -> c_int;

unsafe extern "C" {
    // Defined in `barrier.c`.
    fn scr_call_copy(
        copy: Copy,
        context: *mut c_void,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        direction: c_int,
    ) -> c_int;
}

const OUT: c_int = SCR_Option::SCR_COPY_OUT as c_int;
const IN: c_int = SCR_Option::SCR_COPY_IN as c_int;

/// Memory of a field that a function of the program copies.
struct Copied {
    copy: Copy,
    context: *mut c_void,
    /// The address of the first element, as the program has given it. This process need not have memory there.
    first: usize,
    /// The name of the field.
    name: String,
}

impl Copied {
    fn place(&self, offset: i64) -> usize {
        self.first.wrapping_add_signed(offset as isize)
    }

    /// Copies from place `offset` of the field.
    fn fetch(&self, offset: i64, to: &mut [u8]) -> Result<()> {
        let from = std::ptr::without_provenance(self.place(offset));
        // SAFETY: by the promise of SCR_Copy's caller the function takes the context and writes so many bytes at `to`, which
        // are borrowed until it returns.
        let returned = unsafe {
            scr_call_copy(
                self.copy,
                self.context,
                to.as_mut_ptr().cast(),
                from,
                to.len(),
                OUT,
            )
        };
        self.answer(returned)
    }

    /// Copies to place `offset` of the field.
    fn put(&self, offset: i64, from: &[u8]) -> Result<()> {
        let to = std::ptr::without_provenance_mut(self.place(offset));
        // SAFETY: by the promise of SCR_Copy's caller the function takes the context and reads so many bytes at `from`, which
        // are borrowed until it returns.
        let returned = unsafe {
            scr_call_copy(
                self.copy,
                self.context,
                to,
                from.as_ptr().cast(),
                from.len(),
                IN,
            )
        };
        self.answer(returned)
    }

    fn answer(&self, returned: c_int) -> Result<()> {
        match returned {
            0 => Ok(()),
            number => {
                let what = format!(
                    "field \"{}\": the function of SCR_Copy returned {number}",
                    self.name
                );
                Err(Error::usage("SCR_Field", what))
            }
        }
    }
}

/// Calls `each` with the place of each row of rectangles in the field and in the bytes that have the rows one after the
/// other. Rows that follow each other in the field are one.
fn rows(
    rectangles: &[Rectangle],
    mut each: impl FnMut(i64, Range<usize>) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    for all in rectangles {
        let one_block = all.pitch == all.width as i64;
        let (width, rows) = if one_block {
            (all.width * all.rows, 1)
        } else {
            (all.width, all.rows)
        };
        for row in 0..rows {
            each(all.offset + row as i64 * all.pitch, done..done + width)?;
            done += width;
        }
    }
    Ok(())
}

fn too_few() -> Error {
    Error::usage(
        "SCR_Copy",
        "an internal error: rows have other bytes than their buffer",
    )
}

impl Remote for Copied {
    fn bounds(&self) -> Option<Range<i64>> {
        None
    }

    fn copy_to(
        &self,
        offset: i64,
        to: &mut [u8],
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut at = offset;
        for part in to.chunks_mut(piece.max(1)) {
            self.fetch(at, part)?;
            arrived(part)?;
            at += part.len() as i64;
        }
        Ok(())
    }

    fn show(
        &self,
        offset: i64,
        length: u64,
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let piece = (piece.max(1) as u64).min(length);
        let mut buffer = vec![0; piece as usize];
        let mut done = 0;
        while done < length {
            let now = piece.min(length - done) as usize;
            let part = buffer.get_mut(..now).ok_or_else(too_few)?;
            self.fetch(offset + done as i64, part)?;
            arrived(part)?;
            done += now as u64;
        }
        Ok(())
    }

    fn gather(&self, rectangles: &[Rectangle], to: &mut [u8]) -> Result<()> {
        rows(rectangles, |offset, place| {
            self.fetch(offset, to.get_mut(place).ok_or_else(too_few)?)
        })
    }

    fn scatter(&mut self, rectangles: &[Rectangle], from: &[u8]) -> Result<()> {
        rows(rectangles, |offset, place| {
            self.put(offset, from.get(place).ok_or_else(too_few)?)
        })
    }

    fn pins(&self) -> Option<&'static str> {
        None
    }

    unsafe fn pin(&self, _address: *mut u8, _length: usize) -> Option<Pin> {
        None
    }
}

/// Names the stream (a cudaStream_t or hipStream_t) on which the program's last work on the following fields is, whose
/// memory is that of a device. Local. Only that stream is waited for, before their memory is copied. Without it, and
/// again after a NULL `stream`, all work in the context of the memory is waited for. The streams without a handle have
/// numbers: 1 is the default stream of CUDA (cudaStreamLegacy), 2 that of each thread (cudaStreamPerThread). It holds for
/// the fields of this list, and no longer. Not in SCR v3.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Stream(state: *mut SCR_State, stream: *mut c_void) -> c_int {
    with_list(state, |list| {
        list.set_stream(Some(stream.addr()).filter(|handle| *handle != 0));
        Ok(())
    })
}

/// Says that `function` copies the memory of the next field, for memory that neither the processor reads nor the drivers of
/// CUDA and HIP know: that of SYCL, Level Zero or another device. Local. The library does not read at the address of the
/// field. It calls the function with addresses that are counted from there, inside of the call that lists the field, once
/// for each row of elements that follow each other, in pieces; in a restart also inside of SCR_Restore. The function waits
/// for the program's work on this memory itself. If it returns another number than 0, the checkpoint, or the restart, fails.
/// Not in SCR v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, and `function` is NULL or takes `context`, and copies as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Copy(
    state: *mut SCR_State,
    function: SCR_Copy_fn,
    context: *mut c_void,
) -> c_int {
    with_list(state, |list| {
        let Some(copy) = function else {
            return Err(failed(
                list,
                Error::usage("SCR_Copy", "the function that copies is NULL"),
            ));
        };
        list.set_copy(Box::new(move |name, first| {
            Box::new(Copied {
                copy,
                context,
                first,
                name: name.to_string(),
            })
        }));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{Copied, IN, OUT};
    use crate::device::{Rectangle, Remote};
    use std::ffi::{c_int, c_void};

    /// What a function has done: calls, and the number that it returns after so many of them.
    struct Seen {
        memory: Vec<u8>,
        calls: Vec<(usize, usize, c_int)>,
        fails_at: Option<usize>,
    }

    const BASE: usize = 0x1000;

    unsafe extern "C" fn copy(
        context: *mut c_void,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        direction: c_int,
    ) -> c_int {
        // SAFETY: the tests below give a `Seen` that lives as long as the memory.
        let seen = unsafe { &mut *context.cast::<Seen>() };
        let place = if direction == OUT {
            from.addr()
        } else {
            to.addr()
        } - BASE;
        seen.calls.push((place, bytes, direction));
        if seen.fails_at == Some(seen.calls.len()) {
            return 17;
        }
        let memory = seen.memory[place..place + bytes].as_mut_ptr();
        // SAFETY: the other side is memory of the caller with so many bytes.
        unsafe {
            match direction {
                OUT => std::ptr::copy_nonoverlapping(memory, to.cast(), bytes),
                _ => std::ptr::copy_nonoverlapping(from.cast(), memory, bytes),
            }
        }
        0
    }

    fn seen() -> Seen {
        Seen {
            memory: (0..100).collect(),
            calls: Vec::new(),
            fails_at: None,
        }
    }

    fn copied(seen: &mut Seen) -> Copied {
        Copied {
            copy,
            context: (&raw mut *seen).cast(),
            first: BASE + 50,
            name: "u".to_string(),
        }
    }

    #[test]
    fn bytes_are_shown_in_pieces() {
        let mut seen = seen();
        let memory = copied(&mut seen);
        let (mut to, mut shown) = ([0; 10], Vec::new());
        let mut keep = |part: &[u8]| {
            shown.push(part.to_vec());
            Ok(())
        };
        memory.copy_to(-4, &mut to, 4, &mut keep).unwrap();
        memory.show(0, 5, 3, &mut keep).unwrap();
        memory.show(0, 0, 3, &mut keep).unwrap();
        let expected: [&[u8]; 5] = [
            &[46, 47, 48, 49],
            &[50, 51, 52, 53],
            &[54, 55],
            &[50, 51, 52],
            &[53, 54],
        ];
        assert_eq!(shown, expected);
        assert_eq!(to, [46, 47, 48, 49, 50, 51, 52, 53, 54, 55]);
    }

    #[test]
    fn rows_go_out_and_come_back_and_nothing_between_them() {
        let mut seen = seen();
        let rectangles = [
            Rectangle {
                offset: 0,
                width: 2,
                rows: 3,
                pitch: -10,
            },
            Rectangle {
                offset: 20,
                width: 4,
                rows: 2,
                pitch: 4,
            },
        ];
        let mut memory = copied(&mut seen);
        let mut out = [0; 14];
        memory.gather(&rectangles, &mut out).unwrap();
        assert_eq!(
            out,
            [50, 51, 40, 41, 30, 31, 70, 71, 72, 73, 74, 75, 76, 77]
        );
        let new: Vec<u8> = out.iter().map(|byte| byte + 100).collect();
        memory.scatter(&rectangles, &new).unwrap();
        for (place, byte) in seen.memory.iter().enumerate() {
            let has_changed = out.contains(&(place as u8));
            assert_eq!(*byte, place as u8 + if has_changed { 100 } else { 0 });
        }
        // The rows of the second rectangle follow each other.
        let calls = [(50, 2), (40, 2), (30, 2), (70, 8)];
        let of = |direction| calls.map(|(place, bytes)| (place, bytes, direction));
        assert_eq!(seen.calls, [of(OUT), of(IN)].concat());
    }

    #[test]
    fn what_the_function_returns_is_told() {
        let mut seen = seen();
        seen.fails_at = Some(2);
        let memory = copied(&mut seen);
        let error = memory.copy_to(0, &mut [0; 10], 4, &mut |_| Ok(()));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("field \"u\": the function of SCR_Copy returned 17"),
            "{error}"
        );
        assert_eq!(seen.calls.len(), 2, "nothing is copied after that");
    }
}
