//! Reads the sources of progress, each in a thread of its own: a slow command, or a file system that hangs, holds up
//! neither the other sources nor the thread that waits for the job.

use super::super::call::Failure;
use super::super::job::Job;
use super::super::on_nodes::{control_directory, question_for_nodes, read_answer};
use super::settings::WatchSettings;
use scr_engine::job::Environment;
use scr_engine::job::clock::asctime;
use scr_engine::job::program::run;
use scr_engine::system::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use scr_engine::system::thread;
use scr_engine::system::time::{Instant, sleep};
use scr_engine::text::counted;
use scr_jobs::hang::{Hang, HangWatch, ProcessTime, Reading, Source};
use scr_jobs::launcher::Launcher;
use scr_jobs::ranks::{NodeSigns, UsedTime};
use scr_jobs::remote::{Remote, RemoteCommand};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time in which all nodes must answer.
const NODES: Duration = Duration::from_secs(20);

/// Time in which a command must answer.
const COMMAND: Duration = Duration::from_secs(30);

/// Time without an answer of the nodes after which that counts as no progress.
const NODE: Duration = Duration::from_secs(5);

/// Time without an answer about a file after which that counts as no change.
const FILE: Duration = Duration::from_secs(5);

/// The result of a thread: the source, the times at which the reading began and ended, and the
/// reading.
type Read = (usize, (Duration, Duration), Result<Reading, String>);

/// Watches a job with a clock and threads. They end with it.
pub(in super::super) struct Lookout {
    watch: HangWatch,
    readings: Receiver<Read>,
}

/// The places in which processes and nodes are looked for.
#[derive(Clone)]
pub(super) enum Where {
    /// These nodes of a job.
    Nodes(Box<Remote>, Vec<String>, RemoteCommand),
    /// A process on this node, and the processes below it.
    Here(u32, PathBuf),
}

impl Lookout {
    /// Begins to watch a job on these nodes, which has run for `age` by now. `job` need not have an environment for it.
    pub fn on_nodes(
        settings: &WatchSettings,
        job: &Job,
        launcher: Option<&Launcher>,
        nodes: &[String],
        age: Duration,
    ) -> Result<Self, Failure> {
        let sources = &settings.sources;
        let mut task = question_for_nodes(job, &["watch", "--here"])?;
        task.command.push("--cntldir".into());
        task.command.push(control_directory(job)?.into());
        if sources.contains(&Source::Cpu) {
            task.command.push("--ranks".into());
        }
        let remote = Box::new(job.remote(launcher)?);
        let place = Where::Nodes(remote, nodes.to_vec(), task);
        Ok(Lookout::begin(settings, &job.environment, &place, age))
    }

    pub(super) fn begin(
        settings: &WatchSettings,
        environment: &Environment,
        place: &Where,
        age: Duration,
    ) -> Self {
        let watch = HangWatch::new(settings.limits, settings.sources.clone());
        let (send, readings) = channel();
        let begun = Instant::now();
        for (number, source) in settings.sources.iter().enumerate() {
            let reader = Reader {
                number,
                source: source.clone(),
                environment: environment.clone(),
                place: place.clone(),
                interval: watch.interval(source),
                begun,
                age,
                send: send.clone(),
                // A file that hangs from the begin on shows no progress.
                was_read: Cell::new(matches!(source, Source::File(_))),
            };
            thread::spawn(move || reader.work());
        }
        Lookout { watch, readings }
    }

    /// Time between two calls of [`Lookout::look`].
    pub fn pause(&self) -> Duration {
        Duration::from_millis(200)
    }

    /// Takes the readings since the last call, and returns the hang if the job hangs. Calls `say` with a line for each
    /// problem.
    pub fn look(&mut self, say: &mut impl FnMut(&str)) -> Option<Hang> {
        while let Ok((number, times, reading)) = self.readings.try_recv() {
            if let Some(line) = self.watch.observe(number, times, reading) {
                say(&line);
            }
        }
        self.watch.hang()
    }
}

/// Time that a launcher may take until the ranks are there.
const STARTING: Duration = Duration::from_secs(60);

/// Reads one source.
struct Reader {
    number: usize,
    source: Source,
    environment: Environment,
    place: Where,
    interval: Duration,
    begun: Instant,
    /// The time for which the job had run at `begun`.
    age: Duration,
    send: Sender<Read>,
    /// True if the source could be read the last time.
    was_read: Cell<bool>,
}

impl Reader {
    fn work(self) {
        let mut counts = BTreeMap::new();
        loop {
            let told = match &self.source {
                Source::File(path) => self.read_file(path),
                Source::Command(command) => {
                    let begun = self.begun.elapsed();
                    self.tell(begun, answer_of(command))
                }
                Source::Calls => self
                    .read_nodes("no rank has called SCR_Init yet", |begun, signs| {
                        calls(signs, self.age + begun, &mut counts)
                    }),
                Source::Cpu => self.read_nodes("no process of the job was found", |_, signs| {
                    processes(signs)
                }),
            };
            // Nobody listens any more.
            if !told {
                return;
            }
            sleep(self.interval);
        }
    }

    fn tell(&self, begun: Duration, reading: Result<Reading, String>) -> bool {
        let times = (begun, self.begun.elapsed());
        self.was_read.set(reading.is_ok());
        self.send.send((self.number, times, reading)).is_ok()
    }

    /// Reads the nodes. While the launch begins, it is not reported that they show nothing; later `nothing` is the
    /// reason.
    fn read_nodes(
        &self,
        nothing: &str,
        read: impl FnOnce(Duration, &[NodeSigns]) -> Option<Reading>,
    ) -> bool {
        let (place, environment) = (self.place.clone(), self.environment.clone());
        self.read_waiting(
            NODE,
            move || signs(&place, &environment),
            |begun, signs| match signs.map(|signs| read(begun, &signs)) {
                Ok(None) if begun < STARTING => None,
                Ok(None) => Some(Err(nothing.to_string())),
                Ok(Some(reading)) => Some(Ok(reading)),
                Err(why) => Some(Err(why)),
            },
        )
    }

    fn read_file(&self, path: &Path) -> bool {
        let asked = self.environment.cwd.join(path);
        let patience = FILE.min(self.interval);
        self.read_waiting(patience, move || state_of(&asked), |_, read| Some(read))
    }

    /// Asks in a thread. A source that does not answer, such as a file system or a node that hangs, shows no progress.
    /// That is reported each `patience`; the question stays open meanwhile. `read` makes a reading of the answer and of
    /// the time of the question. False without a listener.
    fn read_waiting<T: Send + 'static>(
        &self,
        patience: Duration,
        ask: impl FnOnce() -> Result<T, String> + Send + 'static,
        read: impl FnOnce(Duration, Result<T, String>) -> Option<Result<Reading, String>>,
    ) -> bool {
        let (send, answer) = channel();
        let mut begun = self.begun.elapsed();
        thread::spawn(move || send.send(ask()));
        let answer = loop {
            match answer.recv_timeout(patience) {
                Ok(answer) => break answer,
                Err(RecvTimeoutError::Timeout) if !self.was_read.get() => {}
                Err(RecvTimeoutError::Timeout) => {
                    if !self.tell(begun, Ok(Reading::Still)) {
                        return false;
                    }
                    begun = self.begun.elapsed();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    break Err("its state cannot be asked".to_string());
                }
            }
        };
        read(begun, answer).is_none_or(|reading| self.tell(begun, reading))
    }
}

/// The signs of all nodes that answer.
fn signs(place: &Where, environment: &Environment) -> Result<Vec<NodeSigns>, String> {
    let (remote, nodes, task) = match place {
        Where::Nodes(remote, nodes, task) => (remote, nodes, task),
        Where::Here(pid, control) => {
            return Ok(vec![super::signs_below(environment, *pid, control)]);
        }
    };
    let (mut signs, mut why) = (Vec::new(), None);
    for answer in remote.run(nodes, task, NODES) {
        match read_answer(&answer) {
            Ok(sign) => signs.push(sign),
            Err(text) => why = Some(format!("{}: {text}", answer.node)),
        }
    }
    match why {
        Some(why) if signs.is_empty() => Err(format!("no node answers: {why}")),
        _ => Ok(signs),
    }
}

/// The size of a file, and when it was written last.
fn state_of(path: &Path) -> Result<Reading, String> {
    match std::fs::metadata(path) {
        Ok(meta) => {
            let size = counted(usize::try_from(meta.len()).unwrap_or(usize::MAX), "byte");
            let written = asctime(meta.mtime());
            Ok(Reading::Shows(format!("{size}, written {written}")))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(Reading::Shows("it does not exist".to_string()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The answer of a command: its output, or yes and no by exit code 0 and 1.
fn answer_of(command: &str) -> Result<Reading, String> {
    let arguments = ["-c".into(), OsString::from(command)];
    let done = run(Path::new("/bin/sh"), &arguments, &[], COMMAND);
    let done = done.map_err(|error| error.to_string())?;
    match (done.code, done.out.trim()) {
        (Some(0), "") => Ok(Reading::Moves),
        (Some(0), text) => Ok(Reading::Shows(text.to_string())),
        (Some(1), _) => Ok(Reading::Still),
        _ => Err(done.why()),
    }
}

/// The calls that were counted on all nodes; `None` if no node has counted one. `known` keeps them, since one missing
/// answer of a node is not a change. A count that is older than the job, which had run for `age` when the nodes were
/// asked, belongs to an earlier launch.
fn calls(signs: &[NodeSigns], age: Duration, known: &mut BTreeMap<String, u64>) -> Option<Reading> {
    let is_new = signs
        .iter()
        .any(|node| node.age.is_some_and(|written| written < age));
    let told = signs
        .iter()
        .filter_map(|node| Some((node.node.clone(), node.calls?)));
    known.extend(told);
    let sum = known
        .values()
        .fold(0, |sum: u64, one| sum.saturating_add(*one));
    let nodes = counted(known.len(), "node");
    let text = format!("{sum} on {nodes}");
    (!known.is_empty()).then_some(if is_new {
        Reading::Made(text)
    } else {
        Reading::Shows(text)
    })
}

/// The processor time of all ranks; `None` without ranks.
fn processes(signs: &[NodeSigns]) -> Option<Reading> {
    let named = signs.iter().flat_map(|node| {
        let time = |one: &UsedTime| ProcessTime {
            ticks: one.ticks,
            stuck: one.is_stuck(),
        };
        let of_node = node.processes.iter();
        of_node.map(move |one| ((node.node.clone(), one.pid), time(one)))
    });
    let all: BTreeMap<_, _> = named.collect();
    (!all.is_empty()).then_some(Reading::Processes(all))
}
