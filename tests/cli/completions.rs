//! `scr completions`

use crate::sandbox::Sandbox;
use scr::cli::COMMANDS;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn each_shell_learns_all_commands() {
    let sandbox = Sandbox::empty();
    for (shell, mark) in [
        ("bash", "complete -F _scr_offer scr"),
        ("zsh", "#compdef scr"),
        ("fish", "complete --command scr "),
    ] {
        let script = sandbox.run(&["completions", shell]).out();
        assert!(script.contains(mark), "{shell}");
        assert!(!script.contains("NAME"), "{shell}");
        let found = offered(shell, &sandbox, "scr ");
        for command in COMMANDS {
            assert!(
                found.is_empty() || found.contains(&command.name.to_string()),
                "{shell}: {}",
                command.name
            );
        }
        let halt = offered(shell, &sandbox, "scr_halt --unset-s");
        assert!(halt.is_empty() || halt == ["--unset-seconds"], "{halt:?}");
    }
    for args in [
        &["completions"][..],
        &["completions", "tcsh"],
        &["completions", "zsh", "ls"],
    ] {
        let said = sandbox.run(args);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
    }
}

#[test]
fn a_directory_gets_a_file_for_each_name() {
    let sandbox = Sandbox::empty();
    let names = sandbox.run(&["--list-commands"]).out();
    let names: Vec<&str> = names.lines().chain(["scr"]).collect();
    for (shell, file) in [
        ("bash", (|name| name) as fn(String) -> String),
        ("zsh", |name| format!("_{name}")),
        ("fish", |name| format!("{name}.fish")),
    ] {
        let dir = sandbox.path().join(shell);
        let text = dir.to_str().unwrap();
        sandbox.run(&["completions", shell, "--dir", text]).out();
        let entries = std::fs::read_dir(&dir).unwrap();
        let found: BTreeSet<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(
            found,
            names.iter().map(|name| file(name.to_string())).collect()
        );
    }
    let error = sandbox
        .run(&["completions", "bash", "--dir", "/dev/null/x"])
        .failed();
    assert!(error.contains("/dev/null/x"), "{error}");
}

/// What a shell offers for a line, without quotes of the shell and without explanations. Empty, and
/// said so, if there is no such shell.
fn offered(shell: &str, sandbox: &Sandbox, line: &str) -> Vec<String> {
    if Command::new(shell).arg("--version").output().is_err() {
        println!("SKIPPED: completion in {shell}: it is not installed");
        return Vec::new();
    }
    let bin = sandbox.path().join("names");
    let _ = std::fs::create_dir(&bin);
    let name = line.split(' ').next().unwrap();
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scr"), bin.join(name));
    let script = sandbox.run(&["completions", shell, name]).out();
    let ask = match shell {
        // As readline does: words end at blanks outside of quotes, and at = and :.
        "bash" => {
            r#"eval "$1"; name=$2; COMP_LINE=$3; COMP_POINT=${#COMP_LINE}; shift 3; COMP_WORDS=("$@");
               COMP_CWORD=$(($# - 1)); compopt() { :; };
               function=$(complete -p "$name" | sed 's/.*-F \([^ ]*\).*/\1/');
               "$function"; printf '%s\n' "${COMPREPLY[@]}""#
        }
        "zsh" => {
            r#"eval "$1"; name=$2; shift 3; words=("$@"); CURRENT=$#;
               compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@"; };
               _scr_offer_$name"#
        }
        _ => {
            r#"source (echo $argv[1] | psub); complete --do-complete $argv[3] | string replace -r '\t.*' ''"#
        }
    };
    let mut command = Command::new(shell);
    match shell {
        "bash" => command.args(["--norc", "-c", ask, "bash"]),
        "zsh" => command.args(["-f", "-c", ask, "zsh"]),
        _ => command.args(["--no-config", "-c", ask]),
    };
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = command
        .args([&script, name, line])
        .args(split(line, shell == "bash"))
        .current_dir(sandbox.path())
        .env("PATH", path)
        .env("HOME", sandbox.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    assert_eq!(text(output.stderr), "", "{shell}: {line}");
    let lines = text(output.stdout);
    let lines = lines.lines().filter(|line| !line.is_empty());
    lines.map(str::to_string).collect()
}

/// The words of a line with their quotes.
fn split(line: &str, at_signs: bool) -> Vec<String> {
    let (mut words, mut quote, mut escaped) = (vec![String::new()], None, false);
    for letter in line.chars() {
        let last = words.last_mut().unwrap();
        match (letter, quote) {
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            (' ', None) => {
                words.push(String::new());
                continue;
            }
            ('=' | ':', None) if at_signs => {
                if last.is_empty() {
                    last.push(letter)
                } else {
                    words.push(letter.to_string())
                }
                words.push(String::new());
                continue;
            }
            _ => {}
        }
        words.last_mut().unwrap().push(letter);
    }
    words
}

/// A prefix directory below `sandbox` with datasets of these names.
fn datasets(sandbox: &Sandbox, dir: &str, names: &[&str]) {
    let dir = sandbox.path().join(dir).join(".scr");
    std::fs::create_dir_all(&dir).unwrap();
    let mut index = scr::format::index::Index::default();
    for (id, name) in (1..).zip(names) {
        index.set_complete(
            scr::format::Dataset {
                id,
                name: scr::format::Name::new(name.as_bytes()),
                flag_ckpt: *name != "output",
                flag_output: *name == "output",
                ..Default::default()
            },
            "2026-11-21T00:50:00",
        );
    }
    let files = scr::store::posix::Posix;
    index.write(&files, &dir.join("index.scr")).unwrap();
}

#[test]
fn each_shell_offers_commands_options_and_files() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.path().join("some dir")).unwrap();
    for shell in ["bash", "zsh", "fish"] {
        for (line, expected) in [
            ("scr doc", "doctor"),
            ("scr doctor --si", "--size"),
            ("scr_index --drop-a", "--drop-after"),
            ("scr completions ba", "bash"),
            ("scr_print --mode t", "tree"),
        ] {
            let found = offered(shell, &sandbox, line);
            assert!(
                found.is_empty() || found == [expected],
                "{shell}: {line}: {found:?}"
            );
        }
        let found = offered(shell, &sandbox, "scr doctor --prefix so");
        let path = if shell == "bash" {
            "some\\ dir/"
        } else {
            "some dir/"
        };
        let plain = |found: &str| found.replace("\\ ", " ") == path.replace("\\ ", " ");
        assert!(found.iter().all(|found| plain(found)), "{shell}: {found:?}");
    }
}

#[test]
fn each_shell_offers_the_datasets_of_the_prefix_directory() {
    let sandbox = Sandbox::empty();
    let names = ["ck.1", "ck:2", "my ck", "it's", "output", "a=b"];
    datasets(&sandbox, ".", &names);
    datasets(&sandbox, "other dir", &["other"]);
    for shell in ["bash", "zsh", "fish"] {
        if offered(shell, &sandbox, "scr doc").is_empty() {
            continue;
        }
        let check = |line: &str, mut expected: Vec<&str>| {
            let mut found = offered(shell, &sandbox, line);
            if shell != "bash" {
                found
                    .iter_mut()
                    .for_each(|word| *word = word.replace('\\', ""));
            }
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{shell}: {line}");
        };
        let quoted = |name: &'static str| match (shell, name) {
            ("bash", "my ck") => "my\\ ck",
            ("bash", "it's") => "it\\'s",
            _ => name,
        };
        check(
            "scr index --drop ",
            names.iter().map(|name| quoted(name)).collect(),
        );
        let checkpoints = names.iter().filter(|name| **name != "output");
        check(
            "scr_index --current ",
            checkpoints.map(|name| quoted(name)).collect(),
        );
        check("scr index --drop m", vec![quoted("my ck")]);
        check("scr index --drop my\\ ", vec![quoted("my ck")]);
        check("scr index --drop \"my ", vec!["my ck"]);
        check("scr index --drop ck.", vec!["ck.1"]);
        check("scr index --prefix other\\ dir --drop o", vec!["other"]);
        check("scr index --prefix nowhere --drop o", vec![]);
        check("scr index --build ", vec!["1", "2", "3", "4", "5", "6"]);
        check("scr extract o", vec!["output"]);
        if shell == "bash" {
            check("scr index --drop ck:", vec!["2"]);
            check("scr index --drop=ck", vec!["ck.1", "ck:2"]);
            check("scr index --drop=a", vec!["a=b"]);
        }
    }
}
