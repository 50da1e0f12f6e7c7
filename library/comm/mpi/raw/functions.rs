//! The functions of an MPI, by names that are looked up, in the types that its family has.

use super::Library;
use super::constants::Family;
use super::handle::Form;
use super::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Status};
use crate::Result;
use std::ffi::{c_char, c_int, c_void};

/// An operation of a reduction.
pub(super) type Combine =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
type Copy<H> =
    unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;

/// The type of an argument that is the same in all MPIs.
macro_rules! plain {
    (int) => { c_int };
    (ints) => { *const c_int };
    (number) => { *mut c_int };
    (count) => { *mut MPI_Count };
    (offsets) => { *const MPI_Aint };
    (data) => { *const c_void };
    (room) => { *mut c_void };
    (text) => { *mut c_char };
    (status) => { *mut MPI_Status };
    (received) => { *const MPI_Status };
    (combine) => { Option<Combine> };
}

/// The type of an argument of an MPI whose handles have the form `$h`.
macro_rules! taken {
    (handle, $h:ty) => { $h };
    (made, $h:ty) => { *mut $h };
    (pair, $h:ty) => { *const $h };
    ($kind:ident, $h:ty) => { plain!($kind) };
}

/// Expands a macro for the functions that every MPI has, and for the functions that only some have, with
/// a prefix.
macro_rules! every_function {
    ($with:ident) => {
        $with! {
            {
                MPI_Abort(comm: handle, code: int);
                MPI_Cancel(request: made);
                MPI_Comm_dup(comm: handle, new: made);
                MPI_Comm_free(comm: made);
                MPI_Comm_free_keyval(key: number);
                MPI_Comm_get_errhandler(comm: handle, handler: made);
                MPI_Comm_get_parent(parent: made);
                MPI_Comm_group(comm: handle, group: made);
                MPI_Comm_rank(comm: handle, rank: number);
                MPI_Comm_set_attr(comm: handle, key: int, value: room);
                MPI_Comm_set_errhandler(comm: handle, handler: handle);
                MPI_Comm_size(comm: handle, size: number);
                MPI_Comm_test_inter(comm: handle, flag: number);
                MPI_Errhandler_free(handler: made);
                MPI_Error_class(code: int, class: number);
                MPI_Error_string(code: int, text: text, length: number);
                MPI_Finalized(flag: number);
                MPI_Get_elements_x(status: received, datatype: handle, count: count);
                MPI_Get_library_version(text: text, length: number);
                MPI_Group_free(group: made);
                MPI_Group_size(group: handle, size: number);
                MPI_Group_translate_ranks(of: handle, count: int, ranks: ints, to: handle, there: number);
                MPI_Iallreduce(from: data, to: room, count: int, datatype: handle, op: handle, comm: handle, request: made);
                MPI_Ibarrier(comm: handle, request: made);
                MPI_Improbe(source: int, tag: int, comm: handle, flag: number, message: made, status: status);
                MPI_Imrecv(to: room, count: int, datatype: handle, message: made, request: made);
                MPI_Initialized(flag: number);
                MPI_Irecv(to: room, count: int, datatype: handle, source: int, tag: int, comm: handle, request: made);
                MPI_Isend(from: data, count: int, datatype: handle, to: int, tag: int, comm: handle, request: made);
                MPI_Op_create(combine: combine, commutes: int, op: made);
                MPI_Op_free(op: made);
                MPI_Query_thread(level: number);
                MPI_Test(request: made, flag: number, status: status);
                MPI_Type_commit(datatype: made);
                MPI_Type_contiguous(count: int, of: handle, datatype: made);
                MPI_Type_create_struct(count: int, lengths: ints, offsets: offsets, of: pair, datatype: made);
                MPI_Type_free(datatype: made);
                MPI_Wait(request: made, status: status);
            }
            {
                Comm_revoke(comm: handle);
                Comm_is_revoked(comm: handle, flag: number);
                Comm_get_failed(comm: handle, failed: made);
            }
        }
    };
}

macro_rules! table {
    ({ $($name:ident($($arg:ident: $kind:ident),*);)* }
     { $($rare:ident($($its:ident: $form:ident),*);)* }) => {
        /// The functions of an MPI whose handles have the form `H`.
        #[allow(non_snake_case)]
        pub(super) struct Functions<H> {
            pub MPI_Comm_create_keyval: unsafe extern "C" fn(
                Option<Copy<H>>, Option<Delete<H>>, *mut c_int, *mut c_void,
            ) -> c_int,
            /// `None` in MPICH's family, where the number is the handle.
            pub of_fortran: Option<unsafe extern "C" fn(c_int) -> H>,
            $(pub $name: unsafe extern "C" fn($(taken!($kind, H)),*) -> c_int,)*
            $(pub $rare: Option<unsafe extern "C" fn($(taken!($form, H)),*) -> c_int>,)*
        }

        impl<H: Form> Functions<H> {
            /// # Errors
            /// The library lacks a function that every MPI has.
            pub fn of(family: Family, library: &Library) -> Result<Self> {
                let of_fortran = match family {
                    Family::Mpich => None,
                    Family::OpenMpi | Family::Standard => Some(conversion(family, library)?),
                };
                let create_keyval = library.required("MPI_Comm_create_keyval")?;
                // SAFETY: addresses of functions that have these types by the standard, or by the proposal for it.
                unsafe {
                    Ok(Functions {
                        MPI_Comm_create_keyval: function(create_keyval),
                        of_fortran: of_fortran.map(|address| function(address)),
                        $($name: function(library.required(stringify!($name))?),)*
                        $($rare: rare(family, library, stringify!($rare))
                            .map(|address| function(address)),)*
                    })
                }
            }
        }
    };
}

every_function!(table);

pub(super) use {every_function, plain};

impl<H> Functions<H> {
    /// True if the library has the functions for failed processes.
    pub fn has_ulfm(&self) -> bool {
        self.Comm_revoke.is_some()
            && self.Comm_is_revoked.is_some()
            && self.Comm_get_failed.is_some()
    }
}

/// The function that gives a communicator for its number in Fortran. This function has another name
/// since MPI 5.
fn conversion(family: Family, library: &Library) -> Result<*mut c_void> {
    const OLD: &str = "MPI_Comm_f2c";
    let old = (family == Family::OpenMpi).then(|| library.symbol(OLD));
    old.flatten()
        .map_or_else(|| library.required("MPI_Comm_fromint"), Ok)
}

/// A function for processes that fail while others go on; `None` if the library lacks it or it must not be used.
/// Names of the extension begin with MPIX_. In MPICH (4.0) these names are not used: with most devices such a
/// function ends the program.
fn rare(family: Family, library: &Library, name: &str) -> Option<*mut c_void> {
    let prefixes: &[&str] = match family {
        Family::OpenMpi => &["MPI_", "MPIX_"],
        Family::Mpich | Family::Standard => &["MPI_"],
    };
    prefixes
        .iter()
        .find_map(|prefix| library.symbol(&format!("{prefix}{name}")))
}

/// A function at an address.
///
/// # Safety
/// `F` is the type of the function there.
pub(super) unsafe fn function<F>(address: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller's promise; both have the same size.
    unsafe { std::mem::transmute_copy(&address) }
}

/// The functions of an MPI of any family.
pub(super) enum Forms {
    Integers(Functions<c_int>),
    Pointers(Functions<usize>),
}

impl Forms {
    /// # Errors
    /// The library lacks a function that every MPI has.
    pub fn of(family: Family, library: &Library) -> Result<Forms> {
        Ok(match family {
            Family::Mpich => Forms::Integers(Functions::of(family, library)?),
            Family::OpenMpi | Family::Standard => Forms::Pointers(Functions::of(family, library)?),
        })
    }
}
