//! The libraries that this process has loaded. None is loaded by asking whether it is.

use std::ffi::{CStr, CString, c_int, c_void};
use std::mem;
use std::ptr::{self, NonNull};

/// A library of this process, or the program itself. It stays loaded.
#[derive(Debug)]
pub struct Library(NonNull<c_void>);

// SAFETY: the handle stands for something of the whole process, and the loader locks what it changes.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// The first loaded library whose file name begins with one of these.
    pub fn find(names: &[&[u8]]) -> Option<Library> {
        let is_named = |path: &CString| {
            let name = path.as_bytes().rsplit(|byte| *byte == b'/').next();
            name.is_some_and(|name| names.iter().any(|begin| name.starts_with(begin)))
        };
        paths()
            .iter()
            .filter(|path| is_named(path))
            .find_map(|path| {
                // SAFETY: a string; nothing is loaded by this.
                let handle =
                    unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                NonNull::new(handle).map(Library)
            })
    }

    /// Loads a library, which runs what it does at first.
    pub fn load(name: &CStr) -> Option<Library> {
        // SAFETY: a string. Libraries of the system may be loaded at any time.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) }).map(Library)
    }

    /// The address of a function or a variable of this library, or of one that it needs.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: an open handle, and a string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// A function of this library, or of one that it needs.
    ///
    /// # Safety
    /// `F` is the type of a pointer to the function with this name.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
        let address = self.symbol(name)?;
        // SAFETY: of the same size, and by the caller's promise a pointer to such a function.
        Some(unsafe { mem::transmute_copy(&address) })
    }
}

/// The number of libraries that were loaded since the process began. It changes with each one.
pub fn count() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        count: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader calls this with an entry, and with the address that it was given.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0_u64;
    // SAFETY: the function gets the address of a live local.
    unsafe { libc::dl_iterate_phdr(Some(first), ptr::from_mut(&mut count).cast()) };
    count
}

/// The paths of the loaded libraries; the program itself is "".
pub fn paths() -> Vec<CString> {
    unsafe extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        paths: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader calls this with an entry that has a string, and with the address that
        // it was given.
        unsafe {
            let paths = &mut *paths.cast::<Vec<CString>>();
            if !(*info).dlpi_name.is_null() {
                paths.push(CStr::from_ptr((*info).dlpi_name).to_owned());
            }
        }
        0
    }
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: the function gets its data with it, which live until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(add), ptr::from_mut(&mut paths).cast()) };
    paths
}

/// True if the processor can read the byte at an address.
pub fn is_readable(address: usize) -> bool {
    const NO_ACTION: libc::c_int = -1;
    let set = ptr::with_exposed_provenance::<u8>(address & !7);
    // Without a set the system reads nothing.
    if set.is_null() {
        return false;
    }
    let (none, size) = (ptr::null_mut::<u8>(), 8_usize);
    // The system reads the set of signals before it sees that there is no such action.
    // SAFETY: with this action nothing changes; addresses without memory are an error.
    let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_ACTION, set, none, size) };
    result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}

#[cfg(test)]
mod tests {
    use super::{Library, count, is_readable, paths};

    #[test]
    fn the_loaded_libraries_are_known() {
        assert!(count() > 0);
        let all = paths();
        assert!(
            all.iter()
                .any(|path| path.to_string_lossy().contains("libc.so")),
            "{all:?}"
        );
        let libc = Library::find(&[b"libnothing", b"libc.so"]).unwrap();
        assert!(libc.symbol(c"strlen").is_some() && libc.symbol(c"no_such_name").is_none());
        assert!(Library::find(&[b"ibc.so"]).is_none());
    }

    #[test]
    fn memory_that_nobody_reads_is_told_from_other() {
        let own = [1_u8; 20];
        assert!((0..20).all(|at| is_readable(own.as_ptr().addr() + at)));
        assert!(!is_readable(0) && !is_readable(0x1000));
    }
}
