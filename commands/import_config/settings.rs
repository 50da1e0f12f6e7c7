//! An INI file whose settings are taken one after the other. Settings that were not read are
//! unknown to SCR.

use super::super::call::Failure;
use super::page::Choice;
use ini::{Ini, ParseOption};
use scr_engine::text::escaped;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

pub(super) struct Settings {
    path: PathBuf,
    entries: Vec<Entry>,
}

pub(super) struct Entry {
    /// The section in lower case; empty before the first section.
    section: String,
    name: String,
    pub value: String,
}

impl Entry {
    /// The line, as it stands in the file.
    pub fn shown(&self) -> String {
        format!("{} = {}", escaped(&self.name), escaped(&self.value))
    }
}

impl Settings {
    pub fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let option = ParseOption {
            enabled_quote: false,
            enabled_escape: false,
            ..ParseOption::default()
        };
        let ini = Ini::load_from_str_opt(text, option).map_err(|error| {
            Failure::said(format!(
                "{}:{}:{}: is not a line of a configuration file: {}",
                path.display(),
                error.line,
                error.col,
                error.msg
            ))
        })?;
        let mut entries = Vec::new();
        for (section, properties) in ini.iter() {
            for (name, value) in properties.iter() {
                entries.push(Entry {
                    section: section.unwrap_or_default().trim().to_ascii_lowercase(),
                    name: name.to_string(),
                    value: without_comment(value).to_string(),
                });
            }
        }
        Ok(Settings {
            path: path.to_path_buf(),
            entries,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn has_section(&self, section: &str) -> bool {
        self.entries.iter().any(|entry| entry.section == section)
    }

    pub fn has(&self, section: &str, name: &str) -> bool {
        self.entries.iter().any(|entry| is(entry, section, name))
    }

    /// Takes a setting, in whatever capitals; the last one of that name counts.
    pub fn take(&mut self, section: &str, name: &str) -> Option<Entry> {
        let (taken, left) = std::mem::take(&mut self.entries)
            .into_iter()
            .partition::<Vec<_>, _>(|entry| is(entry, section, name));
        self.entries = left;
        taken.into_iter().next_back()
    }

    /// Takes a setting that must be there.
    pub fn required(&mut self, section: &str, name: &str) -> Result<Entry, Failure> {
        self.take(section, name).ok_or_else(|| {
            let place = match section {
                "" => String::new(),
                section => format!("[{section}] "),
            };
            Failure::said(format!("{}: {place}{name} is missing", self.path.display()))
        })
    }

    /// Takes a number, or its default.
    pub fn number(
        &mut self,
        (section, name): (&str, &str),
        default: i64,
        allowed: RangeInclusive<i64>,
    ) -> Result<Choice, Failure> {
        let Some(entry) = self.take(section, name) else {
            return Ok(Choice {
                shown: format!("{name} is not set, so it is {default}"),
                value: default,
            });
        };
        match entry.value.parse::<i64>() {
            Ok(value) if allowed.contains(&value) => Ok(Choice {
                shown: entry.shown(),
                value,
            }),
            _ => Err(Failure::said(format!(
                "{}: {} is `{}`, and must be an integer from {} to {}",
                self.path.display(),
                entry.name,
                escaped(&entry.value),
                allowed.start(),
                allowed.end()
            ))),
        }
    }

    /// Takes a directory, as a value of a parameter of SCR. A relative path is below the directory of
    /// the file.
    pub fn directory(&mut self, section: &str, name: &str) -> Result<(String, PathBuf), Failure> {
        let entry = self.required(section, name)?;
        // SCR would replace a variable after a $, and has no way to write the $ itself.
        if entry.value.is_empty()
            || entry
                .value
                .contains(|c: char| c == '$' || c == '"' || c.is_control())
        {
            return Err(Failure::said(format!(
                "{}: {} is `{}`, which is no path that a configuration of SCR can have",
                self.path.display(),
                entry.name,
                escaped(&entry.value)
            )));
        }
        let base = self.path.parent().unwrap_or(Path::new("/"));
        let mut path = PathBuf::new();
        for part in base.join(&entry.value).components() {
            match part {
                Component::CurDir => {}
                // The component before may be a link, so .. stays.
                part => path.push(part),
            }
        }
        Ok((entry.shown(), path))
    }

    /// All entries that are left.
    pub fn rest(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }
}

fn is(entry: &Entry, section: &str, name: &str) -> bool {
    entry.section == section && entry.name.eq_ignore_ascii_case(name)
}

/// A value up to the comment after it, which begins with # or ; after a blank, as in FTI's own examples.
fn without_comment(value: &str) -> &str {
    let mut before = ' ';
    for (at, c) in value.char_indices() {
        if before.is_whitespace() && (c == '#' || c == ';') {
            return value[..at].trim();
        }
        before = c;
    }
    value.trim()
}
