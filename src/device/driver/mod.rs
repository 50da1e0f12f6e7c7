//! The library of a device's driver, as the program has loaded it. CUDA and HIP have the same calls under other names;
//! `cuda.rs` and `hip.rs` have what differs.

mod cuda;
mod hip;

use crate::system::loaded::{self, Library};
use crate::system::process;
use crate::{Error, Result};
use std::ffi::{CStr, c_int};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a call of a driver returns; 0 is success.
pub type Code = c_int;

/// Codes that mean the same in CUDA and HIP.
pub mod code {
    use super::Code;

    pub const INVALID_VALUE: Code = 1;
    pub const NOT_INITIALIZED: Code = 3;
    pub const DEINITIALIZED: Code = 4;
    /// Of the library that stands for the driver where programs are built.
    pub const STUB_LIBRARY: Code = 34;
    pub const NO_DEVICE: Code = 100;
    pub const INVALID_CONTEXT: Code = 201;
    pub const ALREADY_REGISTERED: Code = 712;
}

/// The calls that both libraries have. An address of a device and the handle of a stream are integers.
pub struct Calls {
    pub synchronize: unsafe extern "C" fn() -> Code,
    pub stream_create: unsafe extern "C" fn(*mut usize, u32) -> Code,
    pub stream_destroy: unsafe extern "C" fn(usize) -> Code,
    pub stream_synchronize: unsafe extern "C" fn(usize) -> Code,
    pub to_host: unsafe extern "C" fn(*mut u8, usize, usize, usize) -> Code,
    pub to_device: unsafe extern "C" fn(usize, *const u8, usize, usize) -> Code,
    pub host_alloc: unsafe extern "C" fn(*mut *mut u8, usize, u32) -> Code,
    pub host_free: unsafe extern "C" fn(*mut u8) -> Code,
    pub host_register: unsafe extern "C" fn(*mut u8, usize, u32) -> Code,
    pub host_unregister: unsafe extern "C" fn(*mut u8) -> Code,
}

/// Their names, in the order of [`Calls`].
type Names = [&'static CStr; 10];

impl Calls {
    fn of(library: &Library, names: &Names) -> Option<Calls> {
        let [a, b, c, d, e, f, g, h, i, j] = *names;
        // SAFETY: the signatures of these functions in all versions of the libraries.
        unsafe {
            Some(Calls {
                synchronize: library.function(a)?,
                stream_create: library.function(b)?,
                stream_destroy: library.function(c)?,
                stream_synchronize: library.function(d)?,
                to_host: library.function(e)?,
                to_device: library.function(f)?,
                host_alloc: library.function(g)?,
                host_free: library.function(h)?,
                host_register: library.function(i)?,
                host_unregister: library.function(j)?,
            })
        }
    }
}

/// How bytes lie on a device: rows at equal distances, in planes at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// From row to row, bytes; at least the width.
    pub pitch: usize,
    pub planes: usize,
    /// Rows from plane to plane; at least those of a plane. Drivers have no planes at another distance.
    pub plane_rows: usize,
}

impl Shape {
    /// One row.
    pub fn line(width: usize) -> Shape {
        Shape {
            width,
            rows: 1,
            pitch: width,
            planes: 1,
            plane_rows: 1,
        }
    }

    pub fn bytes(&self) -> usize {
        self.width * self.rows * self.planes
    }
}

/// Rows of a copy between a device and the host.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// Address of the first row on the device.
    pub device: usize,
    /// Address of the first row on the host, where all rows lie one after the other.
    pub host: *mut u8,
    pub shape: Shape,
}

impl Rows {
    /// Those of one plane.
    fn plane(&self, plane: usize) -> Rows {
        let shape = Shape {
            planes: 1,
            ..self.shape
        };
        Rows {
            device: self.device + plane * self.shape.plane_rows * self.shape.pitch,
            host: self.host.wrapping_add(plane * shape.bytes()),
            shape,
        }
    }
}

/// The way of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToHost,
    ToDevice,
}

/// What a driver knows of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub kind: Kind,
    /// The context, or for HIP the device, in which work on the memory is done.
    pub home: Home,
    /// Number of the device.
    pub device: c_int,
    /// The addresses of the allocation, if they are known.
    pub range: Option<Range<usize>>,
}

/// The kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only the driver copies it.
    Device,
    /// The processor reaches it, too.
    Managed,
    /// Memory of the host that devices reach.
    Pinned,
}

/// Where work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// A context of the program; HIP has the number of the device here.
    Context(usize),
    /// The primary context of a device.
    Primary(c_int),
}

/// The library of a driver.
pub struct Driver {
    pub calls: Calls,
    own: Own,
    /// The process that found it.
    process: u32,
}

enum Own {
    Cuda(cuda::Cuda),
    Hip(hip::Hip),
}

/// As long as it lives, the calling thread works in the context that was asked for.
pub struct Entered<'a> {
    driver: &'a Driver,
    /// What HIP is to be set back to.
    before: Option<hip::Before>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        match &self.driver.own {
            Own::Cuda(cuda) => cuda.leave(),
            Own::Hip(hip) => {
                if let Some(before) = self.before {
                    hip.leave(before);
                }
            }
        }
    }
}

impl Driver {
    /// "CUDA" or "HIP".
    pub fn name(&self) -> &'static str {
        match &self.own {
            Own::Cuda(_) => "CUDA",
            Own::Hip(_) => "HIP",
        }
    }

    /// False in a process that was forked from the one with the driver: nothing works there.
    pub fn is_usable(&self) -> bool {
        process::id() == self.process
    }

    /// What the driver knows of an address. `None` for memory that it does not know, or if the program has not
    /// started it.
    ///
    /// # Errors
    /// The driver has failed, or the memory has no context.
    pub fn find(&self, address: usize) -> Result<Option<Known>> {
        match &self.own {
            Own::Cuda(cuda) => cuda.find(self, address),
            Own::Hip(hip) => hip.find(self, address),
        }
    }

    /// True if the program has made a context, or started HIP, as far as that can be seen.
    pub fn is_active(&self) -> bool {
        self.is_usable()
            && match &self.own {
                Own::Cuda(cuda) => cuda.is_active(),
                Own::Hip(hip) => hip.is_active(),
            }
    }

    /// The contexts that are active on devices which reach all memory of the host, with the numbers of the devices.
    ///
    /// # Errors
    /// The driver has failed.
    pub fn reaching_all(&self) -> Result<Vec<(Home, c_int)>> {
        match &self.own {
            Own::Cuda(cuda) => cuda.reaching_all(self),
            Own::Hip(_) => Ok(Vec::new()),
        }
    }

    /// Makes a context the current one of this thread.
    ///
    /// # Errors
    /// The context is gone.
    pub fn enter(&self, context: usize) -> std::result::Result<Entered<'_>, Code> {
        let before = match &self.own {
            Own::Cuda(cuda) => {
                cuda.enter(context)?;
                None
            }
            Own::Hip(hip) => Some(hip.enter(context)?),
        };
        Ok(Entered {
            driver: self,
            before,
        })
    }

    /// Keeps the primary context of a device, and returns it.
    ///
    /// # Errors
    /// The driver has failed.
    pub fn keep_primary(&self, device: c_int) -> std::result::Result<usize, Code> {
        match &self.own {
            Own::Cuda(cuda) => cuda.keep_primary(device),
            // Its devices have no other context.
            Own::Hip(_) => Ok(device as usize),
        }
    }

    /// Ends what [`Driver::keep_primary`] began.
    pub fn release_primary(&self, device: c_int) {
        if let Own::Cuda(cuda) = &self.own {
            cuda.release_primary(device);
        }
    }

    /// True if work in a context is known to have ended when all work of a stream has: the stream is of that context.
    pub fn has_stream(&self, context: usize, stream: usize) -> bool {
        match &self.own {
            Own::Cuda(cuda) => cuda.has_stream(context, stream),
            Own::Hip(hip) => hip.has_stream(context, stream),
        }
    }

    /// Begins a copy of rows in a stream.
    ///
    /// # Safety
    /// The host's memory is there, for the rows, until the stream was waited for, and nobody else uses it meanwhile.
    pub unsafe fn copy_rows(&self, way: Way, rows: Rows, stream: usize) -> Code {
        let Shape {
            width,
            rows: count,
            planes,
            ..
        } = rows.shape;
        // SAFETY: the caller's promise. The driver checks addresses of the device.
        unsafe {
            if planes > 1 {
                let code = match &self.own {
                    Own::Cuda(cuda) => cuda.copy_planes(way, rows, stream),
                    Own::Hip(hip) => hip.copy_planes(way, rows, stream),
                };
                if code != code::INVALID_VALUE {
                    return code;
                }
                // The driver has no such copies, or does not take this one, of which it has begun nothing.
                let mut each =
                    (0..planes).map(|plane| self.copy_rows(way, rows.plane(plane), stream));
                return each.find(|code| *code != 0).unwrap_or(0);
            }
            if count == 1 {
                return match way {
                    Way::ToHost => (self.calls.to_host)(rows.host, rows.device, width, stream),
                    Way::ToDevice => (self.calls.to_device)(rows.device, rows.host, width, stream),
                };
            }
            match &self.own {
                Own::Cuda(cuda) => cuda.copy_rows(way, rows, stream),
                Own::Hip(hip) => hip.copy_rows(way, rows, stream),
            }
        }
    }

    /// The driver's name of a code.
    pub fn code_name(&self, code: Code) -> String {
        let name = match &self.own {
            Own::Cuda(cuda) => cuda.code_name(code),
            Own::Hip(hip) => hip.code_name(code),
        };
        name.unwrap_or_else(|| format!("{} error {code}", self.name()))
    }

    /// The error of a code that is not 0.
    pub fn error(&self, device: &str, action: &str, code: Code) -> Error {
        Error::device(device, action, self.code_name(code))
    }

    /// The error of a process that was forked.
    pub fn forked(&self, device: &str) -> Error {
        let why = format!(
            "{} cannot be used in a process that was forked; checkpoint in the process that has started it",
            self.name()
        );
        Error::device(device, "copy", why)
    }
}

/// A name that a library has for as long as it is loaded.
///
/// # Safety
/// `name` is NULL or a string of a library that stays loaded.
unsafe fn text_of(name: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    let name = unsafe { (!name.is_null()).then(|| CStr::from_ptr(name)) };
    name.map(|name| name.to_string_lossy().into_owned())
}

/// The drivers that were found. Their libraries stay loaded from then on.
static CUDA: OnceLock<Driver> = OnceLock::new();
static HIP: OnceLock<Driver> = OnceLock::new();

/// The number of loaded libraries at the last search, plus 1.
static SEARCHED: AtomicU64 = AtomicU64::new(0);

/// The drivers whose libraries the process has loaded. The loaded libraries are only looked at if they are others than
/// the last time.
pub fn drivers() -> impl Iterator<Item = &'static Driver> {
    let count = loaded::count().wrapping_add(1);
    if SEARCHED.load(Ordering::Acquire) != count {
        for (found, search) in [
            (&CUDA, cuda::search as fn() -> Option<Driver>),
            (&HIP, hip::search),
        ] {
            if found.get().is_none()
                && let Some(driver) = search()
            {
                found.get_or_init(|| driver);
            }
        }
        SEARCHED.store(count, Ordering::Release);
    }
    CUDA.get().into_iter().chain(HIP.get())
}

fn driver(own: Own, calls: Calls) -> Driver {
    Driver {
        calls,
        own,
        process: process::id(),
    }
}
