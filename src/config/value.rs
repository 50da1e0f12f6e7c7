//! Strict conversion of text to typed values. Text that cannot be understood is an error.

/// The values that a parameter allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueKind {
    /// `0` or `1`; also true/false, yes/no, on/off in any case.
    Bool,
    /// Decimal integer from the first to the second number.
    Int(i64, i64),
    /// An integer from the first to the second number, or this word in any case.
    IntOr(i64, i64, &'static str),
    /// `number[k|m|g|t|p|e][b]`, powers of 1024, from the first to the second number of bytes.
    Bytes(u64, u64),
    /// Percentage from 0 to 100, fraction allowed.
    Percent,
    /// A path. Relative ones are taken from the current directory of rank 0.
    Path,
    /// Absolute paths with colons between, in which no variables are replaced.
    Directories,
    /// Any text.
    Text,
    /// Text that becomes one component of a path: no `/`, neither `.` nor `..`.
    Name,
    /// A word of this list, in upper or lower case.
    Choice(&'static [&'static str]),
    /// Some of these words, in any case, with blanks or commas between.
    Words(&'static [&'static str]),
    /// Numbers of processors and ranges of them, with commas between, such as `0,4-7`.
    Cores,
}

/// A value that fits its [`ValueKind`].
#[derive(Debug, Clone, PartialEq)]
pub enum Typed {
    /// A value of [`ValueKind::Bool`].
    Bool(bool),
    /// A value of [`ValueKind::Int`], or of [`ValueKind::IntOr`] if it is not the word.
    Int(i64),
    /// A value of [`ValueKind::Bytes`].
    Bytes(u64),
    /// A value of [`ValueKind::Percent`].
    Percent(f64),
    /// A value of [`ValueKind::Path`], [`ValueKind::Text`] or [`ValueKind::Name`]. Words of [`ValueKind::Choice`],
    /// [`ValueKind::Words`] and [`ValueKind::IntOr`] are spelled as in the table, with single blanks between.
    Text(String),
}

impl ValueKind {
    /// The allowed values, in words that fit after "must be".
    pub fn allowed(&self) -> String {
        match self {
            ValueKind::Bool => "0 or 1".into(),
            ValueKind::Int(low, high) => format!("an integer from {low} to {high}"),
            ValueKind::IntOr(low, high, word) => {
                format!("an integer from {low} to {high}, or {word}")
            }
            ValueKind::Bytes(low, high) => {
                format!("a size from {low} to {high} bytes, such as 512, 64k or 1.5m")
            }
            ValueKind::Percent => "a percentage from 0 to 100".into(),
            ValueKind::Path => "a path".into(),
            ValueKind::Directories => {
                "absolute paths with `:` between, and without variables, which users could set"
                    .into()
            }
            ValueKind::Text => "text".into(),
            ValueKind::Name => "a name without `/` that is neither `.` nor `..`".into(),
            ValueKind::Choice(words) => format!("one of {}", words.join(", ")),
            ValueKind::Words(words) => format!("one or more of {}", words.join(", ")),
            ValueKind::Cores => "a list of processors from 0 to 1023, such as 0,4-7".into(),
        }
    }

    /// False if `$NAME` in a value is an error.
    pub fn has_variables(&self) -> bool {
        !matches!(self, ValueKind::Directories)
    }

    /// Converts `text`; `None` if it is not as [`ValueKind::allowed`] says.
    pub fn parse(&self, text: &str) -> Option<Typed> {
        let trimmed = text.trim();
        match *self {
            ValueKind::Bool => boolean(trimmed).map(Typed::Bool),
            ValueKind::Int(low, high) => integer(trimmed)
                .filter(|n| (low..=high).contains(n))
                .map(Typed::Int),
            ValueKind::IntOr(_, _, word) if trimmed.eq_ignore_ascii_case(word) => {
                Some(Typed::Text(word.to_string()))
            }
            ValueKind::IntOr(low, high, _) => ValueKind::Int(low, high).parse(trimmed),
            ValueKind::Bytes(low, high) => bytes(trimmed)
                .filter(|n| (low..=high).contains(n))
                .map(Typed::Bytes),
            ValueKind::Percent => percent(trimmed).map(Typed::Percent),
            ValueKind::Path => clean(text).then(|| Typed::Text(text.to_string())),
            ValueKind::Directories => {
                let good =
                    |path: &str| path.starts_with('/') && !path.split('/').any(|c| c == "..");
                let all = clean(text) && !text.contains('$') && text.split(':').all(good);
                all.then(|| Typed::Text(text.to_string()))
            }
            ValueKind::Text => (!text.contains('\0')).then(|| Typed::Text(text.to_string())),
            ValueKind::Name => (clean(text) && !text.contains('/') && text != "." && text != "..")
                .then(|| Typed::Text(text.to_string())),
            ValueKind::Choice(words) => {
                word(words, trimmed).map(|word| Typed::Text(word.to_string()))
            }
            ValueKind::Cores => cores(trimmed).map(|_| Typed::Text(trimmed.to_string())),
            ValueKind::Words(words) => {
                let given = text.split([',', ' ', '\t']).filter(|w| !w.is_empty());
                let known: Option<Vec<&str>> = given.map(|given| word(words, given)).collect();
                known
                    .filter(|known| !known.is_empty())
                    .map(|known| Typed::Text(known.join(" ")))
            }
        }
    }
}

/// The numbers in a list of processors; `None` if it is not one.
pub(super) fn cores(text: &str) -> Option<Vec<usize>> {
    /// The processors that Linux can name in one set.
    const MOST: usize = 1024;
    let number = |text: &str| {
        let number = digits(text).then(|| text.parse().ok()).flatten();
        number.filter(|number: &usize| *number < MOST)
    };
    let mut all = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        all.extend(first..=last);
    }
    (!all.is_empty()).then_some(all)
}

fn word(words: &'static [&'static str], text: &str) -> Option<&'static str> {
    let mut words = words.iter().copied();
    words.find(|word| word.eq_ignore_ascii_case(text))
}

fn clean(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn integer(text: &str) -> Option<i64> {
    digits(text.strip_prefix('-').unwrap_or(text))
        .then(|| text.parse().ok())
        .flatten()
}

/// A count of bytes, exact: the fraction is applied in integers and rounded down.
fn bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let text = text.strip_suffix('b').unwrap_or(&text);
    let (number, shift) = ["k", "m", "g", "t", "p", "e"]
        .iter()
        .zip(1u32..)
        .find_map(|(suffix, power)| Some((text.strip_suffix(suffix)?, 10 * power)))
        .unwrap_or((text, 0));
    let number = number.trim_end();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // 18 digits of fraction keep the product below 2^128 and are finer than a byte of 1e.
    if !digits(whole) || !digits(fraction) || fraction.len() > 18 {
        return None;
    }
    let unit = 1u128 << shift;
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = fraction.parse::<u128>().ok()?.checked_mul(unit)? / scale;
    let total = whole
        .parse::<u128>()
        .ok()?
        .checked_mul(unit)?
        .checked_add(part)?;
    u64::try_from(total).ok()
}

fn percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = if plain {
        number.parse().ok()?
    } else {
        return None;
    };
    (0.0..=100.0).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans() {
        for yes in ["1", "true", "YES", "On", " 1 "] {
            assert_eq!(ValueKind::Bool.parse(yes), Some(Typed::Bool(true)), "{yes}");
        }
        for no in ["0", "FALSE", "no", "off"] {
            assert_eq!(ValueKind::Bool.parse(no), Some(Typed::Bool(false)), "{no}");
        }
        for bad in ["", "2", "01", "-1", "y", "enabled", "1 2"] {
            assert_eq!(ValueKind::Bool.parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn processors() {
        assert_eq!(cores("0,4-7"), Some(vec![0, 4, 5, 6, 7]));
        assert_eq!(cores("3, 5"), Some(vec![3, 5]));
        for bad in ["", ",", "1-", "-1", "a", "1024", "1-2000", "7-4", "1--2"] {
            assert_eq!(ValueKind::Cores.parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn integers() {
        let kind = ValueKind::Int(-1, 100);
        for (text, value) in [("0", 0), ("100", 100), ("-1", -1), ("007", 7), (" 5\t", 5)] {
            assert_eq!(kind.parse(text), Some(Typed::Int(value)), "{text}");
        }
        for bad in [
            "",
            "-",
            "101",
            "-2",
            "1.0",
            "1e1",
            "+1",
            "0x1",
            "9999999999999999999999",
            "1k",
        ] {
            assert_eq!(kind.parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn integers_or_a_word() {
        let kind = ValueKind::IntOr(0, 100, "auto");
        assert_eq!(kind.parse(" 007 "), Some(Typed::Int(7)));
        for text in ["auto", "AUTO", " Auto"] {
            assert_eq!(kind.parse(text), Some(Typed::Text("auto".into())), "{text}");
        }
        for bad in ["", "101", "-1", "aut", "autos", "auto 5", "5 auto"] {
            assert_eq!(kind.parse(bad), None, "{bad}");
        }
        assert_eq!(kind.allowed(), "an integer from 0 to 100, or auto");
    }

    #[test]
    fn byte_counts() {
        let kind = ValueKind::Bytes(0, u64::MAX);
        for (text, value) in [
            ("0", 0),
            ("131072", 131_072),
            ("1k", 1024),
            ("1KB", 1024),
            ("1.5k", 1536),
            ("0.5 m", 524_288),
            ("200MB", 200 << 20),
            ("3g", 3 << 30),
            ("2t", 2 << 40),
            ("1p", 1 << 50),
            ("15e", 15 << 60),
            ("7b", 7),
            ("0.0009765625k", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(kind.parse(text), Some(Typed::Bytes(value)), "{text}");
        }
        for bad in [
            "",
            "k",
            "b",
            "-1",
            "1.k",
            ".5k",
            "1..5",
            "1kk",
            "1bk",
            "16e",
            "1x",
            "1,5k",
            "1e3",
            "18446744073709551616",
            "99999999999999999999999999999999999999999999e",
            "1.1234567890123456789",
        ] {
            assert_eq!(kind.parse(bad), None, "{bad}");
        }
        assert_eq!(ValueKind::Bytes(1, 1024).parse("0"), None);
        assert_eq!(ValueKind::Bytes(1, 1024).parse("1025"), None);
    }

    #[test]
    fn percentages() {
        assert_eq!(ValueKind::Percent.parse("2.5"), Some(Typed::Percent(2.5)));
        assert_eq!(ValueKind::Percent.parse("5%"), Some(Typed::Percent(5.0)));
        assert_eq!(ValueKind::Percent.parse("100"), Some(Typed::Percent(100.0)));
        for bad in [
            "",
            ".",
            "%",
            "-1",
            "100.1",
            "nan",
            "inf",
            "1e1",
            "5 per cent",
        ] {
            assert_eq!(ValueKind::Percent.parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn texts() {
        let text = |t: &str| Some(Typed::Text(t.to_string()));
        assert_eq!(ValueKind::Text.parse(""), text(""));
        assert_eq!(ValueKind::Path.parse("/a b"), text("/a b"));
        assert_eq!(ValueKind::Path.parse(""), None);
        assert_eq!(ValueKind::Path.parse("/a\0b"), None);
        assert_eq!(ValueKind::Name.parse("job.1"), text("job.1"));
        for bad in ["", ".", "..", "a/b", "/"] {
            assert_eq!(ValueKind::Name.parse(bad), None, "{bad}");
        }
        assert_eq!(
            ValueKind::Choice(&["SYNC", "PTHREAD"]).parse("sync"),
            text("SYNC")
        );
        assert_eq!(ValueKind::Choice(&["SYNC"]).parse("SYNCX"), None);
        let words = ValueKind::Words(&["USR1", "TERM"]);
        assert_eq!(words.parse(" usr1,\tTERM, "), text("USR1 TERM"));
        for bad in ["", ",", "USR1;TERM", "SIGTERM"] {
            assert_eq!(words.parse(bad), None, "{bad}");
        }
    }
}
