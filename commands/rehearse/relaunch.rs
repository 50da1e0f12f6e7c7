//! Launches by `scr run`: it finds out that a launch was killed, leaves a lost node out, and launches the program again.
//!
//! `scr run` takes a script of the stage for its launcher, which says on which nodes the ranks are and calls the launcher of the
//! user, and another script for a test of nodes, which a lost node fails.

use super::super::call::Failure;
use super::super::run::Signals;
use super::follow::{Followed, Following};
use super::plan::{Kill, Placement, Victim};
use super::rehearsal::{output, telling_line};
use super::stage::{Counts, Ending, LOST, Launch, NODES, PLACES, Stage, own_program, write_places};
use scr_engine::Error;
use scr_engine::events::Event;
use scr_engine::job::Environment;
use scr_engine::job::manager::ManagerKind;
use scr_engine::text::{excerpt, quoted};
use scr_jobs::launcher::{Launcher, LauncherKind};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, create_dir_all};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The launcher of `scr run`: it knows launchers by their names.
const LAUNCHER: &str = "mpiexec";
/// The test of nodes.
const TEST: &str = "node-test";
/// The file with the output of `scr run`.
const OUTPUT: &str = "output.run";

/// The reason of `scr run`, if this stands for a launch that it has not made.
pub(super) fn refusal(launch: &Launch) -> Option<String> {
    if !launch.log.ends_with(OUTPUT) {
        return None;
    }
    let said = output(launch);
    let reason = said.lines().find_map(|line| {
        let marks = [": no other launch: ", ": the program is not launched: "];
        marks.iter().find_map(|mark| Some(line.split_once(mark)?.1))
    });
    Some(excerpt(
        reason
            .or(telling_line(&said))
            .unwrap_or("it has not told why"),
        300,
    ))
}

/// The reason why `scr run` cannot launch the program in this directory, if there is one.
pub(super) fn hindrance(stage: &Path) -> Option<String> {
    let text = stage.to_str();
    let is_word = text.is_some_and(|text| !text.contains([',', ' ', '\t', '$']));
    (!is_word).then(|| {
        let stage = stage.display();
        format!("SCR_NODE_TESTS cannot name a file in {stage}: without blanks, commas and $ it could (--dir)")
    })
}

/// Has `scr run` launch the program, and kills the ranks of one launch after another. The launches that it made; if it made none
/// after the last kill, that is a launch that has started nothing.
pub(super) fn launches(
    stage: &Stage,
    place: &Placement,
    kills: &[Kill],
    (limit, signals): (Duration, &mut Signals),
) -> Result<Vec<Launch>, Failure> {
    let log = stage.behind().join(OUTPUT);
    let mut command = command(stage, place, kills, &log)?;
    let followed = Following {
        stage,
        kills,
        begins: &|| begins(stage),
        is_over: &|_| Ok(false),
    };
    let Followed {
        last,
        strikes,
        ended,
        stacks,
    } = followed.to_end(&mut command, (limit, signals))?;
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    let begins = begins(stage)?;
    let mut all = Vec::new();
    for (number, begun) in begins.iter().enumerate() {
        let until = begins.get(number + 1).copied();
        let times = *begun..until.unwrap_or(f64::INFINITY);
        let struck = strikes.iter().position(|at| times.contains(at));
        let left = kills.get(strikes.len()).filter(|_| until.is_none());
        let ending = match (struck, until, &last) {
            (Some(_), ..) => Ending::Struck,
            (None, Some(_), _) => Ending::Code(code_of(&said, number + 1)),
            (None, None, Ending::Code(code)) if left.is_some() => Ending::TooEarly(*code),
            (None, None, last) => last.clone(),
        };
        let over = struck.and_then(|place| strikes.get(place).copied());
        let over = over.or(until).unwrap_or(ended);
        all.push(Launch {
            kill: struck.map_or(left, |place| kills.get(place)).cloned(),
            started: match until {
                Some(_) => place.ranks(),
                None => stage.started(),
            },
            ranks: place.ranks(),
            nodes: place.nodes(),
            seconds: over - begun,
            begun: *begun,
            ended: over,
            stacks: match ending {
                Ending::Hung => stacks.clone(),
                _ => Vec::new(),
            },
            log: stage.behind().join(format!("output.{}", number + 1)),
            seen: stage.seen(&Counts::new(), &times)?,
            ending,
        });
    }
    if all
        .last()
        .is_none_or(|launch| launch.ending == Ending::Struck)
    {
        all.push(Launch {
            ending: last,
            kill: None,
            started: 0,
            ranks: place.ranks(),
            nodes: place.nodes(),
            seconds: 0.0,
            begun: ended,
            ended,
            stacks,
            log,
            seen: stage.seen(&Counts::new(), &(ended..ended))?,
        });
    }
    Ok(all)
}

/// The command that has `scr run` launch the program.
fn command(
    stage: &Stage,
    place: &Placement,
    kills: &[Kill],
    log: &Path,
) -> Result<Command, Failure> {
    let behind = stage.behind();
    let lost = behind.join(LOST);
    create_dir_all(&lost).map_err(|error| Error::io("create", &lost, error))?;
    let script = |name: &str, text: String| -> Result<PathBuf, Failure> {
        let path = behind.join(name);
        let written = std::fs::write(&path, text)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)));
        written.map_err(|error| Error::io("write", &path, error))?;
        Ok(path)
    };
    let environment = Environment::of_process();
    let launcher = script(LAUNCHER, launcher_script(stage, &environment)?)?;
    let test = script(TEST, test_script())?;
    let first = [own_program()?.into(), "run".into(), launcher.into()];
    let mut command = stage.launcher(&first, place, log)?;
    let base = |name: &str| behind.join(NODES).join("$SCR_NODE_NAME").join(name);
    let lost = kills
        .iter()
        .filter(|kill| matches!(kill.victim, Victim::Node(_)));
    let mut nodes = place.names().to_vec();
    nodes.extend((0..lost.count()).map(|number| format!("spare{number}")));
    // The nodes are emulated ones, also in a job of a resource manager.
    for name in ManagerKind::signs() {
        command.env_remove(name);
    }
    command
        .env("SCR_NODELIST", nodes.join(","))
        .env("SCR_MIN_NODES", place.nodes().to_string())
        .env("SCR_NODE_TESTS", test)
        .env("SCR_REMOTE", "LOCAL")
        .env("SCR_RUNS", (kills.len() + 1).to_string())
        .env("SCR_SETTLE_SECONDS", "0")
        .env("SCR_REQUEUE", "0")
        // Each command that scr run starts for a node gets its name.
        .env("SCR_NODE_NAME", "scr-run")
        .env("SCR_CACHE_BASE", base("cache"))
        .env("SCR_CNTL_BASE", base("control"));
    Ok(command)
}

/// It answers as the user's launcher, so that `scr run` knows the option for the nodes that are left. What shows that there is a
/// resource manager is set for the user's launcher only.
fn launcher_script(stage: &Stage, environment: &Environment) -> Result<String, Failure> {
    let word = stage.command().first().map(|word| word.to_string_lossy());
    let known = Launcher::named(&word.unwrap_or_default(), environment);
    let version = match known.map(|launcher| launcher.kind()) {
        Ok(LauncherKind::OpenMpi) => "Open MPI",
        _ => "HYDRA",
    };
    let set = ManagerKind::signs().filter_map(|name| {
        let value = environment.get_os(name)?;
        Some(format!("export {name}={}\n", quoted(value.as_bytes())))
    });
    Ok(format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit; fi\n{}\
         exec {} rehearse --as-launcher \"$(dirname \"$0\")\" -- \"$@\"\n",
        set.collect::<String>(),
        quoted(own_program()?.as_os_str().as_bytes())
    ))
}

fn test_script() -> String {
    format!(
        "#!/bin/sh\n[ -e \"$(dirname \"$0\")/{LOST}/$SCR_NODE_NAME\" ] || exit 0\necho 'the rehearsal has killed it'\nexit 1\n"
    )
}

/// The times at which `scr run` began its launches.
fn begins(stage: &Stage) -> Result<Vec<f64>, Failure> {
    let logs = stage.read_logs(&Counts::new())?;
    let records = logs.get("").into_iter().flatten();
    let begins = records.filter(|record| record.event == Event::RunStart);
    Ok(begins.map(|record| record.at()).collect())
}

/// The exit code of a launch, in the words of `scr run`; 1 if it has not told.
fn code_of(said: &str, number: usize) -> i32 {
    let words = format!(": launch {number} ended with exit code ");
    let code = said.lines().find_map(|line| {
        let rest = line.split_once(&words)?.1;
        rest.split(' ').next()?.parse().ok()
    });
    code.unwrap_or(1)
}

/// Becomes the launcher of the user, with the ranks on the nodes that `scr run` has left. Returns only if that fails.
pub(super) fn become_launcher(stage: &Path, words: &[OsString]) -> Failure {
    match launcher_of(stage, words) {
        Ok((word, mut command)) => Error::io("run", word, command.exec()).into(),
        Err(failure) => failure,
    }
}

fn launcher_of(stage: &Path, words: &[OsString]) -> Result<(OsString, Command), Failure> {
    let places = stage.join(PLACES);
    let text = std::fs::read_to_string(&places);
    let text = text.map_err(|error| Error::io("read", &places, error))?;
    let nodes = text.lines().collect::<BTreeSet<_>>().len();
    let (left, words) = match words {
        [option, hosts, rest @ ..] if option == "-hosts" || option == "--host" => {
            (hosts.to_string_lossy().into_owned(), rest)
        }
        all => (std::env::var("SCR_NODELIST").unwrap_or_default(), all),
    };
    let left = left.split(',').map(|host| host.trim_end_matches(":*"));
    let left: Vec<String> = left.map(String::from).take(nodes).collect();
    let is_lost = |node: &&String| stage.join(LOST).join(node).exists();
    let lost = left.iter().find(is_lost).cloned();
    write_places(stage, &Placement::on(text.lines().count(), left))?;
    let (word, rest) = words
        .split_first()
        .ok_or_else(|| Failure::said("there is no launcher"))?;
    let mut number = 1;
    let mut log = loop {
        let path = stage.join(format!("output.{number}"));
        match File::create_new(&path) {
            Ok(file) => break file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(Error::io("create", path, error).into()),
        }
    };
    if let Some(node) = lost {
        let why = format!("node {node} is lost, and cannot be reached");
        // Where the words of a launcher are.
        let _ = writeln!(log, "{why}");
        return Err(Failure::said(why));
    }
    let second = log.try_clone();
    let second = second.map_err(|error| Error::io("open", "the output of a launch", error))?;
    let mut command = Command::new(word);
    command.args(rest).stdout(log).stderr(second);
    Ok((word.clone(), command))
}

#[cfg(test)]
mod tests {
    use super::super::stage::PIDS;
    use super::*;

    #[test]
    fn the_ranks_are_on_the_nodes_that_are_left() {
        let stage = tempfile::tempdir().unwrap();
        std::fs::create_dir(stage.path().join(PIDS)).unwrap();
        let places = stage.path().join(PLACES);
        for (option, hosts, placed) in [
            ("-hosts", "n1,spare0,spare1", "n1 n1 spare0 spare0"),
            ("--host", "n0:*,spare0:*", "n0 n0 spare0 spare0"),
        ] {
            std::fs::write(&places, "n0\nn0\nn1\nn1\n").unwrap();
            let words = [option, hosts, "mpiexec", "-n", "4"].map(OsString::from);
            let (word, command) = launcher_of(stage.path(), &words).unwrap();
            assert_eq!((word, command.get_args().count()), ("mpiexec".into(), 2));
            let text = std::fs::read_to_string(&places).unwrap();
            assert_eq!(
                text.split_whitespace().collect::<Vec<_>>().join(" "),
                placed
            );
        }
        std::fs::create_dir(stage.path().join(LOST)).unwrap();
        std::fs::write(stage.path().join(LOST).join("n1"), "").unwrap();
        let words = ["-hosts", "n1,n0", "mpiexec"].map(OsString::from);
        assert!(launcher_of(stage.path(), &words).is_err());
        // Each launch has an output of its own.
        let said = std::fs::read_to_string(stage.path().join("output.3")).unwrap();
        assert_eq!(said, "node n1 is lost, and cannot be reached\n");
    }

    #[test]
    fn exit_codes_are_read() {
        let said = "scr_run: 2026-01-01T00:00:00: launch 2 ended with exit code 137 after 4 s\n";
        assert_eq!((code_of(said, 2), code_of(said, 1)), (137, 1));
    }

    #[test]
    fn a_path_that_the_list_of_tests_cannot_have_is_told() {
        assert_eq!(hindrance(Path::new("/a/b.c")), None);
        assert!(hindrance(Path::new("/a b")).is_some_and(|why| why.contains("/a b")));
    }
}
