//! What README and `docs/` say about commands and parameters: the names and options exist, and the
//! table of parameters is true about who reads what.

use scr::cli::{COMMANDS, Command, definition};
use scr::config::table::{Effect, MULTIS, PARAMETERS, ReadBy, is_key};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a directory or file of the repository with this ending.
fn files(path: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(path)];
    while let Some(path) = open.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => open.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) if path.to_string_lossy().ends_with(ending) => found.push(path),
            Err(_) => {}
        }
    }
    assert!(!found.is_empty(), "{path}");
    found
}

fn text_of(paths: &[&str], ending: &str) -> String {
    let all = paths.iter().flat_map(|path| files(path, ending));
    all.map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// The code in a page: indented lines, and what is between backquotes.
fn code(page: &str) -> Vec<String> {
    let (mut found, mut prose, mut fenced) = (Vec::new(), String::new(), false);
    for line in page.lines() {
        match line.starts_with("```") {
            true => fenced = !fenced,
            false if fenced || line.starts_with("    ") => found.push(line.trim().to_string()),
            // A span may go on in the next line.
            false => prose.extend([line, " "]),
        }
    }
    found.extend(prose.split('`').skip(1).step_by(2).map(str::to_string));
    found
}

/// The pages for users, with what they call commands by. Not those that are made from the commands.
fn pages() -> Vec<(PathBuf, Vec<String>)> {
    let mut pages = files("docs", ".md");
    pages.retain(|page| !page.ends_with("docs/commands.md"));
    pages.extend(files("README.md", ".md"));
    let read = |path: PathBuf| {
        let code = code(&fs::read_to_string(&path).unwrap());
        (path, code)
    };
    pages.into_iter().map(read).collect()
}

fn command(name: &str) -> Option<&'static Command> {
    let known = |c: &&Command| c.name == name || c.classic.contains(&name);
    COMMANDS.iter().find(known)
}

/// Letters and words by which a command's options may be called.
fn options(definition: &clap::Command) -> BTreeSet<String> {
    let of = |arg: &clap::Arg| {
        let long = arg.get_long_and_visible_aliases().unwrap_or_default();
        let short = arg.get_short_and_visible_aliases().unwrap_or_default();
        let long = long.into_iter().map(|name| format!("--{name}"));
        let short = short.into_iter().map(|letter| format!("-{letter}"));
        long.chain(short).collect::<Vec<_>>()
    };
    let mut all: BTreeSet<String> = definition.get_arguments().flat_map(of).collect();
    // Forms of SCR v3.1.0 for `scr run`.
    all.extend(["-rc", "-rs", "--help", "--version"].map(String::from));
    all
}

/// The words of a call, up to a comment, another command, or a program or launcher with options of its own.
fn words(call: &str) -> Vec<&str> {
    let ends = ["|", "||", ";", "&&", "#", "--", "srun", "mpirun", "mpiexec"];
    let words = call.split_whitespace();
    words.take_while(|word| !ends.contains(word)).collect()
}

#[test]
fn commands_and_options_in_the_documentation_exist() {
    let (mut calls, mut wrong) = (0, Vec::new());
    let fortran = text_of(&["fortran"], "");
    for (page, code) in pages() {
        for line in &code {
            let words = words(line.trim_start_matches("$ "));
            let name = match words[..] {
                ["scr", name, ..] if !name.starts_with("COMMAND") => name,
                [name, ..] if name.starts_with("scr_") && name == name.to_lowercase() => name,
                _ => continue,
            };
            // Functions of the Fortran module, patterns of names, and paths.
            let called = name.split('(').next().unwrap_or(name);
            let header = name.ends_with(".h") || name.ends_with(".hpp");
            let other = header || fortran.contains(called) || name.contains(['*', ':', '/']);
            if name.starts_with("scr_") && other {
                continue;
            }
            let name = name.trim_end_matches(".py");
            let Some(command) = command(name) else {
                wrong.push(format!("{page:?}: no command: {line}"));
                continue;
            };
            let known = options(&command.definition(command.name));
            for word in words.iter().filter(|word| word.starts_with('-')) {
                let option = word.split('=').next().unwrap();
                let number = option[1..].parse::<u64>().is_ok();
                let launches = command.name == "run" && command.name != name && name != "scr_run";
                if !(known.contains(option) || number || launches) {
                    wrong.push(format!("{page:?}: no option {option}: {line}"));
                }
            }
            calls += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(calls > 80, "{calls}");
}

#[test]
fn long_options_in_the_documentation_exist() {
    let mut known = options(&definition());
    for command in COMMANDS {
        known.extend(options(&command.definition(command.name)));
    }
    // Of launchers, schedulers, compilers and of our scripts.
    let others = [
        "--cflags",
        "--dirty",
        "--exclude",
        "--exclude_hosts",
        "--fast",
        "--host",
        "--libs",
        "--link-flag",
        "--mpi",
        "--no-binary",
        "--no-build-isolation",
        "--no-kill",
        "--nocapture",
        "--release",
        "--offline",
        "--open",
        "--path",
        "--ntasks",
        "--ntasks-per-node",
        "--nodes",
        "--requires",
        "--signal",
        "--states",
        "--time-limit",
        "--variable",
        "--build",
        "--install",
        "--test-dir",
        "--workflow",
        "--target",
        "--test",
        "--strip",
        "--strip-components",
        "--preset",
        "--list-presets",
        "--bench",
        "--no-default-features",
        "--nocapture",
        "--release",
        "--features",
        "--version",
        "--with-ft",
    ];
    let mut wrong = Vec::new();
    for (page, code) in pages() {
        for word in code
            .iter()
            .flat_map(|line| line.split([' ', '/', ',', '(', ')']))
        {
            let option = word.split(['=', ':', '`']).next().unwrap();
            let long = option.starts_with("--") && option.contains(|c: char| c.is_alphabetic());
            if long && !known.contains(option) && !others.contains(&option) {
                wrong.push(format!("{page:?}: no option {option}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names of parameters, constants, options of CMake, and variables of tests.
#[test]
fn names_in_the_documentation_exist() {
    let sources = [
        "CMakeLists.txt",
        "cmake",
        "include",
        "fortran",
        "commands",
        "jobs",
        "src/format",
        "src/policy",
    ];
    let sources = text_of(
        &[
            &sources[..],
            &[
                "library/capi",
                "scripts",
                "tests/growth",
                "tests/model",
                "tests/mpi",
                "tests/session/calls",
                "tests/simulate",
                "src/config",
                "python/scr",
                "tests/header",
            ],
        ]
        .concat(),
        "",
    );
    let mut wrong = Vec::new();
    for (page, _) in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for name in text
            .split(|c| !is_name(c))
            .filter(|name| name.starts_with("SCR_"))
        {
            let upper = name == name.to_uppercase() && !name.ends_with('_');
            // `SCR_X` is any parameter.
            if upper && !is_key(name) && !sources.contains(name) && name != "SCR_X" {
                wrong.push(format!("{page:?}: {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "no such name: {wrong:#?}");
}

/// The source code of folders and files without tests and comments, each blank one wide.
fn source(paths: &[&str], without: &[&str]) -> String {
    let paths = paths.iter().flat_map(|path| files(path, ".rs"));
    let own = |path: &PathBuf| {
        !without
            .iter()
            .any(|part| path.to_string_lossy().contains(part))
    };
    let mut code = String::new();
    for path in paths.filter(own) {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//"));
        code.extend(
            lines
                .flat_map(|line| line.split_whitespace())
                .flat_map(|word| [word, " "]),
        );
    }
    code.replace(" .", ".")
}

/// The fields of `Settings` that a parameter decides.
fn fields(settings: &str, name: &str) -> Vec<String> {
    let rows = settings.split("let settings = Settings {").nth(1).unwrap();
    let rows = rows.split(", ").map(|row| row.trim_start_matches("},"));
    let through = match name {
        "SCR_GLOBAL_RESTART" => "|| global_restart".to_string(),
        _ => format!("\"{name}\""),
    };
    let rows = rows.filter(|row| row.contains(&through));
    rows.filter_map(|row| Some(row.split_once(": ")?.0.to_string()))
        .collect()
}

#[test]
fn the_table_of_parameters_says_who_reads_what() {
    let settings = source(&["src/config/settings.rs"], &[]);
    let shared = source(
        &[
            "src/config/layers.rs",
            "src/config/log.rs",
            "src/config/site.rs",
            "src/config/system_file.rs",
        ],
        &[],
    );
    let library = source(
        &["src/session", "library/capi", "src/config/describe.rs"],
        &["testing"],
    );
    // These two show all parameters.
    let commands = source(
        &["commands", "jobs", "src/scavenge", "src/job"],
        &["commands/doctor", "commands/params", "tests"],
    );
    // Commands know directories of the cache from the descriptors.
    let descriptors = ["SCR_COPY_TYPE", "SCR_CACHE_BASE", "STORE", "CKPT"];
    let one = PARAMETERS.iter().map(|p| (p.name, p.reader, p.effect));
    let all = one.chain(MULTIS.iter().map(|m| (m.name, m.reader, m.effect)));
    for (name, reader, effect) in all {
        if !matches!(effect, Effect::Works) {
            continue;
        }
        let literal = format!("\"{name}\"");
        let fields = fields(&settings, name);
        let reads = |code: &str| {
            let field = |field: &String| {
                let used = format!("settings.{field}");
                let mut after = code
                    .match_indices(&used)
                    .map(|(at, _)| code[at + used.len()..].chars().next());
                after.any(|next| !next.is_some_and(|c| c.is_alphanumeric() || c == '_'))
            };
            code.contains(&literal) || fields.iter().any(field)
        };
        let found = match (reads(&library), reads(&commands)) {
            _ if reads(&shared) => ReadBy::Both,
            (true, true) => ReadBy::Both,
            (true, false) if descriptors.contains(&name) => ReadBy::Both,
            (true, false) => ReadBy::Library,
            (false, true) => ReadBy::Commands,
            (false, false) => panic!("nobody reads {name}"),
        };
        assert_eq!(reader, found, "{name}");
    }
}
