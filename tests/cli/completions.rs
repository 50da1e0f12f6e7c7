//! `scr completions`

use crate::sandbox::Sandbox;
use scr::cli::COMMANDS;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn each_shell_learns_all_commands() {
    let sandbox = Sandbox::empty();
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef scr"),
        ("fish", "complete -c scr"),
    ] {
        let script = sandbox.run(&["completions", shell]).out();
        assert!(script.contains(mark), "{shell}");
        for command in COMMANDS {
            assert!(script.contains(command.name), "{shell}: {}", command.name);
        }
    }
    let halt = sandbox.run(&["completions", "bash", "scr_halt"]).out();
    assert!(halt.contains("--unset-seconds") && !halt.contains("--unset-nothing"));
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

/// What bash offers after these words.
fn offered(script: &str, name: &str, words: &[&str]) -> Vec<String> {
    let ask = "eval \"$1\"; shift; name=$1; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
               function=$(complete -p \"$name\" | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
               \"$function\" \"$name\" \"${*: -1}\" \"${*: -2:1}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-c", ask, "bash", script, name])
        .args(words)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    assert_eq!(text(output.stderr), "", "{words:?}");
    text(output.stdout).lines().map(str::to_string).collect()
}

#[test]
fn bash_completes() {
    let sandbox = Sandbox::empty();
    let script = sandbox.run(&["completions", "bash"]).out();
    assert_eq!(offered(&script, "scr", &["scr", "doc"]), ["doctor"]);
    assert_eq!(
        offered(&script, "scr", &["scr", "doctor", "--si"]),
        ["--size"]
    );
    let script = sandbox.run(&["completions", "bash", "scr_index"]).out();
    let options = offered(&script, "scr_index", &["scr_index", "--d"]);
    assert!(options.contains(&"--drop".to_string()), "{options:?}");
}
