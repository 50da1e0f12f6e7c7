//! A context of the program in which we copy, with streams of our own.

use super::driver::{Code, Driver, Entered, Home, Rows, Way};
use super::staging::{STREAMS, Staging};
use crate::Result;
use crate::system::sync::Mutex;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::{OnceLock, PoisonError};

/// The least bytes of a buffer.
const LEAST_STAGING: usize = 64 << 10;

/// Such a stream does not wait for the legacy default stream, nor that for it.
const NON_BLOCKING: u32 = 1;

/// A context, or a device of HIP.
pub struct Context {
    driver: &'static Driver,
    home: Home,
    /// The driver's handle.
    handle: usize,
    /// The device in words.
    name: String,
    streams: OnceLock<[usize; STREAMS]>,
    /// Pinned memory that was used before.
    staging: Mutex<Option<Staging>>,
}

impl Context {
    /// # Errors
    /// The device has no active primary context, which is asked for.
    pub fn new(driver: &'static Driver, home: Home, device: c_int) -> Result<Context> {
        let name = format!("{} device {device}", driver.name());
        let handle = match home {
            Home::Context(handle) => handle,
            Home::Primary(device) => driver
                .keep_primary(device)
                .map_err(|code| driver.error(&name, "use the context", code))?,
        };
        Ok(Context {
            driver,
            home,
            handle,
            name,
            streams: OnceLock::new(),
            staging: Mutex::new(None),
        })
    }

    pub fn is_of(&self, driver: &Driver, home: Home) -> bool {
        std::ptr::eq(self.driver, driver) && self.home == home
    }

    pub fn driver(&self) -> &'static Driver {
        self.driver
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// # Errors
    /// The code is not 0.
    pub fn check(&self, action: &str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.driver.error(&self.name, action, code)),
        }
    }

    /// Makes the context the current one of this thread, for as long as the result lives.
    ///
    /// # Errors
    /// The context is gone, or this process was forked.
    pub fn enter(&self) -> Result<Entered<'static>> {
        if !self.driver.is_usable() {
            return Err(self.driver.forked(&self.name));
        }
        self.driver
            .enter(self.handle)
            .map_err(|code| self.driver.error(&self.name, "use the context", code))
    }

    /// Waits until the program's work has ended: all of the context, or that of a stream.
    ///
    /// # Errors
    /// That work, or the driver, has failed.
    pub fn wait(&self, stream: Option<usize>) -> Result<()> {
        let _entered = self.enter()?;
        let stream = stream.filter(|stream| self.driver.has_stream(self.handle, *stream));
        // SAFETY: the context is current; a stream is what the program has named.
        let code = unsafe {
            match stream {
                Some(stream) => (self.driver.calls.stream_synchronize)(stream),
                None => (self.driver.calls.synchronize)(),
            }
        };
        self.check("wait for the work of the program", code)
    }

    /// Begins copies.
    ///
    /// # Errors
    /// The context is gone, or has no room for streams.
    pub fn copies(&self) -> Result<Copies<'_>> {
        let entered = self.enter()?;
        let streams = match self.streams.get() {
            Some(streams) => *streams,
            None => {
                let made = self.make_streams()?;
                *self.streams.get_or_init(|| made)
            }
        };
        Ok(Copies {
            context: self,
            streams,
            busy: [const { Cell::new(false) }; STREAMS],
            _entered: entered,
        })
    }

    fn make_streams(&self) -> Result<[usize; STREAMS]> {
        let mut streams = [0; STREAMS];
        for at in 0..STREAMS {
            // SAFETY: a live local; the context is current.
            let code = unsafe { (self.driver.calls.stream_create)(&mut streams[at], NON_BLOCKING) };
            if code != 0 {
                self.end_streams(&streams[..at]);
                self.check("make a stream", code)?;
            }
        }
        Ok(streams)
    }

    fn end_streams(&self, streams: &[usize]) {
        for stream in streams {
            // SAFETY: made by us in this context, and idle.
            unsafe { (self.driver.calls.stream_destroy)(*stream) };
        }
    }

    /// Memory of the host through which pieces go, that of before if it is large enough.
    pub fn take_staging(&self, size: usize) -> Staging {
        let mut kept = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.take() {
            Some(staging) if staging.size() >= size => staging,
            // Rounded up, so that slightly larger pieces find it large enough.
            _ => Staging::new(self.driver, size.max(LEAST_STAGING).next_power_of_two()),
        }
    }

    /// Keeps such memory for the next copies.
    pub fn give_staging(&self, staging: Staging) {
        *self.staging.lock().unwrap_or_else(PoisonError::into_inner) = Some(staging);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A process that was forked has nothing to give back.
        if self.driver.is_usable() {
            let kept =
                std::mem::take(&mut *self.staging.lock().unwrap_or_else(PoisonError::into_inner));
            if let Ok(_entered) = self.driver.enter(self.handle) {
                if let Some(streams) = self.streams.get() {
                    self.end_streams(streams);
                }
                drop(kept);
            } else if let Some(kept) = kept {
                kept.forget();
            }
            if let Home::Primary(device) = self.home {
                self.driver.release_primary(device);
            }
        }
    }
}

/// Copies under way between a device and memory of this process. Dropping it waits for them, also after an error.
pub struct Copies<'a> {
    context: &'a Context,
    streams: [usize; STREAMS],
    busy: [Cell<bool>; STREAMS],
    _entered: Entered<'static>,
}

impl Copies<'_> {
    /// Begins a copy of rows in one of the streams.
    ///
    /// # Errors
    /// The driver has refused it.
    ///
    /// # Safety
    /// The host's memory is there until that stream was waited for or this value was dropped, and nobody else uses it.
    pub unsafe fn start(&self, way: Way, rows: Rows, stream: usize) -> Result<()> {
        if rows.shape.bytes() == 0 {
            return Ok(());
        }
        self.busy[stream].set(true);
        // SAFETY: the caller's promise.
        let code = unsafe {
            self.context
                .driver
                .copy_rows(way, rows, self.streams[stream])
        };
        self.context.check(action(way), code)
    }

    /// Waits for the copies of a stream.
    ///
    /// # Errors
    /// A copy has failed.
    pub fn wait(&self, way: Way, stream: usize) -> Result<()> {
        if !self.busy[stream].get() {
            return Ok(());
        }
        // SAFETY: a stream of ours; its context is current.
        let code = unsafe { (self.context.driver.calls.stream_synchronize)(self.streams[stream]) };
        self.busy[stream].set(code != 0);
        self.context.check(action(way), code)
    }

    /// Waits for all copies.
    ///
    /// # Errors
    /// A copy has failed.
    pub fn finish(&self, way: Way) -> Result<()> {
        (0..STREAMS).try_for_each(|stream| self.wait(way, stream))
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        for stream in 0..STREAMS {
            // A wait that has failed is tried once more: nothing may arrive in memory after the call.
            let _ = self.wait(Way::ToHost, stream);
        }
    }
}

fn action(way: Way) -> &'static str {
    match way {
        Way::ToHost => "copy to the host",
        Way::ToDevice => "copy from the host",
    }
}
