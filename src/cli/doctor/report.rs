//! What is told: facts in sections, then problems with their remedies.

use crate::text::escaped;
use std::fmt::Display;

/// Collects them.
#[derive(Default)]
pub(super) struct DoctorReport {
    facts: String,
    problems: Vec<(String, String)>,
}

/// Width of the first column.
const COLUMN: usize = 12;

impl DoctorReport {
    /// Begins a section.
    pub fn section(&mut self, title: impl Display) {
        let gap = if self.facts.is_empty() { "" } else { "\n" };
        self.facts.push_str(&format!("{gap}{title}\n"));
    }

    /// One line of it.
    pub fn fact(&mut self, name: &str, value: impl Display) {
        self.line(format!("{name:COLUMN$} {value}"));
    }

    /// The same without columns.
    pub fn line(&mut self, text: impl Display) {
        let text = escaped(&text.to_string()).into_owned();
        self.facts.push_str(&format!("  {text}\n"));
    }

    /// Something is wrong. The remedy is empty where the problem says it.
    pub fn wrong(&mut self, what: impl Display, remedy: impl Display) {
        let problem = (what.to_string(), remedy.to_string());
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Nothing is wrong so far.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }

    /// All of it.
    pub fn text(&self) -> String {
        let mut text = self.facts.clone();
        text.push_str(match self.is_good() {
            true => "\nNothing is wrong.\n",
            false => "\nProblems\n",
        });
        for (number, (what, remedy)) in (1..).zip(&self.problems) {
            let lines = what.lines().chain(remedy.lines()).map(escaped);
            for (at, line) in lines.enumerate() {
                match at {
                    0 => text.push_str(&format!("  {number}. {line}\n")),
                    _ => text.push_str(&format!("     {line}\n")),
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::DoctorReport;

    #[test]
    fn a_problem_is_said_once_and_nothing_steers_the_terminal() {
        let mut report = DoctorReport::default();
        report.section("Job");
        report.fact("user", "me\x1b[31m");
        assert!(
            report
                .text()
                .ends_with("user         me\\x1b[31m\n\nNothing is wrong.\n")
        );
        report.wrong("bad\nworse", "mend it");
        report.wrong("bad\nworse", "mend it");
        let problems = "\nProblems\n  1. bad\n     worse\n     mend it\n";
        assert!(report.text().ends_with(problems), "{}", report.text());
    }
}
