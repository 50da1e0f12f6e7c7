//! The C interface of checkpoints of fields: index lists and bags. As `mod.rs`, this file is a source of `include/scr.h`.

use super::fields::{SCR_State, SCR_Type};
use super::list::{failed, field, field_name, number, with_list};
use crate::fields::entry::{wrong_bag, wrong_list};
use crate::fields::{Given, Indices, Key, List, Owner, Place};
use std::ffi::{c_char, c_int, c_void};
use std::slice;

/// Lists which elements of a whole this process has, for fields of an unstructured mesh, a sparse matrix or the
/// like (SCR_Field_by_index). Local. All processes list index lists and fields with the same names in the same order.
/// Not in SCR v3.1.0.
///
/// `indices` points to `count` numbers of `kind` SCR_INT32 or SCR_INT64, in any order: element i of this process is
/// element indices[i] of the whole. The first element of the whole has the number `first` (0 or 1 in most programs),
/// and the whole has `whole` elements. When the state is written, all processes together list each index once; after
/// SCR_Next_field(state, SCR_SHARED) several processes may list an index, and the checkpoint fails if any of their
/// copies of its elements differ in a bit.
/// When the state is read, the indices are those of the elements that this process has now. Any number of processes
/// may list the same index then, as for ghost elements, and one process may list it twice.
///
/// `indices` may be NULL if `count` is 0. The library keeps no pointer to them. One list serves any number of fields;
/// its name must not be that of a field. Each checkpoint has the lists. They are compared with those of the other
/// processes if any process has changed its list.
///
/// # Safety
/// `state` was given to the routine that runs now, `name` is NULL or a NUL-terminated string, and `indices` is NULL or
/// has `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Index(
    state: *mut SCR_State,
    name: *const c_char,
    indices: *const c_void,
    kind: c_int,
    count: i64,
    first: i64,
    whole: i64,
) -> c_int {
    const FOUR: c_int = SCR_Type::SCR_INT32 as c_int;
    const EIGHT: c_int = SCR_Type::SCR_INT64 as c_int;
    with_list(state, |list| {
        // SAFETY: the caller's promise.
        let name = unsafe { field_name(list, name) }?;
        let number = usize::try_from(count).ok();
        let number = number.filter(|number| *number == 0 || !indices.is_null());
        let Some(number) = number else {
            let what = if indices.is_null() {
                format!("the pointer is NULL, and there are {count} indices")
            } else {
                format!("it cannot have {count} indices")
            };
            return Err(failed(list, wrong_list(name, what)));
        };
        if number > 0 {
            list.check_host(
                indices.addr(),
                "SCR_Index",
                &format!("index list \"{name}\""),
            )?;
        }
        let indices = match kind {
            FOUR | EIGHT if number == 0 => Indices::Eight(&[]),
            // SAFETY: not NULL, so by the caller's promise so many numbers of this type.
            FOUR => Indices::Four(unsafe { slice::from_raw_parts(indices.cast(), number) }),
            // SAFETY: as above.
            EIGHT => Indices::Eight(unsafe { slice::from_raw_parts(indices.cast(), number) }),
            _ => {
                let what = format!("{kind} is no type of an index; use SCR_INT32 or SCR_INT64");
                return Err(failed(list, wrong_list(name, what)));
            }
        };
        list.index(&Given {
            name,
            indices,
            first,
            whole,
        })
    })
}

/// Lists elements without a number, such as particles: `count` of them on this process, for the fields that follow
/// (SCR_Field_by_index with `name` as their index). Local. All fields of a bag have one place for each of its elements.
/// When the state is read, `count` becomes the number of elements that this process gets, already in the first call of
/// the routine, so that it can allocate memory for them: on the same number of processes those that it wrote, on
/// another number an equal share, in the order of the processes that wrote them. Not in SCR v3.1.0.
///
/// # Safety
/// `state` was given to the routine that runs now, `name` is NULL or a NUL-terminated string, and `count` is NULL or
/// points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Bag(
    state: *mut SCR_State,
    name: *const c_char,
    count: *mut i64,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            number(list, "SCR_Bag", (name, count), List::bag)
        })
    }
}

/// The function of a program that tells which processes get elements of a bag (SCR_Bag_by_key): for each of `count`
/// `keys` it sets the process in `ranks`, and returns 0, or another number if it cannot. `context` is the pointer that
/// the program has given with it.
#[allow(non_camel_case_types)]
pub type SCR_Owner_fn = Option<
    unsafe extern "C" fn(
        keys: *const i64,
        count: i64,
        ranks: *mut c_int,
        context: *mut c_void,
    ) -> c_int,
>;

unsafe extern "C" {
    // Defined in `barrier.c`.
    fn scr_call_owner(
        owner: unsafe extern "C" fn(*const i64, i64, *mut c_int, *mut c_void) -> c_int,
        keys: *const i64,
        count: i64,
        ranks: *mut c_int,
        context: *mut c_void,
    ) -> c_int;
}

/// Lists a bag as SCR_Bag does. Another number of processes than has written the bag gets its elements by a key, which
/// is the field `key` of the bag, with one number for each element. Local, with a function on all processes or on none.
/// Not in SCR v3.1.0.
///
/// With `owner` the key is an integer of up to 64 bits, such as the number of a cell. The function is called with the
/// keys, once for some of them, and tells the process that gets each element. A process gets its elements in the order
/// in which they were written. If the function returns another number than 0, or a process that is not there, the
/// restart fails, and no field has changed. If `owner` is NULL, the bag is sorted: each process gets an equal share in
/// the order of the key, which is an integer or a real number, and equal keys are in the order in which they were
/// written.
///
/// When the state is read on another number of processes, the routine is called once more, before its other calls. In
/// that call, which asks for the owners, `count` is an equal share. In the others it is what the process gets.
///
/// # Safety
/// As for SCR_Bag; `key` is NULL or a NUL-terminated string, and `owner` is NULL or a function that takes `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Bag_by_key(
    state: *mut SCR_State,
    name: *const c_char,
    count: *mut i64,
    key: *const c_char,
    owner: SCR_Owner_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with_list(state, |list| {
            let field = field_name(list, key)?;
            let work = |list: &mut List<'_>, name: &str, count: &mut i64| {
                let bag = list.full(name);
                let Some(owner) = owner else {
                    return list.bag_by_key(name, count, Key { field, owner: None });
                };
                let mut ask = |keys: &[i64], ranks: &mut [c_int]| {
                    let number = keys.len().min(ranks.len()) as i64;
                    // SAFETY: by the caller's promise the function takes the context; the arrays have so many numbers.
                    match scr_call_owner(owner, keys.as_ptr(), number, ranks.as_mut_ptr(), context)
                    {
                        0 => Ok(()),
                        returned => {
                            let what =
                                format!("the function that tells the owners returned {returned}");
                            Err(wrong_bag(&bag, what))
                        }
                    }
                };
                let owner: Option<&mut Owner<'_>> = Some(&mut ask);
                list.bag_by_key(name, count, Key { field, owner })
            };
            number(list, "SCR_Bag_by_key", (name, count), work)
        })
    }
}

/// Lists a field whose elements are those of `index`, an index list or a bag, which was listed before. Local. The other
/// arguments are those of SCR_Field. The slowest dimension, the first of `extents` (after SCR_Order(SCR_COLUMN_MAJOR)
/// the last), has one place for each index of the list, or for each element of the bag. The other dimensions are levels
/// or components, the same on all processes. Any number of processes restores the field, with any index lists. Not in
/// SCR v3.1.0.
///
/// # Safety
/// As for SCR_Field; `index` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // As SCR_Field.
pub unsafe extern "C" fn SCR_Field_by_index(
    state: *mut SCR_State,
    name: *const c_char,
    index: *const c_char,
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
            let index = field_name(list, index)?;
            let known = list.known_index(index)?;
            field(
                list,
                name,
                data,
                kind,
                shape,
                Place::Indexed { list: &known },
            )
        })
    }
}
