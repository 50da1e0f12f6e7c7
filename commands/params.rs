//! `scr params`: lists the parameters and their values.

use super::call::{Failure, Invocation};
use super::configuration::load;
use super::job::configuration_files;
use super::json::{self, object};
use super::terminal::{HEADING, Line};
use super::{Outcome, RunCommand};
use scr_engine::Error;
use scr_engine::config::table::{
    ChildParameter, Effect, MULTIS, Multi, PARAMETERS, Parameter, SECRET, names, nearest,
};
use scr_engine::config::{Config, ConfigItem};
use scr_engine::text::escaped;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// List the parameters, their values and where they were set
///
/// Prints the paths of the configuration files, and each parameter with its value, the place where
/// it was set, its default and its meaning.
/// Values are those for a job in this environment and prefix directory, and those that the program
/// of the last run set with SCR_Config.
///
/// Exit status: 0 printed, 1 a configuration file cannot be read or a parameter has a bad value.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Only parameters that are set
    #[arg(short, long)]
    set: bool,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long)]
    json: bool,
    /// Only these parameters
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let wanted = self.wanted()?;
        let (mut config, problems) = load(self.prefix.as_deref())?;
        let mut code = ExitCode::SUCCESS;
        let (mut files, mut parameters, mut lists) = (Vec::new(), Vec::new(), Vec::new());
        for file in configuration_files(&config)? {
            if self.json {
                files.push(object! {
                    kind: file.kind,
                    path: file.path.to_string_lossy().into_owned(),
                    exists: file.exists,
                });
            } else if self.names.is_empty() {
                let text = file.to_string();
                call.show(&[Line::new(format!("{}: {}", file.title(), escaped(&text)))])?;
            }
        }
        for p in PARAMETERS.iter().filter(|p| wanted(p.name)) {
            if self.set && config.find(p.name).is_none() {
                continue;
            }
            let error = config.typed(p).err();
            if self.json {
                parameters.push(self.plain_json(&config, p, &error))
            } else {
                call.show(&lines(&self.plain(&config, p)))?
            }
            if let Some(error) = error {
                call.error(&error);
                code = ExitCode::FAILURE;
            }
        }
        for m in MULTIS.iter().filter(|m| wanted(m.name)) {
            if self.set && config.items(m.name).len() == 0 {
                continue;
            }
            if self.json {
                lists.push(items_json(&config, m))
            } else {
                call.show(&lines(&items(&config, m)))?
            }
        }
        if self.json {
            let list = object! { files: files, parameters: parameters, lines: lists };
            json::print(call, "params", list)?;
        }
        for problem in problems.into_iter().chain(config.take_warnings()) {
            call.warn(&problem);
        }
        Ok(code)
    }
}

impl Options {
    fn wanted(&self) -> Result<impl Fn(&str) -> bool, Failure> {
        let chosen: Vec<String> = self.names.iter().map(|n| n.to_ascii_uppercase()).collect();
        for name in &chosen {
            if !names().any(|known| known == name) {
                let near = nearest(name, names()).map(|near| format!("; did you mean {near}?"));
                return Err(Failure::said(format!(
                    "there is no parameter {}{}",
                    escaped(name),
                    near.unwrap_or_default()
                )));
            }
        }
        Ok(move |name: &str| chosen.is_empty() || chosen.iter().any(|chosen| chosen == name))
    }

    fn origin(&self, config: &Config, p: &Parameter) -> String {
        match &self.prefix {
            Some(_) if p.name == "SCR_PREFIX" => "command line".to_string(),
            _ => config.origin(p.name),
        }
    }

    fn plain_json(
        &self,
        config: &Config,
        p: &'static Parameter,
        error: &Option<Error>,
    ) -> impl Serialize + use<> {
        let set = config.find(p.name);
        let value = set.map(|(_, value)| {
            let expanded = config.expand(p.name, value);
            expanded.unwrap_or_else(|_| value.text.clone())
        });
        let given = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        let (effect, effect_note) = effect_words(p.effect);
        object! {
            name: p.name,
            set: set.is_some(),
            value: value.filter(|_| p.name != SECRET),
            hidden: p.name == SECRET,
            set_in: set.map(|_| self.origin(config, p)),
            default: given(p.default),
            allowed: p.kind.allowed(),
            unit: given(p.unit),
            effect: effect,
            effect_note: effect_note,
            site_only: config.site_only(p.name).map(str::to_string),
            error: error.as_ref().map(ToString::to_string),
            doc: p.doc,
        }
    }

    fn plain(&self, config: &Config, p: &Parameter) -> String {
        let origin = self.origin(config, p);
        let (value, origin) = match shown(config, p) {
            Some(value) => (value, format!("set in: {origin}; default")),
            None if p.default.is_empty() => ("(not set)".to_string(), "default".to_string()),
            None => (p.default.to_string(), "default".to_string()),
        };
        let default = match p.default {
            "" => "none",
            text => text,
        };
        let unit = match p.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        format!(
            "{} = {value}\n    {origin}: {default}; values: {}{unit}\n    {}\n{}{}",
            p.name,
            p.kind.allowed(),
            p.doc,
            effect(p.effect),
            site_only(config, p.name)
        )
    }
}

/// The lines of a text: names and values, each followed by its facts.
fn lines(text: &str) -> Vec<Line> {
    let line = |text: &str| {
        if text.starts_with(' ') {
            Line::new(text)
        } else {
            Line::new(text).styled(HEADING)
        }
    };
    text.lines().map(line).collect()
}

/// The value to show of a parameter; `None` if it is not set.
pub(super) fn shown(config: &Config, p: &Parameter) -> Option<String> {
    let (_, value) = config.find(p.name)?;
    let expanded = config.expand(p.name, value);
    Some(match p.name {
        SECRET => "(not shown)".to_string(),
        _ => escaped(&expanded.unwrap_or_else(|_| value.text.clone())).into_owned(),
    })
}

/// An item in the form of a configuration file.
pub(super) fn line(m: &Multi, item: &ConfigItem) -> String {
    let mut line = format!("{}={}", m.name, escaped(&item.key));
    for (name, value) in &item.children {
        line.push_str(&format!(" {name}={}", escaped(&value.text)));
    }
    line
}

fn items(config: &Config, m: &Multi) -> String {
    let mut text = String::new();
    for item in config.items(m.name) {
        text.push_str(&format!("{}\n    set in: {}\n", line(m, item), item.place));
    }
    if text.is_empty() {
        text = format!("{}={} (not set)\n", m.name, m.key);
    }
    for child in m.children {
        text.push_str(&format!(
            "    {}: {} Default: {}. Values: {}.\n",
            child.name,
            child.doc,
            child.default,
            child.kind.allowed()
        ));
    }
    let site_only = site_only(config, m.name);
    format!("{text}    {}\n{}{site_only}", m.doc, effect(m.effect))
}

fn items_json(config: &Config, m: &'static Multi) -> impl Serialize + use<> {
    let item = |item: &ConfigItem| {
        let values = item.children.iter();
        object! {
            key: item.key.clone(),
            values: values
                .map(|(name, value)| (name.clone(), value.text.clone()))
                .collect::<BTreeMap<_, _>>(),
            set_in: item.place.clone(),
        }
    };
    let child = |child: &'static ChildParameter| {
        object! {
            name: child.name,
            default: child.default,
            allowed: child.kind.allowed(),
            doc: child.doc,
        }
    };
    let (effect, effect_note) = effect_words(m.effect);
    object! {
        name: m.name,
        key: m.key,
        items: config.items(m.name).map(item).collect::<Vec<_>>(),
        children: m.children.iter().map(child).collect::<Vec<_>>(),
        effect: effect,
        effect_note: effect_note,
        site_only: config.site_only(m.name).map(str::to_string),
        doc: m.doc,
    }
}

/// The effect of a parameter as one word, and the reason if it has no effect.
fn effect_words(effect: Effect) -> (&'static str, Option<&'static str>) {
    match effect {
        Effect::Works => ("works", None),
        Effect::None(why) => ("none", Some(why)),
    }
}

/// The line that says that users cannot set a parameter.
fn site_only(config: &Config, name: &str) -> String {
    match config.site_only(name) {
        Some(place) => format!("    Only the site sets it: {}.\n", escaped(place)),
        None => String::new(),
    }
}

fn effect(effect: Effect) -> String {
    match effect {
        Effect::Works => String::new(),
        Effect::None(why) => format!("    No effect: {why}.\n"),
    }
}
