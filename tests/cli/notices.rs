//! `THIRD-PARTY-NOTICES.md`, which is installed: the crates in the library and the commands, with their
//! licences. Made from `Cargo.lock` and the sources of the crates.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Linux on one architecture stands for all: the crates do not differ.
const TARGET: &str = "x86_64-unknown-linux-gnu";

const HEAD: &str = "\
# Third-party notices

<!-- Made from Cargo.lock. After a change there:
SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli --test cli -- notices -->

The library and the commands have in them the following crates, each under the licence below, which
asks that its notice goes with copies. They also have the Rust standard library, of the Rust project
contributors, under MIT or Apache 2.0 (<https://www.rust-lang.org/policies/licenses>).

| crate | version | licence | source |
|---|---|---|---|
";

/// What cargo prints; `None` with the reason if it cannot tell here.
fn cargo(args: &[&str]) -> Option<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(args)
        .current_dir(ROOT)
        .output()
        .unwrap();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        eprintln!("SKIPPED: cargo {} fails: {why}", args.join(" "));
        return None;
    }
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The crates of both the library and the commands: name and version with licence and repository.
fn crates() -> Option<BTreeMap<(String, String), (String, String)>> {
    let mut found = BTreeMap::new();
    let kinds = "normal,no-proc-macro";
    let mut args = vec![
        "tree", "--locked", "-p", "scr-rs", "--prefix", "none", "--target", TARGET,
    ];
    args.extend(["-e", kinds, "--features", "mpi,any-mpi,cli"]);
    args.extend(["--format", "{p}|{l}|{r}"]);
    for line in cargo(&args)?.lines() {
        let [package, licence, repository] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let mut words = package.split(' ');
        let (name, version) = (words.next().unwrap(), words.next().unwrap());
        // cargo marks packages that it has printed before.
        let repository = repository.trim_end_matches(" (*)");
        if !name.starts_with("scr-") {
            let version = version.trim_start_matches('v');
            found.insert(
                (name.to_string(), version.to_string()),
                (licence.to_string(), repository.to_string()),
            );
        }
    }
    Some(found)
}

/// The directories of all packages.
fn directories() -> Option<BTreeMap<(String, String), PathBuf>> {
    let mut args = vec!["metadata", "--locked", "--format-version", "1"];
    args.extend(["--filter-platform", TARGET, "--all-features"]);
    let text = cargo(&args)?;
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let entry = |package: &Value| {
        let text = |key: &str| package[key].as_str().unwrap().to_string();
        let manifest = PathBuf::from(text("manifest_path"));
        let directory = manifest.parent().unwrap().to_path_buf();
        ((text("name"), text("version")), directory)
    };
    Some(packages.iter().map(entry).collect())
}

/// The licence text of a crate: that of MIT if it has it, without differences in blanks.
fn licence(directory: &Path) -> String {
    let entries = fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<String> = files
        .iter()
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().to_uppercase();
            path.is_file() && (name.starts_with("LICENSE") || name.starts_with("COPYING"))
        })
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mit = texts
        .iter()
        .find(|text| text.contains("Permission is hereby granted"));
    let lines = mit
        .or(texts.first())
        .map(String::as_str)
        .unwrap_or_default();
    let lines: Vec<&str> = lines.lines().map(str::trim).collect();
    lines.join("\n").trim().to_string()
}

fn notices() -> Option<String> {
    let (crates, directories) = (crates()?, directories()?);
    assert!(crates.len() > 20, "{crates:?}");
    let mut out = String::from(HEAD);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, (licence_name, repository)) in &crates {
        let (name, version) = key;
        assert!(
            licence_name.contains("MIT"),
            "{name} is under {licence_name}, which these notices do not cover"
        );
        writeln!(
            out,
            "| {name} | {version} | {licence_name} | {repository} |"
        )
        .unwrap();
        let text = licence(&directories[key]);
        texts.entry(text).or_default().push(name.clone());
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    for (text, names) in texts {
        let names = names.join(", ");
        if text.is_empty() {
            writeln!(
                out,
                "\n## {names}\n\nThe crate has no file with its licence; its source has it."
            )
        } else {
            writeln!(out, "\n## {names}\n\n```text\n{text}\n```")
        }
        .unwrap();
    }
    Some(out)
}

#[test]
fn the_committed_notices_are_current() {
    let Some(notices) = notices() else {
        return;
    };
    let path = format!("{ROOT}/THIRD-PARTY-NOTICES.md");
    if std::env::var_os("SCR_WRITE_DOCS").is_some() {
        fs::write(&path, &notices).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == notices,
        "stale: run SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli --test cli, and commit"
    );
}

/// The crates that one of our packages is made of with these features, each with its own features.
fn features(package: &str, features: &str) -> Option<BTreeSet<String>> {
    let mut args = vec![
        "tree", "--locked", "-p", package, "--prefix", "none", "--target", TARGET,
    ];
    args.extend([
        "-e",
        "normal,build",
        "--no-default-features",
        "--format",
        "{p} {f}",
    ]);
    if !features.is_empty() {
        args.extend(["--features", features]);
    }
    let lines = cargo(&args)?;
    let lines = lines
        .lines()
        .map(|line| line.trim_end_matches(" (*)").trim());
    Some(lines.map(str::to_string).collect())
}

/// Else cargo compiles the engine twice for those who build the library and the commands.
#[test]
fn library_and_commands_are_made_of_one_engine() {
    let (Some(engine), Some(commands)) = (features("scr-engine", ""), features("scr-rs", "cli"))
    else {
        return;
    };
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let own: BTreeSet<String> = engine.iter().map(|line| name(line)).collect();
    assert!(own.len() > 10, "{own:?}");
    for way in ["mpi", "any-mpi"] {
        let library = features("scr-rs", way).unwrap();
        // Either has some of these crates with other features, too, for a build script.
        let same: BTreeSet<String> = library
            .intersection(&commands)
            .map(|line| name(line))
            .collect();
        let other: Vec<&String> = own.difference(&same).collect();
        assert!(other.is_empty(), "with {way} other features: {other:#?}");
    }
}
