//! Output for people: on a terminal its lines fit the width, and some are coloured. Elsewhere (pipes,
//! files) lines are whole and plain.

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal, stdout};
use std::sync::OnceLock;
use textwrap::{Options, WordSplitter, wrap};

/// A terminal that says to be narrower is taken to be this wide.
const NARROWEST: usize = 20;

/// A line, and how a terminal shows it.
pub(super) struct Line {
    pub text: String,
    /// Column where it goes on if it is longer than the terminal is wide.
    pub hang: usize,
    pub style: Style,
}

impl Line {
    /// A line of a list, which goes on a little to the right of where it begins.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let begin = text.len() - text.trim_start_matches(' ').len();
        Line {
            hang: begin + 2,
            text,
            style: Style::new(),
        }
    }

    /// The lines of a table whose last column begins at `hang`: names of the columns, then rows with
    /// the style that `style` has for the number of the row.
    pub fn table(text: &str, hang: usize, style: impl Fn(usize) -> Style) -> Vec<Line> {
        let line = |(number, text): (usize, &str)| Line {
            text: text.to_string(),
            hang,
            style: match number.checked_sub(1) {
                None => HEADING,
                Some(row) => style(row),
            },
        };
        text.lines().enumerate().map(line).collect()
    }

    /// Like [`Line::table`], from cells: columns are as wide as their longest cell, and numbers and the
    /// like, in the columns `right`, end at the same place.
    pub fn columns(
        headings: &[&str],
        right: &[&str],
        rows: &[Vec<String>],
        style: impl Fn(usize) -> Style,
    ) -> Vec<Line> {
        let first: Vec<String> = headings.iter().map(|text| text.to_string()).collect();
        let lines: Vec<&Vec<String>> = [&first].into_iter().chain(rows).collect();
        let longest = |at: usize| {
            let cells = lines.iter().filter_map(|cells| cells.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..headings.len()).map(longest).collect();
        // The last column needs no width, as no column follows.
        widths.pop();
        let hang = widths.iter().map(|width| width + 1).sum();
        let mut text = String::new();
        for cells in lines {
            for (cell, (at, heading)) in cells.iter().zip(headings.iter().enumerate()) {
                match widths.get(at) {
                    Some(width) if right.contains(heading) => {
                        text.push_str(&format!("{cell:>width$} "));
                    }
                    Some(width) => text.push_str(&format!("{cell:<width$} ")),
                    None => text.extend([cell.as_str(), "\n"]),
                }
            }
        }
        Line::table(&text, hang, style)
    }

    pub fn styled(self, style: Style) -> Self {
        Line { style, ..self }
    }
}

/// Headings.
pub(super) const HEADING: Style = Style::new().bold();
/// Errors and faults.
pub(super) const WRONG: Style = AnsiColor::Red.on_default();

/// The kind of standard output.
pub(super) struct Screen {
    /// Number of columns; `None` if the output is not a terminal, or the terminal does not tell.
    width: Option<usize>,
    colour: bool,
}

impl Screen {
    /// Standard output of this process, as it was at the first call.
    pub fn of_process() -> &'static Self {
        static SCREEN: OnceLock<Screen> = OnceLock::new();
        SCREEN.get_or_init(Screen::look)
    }

    fn look() -> Self {
        let terminal = stdout().is_terminal();
        let width = || Some(usize::from(tcgetwinsize(stdout()).ok()?.ws_col));
        Screen {
            width: terminal.then(width).flatten().filter(|width| *width > 0),
            // The choice of colours that clap makes for its help.
            colour: AutoStream::choice(&stdout()) != ColorChoice::Never,
        }
    }

    /// The lines as text to print.
    pub fn text(&self, lines: &[Line]) -> String {
        let mut text = String::new();
        for line in lines {
            for part in self.fitted(line) {
                if self.colour && line.style != Style::new() {
                    let (on, off) = (line.style.render(), line.style.render_reset());
                    text.push_str(&format!("{on}{part}{off}\n"));
                } else {
                    text.extend([part.as_str(), "\n"])
                }
            }
        }
        text
    }

    fn fitted(&self, line: &Line) -> Vec<String> {
        let Some(width) = self.width.map(|width| width.max(NARROWEST)) else {
            return vec![line.text.clone()];
        };
        let indent = " ".repeat(line.hang.min(width / 2));
        let options = Options::new(width)
            .subsequent_indent(&indent)
            .word_splitter(WordSplitter::NoHyphenation);
        let parts = wrap(&line.text, options).into_iter();
        parts.map(|part| part.into_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<usize>, colour: bool, line: Line) -> String {
        Screen { width, colour }.text(&[line])
    }

    #[test]
    fn only_a_terminal_changes_a_line() {
        let line = || Line::new(format!("  a {}", "word ".repeat(20))).styled(WRONG);
        let plain = format!("{}\n", line().text);
        assert_eq!(shown(None, false, line()), plain);
        let fitted = shown(Some(30), false, line());
        assert!(fitted.lines().count() > 3);
        assert!(fitted.lines().all(|line| line.len() <= 30), "{fitted}");
        assert!(
            fitted
                .lines()
                .skip(1)
                .all(|line| line.starts_with("    word"))
        );
        assert!(fitted.starts_with("  a word"));
        let words = |text: &str| {
            text.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&fitted), words(&plain));
        let red = shown(None, true, line());
        assert!(
            red.starts_with("\x1b[31m  a") && red.ends_with("\x1b[0m\n"),
            "{red:?}"
        );
        assert!(!shown(None, true, Line::new("x")).contains('\x1b'));
    }

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let rows = [row(["größe", "7", "a b"]), row(["x", "1234", ""])];
        let lines = Line::columns(&["KIND", "N", "NAME"], &["N"], &rows, |_| Style::new());
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(text, ["KIND     N NAME", "größe    7 a b", "x     1234 "]);
        assert!(lines.iter().all(|line| line.hang == 11));
    }

    #[test]
    fn a_word_longer_than_the_line_is_cut_and_whole_all_the_same() {
        let name = "x".repeat(90);
        let table = Line::table(&format!("ID NAME\n 1 {name}\n"), 3, |_| Style::new());
        let text = Screen {
            width: Some(40),
            colour: false,
        }
        .text(&table);
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert_eq!(text.matches('x').count(), 90);
        // A terminal that is narrower than the columns before the last one.
        let text = Screen {
            width: Some(1),
            colour: false,
        }
        .text(&table);
        assert!(text.lines().all(|line| line.len() <= NARROWEST), "{text}");
    }
}
