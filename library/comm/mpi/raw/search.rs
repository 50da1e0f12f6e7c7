//! The MPI libraries that this process has loaded.

use super::constants::Family;
use super::handle::{Form, Handle};
use crate::{Error, Result};
use scr_engine::messages::NO_USABLE_MPI;
use scr_engine::system::loaded;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;

/// Each MPI library defines one of these functions. A tool between a program and its MPI defines the second symbol
/// alone.
const MARKS: [&CStr; 2] = [c"PMPI_Comm_size", c"MPI_Comm_size"];

/// A library of this process, or the program itself. It stays loaded.
pub(super) struct Library {
    handle: *mut c_void,
    /// Address of its beginning in memory.
    base: usize,
    pub path: String,
    /// The name of the MPI in it, in MPI's words, as soon as that is known.
    pub name: String,
}

impl Library {
    /// The address of a function or a variable. First the symbol that the program uses. It may be that of a tool
    /// between the program and its MPI; in a program with fixed addresses, a variable is in the program itself.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        [libc::RTLD_DEFAULT, self.handle]
            .into_iter()
            .map(|scope| address(scope, &name))
            .find(|address| !address.is_null())
    }

    /// # Errors
    /// The library has no such symbol.
    pub fn required(&self, name: &str) -> Result<*mut c_void> {
        self.symbol(name).ok_or_else(|| {
            refusal(format!(
                "{self} has no {name}, which SCR needs ({NO_USABLE_MPI})"
            ))
        })
    }

    /// A handle that MPI has from the beginning: the value that it has in MPICH's family and in the standard, or the
    /// address of a variable.
    ///
    /// # Errors
    /// The library has no variable of this name.
    pub fn handle(
        &self,
        family: Family,
        (_, variable): (&str, &str),
        (mpich, standard): (c_int, usize),
    ) -> Result<Handle> {
        Ok(match family {
            Family::Mpich => mpich.handle(),
            Family::OpenMpi => self.required(variable)?.addr().handle(),
            Family::Standard => standard.handle(),
        })
    }

    /// As [`Library::symbol`], in this library alone and what it needs.
    pub fn own(&self, name: &CStr) -> Option<*mut c_void> {
        let found = address(self.handle, name);
        (!found.is_null()).then_some(found)
    }
}

impl std::fmt::Display for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "{}", self.path),
            name => write!(f, "{name} ({})", self.path),
        }
    }
}

/// The MPI libraries among the loaded ones, also if their names are not global, or the program itself if it has an MPI
/// inside that can be seen.
pub(super) fn libraries() -> Vec<Library> {
    let mut names = loaded::paths();
    names.retain(|name| !name.is_empty());
    for mark in MARKS {
        let mut found: Vec<Library> = Vec::new();
        for name in &names {
            // SAFETY: a string; nothing is loaded by this.
            let handle =
                unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            // Each library also finds symbols of the libraries that it needs.
            match defined_by(handle, mark) {
                Some(library) if found.iter().all(|other| other.base != library.base) => {
                    found.push(library);
                }
                _ => close(handle),
            }
        }
        if found.is_empty() {
            // SAFETY: NULL is the program.
            let program = unsafe { libc::dlopen(ptr::null(), libc::RTLD_LAZY) };
            found.extend(defined_by(program, mark));
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// True if the loader has not taken part in starting the program.
pub(super) fn is_static() -> bool {
    // SAFETY: asks the kernel's table of this process.
    unsafe { libc::getauxval(libc::AT_BASE) == 0 }
}

/// The library that has the symbol which is found from this handle.
fn defined_by(handle: *mut c_void, symbol: &CStr) -> Option<Library> {
    if handle.is_null() {
        return None;
    }
    let symbol = address(handle, symbol);
    // SAFETY: a structure of pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; the pointer is to a live local.
    if symbol.is_null() || unsafe { libc::dladdr(symbol, &mut info) } == 0 {
        return None;
    }
    // SAFETY: a string of the loader's, as the library is loaded.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy();
    Some(Library {
        handle,
        base: info.dli_fbase.addr(),
        path: path.into_owned(),
        name: String::new(),
    })
}

fn address(scope: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a handle that is open, or one that stands for a scope, and a string.
    unsafe { libc::dlsym(scope, name.as_ptr()) }
}

fn close(handle: *mut c_void) {
    if !handle.is_null() {
        // SAFETY: opened by us, and closed once.
        unsafe { libc::dlclose(handle) };
    }
}

/// The error of a process without an MPI that can be used.
pub(super) fn refusal(what: String) -> Error {
    Error::usage("SCR_Init", what)
}
