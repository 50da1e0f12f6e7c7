//! Local time, as the index, the log and schedulers show it.

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

/// Seconds since the epoch.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX))
}

/// `YYYY-MM-DDTHH:MM:SS` of the local time zone (`TZ`) as seconds since the epoch. A blank may
/// stand for the `T`, and the seconds may be left out.
///
/// # Errors
/// What is wrong, in words.
pub fn parse(text: &str) -> Result<i64, String> {
    let fields = fields(text)
        .ok_or("write the local time as YYYY-MM-DDTHH:MM:SS, for example 2026-11-21T18:30:00")?;
    let [year, month, day, hour, minute, second] = fields;
    // SAFETY: `tm` is plain integers and a pointer, for which all zeros is a valid value.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day);
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second);
    // Whether it is summer time: let the system find out.
    parts.tm_isdst = -1;
    // SAFETY: the argument is valid for the call and not kept.
    let seconds = unsafe { libc::mktime(&raw mut parts) };
    let same = (parts.tm_year, parts.tm_mon, parts.tm_mday) == (year - 1900, month - 1, day)
        && (parts.tm_hour, parts.tm_min, parts.tm_sec) == (hour, minute, second);
    // The system moves what the calendar does not have, such as 30 February.
    same.then_some(seconds)
        .ok_or_else(|| "there is no such time".to_string())
}

/// Year, month, day, hour, minute and second, each of the right number of digits.
fn fields(text: &str) -> Option<[i32; 6]> {
    let (date, clock) = text.split_once(['T', ' '])?;
    let number = |text: Option<&str>, digits: usize| {
        let text = text.filter(|t| t.len() == digits && t.bytes().all(|b| b.is_ascii_digit()))?;
        text.parse().ok()
    };
    let (mut date, mut clock) = (date.split('-'), clock.split(':'));
    let found = [
        number(date.next(), 4)?,
        number(date.next(), 2)?,
        number(date.next(), 2)?,
        number(clock.next(), 2)?,
        number(clock.next(), 2)?,
        number(clock.next().or(Some("00")), 2)?,
    ];
    (date.next().is_none() && clock.next().is_none()).then_some(found)
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
