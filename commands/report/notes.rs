//! Notes for the reader about the log, in sentences.

use super::findings::Findings;
use super::run::{Activity, Ending};
use scr_engine::text::counted;

/// The sentences.
pub(super) fn of(findings: &Findings) -> Vec<String> {
    let mut notes = Vec::new();
    let number =
        |count: u64, noun: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), noun);
    if findings.records == 0 {
        notes.push("The log has no records.".to_string());
    } else if findings.runs.is_empty() {
        notes.push("The log has no run of a program.".to_string());
    }
    if findings.unreadable > 0 {
        let count = number(findings.unreadable, "line");
        notes.push(format!(
            "{count} of the log could not be read. The numbers below lack what they say."
        ));
    }
    if findings.other > 0 {
        let count = number(findings.other, "record");
        notes.push(format!(
            "Not counted: {count} of events that SCR does not write."
        ));
    }
    if findings.goes_on {
        notes.push(
            "The last run has no end in the log. It goes on, or was killed: it is not counted as a failure. \
             If no run goes on, --ended counts it."
                .to_string(),
        );
    }
    let ended = |ending| {
        findings
            .runs
            .iter()
            .filter(|run| run.ending == Some(ending))
            .count()
    };
    let last = findings.runs.last().map(|run| run.ending);
    let overlapping =
        ended(Ending::Unknown).saturating_sub(usize::from(last == Some(Some(Ending::Unknown))));
    if overlapping > 0 {
        let count = counted(overlapping, "run");
        notes.push(format!(
            "{count} without an end have records that are newer than the beginning of the next run. How \
             they ended is not known."
        ));
    }
    let killed = match ended(Ending::KilledAfter) {
        0 => None,
        1 => Some("1 run was killed at a time that is known from its last record only"),
        _ => Some("Some runs were killed at times that are known from their last records only"),
    };
    notes.extend(killed.map(|text| {
        format!(
            "{text}: the lost work is a lower bound, and the rest of it is in the time until the next start. \
             With scr run, RUN_END has the time."
        )
    }));
    let unknown = findings
        .failures
        .iter()
        .filter(|failure| failure.lost.is_none());
    match unknown.count() {
        0 => {}
        count => notes.push(format!(
            "What {} lost is not known, and counts as progress: no run has gone on yet, or the log lacks \
             the checkpoint that it went on from.",
            counted(count, "failure")
        )),
    }
    let steps: u64 = findings.runs.iter().map(|run| run.clock_steps).sum();
    if steps > 0 {
        let count = number(steps, "time");
        notes.push(format!(
            "The clock of a run went back {count}. Times that were computed from two records may be wrong."
        ));
    }
    let phases = || findings.runs.iter().flat_map(|run| &run.phases);
    if !findings.runs.is_empty() && !phases().any(|phase| phase.activity == Activity::Compute) {
        notes.push("The log does not say when the program computed.".to_string());
    }
    notes
}
