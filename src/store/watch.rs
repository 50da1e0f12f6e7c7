//! Progress of work that moves bytes.

/// Learns how far work has come that moves bytes.
pub trait Watch {
    /// Called when `bytes` more bytes are to be moved.
    fn expect(&self, bytes: u64);
    /// Called when `bytes` more bytes were moved.
    fn moved(&self, bytes: u64);
}

/// Nobody watches.
impl Watch for () {
    fn expect(&self, _: u64) {}
    fn moved(&self, _: u64) {}
}
