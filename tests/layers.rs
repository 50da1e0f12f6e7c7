//! The layers of the code: which module may use which. Reads the paths that begin with `crate::`, `super::`,
//! `scr_engine::` or `scr_jobs::` in every file of the packages, and compares them with [`LAYERS`]. Code under `#[cfg(test)]` is
//! free.

#![allow(clippy::expect_used)] // A test may stop at what it did not expect.

#[path = "layers/methods.rs"]
mod methods;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, top layer first, each with all the modules that it uses. A module may use
/// only modules that stand below it here. `src/lib.rs`, `jobs/lib.rs` and `docs/architecture.md` have the same order.
/// `cli` is the package of the commands. Between it and the engine stand the modules of the package scr-jobs, from
/// `transfers` to `tally`.
const LAYERS: &str = "
    capi: fields session prefix config job comm format device store events error messages version system
    cli: transfers clean datasets saved_fields relaunch hang ranks health remote launcher manager hostlist variables tally \
         fields daemon scavenge policy prefix transfer cache redundancy log config job format device store events error messages text version system
    transfers: daemon prefix transfer cache format store events error text system
    clean: daemon cache job format store error text system
    datasets: scavenge prefix transfer cache redundancy comm format store error system
    saved_fields: fields prefix format store error system
    relaunch: policy format events
    hang: format
    ranks: hostlist job text system
    health: remote manager hostlist job error text system
    remote: launcher manager hostlist job error text system
    launcher: manager hostlist job error text system
    manager: hostlist job error
    hostlist: job error text
    variables: format error
    tally: store error system
    fields: session comm format device store error events system
    session: daemon scavenge policy prefix transfer cache redundancy log config job comm format store events error messages text system
    daemon: prefix transfer cache job format store error messages text system
    scavenge: prefix transfer cache redundancy format store error text system
    policy: redundancy format
    prefix: transfer config comm format store error messages text system
    transfer: comm store error messages system
    cache: redundancy comm format store error messages text
    redundancy: config comm format store error messages text system
    log: config job store events error text system
    config: job format error messages text
    job: error text system
    comm: format error messages system
    format: store error messages text system
    device: error system
    store: error messages system
    events: text version system
    error: messages text system
    messages:
    text:
    version:
    system:
";

/// The rooms of `session`, top first: the modules right below it, each with all that is below it. A room may use
/// only rooms that stand below it here. `session` itself may use all.
const ROOMS: &[&str] = &[
    "end",
    "start",
    "output",
    "manage",
    "halt",
    "restart",
    "flush",
    "locks",
    "datasets",
    "progress",
    "calls",
    "statistics",
    "log",
    "stores",
    "wait_for",
    "ids",
    "fields_state",
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
    "commands/configuration.rs",
    "commands/doctor/places.rs",
    "commands/file.rs",
    "commands/job.rs",
    "commands/place.rs",
    "commands/rebuild.rs",
    "commands/transfer/mod.rs",
];

/// A module, as its path from the root of the library: `["cli", "doctor", "places"]`.
type Module = Vec<String>;

struct Source {
    /// From the root of the repository.
    file: PathBuf,
    module: Module,
    /// The root of its package.
    package: Module,
    /// The code without its tests.
    code: Vec<TokenTree>,
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
const PACKAGES: &[(&str, Option<&str>)] = &[
    ("src", None),
    ("library", None),
    ("jobs", None),
    ("commands", Some("cli")),
];

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

/// Leaves out each item that is only for tests. Returns the names of modules in files of their own among them, too.
fn without_tests(code: TokenStream) -> (Vec<TokenTree>, Vec<String>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut tokens = code.into_iter();
    while let Some(token) = tokens.next() {
        if !matches!(&token, TokenTree::Group(group) if group.to_string() == "[cfg (test)]") {
            kept.push(token);
            continue;
        }
        kept.pop(); // The `#`.
        let mut name = None;
        for token in tokens.by_ref() {
            match token {
                TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => break,
                TokenTree::Punct(mark) if mark.as_char() == ';' => {
                    modules.extend(name);
                    break;
                }
                TokenTree::Ident(word) => name = Some(word.to_string()),
                _ => {}
            }
        }
    }
    (kept, modules)
}

/// All files that are not only for tests.
fn sources() -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for (folder, package) in PACKAGES {
        let (mut tests, before) = (BTreeSet::new(), sources.len());
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
            let code = text.parse().expect("a source file is Rust");
            let (code, test_modules) = without_tests(code);
            let test_modules = test_modules.into_iter();
            tests.extend(test_modules.map(|name| [&module[..], &[name]].concat()));
            sources.push(Source {
                file,
                module,
                package: package.clone(),
                code,
            });
        }
        let of_package = sources.split_off(before).into_iter();
        let is_test = |source: &Source| {
            (1..=source.module.len()).any(|n| tests.contains(&source.module[..n]))
        };
        sources.extend(of_package.filter(|source| !is_test(source)));
    }
    sources
}

/// Reads a path, or those of a `use` with braces: `a::{b, c::d}` is `a::b` and `a::c::d`. Returns what is left.
fn read_paths<'a>(
    code: &'a [TokenTree],
    before: &[String],
    found: &mut Vec<Module>,
) -> &'a [TokenTree] {
    let (mut path, mut rest) = (before.to_vec(), code);
    loop {
        match rest {
            [TokenTree::Ident(name), after @ ..] => {
                path.push(name.to_string());
                rest = after;
            }
            [TokenTree::Group(trees), after @ ..] if trees.delimiter() == Delimiter::Brace => {
                let trees: Vec<TokenTree> = trees.stream().into_iter().collect();
                for tree in trees.split(|token| is_mark(token, ',')) {
                    read_paths(tree, &path, found);
                }
                return after;
            }
            _ => break,
        }
        match rest {
            [a, b, after @ ..] if is_mark(a, ':') && is_mark(b, ':') => rest = after,
            _ => break,
        }
    }
    found.push(path);
    rest
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// The paths in the code that begin with one of these names, with their lines.
fn paths_from(first: &[&str], code: &[TokenTree]) -> Vec<(usize, Module)> {
    let (mut all, mut rest) = (Vec::new(), code);
    loop {
        match rest {
            [TokenTree::Ident(name), a, b, ..]
                if is_mark(a, ':')
                    && is_mark(b, ':')
                    && first.iter().any(|first| name == first) =>
            {
                let line = name.span().start().line;
                let mut found = Vec::new();
                rest = read_paths(rest, &[], &mut found);
                all.extend(found.into_iter().map(|path| (line, path)));
            }
            [TokenTree::Group(group), after @ ..] => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                // `pub(in crate::x)` is no use.
                if !matches!(inside.first(), Some(TokenTree::Ident(word)) if word == "in") {
                    all.extend(paths_from(first, &inside));
                }
                rest = after;
            }
            [_, after @ ..] => rest = after,
            [] => return all,
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

/// What a file names, by paths that begin with `crate::`, `super::`, `scr_engine::` or `scr_jobs::`.
fn uses(source: &Source, modules: &BTreeSet<Module>) -> Vec<Use> {
    let from_root = |path: Module| {
        let above = path.iter().take_while(|name| *name == "super").count();
        let start = match path[0].as_str() {
            "super" => &source.module[..source.module.len().saturating_sub(above)],
            "crate" => &source.package[..],
            _ => &[],
        };
        [start, &path[above.max(1)..]].concat()
    };
    let found = paths_from(&["crate", "super", "scr_engine", "scr_jobs"], &source.code).into_iter();
    let named = |(line, path)| Use {
        file: source.file.clone(),
        line,
        from: source.module.clone(),
        to: module_of(&from_root(path), modules),
    };
    found.map(named).collect()
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

/// The words of the text block in the documentation of `FOLDER/lib.rs`.
fn order_in_lib(folder: &str) -> Vec<String> {
    let path = root().join(folder).join("lib.rs");
    let text = fs::read_to_string(path).expect("lib.rs is text");
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
    let sources = sources();
    for folder in ["src", "jobs"] {
        let of_folder = sources.iter().filter(|one| one.file.starts_with(folder));
        let there: BTreeSet<&String> = of_folder.filter_map(|one| one.module.first()).collect();
        let listed = order
            .iter()
            .filter(|name| there.iter().any(|one| one == *name));
        let listed: Vec<&str> = listed.copied().collect();
        assert_eq!(order_in_lib(folder), listed, "{folder}/lib.rs");
    }
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
    "std::collections::hash_map::RandomState",
    "std::hash::RandomState",
    "std::process::id",
    "std::sync::Barrier",
    "std::sync::Condvar",
    "std::sync::Mutex",
    "std::sync::RwLock",
    "std::sync::mpsc",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Code that is not simulated: what lies below `Communicator` and `Files`, and what is above
/// `Session` in a process of its own.
const NOT_SIMULATED: &[&str] = &[
    "library/",
    "src/comm/solo.rs",
    "src/store/beneath.rs",
    "src/store/posix.rs",
    "src/system/",
];

#[test]
fn threads_locks_and_time_come_from_the_module_system() {
    let mut wrong = Vec::new();
    for source in &sources() {
        let file = source.file.to_string_lossy().into_owned();
        if NOT_SIMULATED.iter().any(|place| file.starts_with(place)) {
            continue;
        }
        for (line, path) in paths_from(&["std"], &source.code) {
            let path = path.join("::");
            let within = |name: &&&str| path == **name || path.starts_with(&format!("{name}::"));
            let found = OF_THE_SYSTEM.iter().find(within);
            wrong.extend(found.map(|name| format!("{file}:{line}: {name}: use the module system")));
        }
    }
    none(wrong);
}

/// The line of the first such name in the code.
fn line_of(name: &str, code: &[TokenTree]) -> Option<usize> {
    code.iter().find_map(|token| match token {
        TokenTree::Ident(word) => (word == name).then(|| word.span().start().line),
        TokenTree::Group(group) => line_of(name, &group.stream().into_iter().collect::<Vec<_>>()),
        _ => None,
    })
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
        let Some(line) = line_of("Posix", &source.code) else {
            continue;
        };
        if !REAL_FILES.contains(&file.as_str()) {
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
