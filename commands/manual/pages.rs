//! The manual pages of the commands, in the language of `man`.

use super::{Manual, manual};
use crate::{COMMANDS, Command, definition};
use clap::builder::Resettable;
use std::io;

/// The text that `clap_mangen` writes before each section.
const QUOTES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// All pages: the name of the file, and its content. A classic name has a page that includes the page of its
/// command.
pub(super) fn all() -> io::Result<Vec<(String, String)>> {
    let mut pages = vec![("scr.1".to_string(), overview()?)];
    for command in COMMANDS {
        let file = format!("scr-{}.1", command.name);
        let include = format!(".so man1/{file}\n");
        let classic = command.classic.iter();
        pages.extend(classic.map(|name| (format!("{name}.1"), include.clone())));
        pages.push((file, of(command)?));
    }
    Ok(pages)
}

/// The page of `scr` itself.
pub(super) fn overview() -> io::Result<String> {
    // The page has a list of commands of its own.
    let top = definition().after_help(Resettable::Reset);
    page(top.disable_help_subcommand(true), None)
}

/// The page of a command.
pub(super) fn of(command: &Command) -> io::Result<String> {
    let named = command
        .definition(command.name)
        .display_name(format!("scr-{}", command.name))
        .bin_name(format!("scr {}", command.name));
    page(named, manual(command.name))
}

fn page(mut command: clap::Command, manual: Option<&Manual>) -> io::Result<String> {
    command.build();
    if manual.is_some() {
        // Examples have a section of their own.
        command = command.after_long_help(Resettable::Reset);
    }
    let synopsis = synopsis(&command);
    let has_options = command.get_arguments().count() > 0;
    let has_commands = command.has_subcommands();
    let man = clap_mangen::Man::new(command);
    let mut bytes = Vec::new();
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    bytes.extend(synopsis.as_bytes());
    man.render_description_section(&mut bytes)?;
    if has_options {
        man.render_options_section(&mut bytes)?;
    }
    if has_commands {
        man.render_subcommands_section(&mut bytes)?;
    }
    bytes.extend(manual.map(examples).unwrap_or_default().as_bytes());
    man.render_version_section(&mut bytes)?;
    // Each section comes with the definition of quotes. Once is enough.
    let text = String::from_utf8_lossy(&bytes);
    Ok(QUOTES.to_string() + &text.replace(QUOTES, ""))
}

/// The synopsis with the values of options, which `clap_mangen` leaves out.
fn synopsis(command: &clap::Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut text = format!(".SH SYNOPSIS\n\\fB{}\\fR", plain(name));
    let is_shown = |arg: &&clap::Arg| !arg.is_hide_set();
    let options = command.get_arguments().filter(is_shown);
    let options = options.filter(|arg| !arg.is_positional());
    for arg in options.chain(command.get_positionals().filter(is_shown)) {
        text.extend([" ", &synopsis_of(arg)]);
    }
    if command.has_subcommands() {
        text.push_str(" \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]...");
    }
    text + "\n"
}

/// An argument as in a synopsis: `-p|--prefix DIR`, with `...` if it may be repeated.
fn synopsis_of(arg: &clap::Arg) -> String {
    let short = arg.get_short().map(|letter| format!("\\fB\\-{letter}\\fR"));
    let long = arg.get_long().map(|name| format!("--{name}"));
    let long = long.map(|name| format!("\\fB{}\\fR", plain(&name)));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let range = arg.get_num_args();
    let takes_values = range.is_some_and(|range| range.takes_values());
    let values = match arg.get_value_names() {
        Some(names) if takes_values => names.iter().map(ToString::to_string).collect(),
        None if takes_values => vec![arg.get_id().as_str().to_uppercase()],
        _ => Vec::new(),
    };
    let values = values.iter().map(|name| format!("\\fI{}\\fR", plain(name)));
    let mut words: Vec<String> = std::iter::once(names.join("|")).chain(values).collect();
    words.retain(|word| !word.is_empty());
    let mut text = words.join(" ");
    if !arg.is_required_set() {
        text = format!("[{text}]");
    }
    let is_repeated = matches!(arg.get_action(), clap::ArgAction::Append)
        || range.is_some_and(|range| range.max_values() > 1);
    if is_repeated { text + "..." } else { text }
}

/// Examples and related pages.
fn examples(manual: &Manual) -> String {
    let mut text = String::from(".SH EXAMPLES\n");
    for (line, what) in manual.examples {
        text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", plain(line), plain(what)));
    }
    let pages = manual.see_also.iter().map(|name| format!("scr-{name}"));
    let pages: Vec<String> = std::iter::once("scr".to_string())
        .chain(pages)
        .map(|name| format!("\\fB{}\\fR(1)", plain(&name)))
        .collect();
    text + &format!(".SH \"SEE ALSO\"\n{}\n", pages.join(", "))
}

/// The text for roff, escaped so that no part of it is a command.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let is_request = text.starts_with(['.', '\'']);
    if is_request {
        format!("\\&{text}")
    } else {
        text
    }
}
