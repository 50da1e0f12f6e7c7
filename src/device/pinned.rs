//! Pages of this process that devices reach.

use super::driver::{Code, Driver, Home, Kind, code};

/// Bytes of the pieces in which memory is registered if the whole is refused.
const PIECE: usize = 256 << 20;

/// Registered for all contexts.
const PORTABLE: u32 = 1;

/// Memory that is registered with a driver, until it is dropped.
pub struct Registered {
    driver: &'static Driver,
    /// Address and length.
    pieces: Vec<(usize, usize)>,
}

impl Registered {
    /// Registers memory, in pieces if the driver refuses the whole. `None` if it refuses pieces, too. A context is current.
    ///
    /// # Safety
    /// The bytes at `address` stay mapped and in place until the result was dropped.
    pub unsafe fn new(
        driver: &'static Driver,
        address: *mut u8,
        length: usize,
    ) -> Option<Registered> {
        let mut registered = Registered {
            driver,
            pieces: Vec::new(),
        };
        // SAFETY: the caller's promise.
        match unsafe { registered.add(address, length) } {
            0 => return Some(registered),
            code::ALREADY_REGISTERED => {}
            _ if length > PIECE => {}
            _ => return None,
        }
        for at in (0..length).step_by(PIECE) {
            let length = PIECE.min(length - at);
            // SAFETY: a part of the caller's memory.
            match unsafe { registered.add(address.wrapping_add(at), length) } {
                // What somebody else has registered is fast, too.
                0 | code::ALREADY_REGISTERED => {}
                _ => return None,
            }
        }
        Some(registered)
    }

    /// # Safety
    /// As [`Registered::new`].
    unsafe fn add(&mut self, address: *mut u8, length: usize) -> Code {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.driver.calls.host_register)(address, length, PORTABLE) };
        if code == 0 {
            self.pieces.push((address.expose_provenance(), length));
        }
        code
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // A process that was forked has registered nothing.
        if !self.driver.is_usable() {
            return;
        }
        for (address, _) in &self.pieces {
            // A context that is gone has unregistered its memory. Its handle must not be used: the driver names one.
            let Ok(Some(known)) = self.driver.find(*address) else {
                continue;
            };
            let Home::Context(context) = known.home else {
                continue;
            };
            if known.kind != Kind::Pinned {
                continue;
            }
            if let Ok(_entered) = self.driver.enter(context) {
                let first = std::ptr::with_exposed_provenance_mut(*address);
                // SAFETY: registered by us, and mapped, by the promise to `new`.
                unsafe { (self.driver.calls.host_unregister)(first) };
            }
        }
    }
}

/// True if devices reach all of this memory of the host.
pub fn is_pinned(driver: &Driver, address: usize, length: usize) -> bool {
    let known = |at| matches!(driver.find(at), Ok(Some(known)) if known.kind == Kind::Pinned);
    length > 0 && known(address) && known(address + (length - 1))
}
