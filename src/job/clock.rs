//! Local time, as the index and the log show it.

use std::time::{SystemTime, UNIX_EPOCH};

/// `YYYY-MM-DDTHH:MM:SS` in the local time zone (`TZ`).
pub fn local_time(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()) as libc::time_t;
    // SAFETY: `tm` is plain integers and a pointer, for which all zeros is a valid value.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both arguments are valid for the call; localtime_r keeps neither.
    if unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) }.is_null() {
        return String::from("1970-01-01T00:00:00");
    }
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::local_time;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn has_the_shape_of_the_index() {
        // Any time zone: the date may differ by a day, the shape and the seconds may not.
        let text = local_time(UNIX_EPOCH + Duration::from_secs(1_795_221_727));
        assert!(text.starts_with("2026-11-2"), "{text}");
        assert!(text.ends_with(":07"), "{text}");
        assert_eq!(text.len(), 19);
    }
}
