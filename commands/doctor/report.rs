//! The report: facts in sections, then problems with their remedies.

use crate::json::{DirectoryJson, DoctorJson, FactJson, ProblemJson, SectionJson};
use crate::terminal::{HEADING, Line, WRONG};
use scr_engine::text::escaped;
use scr_engine::version;
use std::fmt::Display;

/// Collects facts and problems.
#[derive(Default)]
pub(super) struct DoctorReport {
    sections: Vec<SectionJson>,
    directories: Vec<DirectoryJson>,
    problems: Vec<(String, String)>,
}

/// Width of the first column.
const COLUMN: usize = 12;

impl DoctorReport {
    /// Begins a section.
    pub fn section(&mut self, title: impl Display) {
        self.sections.push(SectionJson {
            title: title.to_string(),
            facts: Vec::new(),
        });
    }

    /// Adds a fact in two columns.
    pub fn fact(&mut self, name: &str, value: impl Display) {
        self.add(Some(name), value);
    }

    /// Adds a line without columns.
    pub fn line(&mut self, text: impl Display) {
        self.add(None, text);
    }

    fn add(&mut self, name: Option<&str>, text: impl Display) {
        let fact = FactJson {
            name: name.map(str::to_string),
            text: text.to_string(),
        };
        match self.sections.last_mut() {
            Some(section) => section.facts.push(fact),
            None => self.sections.push(SectionJson {
                title: String::new(),
                facts: vec![fact],
            }),
        }
    }

    /// Adds a directory to the JSON; its line in the text is a fact.
    pub fn directory(&mut self, directory: DirectoryJson) {
        self.directories.push(directory);
    }

    /// Adds a problem. The remedy is empty if the problem includes it.
    pub fn wrong(&mut self, what: impl Display, remedy: impl Display) {
        let problem = (what.to_string(), remedy.to_string());
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// True without a problem.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }

    /// The whole report for programs.
    pub fn json(&self) -> DoctorJson {
        let problem = |(what, remedy): &(String, String)| ProblemJson {
            problem: what.clone(),
            remedy: Some(remedy.clone()).filter(|remedy| !remedy.is_empty()),
        };
        DoctorJson {
            release: version::RELEASE,
            interface: version::INTERFACE,
            good: self.is_good(),
            sections: self.sections.clone(),
            directories: self.directories.clone(),
            problems: self.problems.iter().map(problem).collect(),
        }
    }

    /// The whole report for people.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for section in &self.sections {
            if !lines.is_empty() {
                lines.push(Line::new(""));
            }
            lines.push(Line::new(escaped(&section.title)).styled(HEADING));
            lines.extend(section.facts.iter().map(fact));
        }
        lines.push(Line::new(""));
        if self.is_good() {
            lines.push(Line::new("Nothing is wrong."))
        } else {
            lines.push(Line::new("Problems").styled(WRONG.bold()))
        }
        for (number, (what, remedy)) in (1..).zip(&self.problems) {
            let texts = what.lines().chain(remedy.lines()).map(escaped);
            for (at, text) in texts.enumerate() {
                let line = match at {
                    0 => Line::new(format!("  {number}. {text}")).styled(WRONG),
                    _ => Line::new(format!("     {text}")),
                };
                lines.push(Line { hang: 5, ..line });
            }
        }
        lines
    }
}

fn fact(fact: &FactJson) -> Line {
    let (text, hang) = match &fact.name {
        Some(name) => (format!("{name:COLUMN$} {}", fact.text), COLUMN + 3),
        None => (fact.text.clone(), 4),
    };
    let line = Line::new(format!("  {}", escaped(&text)));
    Line { hang, ..line }
}

#[cfg(test)]
mod tests {
    use super::DoctorReport;

    fn text(report: &DoctorReport) -> String {
        let lines = report.lines().into_iter();
        lines.map(|line| format!("{}\n", line.text)).collect()
    }

    #[test]
    fn a_problem_is_said_once_and_nothing_steers_the_terminal() {
        let mut report = DoctorReport::default();
        report.section("Job");
        report.fact("user", "me\x1b[31m");
        assert!(text(&report).ends_with("user         me\\x1b[31m\n\nNothing is wrong.\n"));
        report.wrong("bad\nworse", "mend it");
        report.wrong("bad\nworse", "mend it");
        let problems = "\nProblems\n  1. bad\n     worse\n     mend it\n";
        assert!(text(&report).ends_with(problems), "{}", text(&report));
    }
}
