//! HIP, `libamdhip64.so`. A call of HIP starts it. So HSA below it, `libhsa-runtime64.so`, is asked first: it says that it
//! was not started, and what memory is. Its answers are the same in all versions, where the numbers of HIP's kinds of
//! memory are others before version 6.

use super::{Calls, Code, Driver, Home, Kind, Known, Names, Own, Rows, Way, code};
use crate::Result;
use crate::system::loaded::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ops::Range;
use std::ptr;

const NAMES: Names = [
    c"hipDeviceSynchronize",
    c"hipStreamCreateWithFlags",
    c"hipStreamDestroy",
    c"hipStreamSynchronize",
    c"hipMemcpyDtoHAsync",
    c"hipMemcpyHtoDAsync",
    c"hipHostMalloc",
    c"hipHostFree",
    c"hipHostRegister",
    c"hipHostUnregister",
];

/// Kinds of memory of HSA.
mod pointer {
    pub const UNKNOWN: u32 = 0;
    pub const LOCKED: u32 = 2;
    /// Addresses without memory.
    pub const RESERVED: u32 = 5;
}

/// The attribute of an agent that says what it is, and the value of a processor.
const AGENT_DEVICE: c_int = 17;
const PROCESSOR: c_uint = 0;

/// The attribute of an agent with properties of its memory.
const AGENT_MEMORY: c_int = 0xa114;

const TO_DEVICE: c_int = 1;
const TO_HOST: c_int = 2;

/// Handles up to this one are not of a device.
const LAST_DEFAULT_STREAM: usize = 2;

type Copy2d = unsafe extern "C" fn(
    *mut c_void,
    usize,
    *const c_void,
    usize,
    usize,
    usize,
    c_int,
    usize,
) -> Code;

/// The functions that CUDA does not have in this form.
pub(super) struct Hip {
    info: unsafe extern "C" fn(usize, *mut Info, usize, usize, usize) -> c_int,
    agent: unsafe extern "C" fn(u64, c_int, *mut c_void) -> c_int,
    attributes: unsafe extern "C" fn(*mut Attributes, usize) -> Code,
    get_device: unsafe extern "C" fn(*mut c_int) -> Code,
    set_device: unsafe extern "C" fn(c_int) -> Code,
    rows: Copy2d,
    planes: Option<unsafe extern "C" fn(*const Copy3d, usize) -> Code>,
    error_name: unsafe extern "C" fn(Code) -> *const c_char,
    peek_error: unsafe extern "C" fn() -> Code,
    take_error: unsafe extern "C" fn() -> Code,
    /// Since ROCm 5.6.
    stream_device: Option<unsafe extern "C" fn(usize, *mut c_int) -> Code>,
}

/// `hsa_amd_pointer_info_t` of its first version. A newer library fills as much as its size says.
#[repr(C)]
#[derive(Default)]
struct Info {
    size: u32,
    kind: u32,
    agent_base: usize,
    host_base: usize,
    bytes: usize,
    user_data: usize,
    owner: u64,
}

/// `hipPointerAttribute_t`, with room for what newer versions may add.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: c_int,
    device: c_int,
    device_pointer: usize,
    host_pointer: usize,
    is_managed: c_int,
    flags: c_uint,
    room: [u64; 12],
}

/// `hipMemcpy3DParms`. The structure of the call of the lower level, `hipDrvMemcpy3DAsync`, has other integers since
/// version 6.
#[repr(C)]
struct Copy3d {
    source_array: usize,
    source_position: [usize; 3],
    source: Pitched,
    target_array: usize,
    target_position: [usize; 3],
    target: Pitched,
    /// Bytes of a row, rows and planes.
    extent: [usize; 3],
    way: c_int,
    /// What versions before 3.5 had here.
    room: [u64; 32],
}

/// `hipPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pitched {
    first: *mut c_void,
    pitch: usize,
    row: usize,
    /// Rows from plane to plane.
    rows: usize,
}

/// What is to be set back: the device, and the last error that the program has not seen yet.
#[derive(Clone, Copy)]
pub(super) struct Before {
    device: c_int,
    error: Code,
}

/// HIP, if the process has loaded it and HSA.
pub(super) fn search() -> Option<Driver> {
    let library = Library::find(&[b"libamdhip64.so"])?;
    let below = Library::find(&[b"libhsa-runtime64.so"])?;
    let calls = Calls::of(&library, &NAMES)?;
    // SAFETY: the signatures of these functions in all versions.
    let hip = unsafe {
        Hip {
            info: below.function(c"hsa_amd_pointer_info")?,
            agent: below.function(c"hsa_agent_get_info")?,
            attributes: library.function(c"hipPointerGetAttributes")?,
            get_device: library.function(c"hipGetDevice")?,
            set_device: library.function(c"hipSetDevice")?,
            rows: library.function(c"hipMemcpy2DAsync")?,
            planes: library.function(c"hipMemcpy3DAsync"),
            error_name: library.function(c"hipGetErrorName")?,
            peek_error: library.function(c"hipPeekAtLastError")?,
            take_error: library.function(c"hipGetLastError")?,
            stream_device: library.function(c"hipStreamGetDevice"),
        }
    };
    Some(super::driver(Own::Hip(hip), calls))
}

impl Hip {
    pub(super) fn find(&self, driver: &Driver, address: usize) -> Result<Option<Known>> {
        let Some(info) = self.info(address) else {
            return Ok(None);
        };
        let before = self.last_error();
        let mut attributes = Attributes::default();
        // SAFETY: a live local; any address may be asked for.
        let code = unsafe { (self.attributes)(&mut attributes, address) };
        self.forget_error(before);
        let is_managed = code == 0 && attributes.is_managed != 0;
        let kind = match info.kind {
            _ if is_managed => Kind::Managed,
            pointer::UNKNOWN => return Ok(None),
            pointer::LOCKED => Kind::Pinned,
            _ if self.is_processor(info.owner) => Kind::Pinned,
            _ if self.shares_memory(info.owner) => Kind::Managed,
            _ => Kind::Device,
        };
        if code != 0 {
            return Err(driver.error("HIP", "ask for the device of memory", code));
        }
        let ranges = [info.agent_base, info.host_base].map(|base| range(base, info.bytes));
        Ok(Some(Known {
            kind,
            home: Home::Context(attributes.device as usize),
            device: attributes.device,
            range: ranges
                .into_iter()
                .flatten()
                .find(|range| range.contains(&address)),
        }))
    }

    /// What HSA knows of an address. `None` if it was not started, so that nobody has memory of a device.
    fn info(&self, address: usize) -> Option<Info> {
        let mut info = Info {
            size: size_of::<Info>() as u32,
            ..Info::default()
        };
        // SAFETY: a live local that has its size in it; no list of agents is asked for; any address may be asked for.
        let status = unsafe { (self.info)(address, &mut info, 0, 0, 0) };
        (status == 0 && info.kind != pointer::RESERVED).then_some(info)
    }

    pub(super) fn is_active(&self) -> bool {
        self.info(0).is_some()
    }

    fn is_processor(&self, agent: u64) -> bool {
        let mut device: c_uint = c_uint::MAX;
        // SAFETY: a live local of the size of this attribute; a bad agent is an error.
        let status = unsafe { (self.agent)(agent, AGENT_DEVICE, (&raw mut device).cast()) };
        status == 0 && device == PROCESSOR
    }

    /// True for a device on the chip of the processor, with one memory for both.
    fn shares_memory(&self, agent: u64) -> bool {
        let mut properties = [0_u8; 8];
        // SAFETY: as above. Libraries that do not know the attribute write nothing.
        let status = unsafe { (self.agent)(agent, AGENT_MEMORY, properties.as_mut_ptr().cast()) };
        // The value of the property in HSA's header, 1, is the number of its bit.
        status == 0 && properties[0] & 0b10 != 0
    }

    fn last_error(&self) -> Code {
        // SAFETY: no arguments; nothing changes.
        unsafe { (self.peek_error)() }
    }

    /// Forgets an error of our own calls, which the program would take for one of its own.
    fn forget_error(&self, before: Code) {
        if before == 0 && self.last_error() != 0 {
            // SAFETY: no arguments.
            unsafe { (self.take_error)() };
        }
    }

    pub(super) fn enter(&self, device: usize) -> std::result::Result<Before, Code> {
        let error = self.last_error();
        let mut current = 0;
        // SAFETY: a live local, and the number of a device.
        let code = unsafe {
            match (self.get_device)(&mut current) {
                0 if current as usize != device => (self.set_device)(device as c_int),
                code => code,
            }
        };
        if code == 0 {
            let device = current;
            Ok(Before { device, error })
        } else {
            self.forget_error(error);
            Err(code)
        }
    }

    pub(super) fn leave(&self, before: Before) {
        let mut current = -1;
        // SAFETY: a live local.
        let code = unsafe { (self.get_device)(&mut current) };
        if code != 0 || current != before.device {
            for _ in 0..2 {
                // SAFETY: the number of the device that was current. A call that has failed is tried once more.
                if unsafe { (self.set_device)(before.device) } == 0 {
                    break;
                }
            }
        }
        self.forget_error(before.error);
    }

    pub(super) fn has_stream(&self, device: usize, stream: usize) -> bool {
        if stream <= LAST_DEFAULT_STREAM {
            return true;
        }
        let mut of = -1;
        match self.stream_device {
            // SAFETY: a stream of the program, and a live local.
            Some(ask) => unsafe { ask(stream, &mut of) != 0 || of as usize == device },
            None => true,
        }
    }

    /// # Safety
    /// As [`Driver::copy_rows`].
    pub(super) unsafe fn copy_rows(&self, way: Way, rows: Rows, stream: usize) -> Code {
        let (width, height) = (rows.shape.width, rows.shape.rows);
        let device = ptr::with_exposed_provenance_mut::<c_void>(rows.device);
        let host = rows.host.cast::<c_void>();
        let pitch = rows.shape.pitch;
        // SAFETY: the caller's promise.
        unsafe {
            match way {
                Way::ToHost => {
                    (self.rows)(host, width, device, pitch, width, height, TO_HOST, stream)
                }
                Way::ToDevice => {
                    (self.rows)(device, pitch, host, width, width, height, TO_DEVICE, stream)
                }
            }
        }
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
        let host = Pitched {
            first: rows.host.cast(),
            pitch: shape.width,
            row: shape.width,
            rows: shape.rows,
        };
        let device = Pitched {
            first: ptr::with_exposed_provenance_mut(rows.device),
            pitch: shape.pitch,
            row: shape.pitch,
            rows: shape.plane_rows,
        };
        let (source, target, way) = match way {
            Way::ToHost => (device, host, TO_HOST),
            Way::ToDevice => (host, device, TO_DEVICE),
        };
        let copy = Copy3d {
            source_array: 0,
            source_position: [0; 3],
            source,
            target_array: 0,
            target_position: [0; 3],
            target,
            extent: [shape.width, shape.rows, shape.planes],
            way,
            room: [0; 32],
        };
        // SAFETY: the structure of this call, which is read at once; the caller's promise for the memory.
        unsafe { planes(&raw const copy, stream) }
    }

    pub(super) fn code_name(&self, code: Code) -> Option<String> {
        // SAFETY: an integer; the name is one of the library's.
        unsafe { super::text_of((self.error_name)(code)) }
    }
}

fn range(base: usize, bytes: usize) -> Option<Range<usize>> {
    (base != 0).then(|| base..base.saturating_add(bytes))
}
