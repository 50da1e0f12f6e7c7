//! Lines of `KEY=VALUE` items, in files and in `SCR_Config`.

use super::table;
use std::iter::Peekable;
use std::str::Chars;

/// The rules for a line: of files or of `SCR_Config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    /// `#` begins a comment, keys are folded to upper case, a backslash escapes.
    File,
    /// Keys are kept; a backslash escapes `"` and itself inside quotes, nowhere else.
    Call,
}

/// One item of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// `KEY`
    Word(String),
    /// `KEY=` without a value, or with `""`.
    Empty(String),
    /// `KEY=VALUE`
    Pair(String, String),
}

/// Splits a line into items. Blanks may surround the first `=` of an item; later `=` belong to the
/// value. After a blank, a word `KEY=...` with a key of the table is the next item, not the value.
/// A value that begins with `"` ends at the next `"`, and may hold blanks; the quotes are not part
/// of the value (SCR user API guide, `SCR_Config`).
pub(super) fn scan(line: &str, style: Grammar) -> Result<Vec<Token>, String> {
    if line.contains('\0') {
        return Err("holds a NUL byte".into());
    }
    let mut tokens = Vec::new();
    let mut rest = line.chars().peekable();
    loop {
        skip_blanks(&mut rest);
        match rest.peek() {
            None => return Ok(tokens),
            Some('#') if style == Grammar::File => return Ok(tokens),
            Some(_) => tokens.push(item(&mut rest, style)?),
        }
    }
}

fn item(rest: &mut Peekable<Chars>, style: Grammar) -> Result<Token, String> {
    let key = key(rest, style);
    if key.is_empty() {
        return Err("has a `=` without a name before it".into());
    }
    if key.contains('"') {
        return Err(format!(
            "has a quote in the name {key}; only values can be quoted"
        ));
    }
    // A blank may come before the `=`, but then the next item must not be taken for one.
    skip_blanks(rest);
    if rest.next_if_eq(&'=').is_none() {
        return Ok(Token::Word(key));
    }
    let apart = rest.peek().is_some_and(char::is_ascii_whitespace);
    skip_blanks(rest);
    // `STORE= COUNT=2` lacks a value; it does not ask for a directory `COUNT=2`.
    if apart && begins_item(rest.clone(), style) {
        return Ok(Token::Empty(key));
    }
    let value = match rest.peek() {
        Some('#') if style == Grammar::File => String::new(),
        Some('"') => quoted(rest, style, &key)?,
        _ => plain(rest, style, &key)?,
    };
    Ok(if value.is_empty() {
        Token::Empty(key)
    } else {
        Token::Pair(key, value)
    })
}

fn key(rest: &mut Peekable<Chars>, style: Grammar) -> String {
    let mut key = String::new();
    while let Some(c) = rest.next_if(|c| *c != '=' && !c.is_ascii_whitespace()) {
        key.push(if style == Grammar::File {
            c.to_ascii_uppercase()
        } else {
            c
        });
    }
    key
}

/// True if a key of the table and its `=` come next.
fn begins_item(mut rest: Peekable<Chars>, style: Grammar) -> bool {
    let key = key(&mut rest, style);
    rest.peek() == Some(&'=') && table::is_key(&key)
}

fn plain(rest: &mut Peekable<Chars>, style: Grammar, key: &str) -> Result<String, String> {
    let mut value = String::new();
    while let Some(c) = rest.next_if(|c| !c.is_ascii_whitespace()) {
        match c {
            '\\' if style == Grammar::File => value.push(unescaped(rest.next(), key)?),
            c => value.push(c),
        }
    }
    Ok(value)
}

fn quoted(rest: &mut Peekable<Chars>, style: Grammar, key: &str) -> Result<String, String> {
    let mut value = String::new();
    rest.next();
    loop {
        match rest.next() {
            None => return Err(format!("does not close the quote of {key}")),
            Some('"') => break,
            Some('\\') if style == Grammar::File => value.push(unescaped(rest.next(), key)?),
            Some('\\') => value.push(rest.next_if(|c| matches!(c, '"' | '\\')).unwrap_or('\\')),
            Some(c) => value.push(c),
        }
    }
    match rest.peek() {
        Some(c) if !c.is_ascii_whitespace() => Err(format!(
            "goes on after the closing quote of {key}; put a blank there"
        )),
        _ => Ok(value),
    }
}

fn unescaped(c: Option<char>, key: &str) -> Result<char, String> {
    Ok(match c {
        Some('a') => '\x07',
        Some('b') => '\x08',
        Some('f') => '\x0c',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('v') => '\x0b',
        // This covers `\$` too. A value keeps its variables until it is read, whether or
        // not they were escaped, so that each process can put in its own.
        Some(other) => other,
        None => return Err(format!("ends in a backslash, in the value of {key}")),
    })
}

fn skip_blanks(rest: &mut Peekable<Chars>) {
    while rest.next_if(|c| c.is_ascii_whitespace()).is_some() {}
}

/// Writes a value so that a file line reads back the same.
pub(super) fn quote(value: &str) -> String {
    let risky = |c: char| c.is_ascii_whitespace() || c.is_control() || matches!(c, '"' | '\\');
    if !value.contains(risky) && !value.starts_with('#') && !value.is_empty() {
        return value.to_string();
    }
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> Token {
        Token::Pair(key.into(), value.into())
    }

    fn file(line: &str) -> Vec<Token> {
        scan(line, Grammar::File).unwrap()
    }

    fn call(line: &str) -> Vec<Token> {
        scan(line, Grammar::Call).unwrap()
    }

    #[test]
    fn lines_of_files() {
        assert_eq!(file("scr_flush = 7 # note"), [pair("SCR_FLUSH", "7")]);
        assert_eq!(file("\t a\t=\tb \r"), [pair("A", "b")]);
        assert_eq!(file("# all comment"), []);
        assert_eq!(file("  "), []);
        assert_eq!(file("A=b#c"), [pair("A", "b#c")]);
        assert_eq!(
            file("CKPT=0 type = XOR SET_SIZE=8"),
            [
                pair("CKPT", "0"),
                pair("TYPE", "XOR"),
                pair("SET_SIZE", "8")
            ]
        );
        assert_eq!(file("BADLINE"), [Token::Word("BADLINE".into())]);
        assert_eq!(file("A="), [Token::Empty("A".into())]);
        assert_eq!(file("A= # b"), [Token::Empty("A".into())]);
        assert_eq!(
            file(r#"A="b c = # d" E=f"#),
            [pair("A", "b c = # d"), pair("E", "f")]
        );
        assert_eq!(file("A=/b=c"), [pair("A", "/b=c")]);
    }

    #[test]
    fn a_known_item_after_a_blank_is_no_value() {
        let empty = |key: &str| Token::Empty(key.into());
        assert_eq!(file("STORE= COUNT=2"), [empty("STORE"), pair("COUNT", "2")]);
        assert_eq!(
            file("CKPT=0 store = type=XOR"),
            [pair("CKPT", "0"), empty("STORE"), pair("TYPE", "XOR")]
        );
        assert_eq!(
            call("CKPT=0 TYPE= SET_SIZE=8"),
            [pair("CKPT", "0"), empty("TYPE"), pair("SET_SIZE", "8")]
        );
        // Everything else is a value.
        assert_eq!(file("STORE= /a=b"), [pair("STORE", "/a=b")]);
        assert_eq!(file("STORE=COUNT=2"), [pair("STORE", "COUNT=2")]);
        assert_eq!(file(r#"STORE= "COUNT=2""#), [pair("STORE", "COUNT=2")]);
        assert_eq!(file("SCR_GROUP = STORE"), [pair("SCR_GROUP", "STORE")]);
    }

    #[test]
    fn escapes_of_files() {
        assert_eq!(file(r"A=\${USER}x"), [pair("A", "${USER}x")]);
        assert_eq!(file(r"A=a\tb\\c\ d"), [pair("A", "a\tb\\c d")]);
        assert_eq!(file(r#"A="a\"b""#), [pair("A", "a\"b")]);
        assert_eq!(
            file(r"A=\a\b\f\n\r\v\q"),
            [pair("A", "\x07\x08\x0c\n\r\x0bq")]
        );
    }

    #[test]
    fn texts_of_calls() {
        assert_eq!(call("SCR_FLUSH = 12 "), [pair("SCR_FLUSH", "12")]);
        assert_eq!(
            call(r#"SCR_PREFIX="/x=y z""#),
            [pair("SCR_PREFIX", "/x=y z")]
        );
        assert_eq!(call(r"A=\n"), [pair("A", r"\n")]);
        assert_eq!(call(r#"A="a\"b\\c\n""#), [pair("A", "a\"b\\c\\n")]);
        assert_eq!(call("ckpt=0"), [pair("ckpt", "0")]);
        assert_eq!(call("A=#b"), [pair("A", "#b")]);
        assert_eq!(
            call("CKPT=0 TYPE"),
            [pair("CKPT", "0"), Token::Word("TYPE".into())]
        );
        assert_eq!(call(r#"A="""#), [Token::Empty("A".into())]);
    }

    #[test]
    fn what_is_refused() {
        for bad in ["=5", "A=1 =2", r#"A="b"#, r#"A="b"c"#, r#""A"=1"#, "A=\0"] {
            assert!(scan(bad, Grammar::Call).is_err(), "{bad}");
            assert!(scan(bad, Grammar::File).is_err(), "{bad}");
        }
        assert!(scan("A=b\\", Grammar::File).is_err());
    }

    #[test]
    fn quoting_reads_back() {
        for value in [
            "a",
            "a b",
            "a\"b",
            r"a\nb",
            "#a",
            "a#b",
            "a\nb\rc\td",
            "a=b",
            "\x07",
            "é",
        ] {
            assert_eq!(
                file(&format!("K={}", quote(value))),
                [pair("K", value)],
                "{value:?}"
            );
        }
        assert_eq!(quote("/plain"), "/plain");
    }
}
