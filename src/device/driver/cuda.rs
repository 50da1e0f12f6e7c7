//! CUDA's driver API, `libcuda.so.1`.

use super::{Calls, Code, Driver, Home, Kind, Known, Names, Own, Rows, Way, code};
use crate::Result;
use crate::system::loaded::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

/// Where cuda.h renames a function by a macro, the library has the name with a number.
const NAMES: Names = [
    c"cuCtxSynchronize",
    c"cuStreamCreate",
    c"cuStreamDestroy_v2",
    c"cuStreamSynchronize",
    c"cuMemcpyDtoHAsync_v2",
    c"cuMemcpyHtoDAsync_v2",
    c"cuMemHostAlloc",
    c"cuMemFreeHost",
    c"cuMemHostRegister_v2",
    c"cuMemHostUnregister",
];

const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;
const RANGE_START: c_int = 11;
const RANGE_SIZE: c_int = 12;

/// The attribute of a device that reaches all memory of the host.
const PAGEABLE_MEMORY_ACCESS: c_int = 88;

const HOST: u64 = 1;
const DEVICE: u64 = 2;

/// Handles up to this one are not of a context: the legacy default stream as 0 and 1, and that of each thread.
const LAST_DEFAULT_STREAM: usize = 2;

/// The functions that HIP does not have in this form.
pub(super) struct Cuda {
    attribute: unsafe extern "C" fn(*mut c_void, c_int, usize) -> Code,
    range: unsafe extern "C" fn(*mut usize, *mut usize, usize) -> Code,
    device_count: unsafe extern "C" fn(*mut c_int) -> Code,
    device_attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code,
    current: unsafe extern "C" fn(*mut usize) -> Code,
    push: unsafe extern "C" fn(usize) -> Code,
    pop: unsafe extern "C" fn(*mut usize) -> Code,
    state: unsafe extern "C" fn(c_int, *mut c_uint, *mut c_int) -> Code,
    retain: unsafe extern "C" fn(*mut usize, c_int) -> Code,
    release: unsafe extern "C" fn(c_int) -> Code,
    rows: unsafe extern "C" fn(*const Copy2d, usize) -> Code,
    planes: Option<unsafe extern "C" fn(*const Copy3d, usize) -> Code>,
    error_name: unsafe extern "C" fn(Code, *mut *const c_char) -> Code,
    /// Since CUDA 9.2.
    stream_context: Option<unsafe extern "C" fn(usize, *mut usize) -> Code>,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
struct Copy2d {
    source: Side,
    target: Side,
    width: usize,
    height: usize,
}

#[repr(C)]
struct Side {
    x: usize,
    y: usize,
    kind: c_int,
    host: *mut u8,
    device: usize,
    array: usize,
    pitch: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
struct Copy3d {
    source: Side3d,
    target: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    /// Must be 0, as `reserved`.
    level: usize,
    kind: c_int,
    host: *mut u8,
    device: usize,
    array: usize,
    reserved: usize,
    pitch: usize,
    /// Rows from plane to plane.
    height: usize,
}

/// CUDA, if the process has loaded it.
pub(super) fn search() -> Option<Driver> {
    let library = Library::find(&[b"libcuda.so"])?;
    let calls = Calls::of(&library, &NAMES)?;
    // SAFETY: the signatures of these functions, which have a number in their names where there are several.
    let cuda = unsafe {
        Cuda {
            attribute: library.function(c"cuPointerGetAttribute")?,
            range: library.function(c"cuMemGetAddressRange_v2")?,
            device_count: library.function(c"cuDeviceGetCount")?,
            device_attribute: library.function(c"cuDeviceGetAttribute")?,
            current: library.function(c"cuCtxGetCurrent")?,
            push: library.function(c"cuCtxPushCurrent_v2")?,
            pop: library.function(c"cuCtxPopCurrent_v2")?,
            state: library.function(c"cuDevicePrimaryCtxGetState")?,
            retain: library.function(c"cuDevicePrimaryCtxRetain")?,
            release: library
                .function(c"cuDevicePrimaryCtxRelease_v2")
                .or_else(|| library.function(c"cuDevicePrimaryCtxRelease"))?,
            rows: library.function(c"cuMemcpy2DAsync_v2")?,
            planes: library.function(c"cuMemcpy3DAsync_v2"),
            error_name: library.function(c"cuGetErrorName")?,
            stream_context: library.function(c"cuStreamGetCtx"),
        }
    };
    Some(super::driver(Own::Cuda(cuda), calls))
}

impl Cuda {
    fn attribute(&self, which: c_int, address: usize) -> std::result::Result<u64, Code> {
        // Attributes have 1, 4 or 8 bytes.
        let mut value = [0_u8; 8];
        // SAFETY: a live local with room for each attribute that is asked for; any address may be asked for.
        let code = unsafe { (self.attribute)(value.as_mut_ptr().cast(), which, address) };
        if code == 0 {
            Ok(u64::from_le_bytes(value))
        } else {
            Err(code)
        }
    }

    pub(super) fn find(&self, driver: &Driver, address: usize) -> Result<Option<Known>> {
        let kind = match self.attribute(MEMORY_TYPE, address) {
            Ok(kind) => kind,
            Err(
                code::INVALID_VALUE
                | code::NOT_INITIALIZED
                | code::DEINITIALIZED
                | code::STUB_LIBRARY
                | code::NO_DEVICE,
            ) => return Ok(None),
            Err(code) => return Err(driver.error("CUDA", "ask where memory is", code)),
        };
        let ask = |which, action| match self.attribute(which, address) {
            Ok(value) => Ok(value),
            // A driver that has no such attribute.
            Err(code::INVALID_VALUE) => Ok(0),
            Err(code) => Err(driver.error("CUDA", action, code)),
        };
        let is_managed = ask(IS_MANAGED, "ask for the kind of memory")? & 0xff != 0;
        let kind = match kind {
            _ if is_managed => Kind::Managed,
            HOST => Kind::Pinned,
            0 => return Ok(None),
            _ if kind >= DEVICE => Kind::Device,
            _ => return Ok(None),
        };
        let device = self.attribute(DEVICE_ORDINAL, address);
        let device = device.map_err(|code| driver.error("CUDA", "ask for the device", code))?;
        let device = device as u32 as c_int;
        let home = match ask(CONTEXT, "ask for the context of memory")? as usize {
            0 => Home::Primary(device),
            context => Home::Context(context),
        };
        Ok(Some(Known {
            kind,
            home,
            device,
            range: self.range(address),
        }))
    }

    fn range(&self, address: usize) -> Option<std::ops::Range<usize>> {
        let start = self.attribute(RANGE_START, address);
        let size = self.attribute(RANGE_SIZE, address);
        let (start, size) = match (start, size) {
            (Ok(start), Ok(size)) => (start as usize, size as usize),
            _ => {
                // Before CUDA 10.2.
                let (mut start, mut size) = (0, 0);
                // SAFETY: two live locals; any address may be asked for.
                let code = unsafe { (self.range)(&mut start, &mut size, address) };
                (code == 0).then_some((start, size))?
            }
        };
        let range = start..start.checked_add(size)?;
        range.contains(&address).then_some(range)
    }

    /// True if this thread has a context, or a device an active primary one.
    pub(super) fn is_active(&self) -> bool {
        let (mut context, mut count) = (0, 0);
        // SAFETY: live locals; both are errors if CUDA was not started.
        let started =
            unsafe { (self.current)(&mut context) == 0 && (self.device_count)(&mut count) == 0 };
        started
            && (context != 0 || (0..count).any(|device| self.is_primary_active(device) == Ok(true)))
    }

    /// The primary contexts, as no other is known.
    pub(super) fn reaching_all(&self, driver: &Driver) -> Result<Vec<(Home, c_int)>> {
        let mut count = 0;
        // SAFETY: a live local; an error if CUDA was not started.
        if unsafe { (self.device_count)(&mut count) } != 0 {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for device in 0..count {
            let mut reaches = 0;
            // SAFETY: a live local, and the number of a device. Drivers before CUDA 9 do not know the attribute.
            let code =
                unsafe { (self.device_attribute)(&mut reaches, PAGEABLE_MEMORY_ACCESS, device) };
            if code != 0 || reaches == 0 {
                continue;
            }
            let active = self.is_primary_active(device);
            if active.map_err(|code| driver.error("CUDA", "ask for contexts", code))? {
                found.push((Home::Primary(device), device));
            }
        }
        Ok(found)
    }

    fn is_primary_active(&self, device: c_int) -> std::result::Result<bool, Code> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: two live locals.
        match unsafe { (self.state)(device, &mut flags, &mut active) } {
            0 => Ok(active != 0),
            code => Err(code),
        }
    }

    /// # Errors
    /// The context is not active, or the driver has failed.
    pub(super) fn keep_primary(&self, device: c_int) -> std::result::Result<usize, Code> {
        if !self.is_primary_active(device)? {
            return Err(code::INVALID_CONTEXT);
        }
        let mut context = 0;
        // SAFETY: a live local. The context is active, so none is made.
        match unsafe { (self.retain)(&mut context, device) } {
            0 => Ok(context),
            code => Err(code),
        }
    }

    pub(super) fn release_primary(&self, device: c_int) {
        // SAFETY: an integer; it was retained before.
        unsafe { (self.release)(device) };
    }

    pub(super) fn enter(&self, context: usize) -> std::result::Result<(), Code> {
        // SAFETY: a context that the driver has named for live memory, or that is retained.
        match unsafe { (self.push)(context) } {
            0 => Ok(()),
            code => Err(code),
        }
    }

    pub(super) fn leave(&self) {
        let mut context = 0;
        for _ in 0..2 {
            // SAFETY: a live local; one was pushed by this thread. A call that has failed left it there.
            if unsafe { (self.pop)(&mut context) } == 0 {
                return;
            }
        }
    }

    pub(super) fn has_stream(&self, context: usize, stream: usize) -> bool {
        if stream <= LAST_DEFAULT_STREAM {
            return true;
        }
        let mut of = 0;
        match self.stream_context {
            // SAFETY: a stream of the program, and a live local.
            Some(ask) => unsafe { ask(stream, &mut of) != 0 || of == context },
            None => true,
        }
    }

    /// # Safety
    /// As [`Driver::copy_rows`].
    pub(super) unsafe fn copy_rows(&self, way: Way, rows: Rows, stream: usize) -> Code {
        let shape = rows.shape;
        let host = Side {
            x: 0,
            y: 0,
            kind: HOST as c_int,
            host: rows.host,
            device: 0,
            array: 0,
            pitch: shape.width,
        };
        let device = Side {
            kind: DEVICE as c_int,
            host: ptr::null_mut(),
            device: rows.device,
            pitch: shape.pitch,
            ..host
        };
        let (source, target) = match way {
            Way::ToHost => (device, host),
            Way::ToDevice => (host, device),
        };
        let copy = Copy2d {
            source,
            target,
            width: shape.width,
            height: shape.rows,
        };
        // SAFETY: the structure of this call, which is read at once; the caller's promise for the memory.
        unsafe { (self.rows)(&raw const copy, stream) }
    }

    /// `INVALID_VALUE` if the library has no such call.
    ///
    /// # Safety
    /// As [`Driver::copy_rows`].
    pub(super) unsafe fn copy_planes(&self, way: Way, rows: Rows, stream: usize) -> Code {
        let Some(planes) = self.planes else {
            return code::INVALID_VALUE;
        };
        let shape = rows.shape;
        let host = Side3d {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            kind: HOST as c_int,
            host: rows.host,
            device: 0,
            array: 0,
            reserved: 0,
            pitch: shape.width,
            height: shape.rows,
        };
        let device = Side3d {
            kind: DEVICE as c_int,
            host: ptr::null_mut(),
            device: rows.device,
            pitch: shape.pitch,
            height: shape.plane_rows,
            ..host
        };
        let (source, target) = match way {
            Way::ToHost => (device, host),
            Way::ToDevice => (host, device),
        };
        let copy = Copy3d {
            source,
            target,
            width: shape.width,
            height: shape.rows,
            depth: shape.planes,
        };
        // SAFETY: the structure of this call, which is read at once; the caller's promise for the memory.
        unsafe { planes(&raw const copy, stream) }
    }

    pub(super) fn code_name(&self, code: Code) -> Option<String> {
        let mut name = ptr::null();
        // SAFETY: a live local; the name is one of the library's.
        unsafe {
            (self.error_name)(code, &mut name);
            super::text_of(name)
        }
    }
}
