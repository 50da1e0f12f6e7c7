//! Local times as people write and read them.

pub(super) use crate::job::clock::{now, parse};
use std::ffi::CStr;

/// A time as `asctime` has it: `Sat Nov 21 00:42:08 2026`, local. What no calendar has is shown
/// in seconds.
pub(super) fn show(seconds: i64) -> String {
    local(seconds).unwrap_or_else(|| format!("{seconds} seconds since 1970"))
}

fn local(seconds: i64) -> Option<String> {
    let seconds: libc::time_t = seconds;
    // SAFETY: `tm` is plain integers and a pointer, for which all zeros is a valid value.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both arguments are valid for the call, which keeps neither.
    if unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) }.is_null() {
        return None;
    }
    let mut text = [0u8; 64];
    // SAFETY: the buffer has the size that is given, the format ends with a NUL and asks for
    // nothing that depends on the locale, which this program never sets.
    let length = unsafe {
        libc::strftime(
            text.as_mut_ptr().cast(),
            text.len(),
            c"%a %b %e %H:%M:%S %Y".as_ptr(),
            &raw const parts,
        )
    };
    let written = CStr::from_bytes_until_nul(&text).ok()?;
    (length > 0).then(|| written.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn what_was_parsed_is_shown() {
        let shown = |text| show(parse(text).unwrap());
        // In winter and summer, so that no time zone's daylight saving hides a mistake.
        assert_eq!(shown("2026-11-21T00:42:08"), "Sat Nov 21 00:42:08 2026");
        assert_eq!(shown("2027-07-01 12:00"), "Thu Jul  1 12:00:00 2027");
        assert_eq!(shown("2028-02-29T23:59:59"), "Tue Feb 29 23:59:59 2028");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [
            "",
            "tomorrow",
            "2026-11-21",
            "T",
            "2026-11-21T",
            "2026-11-21T25:00:00",
            "2026-13-01T00:00:00",
            "2026-02-30T00:00:00",
            "2026-11-21T00:60:00",
            "2026-11-21T00:00:00:00",
            "2026-11-21-01T00:00:00",
            "26-11-21T00:00:00",
            "2026-11-21T00:00:0x",
            "+026-11-21T00:00:00",
            "2026-11-21T00:00:00 ",
            "٢٠٢٦-11-21T00:00:00",
            "1795221727",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn any_number_of_seconds_can_be_shown() {
        for seconds in [i64::MIN, -1, 0, 1 << 40, i64::MAX] {
            assert!(!show(seconds).is_empty());
        }
        assert!(show(i64::MAX).ends_with("seconds since 1970"));
    }
}
