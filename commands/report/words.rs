//! Numbers for people.

use scr_engine::log::local_time;
use scr_engine::text;

/// A time: `0.042 s`, `3.2 s`, `12 min 5 s`, `6 h 12 min`, `3 d 4 h`.
pub(super) fn duration(seconds: f64) -> String {
    // The smaller unit is rounded, and 60 of them make one larger unit.
    let two = |unit: f64, large: &str, small: &str, parts: f64| {
        let all = (seconds * parts / unit).round();
        let (first, second) = ((all / parts).floor(), all % parts);
        if second > 0.0 {
            format!("{first:.0} {large} {second:.0} {small}")
        } else {
            format!("{first:.0} {large}")
        }
    };
    match seconds {
        0.0 => "0 s".to_string(),
        seconds if seconds < 0.9995 => format!("{seconds:.3} s"),
        seconds if seconds < 59.95 => format!("{seconds:.1} s"),
        seconds if seconds < 3599.5 => two(60.0, "min", "s", 60.0),
        seconds if seconds < 86370.0 => two(3600.0, "h", "min", 60.0),
        seconds if seconds < 86_400.0 * 99.5 => two(86400.0, "d", "h", 24.0),
        _ => format!("{:.0} d", seconds / 86_400.0),
    }
}

/// A share of 1 in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A rate, bytes a second.
pub(super) fn rate(rate: f64) -> String {
    format!("{}/s", text::bytes(rate as u64))
}

/// A size in bytes.
pub(super) fn bytes(size: f64) -> String {
    text::bytes(size as u64)
}

/// A time of the clock, from seconds since 1970.
pub(super) fn clock(time: f64) -> String {
    local_time(time as i64).replace('T', " ")
}

/// `show` of a value, or a dash.
pub(super) fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or("-".to_string(), show)
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_two_units_and_carry() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (0.042, "0.042 s"),
            (0.9999, "1.0 s"),
            (59.94, "59.9 s"),
            (59.96, "1 min"),
            (725.0, "12 min 5 s"),
            (3599.6, "1 h"),
            (22_320.0, "6 h 12 min"),
            (86_399.0, "1 d"),
            (273_600.0, "3 d 4 h"),
            (8_640_000.0, "100 d"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
