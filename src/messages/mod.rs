//! Messages with a code, such as `SCR-105`: what each says, its cause and its remedy. `scr explain` prints them,
//! and `docs/faq.md` is made from them.
//!
//! A message carries its code as [`Code`], in parentheses after the text that the table quotes.

mod build;
mod checkpoint;
mod restart;
mod start;
mod stop;

pub use build::*;
pub use checkpoint::*;
pub use restart::*;
pub use start::*;
pub use stop::*;

use std::fmt;

/// The code of a message. The number never changes, and is not given again to another message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(u16);

/// `SCR-105`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SCR-{}", self.0)
    }
}

/// The meaning of a code. Title, cause and remedy are in Markdown.
#[derive(Debug)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// The name of the constant in this module.
    pub name: &'static str,
    /// The symptom, in a few words.
    pub title: &'static str,
    /// The message, with `...` for names and numbers. Empty if SCR itself prints none.
    pub text: &'static str,
    /// Why it is printed.
    pub cause: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// The messages of one part of a job.
#[derive(Debug)]
pub struct Section {
    /// The symptom, in a few words.
    pub title: &'static str,
    /// The messages, in the order of their codes.
    pub rows: &'static [Explanation],
}

/// All messages that have a code.
pub const SECTIONS: [&Section; 5] = [
    &start::START,
    &restart::RESTART,
    &checkpoint::CHECKPOINT,
    &stop::STOP,
    &build::BUILD,
];

/// All rows of [`SECTIONS`].
pub fn all() -> impl Iterator<Item = &'static Explanation> {
    SECTIONS.into_iter().flat_map(|section| section.rows)
}

/// The explanation of a code: `SCR-105`, `scr-105` or `105`.
pub fn find(code: &str) -> Option<&'static Explanation> {
    let code = code.trim().to_ascii_uppercase();
    let number = code.strip_prefix("SCR-").unwrap_or(&code);
    all().find(|row| row.code.0.to_string() == number)
}

/// Makes a section, and a constant for each of its codes.
macro_rules! explained {
    ($section:ident = $heading:literal; $($name:ident = $code:literal {
        title: $title:literal, text: $text:literal, cause: $cause:literal, remedy: $remedy:literal,
    })*) => {
        $(#[doc = $title] pub const $name: Code = Code($code);)*

        #[doc = $heading]
        pub const $section: Section = Section {
            title: $heading,
            rows: &[$(Explanation {
                code: $name,
                name: stringify!($name),
                title: $title,
                text: $text,
                cause: $cause,
                remedy: $remedy,
            }),*],
        };
    };
}
use explained;

#[cfg(test)]
mod tests {
    use super::{PREFIX_IN_USE, SECTIONS, all, find};
    use std::collections::BTreeSet;

    #[test]
    fn each_code_is_given_once_and_found_by_all_its_spellings() {
        let codes: Vec<String> = all().map(|row| row.code.to_string()).collect();
        let set: BTreeSet<&String> = codes.iter().collect();
        assert_eq!(set.len(), codes.len());
        for section in SECTIONS {
            assert!(section.rows.is_sorted_by_key(|row| row.code.0));
        }
        for spelling in ["SCR-105", "scr-105", " 105 "] {
            assert_eq!(find(spelling).map(|row| row.code), Some(PREFIX_IN_USE));
        }
        for other in ["", "SCR-", "SCR-0", "5", "SCR-SCR-105"] {
            assert!(find(other).is_none(), "{other}");
        }
    }
}
