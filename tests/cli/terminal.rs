//! Output on a terminal: it fits the width, and is coloured unless NO_COLOR is set. CLICOLOR_FORCE colours it anywhere.

use crate::sandbox::{Sandbox, program, said};
use std::process::Command;

/// The output of `scr ARGS` on a terminal of 50 columns, without the carriage returns of the terminal;
/// `None` if there is no program `script` to make one.
fn on_terminal(sandbox: &Sandbox, no_color: bool, args: &str) -> Option<String> {
    if Command::new("script").arg("--version").output().is_err() {
        println!("SKIPPED: there is no program script, which makes a terminal");
        return None;
    }
    let scr = program("scr", &[]);
    let line = format!(
        "stty rows 40 cols 50; exec '{}' {args}",
        env!("CARGO_BIN_EXE_scr")
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    for (name, value) in scr.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    command.env_remove("COLUMNS").env("SHELL", "/bin/sh");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let output = command
        .stdin(std::process::Stdio::null())
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    Some(said(output).out.replace('\r', ""))
}

/// Without the colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_string();
    let rest = parts.map(|part| part.split_once('m').unwrap().1);
    first + &rest.collect::<String>()
}

/// With a 0 for each digit: `scr doctor` shows the free space, which other tests change.
fn still(text: &str) -> String {
    let digit = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
    text.chars().map(digit).collect()
}

#[test]
fn tables_fit_the_terminal_and_are_whole_elsewhere() {
    let sandbox = Sandbox::of("output");
    let long = "a name of some words ".repeat(5) + &"x".repeat(120);
    let path = sandbox.path().join(".scr/index.scr");
    let files = scr::store::posix::Posix;
    let mut index = scr::format::index::Index::read(&files, &path).unwrap();
    index.add(scr::format::Dataset {
        id: 99,
        name: scr::format::Name::new(long.as_bytes()),
        flag_ckpt: true,
        ..Default::default()
    });
    index.write(&files, &path).unwrap();
    for args in [
        "index",
        "index --long",
        "doctor",
        "params",
        "--help",
        "index --help",
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let piped = sandbox.run(&words).out;
        assert!(!piped.contains('\x1b'), "{args}: {piped}");
        assert!(piped.lines().any(|line| line.len() > 50), "{args}: {piped}");
        let Some(coloured) = on_terminal(&sandbox, false, args) else {
            return;
        };
        assert!(coloured.contains("\x1b["), "{args}: {coloured}");
        let fitted = on_terminal(&sandbox, true, args).unwrap();
        assert!(!fitted.contains('\x1b'), "{args}: {fitted}");
        assert_eq!(still(&plain(&coloured)), still(&fitted), "{args}");
        let wide = fitted.lines().find(|line| line.chars().count() > 50);
        // clap does not cut words.
        let cut = wide.is_none_or(|line| !line.trim().contains(' '));
        assert!(cut, "{args}: {wide:?}");
    }
    let list = sandbox.run(&["index"]).out();
    assert!(list.contains(&format!("{long}\n")), "{list}");
    for args in ["index", "index --long"] {
        let words: Vec<&str> = args.split(' ').collect();
        let list = sandbox.run(&words).out();
        let fitted = on_terminal(&sandbox, true, args).unwrap();
        let fits = |line: &str| line.chars().count() <= 50;
        assert!(fitted.lines().all(fits), "{fitted}");
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(letters(&fitted), letters(&list));
    }
    let mut forced = program("scr", &["index"]);
    forced.current_dir(sandbox.path()).env_remove("NO_COLOR");
    let forced = said(forced.env("CLICOLOR_FORCE", "1").output().unwrap());
    assert!(forced.out.contains('\x1b'), "{}", forced.out);
    assert_eq!(plain(&forced.out), list);
    let json = on_terminal(&sandbox, false, "index --json").unwrap();
    assert_eq!(json, sandbox.run(&["index", "--json"]).out());
}
