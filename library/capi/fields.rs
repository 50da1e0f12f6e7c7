//! The C interface of checkpoints of fields: the calls that take the program's routine. As `mod.rs`, this file is a
//! source of `include/scr.h`.
//!
//! The routine is called while the session is locked. So it reaches the list through [`SCR_State`], by the calls of
//! `list.rs`, and any other call of SCR inside of it is refused.

use super::guard::guard;
use super::handles::Handle;
use super::process::Reply;
use super::stops;
use super::{FAILURE, SCR_FLAG_CHECKPOINT, calls, done, flags_of, routine, table, text};
use crate::fields::{List, checkpoint, checkpoint_if_needed, restore};
use crate::format::Name;
use crate::format::stop::Moment;
use crate::session::state::Call;
use crate::{Error, Result};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// The types of elements of a field. A text of n characters is SCR_CHARACTER + n, and a record of n
/// bytes that only the program understands, without pointers in it, is SCR_BYTES + n. The type long double
/// of x86 is SCR_EXTENDED128.
#[repr(C)]
#[allow(non_camel_case_types, missing_docs)] // The names say it, and are those of C.
pub enum SCR_Type {
    SCR_INT8 = 0x0100_0001,
    SCR_INT16 = 0x0100_0002,
    SCR_INT32 = 0x0100_0004,
    SCR_INT64 = 0x0100_0008,
    SCR_INT128 = 0x0100_0010,
    SCR_UINT8 = 0x0200_0001,
    SCR_UINT16 = 0x0200_0002,
    SCR_UINT32 = 0x0200_0004,
    SCR_UINT64 = 0x0200_0008,
    SCR_FLOAT16 = 0x0300_0002,
    SCR_FLOAT32 = 0x0300_0004,
    SCR_FLOAT64 = 0x0300_0008,
    SCR_FLOAT128 = 0x0300_0010,
    SCR_COMPLEX64 = 0x0400_0008,
    SCR_COMPLEX128 = 0x0400_0010,
    SCR_COMPLEX256 = 0x0400_0020,
    SCR_LOGICAL8 = 0x0500_0001,
    SCR_LOGICAL16 = 0x0500_0002,
    SCR_LOGICAL32 = 0x0500_0004,
    SCR_LOGICAL64 = 0x0500_0008,
    SCR_CHARACTER = 0x0600_0000,
    SCR_BYTES = 0x0700_0000,
    SCR_EXTENDED96 = 0x0800_000c,
    SCR_EXTENDED128 = 0x0800_0010,
    SCR_EXTENDED_COMPLEX256 = 0x0900_0020,
}

/// Options of a field, for SCR_Next_field, orders of dimensions, for SCR_Order, and other choices.
#[repr(C)]
#[allow(non_camel_case_types, missing_docs)]
pub enum SCR_Option {
    /// A checkpoint without this field can be restored, too: the memory stays as it is.
    SCR_KEEP_IF_MISSING = 1,
    /// Another type is converted if nothing can be lost, as from float to double.
    SCR_CONVERT = 2,
    /// Of an index list: when the state is written, several processes may list an index, as for halos, if their copies
    /// of its elements are equal, which is checked.
    SCR_SHARED = 4,
    /// Its memory is that of a device. Nothing need be said of it: the driver is asked. With this option it is an error if
    /// no driver knows the memory as that of a device.
    SCR_ON_DEVICE = 8,
    /// The last index is the fastest, as in C.
    SCR_ROW_MAJOR = 16,
    /// The first index is the fastest, as in Fortran.
    SCR_COLUMN_MAJOR = 17,
    /// The state is written.
    SCR_PASS_WRITE = 32,
    /// The list is compared with a checkpoint. No field changes.
    SCR_PASS_COMPARE = 33,
    /// The state is read.
    SCR_PASS_READ = 34,
    /// The processor reads and writes its memory, which may be that of a device, too. It is an error if it cannot.
    SCR_ON_HOST = 64,
    /// For the function of SCR_Copy: from the field to memory of the processor.
    SCR_COPY_OUT = 80,
    /// And from there to the field.
    SCR_COPY_IN = 81,
}

/// The list of a program's state, while its routine runs. After that each call with it fails.
#[allow(non_camel_case_types)]
pub struct SCR_State {
    // A pointer to it is the number of a `Handle`.
    _private: [u8; 0],
}

/// The routine of a program that lists its state: it calls SCR_Field and the like for each part of it, and
/// returns 0, or another number if it cannot. `context` is the pointer that the program has given with the
/// routine.
#[allow(non_camel_case_types)]
pub type SCR_List_fn =
    Option<unsafe extern "C" fn(state: *mut SCR_State, context: *mut c_void) -> c_int>;

unsafe extern "C" {
    // Defined in `barrier.c`.
    fn scr_call_routine(
        routine: unsafe extern "C" fn(*mut SCR_State, *mut c_void) -> c_int,
        state: *mut c_void,
        context: *mut c_void,
    ) -> c_int;
}

/// Calls the routine of the program.
///
/// # Safety
/// `function` takes a state and `context`.
unsafe fn call_routine(
    call: Call,
    function: unsafe extern "C" fn(*mut SCR_State, *mut c_void) -> c_int,
    context: *mut c_void,
    list: &mut List<'_>,
) -> Result<()> {
    stops::list_begins(table::current());
    let handle = Handle::new(list);
    let state: *mut SCR_State = ptr::without_provenance_mut(handle.number());
    // SAFETY: the caller's promise. The state is valid until the call returns.
    let run = || routine::run(|| unsafe { scr_call_routine(function, state.cast(), context) });
    let (returned, refused) = table::in_routine(run);
    drop(handle);
    if let Some(refused) = refused {
        list.fail(refused);
    }
    match returned {
        0 => Ok(()),
        number => Err(Error::usage(
            call.name(),
            format!("the routine that lists the state returned {number}"),
        )),
    }
}

fn no_routine(call: Call) -> Error {
    Error::usage(call.name(), "the routine that lists the state is NULL")
}

/// Writes a checkpoint, or another dataset, of the state that the routine `list` lists. Collective, with the
/// same arguments on all processes. Not in SCR v3.1.0.
///
/// `name` and `flags` are those of SCR_Start_output: NULL and SCR_FLAG_CHECKPOINT for a checkpoint with a
/// name made from its id. The routine is called once, with `context`, and its fields are written as it lists
/// them. No pointer is kept. The program does not call SCR_Start_output, SCR_Route_file or SCR_Complete_output for
/// it. With SCR_State_file, it can add files of its own to the dataset.
///
/// If a field is wrong on one process, or the lists of the processes differ, or the parts of a whole overlap or
/// leave a hole, or the routine returns another number than 0, it returns 1 on all, and one process tells why.
/// Older checkpoints are as they were, but for those that have left a full cache for this one (all with
/// SCR_CACHE_SIZE=1). No phase is open.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string, and `list` is NULL or a function that takes `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Checkpoint(
    name: *const c_char,
    flags: c_int,
    list: SCR_List_fn,
    context: *mut c_void,
) -> c_int {
    guard(FAILURE, || {
        let call = Call::Checkpoint;
        // SAFETY: the caller's promise.
        let name = unsafe { text::bytes(name) }.map(Name::from);
        let moment = match flags & SCR_FLAG_CHECKPOINT {
            0 => Moment::Output,
            _ => Moment::Checkpoint,
        };
        let flags = flags_of(call, flags);
        let reply = calls::with(call, |session| {
            let given = list.ok_or_else(|| no_routine(call));
            let flags = flags.and_then(|flags| given.clone().map(|_| flags));
            checkpoint(session, name, flags, &mut |fields| {
                // SAFETY: the caller's promise.
                unsafe { call_routine(call, given.clone()?, context, fields) }
            })
        })?;
        if let Reply::Done(()) = &reply {
            stops::stop(moment);
        }
        Ok(done(reply))
    })
}

/// Writes a checkpoint as SCR_Checkpoint does, if SCR_Need_checkpoint says that one is due, and sets
/// `stop_now` to 1 if the program should stop (SCR_Should_exit), otherwise to 0. Collective. Not in SCR
/// v3.1.0.
///
/// `stop_now` is set even if the checkpoint fails and 1 is returned.
///
/// # Safety
/// `list` is NULL or a function that takes `context`, and `stop_now` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Checkpoint_if_needed(
    list: SCR_List_fn,
    context: *mut c_void,
    stop_now: *mut c_int,
) -> c_int {
    guard(FAILURE, || {
        let call = Call::Checkpoint;
        // SAFETY: the caller's promise.
        unsafe { text::set(stop_now, 0) };
        let reply = calls::with(call, |session| {
            let given = list.ok_or_else(|| no_routine(call));
            let ready = given.clone().map(drop);
            let mut wrote = false;
            let (written, stop) = checkpoint_if_needed(session, ready, &mut |fields| {
                wrote = true;
                // SAFETY: the caller's promise.
                unsafe { call_routine(call, given.clone()?, context, fields) }
            })?;
            // SAFETY: the caller's promise.
            unsafe { text::set(stop_now, stop.into()) };
            written.map(|()| wrote)
        })?;
        if let Reply::Done(true) = &reply {
            stops::stop(Moment::Checkpoint);
        }
        Ok(done(reply))
    })
}

/// Restores the state that the routine `list` lists from the newest checkpoint that is whole and has these
/// fields, and sets `found` to 1; to 0 if there is no checkpoint. Collective, after SCR_Init. Any number of
/// processes may have written it. Not in SCR v3.1.0.
///
/// The routine is called twice for each checkpoint that is tried, and once more before if it has SCR_Bag_by_key and
/// another number of processes has written the bags. In the first call no field changes: names,
/// types and extents are compared, on all processes, and all bytes that are needed are checked. In the
/// second call the fields are read into memory. If a checkpoint is damaged or has other fields, the next
/// older one is tried.
///
/// Returns 1 if checkpoints are there, and none has the fields of this program, or one cannot be read for a
/// reason that may pass. If the routine returns another number than 0, that says nothing of the checkpoint:
/// it is kept, and no other one is offered in this run. Then `found` is 0, and no field was changed unless the
/// message says so. After it has returned 1 no dataset can be started, so that the program does not replace the
/// checkpoints that it has not restored, until it returns 0 or SCR_START_ANEW is set.
///
/// # Safety
/// `list` is NULL or a function that takes `context`, and `found` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Restore(
    list: SCR_List_fn,
    context: *mut c_void,
    found: *mut c_int,
) -> c_int {
    guard(FAILURE, || {
        let call = Call::Restore;
        // SAFETY: the caller's promise.
        unsafe { text::set(found, 0) };
        let reply = calls::with(call, |session| {
            restore(session, &mut |fields| {
                let routine = list.ok_or_else(|| no_routine(call))?;
                // SAFETY: the caller's promise.
                unsafe { call_routine(call, routine, context, fields) }
            })
        })?;
        if let Reply::Done(Some(_)) = &reply {
            // SAFETY: the caller's promise.
            unsafe { text::set(found, 1) };
            stops::stop(Moment::Restored);
        }
        Ok(done(reply))
    })
}
