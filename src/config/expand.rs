//! `$NAME` in values, replaced from the environment.

use super::MAX_TEXT;
use crate::job::Environment;

/// Text with its variables replaced, and the names that were not defined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    pub text: String,
    pub undefined: Vec<String>,
}

/// Replaces `$NAME` and `${NAME}` (letters, digits, underscore). Undefined names are replaced by
/// nothing. Variables in a replaced value are not replaced again. Any other `$` stays.
///
/// # Errors
/// The result would be longer than [`MAX_TEXT`], or a variable is not UTF-8.
pub(super) fn expand(text: &str, environment: &Environment) -> Result<Expanded, String> {
    let mut out = Expanded::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.text.push_str(before);
        let (name, tail) = match variable(after) {
            Some(found) => found,
            None => {
                out.text.push('$');
                rest = after;
                continue;
            }
        };
        match environment.get(name) {
            Some(value) => out.text.push_str(value),
            None if environment.is_unreadable(name) => {
                return Err(format!("uses ${name}, which is not UTF-8 text"));
            }
            None => out.undefined.push(name.to_string()),
        }
        if out.text.len() > MAX_TEXT {
            return Err(format!(
                "grows beyond {MAX_TEXT} bytes when ${name} is replaced"
            ));
        }
        rest = tail;
    }
    out.text.push_str(rest);
    Ok(out)
}

/// The variable name at the start of `text` (just after a `$`), and the text after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        let (name, tail) = inner.split_once('}')?;
        return (name_length(name) == name.len() && !name.is_empty()).then_some((name, tail));
    }
    match name_length(text) {
        0 => None,
        length => text.split_at_checked(length),
    }
}

fn name_length(text: &str) -> usize {
    let first_is_digit = text.starts_with(|c: char| c.is_ascii_digit());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if first_is_digit {
        0
    } else {
        text.find(|c| !word(c)).unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Environment {
        [("USER", "ann"), ("HOME_2", "/h"), ("SELF", "$USER")]
            .into_iter()
            .collect()
    }

    fn text(input: &str) -> String {
        expand(input, &env()).unwrap().text
    }

    #[test]
    fn both_forms_and_neighbours() {
        assert_eq!(text("$USER"), "ann");
        assert_eq!(text("${USER}x"), "annx");
        assert_eq!(text("/a/$USER/$HOME_2"), "/a/ann//h");
        assert_eq!(text("$USER$USER"), "annann");
    }

    #[test]
    fn what_is_no_variable_stays() {
        for same in [
            "$", "a$", "$$", "$1", "${", "${}", "${a b}", "$/x", "${USER",
        ] {
            assert_eq!(text(same), same);
        }
    }

    #[test]
    fn undefined_is_empty_and_named() {
        let got = expand("a$NOPE-${NOPE_2}b", &env()).unwrap();
        assert_eq!(got.text, "a-b");
        assert_eq!(got.undefined, ["NOPE", "NOPE_2"]);
    }

    #[test]
    fn replaced_text_is_not_expanded_again() {
        assert_eq!(text("$SELF"), "$USER");
    }

    #[test]
    fn growth_is_bounded() {
        let big: Environment = [("B".to_string(), "x".repeat(MAX_TEXT / 2))]
            .into_iter()
            .collect();
        assert!(expand("$B", &big).is_ok());
        assert!(expand("$B$B$B", &big).is_err());
    }

    #[test]
    fn a_variable_that_is_not_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        let bad = std::ffi::OsString::from_vec(vec![0xff]);
        let env: Environment = [("A", bad), ("B", "b".into())].into_iter().collect();
        assert!(expand("/x/$A", &env).unwrap_err().contains("$A"));
        assert_eq!(expand("/x/$B", &env).unwrap().text, "/x/b");
    }
}
