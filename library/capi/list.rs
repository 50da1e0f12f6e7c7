//! The C interface of checkpoints of fields: the calls inside of the program's routine. As `mod.rs`, this file is a source
//! of `include/scr.h`.

use super::fields::{SCR_Option, SCR_State};
use super::guard::guard;
use super::memory::{RawMemory, addresses};
use super::stops::{self, Listed};
use super::{FAILURE, SCR_SUCCESS, handles, table, text};
use crate::fields::{Kind, List, Memory, Options, Order, Pass, Place, Spec};
use crate::{Error, Result};
use std::ffi::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::slice;

const KEEP_IF_MISSING: c_int = SCR_Option::SCR_KEEP_IF_MISSING as c_int;
const CONVERT: c_int = SCR_Option::SCR_CONVERT as c_int;
const SHARED: c_int = SCR_Option::SCR_SHARED as c_int;
const ON_DEVICE: c_int = SCR_Option::SCR_ON_DEVICE as c_int;
const ON_HOST: c_int = SCR_Option::SCR_ON_HOST as c_int;

/// Runs `work` on the list of a state. A state that was not given to a routine that runs now is an error.
pub(super) fn with_list(
    state: *mut SCR_State,
    work: impl FnOnce(&mut List<'_>) -> Result<()>,
) -> c_int {
    guard(FAILURE, || {
        handles::with(state.addr(), work).map(|()| SCR_SUCCESS)
    })
}

/// The name of a field.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string that lives as long as the result is used.
pub(super) unsafe fn field_name<'a>(list: &mut List<'_>, name: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { text::bytes(name) };
    let what = match bytes.map(str::from_utf8) {
        Some(Ok(name)) => return Ok(name),
        Some(Err(_)) => "a name is not in UTF-8",
        None => "a name is NULL",
    };
    Err(failed(list, Error::usage("SCR_Field", what)))
}

/// Keeps an error that the list itself does not see.
pub(super) fn failed(list: &mut List<'_>, error: Error) -> Error {
    list.fail(error.clone());
    error
}

/// The `rank` numbers at a pointer; no numbers for a NULL pointer.
///
/// # Safety
/// `numbers` is NULL or has `rank` numbers that live as long as the result is used.
unsafe fn numbers<'a>(numbers: *const i64, rank: c_int) -> &'a [i64] {
    match usize::try_from(rank) {
        // SAFETY: not NULL, so by the caller's promise so many numbers.
        Ok(rank) if !numbers.is_null() && rank > 0 => unsafe {
            slice::from_raw_parts(numbers, rank)
        },
        _ => &[],
    }
}

/// Lists a field: writes the field, compares it with the checkpoint, or reads it. Local. All processes
/// list fields with the same names, types and ranks in the same order. Not in SCR v3.1.0.
///
/// `data` points to the first element of an array with `rank` dimensions, at most 7, and these `extents`.
/// `kind` is the type of its elements (SCR_Type). `strides` are the distances of elements in each dimension,
/// in bytes, and may be negative. `strides` is NULL if the elements lie one after the other, the last index
/// fastest (SCR_Order). `data` may be NULL if there are no elements. For a scalar `rank` is 0.
///
/// `whole` and `at` are NULL for a field of this process alone. Another number of processes restores such a
/// field only with SCR_From_rank. Otherwise the field is a part of a whole array. All processes together list
/// each element of the whole array once. `whole` are the extents of the whole array. `at` is the index of
/// this process's first element in the whole array; indices begin with 0. Any number of processes restores
/// the whole array, in any parts. `name` is shorter than 1024 bytes.
///
/// `data` may be in memory of a device, if the program has loaded its driver (CUDA or HIP): the driver is asked. A
/// checkpoint has what the program's last work has written there. SCR_Stream and SCR_Copy say otherwise.
///
/// Once a call has failed, all later calls fail, and the checkpoint or the restart fails, too.
///
/// # Safety
/// `state` was given to the routine that runs now, `name` is NULL or a NUL-terminated string, the arrays are
/// NULL or have `rank` numbers, and the elements of `data` exist.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // C has no other way to leave some of them out.
pub unsafe extern "C" fn SCR_Field(
    state: *mut SCR_State,
    name: *const c_char,
    data: *mut c_void,
    kind: c_int,
    rank: c_int,
    extents: *const i64,
    strides: *const i64,
    whole: *const i64,
    at: *const i64,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let place = if whole.is_null() && at.is_null() {
            Place::Own
        } else {
            Place::Part {
                whole: numbers(whole, rank),
                at: numbers(at, rank),
            }
        };
        let shape = (rank, extents, strides);
        with_list(state, |list| field(list, name, data, kind, shape, place))
    }
}

/// Lists a field that is the same on all processes. A checkpoint fails if the field differs. Local. The
/// arguments are those of SCR_Field. Any number of processes restores the field. Not in SCR v3.1.0.
///
/// # Safety
/// As for SCR_Field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Same(
    state: *mut SCR_State,
    name: *const c_char,
    data: *mut c_void,
    kind: c_int,
    rank: c_int,
    extents: *const i64,
    strides: *const i64,
) -> c_int {
    let shape = (rank, extents, strides);
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            field(list, name, data, kind, shape, Place::Same)
        })
    }
}

/// Lists a field. `shape`: rank, extents, strides.
///
/// # Safety
/// As for SCR_Field.
pub(super) unsafe fn field(
    list: &mut List<'_>,
    name: *const c_char,
    data: *mut c_void,
    code: c_int,
    (rank, extents, strides): (c_int, *const i64, *const i64),
    place: Place<'_>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let name = unsafe { field_name(list, name) }?;
    let wrong = |what: String| Error::usage("SCR_Field", format!("field \"{name}\": {what}"));
    if !(0..=7).contains(&rank) {
        return Err(failed(
            list,
            wrong(format!("{rank} dimensions; 0 to 7 are possible")),
        ));
    }
    if rank > 0 && extents.is_null() {
        return Err(failed(list, wrong("the extents are NULL".to_string())));
    }
    let kind = u32::try_from(code)
        .ok()
        .and_then(|code| Kind::of_code(code).ok());
    let Some(kind) = kind else {
        let what = format!("{code} is no type of a field; see SCR_Type");
        return Err(failed(list, wrong(what)));
    };
    // SAFETY: the caller's promise.
    let (extents, given) = unsafe { (numbers(extents, rank), numbers(strides, rank)) };
    let strides = (!strides.is_null()).then_some(given);
    let has_elements = !data.is_null() && extents.iter().all(|extent| *extent > 0);
    let remote = if has_elements {
        let all = addresses(data.addr(), kind, extents, strides);
        list.reach(name, data.addr(), all)?
    } else {
        None
    };
    let listed = Listed {
        address: data.addr(),
        size: kind.size(),
        extents,
        strides,
    };
    // Commands that look at the program's memory read only what the processor reads.
    match remote {
        None => stops::lists(table::current(), &listed, || list.full(name)),
        Some(_) => stops::lists_remote(table::current(), || list.full(name)),
    }
    let spec = Spec {
        name,
        kind,
        extents,
        strides,
        place,
    };
    let first = data.cast();
    let mut memory = RawMemory { first, remote };
    let memory: Option<&mut dyn Memory> = if data.is_null() {
        None
    } else {
        Some(&mut memory)
    };
    list.field(spec, memory)
}

/// Lists a number on which the rest of the list depends: how many fields follow, or an extent. Local. When the
/// state is read, `count` becomes the number that was written, already in the first call of the routine. So
/// pass a copy of a number that must not change before the whole checkpoint was found good. Not in SCR v3.1.0.
///
/// Another number of processes restores the number if it was the same on all processes, or with
/// SCR_From_rank.
///
/// # Safety
/// `state` was given to the routine that runs now, `name` is NULL or a NUL-terminated string, and `count` is
/// NULL or points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Count(
    state: *mut SCR_State,
    name: *const c_char,
    count: *mut i64,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            number(list, "SCR_Count", (name, count), List::count)
        })
    }
}

/// Lists a number by `work`, for the call `call`.
///
/// # Safety
/// As for SCR_Count.
pub(super) unsafe fn number<'a>(
    list: &mut List<'a>,
    call: &'static str,
    (name, count): (*const c_char, *mut i64),
    work: impl FnOnce(&mut List<'a>, &str, &mut i64) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let name = unsafe { field_name(list, name) }?;
    if !count.is_null() {
        list.check_host(count.addr(), call, &format!("\"{name}\""))?;
    }
    stops::lists(table::current(), &Listed::number(count.addr()), || {
        list.full(name)
    });
    // SAFETY: the caller's promise, and the processor reads the number.
    match unsafe { count.as_mut() } {
        Some(number) => work(list, name, number),
        None => {
            let what = format!("\"{name}\": the pointer is NULL");
            Err(failed(list, Error::usage(call, what)))
        }
    }
}

/// Sets `options` of the next field or count: SCR_KEEP_IF_MISSING and SCR_CONVERT, or-ed; of a field also SCR_ON_DEVICE or
/// SCR_ON_HOST; of the next index list: SCR_SHARED. Local. Not in SCR v3.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Next_field(state: *mut SCR_State, options: c_int) -> c_int {
    with_list(state, |list| {
        if options & !(KEEP_IF_MISSING | CONVERT | SHARED | ON_DEVICE | ON_HOST) != 0 {
            let what = format!("options {options} has bits that are no option");
            return Err(failed(list, Error::usage("SCR_Next_field", what)));
        }
        list.next(Options {
            keep_if_missing: options & KEEP_IF_MISSING != 0,
            convert: options & CONVERT != 0,
            shared: options & SHARED != 0,
            on_device: options & ON_DEVICE != 0,
            on_host: options & ON_HOST != 0,
            ..list.options()
        });
        Ok(())
    })
}

/// Makes the next call for a field, a count or SCR_Stored mean process `rank` of the run that wrote the
/// checkpoint. So another number of processes can read fields without a whole. Local; only when the state
/// is read (SCR_Stored_ranks). The same name may be listed once for each old process. Not in SCR v3.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_From_rank(state: *mut SCR_State, rank: i64) -> c_int {
    with_list(state, |list| {
        let Ok(rank) = u64::try_from(rank) else {
            let what = format!("there is no process {rank}");
            return Err(failed(list, Error::usage("SCR_From_rank", what)));
        };
        list.next(Options {
            from: Some(rank),
            ..list.options()
        });
        Ok(())
    })
}

/// Says that the program no longer has the field or count `name`, so that a checkpoint with it can be restored.
/// Local. Without it, a field that the program does not list is an error. Not in SCR v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, and `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Gone(state: *mut SCR_State, name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            let name = field_name(list, name)?;
            list.gone(name)
        })
    }
}

/// Begins a list in the list: the names of fields get `name` and a slash before them, until SCR_End_list. Use
/// it for arrays of structures, and for parts of a program that do not know each other. Local. Not in SCR
/// v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, and `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Begin_list(state: *mut SCR_State, name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            let name = field_name(list, name)?;
            list.begin(name)
        })
    }
}

/// Ends the list that was begun last. Local. Not in SCR v3.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_End_list(state: *mut SCR_State) -> c_int {
    with_list(state, |list| list.end())
}

/// Sets in which `order` the dimensions of the following fields are named: SCR_ROW_MAJOR, as at the beginning, or
/// SCR_COLUMN_MAJOR. Local. The array a(3,2) of Fortran is the array a[2][3] of C: each language can read the
/// array of the other. Not in SCR v3.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Order(state: *mut SCR_State, order: c_int) -> c_int {
    const ROW: c_int = SCR_Option::SCR_ROW_MAJOR as c_int;
    const COLUMN: c_int = SCR_Option::SCR_COLUMN_MAJOR as c_int;
    with_list(state, |list| {
        match order {
            ROW => list.set_order(Order::Row),
            COLUMN => list.set_order(Order::Column),
            other => {
                let what = format!("{other} is no order");
                return Err(failed(list, Error::usage("SCR_Order", what)));
            }
        }
        Ok(())
    })
}

/// Describes the field `name` in the checkpoint that is read, so that the program can allocate memory for the
/// field. Local. `rank` becomes -1 if there is no such field, or if the state is written. Not in SCR v3.1.0.
///
/// `extents`, `whole` and `at` are NULL or have space for 7 numbers. `extents` become the extents of this
/// process's array. If the field is a part of a whole and another number of processes wrote it, `extents` become
/// the extents of the whole. `whole` and `at` become 0 for a field that has no whole. The elements of a field that
/// goes by an index list or a bag, and of such a list, need not follow each other in the whole: `at` becomes -1 in the
/// dimension of the indices, which is the slowest one.
///
/// # Safety
/// `state` was given to the routine that runs now, `name` is NULL or a NUL-terminated string, and each other pointer
/// is NULL or has the space that it must have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Stored(
    state: *mut SCR_State,
    name: *const c_char,
    kind: *mut c_int,
    rank: *mut c_int,
    extents: *mut i64,
    whole: *mut i64,
    at: *mut i64,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        text::set(kind, 0);
        text::set(rank, -1);
        with_list(state, |list| {
            let name = field_name(list, name)?;
            let Some(stored) = list.stored(name)? else {
                return Ok(());
            };
            text::set(kind, stored.kind.code() as c_int);
            text::set(rank, stored.extents.len() as c_int);
            for (place, found) in [
                (extents, &stored.extents),
                (whole, &stored.whole),
                (at, &stored.at),
            ] {
                for dim in 0..if place.is_null() {
                    0
                } else {
                    stored.extents.len()
                } {
                    *place.add(dim) = found.get(dim).copied().unwrap_or(0);
                }
            }
            Ok(())
        })
    }
}

/// Sets `ranks` to the number of processes that wrote the checkpoint which is read; to 0 if the state is
/// written. Local. Not in SCR v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, and `ranks` is NULL or points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Stored_ranks(state: *mut SCR_State, ranks: *mut i64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            if let Some(ranks) = ranks.as_mut() {
                *ranks = list.stored_ranks().unwrap_or(0) as i64;
            }
            Ok(())
        })
    }
}

/// Sets `pass` to the reason for which the routine is called: SCR_PASS_WRITE, SCR_PASS_COMPARE or
/// SCR_PASS_READ. Local. A routine that only lists fields need not know it. Not in SCR v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, and `pass` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Pass(state: *mut SCR_State, pass: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            let now = match list.pass() {
                Pass::Write => SCR_Option::SCR_PASS_WRITE,
                Pass::Compare => SCR_Option::SCR_PASS_COMPARE,
                Pass::Read => SCR_Option::SCR_PASS_READ,
            };
            text::set(pass, now as c_int);
            Ok(())
        })
    }
}

/// Gives the path of a file of this process in the same dataset. The program itself writes the file in
/// SCR_PASS_WRITE, or reads it in SCR_PASS_READ. Local. `name` has no slash, and may be the same on all
/// processes: the file of process r is `rank_<r>.<name>`, beside the fields of process r. `file` is a buffer of
/// SCR_MAX_FILENAME bytes. Another number of processes reads the files of the old processes with SCR_From_rank.
/// Not in SCR v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, `name` is NULL or a NUL-terminated string, and `file` is NULL or
/// a buffer of SCR_MAX_FILENAME bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_State_file(
    state: *mut SCR_State,
    name: *const c_char,
    file: *mut c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            let name = field_name(list, name)?;
            let path = list.file(name)?;
            stops::routes(name.as_ref(), &path);
            if !file.is_null() && text::copy_out(path.as_os_str().as_bytes(), file) {
                Ok(())
            } else {
                Err(failed(
                    list,
                    Error::usage("SCR_State_file", "the path does not fit into the buffer"),
                ))
            }
        })
    }
}
