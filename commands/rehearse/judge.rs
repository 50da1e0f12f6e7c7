//! Says whether a program has recovered, and if not, why.

use super::checkpoints::Other;
use super::proof::{Proof, bad_restarts, proof, restarts_in_words};
use super::rehearsal::{
    Comparison, Finding, Rehearsal, Run, Verdict, ended_with_rank, last_words, title,
};
use super::relaunch::refusal;
use super::seen::Sessions;
use super::spread::Spread;
use super::stage::{Ending, Launch};
use super::table;
use scr_engine::text::{counted, excerpt};
use std::path::PathBuf;

/// A line about the end of a launch.
pub(super) fn ended_in_words(launch: &Launch) -> String {
    let checkpoints = counted(launch.seen.completed().count(), "checkpoint");
    let seconds = launch.seconds;
    let how = match launch.ending {
        Ending::Code(code) => format!("ended with exit code {code} after {seconds:.1} s"),
        Ending::Struck if launch.seen.begun().next().is_none() => {
            format!("was struck after {seconds:.1} s")
        }
        Ending::Struck => {
            let phase = launch.seen.phase();
            format!("was struck after {seconds:.1} s, {phase}")
        }
        Ending::TooEarly(code) => {
            format!("ended with exit code {code} after {seconds:.1} s, before it was struck")
        }
        Ending::Hung => format!("made no end within {seconds:.0} s, so it was ended"),
    };
    let sessions: Vec<&str> = launch.seen.begun().map(|(name, _)| name).collect();
    match &sessions[..] {
        [] if launch.started == 0 => format!("  {how}; no rank was started"),
        [] => format!("  {how}; nothing of SCR was seen"),
        [""] => format!("  {how}; {checkpoints}"),
        some => {
            let named = some.iter().filter(|name| !name.is_empty()).count();
            format!("  {how}; {checkpoints} of {}", counted(named, "session"))
        }
    }
}

/// True if it was seen that the program has recovered, and nothing is wrong.
pub(super) fn recovered(rehearsal: &Rehearsal) -> bool {
    matches!(
        verdict(rehearsal),
        Verdict::Recovered | Verdict::WithinTolerance
    )
}

/// The report.
pub(super) fn lines(rehearsal: &Rehearsal) -> Vec<String> {
    let restarts = |rehearsal: &Rehearsal| -> Vec<String> {
        let places = 0..rehearsal.launches.len();
        let lines = places.flat_map(|place| restarts_in_words(rehearsal, place));
        lines.collect()
    };
    let mut lines = restarts(rehearsal);
    lines.extend(rehearsal.parts().flat_map(restarts));
    for Comparison { file, other } in &rehearsal.compared {
        let file = file.display();
        lines.push(match other {
            None => format!("{file}: as undisturbed"),
            Some(other) => format!("{file}: another result: {}", other.how),
        });
    }
    lines.extend(checkpoints_in_words(rehearsal));
    let undisturbed = &rehearsal.undisturbed;
    if undisturbed.started > 0 && undisturbed.seen.begun().next().is_none() {
        lines.push(
            "nothing of SCR was seen: the program does not call SCR_Init, or it fails, or SCR_ENABLE=0".into(),
        );
    }
    lines.extend(table::lines(rehearsal));
    let alone = rehearsal.undisturbed.seconds;
    lines.push(format!(
        "the rehearsal took {:.1} s, {:.1} times the undisturbed run",
        rehearsal.seconds,
        rehearsal.seconds / alone.max(0.001)
    ));
    lines.push(verdict(rehearsal).words().into());
    for Finding { what, remedy } in problems(rehearsal) {
        lines.push(format!("- {what}"));
        lines.push(format!("  {remedy}"));
    }
    lines
}

/// The verdict on all launches: the worst of those on the parts.
pub(super) fn verdict(rehearsal: &Rehearsal) -> Verdict {
    let of_parts = rehearsal.parts().map(own_verdict);
    of_parts.fold(own_verdict(rehearsal), Verdict::max)
}

fn own_verdict(rehearsal: &Rehearsal) -> Verdict {
    let ended = rehearsal.launches.last();
    let ended = ended.is_some_and(|last| last.ending == Ending::Code(0));
    let tolerant = rehearsal.tolerant || !rehearsal.unsteady.tolerances.is_empty();
    match (proof(rehearsal), own_problems(rehearsal).len()) {
        (Proof::WentOn, 0) if tolerant => Verdict::WithinTolerance,
        (Proof::WentOn, 0) => Verdict::Recovered,
        // The only problem is that nothing was seen.
        (Proof::NothingSeen | Proof::NothingThere, 1) if ended => Verdict::NotProven,
        (Proof::WentOn, 1) if rehearsal.is_not_reproducible() => Verdict::NotProven,
        (Proof::WentOn, 1)
            if ended
                && (rehearsal.compares_nothing() || rehearsal.restarts_from_the_last_only()) =>
        {
            Verdict::NotProven
        }
        _ => Verdict::NotRecovered,
    }
}

/// The report has at most so many lines about parts that differ in a checkpoint.
const MOST_PARTS: usize = 8;

/// Tells whether the checkpoints after a kill are equal to those of the undisturbed run.
fn checkpoints_in_words(rehearsal: &Rehearsal) -> Vec<String> {
    let found = &rehearsal.checkpoints;
    let mut lines = Vec::new();
    if let Some(first) = found.others.first() {
        let of_first = found
            .others
            .iter()
            .filter(|one| one.checkpoint == first.checkpoint);
        let line = |one: &Other| format!("{}: {}: {}", one.checkpoint, one.part, one.how);
        lines.extend(of_first.map(line).take(MOST_PARTS));
    } else if !found.parts.is_empty() {
        let count = counted(found.compared.len(), "checkpoint");
        lines.push(format!("{count} after a kill: as undisturbed"));
    }
    for (name, distance) in &rehearsal.unsteady.tolerances {
        let spread = Spread::Numbers(*distance);
        lines.push(format!(
            "{name}: {spread}; ten times that is taken as the same"
        ));
    }
    if !rehearsal.unsteady.parts.is_empty() {
        let parts: Vec<&str> = rehearsal
            .unsteady
            .parts
            .iter()
            .map(String::as_str)
            .collect();
        let parts = excerpt(&parts.join(" "), 300);
        lines.push(format!(
            "not compared, since two undisturbed runs differ in it: {parts}"
        ));
    }
    lines
}

/// All problems, the first cause first. Those of a part are left out if they have shown before.
pub(super) fn problems(rehearsal: &Rehearsal) -> Vec<Finding> {
    let own = own_problems(rehearsal);
    if !own.is_empty() {
        return own;
    }
    let of_part = |part: &Rehearsal| {
        let named = |finding: Finding| Finding {
            what: format!("{}: {}", part.run.name(), finding.what),
            ..finding
        };
        own_problems(part)
            .into_iter()
            .map(named)
            .collect::<Vec<_>>()
    };
    rehearsal.parts().flat_map(of_part).collect()
}

fn own_problems(rehearsal: &Rehearsal) -> Vec<Finding> {
    let undisturbed = &rehearsal.undisturbed;
    let mut found = Vec::new();
    found.extend(never_complete(&undisturbed.seen));
    found.extend(not_started(undisturbed));
    match &undisturbed.ending {
        _ if !found.is_empty() && undisturbed.started < undisturbed.ranks => return found,
        Ending::Code(0) => {}
        _ => {
            found.push(Finding {
                what: format!(
                    "the program does not end well even if nothing is killed{}",
                    last_words(undisturbed)
                ),
                remedy: "Mend that first; --copy brings files that it reads from its current directory.",
            });
            return found;
        }
    }
    found.extend(outside(&rehearsal.outside));
    for (place, launch) in rehearsal.launches.iter().enumerate() {
        let restarts = match place {
            0 => Vec::new(),
            place => bad_restarts(rehearsal, place),
        };
        // A launch that makes no restart cannot be killed in it.
        let is_explained = !restarts.is_empty() && launch.ending == Ending::TooEarly(0);
        found.extend(restarts);
        if !is_explained {
            found.extend(bad_end((rehearsal.run, place), launch));
        }
    }
    if let Some(first) = rehearsal.checkpoints.others.first() {
        found.push(Finding {
            what: format!(
                "after the restart {} is the first checkpoint that is another, in {}: {}",
                first.checkpoint, first.part, first.how
            ),
            remedy: "Something from which this is computed is not saved, or not read again.",
        });
    }
    if rehearsal.is_not_reproducible() {
        let unsteady = &rehearsal.unsteady;
        let files = unsteady.files.iter().map(|file| file.display().to_string());
        let all: Vec<String> = files.chain(unsteady.parts.iter().cloned()).collect();
        found.push(Finding {
            what: format!(
                "the program is not reproducible: two undisturbed runs differ in {}",
                excerpt(&all.join(" "), 300)
            ),
            remedy: "Give a tolerance (--tolerance), a command that knows one (--compare-with), or a file that is the same in each run \
                (--compare).",
        });
    }
    let unsteady = &rehearsal.unsteady.files;
    let others = rehearsal.compared.iter().filter_map(|one| {
        let other = one.other.as_ref()?;
        let told = format!("{}: {}", one.file.display(), other.how);
        (!unsteady.contains(&one.file)).then_some(told)
    });
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let after = match proof(rehearsal) {
            Proof::WentOn => "after the restart",
            _ => "after the kill",
        };
        found.push(Finding {
            what: format!("{after} the results are others: {}", others.join("; ")),
            remedy: "A part of the state is not saved, or not read again: compare the variables that the main loop changes \
                with those that a checkpoint has.",
        });
    }
    if found.is_empty() && rehearsal.compares_nothing() {
        found.push(Finding {
            what: "nothing was compared, so it is not known whether the restart computes the same".into(),
            remedy: "Name files with results (--compare), or keep the checkpoints for a comparison (SCR_FLUSH=1).",
        });
    }
    if found.is_empty()
        && proof(rehearsal) == Proof::WentOn
        && rehearsal.restarts_from_the_last_only()
    {
        found.push(Finding {
            what: "no checkpoint was written after a restart: the program was killed after its last one, so little was computed \
                again"
                .into(),
            remedy: "Kill earlier (--kill rank@1), or make the run longer.",
        });
    }
    found
}

/// The finding that the launcher has not started the ranks.
fn not_started(launch: &Launch) -> Option<Finding> {
    if launch.started >= launch.ranks {
        return None;
    }
    let ranks = counted(launch.ranks, "rank");
    Some(Finding {
        what: match launch.started {
            0 => format!(
                "the launcher has not started the program{}",
                last_words(launch)
            ),
            some => format!(
                "the launcher has started {some} of {ranks}{}",
                last_words(launch)
            ),
        },
        remedy: "Start something with it by hand first; --launcher names another one, or gives it options.",
    })
}

fn never_complete(seen: &Sessions) -> Option<Finding> {
    let mut begun = seen.begun().peekable();
    if begun.peek().is_none() || seen.completed().next().is_some() {
        return None;
    }
    let failed = begun.find_map(|(_, seen)| seen.failed.first());
    Some(match failed {
        Some((name, why)) => Finding {
            what: format!("no checkpoint is complete; {name}: {}", excerpt(why, 300)),
            remedy: "Each rank must write the files that it has routed at the path that SCR_Route_file returns, and close them \
                before SCR_Complete_output.",
        },
        None => Finding {
            what: "the program calls SCR_Init, and writes no checkpoint".into(),
            remedy: "Check when SCR_Need_checkpoint tells it to (SCR_CHECKPOINT_INTERVAL), and that the run is long enough.",
        },
    })
}

fn outside(files: &[PathBuf]) -> Option<Finding> {
    let first = files.first()?;
    let more = match files.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Finding {
        what: format!(
            "a checkpoint also writes {}{more}, which SCR does not know",
            first.display()
        ),
        remedy: "A restart on another state of this file goes wrong: route each file of a checkpoint with SCR_Route_file, and \
            write it at the path that it returns.",
    })
}

fn bad_end((run, place): (Run, usize), launch: &Launch) -> Option<Finding> {
    let who = title(run, place + 1);
    if let Some(why) = refusal(launch) {
        return Some(Finding {
            what: format!(
                "scr run has not launched the program again: {why} (output in {})",
                launch.log.display()
            ),
            remedy: "docs/running-jobs.md has all reasons not to launch again.",
        });
    }
    match &launch.ending {
        Ending::Code(code) if *code != 0 && ended_with_rank(run, launch) => Some(Finding {
            what: format!(
                "the launch ended with the rank that was killed, with exit code {code}{}",
                last_words(launch)
            ),
            remedy: "The program must handle errors of MPI, and call SCR_Session_repair: docs/sessions.md.",
        }),
        Ending::Code(0) | Ending::Struck => None,
        Ending::Code(_) | Ending::TooEarly(_) if launch.started < launch.ranks => {
            let found = not_started(launch);
            found.map(|Finding { what, remedy }| Finding {
                what: format!("{who}: {what}"),
                remedy,
            })
        }
        Ending::Code(code) => Some(Finding {
            what: format!("{who} ended with exit code {code}{}", last_words(launch)),
            remedy: "See what the program says about its restart.",
        }),
        Ending::TooEarly(_) => Some(Finding {
            what: format!(
                "{who} ended before anything was killed{}",
                last_words(launch)
            ),
            remedy: "Kill earlier (--kill), or make the run longer.",
        }),
        Ending::Hung => {
            let mut begun = launch.seen.begun();
            let read = if place > 0 && begun.all(|(_, seen)| seen.restart.is_none()) {
                ", and no restart was complete"
            } else {
                ""
            };
            let stacks: String = launch
                .stacks
                .iter()
                .map(|line| format!("\n    {line}"))
                .collect();
            Some(Finding {
                what: format!(
                    "{who} hangs: it made no end within {:.0} s{read}{stacks}",
                    launch.seconds
                ),
                remedy: "The calls of SCR are collective: all ranks must make them in the same order. If it only is slow, give it \
                    more time (--limit).",
            })
        }
    }
}

#[cfg(test)]
mod tests;
