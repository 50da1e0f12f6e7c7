//! The calls of MPI as the transport makes them.

use super::functions::{Combine, Forms, Functions, every_function, plain};
use super::handle::{Form, Handle};
use super::{MPI_Aint, MPI_Count, MPI_Status, found};
use std::ffi::{c_char, c_int, c_void};

/// The result of a call without an MPI: not a code of success.
pub(super) const NO_MPI: c_int = -1;

/// The functions of the MPI that was found.
pub(super) fn functions() -> Option<&'static Forms> {
    found().map(|mpi| &mpi.functions)
}

/// The type of an argument as the transport gives it.
macro_rules! given {
    (handle) => { Handle };
    (made) => { *mut Handle };
    (pair) => { *const Handle };
    ($kind:ident) => { plain!($kind) };
}

/// An argument in the form in which it is taken.
macro_rules! pass {
    (handle, $h:ty, $arg:ident) => {
        <$h>::of($arg)
    };
    (made, $h:ty, $arg:ident) => {
        $arg.cast::<$h>()
    };
    (pair, $h:ty, $arg:ident) => {
        [<$h>::of(*$arg), <$h>::of(*$arg.add(1))].as_ptr()
    };
    ($kind:ident, $h:ty, $arg:ident) => {
        $arg
    };
}

macro_rules! calls {
    ({ $($name:ident($($arg:ident: $kind:ident),*);)* }
     { $($rare:ident($($its:ident: $form:ident),*);)* }) => {
        $(
            /// The function of this name of the MPI that was found.
            ///
            /// # Safety
            /// The caller keeps to the rules of the standard for this function.
            #[allow(non_snake_case)]
            pub(in super::super) unsafe extern "C" fn $name($($arg: given!($kind)),*) -> c_int {
                match functions() {
                    // SAFETY: the caller's promise; handles are passed in the form that this MPI has.
                    Some(Forms::Integers(f)) => unsafe { (f.$name)($(pass!($kind, c_int, $arg)),*) },
                    // SAFETY: as above.
                    Some(Forms::Pointers(f)) => unsafe { (f.$name)($(pass!($kind, usize, $arg)),*) },
                    None => NO_MPI,
                }
            }
        )*

        $(
            /// The function of this name, with a prefix, if the MPI that was found has it.
            ///
            /// # Safety
            /// The caller keeps to the proposed rules for this function.
            #[allow(non_snake_case)]
            pub(super) unsafe fn $rare($($its: given!($form)),*) -> c_int {
                match functions() {
                    // SAFETY: the caller's promise; handles are passed in the form that this MPI has.
                    Some(Forms::Integers(Functions { $rare: Some(f), .. })) => unsafe {
                        f($(pass!($form, c_int, $its)),*)
                    },
                    // SAFETY: as above.
                    Some(Forms::Pointers(Functions { $rare: Some(f), .. })) => unsafe {
                        f($(pass!($form, usize, $its)),*)
                    },
                    _ => NO_MPI,
                }
            }
        )*
    };
}

every_function!(calls);
