//! The explanation of one message, and the messages of one part of a job.

use scr_engine::messages::Code;

/// The meaning of a code. Title, cause and remedy are in Markdown.
#[derive(Debug)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// The name of the constant in `scr_engine::messages`.
    pub name: &'static str,
    /// The symptom, in a few words.
    pub title: &'static str,
    /// The message, with `...` for names and numbers. Empty if SCR itself prints none.
    pub text: &'static str,
    /// The reason why the message is printed.
    pub cause: &'static str,
    /// The things that the user can do.
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

/// Makes a section.
macro_rules! explained {
    ($section:ident = $heading:literal; $($name:ident {
        title: $title:literal, text: $text:literal, cause: $cause:literal, remedy: $remedy:literal,
    })*) => {
        #[doc = $heading]
        pub(super) const $section: Section = Section {
            title: $heading,
            rows: &[$(Explanation {
                code: messages::$name,
                name: stringify!($name),
                title: $title,
                text: $text,
                cause: $cause,
                remedy: $remedy,
            }),*],
        };
    };
}
pub(super) use explained;
