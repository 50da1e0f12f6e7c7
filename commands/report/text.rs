//! The report for a terminal.

use super::findings::Findings;
use super::notes;
use super::run::{Ending, Run};
use super::words::{bytes, clock, duration, or_dash, percent, rate};
use crate::terminal::{HEADING, Line};
use clap::builder::styling::Style;
use scr_engine::text::{counted, escaped};

/// The most rows of a table. A longer table shows only its newest rows.
const MOST_ROWS: usize = 20;

pub(super) fn lines(findings: &Findings) -> Vec<Line> {
    let mut lines = vec![Line::new(title(findings))];
    for note in notes::of(findings) {
        lines.push(Line::new(format!("  {}", escaped(&note))));
    }
    if findings.runs.is_empty() {
        return lines;
    }
    section(&mut lines, "Where the time went", time_rows(findings));
    lines.push(Line::new(waiting(findings)));
    lines.extend(hangs(findings).map(Line::new));
    section(&mut lines, "Runs", run_rows(findings));
    if !findings.failures.is_empty() {
        section(&mut lines, "Failures", failure_rows(findings));
    }
    if !findings.failed.is_empty() {
        section(&mut lines, "What SCR could not do", failed_rows(findings));
    }
    if !findings.levels.is_empty() {
        section(&mut lines, "Levels", level_rows(findings));
    }
    heading(&mut lines, "How often to write a checkpoint");
    lines.extend(interval(findings).into_iter().map(Line::new));
    lines
}

/// The first line: the subject of the report.
pub(super) fn title(findings: &Findings) -> String {
    let source = escaped(&findings.source);
    let mut failures = counted(findings.failures.len(), "failure");
    let flushes = findings.failed.iter().filter(|failed| failed.is_flush());
    failures += &match flushes.count() {
        0 => String::new(),
        1 => ", 1 failed flush".to_string(),
        count => format!(", {count} failed flushes"),
    };
    let runs = counted(findings.runs.len(), "run");
    let jobs = counted(findings.jobs().len(), "job");
    match findings.span() {
        None => format!("{source}: no runs"),
        Some((begin, end)) => format!(
            "{source}: {runs} of {jobs} from {} to {}, {failures}",
            clock(begin),
            clock(end)
        ),
    }
}

/// Tells how long the program waited, and how long flushes in the background took.
pub(super) fn waiting(findings: &Findings) -> String {
    let behind = if findings.hidden > 0.0 {
        format!(
            " Flushes in the background took {}, while it went on.",
            duration(findings.hidden)
        )
    } else {
        String::new()
    };
    format!(
        "The program waited {} for checkpoints, flushes, restarts and SCR.{behind}",
        duration(findings.blocked)
    )
}

/// Tells how long the runs that hung went without progress before they were ended; `None` if no run
/// hung.
pub(super) fn hangs(findings: &Findings) -> Option<String> {
    let count = match findings.hangs.len() {
        0 => return None,
        1 => "1 run hung and was".to_string(),
        count => format!("{count} runs hung and were"),
    };
    Some(format!(
        "{count} ended after {} without progress, which is a part of the lost work.",
        duration(findings.hang_seconds())
    ))
}

fn heading(lines: &mut Vec<Line>, text: &str) {
    lines.push(Line::new(""));
    lines.push(Line::new(text).styled(HEADING));
}

/// Adds a table, whose first row has the names of the columns.
fn section(lines: &mut Vec<Line>, title: &str, rows: Vec<Vec<String>>) {
    heading(lines, title);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let total = rows.len().saturating_sub(1);
    let left_out = total.saturating_sub(MOST_ROWS);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        if number > 0 && number <= left_out {
            continue;
        }
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            format!("{cell}{blanks}")
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    let hang = 4;
    lines.extend(Line::table(&text, hang, |_| Style::new()));
    if left_out > 0 {
        lines.push(Line::new(format!(
            "  {left_out} older ones are only in --html and --json"
        )));
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

fn time_rows(findings: &Findings) -> Vec<Vec<String>> {
    let mut rows = vec![row(["PART", "TIME", "SHARE"])];
    let time = &findings.time;
    let share = |part: f64| or_dash(time.share(part), percent);
    for (_, name, part) in time.parts() {
        rows.push(vec![name.to_string(), duration(part), share(part)]);
    }
    rows.push(vec![
        "All".to_string(),
        duration(time.total),
        share(time.total),
    ]);
    rows
}

/// The end of a run, in words.
pub(super) fn ending(run: &Run) -> &'static str {
    match run.ending {
        Some(Ending::KilledAt | Ending::KilledAfter) if run.hang.is_some() => "it hung",
        Some(Ending::Itself) => "by itself",
        Some(Ending::KilledAt) => "killed",
        Some(Ending::KilledAfter) => "killed, after its last record",
        Some(Ending::Unknown) | None => "not known",
    }
}

pub(super) fn run_rows(findings: &Findings) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "RUN",
        "JOB",
        "BEGIN",
        "TIME",
        "CHECKPOINTS",
        "FROM",
        "PROGRESS",
        "LOST",
        "END",
    ])];
    for (number, (run, time)) in findings.runs.iter().zip(&findings.run_times).enumerate() {
        rows.push(vec![
            (number + 1).to_string(),
            escaped(&run.job).into_owned(),
            clock(run.begin),
            duration(time.total),
            run.checkpoints.len().to_string(),
            escaped(&from(run)).into_owned(),
            duration(time.progress),
            duration(time.lost),
            ending(run).to_string(),
        ]);
    }
    rows
}

/// The checkpoint that the run went on from. A program may read a checkpoint without a record of it. So a checkpoint
/// that was only offered may be the one.
pub(super) fn from(run: &Run) -> String {
    let name = match run.restart() {
        Some((_, Some(name))) => name.clone(),
        Some((id, None)) => format!("dataset {id}"),
        None => return "the beginning".to_string(),
    };
    if run.has_read() {
        name
    } else {
        format!("{name} (offered)")
    }
}

pub(super) fn failure_rows(findings: &Findings) -> Vec<Vec<String>> {
    let names = [
        "RUN",
        "TIME",
        "LOST",
        "UNTIL NEXT START",
        "RECOVERY",
        "COST",
        "NODES",
    ];
    let mut rows = vec![row(names)];
    for failure in &findings.failures {
        let seconds = |value| or_dash(value, duration);
        rows.push(vec![
            (failure.run + 1).to_string(),
            clock(failure.at),
            seconds(failure.lost),
            seconds(failure.down),
            seconds(failure.recovery),
            duration(failure.cost()),
            if failure.nodes.is_empty() {
                "-".to_string()
            } else {
                escaped(&failure.nodes.join("; ")).into_owned()
            },
        ]);
    }
    rows
}

pub(super) fn failed_rows(findings: &Findings) -> Vec<Vec<String>> {
    let mut rows = vec![row(["RUN", "TIME", "WHAT", "DATASET", "WHY"])];
    for failed in &findings.failed {
        let why = failed.why.as_deref().unwrap_or("-");
        rows.push(vec![
            (failed.run + 1).to_string(),
            clock(failed.at),
            failed.what.to_string(),
            escaped(&failed.dataset()).into_owned(),
            escaped(why).into_owned(),
        ]);
    }
    rows
}

pub(super) fn level_rows(findings: &Findings) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "LEVEL",
        "STORE",
        "DATASETS",
        "MEAN",
        "TOTAL",
        "REDUNDANCY",
        "BYTES",
        "RATE",
    ])];
    for level in &findings.levels {
        rows.push(vec![
            escaped(&level.name).into_owned(),
            if level.store.is_empty() {
                "-".to_string()
            } else {
                escaped(&level.store).into_owned()
            },
            level.count.to_string(),
            duration(level.mean()),
            duration(level.seconds),
            or_dash(level.encode, duration),
            bytes(level.bytes()),
            or_dash(level.rate(), rate),
        ]);
    }
    rows
}

/// Sentences on the best interval.
pub(super) fn interval(findings: &Findings) -> Vec<String> {
    let estimate = &findings.estimate;
    let observed = duration(estimate.observed);
    let mut lines = Vec::new();
    let (low, high) = (estimate.between_low, estimate.between_high);
    lines.push(match (estimate.between, low, high) {
        (Some(mean), ..) if estimate.assumed => format!(
            "A failure every {} is assumed (--failures-every). Seen were {} in {observed} of runs.",
            duration(mean),
            estimate.failures
        ),
        (Some(mean), Some(low), Some(high)) => format!(
            "A failure comes every {} on average: {} in {observed} of runs. With 95 % confidence it is \
             {} to {}.",
            duration(mean),
            estimate.failures,
            duration(low),
            duration(high)
        ),
        (None, Some(low), _) => format!(
            "No failure in {observed} of runs. So with 95 % confidence the mean time between failures is \
             more than {}; the true value is not known.",
            duration(low)
        ),
        _ => "The runs are too short to tell how often they fail.".to_string(),
    });
    let Some(cost) = estimate.cost else {
        lines.push(
            "No checkpoint with its time is in the log, so there is no best interval.".to_string(),
        );
        return lines;
    };
    let present = match estimate.present {
        Some(present) => format!(
            ", and there is one for every {} of computation",
            duration(present)
        ),
        None => String::new(),
    };
    lines.push(format!(
        "The program waits {} for a checkpoint{present}.",
        duration(cost)
    ));
    for advice in &estimate.advice {
        let loss = |interval| or_dash(estimate.expected_loss(interval), percent);
        lines.extend(match (advice.best, advice.low, advice.high) {
            (Some(best), Some(low), Some(high)) => Some(format!(
                "Best by {}: every {} ({} to {}), which costs {} of the time.",
                advice.name,
                duration(best),
                duration(low),
                duration(high),
                loss(best)
            )),
            (Some(best), ..) => Some(format!(
                "Best by {}: every {}, which costs {} of the time.",
                advice.name,
                duration(best),
                loss(best)
            )),
            (None, Some(low), _) => Some(format!(
                "By {}: not more often than every {}.",
                advice.name,
                duration(low)
            )),
            _ => None,
        });
    }
    let present = estimate.present.filter(|_| estimate.between.is_some());
    let loss = present.and_then(|present| estimate.expected_loss(present));
    lines.extend(loss.map(|loss| {
        format!(
            "The present interval costs {} of the time, by the same assumptions.",
            percent(loss)
        )
    }));
    let daly = estimate.advice.last().and_then(|advice| advice.best);
    lines.extend(daly.map(|best| {
        format!(
            "In the job script: export SCR_CHECKPOINT_SECONDS={:.0}",
            best.floor().max(1.0)
        )
    }));
    lines
}
