//! How fast memory of devices is copied here. For `scr doctor`, a process that may start a driver.

use super::{Devices, Place, Remote};
use crate::system::loaded::Library;
use crate::system::time::Instant;
use crate::{Error, Result};
use std::ffi::{c_char, c_int};

/// Bytes that are copied.
const SIZE: usize = 256 << 20;

/// The bus between the processor and the first device.
#[derive(Debug, Clone, PartialEq)]
pub struct Bus {
    /// Number of devices.
    pub devices: c_int,
    /// The driver's name of the first one.
    pub name: String,
    /// False if the driver refuses to register memory.
    pub is_registered: bool,
    /// Bytes that arrive in a second.
    pub rate: f64,
}

/// Calls of a program that uses CUDA.
struct Program {
    init: unsafe extern "C" fn(u32) -> c_int,
    count: unsafe extern "C" fn(*mut c_int) -> c_int,
    name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
    retain: unsafe extern "C" fn(*mut usize, c_int) -> c_int,
    release: unsafe extern "C" fn(c_int) -> c_int,
    set_current: unsafe extern "C" fn(usize) -> c_int,
    alloc: unsafe extern "C" fn(*mut usize, usize) -> c_int,
}

/// Starts CUDA, and copies memory of its first device to the processor's, as a checkpoint does. `None` if this node has no
/// CUDA.
///
/// # Errors
/// CUDA has failed, or finds no device.
pub fn measure() -> Result<Option<Bus>> {
    let Some(library) = Library::load(c"libcuda.so.1") else {
        return Ok(None);
    };
    let Some(program) = Program::of(&library) else {
        return Err(failed("use its library", 0));
    };
    let (mut devices, mut context) = (0, 0);
    // SAFETY: live locals, and numbers of devices that the driver has counted.
    unsafe {
        check("start", (program.init)(0))?;
        check("count devices", (program.count)(&mut devices))?;
        check("make a context", (program.retain)(&mut context, 0))?;
    }
    let bus = program.copy(devices, context);
    // SAFETY: retained above. With it goes the memory.
    unsafe { (program.release)(0) };
    bus.map(Some)
}

impl Program {
    fn of(library: &Library) -> Option<Program> {
        // SAFETY: the signatures of these functions.
        unsafe {
            Some(Program {
                init: library.function(c"cuInit")?,
                count: library.function(c"cuDeviceGetCount")?,
                name: library.function(c"cuDeviceGetName")?,
                retain: library.function(c"cuDevicePrimaryCtxRetain")?,
                release: library.function(c"cuDevicePrimaryCtxRelease_v2")?,
                set_current: library.function(c"cuCtxSetCurrent")?,
                alloc: library.function(c"cuMemAlloc_v2")?,
            })
        }
    }

    fn copy(&self, devices: c_int, context: usize) -> Result<Bus> {
        let (mut name, mut address) = ([0_u8; 128], 0);
        // SAFETY: live locals with their sizes, and the context that is retained.
        unsafe {
            let size = name.len() as c_int - 1;
            check(
                "name a device",
                (self.name)(name.as_mut_ptr().cast(), size, 0),
            )?;
            check("use a context", (self.set_current)(context))?;
            check("have memory", (self.alloc)(&mut address, SIZE))?;
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut all = Devices::find();
        let Place::Device(memory) = all.locate(address)? else {
            return Err(failed("find its memory", 0));
        };
        let mut host = vec![0_u8; SIZE];
        // SAFETY: the memory is dropped after the pin, which was made later.
        let pin = unsafe { memory.pin(host.as_mut_ptr(), SIZE) };
        let mut copy = || memory.copy_to(0, &mut host, SIZE / 4, &mut |_| Ok(()));
        // The first copy makes streams.
        copy()?;
        let begin = Instant::now();
        copy()?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok(Bus {
            devices,
            name: String::from_utf8_lossy(name).into_owned(),
            is_registered: pin.is_some(),
            rate: SIZE as f64 / seconds.max(1e-9),
        })
    }
}

fn check(action: &str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(failed(action, code)),
    }
}

fn failed(action: &str, code: c_int) -> Error {
    Error::device("CUDA", action, format!("error {code}"))
}
