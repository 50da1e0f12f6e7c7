//! The candidates for one place of a command line. The scripts of `scr completions` call this
//! program with the variable [`VARIABLE`] set, and with the line as arguments. So each name of the
//! program answers for itself, and options are never older than the program.
//!
//! Options and their values come from the definitions of the commands. Names and ids of datasets come
//! from the prefix directory that the line names.

use crate::{COMMANDS, help, place};
use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use scr_engine::format::index::{Index, IndexEntry};
use scr_engine::prefix::{paths::Prefix, records};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Names the shell that asks: bash, zsh or fish.
pub(crate) const VARIABLE: &str = "_SCR_COMPLETE";

/// The arguments that take a dataset.
struct Takes {
    command: &'static str,
    /// Arguments that take the name of a dataset.
    names: &'static [&'static str],
    /// Arguments that take its id.
    ids: &'static [&'static str],
}

const TAKES: &[Takes] = &[
    Takes {
        command: "index",
        names: &["add", "drop", "drop_after", "current", "delete"],
        ids: &["build"],
    },
    Takes {
        command: "extract",
        names: &["dataset"],
        ids: &[],
    },
    Takes {
        command: "diff",
        names: &["a", "b"],
        ids: &[],
    },
    Takes {
        command: "flush-file",
        names: &[],
        ids: &["before", "need_flush", "location", "name"],
    },
    Takes {
        command: "inspect",
        names: &["fields"],
        ids: &["id"],
    },
    Takes {
        command: "copy",
        names: &[],
        ids: &["id"],
    },
    Takes {
        command: "scavenge",
        names: &[],
        ids: &["id"],
    },
];

/// Prints the candidates for a place of a line, one in a line, for zsh and fish with its meaning after
/// a tab. `arguments` are this program, the number of the word to complete, and the words of the line.
/// Mistakes print nothing: there is a user in the middle of a line.
pub(crate) fn answer(arguments: &[OsString], shell: &OsStr) -> ExitCode {
    let described = shell != "bash";
    let mut text = Vec::new();
    for candidate in candidates(arguments).unwrap_or_default() {
        let value = candidate.get_value().as_bytes();
        // Such a name cannot be typed, and would look like two names.
        if value.iter().any(u8::is_ascii_control) || candidate.is_hide_set() {
            continue;
        }
        text.extend_from_slice(value);
        if let Some(help) = candidate.get_help().filter(|_| described) {
            let help = help.to_string();
            text.extend([b"\t", help.lines().next().unwrap_or_default().as_bytes()].concat());
        }
        text.push(b'\n');
    }
    // A shell that no longer reads needs no answer.
    let _ = std::io::stdout().write_all(&text);
    ExitCode::SUCCESS
}

fn candidates(arguments: &[OsString]) -> Option<Vec<CompletionCandidate>> {
    let at: usize = arguments.get(1)?.to_str()?.parse().ok()?;
    // Shells pass words as they were typed.
    let words = arguments.get(2..)?.iter();
    let words: Vec<OsString> = words.map(|word| unquoted(word.as_bytes())).collect();
    let program = Path::new(words.first()?).file_name()?.to_str()?;
    let classic = COMMANDS.iter().find(|c| c.classic.contains(&program));
    let mut definition = match classic {
        Some(command) => with_datasets(command.definition(command.name), command.name, &words),
        None => {
            let of_line = words
                .get(1)
                .and_then(|word| TAKES.iter().find(|takes| *word == *takes.command));
            match of_line {
                None => help::definition(),
                Some(takes) => help::definition()
                    .mut_subcommand(takes.command, |c| with_datasets(c, takes.command, &words)),
            }
        }
    };
    let here = std::env::current_dir().ok();
    complete(&mut definition, words, at, here.as_deref()).ok()
}

/// The definition of a command, whose arguments offer the datasets.
fn with_datasets(definition: clap::Command, name: &str, words: &[OsString]) -> clap::Command {
    let Some(takes) = TAKES.iter().find(|takes| takes.command == name) else {
        return definition;
    };
    let prefix = prefix(name, words);
    let offer = |definition: clap::Command, argument: &'static str, by_name: bool| {
        let prefix = prefix.clone();
        let offered = move |typed: &OsStr| datasets(&prefix, typed, by_name, argument == "current");
        definition.mut_arg(argument, |arg| arg.add(ArgValueCompleter::new(offered)))
    };
    let names = takes.names.iter().map(|argument| (*argument, true));
    let ids = takes.ids.iter().map(|argument| (*argument, false));
    names
        .chain(ids)
        .fold(definition, |definition, (argument, by_name)| {
            offer(definition, argument, by_name)
        })
}

/// The prefix directory that the line names, else the one of the command without an option.
fn prefix(command: &str, words: &[OsString]) -> PathBuf {
    let options: &[&str] = match command {
        "flush-file" => &["--dir", "--prefix", "-d"],
        "copy" | "inspect" => &["--prefix", "-p", "-d"],
        _ => &["--prefix", "-p"],
    };
    let after = |option: &&str| {
        let at = words.iter().rposition(|word| word == *option);
        let joined = words.iter().rev().find_map(|word| {
            let value = word.as_bytes().strip_prefix(option.as_bytes())?;
            Some(OsStr::from_bytes(value.strip_prefix(b"=")?).to_os_string())
        });
        joined.or_else(|| words.get(at? + 1).cloned())
    };
    let named = options.iter().find_map(after);
    let of_job = || std::env::var_os("SCR_PREFIX");
    PathBuf::from(named.or_else(of_job).unwrap_or_else(|| ".".into()))
}

/// The datasets of a prefix directory whose name or id begins with the typed text, newest first.
fn datasets(
    prefix: &Path,
    typed: &OsStr,
    by_name: bool,
    checkpoints: bool,
) -> Vec<CompletionCandidate> {
    let Ok(prefix) = place::used(Some(prefix)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (id, (name, about)) in known(&prefix, checkpoints).into_iter().rev() {
        let (value, help) = match (by_name, name) {
            (true, None) => continue,
            (true, Some(name)) => (name, format!("dataset {id}, {about}")),
            (false, name) => {
                let name = name.map(|name| format!("{}, ", name.to_string_lossy()));
                (id.to_string().into(), name.unwrap_or_default() + &about)
            }
        };
        if value.as_bytes().starts_with(typed.as_bytes()) {
            let help = StyledStr::from(scr_engine::text::escaped(&help).into_owned());
            found.push(
                CompletionCandidate::new(value)
                    .help(Some(help))
                    .display_order(Some(found.len())),
            );
        }
    }
    found
}

/// Name and meaning of the datasets in the index and in the flush file, by id.
fn known(prefix: &Prefix, checkpoints: bool) -> BTreeMap<u64, (Option<OsString>, String)> {
    let (files, path) = (place::files(prefix), prefix.file("index.scr"));
    let index = Index::read(&*files, &path).unwrap_or_default();
    let flushed = records::read_flush_file(&*files, prefix).unwrap_or_default();
    let mut all = BTreeMap::new();
    for (id, entry) in flushed.datasets.iter().filter(|_| !checkpoints) {
        let name = entry.own_name().map(|name| name.as_path().into());
        all.insert(*id, (name, "cached".to_string()));
    }
    for (id, entry) in index.datasets() {
        if entry.is_checkpoint() || !checkpoints {
            let name = index.name(*id).map(|name| name.as_path().into());
            all.insert(*id, (name, state(entry).to_string()));
        }
    }
    all
}

fn state(entry: &IndexEntry) -> &'static str {
    match (entry.complete, entry.failed.is_some()) {
        (false, _) => "not complete",
        (true, true) => "a restart has failed",
        (true, false) if entry.is_checkpoint() => "checkpoint",
        (true, false) => "output",
    }
}

/// A word without the quotes of a shell, which may be open at its end.
fn unquoted(word: &[u8]) -> OsString {
    let (mut bytes, mut quote, mut escaped) = (Vec::new(), None, false);
    for &byte in word {
        match (byte, quote) {
            _ if escaped => {
                escaped = false;
                bytes.push(byte);
            }
            (b'\\', None | Some(b'"')) => escaped = true,
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            _ => bytes.push(byte),
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn quotes_are_taken_away() {
        for (typed, meant) in [
            ("ck", "ck"),
            ("", ""),
            ("a\\ b", "a b"),
            ("\"a b\"c", "a bc"),
            ("'a \\ \"b", "a \\ \"b"),
            ("\"it's", "it's"),
            ("a\\", "a"),
        ] {
            assert_eq!(unquoted(typed.as_bytes()), meant, "{typed}");
        }
    }
}
