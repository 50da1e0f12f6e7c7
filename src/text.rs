//! Text that others have chosen, made fit to be shown: names in files, paths, values.
//!
//! What is printed must not do anything to a terminal, or look like another line or another
//! text: control characters, and those that only direct how others are shown (bidirectional
//! marks, characters without width), become `\x` and two hexadecimal digits for each byte.
//! [`Error`](crate::Error), [`Event`](crate::events::Event) and the commands escape the whole
//! of what they say, so who makes a message need not think of it. What is escaped already stays
//! as it is.

use std::borrow::Cow;
use std::fmt::Write;

/// A text of one line, escaped.
pub fn escaped(text: &str) -> Cow<'_, str> {
    match text.contains(is_hidden) {
        true => Cow::Owned(escaped_bytes(text.as_bytes())),
        false => Cow::Borrowed(text),
    }
}

/// A text of several lines: newlines are left as they are. Only for texts of our own in which
/// what comes from elsewhere is escaped already.
pub fn escaped_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(escaped).collect();
    lines.join("\n")
}

/// Bytes as a text of one line; those that are not UTF-8 are escaped too.
pub fn escaped_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match is_hidden(letter) {
                true => hex(&mut out, letter.encode_utf8(&mut [0; 4]).as_bytes()),
                false => out.push(letter),
            }
        }
        hex(&mut out, chunk.invalid());
    }
    out
}

/// A word of a command line as a user can type it in a shell. One with characters that cannot be
/// typed is written as `$'...'`, which bash, ksh and zsh know.
pub fn quoted(word: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    match std::str::from_utf8(word) {
        Ok(text) if !text.contains(is_hidden) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let escaped: Vec<u8> = word.iter().fold(Vec::new(), |mut out, byte| {
                if matches!(byte, b'\'' | b'\\') {
                    out.push(b'\\');
                }
                out.push(*byte);
                out
            });
            format!("$'{}'", escaped_bytes(&escaped))
        }
    }
}

/// An option with a value, both as [`quoted`]: `--drop ck.1`, but `--drop=-x`, which is no other
/// option.
pub fn option(name: &str, value: &[u8]) -> String {
    let between = if value.starts_with(b"-") { '=' } else { ' ' };
    format!("{name}{between}{}", quoted(value))
}

fn is_hidden(letter: char) -> bool {
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
        assert_eq!(quoted(b"ck.1"), "ck.1");
        assert_eq!(option("--drop", b"a b"), "--drop 'a b'");
        assert_eq!(option("--drop", b"-x"), "--drop=-x");
    }
}
