//! Finds out whether a launch went on from a checkpoint of the launches before, as far as that was
//! seen.

use super::rehearsal::{Finding, Rehearsal, Run, message_of_scr, output, title};
use super::seen::{Restart, Seen};
use super::stage::{Ending, Launch};
use scr_engine::text::{counted, excerpt};

/// The evidence that a launch after a kill has gone on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// The launch was seen to go on from a checkpoint.
    WentOn,
    /// The launch was seen not to go on, or going on should have been seen and was not.
    Not,
    /// The program does not use SCR, so nothing could be seen.
    NothingSeen,
    /// No checkpoint was complete before a kill, so that it was right to begin from the beginning.
    NothingThere,
}

/// The proof for the last launch, which nothing has killed.
pub(super) fn proof(rehearsal: &Rehearsal) -> Proof {
    let Some((last, before)) = rehearsal.launches.split_last() else {
        return Proof::Not;
    };
    if before.is_empty() {
        return Proof::Not;
    }
    let with_scr = |launch: &Launch| launch.seen.begun().next().is_some();
    if with_scr(&rehearsal.undisturbed) || rehearsal.launches.iter().any(with_scr) {
        let mut restarts = last.seen.begun().filter_map(|(_, seen)| went_on(seen));
        return match restarts.next() {
            Some(_) => Proof::WentOn,
            None if nothing_was_there(before) => Proof::NothingThere,
            None => Proof::Not,
        };
    }
    match &rehearsal.says {
        None => Proof::NothingSeen,
        Some(text) if output(last).contains(text) => Proof::WentOn,
        Some(_) => Proof::Not,
    }
}

/// True if no launch that was killed had completed a checkpoint.
pub(super) fn nothing_was_there(before: &[Launch]) -> bool {
    before.iter().all(|launch| {
        launch.seen.completed().next().is_none()
            && launch.seen.begun().all(|(_, seen)| seen.restart.is_none())
    })
}

/// The checkpoint that all ranks have read.
fn went_on(seen: &Seen) -> Option<&Restart> {
    let restart = seen.restart.as_ref();
    restart.filter(|restart| restart.why_not.is_none())
}

/// The name of a checkpoint that a launch went on from.
pub(super) fn restart_of(launch: &Launch) -> Option<&str> {
    let restart = launch.seen.begun().find_map(|(_, seen)| went_on(seen))?;
    Some(&restart.name)
}

/// `launch 2`, or `launch 2: session ocean`.
fn who(run: Run, number: usize, session: &str) -> String {
    let launch = title(run, number);
    match session {
        "" => launch,
        name => format!("{launch}: session {name}"),
    }
}

/// The checkpoints that the launch at `place` went on from, and the lost time: a line for each
/// session.
pub(super) fn restarts_in_words(rehearsal: &Rehearsal, place: usize) -> Vec<String> {
    let (Some(before), Some(launch)) = (
        place
            .checked_sub(1)
            .and_then(|place| rehearsal.launches.get(place)),
        rehearsal.launches.get(place),
    ) else {
        return Vec::new();
    };
    let line = |(session, seen): (&str, &Seen)| {
        let restart = went_on(seen)?;
        // A name may be used again: the last checkpoint of the name before the strike counts.
        let mut written = before.seen.of(session)?.completed.iter().rev();
        let written = written.find(|one| one.name == restart.name);
        let lost = written.map(|one| {
            format!(
                "; {:.1} s of work are done again",
                (before.ended - one.at).max(0.0)
            )
        });
        let from = match restart.from.as_str() {
            "" => String::new(),
            how => format!(" {how}"),
        };
        let since = match rehearsal.run {
            Run::Repaired => "the kill",
            _ => "its begin",
        };
        Some(format!(
            "{} went on from {}{from}, {:.1} s after {since}{}",
            who(rehearsal.run, place + 1, session),
            restart.name,
            restart.at - launch.begun,
            lost.unwrap_or_default()
        ))
    };
    launch.seen.begun().filter_map(line).collect()
}

/// All that is wrong with the restart of the launch at `place`.
pub(super) fn bad_restarts(rehearsal: &Rehearsal, place: usize) -> Vec<Finding> {
    let (Some(before), Some(launch)) = (
        rehearsal.launches.get(..place),
        rehearsal.launches.get(place),
    ) else {
        return Vec::new();
    };
    let sessions = launch.seen.begun();
    let mut found: Vec<Finding> = sessions
        .filter_map(|(name, seen)| {
            let names = &undisturbed_names(rehearsal, name);
            bad_restart(
                &who(rehearsal.run, place + 1, name),
                before,
                launch,
                (name, seen),
                names,
            )
        })
        .collect();
    let is_last = place + 1 == rehearsal.launches.len();
    if found.is_empty() && is_last && launch.ending == Ending::Code(0) {
        found.extend(unproven(rehearsal, place + 1, before));
    }
    found
}

/// The names of the checkpoints in the undisturbed run, if each was used once.
fn undisturbed_names<'a>(rehearsal: &'a Rehearsal, session: &str) -> Vec<&'a str> {
    let seen = rehearsal.undisturbed.seen.of(session);
    let all = seen.into_iter().flat_map(|seen| &seen.completed);
    let names: Vec<&str> = all.map(|one| one.name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == names.len() {
        names
    } else {
        Vec::new()
    }
}

fn bad_restart(
    who: &str,
    before: &[Launch],
    launch: &Launch,
    (session, seen): (&str, &Seen),
    names: &[&str],
) -> Option<Finding> {
    if let Some(restart) = &seen.restart {
        if let Some(why) = &restart.why_not {
            return Some(Finding {
                what: format!("{who} could not read its checkpoint: {}", excerpt(why, 300)),
                remedy: "See what the program says, and whether it opens the paths that SCR_Route_file returns.",
            });
        }
        return went_back(who, seen, restart, names);
    }
    let written = before.iter().filter_map(|one| one.seen.of(session));
    let written: Vec<&Seen> = written.filter(|seen| seen.begun).collect();
    let is_there = written.iter().any(|one| !one.completed.is_empty());
    // A session that had ended need not go on.
    let is_over = written.last().is_some_and(|last| last.finalized);
    // A launch that was killed again may not have come to its restart.
    let cut_off = launch.ending != Ending::Code(0) && seen.completed.is_empty();
    if !is_there || is_over || cut_off {
        return None;
    }
    let had = had_come(before, session);
    let begun = format!("{who} began from the beginning");
    let lost = seen.not_brought_back.first();
    Some(match (&seen.offered, lost) {
        (Some((name, _)), _) => Finding {
            what: format!(
                "{begun}, although {name} was there: the program did not read it ({had})"
            ),
            remedy: "It must ask SCR_Have_restart, and read what is offered between SCR_Start_restart and SCR_Complete_restart.",
        },
        (None, Some(why)) => Finding {
            what: format!("{begun}: {} ({had})", excerpt(why, 300)),
            remedy: "More was lost than the redundancy can bear, and nothing was flushed: see SCR_COPY_TYPE, SCR_SET_FAILURES \
                and SCR_FLUSH.",
        },
        (None, None) => Finding {
            what: match message_of_scr(launch) {
                Some(why) => format!("{begun}: {why} ({had})"),
                None => format!("{begun}: no checkpoint was offered to it ({had})"),
            },
            remedy: "If the program asks SCR_Have_restart, see SCR_COPY_TYPE, SCR_CACHE_BYPASS and SCR_FLUSH, and `scr doctor`; \
                `scr explain` has more on the code of a message.",
        },
    })
}

/// The program has read a checkpoint, and then writes one that comes before it in the undisturbed run.
fn went_back(who: &str, seen: &Seen, restart: &Restart, names: &[&str]) -> Option<Finding> {
    let place = |name: &str| names.iter().position(|one| *one == name);
    let mut after = seen.completed.iter().filter(|one| one.at > restart.at);
    let next = &after.next()?.name;
    (place(next)? <= place(&restart.name)?).then(|| Finding {
        what: format!(
            "{who} read {}, and then began from the beginning: it has written {next} again",
            restart.name
        ),
        remedy: "What is read must replace what the program begins with, the number of its step, too.",
    })
}

/// The last checkpoint of a session before the last kill, in words.
fn had_come(before: &[Launch], session: &str) -> String {
    let numbered = before.iter().enumerate().rev();
    let mut written = numbered.filter_map(|(place, launch)| {
        let last = launch.seen.of(session)?.completed.last()?;
        Some((place + 1, launch, last))
    });
    match written.next() {
        Some((number, launch, last)) => {
            let count = launch
                .seen
                .of(session)
                .map_or(0, |seen| seen.completed.len());
            format!(
                "launch {number} had written {}, the last {}, in {:.1} s",
                counted(count, "checkpoint"),
                last.name,
                launch.seconds
            )
        }
        None => "no checkpoint was complete".to_string(),
    }
}

/// The missing part of a proof, if nothing else is wrong with launch `number`.
fn unproven(rehearsal: &Rehearsal, number: usize, before: &[Launch]) -> Option<Finding> {
    let struck = before.last()?;
    let launch = title(rehearsal.run, number);
    let ran = format!("the one before was killed after {:.1} s", struck.seconds);
    match proof(rehearsal) {
        Proof::WentOn => match &rehearsal.says {
            Some(text) if output(&rehearsal.undisturbed).contains(text) => Some(Finding {
                what: format!(
                    "the undisturbed run prints `{}', too, so it does not show that a launch went on from a checkpoint",
                    excerpt(text, 80)
                ),
                remedy: "Name with --says a text that the program prints only then.",
            }),
            _ => None,
        },
        Proof::NothingSeen => Some(Finding {
            what: format!(
                "nothing shows that {launch} went on from a checkpoint: a program that begins from the beginning ends \
                 alike ({ran})"
            ),
            remedy: "Name with --says the text that the program prints when it goes on from a checkpoint of its own.",
        }),
        Proof::NothingThere => Some(Finding {
            what: format!(
                "{launch} began from the beginning, as it must: no checkpoint was complete ({ran})"
            ),
            remedy: "Kill later (--kill), or have checkpoints written earlier (SCR_CHECKPOINT_INTERVAL).",
        }),
        Proof::Not => Some(match &rehearsal.says {
            Some(text) if rehearsal.undisturbed.seen.begun().next().is_none() => Finding {
                what: format!(
                    "{launch} began from the beginning: it did not print `{}' ({ran})",
                    excerpt(text, 80)
                ),
                remedy: "See its output, and whether a checkpoint of its own was there when it was killed (--kill rank@20s).",
            },
            _ => Finding {
                what: format!(
                    "{launch} began from the beginning: no session has read a checkpoint ({ran})"
                ),
                remedy: "See what each session asks SCR_Have_restart.",
            },
        }),
    }
}
