//! `scr report --json`. `docs/formats/json.md` describes each key.

use super::datasets::{Dataset, Moved};
use super::failed::FailedOperation;
use super::findings::{Failure, Findings, Level, TimeUse};
use super::notes;
use super::run::{Activity, Ending, Phase, Run};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ReportJson<'a> {
    log: &'a str,
    records: u64,
    unreadable: u64,
    notes: Vec<String>,
    jobs: Vec<&'a str>,
    begin: Option<f64>,
    end: Option<f64>,
    time: TimeJson,
    progress_share: Option<f64>,
    waited: f64,
    hidden: f64,
    scavenges: f64,
    hangs: usize,
    hang_seconds: f64,
    runs: Vec<RunJson<'a>>,
    failures: Vec<FailureJson<'a>>,
    failed: Vec<FailedJson<'a>>,
    levels: Vec<LevelJson<'a>>,
    datasets: Vec<DatasetJson<'a>>,
    interval: IntervalJson,
}

#[derive(Serialize)]
struct TimeJson {
    total: f64,
    progress: f64,
    output: f64,
    checkpoint: f64,
    flush: f64,
    restart: f64,
    lost: f64,
    other: f64,
    down: f64,
}

#[derive(Serialize)]
struct RunJson<'a> {
    run: usize,
    job: &'a str,
    begin: f64,
    end: f64,
    ending: &'static str,
    processes: Option<u64>,
    nodes: Option<u64>,
    checkpoints: usize,
    restart_id: Option<u64>,
    restart_name: Option<&'a str>,
    time: TimeJson,
    phases: Vec<PhaseJson>,
}

#[derive(Serialize)]
struct PhaseJson {
    activity: &'static str,
    begin: f64,
    end: f64,
    seconds: f64,
    dataset: Option<u64>,
}

#[derive(Serialize)]
struct FailureJson<'a> {
    run: usize,
    time: f64,
    time_from: &'static str,
    nodes: &'a [String],
    hang: Option<f64>,
    lost: Option<f64>,
    down: Option<f64>,
    recovery: Option<f64>,
    cost: f64,
}

#[derive(Serialize)]
struct FailedJson<'a> {
    run: usize,
    time: f64,
    what: &'static str,
    id: Option<u64>,
    name: Option<&'a str>,
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct LevelJson<'a> {
    level: &'a str,
    store: Option<&'a str>,
    blocks: bool,
    datasets: u64,
    seconds: f64,
    mean: f64,
    redundancy: Option<f64>,
    bytes: f64,
    bytes_per_second: Option<f64>,
}

#[derive(Serialize)]
struct DatasetJson<'a> {
    id: u64,
    name: Option<&'a str>,
    run: usize,
    time: i64,
    output: bool,
    scheme: &'a str,
    store: Option<&'a str>,
    files: Option<u64>,
    bytes: Option<f64>,
    written: Option<MovedJson>,
    encoded: Option<MovedJson>,
    flushed: Option<MovedJson>,
    flushed_in_background: Option<MovedJson>,
    fetched: Option<MovedJson>,
}

#[derive(Serialize)]
struct MovedJson {
    seconds: Option<f64>,
    bytes_per_second: Option<f64>,
}

#[derive(Serialize)]
struct IntervalJson {
    failures: u64,
    observed: f64,
    confidence: f64,
    between_failures: Option<f64>,
    between_failures_assumed: bool,
    between_failures_low: Option<f64>,
    between_failures_high: Option<f64>,
    cost: Option<f64>,
    present: Option<f64>,
    advice: Vec<AdviceJson>,
}

#[derive(Serialize)]
struct AdviceJson {
    formula: &'static str,
    interval: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    expected_loss: Option<f64>,
}

impl<'a> ReportJson<'a> {
    pub fn of(findings: &'a Findings) -> Self {
        let span = findings.span();
        let runs = findings.runs.iter().zip(&findings.run_times).enumerate();
        ReportJson {
            log: &findings.source,
            records: findings.records,
            unreadable: findings.unreadable,
            notes: notes::of(findings),
            jobs: findings.jobs(),
            begin: span.map(|span| span.0),
            end: span.map(|span| span.1),
            time: TimeJson::of(&findings.time),
            progress_share: findings.time.share(findings.time.progress),
            waited: findings.blocked,
            hidden: findings.hidden,
            scavenges: findings.scavenges,
            hangs: findings.hangs.len(),
            hang_seconds: findings.hang_seconds(),
            runs: runs
                .map(|(number, (run, time))| RunJson::of(number, run, time))
                .collect(),
            failures: findings.failures.iter().map(FailureJson::of).collect(),
            failed: findings.failed.iter().map(FailedJson::of).collect(),
            levels: findings.levels.iter().map(LevelJson::of).collect(),
            datasets: findings.datasets.iter().map(DatasetJson::of).collect(),
            interval: IntervalJson::of(findings),
        }
    }
}

impl TimeJson {
    fn of(time: &TimeUse) -> Self {
        TimeJson {
            total: time.total,
            progress: time.progress,
            output: time.output,
            checkpoint: time.checkpoint,
            flush: time.flush,
            restart: time.restart,
            lost: time.lost,
            other: time.other,
            down: time.down,
        }
    }
}

impl<'a> RunJson<'a> {
    fn of(number: usize, run: &'a Run, time: &TimeUse) -> Self {
        let phases = run.phases.iter().map(|phase| PhaseJson::of(phase, false));
        let behind = run
            .background
            .iter()
            .map(|phase| PhaseJson::of(phase, true));
        RunJson {
            run: number + 1,
            job: &run.job,
            begin: run.begin,
            end: run.end,
            ending: match run.ending {
                Some(Ending::Itself) => "itself",
                Some(Ending::KilledAt | Ending::KilledAfter) => "killed",
                Some(Ending::Unknown) | None => "unknown",
            },
            processes: run.procs,
            nodes: run.nodes,
            checkpoints: run.checkpoints.len(),
            restart_id: run.restart().map(|restart| restart.0),
            restart_name: run.restart().and_then(|restart| restart.1.as_deref()),
            time: TimeJson::of(time),
            phases: phases.chain(behind).collect(),
        }
    }
}

impl PhaseJson {
    fn of(phase: &Phase, background: bool) -> Self {
        PhaseJson {
            activity: match phase.activity {
                _ if background => "background_flush",
                Activity::Compute => "compute",
                Activity::Output => "output",
                Activity::Checkpoint => "checkpoint",
                Activity::Flush => "flush",
                Activity::Rebuild => "rebuild",
                Activity::Fetch => "fetch",
                Activity::Read => "read",
            },
            begin: phase.begin,
            end: phase.end,
            seconds: phase.seconds,
            dataset: phase.dataset,
        }
    }
}

impl<'a> FailedJson<'a> {
    fn of(failed: &'a FailedOperation) -> Self {
        FailedJson {
            run: failed.run + 1,
            time: failed.at,
            what: failed.what,
            id: failed.id,
            name: failed.name.as_deref(),
            why: failed.why.as_deref(),
        }
    }
}

impl<'a> FailureJson<'a> {
    fn of(failure: &'a Failure) -> Self {
        FailureJson {
            run: failure.run + 1,
            time: failure.at,
            time_from: match failure.ending {
                Ending::KilledAt => "run_end",
                _ => "last_record",
            },
            nodes: &failure.nodes,
            hang: failure.hang,
            lost: failure.lost,
            down: failure.down,
            recovery: failure.recovery,
            cost: failure.cost(),
        }
    }
}

impl<'a> LevelJson<'a> {
    fn of(level: &'a Level) -> Self {
        LevelJson {
            level: &level.name,
            store: Some(level.store.as_str()).filter(|store| !store.is_empty()),
            blocks: level.blocks,
            datasets: level.count,
            seconds: level.seconds,
            mean: level.mean(),
            redundancy: level.encode,
            bytes: level.bytes(),
            bytes_per_second: level.rate(),
        }
    }
}

impl<'a> DatasetJson<'a> {
    fn of(dataset: &'a Dataset) -> Self {
        let moved = |moved: Option<Moved>| {
            moved.map(|moved| MovedJson {
                seconds: moved.seconds,
                bytes_per_second: moved.rate(),
            })
        };
        DatasetJson {
            id: dataset.id,
            name: dataset.name.as_deref(),
            run: dataset.run + 1,
            time: dataset.time,
            output: dataset.is_output,
            scheme: dataset.scheme_text(),
            store: dataset.store.as_deref(),
            files: dataset.files,
            bytes: dataset.bytes,
            written: moved(dataset.written),
            encoded: moved(dataset.encoded),
            flushed: moved(dataset.flushed),
            flushed_in_background: moved(dataset.flushed_behind),
            fetched: moved(dataset.fetched),
        }
    }
}

impl IntervalJson {
    fn of(findings: &Findings) -> Self {
        let estimate = &findings.estimate;
        let advice = estimate.advice.iter().map(|advice| AdviceJson {
            formula: advice.name,
            interval: advice.best,
            low: advice.low,
            high: advice.high,
            expected_loss: advice.best.and_then(|best| estimate.expected_loss(best)),
        });
        IntervalJson {
            failures: estimate.failures,
            observed: estimate.observed,
            confidence: super::failure_rate::CONFIDENCE,
            between_failures: estimate.between,
            between_failures_assumed: estimate.assumed,
            between_failures_low: estimate.between_low,
            between_failures_high: estimate.between_high,
            cost: estimate.cost,
            present: estimate.present,
            advice: advice.collect(),
        }
    }
}
