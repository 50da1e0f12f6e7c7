//! Work that was lost: the work of a run after the checkpoint that the next run went on from.

use super::run::Run;

/// A moment in the history: the number of a run, and a time.
type Moment = (usize, f64);

/// Notes in each run which times were lost. Returns the numbers of the runs with unknown losses, because
/// the log lacks the checkpoint from which the next run restarted.
pub(super) fn find(runs: &mut [Run]) -> Vec<usize> {
    let mut unknown = Vec::new();
    // The run that the next one follows, and the last run that began from the beginning.
    let (mut decided, mut origin) = (0, 0);
    for next in 1..runs.len() {
        let (before, rest) = runs.split_at(next);
        let Some(run) = rest
            .first()
            .filter(|run| run.computed() || run.restart().is_some())
        else {
            // The next run ended before it showed from which checkpoint it went on.
            continue;
        };
        let failed = before.get(decided..).unwrap_or_default();
        let failed = failed
            .iter()
            .any(|run| run.ending.is_some_and(|e| e.is_failure()));
        let place = match run.restart() {
            Some(restart) => place_of(before, restart),
            // A new calculation, if nothing has failed.
            None if !failed => {
                (decided, origin) = (next, next);
                continue;
            }
            None => {
                let begin = before.get(origin).map_or(0.0, |run| run.begin);
                let place = Some((origin, begin));
                origin = next;
                place
            }
        };
        match place {
            Some(place) => lose(runs, place, next),
            None => unknown.extend(decided..next),
        }
        decided = next;
    }
    // No run has gone on from there yet.
    unknown.extend(decided..runs.len());
    unknown
}

/// The place at which the checkpoint was completed. If the log lacks the checkpoint, as the run was killed
/// then: the place at which it began to be written; or else, the place at which an earlier run went on from
/// it.
fn place_of(before: &[Run], (id, name): &(u64, Option<String>)) -> Option<Moment> {
    let same = |other: u64, named: &Option<String>| {
        other == *id && (named.is_none() || name.is_none() || named == name)
    };
    let runs = before.iter().enumerate().rev();
    let written = runs.clone().find_map(|(number, run)| {
        let mut done = run.checkpoints.iter().rev();
        let done = done.find(|done| same(done.id, &done.name))?;
        Some((number, done.at))
    });
    let begun = || {
        runs.clone().find_map(|(number, run)| {
            let phase = run.cut_off_checkpoint(*id)?;
            Some((number, phase.begin))
        })
    };
    written.or_else(begun).or_else(|| {
        let restarted = |run: &Run| run.restart().is_some_and(|(id, name)| same(*id, name));
        // The first of them: the others did not get further.
        let first = runs.clone().rev().find(|(_, run)| restarted(run))?;
        Some((first.0, first.1.begin))
    })
}

/// All from the place to the end of the run before `next` is lost, if it is not lost already.
fn lose(runs: &mut [Run], (from, at): Moment, next: usize) {
    let span = runs.iter_mut().enumerate().take(next).skip(from);
    for (number, run) in span {
        let mut begin = if number == from { at } else { run.begin };
        let mut end = if run.ending.is_some_and(|ending| ending.is_failure()) {
            run.end
        } else {
            // After its last checkpoint the run only ended, for instance wrote its results.
            run.checkpoints.last().map_or(run.begin, |last| last.at)
        };
        // Earlier losses reach to the same end.
        for (lost, _) in &run.lost {
            end = end.min(*lost);
        }
        begin = begin.max(run.begin);
        if end > begin {
            run.lost.push((begin, end));
        }
    }
}
