//! The rehearsal as JSON.

use super::judge::{problems, recovered, verdict};
use super::rehearsal::Rehearsal;
use super::table::rows;
use crate::json::object;
use serde::Serialize;

/// `scr rehearse --json`
pub(super) fn document(rehearsal: &Rehearsal) -> impl Serialize {
    let undisturbed = &rehearsal.undisturbed;
    let moments = rows(rehearsal).into_iter().map(|row| {
        object! {
            run: row.run.name(),
            launch: row.launch,
            moment: row.moment,
            next: row.next,
            from: row.from,
            compared: row.compared,
            other: row.other,
            verdict: row.verdict.words(),
            why: row.why,
        }
    });
    let results = rehearsal.compared.iter().map(|one| {
        object! {
            file: one.file.to_string_lossy().into_owned(),
            other: one.other.as_ref().map(|other| other.how.clone()),
        }
    });
    let tolerances = rehearsal.unsteady.tolerances.iter();
    let tolerances = tolerances.map(|(name, distance)| {
        object! {
            name: name.clone(),
            absolute: distance.absolute,
            relative: distance.relative,
        }
    });
    let findings = problems(rehearsal).into_iter().map(|finding| {
        object! {
            what: finding.what,
            remedy: finding.remedy,
        }
    });
    object! {
        verdict: verdict(rehearsal).words(),
        recovered: recovered(rehearsal),
        seconds: rehearsal.seconds,
        undisturbed_seconds: undisturbed.seconds,
        checkpoints: undisturbed.seen.completed().count(),
        moments: moments.collect::<Vec<_>>(),
        results: results.collect::<Vec<_>>(),
        tolerances: tolerances.collect::<Vec<_>>(),
        findings: findings.collect::<Vec<_>>(),
    }
}
