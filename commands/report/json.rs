//! `scr report --json`. `docs/formats/json.md` describes each key.

use super::datasets::{Dataset, Moved};
use super::failed::FailedOperation;
use super::failure_rate::CONFIDENCE;
use super::findings::{Failure, Findings, Level, TimeUse};
use super::notes;
use super::run::{Activity, Ending, Phase, Run};
use crate::json::object;
use serde::Serialize;

/// The whole report.
pub(super) fn report(findings: &Findings) -> impl Serialize {
    let span = findings.span();
    let runs = findings.runs.iter().zip(&findings.run_times).enumerate();
    let runs = runs.map(|(number, (from, time))| run(number, from, time));
    object! {
        log: &findings.source,
        records: findings.records,
        unreadable: findings.unreadable,
        notes: notes::of(findings),
        jobs: findings.jobs(),
        begin: span.map(|span| span.0),
        end: span.map(|span| span.1),
        time: findings.time,
        progress_share: findings.time.share(findings.time.progress),
        waited: findings.blocked,
        hidden: findings.hidden,
        scavenges: findings.scavenges,
        hangs: findings.hangs.len(),
        hang_seconds: findings.hang_seconds(),
        runs: runs.collect::<Vec<_>>(),
        failures: findings.failures.iter().map(failure).collect::<Vec<_>>(),
        failed: findings.failed.iter().map(failed).collect::<Vec<_>>(),
        levels: findings.levels.iter().map(level).collect::<Vec<_>>(),
        datasets: findings.datasets.iter().map(dataset).collect::<Vec<_>>(),
        interval: interval(findings),
    }
}

fn run(number: usize, run: &Run, time: &TimeUse) -> impl Serialize {
    let phases = run.phases.iter().map(|of| phase(of, false));
    let behind = run.background.iter().map(|of| phase(of, true));
    let restart = run.restart();
    object! {
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
        restart_id: restart.map(|restart| restart.0),
        restart_name: restart.and_then(|restart| restart.1.as_deref()),
        time: *time,
        phases: phases.chain(behind).collect::<Vec<_>>(),
    }
}

fn phase(phase: &Phase, background: bool) -> impl Serialize {
    object! {
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

fn failed(failed: &FailedOperation) -> impl Serialize {
    object! {
        run: failed.run + 1,
        time: failed.at,
        what: failed.what,
        id: failed.id,
        name: &failed.name,
        why: &failed.why,
    }
}

fn failure(failure: &Failure) -> impl Serialize {
    object! {
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

fn level(level: &Level) -> impl Serialize {
    object! {
        level: &level.name,
        store: Some(&level.store).filter(|store| !store.is_empty()),
        blocks: level.blocks,
        datasets: level.count,
        seconds: level.seconds,
        mean: level.mean(),
        redundancy: level.encode,
        bytes: level.bytes(),
        bytes_per_second: level.rate(),
    }
}

fn dataset(dataset: &Dataset) -> impl Serialize {
    object! {
        id: dataset.id,
        name: &dataset.name,
        run: dataset.run + 1,
        time: dataset.time,
        output: dataset.is_output,
        scheme: dataset.scheme_text(),
        store: &dataset.store,
        files: dataset.files,
        bytes: dataset.bytes,
        written: dataset.written.map(moved),
        encoded: dataset.encoded.map(moved),
        flushed: dataset.flushed.map(moved),
        flushed_in_background: dataset.flushed_behind.map(moved),
        fetched: dataset.fetched.map(moved),
    }
}

fn moved(moved: Moved) -> impl Serialize {
    object! {
        seconds: moved.seconds,
        bytes_per_second: moved.rate(),
    }
}

fn interval(findings: &Findings) -> impl Serialize {
    let estimate = &findings.estimate;
    let advice = estimate.advice.iter().map(|advice| {
        object! {
            formula: advice.name,
            interval: advice.best,
            low: advice.low,
            high: advice.high,
            expected_loss: advice.best.and_then(|best| estimate.expected_loss(best)),
        }
    });
    object! {
        failures: estimate.failures,
        observed: estimate.observed,
        confidence: CONFIDENCE,
        between_failures: estimate.between,
        between_failures_assumed: estimate.assumed,
        between_failures_low: estimate.between_low,
        between_failures_high: estimate.between_high,
        cost: estimate.cost,
        present: estimate.present,
        advice: advice.collect::<Vec<_>>(),
    }
}
