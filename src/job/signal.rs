//! Signals that may ask a run to stop: their names and numbers.

use std::ffi::c_int;

/// The words that SCR_HALT_SIGNALS may have, without `SIG`. Resource managers or users send these
/// signals before they use force; none of them means that the program itself has failed.
pub const WORDS: &[&str] = &["NONE", "HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "XCPU"];

/// The numbers of the signals in a list of [`WORDS`] with blanks between. Local.
pub fn numbers(words: &str) -> Vec<c_int> {
    words.split_whitespace().filter_map(number).collect()
}

/// `SIGTERM` and the like, for messages. Local.
pub fn name(signal: c_int) -> String {
    let word = WORDS.iter().find(|word| number(word) == Some(signal));
    word.map_or_else(|| format!("signal {signal}"), |word| format!("SIG{word}"))
}

fn number(word: &str) -> Option<c_int> {
    Some(match word {
        "HUP" => libc::SIGHUP,
        "INT" => libc::SIGINT,
        "QUIT" => libc::SIGQUIT,
        "TERM" => libc::SIGTERM,
        "USR1" => libc::SIGUSR1,
        "USR2" => libc::SIGUSR2,
        "XCPU" => libc::SIGXCPU,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{WORDS, name, numbers};
    use std::process::Command;

    #[test]
    fn every_word_but_none_is_a_signal_as_the_shell_knows_it() {
        assert!(numbers("NONE").is_empty());
        for word in WORDS.iter().filter(|word| **word != "NONE") {
            let [number] = numbers(word)[..] else {
                panic!("{word}")
            };
            let mut shell = Command::new("/bin/sh");
            let shell = shell.args(["-c", "kill -l \"$1\"", "sh"]);
            let known = shell.arg(number.to_string()).output().unwrap().stdout;
            assert_eq!(String::from_utf8(known).unwrap().trim(), *word);
            assert_eq!(name(number), format!("SIG{word}"));
        }
        assert_eq!(numbers("USR1 TERM"), [libc::SIGUSR1, libc::SIGTERM]);
        assert_eq!(name(99), "signal 99");
    }
}
