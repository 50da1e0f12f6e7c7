//! Strings and flags between C and Rust.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

/// The bytes of a C string, `None` for NULL.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string that lives as long as the result is used.
pub unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL, so by the caller's promise a NUL-terminated string.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// [`bytes`] as text; bytes that are not UTF-8 become replacement characters.
///
/// # Safety
/// As for [`bytes`].
pub unsafe fn string(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { bytes(text) }.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Copies text and a NUL into a buffer of SCR_MAX_FILENAME bytes. False, without a copy, if they do not
/// fit. Does nothing for a NULL buffer.
///
/// # Safety
/// `buffer` is NULL or has SCR_MAX_FILENAME bytes, and `text` is not in it.
pub unsafe fn copy_out(text: &[u8], buffer: *mut c_char) -> bool {
    if buffer.is_null() {
        return true;
    }
    if text.len() >= super::SCR_MAX_FILENAME as usize {
        return false;
    }
    // SAFETY: the buffer holds SCR_MAX_FILENAME bytes, more than text and NUL need, and by the
    // caller's promise they do not overlap.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len());
        *buffer.add(text.len()) = 0;
    }
    true
}

/// Sets the flag, unless the pointer is NULL.
///
/// # Safety
/// `flag` is NULL or points to an int.
pub unsafe fn set(flag: *mut c_int, value: c_int) {
    if !flag.is_null() {
        // SAFETY: not NULL, so by the caller's promise an int.
        unsafe { *flag = value };
    }
}

/// A copy that the caller must `free`; NULL without memory.
pub fn heap_copy(text: &[u8]) -> *const c_char {
    // SAFETY: malloc may be called with any size.
    let copy: *mut u8 = unsafe { libc::malloc(text.len() + 1) }.cast();
    if !copy.is_null() {
        // SAFETY: `copy` is new memory with space for the text and its NUL.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            *copy.add(text.len()) = 0;
        }
    }
    copy.cast()
}
