//! Repair: a rank is killed in a launch that goes on without another one.

use super::super::call::Failure;
use super::super::run::Signals;
use super::follow::{Followed, Following};
use super::plan::{Kill, Placement};
use super::seen::Sessions;
use super::stage::{Counts, Ending, Launch, NODES, Stage, now};
use scr_engine::job::Environment;
use scr_engine::system::time::Instant;
use scr_jobs::launcher::{Launcher, LauncherKind};
use std::cell::Cell;
use std::ffi::OsString;
use std::time::Duration;

/// Options of Open MPI, without which it ends a launch that has lost a rank.
const WITH_FT: [&str; 2] = ["--with-ft", "ulfm"];

/// Collective components of Open MPI that do not survive a failure: docs/sessions.md.
const COLL: (&str, &str) = ("OMPI_MCA_coll", "^han,cuda");

/// New processes are on this node.
const SPARE: &str = "spare0";

/// Time that MPI has for its end. That of Open MPI can wait for ever after a failure.
const TO_END: Duration = Duration::from_secs(10);

/// Bytes.
const MOST_OF_PROGRAM: u64 = 1 << 30;
const MOST_OF_SCRIPT: u64 = 1 << 20;

/// The reason why nothing can be repaired with this launcher, if there is one.
pub(super) fn hindrance(launcher: &[OsString]) -> Option<String> {
    let word = launcher.first()?.to_string_lossy().into_owned();
    let needed = "Open MPI has User Level Failure Mitigation from version 5 on";
    match Launcher::named(&word, &Environment::of_process()) {
        Err(_) => Some(format!("{word} is of an MPI that is not known; {needed}")),
        Ok(known) if !survives(&known) => Some(format!("{word} is of {}; {needed}", known.title())),
        Ok(_) => None,
    }
}

fn survives(launcher: &Launcher) -> bool {
    let title = launcher.title();
    let version = title
        .split([' ', '.'])
        .find_map(|word| word.parse::<u32>().ok());
    launcher.kind() == LauncherKind::OpenMpi && version >= Some(5)
}

/// True if the program names the call for a repair, or a script among its arguments does. What is larger is not read: a program
/// has no such size, and an argument is input then.
pub(super) fn is_called(program: &[OsString]) -> bool {
    let names: [&[u8]; 3] = [b"SCR_Session_repair", b"scr_session_repair", b".repair("];
    let has = |bytes: &[u8]| {
        let mut names = names.iter();
        names.any(|name| bytes.windows(name.len()).any(|part| part == *name))
    };
    program.iter().enumerate().any(|(place, word)| {
        let most = if place == 0 {
            MOST_OF_PROGRAM
        } else {
            MOST_OF_SCRIPT
        };
        let is_read =
            std::fs::metadata(word).is_ok_and(|file| file.is_file() && file.len() <= most);
        is_read && std::fs::read(word).is_ok_and(|bytes| has(&bytes))
    })
}

/// The launcher with the options for a repair.
pub(super) fn launcher(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    if !words.iter().any(|word| word == WITH_FT[0]) {
        words.extend(WITH_FT.map(OsString::from));
    }
    words
}

/// Launches the program and kills a rank. The launch counts as two, one before and one after the kill.
pub(super) fn launches(
    stage: &Stage,
    place: &Placement,
    kill: &Kill,
    (limit, signals): (Duration, &mut Signals),
) -> Result<Vec<Launch>, Failure> {
    let log = stage.behind().join("output.1");
    let mut command = stage.launcher(&[], place, &log)?;
    let base = |name: &str| stage.behind().join(NODES).join(SPARE).join(name);
    // New processes do not come by the agent.
    command
        .env("SCR_NODE_NAME", SPARE)
        .env("SCR_CACHE_BASE", base("cache"))
        .env("SCR_CNTL_BASE", base("control"));
    if std::env::var_os(COLL.0).is_none() {
        command.env(COLL.0, COLL.1);
    }
    let (begun, over) = (now(), Cell::new(None::<Instant>));
    let after = |strikes: &[f64]| -> Result<Option<Sessions>, Failure> {
        let Some(at) = strikes.first() else {
            return Ok(None);
        };
        Ok(Some(stage.seen(&Counts::new(), &(*at..f64::INFINITY))?))
    };
    let is_over = |strikes: &[f64]| -> Result<bool, Failure> {
        if let Some(since) = over.get() {
            return Ok(since.elapsed() > TO_END);
        }
        if after(strikes)?.is_some_and(|seen| is_finalized(&seen)) {
            over.set(Some(Instant::now()));
        }
        Ok(false)
    };
    let following = Following {
        stage,
        kills: std::slice::from_ref(kill),
        begins: &|| Ok(vec![begun]),
        is_over: &is_over,
    };
    let Followed {
        last,
        strikes,
        ended,
        stacks,
    } = following.to_end(&mut command, (limit, signals))?;
    let part = |times: (f64, f64), ending, stacks| -> Result<Launch, Failure> {
        Ok(Launch {
            kill: Some(kill.clone()).filter(|_| times.0 == begun),
            started: place.ranks(),
            ranks: place.ranks(),
            nodes: place.nodes(),
            seconds: times.1 - times.0,
            begun: times.0,
            ended: times.1,
            log: log.clone(),
            seen: stage.seen(&Counts::new(), &(times.0..times.1))?,
            ending,
            stacks,
        })
    };
    let Some(at) = strikes.first().copied() else {
        let ending = match last {
            Ending::Code(code) => Ending::TooEarly(code),
            other => other,
        };
        return Ok(vec![part((begun, ended), ending, stacks)?]);
    };
    let mut second = part((at, ended), last, stacks)?;
    // A launcher tells of the rank that was killed, though the program has come to its end.
    if matches!(second.ending, Ending::Code(_)) && is_finalized(&second.seen) {
        second.ending = Ending::Code(0);
    }
    Ok(vec![part((begun, at), Ending::Struck, Vec::new())?, second])
}

/// True if all sessions that have begun have ended.
fn is_finalized(seen: &Sessions) -> bool {
    let mut begun = seen.begun().peekable();
    begun.peek().is_some() && begun.all(|(_, seen)| seen.finalized)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_is_found_in_a_program_and_in_a_script() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            OsString::from(path)
        };
        let plain = file("plain", b"\x7fELF SCR_Session_init\0");
        let repairs = file("repairs", b"\x7fELF\0SCR_Session_repair\0");
        let script = file("script.py", b"session.repair(comm)\n");
        let input = file("input", &[&vec![0; 1 << 20][..], b".repair("].concat());
        assert!(is_called(&[repairs]));
        assert!(is_called(&[plain.clone(), script]));
        assert!(!is_called(&[plain, input, "steps".into()]));
    }

    #[test]
    fn the_option_is_added_once() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        let with = words("mpiexec --with-ft ulfm");
        assert_eq!(launcher(&words("mpiexec")), with);
        assert_eq!(launcher(&with), with);
    }
}
