//! The numbers that follow from the history.

use super::datasets::{Dataset, Moved};
use super::estimate::Estimate;
use super::failed::FailedOperation;
use super::history::History;
use super::lost;
use super::run::{Activity, Ending, Phase, Run};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::AddAssign;

/// The uses of the time of runs, seconds. The parts make up the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct TimeUse {
    pub total: f64,
    /// Computation whose result was not lost.
    pub progress: f64,
    /// Writing output that is no checkpoint.
    pub output: f64,
    pub checkpoint: f64,
    /// Flushes for which the program waited.
    pub flush: f64,
    /// Rebuilding, fetching and reading checkpoints.
    pub restart: f64,
    /// The time after the checkpoint that the next run went on from.
    pub lost: f64,
    /// The rest: start and end of SCR, waiting for flushes in the background.
    pub other: f64,
    /// The time from failures to the next starts, within a job.
    pub down: f64,
}

impl AddAssign for TimeUse {
    fn add_assign(&mut self, more: Self) {
        self.total += more.total;
        self.progress += more.progress;
        self.output += more.output;
        self.checkpoint += more.checkpoint;
        self.flush += more.flush;
        self.restart += more.restart;
        self.lost += more.lost;
        self.other += more.other;
        self.down += more.down;
    }
}

impl TimeUse {
    /// The parts with their names, in the order in which they are shown.
    pub fn parts(&self) -> [(&'static str, &'static str, f64); 8] {
        [
            (
                "compute",
                "Progress: computation that was kept",
                self.progress,
            ),
            ("output", "Output that is no checkpoint", self.output),
            (
                "checkpoint",
                "Checkpoints, with their redundancy",
                self.checkpoint,
            ),
            ("flush", "Flushes, the program waits", self.flush),
            ("restart", "Restarts: rebuild, fetch, read", self.restart),
            ("lost", "Lost work", self.lost),
            ("other", "Other time in SCR", self.other),
            ("down", "From failures to the next starts", self.down),
        ]
    }

    /// A part of the total; `None` if that is 0.
    pub fn share(&self, part: f64) -> Option<f64> {
        (self.total > 0.0).then(|| part / self.total)
    }

    /// The use of one run.
    fn of(run: &Run) -> Self {
        let mut time = TimeUse {
            total: run.seconds(),
            lost: lost_seconds(run),
            ..TimeUse::default()
        };
        for phase in &run.phases {
            let seconds = phase.seconds * (1.0 - lost_share(run, phase));
            *match phase.activity {
                Activity::Compute => &mut time.progress,
                Activity::Output => &mut time.output,
                Activity::Checkpoint => &mut time.checkpoint,
                Activity::Flush => &mut time.flush,
                Activity::Rebuild | Activity::Fetch | Activity::Read => &mut time.restart,
            } += seconds;
        }
        let known = time.progress + time.output + time.checkpoint + time.flush + time.restart;
        // The clock of a log may have whole seconds, and durations have fractions.
        time.total = time.total.max(known + time.lost);
        time.other = (time.total - known - time.lost).max(0.0);
        time
    }
}

fn lost_seconds(run: &Run) -> f64 {
    run.lost
        .iter()
        .fold(0.0, |sum, (begin, end)| sum + end - begin)
}

/// The part of a phase that was lost, from 0 to 1.
fn lost_share(run: &Run, phase: &Phase) -> f64 {
    let length = phase.end - phase.begin;
    let lost = run.lost.iter().map(|(begin, end)| {
        if length > 0.0 {
            ((phase.end.min(*end) - phase.begin.max(*begin)) / length).max(0.0)
        } else {
            f64::from(u8::from(phase.end > *begin && phase.end <= *end))
        }
    });
    lost.sum::<f64>().min(1.0)
}

/// A run that was killed, and the cost of that. Seconds; `None` if the log does not tell.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// The number of the run, from 0.
    pub run: usize,
    pub at: f64,
    pub ending: Ending,
    pub nodes: Vec<String>,
    /// Time without progress, if the run was ended for that.
    pub hang: Option<f64>,
    pub lost: Option<f64>,
    /// The time until the next run began.
    pub down: Option<f64>,
    /// The time for rebuilding, fetching and reading the checkpoint in the next run.
    pub recovery: Option<f64>,
}

impl Failure {
    /// The cost as far as it is known.
    pub fn cost(&self) -> f64 {
        let parts = [self.lost, self.down, self.recovery];
        parts
            .into_iter()
            .flatten()
            .fold(0.0, |sum, part| sum + part)
    }
}

/// The cost of datasets of one kind together.
#[derive(Debug, Clone, Default)]
pub(super) struct Level {
    /// The operation: a redundancy scheme, or a copy to or from the prefix directory.
    pub name: String,
    /// The store; empty if it has no meaning.
    pub store: String,
    pub count: u64,
    pub seconds: f64,
    /// The part of the seconds in which redundancy was made.
    pub encode: Option<f64>,
    /// Bytes of the datasets with known time and size, and their time.
    bytes: f64,
    timed: f64,
    /// The program waits for it.
    pub blocks: bool,
}

impl Level {
    fn add(&mut self, moved: &Moved) {
        self.count += 1;
        let seconds = moved.seconds.unwrap_or(0.0);
        self.seconds += seconds;
        if let Some(bytes) = moved.bytes.filter(|_| seconds > 0.0) {
            self.bytes += bytes;
            self.timed += seconds;
        }
    }

    pub fn mean(&self) -> f64 {
        self.seconds / self.count.max(1) as f64
    }

    /// Bytes a second.
    pub fn rate(&self) -> Option<f64> {
        (self.timed > 0.0).then(|| self.bytes / self.timed)
    }

    pub fn bytes(&self) -> f64 {
        self.bytes
    }
}

/// The content of the report.
pub(super) struct Findings {
    /// The event log: a file, or a database.
    pub source: String,
    /// True if it is not known whether the last run has ended.
    pub goes_on: bool,
    pub records: u64,
    /// Records of events that SCR does not write.
    pub other: u64,
    pub unreadable: u64,
    pub runs: Vec<Run>,
    /// The time of each run, without the time after it.
    pub run_times: Vec<TimeUse>,
    pub time: TimeUse,
    pub failures: Vec<Failure>,
    /// Operations in which SCR has failed.
    pub failed: Vec<FailedOperation>,
    pub datasets: Vec<Dataset>,
    pub levels: Vec<Level>,
    /// Time that the program waited for checkpoints, flushes, restarts and SCR, also where it was lost.
    pub blocked: f64,
    /// Time of flushes in the background.
    pub hidden: f64,
    pub scavenges: f64,
    /// Seconds without progress of each run that was ended for that.
    pub hangs: Vec<f64>,
    pub estimate: Estimate,
}

impl Findings {
    /// The findings from the history of a log. `every`: see [`Estimate::of`].
    pub fn of(
        mut history: History,
        source: String,
        unreadable: u64,
        ended: bool,
        every: Option<f64>,
    ) -> Self {
        history.end(ended);
        let goes_on = history.goes_on();
        let mut runs = history.runs;
        let unknown = lost::find(&mut runs);
        let run_times: Vec<TimeUse> = runs.iter().map(TimeUse::of).collect();
        let failures = failures(&runs, &unknown);
        let mut time = TimeUse::default();
        run_times.iter().for_each(|one| time += *one);
        time.down = downtime(&runs);
        time.total += time.down;
        let levels = levels(&history.datasets.all, &runs);
        let blocked = runs.iter().fold(0.0, |sum, run| sum + blocked(run));
        let background = runs.iter().flat_map(|run| &run.background);
        let hidden = background.fold(0.0, |sum, flush| sum + flush.seconds);
        Findings {
            source,
            goes_on,
            other: history.other,
            records: history.records,
            unreadable,
            estimate: Estimate::of(&runs, failures.len() as u64, every),
            hidden,
            scavenges: history.scavenges,
            hangs: history.hangs,
            failed: history.failed,
            datasets: history.datasets.all,
            run_times,
            time,
            failures,
            levels,
            blocked,
            runs,
        }
    }

    /// Seconds without progress of all runs that were ended for that.
    pub fn hang_seconds(&self) -> f64 {
        self.hangs.iter().fold(0.0, |sum, hang| sum + hang)
    }

    /// Beginning and end of the known time, seconds since 1970.
    pub fn span(&self) -> Option<(f64, f64)> {
        let begins = self.runs.iter().map(|run| run.begin);
        let ends = self.runs.iter().map(|run| run.end);
        Some((begins.reduce(f64::min)?, ends.reduce(f64::max)?))
    }

    /// The ids of the jobs, each once.
    pub fn jobs(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let jobs = self.runs.iter().map(|run| run.job.as_str());
        jobs.filter(|job| seen.insert(*job)).collect()
    }
}

/// Seconds in which the program did not go on with its own work.
fn blocked(run: &Run) -> f64 {
    let own = |phase: &&Phase| matches!(phase.activity, Activity::Compute | Activity::Output);
    let own: f64 = run.phases.iter().filter(own).map(|p| p.seconds).sum();
    (run.seconds() - own).max(0.0)
}

fn recovery(run: &Run) -> f64 {
    let recovers = |phase: &&Phase| {
        let activity = phase.activity;
        matches!(
            activity,
            Activity::Rebuild | Activity::Fetch | Activity::Read
        )
    };
    let phases = run.phases.iter().filter(recovers);
    phases.fold(0.0, |sum, phase| sum + phase.seconds)
}

fn failures(runs: &[Run], unknown: &[usize]) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let Some(ending) = run.ending.filter(|ending| ending.is_failure()) else {
            continue;
        };
        let next = runs.get(number + 1);
        let known = !unknown.contains(&number);
        failures.push(Failure {
            run: number,
            at: run.end,
            ending,
            nodes: run.node_failures.clone(),
            hang: run.hang,
            lost: known.then(|| lost_seconds(run)),
            down: next.map(|next| (next.begin - run.end).max(0.0)),
            recovery: next.map(recovery),
        });
    }
    failures
}

/// The time from failures to the next starts in the same job, while the allocation was held.
fn downtime(runs: &[Run]) -> f64 {
    let times = runs.windows(2).filter_map(|pair| match pair {
        [run, next] if run.job == next.job && run.ending?.is_failure() => {
            Some((next.begin - run.end).max(0.0))
        }
        _ => None,
    });
    times.fold(0.0, |sum, time| sum + time)
}

/// The cost of each scheme in each store, and of each kind of copy.
fn levels(datasets: &[Dataset], runs: &[Run]) -> Vec<Level> {
    let mut written: BTreeMap<(String, String), Level> = BTreeMap::new();
    let [mut program, mut flush, mut behind, mut fetch, mut rebuild] = [
        ("The program writes", true),
        ("Flush, the program waits", true),
        ("Flush in the background", false),
        ("Fetch", true),
        ("Rebuild", true),
    ]
    .map(|(name, blocks)| Level {
        name: name.to_string(),
        blocks,
        ..Level::default()
    });
    for dataset in datasets {
        if let Some(moved) = &dataset.written {
            let store = dataset.store.clone().unwrap_or_default();
            let key = (dataset.scheme_text().to_string(), store);
            let level = written.entry(key.clone()).or_insert_with(|| Level {
                name: key.0,
                store: key.1,
                blocks: true,
                ..Level::default()
            });
            level.add(moved);
            if let Some(seconds) = dataset.encoded.and_then(|encoded| encoded.seconds) {
                *level.encode.get_or_insert(0.0) += seconds;
            }
        }
        for (level, moved) in [
            (&mut program, &dataset.program),
            (&mut flush, &dataset.flushed),
            (&mut behind, &dataset.flushed_behind),
            (&mut fetch, &dataset.fetched),
        ] {
            moved.iter().for_each(|moved| level.add(moved));
        }
    }
    let sizes = datasets.iter().filter_map(|one| Some((one.id, one.bytes?)));
    let sizes: HashMap<u64, f64> = sizes.collect();
    for phase in runs.iter().flat_map(|run| &run.phases) {
        if phase.activity == Activity::Rebuild {
            rebuild.add(&Moved {
                seconds: Some(phase.seconds),
                bytes: phase.dataset.and_then(|id| sizes.get(&id).copied()),
            });
        }
    }
    let others = [program, flush, behind, fetch, rebuild].into_iter();
    let others = others.filter(|level| level.count > 0);
    written.into_values().chain(others).collect()
}
