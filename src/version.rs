//! The version of the SCR interface, and our own release.

use std::ffi::CStr;

/// The SCR interface that the library offers, as `SCR_Get_version` returns it.
pub const INTERFACE_C: &CStr = c"v3.1.0";

/// [`INTERFACE_C`] as a string.
pub const INTERFACE: &str = match INTERFACE_C.to_str() {
    Ok(text) => text,
    Err(_) => "",
};

/// Our own release number, `SCR_RS_VERSION` in the header.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");
