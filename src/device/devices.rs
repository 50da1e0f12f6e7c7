//! Where memory is.

use super::Located;
use super::context::Context;
use super::driver::{self, Driver, Home, Kind, Known};
use super::offload::Offload;
use crate::system::loaded::is_readable;
use crate::{Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// The devices of the process, as one call of the program's routine sees them. It has a few streams of its own in each
/// context that the fields of the call have been in, and pinned memory where that was needed.
pub struct Devices {
    drivers: Vec<&'static Driver>,
    contexts: Vec<Arc<Context>>,
    stream: Option<usize>,
    /// Contexts of devices that reach all memory of the host; looked for when memory of the host is first seen.
    reaching: Option<Vec<Arc<Context>>>,
    /// What keeps copies of the host's memory on devices; looked for when it is first asked for.
    offload: Option<Vec<Offload>>,
}

/// The place of memory.
pub enum Place {
    /// The processor reads and writes it. Work of a device on it, if any was seen, has ended.
    Host,
    /// A driver copies it.
    Device(Located),
}

impl Devices {
    /// Looks for libraries of devices among those that the process has loaded. Without one this takes about a
    /// microsecond, and [`Devices::locate`] takes nothing.
    pub fn find() -> Devices {
        Devices {
            drivers: driver::drivers().collect(),
            contexts: Vec::new(),
            stream: None,
            reaching: None,
            offload: None,
        }
    }

    /// True if no library of a device is in the process, so that all memory is the host's.
    pub fn is_empty(&self) -> bool {
        self.drivers.is_empty()
    }

    /// Names the stream (a `cudaStream_t` or `hipStream_t`) that is waited for in place of all work in the context of
    /// the memory. Memory of another context still waits for that context. `None` is all work again.
    pub fn set_stream(&mut self, stream: Option<usize>) {
        self.stream = stream;
    }

    /// The place of the byte at an address. Host memory that a driver knows is ready when this returns: work of its
    /// device has ended.
    ///
    /// # Errors
    /// The driver has failed, or neither the processor nor a driver knows memory at this address.
    pub fn locate(&mut self, address: usize) -> Result<Place> {
        let mut forked = None;
        for driver in self.drivers.clone() {
            if !driver.is_usable() {
                forked = Some(driver);
            } else if let Some(known) = driver.find(address)? {
                return self.known(driver, known, address);
            }
        }
        if self.drivers.is_empty() {
            return Ok(Place::Host);
        }
        if is_readable(address) {
            // Kernels may work on ordinary memory, too.
            for context in self.reaching()? {
                context.wait(self.stream)?;
            }
            return Ok(Place::Host);
        }
        Err(match forked {
            Some(driver) => driver.forked(driver.name()),
            None => Error::device(
                self.drivers[0].name(),
                format!("find memory at {address:#x}"),
                format!(
                    "{}: neither a device nor the processor has memory there; it was freed, or the address is past its end",
                    self.drivers[0].code_name(driver::code::INVALID_VALUE)
                ),
            ),
        })
    }

    /// The contexts of devices that reach all memory of the host, as far as they are active.
    fn reaching(&mut self) -> Result<Vec<Arc<Context>>> {
        if let Some(known) = &self.reaching {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        for driver in self
            .drivers
            .clone()
            .into_iter()
            .filter(|driver| driver.is_usable())
        {
            for home in driver.reaching_all()? {
                found.push(self.context(driver, home)?);
            }
        }
        self.reaching = Some(found.clone());
        Ok(found)
    }

    /// The language by whose directives memory of the host has a copy on a device: "OpenACC" or "OpenMP". The device may
    /// have newer values then. Nothing is started by asking: `None` if no device is in use.
    pub fn copy_of_host(&mut self, address: usize, length: usize) -> Option<&'static str> {
        if length == 0 || !self.drivers.iter().any(|driver| driver.is_active()) {
            return None;
        }
        let offload = self.offload.get_or_insert_with(Offload::loaded);
        // The program may have parts of an array on the device.
        let last = length - 1;
        let places = [0, last / 2, last].map(|at| address.saturating_add(at));
        let mut all = offload.iter();
        all.find_map(|one| places.into_iter().find_map(|place| one.copy_of(place)))
    }

    fn known(&mut self, driver: &'static Driver, known: Known, address: usize) -> Result<Place> {
        let context = self.context(driver, (known.home, known.device))?;
        let located = Located::new(context, &known, address, self.stream);
        if known.kind == Kind::Pinned {
            // A copy of the program may still fill it.
            located.wait()?;
            return Ok(Place::Host);
        }
        Ok(Place::Device(located))
    }

    /// What we have in a context, which is of a device.
    fn context(
        &mut self,
        driver: &'static Driver,
        (home, device): (Home, c_int),
    ) -> Result<Arc<Context>> {
        let same = |context: &&Arc<Context>| context.is_of(driver, home);
        if let Some(context) = self.contexts.iter().find(same) {
            return Ok(Arc::clone(context));
        }
        let context = Arc::new(Context::new(driver, home, device)?);
        self.contexts.push(Arc::clone(&context));
        Ok(context)
    }
}
