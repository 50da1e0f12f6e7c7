//! `scr watch`: watches a job that was started otherwise, and ends it when it hangs.

mod ladder;
mod readers;
mod settings;
mod target;

pub(super) use ladder::{Ending, Ladder, LadderStep};
pub(super) use readers::Lookout;
pub(super) use settings::{WatchArgs, WatchSettings};

use super::call::{Failure, Invocation};
use super::job::Job;
use super::lock::only_one;
use super::on_nodes::{control_directory, print_answer, question_for_nodes, read_answer};
use super::stacks::{Stacks, wanted, wanted_here};
use super::{Outcome, RunCommand, place};
use readers::Where;
use scr_engine::events::Event;
use scr_engine::job::Environment;
use scr_engine::job::clock::local_time;
use scr_engine::store::{CALLS_FILE, Files, Lock};
use scr_engine::system::time::{Instant, SystemTime, sleep};
use scr_engine::text::counted;
use scr_jobs::ranks::{NodeSigns, Wanted, end_leftovers};
use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use target::Target;

/// Exit status when the job hung.
const HUNG: u8 = 3;

/// Time in which the nodes must report remaining processes of a job.
const LEFT_OVER: Duration = Duration::from_secs(20);

/// Watch a job that was started without scr run, and end it when it hangs
///
/// For any program, linked with SCR or not: `scr watch 12345 --watch file=run.log --after 10m`. The job
/// hangs when none of the sources of --watch has moved for --after; scr run has the same, and
/// docs/my-job-hangs.md explains them. Then prints in at most ten lines what its ranks do, as scr stacks,
/// and writes all that is known to .scr/stacks.watch.txt in the prefix directory. It is ended by --signal,
/// if given, so that the program can write a checkpoint; SIGTERM after SCR_WATCH_SIGNAL_SECONDS; SIGKILL
/// after SCR_WATCH_TERM_SECONDS. With --no-kill it is left alone.
///
/// A process id names a launcher, a job script or another process of this node, which is ended with all
/// that it has started here. A step, such as 123.0, is one of the job whose allocation this is.
/// Parameters replace options: SCR_WATCH, SCR_WATCH_AFTER, SCR_WATCH_FIRST, SCR_WATCH_SIGNAL.
///
/// Exit status: 0 the process or step has ended by itself, 3 it hung, and has ended unless --no-kill was given, 1 it cannot be
/// watched.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Process id on this node, or job step
    #[arg(value_name = "PID|JOBSTEP", required_unless_present = "here")]
    target: Option<String>,
    #[command(flatten)]
    watch: WatchArgs,
    /// Only tell what the ranks do: signals nothing
    #[arg(long)]
    no_kill: bool,
    /// The launcher of a job step: srun, flux
    #[arg(short, long, value_name = "LAUNCHER")]
    launcher: Option<String>,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Print the signs of this node as JSON, for scr watch on another node
    #[arg(long, hide = true)]
    here: bool,
    /// Print the processor time of the ranks, too
    #[arg(long, hide = true)]
    ranks: bool,
    /// With --here: end the ranks that were launched for this prefix directory first
    #[arg(long, hide = true, value_name = "DIR")]
    end: Option<String>,
    /// Control directory of the job
    #[arg(long, hide = true, value_name = "DIR")]
    cntldir: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if self.here {
            return self.print_signs(call);
        }
        let job = Job::here(self.prefix.as_deref())?;
        let word = self.target.as_deref().unwrap_or_default();
        let settings = self.watch.settings(&job)?.ok_or_else(|| {
            Failure::said("say with --watch what shows progress, as in --watch file=run.log,cpu")
        })?;
        let ladder = self.watch.ladder(&job)?;
        let launcher = job.launcher(self.launcher.as_deref())?;
        let target = Target::named(word, launcher, &job.environment, !self.no_kill)?;
        place::begun(call, job.prefix.root())?;
        place::establish(call, &job.prefix);
        let _lock = WatchLock::take(&job, word)?;
        let watched = WatchedJob {
            job,
            target,
            asked: Cell::new(None),
        };
        let mut lookout = watched.lookout(&settings)?;
        let hang = loop {
            if !watched.still_runs() {
                return Ok(ExitCode::SUCCESS);
            }
            if let Some(hang) = lookout.look(&mut |line| say(call, line)) {
                break hang;
            }
            sleep(lookout.pause());
        };
        say(call, &hang.to_string());
        watched.tell_stacks(call);
        if self.no_kill {
            return Ok(ExitCode::from(HUNG));
        }
        // A job can run without a log.
        let _ = watched.job.note(Event::Hang, |line| {
            line.note = Some(hang.to_string());
            line.secs = Some(hang.pause.as_secs_f64());
        });
        let mut ending = Ending::new(ladder);
        while !watched.is_gone() {
            if let Some(step) = ending.next() {
                match watched.target.go_down(step, &watched.job.environment) {
                    Ok(text) => say(call, &text),
                    Err(error) => say(call, &format!("the job could not be ended: {error}")),
                }
            }
            sleep(lookout.pause());
        }
        say(call, "the job has ended");
        watched.tell_left_over(call);
        Ok(ExitCode::from(HUNG))
    }
}

impl Options {
    fn print_signs(&self, call: &mut Invocation) -> Outcome {
        let environment = Environment::of_process();
        let wanted = wanted_here(&environment)?;
        if let Some(prefix) = &self.end {
            print_answer(call, &end_leftovers(&environment, &wanted, prefix))?;
            return Ok(ExitCode::SUCCESS);
        }
        let ranks = self.ranks.then_some(&wanted);
        let count = self.cntldir.as_ref().map(|dir| dir.join(CALLS_FILE));
        let signs = NodeSigns::here(&environment, &wanted.node, count.as_deref(), ranks);
        print_answer(call, &signs)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A job that is watched.
struct WatchedJob {
    job: Job,
    target: Target,
    /// Time of the last look whether it runs.
    asked: Cell<Option<Instant>>,
}

impl WatchedJob {
    /// True if it has not ended, or if that cannot be found out now.
    fn still_runs(&self) -> bool {
        let asked = self.asked.get();
        if asked.is_some_and(|at| at.elapsed() < self.target.interval()) {
            return true;
        }
        self.asked.set(Some(Instant::now()));
        self.target.runs(&self.job.environment).unwrap_or(true)
    }

    /// True if no process of it is left; false also if that cannot be found out now.
    fn is_gone(&self) -> bool {
        let asked = self.asked.get();
        if asked.is_some_and(|at| at.elapsed() < self.target.interval()) {
            return false;
        }
        self.asked.set(Some(Instant::now()));
        self.target
            .is_gone(&self.job.environment)
            .unwrap_or_default()
    }

    /// Tells which other nodes still have ranks of the job after its launcher has ended. Only launchers and schedulers
    /// reach the processes on other nodes.
    fn tell_left_over(&self, call: &mut Invocation) {
        let Ok(nodes) = self.job.nodes() else { return };
        if !matches!(self.target, Target::Process { .. }) || nodes.len() <= 1 {
            return;
        }
        let asked = question_for_nodes(&self.job, &["watch", "--here", "--ranks"])
            .and_then(|task| Ok((self.job.remote(None)?, task)));
        let Ok((remote, task)) = asked else { return };
        for answer in remote.run(&nodes, &task, LEFT_OVER) {
            let told = match read_answer::<NodeSigns>(&answer) {
                Ok(signs) if signs.processes.is_empty() => continue,
                Ok(signs) => counted(signs.processes.len(), "rank") + " of it may be there still",
                Err(why) => format!("it does not answer: {why}"),
            };
            say(call, &format!("node {}: {told}", answer.node));
        }
    }

    /// The process, if the whole job is on this node.
    fn process_here(&self, nodes: &[String]) -> Option<u32> {
        match self.target {
            Target::Process { pid, .. } if nodes.len() <= 1 => Some(pid),
            _ => None,
        }
    }

    fn lookout(&self, settings: &WatchSettings) -> Result<Lookout, Failure> {
        let job = &self.job;
        let nodes = job.nodes()?;
        let age = self.target.age();
        let Some(pid) = self.process_here(&nodes) else {
            return Lookout::on_nodes(settings, job, None, &nodes, age);
        };
        let place = Where::Here(pid, control_directory(job)?);
        Ok(Lookout::begin(settings, &job.environment, &place, age))
    }

    /// Prints the state of the ranks, and keeps all known facts.
    fn tell_stacks(&self, call: &mut Invocation) {
        let found = self.job.nodes().and_then(|nodes| {
            let Some(pid) = self.process_here(&nodes) else {
                return Stacks::collect(&self.job, None, &nodes);
            };
            let wanted = Wanted {
                below: Some(pid),
                ..wanted(&self.job, &[])?
            };
            Stacks::here(&self.job.environment, wanted)
        });
        match found {
            Ok(found) => found
                .tell(&self.job, "stacks.watch.txt")
                .iter()
                .for_each(|line| say(call, line)),
            Err(why) => say(call, &format!("what its ranks do is not known: {why}")),
        }
    }
}

/// The signs of a process of this node and those below it.
fn signs_below(environment: &Environment, pid: u32, control: &Path) -> NodeSigns {
    let wanted = Wanted {
        below: Some(pid),
        ..Wanted::default()
    };
    let count = control.join(CALLS_FILE);
    NodeSigns::here(environment, &environment.host, Some(&count), Some(&wanted))
}

/// Keeps a second watch off a job. Its file goes with it.
pub(super) struct WatchLock {
    files: Arc<dyn Files>,
    path: PathBuf,
    _lock: Option<Box<dyn Lock>>,
}

impl WatchLock {
    /// Takes the lock of the process or job step `target`.
    ///
    /// # Errors
    /// Another process has the lock, or it cannot be made.
    pub fn take(job: &Job, target: &str) -> Result<Self, Failure> {
        let name = format!("watch.{}.lock", target.replace('/', "_"));
        let lock = only_one(job, &name, |holder| {
            format!("{target} is watched already ({holder}); one watch is enough")
        })?;
        Ok(WatchLock {
            files: place::files(&job.prefix),
            path: job.prefix.file(&name),
            _lock: lock,
        })
    }
}

impl Drop for WatchLock {
    fn drop(&mut self) {
        // A file that is left behind is not a lock.
        let _ = self.files.remove_file(&self.path);
    }
}

/// Prints a line at once. An error of the output does not stop the watch.
fn say(call: &mut Invocation, text: &str) {
    let time = local_time(SystemTime::now());
    let text = scr_engine::text::escaped(text);
    let _ = writeln!(call.out, "scr_watch: {time}: {text}");
    let _ = call.out.flush();
}
