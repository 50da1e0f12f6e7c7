//! The redundancy schemes: one row for each, with everything that differs between them.
//!
//! Parameters, records, the names of redundancy files and commands take their words from here. All that
//! depends on a scheme depends on its row. So a new scheme is a new row, and a new kind of code or of
//! limit if it needs one, which the compiler asks for wherever it matters.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Limit for members plus blocks of redundancy in a column of a code.
pub const MAX_BLOCKS: usize = 256;

/// The properties of a scheme.
#[derive(Debug, PartialEq, Eq)]
pub struct SchemeRow {
    /// The word in parameters, records and messages.
    pub word: &'static str,
    /// The word in commands, and at the end of the names of redundancy files.
    pub lower: &'static str,
    /// The protection of the files of a set; `None` for a scheme without redundancy files.
    pub redundancy: Option<Redundancy>,
}

/// The protection of the files of a set by a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redundancy {
    /// The code.
    pub code: CodeKind,
    /// Number of members of a set that may be lost.
    pub failures: Failures,
}

/// The kinds of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// Copies.
    Copies,
    /// One sum.
    Sum,
    /// Several independent sums of products.
    Products,
}

/// Number of members of a set that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failures {
    /// A fixed number, which no parameter changes.
    Fixed(u32),
    /// As SET_FAILURES says, from 1 to the set size.
    Asked {
        /// Used if SET_FAILURES is not set anywhere, in place of its default.
        unset: Option<u32>,
        /// The scheme that is used if one failure is asked for.
        with_one: Option<Scheme>,
        /// Limit of set size and failures together; larger ones are an error. `None` if large sets
        /// are made smaller.
        together: Option<u32>,
    },
}

/// Makes the enum and its table from the rows, so that no scheme can be forgotten in either.
macro_rules! schemes {
    ($($(#[$doc:meta])* $scheme:ident = $row:expr;)*) => {
        /// The redundancy scheme of a dataset.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(into = "&'static str")]
        pub enum Scheme {
            $($(#[$doc])* $scheme,)*
        }

        impl Scheme {
            /// All schemes, in the order in which messages list them.
            pub const ALL: &'static [Scheme] = &[$(Scheme::$scheme),*];

            /// The words of all schemes.
            pub const WORDS: &'static [&'static str] = &[$(Scheme::$scheme.row().word),*];

            /// The row of a scheme.
            pub const fn row(self) -> &'static SchemeRow {
                match self {
                    $(Scheme::$scheme => &$row,)*
                }
            }
        }
    };
}

schemes! {
    /// No redundancy: it survives the loss of a process, not of a node.
    Single = SchemeRow {
        word: "SINGLE",
        lower: "single",
        redundancy: None,
    };
    /// Copies on other nodes. The default of SET_FAILURES is meant for RS; users of PARTNER expect one copy.
    Partner = SchemeRow {
        word: "PARTNER",
        lower: "partner",
        redundancy: Some(Redundancy {
            code: CodeKind::Copies,
            failures: Failures::Asked {
                unset: Some(1),
                with_one: None,
                together: None,
            },
        }),
    };
    /// One parity block for each set.
    Xor = SchemeRow {
        word: "XOR",
        lower: "xor",
        redundancy: Some(Redundancy {
            code: CodeKind::Sum,
            failures: Failures::Fixed(1),
        }),
    };
    /// Reed-Solomon: several parity blocks for each set.
    Rs = SchemeRow {
        word: "RS",
        lower: "rs",
        redundancy: Some(Redundancy {
            code: CodeKind::Products,
            failures: Failures::Asked {
                unset: None,
                with_one: Some(Scheme::Xor),
                together: Some(MAX_BLOCKS as u32),
            },
        }),
    };
}

impl Scheme {
    /// The scheme of a word, in any case; `None` for any other word.
    pub fn from_word(word: &str) -> Option<Scheme> {
        let mut all = Scheme::ALL.iter().copied();
        all.find(|scheme| scheme.word().eq_ignore_ascii_case(word.trim()))
    }

    /// The word that files, parameters and messages use.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// The protection of the files of a set; `None` for a scheme without any.
    pub const fn redundancy(self) -> Option<Redundancy> {
        self.row().redundancy
    }

    /// The word in commands, and at the end of the names of redundancy files.
    pub const fn lower(self) -> &'static str {
        self.row().lower
    }

    /// The schemes that make redundancy files.
    pub fn with_files() -> impl Iterator<Item = Scheme> {
        let all = Scheme::ALL.iter().copied();
        all.filter(|scheme| scheme.redundancy().is_some())
    }

    /// True if its redundancy is copies, which take as much space as the files.
    pub fn makes_copies(self) -> bool {
        let code = self.redundancy().map(|redundancy| redundancy.code);
        match code {
            Some(CodeKind::Copies) => true,
            Some(CodeKind::Sum | CodeKind::Products) | None => false,
        }
    }

    /// All words in a sentence, as `A, B or C`.
    pub fn list_words() -> String {
        match Scheme::WORDS.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => Scheme::WORDS.concat(),
        }
    }
}

impl From<Scheme> for &'static str {
    fn from(scheme: Scheme) -> Self {
        scheme.word()
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The scheme in a record, which another release may have written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum RecordedScheme {
    /// A scheme of this release.
    Known(Scheme),
    /// The word of an unknown scheme.
    Unknown(String),
}

impl RecordedScheme {
    /// The scheme; `None` if this release does not know it.
    pub fn known(&self) -> Option<Scheme> {
        match self {
            RecordedScheme::Known(scheme) => Some(*scheme),
            RecordedScheme::Unknown(_) => None,
        }
    }

    /// The word, known or not.
    pub fn word(&self) -> &str {
        match self {
            RecordedScheme::Known(scheme) => scheme.word(),
            RecordedScheme::Unknown(word) => word,
        }
    }
}

impl From<Scheme> for RecordedScheme {
    fn from(scheme: Scheme) -> Self {
        RecordedScheme::Known(scheme)
    }
}

impl From<String> for RecordedScheme {
    fn from(word: String) -> Self {
        let same = |scheme: &&Scheme| scheme.word().eq_ignore_ascii_case(&word);
        match Scheme::ALL.iter().find(same) {
            Some(scheme) => RecordedScheme::Known(*scheme),
            None => RecordedScheme::Unknown(word),
        }
    }
}

impl From<RecordedScheme> for String {
    fn from(scheme: RecordedScheme) -> Self {
        match scheme {
            RecordedScheme::Known(scheme) => scheme.word().to_string(),
            RecordedScheme::Unknown(word) => word,
        }
    }
}

impl fmt::Display for RecordedScheme {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_unambiguous() {
        let words: BTreeSet<String> = Scheme::WORDS.iter().map(|w| w.to_lowercase()).collect();
        assert_eq!(words.len(), Scheme::ALL.len());
        for scheme in Scheme::ALL {
            let (word, lower) = (scheme.word(), scheme.lower());
            assert_eq!(lower, word.to_lowercase());
            assert_eq!(Scheme::from_word(&format!(" {lower} ")), Some(*scheme));
            let recorded = RecordedScheme::from(word.to_string());
            assert_eq!(recorded.known(), Some(*scheme));
            assert_eq!(String::from(recorded), word);
        }
        assert_eq!(Scheme::from_word("FILE"), None);
    }

    #[test]
    fn a_word_of_another_release_is_kept() {
        let recorded = RecordedScheme::from("None such".to_string());
        assert_eq!(recorded.known(), None);
        assert_eq!(recorded.to_string(), "None such");
        assert_eq!(String::from(recorded), "None such");
    }
}
