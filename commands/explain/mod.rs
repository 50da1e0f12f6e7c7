//! `scr explain`: cause and remedy of a message, by its code.

mod build;
mod checkpoint;
mod restart;
mod row;
mod start;
mod stop;
mod table;

pub use row::{Explanation, Section};
pub use table::{SECTIONS, all_explanations};

use super::call::{Failure, Invocation};
use super::terminal::{HEADING, Line};
use super::{Outcome, RunCommand};
use std::process::ExitCode;

/// Explain a message by its code
///
/// Prints the message that has this code, its cause and its remedy. Without a code lists all codes. The page
/// "Questions and answers" of the documents has the same texts.
///
/// Exit status: 0 done, 1 no message has that code.
#[derive(clap::Args)]
pub(super) struct Options {
    /// The code, such as SCR-105 or 105
    code: Option<String>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let lines = match &self.code {
            None => list(),
            Some(code) => match table::find(code) {
                Some(row) => explain(row),
                None => {
                    let what = "no message has this code; `scr explain` lists all codes";
                    return Err(Failure::said(format!("{code}: {what}")));
                }
            },
        };
        call.show(&lines)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn list() -> Vec<Line> {
    let mut lines = Vec::new();
    for section in SECTIONS {
        if !lines.is_empty() {
            lines.push(Line::new(""));
        }
        lines.push(Line::new(section.title).styled(HEADING));
        let row = |row: &Explanation| Line::new(format!("{}  {}", row.code, row.title));
        lines.extend(section.rows.iter().map(row));
    }
    lines
}

fn explain(row: &Explanation) -> Vec<Line> {
    let heading = format!("{}: {}", row.code, row.title);
    let mut lines = vec![Line::new(heading).styled(HEADING)];
    if !row.text.is_empty() {
        lines.push(Line::new(format!("Message: {}", row.text)));
    }
    lines.push(Line::new(format!("Cause: {}", plain(row.cause))));
    lines.push(Line::new(format!("Remedy: {}", plain(row.remedy))));
    lines
}

/// Markdown without its links: `[text](page.md#place)` becomes `text (page.md)`, a link in the page only `text`.
fn plain(markdown: &str) -> String {
    let (mut out, mut rest) = (String::new(), markdown);
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        let parts = link.split_once("](").and_then(|(text, after)| {
            let (target, after) = after.split_once(')')?;
            Some((text, target, after))
        });
        let Some((text, target, after)) = parts else {
            out.push('[');
            rest = link;
            continue;
        };
        out.push_str(text);
        let page = target.split('#').next().unwrap_or_default();
        if !page.is_empty() {
            out.push_str(&format!(" ({page})"));
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn links_become_their_texts() {
        let text = "See [the life](user-guide.md#life), [this](#place) and [1].";
        assert_eq!(plain(text), "See the life (user-guide.md), this and [1].");
        assert_eq!(plain("[open"), "[open");
    }
}
