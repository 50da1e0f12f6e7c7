//! `scr params`: lists the parameters and their values.

use super::call::{Failure, Invocation};
use super::job::load;
use super::{Command, CommandGroup, Outcome, RunCommand};
use crate::config::table::{Effect, MULTIS, Multi, PARAMETERS, Parameter, names, nearest};
use crate::config::{Config, ConfigItem};
use crate::text::escaped;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command = Command::of::<Options>("params", &[], CommandGroup::Inspect);

/// The one parameter whose value is not shown.
const SECRET: &str = "SCR_LOG_DB_PASS";

/// List the parameters, their values and where they were set
///
/// Prints each parameter with its value, the place where it was set, its default and its meaning.
/// Values are those for a job in this environment and prefix directory, and those that the program
/// of the last run set with SCR_Config.
///
/// Exit status: 0 printed, 1 a configuration file cannot be read or a parameter has a bad value.
#[derive(clap::Args)]
struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Only parameters that are set
    #[arg(short, long)]
    set: bool,
    /// Only these parameters
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let wanted = self.wanted()?;
        let (mut config, problems) = load(self.prefix.as_deref())?;
        let mut code = ExitCode::SUCCESS;
        for p in PARAMETERS.iter().filter(|p| wanted(p.name)) {
            if self.set && config.find(p.name).is_none() {
                continue;
            }
            call.out.write_all(self.plain(&config, p).as_bytes())?;
            if let Err(error) = config.typed(p) {
                call.error(&error);
                code = ExitCode::FAILURE;
            }
        }
        for m in MULTIS.iter().filter(|m| wanted(m.name)) {
            if self.set && config.items(m.name).len() == 0 {
                continue;
            }
            call.out.write_all(items(&config, m).as_bytes())?;
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

    fn plain(&self, config: &Config, p: &Parameter) -> String {
        let origin = match &self.prefix {
            Some(_) if p.name == "SCR_PREFIX" => "command line".to_string(),
            _ => config.origin(p.name),
        };
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
            "{} = {value}\n    {origin}: {default}; values: {}{unit}\n    {}\n{}",
            p.name,
            p.kind.allowed(),
            p.doc,
            effect(p.effect)
        )
    }
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
    format!("{text}    {}\n{}", m.doc, effect(m.effect))
}

fn effect(effect: Effect) -> String {
    match effect {
        Effect::Works => String::new(),
        Effect::None(why) => format!("    No effect: {why}.\n"),
    }
}
