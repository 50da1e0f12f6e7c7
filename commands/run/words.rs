//! The command line of a launch.

use super::super::call::Failure;
use scr_engine::text::quoted;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Replaced by the name of the checkpoint in `--restart-cmd`.
pub const NAME: &str = "SCR_CKPT_NAME";

/// Options that may be anywhere, with the spelling of SCR v3.1.0 and with ours.
const COMMANDS: [(&str, &str); 4] = [
    ("-rc", "--run-cmd"),
    ("-rs", "--restart-cmd"),
    ("--run-cmd", "--run-cmd"),
    ("--restart-cmd", "--restart-cmd"),
];

/// Sorts the words after the command's name: our options, then the launcher and its arguments. The
/// names `scr_srun` and similar name the launcher. Then all words belong to the launcher, except
/// `--help` and `--version` at the beginning.
pub(crate) fn arrange(name: &str, words: &[OsString]) -> Vec<OsString> {
    let launcher: &[&str] = match name {
        "scr_srun" => &["srun"],
        "scr_mpirun" => &["mpirun"],
        "scr_fluxrun" | "scr_flux_run" => &["flux", "run"],
        "scr_jsrun" => &["jsrun"],
        "scr_lrun" => &["lrun"],
        "scr_aprun" => &["aprun"],
        _ => &[],
    };
    let help = |word: &OsString| {
        ["-h", "--help", "-V", "--version"]
            .iter()
            .any(|h| word == h)
    };
    if !launcher.is_empty() && words.first().is_none_or(help) {
        return words.to_vec();
    }
    let (mut ours, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word.clone());
            rest.extend(words.by_ref().cloned());
        } else if let Some((option, value)) = command(word) {
            ours.push(option.into());
            ours.extend(value.or_else(|| words.next().cloned()));
        } else {
            rest.push(word.clone());
        }
    }
    if !launcher.is_empty() {
        ours.push("--".into());
        ours.extend(launcher.iter().map(OsString::from));
    }
    ours.extend(rest);
    ours
}

/// `--run-cmd` or `--restart-cmd`, with its value if that is part of the word.
fn command(word: &OsStr) -> Option<(&'static str, Option<OsString>)> {
    COMMANDS.iter().find_map(|(spelled, option)| {
        let rest = word.as_bytes().strip_prefix(spelled.as_bytes())?;
        match rest.strip_prefix(b"=") {
            Some(value) => Some((*option, Some(OsString::from_vec(value.to_vec())))),
            None => rest.is_empty().then_some((*option, None)),
        }
    })
}

/// Splits a command as a shell does. Nothing is expanded.
///
/// # Errors
/// A quote is not closed, or the command ends with a backslash.
pub(in super::super) fn split(text: &str) -> Result<Vec<String>, Failure> {
    shlex::split(text)
        .ok_or_else(|| Failure::said(format!("a quote in the command is not closed: {text}")))
}

/// A command line that a person can read and paste into a shell.
pub(super) fn shown(words: &[OsString]) -> String {
    let words = words.iter().map(|word| quoted(word.as_bytes()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn all_forms_come_to_the_same() {
        for (name, given, expected) in [
            ("scr_run", "srun -n4 ./a -p x", "srun -n4 ./a -p x"),
            ("scr_srun", "-n4 -p debug ./a", "-- srun -n4 -p debug ./a"),
            ("scr_srun", "--help", "--help"),
            ("scr_srun", "", ""),
            ("scr_fluxrun", "-n 4 ./a", "-- flux run -n 4 ./a"),
            (
                "run",
                "-p /x srun -rc A -n4 --restart-cmd=B",
                "--run-cmd A --restart-cmd B -p /x srun -n4",
            ),
            ("scr_mpirun", "-rs=B -n 4", "--restart-cmd B -- mpirun -n 4"),
            ("run", "srun ./a -- -rc b", "srun ./a -- -rc b"),
            ("run", "srun -rcx", "srun -rcx"),
            ("run", "srun -rc", "--run-cmd srun"),
        ] {
            assert_eq!(
                arrange(name, &words(given)),
                words(expected),
                "{name} {given}"
            );
        }
    }

    #[test]
    fn commands_are_split_as_by_a_shell() {
        for (text, expected) in [
            ("", &[][..]),
            ("  ./a  -r x ", &["./a", "-r", "x"]),
            ("./a '' \"\"", &["./a", "", ""]),
            ("./a 'b c'd \"e 'f'\"", &["./a", "b cd", "e 'f'"]),
            (r#"a\ b "c\"d\e" 'f\'"#, &["a b", r#"c"d\e"#, r"f\"]),
            ("./a # b", &["./a"]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
        for open in ["'", "a 'b", "\"", r#""\""#, "\\"] {
            assert!(split(open).is_err(), "{open}");
        }
    }

    #[test]
    fn what_is_shown_is_a_command() {
        let line = words("srun -N4 --exclude=node[1,3] ./a");
        assert_eq!(shown(&line), "srun -N4 '--exclude=node[1,3]' ./a");
        assert_eq!(
            shown(&["a b".into(), "".into(), "\u{7}".into()]),
            r"'a b' '' $'\x07'"
        );
    }
}
