//! The configuration of SCR that is written, with a comment for each choice.

use std::fmt::{self, Display, Write};
use std::path::Path;

/// A number in the imported file.
pub(super) struct Choice {
    /// The setting as the file has it.
    pub shown: String,
    pub value: i64,
}

#[derive(Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// A page with the first lines: where it comes from, and where it belongs.
    pub fn begin(of: &str, from: &Path, prefix_setting: &str, prefix: &Path) -> Self {
        let mut page = Page::default();
        page.comment(
            "#",
            &format!("From {}, of {of}, by scr import-config.", from.display()),
        );
        page.comment(
            "#",
            &format!(
                "Save this as {0}/.scrconf, and set SCR_PREFIX={0} in the environment of the job, or run it \
                 there. The files of the program must be below that directory.",
                prefix.display()
            ),
        );
        page.note(
            prefix_setting,
            "That is the prefix directory, where saved checkpoints are.",
        );
        page
    }

    /// A setting of the imported file, the comment about it, and the lines for SCR.
    pub fn set(&mut self, setting: &str, why: &str, lines: &[String]) {
        self.text.push('\n');
        self.comment("#", setting);
        self.comment("#  ", why);
        for line in lines {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// A setting that has no line for SCR, and the reason.
    pub fn note(&mut self, setting: &str, why: &str) {
        self.set(setting, why, &[]);
    }

    fn comment(&mut self, begin: &str, text: &str) {
        const WIDTH: usize = 96;
        let mut width = 0;
        for word in text.split(' ') {
            if width == 0 || width + word.chars().count() > WIDTH {
                let end = if width == 0 { "" } else { "\n" };
                // Writing to a string cannot fail.
                let _ = write!(self.text, "{end}{begin}");
                width = begin.len();
            }
            let _ = write!(self.text, " {word}");
            width += 1 + word.chars().count();
        }
        self.text.push('\n');
    }
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A path as the value of a parameter. The value has neither quotes nor control characters.
pub(super) fn value_of(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@,:~".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\"))
    }
}
