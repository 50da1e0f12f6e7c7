//! `scr rehearse`: kills a program on emulated nodes, restarts it, and compares how it ends.
//!
//! [`plan`] says on which node each rank is and what is killed, [`course`] draws the moments, [`stage`] carries out one
//! launch, whose [`processes`] it can kill, [`seen`] reads what the event logs have of it, [`relaunch`] has `scr run` make launches and
//! [`repair`] has one go on, [`caches`] saves checkpoints that are only there, [`checkpoints`] and
//! [`results`] compare those of two runs, within the [`spread`] of undisturbed ones. [`proof`] finds out whether a launch went on
//! from a checkpoint, [`judge`] says whether the program has recovered, and if not, why, and [`table`] says so of each kill.
//! [`explain`] names the variables that a restart lacks, and [`list`] those that the checkpoints do not have, before any kill.

mod agent;
mod caches;
mod checkpoints;
mod course;
mod document;
mod explain;
mod follow;
mod judge;
mod list;
mod outside;
mod parts;
mod plan;
mod processes;
mod proof;
mod rehearsal;
mod relaunch;
mod repair;
mod results;
mod seen;
mod spread;
mod stage;
mod table;

use super::call::{Failure, Invocation};
use super::fields::compare::Tolerance;
use super::run::Signals;
use super::{Outcome, RunCommand, json, status};
use checkpoints::Checkpoints;
use course::Course;
use plan::{Moment, Placement, Strike, Victim};
use rehearsal::{Comparison, Rehearsal};
use results::Difference;
use scr_engine::job::Environment;
use scr_engine::job::program::{self, find};
use scr_engine::system::time::Instant;
use spread::Spread;
use stage::{Ending, Launch, Stage, own_program};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Try whether a program survives failures, before they happen
///
/// Launches the program on emulated nodes of this machine: once undisturbed, and once more, where
/// processes or nodes are killed at several moments and the program is launched again. In a third run scr run must launch it
/// again, when a rank and a node are lost. Then the command compares results and checkpoints of these runs, and says what was restored
/// from where, how much time was lost, and what to change if the program did not recover. docs/rehearsal.md shows a report.
///
/// RECOVERED means that a launch after a kill was seen to go on from a checkpoint, and ended as the undisturbed run did. Of a program
/// that is not linked with SCR nothing can be seen: name with --says what it prints when it goes on from a checkpoint of its own.
/// Without that the verdict is NOT PROVEN, since a program that begins from the beginning ends alike.
///
/// Each run has a directory of its own, which is its prefix directory and its current directory. Name input files with
/// --copy, and files with results with --compare.
///
/// Exit status: 0 the program has recovered, 1 it has not, that is not proven, or it could not be tried, 2 wrong options. With
/// --list: 0 its variables were shown, 1 they could not be seen.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Number of ranks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4096))]
    ranks: u32,
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096))]
    nodes: u32,
    /// What to kill, and when: node, node=n2, rank or rank=5, then @ and a moment: 3 for between the third checkpoint of a launch
    /// and the next one, 3+0.5s for half a second after it, start, checkpoint or checkpoint=3 for in it, restart, or 20s.
    /// The command draws what is left open. Each kill ends a launch; may be repeated
    #[arg(short, long, value_name = "WHAT", value_parser = Strike::parse)]
    kill: Vec<Strike>,
    /// Number of ranks of the last launch, for programs that restart on another number of ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    restart_ranks: Option<u32>,
    /// Number of nodes of the last launch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    restart_nodes: Option<u32>,
    /// One kill at most, between two checkpoints: for a test of the program that is run often
    #[arg(long, conflicts_with = "kill")]
    quick: bool,
    /// Have scr run launch the program, too, and again after a kill, as is done without --kill and --quick
    #[arg(long, conflicts_with = "quick")]
    relaunch: bool,
    /// Kill a rank in a launch that goes on by itself, with an MPI that has User Level Failure Mitigation: docs/sessions.md
    #[arg(long, conflicts_with = "quick")]
    repair: bool,
    /// A file with results, relative to the current directory of the program; may be repeated
    #[arg(short, long, value_name = "FILE")]
    compare: Vec<PathBuf>,
    /// Compare these files by a command, to which the undisturbed file and the other one are added: exit code 0 for alike
    #[arg(long, value_name = "CMD", requires = "compare")]
    compare_with: Option<String>,
    /// Take numbers in fields and in text files of --compare as the same if they differ by at most X, relative to the greater of
    /// the two, as 1e-9, or also by an absolute number, as 1e-9,1e-12. Otherwise ten times the difference of two undisturbed
    /// runs is taken, if they differ
    #[arg(long, value_name = "X", value_parser = spread::parse)]
    tolerance: Option<Tolerance>,
    /// What the program prints only when it goes on from a checkpoint, such as "restart from step". For programs without SCR
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    says: Option<String>,
    /// A file or directory that the program reads from its current directory; may be repeated
    #[arg(long, value_name = "PATH")]
    copy: Vec<PathBuf>,
    /// The launcher with its options; -n and the number of ranks are added
    #[arg(short, long, value_name = "CMD", default_value = "mpiexec")]
    launcher: String,
    /// Longest time of a launch, seconds; otherwise ten times that of the undisturbed run, and a minute more
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    limit: Option<u64>,
    /// Another number draws other ranks, nodes and checkpoints
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Directory for both runs, which must not exist
    #[arg(long, value_name = "DIR", default_value = "scr-rehearsal")]
    dir: PathBuf,
    /// Write a page with pictures of the disturbed run to this file, as scr report does
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// If the restarted run differs, find the variables that its checkpoints lack: the program is restarted some more times, and
    /// looked at. Compile it with -g
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// Show the variables of the program, greatest first, and which of them its checkpoints have: it is launched once, up to its
    /// second checkpoint, and nothing is killed. Compile it with -g
    #[arg(long, conflicts_with_all = ["kill", "quick", "relaunch", "repair", "restart_ranks", "restart_nodes", "compare",
        "compare_with", "tolerance", "says", "html", "explain"])]
    list: bool,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long)]
    json: bool,
    /// This process is a rank of the stage in this directory
    #[arg(long, value_name = "DIR", hide = true)]
    as_rank: Option<PathBuf>,
    /// This process is the launcher of scr run in the stage in this directory
    #[arg(long, value_name = "DIR", hide = true)]
    as_launcher: Option<PathBuf>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    words: Vec<OsString>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if let Some(stage) = &self.as_rank {
            return Err(agent::become_rank(stage, &self.words));
        }
        if let Some(stage) = &self.as_launcher {
            return Err(relaunch::become_launcher(stage, &self.words));
        }
        call.verbose = !self.json;
        if self.list {
            return self.list(call);
        }
        let begun = Instant::now();
        let mut rehearsal = self.rehearse(call)?;
        rehearsal.seconds = begun.elapsed().as_secs_f64();
        if self.json {
            json::print(call, "rehearse", document::document(&rehearsal))?;
        } else {
            for line in judge::lines(&rehearsal) {
                writeln!(call.out, "{line}")?;
            }
        }
        if self.explain && rehearsal.differs() {
            self.explain(&rehearsal, call)?;
        }
        if let Some(file) = &self.html {
            write_page(&self.dir.join("struck"), file)?;
        }
        Ok(status(judge::recovered(&rehearsal)))
    }
}

impl Options {
    fn rehearse(&self, call: &mut Invocation) -> Result<Rehearsal, Failure> {
        self.check()?;
        let (program, launcher) = (self.program()?, self.launcher()?);
        let dir = self.directory()?;
        let mut signals = Signals::new()?;
        let new_stage = |name: &str| Stage::new(&dir.join(name), &launcher, &program, &self.copy);

        let mut whole = new_stage("whole")?;
        say(
            call,
            format_args!("undisturbed run in {}", whole.dir().display()),
        )?;
        let limit = self.limit.map(Duration::from_secs);
        let undisturbed = whole.launch(&self.place(), None, limit, &mut signals)?;
        say(
            call,
            format_args!("{}", judge::ended_in_words(&undisturbed)),
        )?;
        let mut found = self.undisturbed(undisturbed);
        found.outside = outside::find(&whole, &found.undisturbed.seen, &self.compare)?;
        if found.undisturbed.ending != Ending::Code(0) || found.undisturbed.started == 0 {
            return Ok(found);
        }

        let seconds = found.undisturbed.seconds;
        let limit = limit.unwrap_or(Duration::from_secs_f64(60.0 + 10.0 * seconds));
        let mut struck = new_stage("struck")?;
        let mut ended = self.strike(call, &mut struck, &mut found, (limit, &mut signals))?;
        if ended && self.kill.is_empty() && found.restarts_from_the_last_only() {
            let why = "the kill came after the last checkpoint, since this machine is busy: all launches are made again";
            say(call, format_args!("{why}"))?;
            struck.set_aside("struck-late")?;
            struck = new_stage("struck")?;
            found.launches.clear();
            ended = self.strike(call, &mut struck, &mut found, (limit, &mut signals))?;
        }
        if !ended {
            return Ok(found);
        }
        let ranks = self.restart_ranks.unwrap_or(self.ranks);
        self.compare((&whole, &struck), &mut found, ranks)?;
        self.parts(call, &whole, &mut found, (limit, &mut signals))?;
        if found.any_differs() {
            say(
                call,
                format_args!("once more undisturbed, since results differ"),
            )?;
            let mut again = new_stage("again")?;
            let launch = again.launch(&self.place(), None, Some(limit), &mut signals)?;
            say(call, format_args!("{}", judge::ended_in_words(&launch)))?;
            if launch.ending == Ending::Code(0) {
                let (stages, launch) = ((&whole, &again), &[launch]);
                self.find_unsteady(&mut found, stages, launch)?;
                for part in found.parts_mut() {
                    self.find_unsteady(part, stages, launch)?;
                }
            }
        }
        Ok(found)
    }

    /// Launches the program, kills it, and launches it again, to its end. False if a launch had another end than it should.
    fn strike(
        &self,
        call: &mut Invocation,
        struck: &mut Stage,
        found: &mut Rehearsal,
        (limit, signals): (Duration, &mut Signals),
    ) -> Result<bool, Failure> {
        let mut place = self.place();
        let course = Course::of(&found.undisturbed);
        let strikes = match &self.kill[..] {
            _ if self.quick => vec![Strike::new(Victim::AnyRank, Moment::Between(None))],
            [] => course.plan(),
            some => some.to_vec(),
        };
        let mut draw = plan::Draw::new(self.seed);
        for (number, strike) in strikes.iter().enumerate() {
            let so_far = (&place, &found.launches[..]);
            let more = strikes.len() - number - 1;
            let Some(kill) = course.settle(strike, so_far, more, &mut draw)? else {
                let left_out = format_args!("kill {} is left out: its moment is past", number + 1);
                say(call, left_out)?;
                continue;
            };
            say(
                call,
                format_args!("launch {}: {kill}", found.launches.len() + 1),
            )?;
            let launch = struck.launch(&place, Some(&kill), Some(limit), signals)?;
            say(call, format_args!("{}", judge::ended_in_words(&launch)))?;
            if let (Victim::Node(node), Ending::Struck) = (&kill.victim, &launch.ending) {
                struck.lose(node)?;
                place.replace(node);
            }
            let goes_on = launch.ending == Ending::Struck;
            found.launches.push(launch);
            if !goes_on {
                return Ok(false);
            }
        }
        if found.launches.is_empty() {
            return Err(Failure::said(
                "nothing was killed: the program has no checkpoint of the number in --kill",
            ));
        }
        let ranks = self.restart_ranks.unwrap_or(self.ranks) as usize;
        let nodes = self.restart_nodes.unwrap_or(self.nodes) as usize;
        place.spread(ranks, nodes);
        say(
            call,
            format_args!("launch {}: to the end", found.launches.len() + 1),
        )?;
        let last = struck.launch(&place, None, Some(limit), signals)?;
        say(call, format_args!("{}", judge::ended_in_words(&last)))?;
        // A launch that was ended has no results.
        let ended = last.ending == Ending::Code(0);
        found.launches.push(last);
        Ok(ended)
    }

    /// Compares the results and checkpoints of both runs. `ranks`: of the last launch.
    fn compare(
        &self,
        (whole, struck): (&Stage, &Stage),
        found: &mut Rehearsal,
        ranks: u32,
    ) -> Result<(), Failure> {
        for file in &self.compare {
            let other = self.other(&whole.dir().join(file), &struck.dir().join(file))?;
            found.compared.push(Comparison {
                file: file.clone(),
                other,
            });
        }
        // What a command takes as the same does not apply to checkpoints.
        if self.compare_with.is_none() {
            caches::bring(whole, [&found.undisturbed])?;
            caches::bring(struck, &found.launches)?;
            let how = checkpoints::How {
                given: &self.tolerance.unwrap_or_default(),
                same_ranks: ranks == self.ranks,
            };
            found.checkpoints = Checkpoints::compare((whole, struck), &found.launches, 1, &how)?;
        }
        Ok(())
    }

    /// Finds out which differences also exist between two undisturbed runs.
    fn find_unsteady(
        &self,
        found: &mut Rehearsal,
        (whole, again): (&Stage, &Stage),
        launch: &[Launch; 1],
    ) -> Result<(), Failure> {
        let unsteady = &mut found.unsteady;
        for one in &mut found.compared {
            let Some(other) = &one.other else { continue };
            let twin = self.other(&whole.dir().join(&one.file), &again.dir().join(&one.file))?;
            let Some(twin) = twin else { continue };
            match (Spread::of(twin.greatest), twin.greatest) {
                (spread @ Spread::Numbers(_), Some(distance)) if self.tolerance.is_none() => {
                    let name = one.file.display().to_string();
                    unsteady.tolerances.insert(name, distance);
                    if spread.allows(other.greatest) {
                        one.other = None;
                    }
                }
                _ => unsteady.files.push(one.file.clone()),
            }
        }
        if !found.checkpoints.others.is_empty() {
            let given = &self.tolerance.unwrap_or_default();
            caches::bring(again, launch)?;
            let how = checkpoints::How {
                given,
                same_ranks: true,
            };
            let others = Checkpoints::compare((whole, again), launch, 0, &how)?;
            let is_given = self.tolerance.is_some();
            let (tolerances, parts) = found.checkpoints.within(&others, is_given);
            unsteady.tolerances.extend(tolerances);
            unsteady.parts = parts;
        }
        Ok(())
    }

    /// A rehearsal with nothing but its undisturbed run.
    fn undisturbed(&self, launch: Launch) -> Rehearsal {
        Rehearsal::new(launch, self.tolerance.is_some(), self.says.clone())
    }

    /// Fails if the options do not fit together.
    fn check(&self) -> Result<(), Failure> {
        if self.nodes > self.ranks {
            return Err(Failure::said(format!(
                "{} nodes need a rank each, and there are {} ranks (--ranks)",
                self.nodes, self.ranks
            )));
        }
        let first = self.kill.first();
        if first.is_some_and(|first| first.moment == Moment::Restart) {
            return Err(Failure::said(
                "the first launch makes no restart: name another --kill before the one in the restart",
            ));
        }
        Ok(())
    }

    /// The places of the ranks when nothing is lost.
    fn place(&self) -> Placement {
        Placement::new(self.ranks as usize, self.nodes as usize)
    }

    /// The program with its whole path, and its arguments.
    fn program(&self) -> Result<Vec<OsString>, Failure> {
        let (word, rest) = match self.words.split_first() {
            Some((word, rest)) => (word.to_string_lossy(), rest),
            None => return Err(Failure::said("there is no program to launch")),
        };
        let path = need(&word)?;
        Ok([vec![path.into_os_string()], rest.to_vec()].concat())
    }

    fn launcher(&self) -> Result<Vec<OsString>, Failure> {
        let mut words = super::run::split_words(&self.launcher)?;
        let word = words
            .first_mut()
            .ok_or_else(|| Failure::said("--launcher is empty"))?;
        let path = need(word)?;
        // It is called in another directory.
        if word.contains('/')
            && let Some(path) = path.to_str()
        {
            *word = path.into();
        }
        Ok(words.into_iter().map(OsString::from).collect())
    }

    fn directory(&self) -> Result<PathBuf, Failure> {
        std::fs::create_dir(&self.dir).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::said(format!(
                "{} exists already; remove it, or name another directory with --dir",
                self.dir.display()
            )),
            _ => scr_engine::Error::io("create", &self.dir, error).into(),
        })?;
        std::fs::canonicalize(&self.dir)
            .map_err(|error| scr_engine::Error::io("resolve", &self.dir, error).into())
    }

    /// The difference of two files with results.
    fn other(&self, one: &Path, other: &Path) -> Result<Option<Difference>, Failure> {
        let told = |how: &str| {
            let how = how.to_string();
            Some(Difference {
                how,
                greatest: None,
            })
        };
        if let Some(command) = &self.compare_with {
            let words = super::run::split_words(command)?;
            let (word, rest) = words
                .split_first()
                .ok_or_else(|| Failure::said("--compare-with is empty"))?;
            let mut arguments: Vec<OsString> = rest.iter().map(OsString::from).collect();
            arguments.extend([one.into(), other.into()]);
            let done = program::run(&need(word)?, &arguments, &[], COMPARING)?;
            return match done.code {
                Some(0) => Ok(None),
                Some(1) => Ok(told(&format!("{word} says so"))),
                _ => Err(Failure::said(format!("{word}: {}", done.why()))),
            };
        }
        let read = |path: &Path| std::fs::read(path).ok();
        match (read(one), read(other)) {
            (None, _) => Err(Failure::said(format!(
                "the undisturbed run has not written {} (--compare)",
                one.display()
            ))),
            (Some(_), None) => Ok(told("it was not written")),
            (Some(one), Some(other)) => {
                let given = self.tolerance.unwrap_or_default();
                Ok(results::difference(&one, &other, &given))
            }
        }
    }
}

/// The longest limit: more than a hundred years.
const MOST_SECONDS: u64 = u32::MAX as u64;

/// Time that a comparison may take.
const COMPARING: Duration = Duration::from_secs(3600);

fn need(word: &str) -> Result<PathBuf, Failure> {
    let environment = Environment::of_process();
    find(&environment, word).ok_or_else(|| {
        Failure::said(format!(
            "there is no program {word} that can be run; name one with its path, or one on PATH"
        ))
    })
}

/// Prints the progress at once, since launches take long.
fn say(call: &mut Invocation, text: std::fmt::Arguments) -> std::io::Result<()> {
    if !call.verbose {
        return Ok(());
    }
    writeln!(call.out, "{text}")?;
    call.out.flush()
}

/// Has `scr report` draw the disturbed run.
fn write_page(prefix: &Path, file: &Path) -> Result<(), Failure> {
    let own = own_program()?;
    let words = [
        "report".into(),
        "--ended".into(),
        "--prefix".into(),
        prefix.into(),
    ];
    let words = [&words[..], &["--html".into(), file.into()]].concat();
    let done = program::run(&own, &words, &[], COMPARING)?;
    if done.good() {
        return Ok(());
    }
    let why = done.why();
    Err(Failure::said(format!(
        "no page was written: scr report: {why}"
    )))
}
