//! The parts that only the Fortran module needs: errors that only it sees, the end of a program that passes
//! no `ierror`, and memory. And whether SCR is off, for C++ and Python. Not in `scr.h`.

use super::fields::SCR_State;
use super::{calls, console, guard::guard, list::with_list, table, text};
use crate::{Error, Result};
use std::ffi::{c_char, c_int, c_void};

/// Reports an error of `call` that only the Fortran module sees. Local.
///
/// # Safety
/// Both are NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scr_fortran_report(call: *const c_char, reason: *const c_char) {
    // SAFETY: the caller's promise.
    let (call, reason) = unsafe { (text::string(call), text::string(reason)) };
    guard((), || {
        calls::report_fortran(&call.unwrap_or_default(), &reason.unwrap_or_default())
    });
}

/// Ends the program on all ranks with exit status 1, since `call` failed and the caller did not ask for
/// `ierror`. An empty reason was reported already. Called by one rank or by all.
///
/// # Safety
/// Both are NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scr_fortran_stop(call: *const c_char, reason: *const c_char) {
    // SAFETY: the caller's promise.
    let (call, reason) = unsafe { (text::string(call), text::string(reason)) };
    guard((), || -> Result<()> {
        calls::stop_fortran(&call.unwrap_or_default(), &reason.unwrap_or_default())
    });
}

/// A list of fields begins, whose messages are to have the names of the Fortran module. Local.
#[unsafe(no_mangle)]
pub extern "C" fn scr_fortran_words() {
    console::speak_fortran();
}

/// Makes a list of fields fail, for a reason that only the Fortran module or the program sees. Local.
///
/// # Safety
/// `state` is NULL, or was given to the routine that runs now, and `reason` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scr_fortran_fail(state: *mut SCR_State, reason: *const c_char) {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            let reason = text::string(reason).unwrap_or_default();
            list.fail(Error::usage("SCR_Field", reason));
            Ok(())
        });
    }
}

/// 1 while the session of this thread's calls is off (`SCR_ENABLE=0`): no call of it succeeds, and none matters. For the
/// interfaces in which a call that fails is an exception. Local.
#[unsafe(no_mangle)]
pub extern "C" fn scr_is_off() -> c_int {
    guard(0, || Ok(table::is_off().into()))
}

/// Frees the string that [`super::SCR_Config`] returned. Local. Flang has a `free` of its own inside, so
/// no interface in a module may have that name.
///
/// # Safety
/// `text` is NULL or came from that call, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scr_fortran_free(text: *mut c_void) {
    // SAFETY: the caller's promise, and the text was made by malloc.
    unsafe { libc::free(text) };
}
