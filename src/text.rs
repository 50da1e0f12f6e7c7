//! Text for people: untrusted text made safe to print, words quoted for a shell, plurals, amounts.
//!
//! Names in files, paths and values are chosen by others. When printed, they must not control the
//! terminal or look like another line. So control characters, and characters that only change how
//! others are shown (bidirectional marks, characters without width), become `\x` and two
//! hexadecimal digits for each byte. [`Error`](crate::Error), [`Message`](crate::events::Message) and
//! the commands escape their whole text, so the code that makes a message does not have to.
//! Escaping a second time changes nothing.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes a text of one line.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(is_hidden) {
        Cow::Owned(escaped_bytes(text.as_bytes()))
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes each line of a text and keeps the newlines. Only for texts of our own in which untrusted
/// parts are escaped already.
pub fn escaped_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(escaped).collect();
    lines.join("\n")
}

/// Escapes bytes as a text of one line, also bytes that are not UTF-8.
pub fn escaped_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if is_hidden(letter) {
                hex(&mut out, letter.encode_utf8(&mut [0; 4]).as_bytes())
            } else {
                out.push(letter)
            }
        }
        hex(&mut out, chunk.invalid());
    }
    out
}

/// The first `most` characters of a value, escaped, with `...` if there are more.
pub fn excerpt(value: &str, most: usize) -> String {
    match value.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", escaped(&value[..end])),
        None => escaped(value).into_owned(),
    }
}

/// Quotes a word so that a user can type it in a shell. A word with characters that cannot be typed
/// is written as `$'...'`, which bash, ksh and zsh know.
pub fn quoted(word: &[u8]) -> String {
    let text = std::str::from_utf8(word).ok();
    let typed = text.filter(|text| !text.contains(is_hidden));
    match typed.map(|text| (text, shlex::try_quote(text))) {
        Some((text, _)) if is_plain(text) => return text.to_string(),
        Some((_, Ok(word))) => return word.into_owned(),
        _ => {}
    }
    let mut escaped = Vec::new();
    for byte in word {
        if matches!(byte, b'\'' | b'\\') {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    format!("$'{}'", escaped_bytes(&escaped))
}

/// True if no shell changes the word. `shlex` also quotes words with `=` and `,`, which are in most
/// options of launchers and would make a command line hard to read.
fn is_plain(word: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./-_".contains(letter);
    // zsh replaces `=NAME` by the path of a command.
    !word.is_empty() && !word.starts_with('=') && word.chars().all(plain)
}

/// An option with a value, quoted: `--drop ck.1`. A value that begins with `-` is joined with `=`,
/// so that it is not read as another option.
pub fn option(name: &str, value: &[u8]) -> String {
    let between = if value.starts_with(b"-") { '=' } else { ' ' };
    format!("{name}{between}{}", quoted(value))
}

/// A noun in the number that fits `count`: "node", "nodes", "processes", "groups of POWER". Only the first word
/// changes.
pub fn plural(count: usize, noun: &str) -> Cow<'_, str> {
    if count == 1 {
        return noun.into();
    }
    let (first, rest) = noun.split_at(noun.find(' ').unwrap_or(noun.len()));
    let end = if first.ends_with('s') { "es" } else { "s" };
    format!("{first}{end}{rest}").into()
}

/// FNV-1a of 64 bits. The algorithm never changes: names of directories are made with it.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A count with its noun: "1 file", "2 files".
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// A number of bytes for people: `512 B`, `1.5 GiB`.
pub fn bytes(number: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = number as f64;
    let mut unit = "B";
    for next in units {
        // A value that would print as 1024 of a unit is 1 of the next.
        if value < 1023.95 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    match unit {
        "B" => format!("{number} B"),
        _ => format!("{value:.1} {unit}"),
    }
}

/// Numbers of bytes that are compared, as [`bytes`] gives them: `1.5 GiB`. If two different values would
/// look the same, all values are exact: `1610612736 B`.
pub fn compared<const N: usize>(numbers: [u64; N]) -> [String; N] {
    let rounded = numbers.map(bytes);
    let differ = |(one, text): (u64, &String)| {
        let mut others = numbers.iter().zip(&rounded);
        others.any(|(other, same)| *other != one && same == text)
    };
    if numbers.into_iter().zip(&rounded).any(differ) {
        numbers.map(|number| format!("{number} B"))
    } else {
        rounded
    }
}

/// A time for people: `0.012 s`, `3.1 s`, `412 s`, `7.6 h`, `3.2 days`.
pub fn duration(seconds: f64) -> String {
    let hours = seconds / 3600.0;
    match seconds {
        s if s < 0.9995 => format!("{s:.3} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 7199.5 => format!("{s:.0} s"),
        _ if hours < 47.95 => format!("{hours:.1} h"),
        _ => format!("{:.1} days", hours / 24.0),
    }
}

/// Files, bytes, seconds and rate: "4 files, 2.0 GiB in 0.500 s, 4.0 GiB/s".
pub fn transferred(files: u64, size: u64, seconds: f64) -> String {
    let files = counted(usize::try_from(files).unwrap_or(usize::MAX), "file");
    format!("{files}, {}", at_rate(size, seconds))
}

/// Bytes, seconds and rate: "2.0 GiB in 0.500 s, 4.0 GiB/s".
pub fn at_rate(size: u64, seconds: f64) -> String {
    let rate = if seconds > 0.0 {
        format!(", {}/s", bytes((size as f64 / seconds) as u64))
    } else {
        String::new()
    };
    format!("{} in {seconds:.3} s{rate}", bytes(size))
}

/// World ranks separated by commas: at most 16, then how many there are.
pub fn list_of_ranks(ranks: &[usize]) -> String {
    const MOST: usize = 16;
    let mut text: Vec<String> = ranks.iter().take(MOST).map(usize::to_string).collect();
    if ranks.len() > MOST {
        text.push(format!("... {} in all", ranks.len()));
    }
    text.join(", ")
}

/// "rank 3", "ranks 1, 2 and 5": at most 8, then how many more.
pub fn ranks_in_words(ranks: &[usize]) -> String {
    const MOST: usize = 8;
    match ranks {
        [] => "no rank".to_string(),
        [one] => format!("rank {one}"),
        [rest @ .., last] if ranks.len() <= MOST => {
            format!("ranks {} and {last}", list_of_ranks(rest))
        }
        _ => {
            let first = list_of_ranks(&ranks[..MOST]);
            format!("ranks {first} and {} more", ranks.len() - MOST)
        }
    }
}

/// True for a character that acts on a terminal, or only changes how others are shown.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

fn hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_acts_on_a_terminal_is_escaped_once() {
        let shown = escaped("a\x1b[31m\nb\r\u{85}\u{202e}\u{200b}é");
        assert_eq!(
            shown,
            "a\\x1b[31m\\x0ab\\x0d\\xc2\\x85\\xe2\\x80\\xae\\xe2\\x80\\x8bé"
        );
        assert_eq!(escaped(&shown), shown);
        assert_eq!(escaped_lines("a\x1b\nb\r"), "a\\x1b\nb\\x0d");
        assert_eq!(escaped_bytes(b"a\xff\x07"), "a\\xff\\x07");
        for plain in ["", "ck.1", "größe $x 'y'"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(same) if same == plain));
        }
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        let words: [&[u8]; 12] = [
            b"ck.1",
            b"",
            b"a b",
            b"$(touch x)",
            b"`id`;rm -rf *",
            b"it's",
            b"back\\slash\\n",
            b"a\nb",
            b"\x1b[2J'\\",
            b"\xff\xfe'",
            b"~",
            "größe\u{202e}".as_bytes(),
        ];
        for word in words {
            let quoted = quoted(word);
            assert!(!quoted.contains(is_hidden), "{quoted}");
            let mut shell = Command::new("bash");
            let printed = shell.arg("-c").arg(format!("printf %s {quoted}")).output();
            assert_eq!(printed.unwrap().stdout, word, "{quoted}");
        }
        for plain in ["ck.1", "--exclude=node2", "a=b,c:d/e_f@%+"] {
            assert_eq!(quoted(plain.as_bytes()), plain);
        }
        assert_eq!(quoted(b"-w=node[1,3]"), "'-w=node[1,3]'");
        assert_eq!(quoted(b"=ls"), "'=ls'");
        assert_eq!(option("--drop", b"a b"), "--drop 'a b'");
        assert_eq!(option("--drop", b"-x"), "--drop=-x");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(excerpt(&"é".repeat(80), 80), "é".repeat(80));
        assert_eq!(excerpt(&"é".repeat(81), 80), "é".repeat(80) + "...");
        assert_eq!(excerpt("a\x07", 80), "a\\x07");
    }

    #[test]
    fn bytes_for_people() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (4 << 30, "4.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn numbers_that_are_compared_differ_in_words_if_they_differ() {
        assert_eq!(compared([1536, 0, 1536]), ["1.5 KiB", "0 B", "1.5 KiB"]);
        assert_eq!(
            compared([1 << 30, (1 << 30) - 1]),
            ["1073741824 B", "1073741823 B"]
        );
    }

    #[test]
    fn times_for_people() {
        for (seconds, text) in [
            (0.0, "0.000 s"),
            (0.012, "0.012 s"),
            (0.9996, "1.0 s"),
            (3.12, "3.1 s"),
            (99.96, "100 s"),
            (412.4, "412 s"),
            (7200.0, "2.0 h"),
            (27_360.0, "7.6 h"),
            (172_800.0, "2.0 days"),
            (1e9, "11574.1 days"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_rate_is_bytes_by_seconds() {
        assert_eq!(
            transferred(4, 2 << 30, 0.5),
            "4 files, 2.0 GiB in 0.500 s, 4.0 GiB/s"
        );
        assert_eq!(transferred(1, 10, 0.0), "1 file, 10 B in 0.000 s");
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(counted(0, "file"), "0 files");
        assert_eq!(counted(1, "group of POWER"), "1 group of POWER");
        assert_eq!(counted(2, "group of POWER"), "2 groups of POWER");
        assert_eq!(counted(2, "process of 3"), "2 processes of 3");
        assert_eq!(list_of_ranks(&[3, 5]), "3, 5");
        let many: Vec<usize> = (0..17).collect();
        assert!(list_of_ranks(&many).ends_with(", 15, ... 17 in all"));
        assert_eq!(ranks_in_words(&[]), "no rank");
        assert_eq!(ranks_in_words(&[3]), "rank 3");
        assert_eq!(ranks_in_words(&[1, 2, 5]), "ranks 1, 2 and 5");
        let edge = [
            (8, " 6 and 7"),
            (9, " 6, 7 and 1 more"),
            (17, " 6, 7 and 9 more"),
        ];
        for (count, end) in edge {
            assert!(ranks_in_words(&many[..count]).ends_with(end), "{count}");
        }
    }
}
