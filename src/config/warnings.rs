//! Warnings about a configuration.

use super::MAX_WARNINGS;
use super::expand::expand;
use super::layer::{ConfigItem, Layer, Value};
use super::layers::{Config, ConfigSource};
use super::system_file::{ALLOWED_BASES, SITE_ONLY};
use super::table::{self, Effect};
use super::value::ValueKind;
use crate::job::Environment;
use crate::messages::{NO_EFFECT, UNKNOWN_PARAMETER};
use std::collections::BTreeSet;

/// Parameters that only some sources can set, because they tell where the other sources are, or limit
/// these.
pub(super) const EARLY: [(&str, &[ConfigSource]); 4] = [
    (SITE_ONLY, &[ConfigSource::System]),
    (ALLOWED_BASES, &[ConfigSource::System]),
    ("SCR_SYSTEM_CONF", &[ConfigSource::Environment]),
    (
        "SCR_CONF_FILE",
        &[ConfigSource::Environment, ConfigSource::Call],
    ),
];

impl Config {
    /// Warnings about settings without effect, undefined variables and differences between ranks. Each
    /// is returned once in the life of this value, and at most [`MAX_WARNINGS`] at a time.
    pub fn take_warnings(&mut self) -> Vec<String> {
        let found = std::mem::take(&mut self.problems);
        let fresh = found
            .into_iter()
            .chain(self.notes())
            .filter(|text| !self.said.contains(text));
        let mut fresh: Vec<String> = fresh.take(MAX_WARNINGS).collect();
        // Two layers or items can have the same warning.
        fresh.retain(|text| self.said.insert(text.clone()));
        fresh
    }

    /// All warnings. Lazy, because there may be many.
    fn notes(&self) -> impl Iterator<Item = String> {
        let layers = || self.layers().into_iter();
        let plain = layers().flat_map(move |(source, layer)| {
            layer
                .plain
                .iter()
                .filter_map(move |(name, value)| note_plain(source, name, value))
        });
        let items = layers().flat_map(move |(_, layer)| {
            let all = layer
                .items
                .iter()
                .flat_map(|(p, items)| items.values().map(move |i| (p, i)));
            all.flat_map(move |(parent, item)| note_item(parent, item))
        });
        let common = || {
            note_environment(&self.environment)
                .chain(plain)
                .chain(items)
                .chain(self.notes_of_site())
        };
        // Rank 0 has given all warnings except those about variables that only this process lacks.
        let told = self.undefined.as_ref();
        let common = told.is_none().then(common).into_iter().flatten();
        let here = move |variable: &str| !told.is_some_and(|names| names.contains(variable));
        let variables = layers()
            .flat_map(|(_, layer)| undefined(layer, &self.environment))
            .filter(move |(variable, _)| here(variable));
        common.chain(variables.map(|(_, text)| text))
    }

    /// Names of variables that are used and not defined in this process.
    pub(super) fn undefined_variables(&self) -> BTreeSet<String> {
        let layers = self.layers().into_iter();
        let all = layers.flat_map(|(_, layer)| undefined(layer, &self.environment));
        all.map(|(variable, _)| variable).collect()
    }
}

/// Reports only names that look like a typing error, because other software also uses the prefix SCR_.
fn note_environment(environment: &Environment) -> impl Iterator<Item = String> {
    let unknown = |n: &&str| n.starts_with("SCR_") && table::parameter(n).is_none();
    let names = environment.variables().map(|(name, _)| name);
    names.filter(unknown).filter_map(|name| {
        let near = table::nearest(name, table::names())?;
        Some(format!(
            "environment: no parameter {name}; did you mean {near}? ({UNKNOWN_PARAMETER})"
        ))
    })
}

/// Each undefined variable, with its warning.
fn undefined(layer: &Layer, environment: &Environment) -> impl Iterator<Item = (String, String)> {
    layer.texts().flat_map(|(name, text, place)| {
        let expanded = expand(text, environment).unwrap_or_default();
        expanded.undefined.into_iter().map(move |variable| {
            let text = format!("{place}: {name}: ${variable} is not defined and counts as empty");
            (variable, text)
        })
    })
}

fn note_plain(source: ConfigSource, name: &str, value: &Value) -> Option<String> {
    let place = &value.place;
    let Some(parameter) = table::parameter(name) else {
        return Some(unknown(place, "no parameter", name, table::names()));
    };
    let early = EARLY.iter().find(|(n, _)| *n == name);
    if let Some((_, sources)) = early.filter(|(_, sources)| !sources.contains(&source)) {
        let right = if sources.contains(&ConfigSource::System) {
            "the system configuration file"
        } else {
            "the environment"
        };
        return Some(format!(
            "{place}: {name} has no effect here; set it in {right} ({NO_EFFECT})"
        ));
    }
    if is_default(parameter.kind, value, parameter.default) {
        return None;
    }
    note_effect(place, name, parameter.effect)
}

/// True if a value is the default. Such a line needs no warning, since it has no effect in any
/// case.
fn is_default(kind: ValueKind, value: &Value, default: &str) -> bool {
    let default = table::parameter(default).map_or(default, |parameter| parameter.default);
    let parsed = kind.parse(&value.text);
    parsed.is_some() && parsed == kind.parse(default)
}

fn note_item(parent: &str, item: &ConfigItem) -> Vec<String> {
    let Some(multi) = table::multi(parent) else {
        return vec![unknown(&item.place, "no parameter", parent, table::names())];
    };
    let known = || multi.children.iter().map(|c| c.name);
    let strange = item
        .children
        .iter()
        .filter(|(child, _)| !multi.open && !known().any(|name| name == child.as_str()));
    let what = format!("{parent} has no");
    let strange = strange.map(|(child, value)| match (parent, child.as_str()) {
        // The setting that the user means has another name here, or belongs to another line.
        ("STORE", "TYPE") => format!(
            "{}: {what} TYPE; FLUSH says how files are moved from a store, and TYPE of a CKPT line is \
             the redundancy scheme",
            value.place
        ),
        _ => unknown(&value.place, &what, child, known()),
    });
    let children = multi.children.iter().filter_map(|child| {
        let value = item.children.get(child.name)?;
        let given = !is_default(child.kind, value, child.default);
        let name = format!("{} of {parent}", child.name);
        given.then(|| note_effect(&value.place, &name, child.effect))?
    });
    let whole = note_effect(&item.place, parent, multi.effect);
    strange.chain(whole).chain(children).collect()
}

/// The warning that `name` does not exist, with the name that may be meant.
fn unknown<'a>(
    place: &str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> String {
    match table::nearest(name, known) {
        Some(near) => format!("{place}: {what} {name}; did you mean {near}?"),
        None => format!("{place}: {what} {name}; it has no effect"),
    }
}

fn note_effect(place: &str, name: &str, effect: Effect) -> Option<String> {
    match effect {
        Effect::Works => None,
        Effect::None(why) => Some(format!(
            "{place}: {name} has no effect: {why} ({NO_EFFECT})"
        )),
    }
}
