//! The layers of the code: which module may use which. Reads the paths that begin with `crate::`, `super::` or
//! `scr_engine::` in every file of the packages, and compares them with [`LAYERS`]. Code under `#[cfg(test)]` is
//! free.

#![allow(clippy::expect_used)] // A test may stop at what it did not expect.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, top layer first, each with all the modules that it uses. A module may use
/// only modules that stand below it here. `src/lib.rs` and `docs/architecture.md` have the same order.
/// `cli` is the package of the commands.
const LAYERS: &str = "
    capi: session prefix config job comm format store events error messages version system
    cli: daemon scavenge policy prefix transfer cache redundancy log config job format store events error messages text version system
    session: daemon scavenge policy prefix transfer cache redundancy log config job comm format store events error messages text system
    daemon: prefix transfer cache job format store events error messages text system
    scavenge: prefix transfer cache redundancy format store error text system
    policy: redundancy format
    prefix: transfer config comm format store error messages text system
    transfer: comm store error messages system
    cache: redundancy comm format store error messages text system
    redundancy: config comm format store error messages text system
    log: config job store events error text system
    config: job format error messages text
    job: error text system
    comm: format error messages system
    format: store error text system
    store: error messages system
    events: text version system
    error: messages text
    messages:
    text:
    version:
    system:
";

/// The rooms of `session`, top first: the modules right below it, each with all that is below it. A room may use
/// only rooms that stand below it here. `session` itself may use all.
const ROOMS: &[&str] = &[
    "start",
    "output",
    "manage",
    "halt",
    "restart",
    "flush",
    "log",
    "datasets",
    "progress",
    "statistics",
    "wait_for",
    "ids",
    "run",
    "state",
];

fn layers() -> Vec<(&'static str, Vec<&'static str>)> {
    let rows = LAYERS.lines().filter_map(|row| row.split_once(':'));
    rows.map(|(name, used)| (name.trim(), used.split_whitespace().collect()))
        .collect()
}

/// The files of `commands` that may name `Posix`, the real file system. All others get the files of
/// a prefix directory, below which no link is followed, from `place::files`.
const REAL_FILES: &[&str] = &[
    "commands/caches.rs",
    "commands/check_node.rs",
    "commands/clean.rs",
    "commands/crc32.rs",
    "commands/doctor/places.rs",
    "commands/job.rs",
    "commands/place.rs",
    "commands/print.rs",
    "commands/rebuild.rs",
    "commands/transfer.rs",
];

/// A module, as its path from the root of the library: `["cli", "doctor", "places"]`.
type Module = Vec<String>;

struct Source {
    /// From the root of the repository.
    file: PathBuf,
    module: Module,
    /// The root of its package.
    package: Module,
    /// The code, without comments, texts and tests; its lines are those of the file.
    code: String,
}

/// One module that another one names.
struct Use {
    file: PathBuf,
    line: usize,
    from: Module,
    to: Module,
}

impl Use {
    fn place(&self) -> String {
        let (from, to) = (self.from.join("::"), self.to.join("::"));
        format!("{}:{}: {from} uses {to}", self.file.display(), self.line)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The packages: where their code is, and what their modules are below.
const PACKAGES: &[(&str, Option<&str>)] =
    &[("src", None), ("library", None), ("commands", Some("cli"))];

/// Files that only give what is elsewhere another path.
const OTHER_PATHS: &[&str] = &["library/lib.rs", "library/main.rs", "library/comm/mod.rs"];

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).expect("src can be listed");
    for path in entries.map(|entry| entry.expect("src can be listed").path()) {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Replaces comments and the content of texts by nothing, and keeps all ends of lines.
fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '\'' => character(rest),
            '"' => string(rest),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_string(rest),
            _ => 0,
        };
        let (skipped, kept) = match length {
            0 => (c.len_utf8(), &rest[..c.len_utf8()]),
            _ => (length, ""),
        };
        code.push_str(kept);
        code.extend(rest[..length].chars().filter(|c| *c == '\n'));
        rest = &rest[skipped..];
    }
    code
}

/// The length of the character literal with which `rest` begins; 0 if it is a lifetime.
fn character(rest: &str) -> usize {
    let inside = &rest[1..];
    let skip = match inside.strip_prefix('\\') {
        Some(_) => 2,
        None => inside.chars().next().map_or(0, char::len_utf8),
    };
    match inside.get(skip..).and_then(|after| after.find('\'')) {
        Some(0) => skip + 2,
        // '\u{...}' and '\x..'
        Some(end) if inside.starts_with('\\') && end < 9 => skip + end + 2,
        _ => 0,
    }
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    match rest[1 + hashes..].starts_with('"') {
        true => {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            let found = rest[start..].find(&end);
            found.map_or(rest.len(), |at| start + at + end.len())
        }
        false => 0,
    }
}

/// Blanks each item that is only for tests. Returns the names of modules in files of their own
/// among them, too.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let mut kept = Vec::new();
    let mut modules = Vec::new();
    // The indentation of the item that is being left out.
    let mut item: Option<String> = None;
    for line in code.lines() {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        if item.is_none() && text.starts_with("#[cfg(test)]") {
            item = Some(indent.to_string());
            kept.push("");
            continue;
        }
        let Some(outer) = &item else {
            kept.push(line);
            continue;
        };
        kept.push("");
        if indent != outer || text.starts_with("#[") {
            continue;
        }
        let declared = text
            .strip_suffix(';')
            .and_then(|text| text.split("mod ").nth(1));
        modules.extend(declared.map(str::to_string));
        if text.ends_with([';', '}', ',']) {
            item = None;
        }
    }
    (kept.join("\n"), modules)
}

/// All files that are not only for tests.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    let mut tests: BTreeSet<Module> = BTreeSet::new();
    for (folder, package) in PACKAGES {
        let package: Module = package.iter().map(ToString::to_string).collect();
        let mut files = Vec::new();
        rust_files(&root().join(folder), &mut files);
        files.sort();
        for path in files {
            let file = path
                .strip_prefix(root())
                .expect("below the root")
                .to_path_buf();
            if OTHER_PATHS.iter().any(|other| file == Path::new(other)) {
                continue;
            }
            let names = file.with_extension("");
            let names = names
                .iter()
                .skip(1)
                .map(|name| name.to_string_lossy().into_owned());
            let mut module: Module = package.iter().cloned().chain(names).collect();
            module.retain(|name| name != "mod" && name != "lib");
            let text = fs::read_to_string(&path).expect("a source file is text");
            let (code, test_modules) = without_tests(&without_comments(&text));
            let test_modules = test_modules.into_iter();
            tests.extend(test_modules.map(|name| [&module[..], &[name]].concat()));
            sources.push(Source {
                file,
                module,
                package: package.clone(),
                code,
            });
        }
    }
    sources
        .retain(|source| !(1..=source.module.len()).any(|n| tests.contains(&source.module[..n])));
    sources
}

/// The paths of a `use` with braces, or of one without: `a::{b, c::d}` is `a::b` and `a::c::d`.
/// Reads from the beginning of `code` on, and returns what is left of it.
fn paths<'a>(code: &'a str, before: &[String], found: &mut Vec<Module>) -> &'a str {
    let mut path = before.to_vec();
    let mut rest = code.trim_start();
    loop {
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside.trim_start();
            while !rest.starts_with('}') && !rest.is_empty() {
                rest = paths(rest, &path, found).trim_start();
                // A name after `as`, a comma, or what cannot be read.
                rest = rest.trim_start_matches(|c: char| c != ',' && c != '}');
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let word = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        if word == 0 {
            found.push(path);
            return rest;
        }
        path.push(rest[..word].to_string());
        rest = &rest[word..];
        match rest.strip_prefix("::") {
            Some(after) => rest = after.trim_start(),
            None => {
                found.push(path);
                return rest;
            }
        }
    }
}

/// The module that a path from the root leads to: the longest beginning of it that is one.
fn module_of(path: &[String], modules: &BTreeSet<Module>) -> Module {
    if path
        .first()
        .is_some_and(|name| name == "Error" || name == "Result")
    {
        return vec!["error".to_string()];
    }
    let length = (0..=path.len())
        .rev()
        .find(|n| modules.contains(&path[..*n]));
    path[..length.unwrap_or(0)].to_vec()
}

/// What a file names, by paths that begin with `crate::`, `super::` or `scr_engine::`.
fn uses(source: &Source, modules: &BTreeSet<Module>) -> Vec<Use> {
    let mut uses = Vec::new();
    for word in ["crate::", "super::", "scr_engine::"] {
        for (at, _) in source.code.match_indices(word) {
            let before = &source.code[..at];
            let inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            // `pub(in crate::x)` is no use, and `super::super::` was read at its first word.
            if inside || before.ends_with("(in ") {
                continue;
            }
            let line = before.matches('\n').count() + 1;
            let mut found = Vec::new();
            paths(&source.code[at..], &[], &mut found);
            for path in found {
                let mut start: Module = Vec::new();
                let mut names = &path[..];
                if word == "super::" {
                    start.clone_from(&source.module);
                    while names.first().is_some_and(|name| name == "super") {
                        start.pop();
                        names = &names[1..];
                    }
                } else {
                    if word == "crate::" {
                        start.clone_from(&source.package);
                    }
                    names = &names[1..];
                }
                let to = module_of(&[&start[..], names].concat(), modules);
                let (file, from) = (source.file.clone(), source.module.clone());
                uses.push(Use {
                    file,
                    line,
                    from,
                    to,
                });
            }
        }
    }
    uses
}

fn all_uses() -> (BTreeSet<Module>, Vec<Use>) {
    let sources = sources();
    let modules: BTreeSet<Module> = sources.iter().map(|source| source.module.clone()).collect();
    let uses = sources
        .iter()
        .flat_map(|source| uses(source, &modules))
        .collect();
    (modules, uses)
}

fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn every_module_uses_what_the_table_allows_and_all_of_it() {
    let (modules, uses) = all_uses();
    let mut wrong = Vec::new();
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    let layers = layers();
    let allowed: BTreeMap<&str, Vec<&str>> = layers.iter().cloned().collect();
    for found in &uses {
        let (Some(from), Some(to)) = (found.from.first(), found.to.first()) else {
            continue;
        };
        if from == to {
            continue;
        }
        seen.insert((from, to));
        match allowed.get(from.as_str()) {
            Some(list) if list.contains(&to.as_str()) => {}
            _ => wrong.push(format!("{}, which LAYERS does not allow", found.place())),
        }
    }
    wrong.dedup(); // Several names in one line.
    let unused = layers
        .iter()
        .flat_map(|(from, list)| list.iter().map(move |to| (*from, *to)));
    let unused = unused.filter(|pair| !seen.contains(pair));
    wrong.extend(unused.map(|(from, to)| format!("LAYERS allows {from} to use {to}; nobody does")));
    let top: BTreeSet<&str> = modules
        .iter()
        .filter_map(|m| m.first())
        .map(String::as_str)
        .collect();
    let listed: BTreeSet<&str> = layers.iter().map(|(name, _)| *name).collect();
    let differ = top.symmetric_difference(&listed);
    wrong.extend(differ.map(|name| format!("{name} is only in the packages or only in LAYERS")));
    none(wrong);
}

#[test]
fn the_table_goes_down_only() {
    let layers = layers();
    let below = |at: usize| {
        layers[at + 1..]
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
    };
    let mut wrong = Vec::new();
    for (at, (from, list)) in layers.iter().enumerate() {
        let up = list.iter().filter(|to| !below(at).contains(to));
        wrong.extend(
            up.map(|to| format!("{from} uses {to}, which does not stand below it in LAYERS")),
        );
    }
    none(wrong);
}

#[test]
fn rooms_of_the_session_use_only_rooms_below() {
    let place = |module: &Module| {
        let room = match module.as_slice() {
            [session, room, ..] if session == "session" => room,
            _ => return None,
        };
        let place = ROOMS.iter().position(|listed| listed == room);
        Some(place.unwrap_or_else(|| panic!("ROOMS lacks {room}")))
    };
    let (modules, uses) = all_uses();
    let rooms: BTreeSet<usize> = modules.iter().filter_map(place).collect();
    assert!(
        rooms.iter().copied().eq(0..ROOMS.len()),
        "ROOMS has a room that is not there"
    );
    let up = |found: &&Use| match (place(&found.from), place(&found.to)) {
        (Some(from), Some(to)) => from > to,
        _ => false,
    };
    let up = uses.iter().filter(up);
    none(
        up.map(|found| format!("{}, which stands above it in ROOMS", found.place()))
            .collect(),
    );
}

/// The words of the text block in the documentation of `src/lib.rs`.
fn order_in_lib() -> Vec<String> {
    let text = fs::read_to_string(root().join("src/lib.rs")).expect("lib.rs is text");
    let docs = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let after = docs
        .map(str::trim)
        .skip_while(|line| *line != "# Modules")
        .skip_while(|line| *line != "```text")
        .skip(1);
    let block = after.take_while(|line| *line != "```");
    block
        .flat_map(str::split_whitespace)
        .map(str::to_string)
        .collect()
}

/// The first column of the table of modules in `docs/architecture.md`.
fn order_in_architecture() -> Vec<String> {
    let path = root().join("docs/architecture.md");
    let text = fs::read_to_string(path).expect("the document is text");
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("| module |"));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    rows.filter_map(|row| row.split('`').nth(1).map(str::to_string))
        .collect()
}

#[test]
fn the_documents_have_the_order_of_the_table() {
    let layers = layers();
    let order: Vec<&str> = layers.iter().map(|(name, _)| *name).collect();
    assert_eq!(order_in_architecture(), order, "docs/architecture.md");
    let engine: Vec<&str> = order
        .into_iter()
        .filter(|name| !["capi", "cli"].contains(name))
        .collect();
    assert_eq!(order_in_lib(), engine, "src/lib.rs");
}

/// Within each folder, a file stands for itself and a folder for all in it.
#[test]
fn no_two_neighbours_use_each_other() {
    let (modules, uses) = all_uses();
    let mut between: BTreeMap<(Module, Module), String> = BTreeMap::new();
    for found in &uses {
        let common = found
            .from
            .iter()
            .zip(&found.to)
            .take_while(|(a, b)| a == b)
            .count();
        if common < found.from.len().min(found.to.len()) {
            let pair = (found.from[..=common].to_vec(), found.to[..=common].to_vec());
            between.entry(pair).or_insert_with(|| found.place());
        }
    }
    let mut wrong = Vec::new();
    for ((a, b), place) in &between {
        let back = between.get(&(b.clone(), a.clone()));
        if let Some(back) = back.filter(|_| a < b) {
            wrong.push(format!("{place}\n    and {back}"));
        }
    }
    assert!(modules.len() > 100, "the sources were found");
    none(wrong);
}

/// What waits or tells the time, and comes from the module `system` alone, so that a simulator can replace it.
const OF_THE_SYSTEM: &[&str] = &[
    "std::thread",
    "std::process::id",
    "Mutex",
    "RwLock",
    "Condvar",
    "Barrier",
    "mpsc",
    "Instant",
    "SystemTime",
    "RandomState",
];

/// Code that is not simulated: what lies below `Communicator` and `Files`, and what is above
/// `Session` in a process of its own.
const NOT_SIMULATED: &[&str] = &[
    "library/",
    "src/comm/threads/",
    "src/store/beneath.rs",
    "src/store/posix.rs",
    "src/system/",
];

/// True if the code takes `name` from the standard library: `std::sync::Mutex`, or within
/// `use std::sync::{Arc, Mutex}`.
fn takes_from_std(statement: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let of_std = |at: usize| {
        let import = statement.trim_start().starts_with("use std::");
        import
            || statement[..at].ends_with("std::sync::")
            || statement[..at].ends_with("std::time::")
    };
    statement.match_indices(name).any(|(at, _)| {
        let alone = !statement[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        alone && ends(&statement[at + name.len()..]) && (name.starts_with("std::") || of_std(at))
    })
}

#[test]
fn threads_locks_and_time_come_from_the_module_system() {
    let mut wrong = Vec::new();
    for source in &sources() {
        let file = source.file.to_string_lossy().into_owned();
        if NOT_SIMULATED.iter().any(|place| file.starts_with(place)) {
            continue;
        }
        for statement in source.code.split(';') {
            let found = OF_THE_SYSTEM
                .iter()
                .find(|name| takes_from_std(statement, name));
            wrong.extend(found.map(|name| format!("{file}: {name}: use the module system")));
        }
    }
    none(wrong);
}

#[test]
fn commands_name_the_real_file_system_only_where_they_must() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for source in sources()
        .iter()
        .filter(|source| source.file.starts_with("commands"))
    {
        let file = source.file.to_string_lossy().into_owned();
        let mut lines = source.code.lines().enumerate();
        let Some((line, _)) = lines.find(|(_, line)| line.contains("Posix")) else {
            continue;
        };
        if !REAL_FILES.contains(&file.as_str()) {
            let line = line + 1;
            wrong.push(format!(
                "{file}:{line}: names Posix; use place::files, or add it to REAL_FILES"
            ));
        }
        seen.insert(file);
    }
    let unused = REAL_FILES.iter().filter(|file| !seen.contains(**file));
    wrong.extend(unused.map(|file| format!("{file} is in REAL_FILES and does not name Posix")));
    none(wrong);
}
