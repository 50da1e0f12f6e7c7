//! The loop of `scr run`. It carries out the decisions of [`scr_jobs::relaunch::run`].

use super::super::call::{Failure, Invocation};
use super::super::job::Job;
use super::super::retries_halt::{halt_reasons, halt_seconds};
use super::super::should_exit::needed_nodes;
use super::super::watch::{Ladder, Lookout, WatchLock, WatchSettings};
use super::super::watchdog::{Watch, limits};
use super::super::{
    Outcome, daemons, failed_nodes, have_restart, list_down_nodes, place, postrun, prerun,
};
use super::again::{put_into_queue, too_little_time};
use super::child::{self, Ended, Launch, NoProgress};
use super::ended::{EndedLaunch, down_of, ranks_of_hung};
use super::signals::Signals;
use super::{Options, answers, leftovers, words};
use scr_engine::events::Event;
use scr_engine::format::print::escaped;
use scr_engine::job::clock::local_time;
use scr_engine::job::node_name;
use scr_engine::prefix::{index, records};
use scr_engine::system::time::{Instant, SystemTime};
use scr_jobs::hang::watchdog::Limits;
use scr_jobs::health::{Down, EXCLUDED, HealthReport};
use scr_jobs::hostlist::{compress, minus, named_in};
use scr_jobs::launcher::{self, Launcher};
use scr_jobs::relaunch::run::{
    LaunchEnd, LoopState, NextStep, NodeCount, Pause, StopReason, limit, next_step,
};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// The loop and its state.
pub(super) struct Steps<'a> {
    call: &'a mut Invocation,
    job: &'a Job,
    launcher: &'a Launcher,
    options: &'a Options,
    nodes: Vec<String>,
    /// The node of this process, if it is one of the job's.
    own: Option<String>,
    /// True once transfer daemons were started.
    daemons: bool,
    /// Nodes that were down once.
    down: Vec<Down>,
    /// Nodes that failed often, and are left out while others are there.
    avoided: Vec<Down>,
    /// The newest dataset of the cache or the index before the first launch.
    first_newest: u64,
    /// True if the prefix directory does not answer.
    hangs: bool,
    /// True if the job is put into the queue again at the end.
    requeue: bool,
    watchdog: Option<Limits>,
    watch: Option<WatchSettings>,
    ladder: Ladder,
    end: Option<i64>,
    input: Option<u64>,
    signals: Signals,
    state: LoopState,
}

impl<'a> Steps<'a> {
    /// Reads the parameters.
    pub fn new(
        call: &'a mut Invocation,
        job: &'a Job,
        launcher: &'a Launcher,
        options: &'a Options,
        nodes: Vec<String>,
    ) -> Result<Self, Failure> {
        let watchdog = if job.is_on("SCR_WATCHDOG")? {
            limits(job)?
        } else {
            None
        };
        if watchdog.is_none() && job.is_on("SCR_WATCHDOG")? {
            call.warn(&"SCR_WATCHDOG has no effect without SCR_WATCHDOG_TIMEOUT, in seconds");
        }
        let end = job.end();
        if let Err(Failure::Said(text)) = &end {
            call.warn(&format!("the end of the allocation is not known: {text}"));
        }
        let settle = job.number("SCR_SETTLE_SECONDS")?;
        Ok(Steps {
            state: LoopState {
                limit: limit(job.number("SCR_RUNS")?, job.number("SCR_RETRIES")?),
                most_alike: job
                    .number("SCR_SAME_FAILURES")?
                    .map_or(SAME_FAILURES, |most| most.unsigned_abs()),
                settle: settle.and_then(|n| u64::try_from(n).ok()).unwrap_or(SETTLE),
                ..LoopState::default()
            },
            daemons: false,
            down: Vec::new(),
            avoided: Vec::new(),
            first_newest: 0,
            hangs: false,
            requeue: options.requeue || job.is_on("SCR_REQUEUE")?,
            watchdog,
            watch: options.watch.settings(job)?,
            ladder: options.watch.ladder(job)?,
            end: end.ok().flatten(),
            input: child::input(),
            signals: Signals::new()?,
            own: own_node(job, &nodes)?,
            call,
            job,
            launcher,
            options,
            nodes,
        })
    }

    /// Runs the whole job. The exit code is the result of [`LoopState::exit_code`].
    pub fn go(mut self) -> Outcome {
        let index = index::read(&*place::files(&self.job.prefix), &self.job.prefix);
        let saved = index.map_or(0, |index| index.max_dataset());
        self.first_newest = self.newest().max(saved);
        for line in prerun::prepare(self.job)? {
            self.say(&line);
        }
        let begun = Instant::now();
        // A job can run without a log.
        let _ = self.job.note(Event::JobStart, |_| {});
        let result = self.launches();
        self.signals.release();
        if let Err(Failure::Said(text)) = &result {
            self.call.error(text);
        }
        if self.hangs {
            return Ok(ExitCode::FAILURE);
        }
        let newest = self.newest();
        if self.state.launches > 0 || self.daemons {
            let known = names(&self.down);
            match postrun::finish(self.call, self.job, Some(self.launcher), &known) {
                Ok(_) => {}
                Err(Failure::Said(text)) => self.call.error(&text),
                Err(other) => return Err(other),
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let _ = self
            .job
            .note(Event::JobEnd, |record| record.secs = Some(seconds));
        let code = self.state.exit_code(result.is_err());
        if self.state.code == Some(0) && code != 0 && result.is_ok() {
            self.say(&format!(
                "exit code {code}: the run was ended before the program called SCR_Finalize"
            ));
        }
        if let (true, Ok(why)) = (self.requeue, result) {
            let progress = newest > self.first_newest;
            let (job, end) = (self.job, self.end);
            let state = self.state.clone();
            let say = |text: &str| self.say(text);
            let told = put_into_queue(job, &state, &why, progress, end, say);
            self.say(&told);
        }
        Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
    }

    /// Launches the program until there is a reason not to, which is returned.
    fn launches(&mut self) -> Result<StopReason, Failure> {
        loop {
            self.wait_for_prefix()?;
            let seconds = halt_seconds(self.job)?;
            self.state.halts = halt_reasons(&self.job.prefix, seconds, || Ok(self.end))?;
            self.state.signal = self.signals.end();
            self.state.too_little_time = too_little_time(self.job, self.end);
            let step = next_step(&self.state);
            if self.options.explain {
                self.explain(&step);
            }
            match step {
                NextStep::Test => self.test()?,
                NextStep::Wait(pause) => self.wait(pause),
                NextStep::Launch => self.launch()?,
                NextStep::Stop(why) => {
                    if let StopReason::SameFailure(_) = why {
                        self.tell_alike();
                    }
                    self.say(&stopped(&why, self.state.launches));
                    return Ok(why);
                }
            }
        }
    }

    /// Prints a decision, and the facts on which it depends.
    fn explain(&mut self, step: &NextStep) {
        let what = match step {
            NextStep::Test => "the nodes are tested",
            NextStep::Wait(_) => "there is a pause before the launch",
            NextStep::Launch => "the program is launched",
            NextStep::Stop(_) => "the loop ends",
        };
        self.say(&format!("decision: {what}, because of:"));
        for line in self.state.explained() {
            self.say(&format!("  {line}"));
        }
    }

    /// Prints the launches that failed alike.
    fn tell_alike(&mut self) {
        for end in self.state.alike().to_vec() {
            let LaunchEnd {
                number,
                code,
                seconds,
                newest,
                nodes,
                ..
            } = &end;
            let hung = if end.hung {
                ", ended because it made no progress"
            } else {
                ""
            };
            self.say(&format!(
                "launch {number} on {nodes}: exit code {code} after {seconds:.0} s{hung}; the newest dataset was {newest}"
            ));
        }
        self.say(
            "the fault may be in the program, its input or this checkpoint: see its output; an older checkpoint is chosen by scr \
             index --current NAME",
        );
    }

    /// Finds the nodes that can be used. A node that was down once is not used again.
    fn test(&mut self) -> Result<(), Failure> {
        let known = names(&self.down);
        let left = minus(&self.nodes, &known);
        let first = self.state.launches == 0;
        let job = self.job;
        let report = list_down_nodes::report(job, Some(self.launcher), &left, &[], first)?;
        for note in report.notes.iter().filter(|_| first) {
            self.say(note);
        }
        for Down { node, reason } in &report.down {
            self.say(&format!("node {node} is not used any more: {reason}"));
        }
        // A job can run without a log.
        let _ = list_down_nodes::log(job, &report, None);
        // A node that the user leaves out can still start the program.
        let own = |down: &&Down| Some(&down.node) == self.own.as_ref() && down.reason != EXCLUDED;
        let own = report.down.iter().find(own);
        let own = own.filter(|_| starts_from_here(job, self.launcher));
        self.state.own_node = own.map(|down| format!("{}: {}", down.node, down.reason));
        let HealthReport { down, .. } = report;
        let usable = minus(&left, &names(&down));
        self.avoid(failed_nodes::avoided(job, &usable, self.nodes.len())?);
        self.state.node_lost = !first && !down.is_empty();
        if let Some(end) = self.state.ends.last_mut() {
            end.node_lost |= self.state.node_lost;
        }
        let up = usable.len() - self.avoided.len().min(usable.len());
        self.down.extend(down);
        self.state.nodes = Some(NodeCount {
            up: up as u64,
            needed: needed_nodes(job, self.nodes.len())?,
        });
        Ok(())
    }

    /// Leaves these nodes out of the next launch.
    fn avoid(&mut self, nodes: Vec<Down>) {
        for Down { node, reason } in nodes.iter().filter(|one| !self.avoided.contains(one)) {
            say(self.call, &format!("node {node} is left out: {reason}"));
        }
        self.avoided = nodes;
    }

    /// Waits before a launch, or until a signal ends the loop.
    fn wait(&mut self, pause: Pause) {
        self.say(&pause.to_string());
        self.state.waited = true;
        let end = Instant::now() + Duration::from_secs(pause.seconds);
        while self.signals.end().is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // No launch is there to which a signal could be passed on.
            self.signals.wait(left);
        }
    }

    /// Starts the transfer daemons, if they are wanted. The program also runs without them.
    fn start_daemons(&mut self, nodes: &[String]) {
        if !self.daemons && daemons::are_wanted(self.job) {
            self.daemons = true;
            let started = daemons::start(self.job, Some(self.launcher), nodes);
            let text = started.unwrap_or_else(|error| format!("no transfer daemons: {error}"));
            self.say(&text);
        }
    }

    fn launch(&mut self) -> Result<(), Failure> {
        let job = self.job;
        // Without --restart-cmd, an error does not matter here: the library reports it.
        let from = match (have_restart::next(job), &self.options.restart_cmd) {
            (Err(error), Some(_)) => return Err(error.into()),
            (found, _) => found.ok().flatten().map(|name| escaped(&name)),
        };
        let arguments = self.options.arguments(from.as_deref())?;
        let out = [names(&self.down), names(&self.avoided)].concat();
        let command = self
            .launcher
            .command(&arguments, &self.nodes, &out, &job.environment)?;
        let number = self.state.launches + 1;
        let of = self
            .state
            .limit
            .map(|limit| format!(" of at most {limit}"))
            .unwrap_or_default();
        let up = minus(&self.nodes, &out);
        self.start_daemons(&up);
        self.say(&format!(
            "launch {number}{of} on {}: {}",
            compress(&up),
            words::shown(&command)
        ));

        let set = self.variables(number, from)?;
        let before = self.newest();
        // A job can run without a log.
        let _ = job.note(Event::RunStart, |line| {
            line.note = Some(format!("run={number}"));
        });
        let begun = Instant::now();
        let child = child::start(&command, &set, self.input)?;
        let (lookout, _lock) = self.lookout(&up, child.id(), begun);
        let launch = Launch {
            watch: self.watchdog.map(|limits| Watch::new(limits, &job.prefix)),
            lookout,
            ladder: self.ladder,
            child,
            launcher: self.launcher,
            environment: &job.environment,
            prefix: &job.prefix,
        };
        self.state.launches = number;
        self.state.waited = false;
        let call = &mut *self.call;
        let (lost, no_progress) = (RefCell::new(Vec::new()), RefCell::new(None));
        let look = |hang: &NoProgress| {
            no_progress.replace(Some(hang.clone()));
            ranks_of_hung(job, self.launcher, &up, number, &lost)
        };
        let waited = launch.wait(&mut self.signals, |text| say(call, text), look)?;
        let Ended { code, hung } = waited;
        self.ended(EndedLaunch {
            number,
            nodes: up,
            code,
            hung,
            seconds: begun.elapsed().as_secs_f64(),
            before,
            no_progress: no_progress.into_inner(),
            silent: lost.into_inner(),
        })
    }

    /// The variables that a launch gets, from the checkpoint of this name if it exists.
    fn variables(
        &self,
        number: u64,
        from: Option<String>,
    ) -> Result<Vec<(&'static str, OsString)>, Failure> {
        let job = self.job;
        let mut set: Vec<(&'static str, OsString)> = vec![
            ("SCR_PREFIX", job.prefix.root().into()),
            ("SCR_JOB_ID", job.id()?.into()),
            ("SCR_END_TIME", self.end.unwrap_or(0).to_string().into()),
        ];
        set.extend(from.map(|name| (words::NAME, name.into())));
        if self.launcher.kind() == launcher::LauncherKind::Srun {
            // Without this variable, a run that has lost a process may hang until the allocation ends.
            set.push(("SLURM_KILL_BAD_EXIT", "1".into()));
            // When a node leaves the job while a step ends, Slurm may count the processors of that
            // step as used, and the next step would wait for them for ever.
            if number > 1 {
                set.push(("SLURM_OVERLAP", "1".into()));
            }
            set.retain(|(name, _)| {
                !name.starts_with("SLURM_") || job.environment.get(name).is_none()
            });
        }
        Ok(set)
    }

    /// Takes note of the end of a launch, and has the nodes end the remaining processes of one that
    /// hung.
    fn ended(&mut self, launch: EndedLaunch) -> Result<(), Failure> {
        let records = launch.records();
        let (number, code, hung) = (launch.number, launch.code, launch.hung);
        self.wait_for_prefix()?;
        for record in records {
            // A job can run without a log.
            let _ = self.job.enter(record);
        }
        let seconds = launch.seconds;
        self.say(&format!(
            "launch {number} ended with exit code {code} after {seconds:.0} s"
        ));
        self.state.code = Some(code);
        self.state.hung = hung;
        self.state.nodes = None;
        let mut lost = down_of(launch.silent);
        if hung {
            let rest = minus(&launch.nodes, &names(&lost));
            lost.extend(self.end_leftovers(&rest));
        }
        let newest = self.newest();
        self.state.ends.push(LaunchEnd {
            number,
            code,
            hung,
            before: launch.before,
            newest,
            node_lost: !lost.is_empty(),
            seconds,
            nodes: compress(&launch.nodes),
        });
        for Down { node, reason } in lost {
            self.say(&format!("node {node} is not used any more: {reason}"));
            // A job can run without a log.
            let _ = self.job.note(Event::NodeFail, |line| {
                line.note = Some(format!("{node}: {reason}"));
            });
            self.down.push(Down { node, reason });
        }
        Ok(())
    }

    /// Ends the remaining processes of a launch on these nodes. Returns the nodes that must not be
    /// used any more.
    fn end_leftovers(&mut self, nodes: &[String]) -> Vec<Down> {
        let job = self.job;
        let bad = leftovers::end_on(job, self.launcher, nodes).unwrap_or_else(|why| {
            self.say(&format!("what is left of the launch is not known: {why}"));
            Vec::new()
        });
        let (call, files) = (&mut *self.call, place::files(&job.prefix));
        leftovers::wait_for_unlock(job, &*files, |text| say(call, text));
        bad
    }

    /// Begins to watch a launch that has begun. If that fails, the launch goes on without a watch.
    fn lookout(
        &mut self,
        nodes: &[String],
        pid: u32,
        begun: Instant,
    ) -> (Option<Lookout>, Option<WatchLock>) {
        let Some(settings) = &self.watch else {
            return (None, None);
        };
        let age = begun.elapsed();
        let lookout = Lookout::on_nodes(settings, self.job, Some(self.launcher), nodes, age);
        if let Err(Failure::Said(why)) = &lookout {
            let text = format!("the run is not watched: {why}");
            self.call.warn(&text);
        }
        (
            lookout.ok(),
            WatchLock::take(self.job, &pid.to_string()).ok(),
        )
    }

    /// The newest dataset in the flush file.
    fn newest(&self) -> u64 {
        let record = records::read_flush_file(&*place::files(&self.job.prefix), &self.job.prefix)
            .unwrap_or_default();
        record.datasets.keys().next_back().copied().unwrap_or(0)
    }

    /// Waits until the prefix directory answers. Called before anything that reads or writes it, since it may hang.
    fn wait_for_prefix(&mut self) -> Result<(), Failure> {
        let (prefix, call) = (&self.job.prefix, &mut *self.call);
        let lock = prefix.file(super::LOCK);
        if answers::wait(prefix, &lock, &mut self.signals, |text| say(call, text)) {
            return Ok(());
        }
        self.hangs = true;
        Err(Failure::said(format!(
            "the prefix directory {} does not answer, so the loop ends without saving anything from the caches; scr postrun does \
             that when it answers again",
            prefix.root().display()
        )))
    }

    fn say(&mut self, text: &str) {
        say(self.call, text);
    }
}

/// True if processes start from the node of this command. Under Slurm and LSF, mpirun asks the resource
/// manager to start its daemons, even when it runs on a login node, as in a shell of salloc.
pub(super) fn starts_from_here(job: &Job, launcher: &Launcher) -> bool {
    let asks_manager = ["SLURM", "LSF"].contains(&job.manager.name());
    launcher.kind().starts_from_here() && !asks_manager
}

/// The node of this process, as `nodes` have it. Local.
pub(super) fn own_node(job: &Job, nodes: &[String]) -> Result<Option<String>, Failure> {
    let own = node_name(&job.environment, &|name| job.get(name))?.value;
    Ok(named_in(nodes, &own).cloned())
}

fn names(nodes: &[Down]) -> Vec<String> {
    nodes.iter().map(|down| down.node.clone()).collect()
}

/// Default of SCR_SETTLE_SECONDS.
const SETTLE: u64 = 2;

/// Default of SCR_SAME_FAILURES.
const SAME_FAILURES: u64 = 3;

/// Prints a line at once. An error of the output does not stop the loop.
fn say(call: &mut Invocation, text: &str) {
    let time = local_time(SystemTime::now());
    let _ = writeln!(
        call.out,
        "scr_run: {time}: {}",
        scr_engine::text::escaped(text)
    );
    let _ = call.out.flush();
}

fn stopped(why: &StopReason, launches: u64) -> String {
    let what = match launches {
        0 => "the program is not launched",
        _ => "no other launch",
    };
    format!("{what}: {why}")
}
