//! Local time, as the index, the log, `scr halt` and schedulers write it.

use crate::system::time::SystemTime;
use crate::system::time::UNIX_EPOCH;
use jiff::{Timestamp, Zoned, civil::DateTime, tz::TimeZone};
use std::time::Duration;

/// `YYYY-MM-DDTHH:MM:SS` in the local time zone (`TZ`).
pub fn local_time(at: SystemTime) -> String {
    let local = local(seconds(at)).unwrap_or_default();
    local.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// This many seconds after the epoch as [`local_time`] writes it. A time outside of the calendar's years becomes the
/// time of the epoch.
pub fn local_time_of(seconds: i64) -> String {
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    local_time(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH))
}

/// The local time as asctime(3) writes it, without a newline: `Sat Nov 21 00:42:08 2026`. A time
/// outside of the calendar's years is shown in seconds.
pub fn asctime(seconds: i64) -> String {
    match local(seconds) {
        Some(time) => time.strftime("%a %b %e %H:%M:%S %Y").to_string(),
        None => format!("{seconds} seconds since 1970"),
    }
}

/// The local time now as syslog writes it: `Nov 21 00:42:08`.
pub fn syslog_time() -> String {
    let local = local(now()).unwrap_or_default();
    local.strftime("%b %e %H:%M:%S").to_string()
}

fn local(seconds: i64) -> Option<Zoned> {
    let at = Timestamp::from_second(seconds).ok()?;
    Some(at.to_zoned(TimeZone::system()))
}

fn seconds(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// Seconds since the epoch.
pub fn now() -> i64 {
    seconds(SystemTime::now())
}

/// Thousandths of a second since the epoch.
pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Reads `YYYY-MM-DDTHH:MM:SS` of the local time zone (`TZ`) as seconds since the epoch. A blank
/// may replace the `T`, and the seconds may be left out.
///
/// # Errors
/// The fault, in words.
pub fn parse(text: &str) -> Result<i64, String> {
    let [year, month, day, hour, minute, second] = fields(text)
        .ok_or("write the local time as YYYY-MM-DDTHH:MM:SS, for example 2026-11-21T18:30:00")?;
    let byte = |field| i8::try_from(field).ok();
    let civil = || {
        DateTime::new(
            year,
            byte(month)?,
            byte(day)?,
            byte(hour)?,
            byte(minute)?,
            byte(second)?,
            0,
        )
        .ok()
    };
    let local = civil().and_then(|civil| {
        let zoned = civil.to_zoned(TimeZone::system()).ok()?;
        // A time that the clock skips in spring would be moved to the next hour.
        (zoned.datetime() == civil).then(|| zoned.timestamp().as_second())
    });
    local.ok_or_else(|| "there is no such time".to_string())
}

/// Year, month, day, hour, minute and second, each of the right number of digits.
fn fields(text: &str) -> Option<[i16; 6]> {
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
    use super::*;
    use std::time::Duration;

    #[test]
    fn has_the_shape_of_the_index() {
        // Any time zone: the date may differ by a day, the shape and the seconds may not.
        let text = local_time(UNIX_EPOCH + Duration::from_secs(1_795_221_727));
        assert!(text.starts_with("2026-11-2"), "{text}");
        assert!(text.ends_with(":07"), "{text}");
        assert_eq!(text.len(), 19);
    }

    #[test]
    fn the_system_shows_the_same_time() {
        for seconds in [0, 1_795_221_727, 1_814_000_000] {
            let mut date = std::process::Command::new("date");
            let date = date.args(["+%Y-%m-%dT%H:%M:%S", "-d", &format!("@{seconds}")]);
            let system = String::from_utf8(date.output().unwrap().stdout).unwrap();
            let ours = local_time(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(ours, system.trim());
        }
    }

    #[test]
    fn what_was_parsed_is_shown() {
        let shown = |text| asctime(parse(text).unwrap());
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
            assert!(!asctime(seconds).is_empty());
        }
        assert!(asctime(i64::MAX).ends_with("seconds since 1970"));
    }
}
