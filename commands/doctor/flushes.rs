//! Datasets of the last run that did not get to the prefix directory.

use super::report::DoctorReport;
use crate::job::Job;
use crate::place;
use scr_engine::events::Event;
use scr_engine::format::flush_file::{FLUSH_FAILED, FlushEntry};
use scr_engine::log::read_end;
use scr_engine::prefix::records;
use std::collections::BTreeMap;

/// Number of bytes of the event log that are read, from its end.
const MOST: u64 = 16 << 20;

/// The entries of the event log about the flushes of the last run.
#[derive(Default)]
struct LastRun {
    succeeded: usize,
    failed: usize,
    /// The reason why the last flush of a dataset has failed, by dataset id.
    reasons: BTreeMap<u64, String>,
    /// The last reason.
    reason: Option<String>,
}

/// Reports them.
pub(super) fn look(job: &Job, report: &mut DoctorReport) {
    let files = place::files(&job.prefix);
    let mut run = LastRun::default();
    // Without a log there is less to say.
    let _ = read_end(
        &*files,
        &job.prefix.file("log"),
        MOST,
        |record| match record.event {
            Event::Start => run = LastRun::default(),
            Event::FlushSuccess | Event::AsyncFlushSuccess => {
                run.succeeded += 1;
                record.dset.map(|id| run.reasons.remove(&id));
            }
            Event::FlushFail | Event::AsyncFlushFail => {
                run.failed += 1;
                run.reason.clone_from(&record.note);
                run.reasons.extend(record.dset.zip(record.note));
            }
            _ => {}
        },
    );
    let all = run.succeeded + run.failed;
    if all > 0 {
        let failed = match run.failed {
            0 => "none failed".to_string(),
            failed => format!("{failed} failed"),
        };
        report.fact("flushes", format!("{all} in the last run, {failed}"));
    }
    let record = match records::read_flush_file(&*files, &job.prefix) {
        Ok(record) => record,
        Err(error) => return report.wrong(error, "move it away: the next run makes it again"),
    };
    let failed = |entry: &&FlushEntry| entry.needs_flush() && entry.is_at(FLUSH_FAILED);
    let mut known = 0;
    for (id, entry) in record.datasets.iter().filter(|(_, entry)| failed(entry)) {
        known += 1;
        let name = entry
            .own_name()
            .map_or(String::new(), |name| format!(" ({name})"));
        let why = run
            .reasons
            .get(id)
            .map_or(String::new(), |why| format!(": {why}"));
        report.wrong(
            format!("dataset {id}{name} is only in the cache, since its flush has failed{why}"),
            "mend the cause; then the next run in this allocation flushes it, or scr postrun saves it",
        );
    }
    // The cache may be gone by now, and with it the entries of the flush file.
    if known == 0 && run.failed > 0 && run.succeeded == 0 {
        let why = run.reason.map_or(String::new(), |why| format!(": {why}"));
        report.wrong(
            format!("no flush of the last run has succeeded{why}"),
            "mend the cause before the next run",
        );
    }
}
