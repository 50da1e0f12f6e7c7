//! The directory of a run, and its launches.

use super::super::call::Failure;
use super::super::place;
use super::super::run::Signals;
use super::plan::{Awaited, Kill, Placement, Victim};
use super::seen::{Seen, Sessions};
use scr_engine::Error;
use scr_engine::job::clock;
use scr_engine::job::program::code;
use scr_engine::log::{Record, read_text};
use scr_engine::prefix::paths::Prefix;
use scr_engine::system::process;
use scr_engine::system::time::Instant;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The node of each rank, one a line.
pub(super) const PLACES: &str = "places";
/// A file for each rank: its process id and its node.
pub(super) const PIDS: &str = "pids";
/// A directory with a file for each node that is lost while a command goes on.
pub(super) const LOST: &str = "lost";
/// The directory with each node's own files.
pub(super) const NODES: &str = "nodes";
/// A directory for each rank, if the program is to stop for a look at its memory; and a file with the id of this process.
pub(super) const STOPS: &str = "stops";

/// Time between two looks whether the moment has come.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// Time between two looks for a moment in a call of SCR, which may be short.
const SHORT_TICK: Duration = Duration::from_millis(1);

/// A variable of srun.
const KILL_BAD_EXIT: &str = "SLURM_KILL_BAD_EXIT";

/// All times.
const ALWAYS: Range<f64> = f64::NEG_INFINITY..f64::INFINITY;

/// The end of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// The launch ended by itself, with this exit code.
    Code(i32),
    /// The launch was struck.
    Struck,
    /// The launch was over before the moment of the strike came.
    TooEarly(i32),
    /// The time of the launch was over.
    Hung,
}

/// One launch.
#[derive(Clone)]
pub(super) struct Launch {
    pub ending: Ending,
    /// The kill that should end it.
    pub kill: Option<Kill>,
    /// Number of ranks that the launcher has started, and number that it was asked for.
    pub started: usize,
    pub ranks: usize,
    pub nodes: usize,
    pub seconds: f64,
    /// Times at which it began, and ended or was struck: seconds since the epoch.
    pub begun: f64,
    pub ended: f64,
    /// The state of the ranks, if the launch hung.
    pub stacks: Vec<String>,
    /// The file with the output of the program.
    pub log: PathBuf,
    /// The events of the launch in the event logs.
    pub seen: Sessions,
}

/// A run: its current directory, which is its prefix directory, and beside it the rehearsal's own
/// directories.
pub(super) struct Stage {
    /// The current directory of the program.
    dir: PathBuf,
    /// For the agents.
    behind: PathBuf,
    command: Vec<OsString>,
    program: Vec<OsString>,
    job: String,
    launches: u32,
}

impl Stage {
    /// Makes the directory `dir`, with copies of the files that the program reads.
    pub fn new(
        dir: &Path,
        launcher: &[OsString],
        program: &[OsString],
        copies: &[PathBuf],
    ) -> Result<Self, Failure> {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let behind = dir.with_file_name(format!("{name}.nodes"));
        for each in [dir, &behind.join(PIDS), &behind.join(NODES)] {
            std::fs::create_dir_all(each).map_err(|error| Error::io("create", each, error))?;
        }
        for from in copies {
            let to = from.file_name().map(|name| dir.join(name)).ok_or_else(|| {
                Failure::said(format!("--copy {}: it has no name", from.display()))
            })?;
            copy(from, &to)?;
        }
        Ok(Stage {
            dir: dir.to_path_buf(),
            behind,
            command: launcher.to_vec(),
            program: program.to_vec(),
            job: format!("rehearsal.{}.{name}", process::id()),
            launches: 0,
        })
    }

    /// Gives the directories of this run another name, so that another run can have theirs.
    pub fn set_aside(self, name: &str) -> Result<(), Failure> {
        let nodes = format!("{name}.nodes");
        for (from, name) in [(&self.dir, name), (&self.behind, &*nodes)] {
            let renamed = std::fs::rename(from, from.with_file_name(name));
            renamed.map_err(|error| Error::io("rename", from, error))?;
        }
        Ok(())
    }

    /// The words of the launcher.
    pub fn command(&self) -> &[OsString] {
        &self.command
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The rehearsal's own directory of this run.
    pub fn behind(&self) -> &Path {
        &self.behind
    }

    /// The job id of its launches.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The nodes that are left: names, and directories of their own files.
    pub fn nodes(&self) -> Vec<(String, PathBuf)> {
        let entries = std::fs::read_dir(self.behind.join(NODES));
        let entries = entries.into_iter().flatten().flatten();
        let mut nodes: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, entry.path())
            })
            .collect();
        nodes.sort();
        nodes
    }

    /// The sessions that the program has had in this directory: names, and prefix directories.
    pub fn sessions(&self) -> Vec<(String, PathBuf)> {
        let mut all = vec![(String::new(), self.dir.clone())];
        for dir in place::sessions(&Prefix::new(&self.dir)) {
            let name = dir.strip_prefix(&self.dir).unwrap_or(&dir);
            all.push((name.to_string_lossy().into_owned(), dir));
        }
        all
    }

    /// The events in the event logs, without the first records, as many of each session as `skip` says.
    pub fn read_logs(&self, skip: &Counts) -> Result<BTreeMap<String, Vec<Record>>, Failure> {
        let mut all = BTreeMap::new();
        for (name, dir) in self.sessions() {
            let path = event_log(&dir);
            let mut records = Vec::new();
            if path.exists() {
                let mut left = skip.get(&name).copied().unwrap_or(0);
                read_text(&path, |record| {
                    match left.checked_sub(1) {
                        Some(rest) => left = rest,
                        None => records.push(record),
                    }
                    Ok::<(), Error>(())
                })?;
            }
            all.insert(name, records);
        }
        Ok(all)
    }

    /// All that was seen in this directory.
    pub fn seen_so_far(&self) -> Result<Sessions, Failure> {
        self.seen(&Counts::new(), &ALWAYS)
    }

    /// What was seen in these times.
    pub fn seen(&self, skip: &Counts, times: &Range<f64>) -> Result<Sessions, Failure> {
        let logs = self.read_logs(skip)?.into_iter();
        let seen = |(name, mut records): (String, Vec<Record>)| {
            records.retain(|record| times.contains(&record.at()));
            (name, Seen::of(&records))
        };
        Ok(Sessions(logs.map(seen).collect()))
    }

    /// Launches the program, kills when the moment comes, and waits for its end.
    pub fn launch(
        &mut self,
        place: &Placement,
        kill: Option<&Kill>,
        limit: Option<Duration>,
        signals: &mut Signals,
    ) -> Result<Launch, Failure> {
        self.launches += 1;
        let log = self.behind.join(format!("output.{}", self.launches));
        let logs = self.read_logs(&Counts::new())?.into_iter();
        let from: Counts = logs.map(|(name, records)| (name, records.len())).collect();
        let (start, begun) = (Instant::now(), now());
        let mut child = self.start(place, &log)?;
        let watch = kill.map(|kill| Watch::new(kill, begun));
        let followed = self.follow(&mut child, place, (watch, &from), (limit, signals));
        let ending = self.or_end(&mut child, followed)?;
        let ended = now();
        let seconds = start.elapsed().as_secs_f64();
        let stacks = match ending {
            Ending::Hung => self.stacks(),
            _ => Vec::new(),
        };
        self.bury(&mut child)?;
        Ok(Launch {
            ending,
            kill: kill.cloned(),
            started: self.started(),
            ranks: place.ranks(),
            nodes: place.nodes(),
            seconds,
            begun,
            ended,
            stacks,
            log,
            seen: self.seen(&from, &ALWAYS)?,
        })
    }

    /// Follows a launch to its end, or to its kill.
    fn follow(
        &self,
        child: &mut Child,
        place: &Placement,
        (mut watch, from): (Option<Watch>, &Counts),
        (limit, signals): (Option<Duration>, &mut Signals),
    ) -> Result<Ending, Failure> {
        let (start, mut are_here) = (Instant::now(), false);
        loop {
            let status = child.try_wait();
            let status = status.map_err(|error| Error::io("wait for", &self.command[0], error))?;
            are_here = are_here || self.all_are_here(place.ranks(), status.is_some())?;
            if let Some(status) = status {
                return Ok(match watch {
                    None => Ending::Code(code(status)),
                    Some(_) => Ending::TooEarly(code(status)),
                });
            }
            if limit.is_some_and(|limit| start.elapsed() > limit) {
                return Ok(Ending::Hung);
            }
            // The process may not have begun yet, or have just ended.
            if let Some(watch) = &mut watch
                && watch.has_come(self, from)?
                && self.kill(|rank, node| watch.hits(rank, node)) > 0
            {
                return Ok(Ending::Struck);
            }
            if let Some((_, name)) = signals.end() {
                return Err(Failure::said(format!(
                    "{name} was received, so the launch was ended"
                )));
            }
            signals.wait(watch.as_ref().map_or(TICK, Watch::tick));
        }
    }

    /// A node is lost with all that it has.
    pub fn lose(&self, node: &str) -> Result<(), Failure> {
        self.kill_what_is_left(Some(node));
        let (path, gone) = (self.behind.join(NODES).join(node), self.behind.join("gone"));
        // At once, also for a process that comes to this node now.
        std::fs::rename(&path, &gone).map_err(|error| Error::io("rename", path, error))?;
        std::fs::remove_dir_all(&gone).map_err(|error| Error::io("remove", gone, error).into())
    }

    pub fn start(&self, place: &Placement, log: &Path) -> Result<Child, Failure> {
        let mut command = self.launcher(&[], place, log)?;
        let started = command.spawn();
        started.map_err(|error| Error::io("run", command.get_program(), error).into())
    }

    /// The command that launches the program, with `first` in front, and its output in `log`.
    pub fn launcher(
        &self,
        first: &[OsString],
        place: &Placement,
        log: &Path,
    ) -> Result<Command, Failure> {
        write_places(&self.behind, place)?;
        let create = |path: &Path| {
            std::fs::File::create(path).map_err(|error| Error::io("create", path, error))
        };
        let output = create(log)?;
        let errors = output
            .try_clone()
            .map_err(|error| Error::io("open", log, error))?;
        let words = [first, &self.command].concat();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg("-n")
            .arg(place.ranks().to_string())
            .arg(own_program()?)
            .arg("rehearse")
            .arg("--as-rank")
            .arg(&self.behind)
            .arg("--")
            .args(&self.program)
            .current_dir(&self.dir)
            .env("SCR_PREFIX", &self.dir)
            .env("SCR_JOB_ID", &self.job)
            .env("SCR_LOG_ENABLE", "1")
            .env("SCR_LOG_TXT_ENABLE", "1")
            .env("SCR_LOG_SYSLOG_ENABLE", "0")
            .env("SCR_LOG_DB_ENABLE", "0")
            // One machine may have fewer processors than the job has ranks.
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        // Without it srun waits for the other ranks when one has gone; scr run does not see that it is srun.
        if std::env::var_os(KILL_BAD_EXIT).is_none() {
            command.env(KILL_BAD_EXIT, "1");
        }
        Ok(command)
    }
}

/// Waits for the moment of a kill.
pub(super) struct Watch<'a> {
    kill: &'a Kill,
    /// When the launch began: records before it are of others.
    begun: f64,
    /// The time of the kill, when its event has come: seconds since the epoch.
    due: Option<f64>,
    /// Size of the event logs when they were read last.
    size: u64,
}

impl<'a> Watch<'a> {
    pub fn new(kill: &'a Kill, begun: f64) -> Self {
        let due = (kill.awaited == Awaited::Launch).then_some(begun + kill.delay);
        Watch {
            kill,
            begun,
            due,
            size: 0,
        }
    }

    pub fn tick(&self) -> Duration {
        match self.kill.awaited {
            Awaited::Begun(_) | Awaited::Restore | Awaited::Read => SHORT_TICK,
            _ => TICK / 4,
        }
    }

    pub fn victim(&self) -> &Victim {
        &self.kill.victim
    }

    pub fn hits(&self, rank: usize, node: &str) -> bool {
        match &self.kill.victim {
            Victim::Node(name) => node == name,
            Victim::Rank(number) => rank == *number,
            _ => false,
        }
    }

    /// True if it is time to kill. `from` counts the records of earlier launches in the event logs.
    pub fn has_come(&mut self, stage: &Stage, from: &Counts) -> Result<bool, Failure> {
        if self.due.is_none_or(|due| now() < due) && self.kill.awaited != Awaited::Launch {
            let logs = stage.sessions();
            let logs = logs
                .iter()
                .map(|(_, dir)| std::fs::metadata(event_log(dir)));
            let size = logs.flatten().map(|log| log.len()).sum();
            if std::mem::replace(&mut self.size, size) != size {
                let seen = stage.seen(from, &(self.begun..f64::INFINITY))?;
                let event = self.event(&seen);
                self.due = match event {
                    Some(_) if self.is_over(&seen) => Some(0.0),
                    event => event.map(|at| at + self.kill.delay),
                };
            }
        }
        Ok(self.due.is_some_and(|due| now() >= due))
    }

    /// True if the interval of the kill has ended, since the launch is faster than the undisturbed run was.
    fn is_over(&self, seen: &Sessions) -> bool {
        match self.kill.awaited {
            Awaited::Start => seen.begin_of(1).is_some(),
            Awaited::Begun(number) => seen.end_of(number).is_some(),
            Awaited::Complete(number) => seen.begin_of(number + 1).is_some(),
            _ => false,
        }
    }

    /// The time of the event after which the time of the kill begins.
    fn event(&self, seen: &Sessions) -> Option<f64> {
        let first = |time: fn(&Seen) -> Option<f64>| {
            let times = seen.0.values().filter_map(time);
            times.min_by(f64::total_cmp)
        };
        match self.kill.awaited {
            Awaited::Launch => Some(self.begun),
            Awaited::Start => first(|seen| seen.begun.then_some(seen.begun_at)),
            Awaited::Begun(number) => seen.begin_of(number),
            Awaited::Complete(number) | Awaited::After(number) => seen.end_of(number),
            Awaited::Restore => first(|seen| seen.bringing_back.or(seen.reading)),
            Awaited::Read => first(|seen| seen.reading),
            Awaited::Restarted => first(|seen| Some(seen.restart.as_ref()?.at)),
        }
    }
}

/// The node of each rank, for the agents of the launch that begins.
pub(super) fn write_places(behind: &Path, place: &Placement) -> Result<(), Failure> {
    let pids = behind.join(PIDS);
    for rank in std::fs::read_dir(&pids).into_iter().flatten().flatten() {
        // A file that stays belongs to a process that has gone, and is left alone.
        let _ = std::fs::remove_file(rank.path());
    }
    let places: Vec<&str> = (0..place.ranks()).map(|rank| place.node_of(rank)).collect();
    let path = behind.join(PLACES);
    let written = std::fs::write(&path, places.join("\n") + "\n");
    written.map_err(|error| Error::io("write", &path, error).into())
}

/// The path of this program.
pub(super) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::said(format!("cannot find out where this program is: {error}")))
}

/// Number of records of each session.
pub(super) type Counts = BTreeMap<String, usize>;

fn event_log(prefix: &Path) -> PathBuf {
    Prefix::new(prefix).file("log")
}

pub(super) fn now() -> f64 {
    clock::now_millis() as f64 / 1000.0
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error| Error::io("copy", from, error);
    if !from.is_dir() {
        std::fs::copy(from, to).map_err(failed)?;
        return Ok(());
    }
    std::fs::create_dir_all(to).map_err(|error| Error::io("create", to, error))?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
