//! Memory of the host through which pieces go to and from a device.

use super::driver::Driver;

/// The streams of a context: while what one has brought is looked at, the other one copies.
pub const STREAMS: usize = 2;

/// One buffer for each stream.
pub struct Staging {
    driver: &'static Driver,
    size: usize,
    memory: Memory,
}

enum Memory {
    /// Of the driver: the device copies at full speed.
    Pinned(*mut u8),
    /// Where that was refused. The bytes of both buffers.
    Pageable(Vec<u8>),
}

// SAFETY: the memory is not bound to a thread.
unsafe impl Send for Staging {}

/// Pinned for all contexts.
const PORTABLE: u32 = 1;

impl Staging {
    /// Buffers of `size` bytes. A context is current.
    pub fn new(driver: &'static Driver, size: usize) -> Staging {
        let all = size.saturating_mul(STREAMS);
        let mut pinned = std::ptr::null_mut();
        // SAFETY: a live local.
        let code = unsafe { (driver.calls.host_alloc)(&mut pinned, all, PORTABLE) };
        let memory = if code == 0 && !pinned.is_null() {
            Memory::Pinned(pinned)
        } else {
            Memory::Pageable(vec![0; all])
        };
        Staging {
            driver,
            size,
            memory,
        }
    }

    /// Bytes of each buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The buffer of a stream: [`Staging::size`] bytes.
    pub fn buffer(&mut self, stream: usize) -> *mut u8 {
        let first = match &mut self.memory {
            Memory::Pinned(first) => *first,
            Memory::Pageable(bytes) => bytes.as_mut_ptr(),
        };
        first.wrapping_add(stream % STREAMS * self.size)
    }

    /// Leaves the memory as it is, for a driver that cannot take it back.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Memory::Pinned(first) = self.memory
            && self.driver.is_usable()
        {
            // SAFETY: allocated by this driver; no copy uses it any more.
            unsafe { (self.driver.calls.host_free)(first) };
        }
    }
}
