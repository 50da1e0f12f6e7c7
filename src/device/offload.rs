//! Copies that the directives of OpenACC and OpenMP make of the host's memory.

use crate::system::loaded::Library;
use std::ffi::{c_int, c_void};

/// A library with the functions of a language, and the one beside it that is loaded only if the program uses devices.
/// Without that one, asking would start devices.
struct Names {
    library: &'static [u8],
    beside: Option<&'static [u8]>,
}

const ALL: [Names; 5] = [
    // GCC.
    Names {
        library: b"libgomp.so",
        beside: Some(b"libgomp-plugin-"),
    },
    // NVIDIA's compilers: OpenACC, and OpenMP.
    Names {
        library: b"libacchost.so",
        beside: Some(b"libaccdevice.so"),
    },
    Names {
        library: b"libnvomp.so",
        beside: Some(b"libaccdevice.so"),
    },
    // LLVM, AMD and Intel; only programs with code for devices need it.
    Names {
        library: b"libomptarget.so",
        beside: None,
    },
    // Cray.
    Names {
        library: b"libcrayacc.so",
        beside: None,
    },
];

/// The functions of a library that the process has loaded.
pub struct Offload {
    acc: Option<Acc>,
    omp: Option<Omp>,
}

struct Acc {
    is_present: unsafe extern "C" fn(*const c_void, usize) -> c_int,
    device_pointer: unsafe extern "C" fn(*const c_void) -> *const c_void,
}

struct Omp {
    is_present: unsafe extern "C" fn(*const c_void, c_int) -> c_int,
    default_device: unsafe extern "C" fn() -> c_int,
    initial_device: unsafe extern "C" fn() -> c_int,
    /// Since OpenMP 5.1.
    mapped: Option<unsafe extern "C" fn(*const c_void, c_int) -> *const c_void>,
}

impl Offload {
    /// Those of the loaded libraries.
    pub fn loaded() -> Vec<Offload> {
        let found = ALL.iter().filter_map(|names| {
            if let Some(beside) = names.beside {
                Library::find(&[beside])?;
            }
            let library = Library::find(&[names.library])?;
            Some(Offload {
                acc: Acc::of(&library),
                omp: Omp::of(&library),
            })
        });
        found.collect()
    }

    /// The language by whose directives the byte at an address has a copy on a device.
    pub fn copy_of(&self, address: usize) -> Option<&'static str> {
        let place = std::ptr::with_exposed_provenance(address);
        let acc = self.acc.as_ref().is_some_and(|acc| acc.has_copy(place));
        let omp = || self.omp.as_ref().is_some_and(|omp| omp.has_copy(place));
        if acc {
            Some("OpenACC")
        } else {
            omp().then_some("OpenMP")
        }
    }
}

impl Acc {
    fn of(library: &Library) -> Option<Acc> {
        // SAFETY: the language says which signatures these functions have.
        unsafe {
            Some(Acc {
                is_present: library.function(c"acc_is_present")?,
                device_pointer: library.function(c"acc_deviceptr")?,
            })
        }
    }

    fn has_copy(&self, place: *const c_void) -> bool {
        // SAFETY: any address may be asked for.
        unsafe {
            if (self.is_present)(place, 1) == 0 {
                return false;
            }
            // With one memory for both, or without a device, there is no copy.
            let there = (self.device_pointer)(place);
            !there.is_null() && there != place
        }
    }
}

impl Omp {
    fn of(library: &Library) -> Option<Omp> {
        // SAFETY: the language says which signatures these functions have.
        unsafe {
            Some(Omp {
                is_present: library.function(c"omp_target_is_present")?,
                default_device: library.function(c"omp_get_default_device")?,
                initial_device: library.function(c"omp_get_initial_device")?,
                mapped: library.function(c"omp_get_mapped_ptr"),
            })
        }
    }

    fn has_copy(&self, place: *const c_void) -> bool {
        // SAFETY: any address may be asked for, on a device that the library has named.
        unsafe {
            let device = (self.default_device)();
            if device == (self.initial_device)() || (self.is_present)(place, device) == 0 {
                return false;
            }
            // With one memory for both there is no copy.
            let there = self.mapped.map(|mapped| mapped(place, device));
            there.is_none_or(|there| !there.is_null() && there != place)
        }
    }
}
