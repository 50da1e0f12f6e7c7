//! Decisions that only the site makes, by two parameters of the system configuration file.

use super::layer::Value;
use super::layers::{Config, ConfigSource};
use super::system_file::{ALLOWED_BASES, ALWAYS, SITE_ONLY};
use super::table;
use super::value::{Typed, ValueKind};
use crate::job::Environment;
use crate::messages::{BASE_NOT_ALLOWED, SITE_KEEPS};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

impl Config {
    /// The place where the site says that users cannot set `name`: "FILE:LINE"; `None` if they can.
    pub fn site_only(&self, name: &str) -> Option<&str> {
        if let Some(always) = ALWAYS.iter().find(|always| **always == name) {
            return self.of_site(always).map(|value| &*value.place);
        }
        let list = self.of_site(SITE_ONLY)?;
        let mut listed = names(&list.text);
        listed.any(|one| one == name).then_some(&*list.place)
    }

    /// True if a user's value of `name` has no effect.
    pub(super) fn is_of_site(&self, name: &str) -> bool {
        ALWAYS.contains(&name) || self.site_only(name).is_some()
    }

    /// The environment of a process without the variables that the site does not leave to users.
    /// Code that looks into the environment for a parameter looks into this one.
    pub fn permitted(&self, environment: Environment) -> Environment {
        match self.of_site(SITE_ONLY) {
            Some(_) => environment.without(|name| self.is_of_site(name)),
            None => environment,
        }
    }

    /// True if a user's value of a child has no effect: it would replace a parameter of the site, which
    /// the table has as the child's default.
    pub(super) fn is_child_of_site(&self, parent: &str, default: &str) -> bool {
        let source = self.source_of_items(parent);
        source.is_some_and(|source| source != ConfigSource::System)
            && table::parameter(default).is_some()
            && self.is_of_site(default)
    }

    /// A value in the system configuration file.
    fn of_site(&self, name: &str) -> Option<&Value> {
        self.system.plain.get(name)
    }

    /// True if the system configuration file limits the settings of users.
    pub(super) fn has_limits(&self) -> bool {
        ALWAYS.iter().any(|name| self.of_site(name).is_some())
    }

    /// Checks that the site allows the base directory `dir`, which `name` at `place` has chosen. Links
    /// are followed, since they may lead out of the directories that are allowed. Reads the file system
    /// only if the site has such a list. Local.
    ///
    /// # Errors
    /// The directory is not in an allowed one, or the list cannot be read.
    pub(super) fn check_base(&self, name: &str, place: &str, dir: &Path) -> Result<()> {
        let Some(list) = self.of_site(ALLOWED_BASES) else {
            return Ok(());
        };
        let allowed = match self.convert(ALLOWED_BASES, list, &ValueKind::Directories)? {
            Typed::Text(text) => text,
            _ => return Ok(()),
        };
        let found = real(dir);
        if allowed
            .split(':')
            .any(|one| found.starts_with(real(Path::new(one))))
        {
            return Ok(());
        }
        let led = if found == dir {
            String::new()
        } else {
            format!(", which is {}", found.display())
        };
        Err(Error::config(
            place,
            format!(
                "{name} is {}{led}, but this site allows only directories in {} \
                 ({ALLOWED_BASES}, {}); choose one of these, or one below them ({BASE_NOT_ALLOWED})",
                dir.display(),
                allowed.replace(':', ", "),
                list.place
            ),
        ))
    }

    /// Warnings about settings that the site does not leave to users, and about the site's list.
    pub(super) fn notes_of_site(&self) -> impl Iterator<Item = String> {
        let layers = self.layers().into_iter();
        let users = layers.filter(|(source, _)| *source != ConfigSource::System);
        let settings = users.flat_map(move |(_, layer)| {
            let plain = layer.plain.iter();
            let plain = plain.filter_map(move |(name, value)| self.note_ignored(name, value));
            let lines = layer.items.iter();
            let lines = lines.flat_map(move |(parent, items)| {
                let of_site = self.site_only(parent);
                items.values().filter_map(move |item| {
                    Some(ignored(
                        &item.place,
                        parent,
                        of_site?,
                        "the lines there count",
                    ))
                })
            });
            plain.chain(lines)
        });
        let children = table::MULTIS.iter().flat_map(move |multi| {
            let fixed = |default| self.is_child_of_site(multi.name, default);
            let fixed = multi.children.iter().filter(move |c| fixed(c.default));
            fixed.flat_map(move |child| {
                let items = self.items(multi.name);
                items.filter_map(move |item| {
                    let value = item.children.get(child.name)?;
                    let name = format!("{} of {}={}", child.name, multi.name, item.key);
                    let counts = format!("{} counts", child.default);
                    let by = self.site_only(child.default)?;
                    Some(ignored(&value.place, &name, by, &counts))
                })
            })
        });
        let list = self.of_site(SITE_ONLY).into_iter();
        let unknown = list.flat_map(|list| {
            let strange =
                names(&list.text).filter(|name| !table::names().any(|known| known == name));
            strange.map(|name| {
                let near = table::nearest(&name, table::names());
                let near = near.map(|near| format!("; did you mean {near}?"));
                format!(
                    "{}: {SITE_ONLY} has {name}, which is no parameter{}",
                    list.place,
                    near.unwrap_or_default()
                )
            })
        });
        settings.chain(children).chain(unknown)
    }

    /// The warning about a user's value that has no effect and differs from the one that counts.
    fn note_ignored(&self, name: &str, value: &Value) -> Option<String> {
        let by = self.site_only(name).filter(|_| !ALWAYS.contains(&name))?;
        let counts = self.of_site(name);
        if counts.is_some_and(|counts| counts.text == value.text) {
            return None;
        }
        // The values are not shown: one may be a password.
        let counts = match counts {
            Some(counts) => format!("the value of {} counts", counts.place),
            None => "its default counts".to_string(),
        };
        Some(ignored(&value.place, name, by, &counts))
    }
}

fn ignored(place: &str, name: &str, by: &str, counts: &str) -> String {
    format!(
        "{place}: {name} is ignored, as only the site sets it ({SITE_ONLY}, {by}); {counts} ({SITE_KEEPS})"
    )
}

/// The names in the value of [`SITE_ONLY`].
fn names(list: &str) -> impl Iterator<Item = String> {
    let names = list.split(|c: char| c == ',' || c.is_ascii_whitespace());
    names
        .filter(|name| !name.is_empty())
        .map(str::to_ascii_uppercase)
}

/// `dir` with all links followed in the part of the path that exists.
fn real(dir: &Path) -> PathBuf {
    let existing = dir.ancestors().find_map(|part| {
        let rest = dir.strip_prefix(part).ok()?;
        Some(std::fs::canonicalize(part).ok()?.join(rest))
    });
    let found = existing.unwrap_or_else(|| dir.to_path_buf());
    // `components` also drops the slash at the end that an empty rest leaves.
    found.components().collect()
}
