//! Says whether a program has recovered, and if not, why.

use super::seen::Seen;
use super::stage::{Ending, Launch};
use scr_engine::text::{excerpt, plural};
use std::path::PathBuf;

/// A file with results in both runs.
pub(super) struct Comparison {
    pub file: PathBuf,
    pub same: bool,
}

/// Both runs.
pub(super) struct Rehearsal {
    pub undisturbed: Launch,
    /// Files that its checkpoints have written, but not where SCR_Route_file said.
    pub outside: Vec<PathBuf>,
    /// Those of the disturbed run.
    pub launches: Vec<Launch>,
    pub compared: Vec<Comparison>,
}

/// What is wrong with a program, and what to do.
#[derive(Debug, PartialEq)]
pub(super) struct Finding {
    pub what: String,
    pub remedy: &'static str,
}

/// One line about the end of a launch.
pub(super) fn ended_in_words(launch: &Launch) -> String {
    let count = launch.seen.completed.len();
    let checkpoints = format!("{count} {}", plural(count, "checkpoint"));
    let seconds = launch.seconds;
    let how = match launch.ending {
        Ending::Code(code) => format!("ended with exit code {code} after {seconds:.1} s"),
        Ending::Struck => format!("was struck after {seconds:.1} s"),
        Ending::TooEarly(code) => {
            format!("ended with exit code {code} after {seconds:.1} s, before it was struck")
        }
        Ending::Hung => format!("made no end within {seconds:.0} s, so it was ended"),
    };
    if launch.seen.begun {
        format!("  {how}; {checkpoints}")
    } else {
        format!("  {how}; without SCR")
    }
}

/// True if all is well.
pub(super) fn recovered(rehearsal: &Rehearsal) -> bool {
    problems(rehearsal).is_empty()
}

/// The report.
pub(super) fn lines(rehearsal: &Rehearsal) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, pair) in rehearsal.launches.windows(2).enumerate() {
        lines.extend(restart_in_words(number + 2, &pair[0], &pair[1]));
    }
    for Comparison { file, same } in &rehearsal.compared {
        let how = if *same {
            "as undisturbed"
        } else {
            "another result"
        };
        lines.push(format!("{}: {how}", file.display()));
    }
    if !rehearsal.undisturbed.seen.begun {
        lines.push("the program does not call SCR_Init, so its own restart was tried".into());
    }
    let ended = rehearsal.launches.last();
    if rehearsal.compared.is_empty() && ended.is_some_and(|last| last.ending == Ending::Code(0)) {
        lines.push("no results were compared (--compare names files with results)".into());
    }
    let problems = problems(rehearsal);
    match &problems[..] {
        [] => lines.push("RECOVERED".into()),
        _ => lines.push("NOT RECOVERED".into()),
    }
    for Finding { what, remedy } in problems {
        lines.push(format!("- {what}"));
        lines.push(format!("  {remedy}"));
    }
    lines
}

/// Where a launch went on from, and what that cost.
fn restart_in_words(number: usize, before: &Launch, launch: &Launch) -> Option<String> {
    let restart = launch.seen.restart.as_ref()?;
    // A name may be used again: the one before the strike counts.
    let mut written = before.seen.completed.iter().rev();
    let written = written.find(|one| one.name == restart.name);
    let lost =
        written.map(|one| format!("; {:.1} s of work are done again", before.ended - one.at));
    let from = match restart.from.as_str() {
        "" => String::new(),
        how => format!(" {how}"),
    };
    Some(format!(
        "launch {number} went on from {}{from}, {:.1} s after its begin{}",
        restart.name,
        restart.at - launch.begun,
        lost.unwrap_or_default()
    ))
}

/// All that is wrong, the first cause first.
pub(super) fn problems(rehearsal: &Rehearsal) -> Vec<Finding> {
    let undisturbed = &rehearsal.undisturbed;
    let mut found = Vec::new();
    found.extend(never_complete(&undisturbed.seen));
    match &undisturbed.ending {
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
    for (number, pair) in rehearsal.launches.windows(2).enumerate() {
        found.extend(bad_restart(number + 2, &pair[0], &pair[1]));
    }
    for (number, launch) in rehearsal.launches.iter().enumerate() {
        found.extend(bad_end(number + 1, launch));
    }
    let others: Vec<String> = rehearsal
        .compared
        .iter()
        .filter(|one| !one.same)
        .map(|one| one.file.display().to_string())
        .collect();
    if !others.is_empty() {
        found.push(Finding {
            what: format!("after the restart the results are others: {}", others.join(" ")),
            remedy: "A part of the state is not saved, or not read again: compare the variables that the main loop changes \
                with those that a checkpoint has. If the program is not reproducible, name a command that knows a \
                tolerance (--compare-with).",
        });
    }
    found
}

fn never_complete(seen: &Seen) -> Option<Finding> {
    if !seen.begun || !seen.completed.is_empty() {
        return None;
    }
    Some(match seen.failed.first() {
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

fn bad_restart(number: usize, before: &Launch, launch: &Launch) -> Option<Finding> {
    let (seen, written) = (&launch.seen, before.seen.completed.last());
    if !before.seen.begun {
        return None;
    }
    if let Some(why) = seen
        .restart
        .as_ref()
        .and_then(|restart| restart.why_not.as_ref())
    {
        return Some(Finding {
            what: format!(
                "launch {number} could not read its checkpoint: {}",
                excerpt(why, 300)
            ),
            remedy: "See what the program says, and whether it opens the paths that SCR_Route_file returns.",
        });
    }
    if seen.restart.is_some() || written.is_none() || launch.ending == Ending::Hung {
        return None;
    }
    let lost = seen.not_brought_back.first();
    Some(match (&seen.offered, lost) {
        (Some((name, _)), _) => Finding {
            what: format!(
                "launch {number} started from the beginning, although {name} was there: the program did not read it"
            ),
            remedy: "It must ask SCR_Have_restart, and read what is offered between SCR_Start_restart and SCR_Complete_restart.",
        },
        (None, Some(why)) => Finding {
            what: format!(
                "launch {number} started from the beginning: {}",
                excerpt(why, 300)
            ),
            remedy: "More was lost than the redundancy can bear, and nothing was flushed: see SCR_COPY_TYPE, SCR_SET_FAILURES \
                and SCR_FLUSH.",
        },
        (None, None) => Finding {
            what: match message_of_scr(launch) {
                Some(why) => format!("launch {number} started from the beginning: {why}"),
                None => {
                    format!("launch {number} started from the beginning: no checkpoint was found")
                }
            },
            remedy: "See SCR_COPY_TYPE, SCR_CACHE_BYPASS and SCR_FLUSH, and `scr doctor`; `scr explain` has more on the code of a \
                message.",
        },
    })
}

fn bad_end(number: usize, launch: &Launch) -> Option<Finding> {
    match &launch.ending {
        Ending::Code(0) | Ending::Struck => None,
        Ending::Code(code) => Some(Finding {
            what: format!(
                "launch {number} ended with exit code {code}{}",
                last_words(launch)
            ),
            remedy: "See what the program says about its restart.",
        }),
        Ending::TooEarly(_) => Some(Finding {
            what: format!(
                "launch {number} ended before anything was killed{}",
                last_words(launch)
            ),
            remedy: "Kill earlier (--kill), or make the run longer.",
        }),
        Ending::Hung => {
            let read = match launch.seen.restart {
                None if number > 1 => " in its restart",
                _ => "",
            };
            let stacks: String = launch
                .stacks
                .iter()
                .map(|line| format!("\n    {line}"))
                .collect();
            Some(Finding {
                what: format!(
                    "launch {number} hangs{read}: it made no end within {:.0} s{stacks}",
                    launch.seconds
                ),
                remedy: "The calls of SCR are collective: all ranks must make them in the same order. If it only is slow, give it \
                    more time (--limit).",
            })
        }
    }
}

/// The first error or warning that SCR has printed.
fn message_of_scr(launch: &Launch) -> Option<String> {
    let text = output(launch);
    let mut lines = text.lines().filter(|line| line.starts_with("SCR "));
    let message = lines.find_map(|line| {
        let words = line
            .split_once(" ERROR: ")
            .or(line.split_once(" WARNING: "))?;
        Some(words.1)
    });
    message.map(|words| excerpt(words, 400))
}

fn output(launch: &Launch) -> String {
    let bytes = std::fs::read(&launch.log).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last line that the program has printed, for a message.
fn last_words(launch: &Launch) -> String {
    let text = output(launch);
    let mut lines = text.lines().rev().map(str::trim);
    let last = lines.find(|line| !line.is_empty());
    let last = last.map(|line| format!(": {}", excerpt(line, 200)));
    format!(
        "{} (output in {})",
        last.unwrap_or_default(),
        launch.log.display()
    )
}

#[cfg(test)]
mod tests {
    use super::super::seen::{Checkpoint, Restart};
    use super::*;

    fn launch(ending: Ending, seen: Seen) -> Launch {
        Launch {
            ending,
            seconds: 2.0,
            begun: 100.0,
            ended: 102.0,
            stacks: Vec::new(),
            log: "log".into(),
            seen,
        }
    }

    fn written() -> Seen {
        Seen {
            begun: true,
            completed: vec![Checkpoint {
                name: "ck.1".into(),
                begun: 100.5,
                at: 101.0,
            }],
            ..Seen::default()
        }
    }

    fn went_on() -> Seen {
        let (name, how) = ("ck.1".to_string(), "from the cache".to_string());
        Seen {
            offered: Some((name.clone(), how.clone())),
            restart: Some(Restart {
                name,
                at: 100.2,
                why_not: None,
                from: how,
            }),
            ..written()
        }
    }

    fn rehearsal(last: Launch, same: bool) -> Rehearsal {
        Rehearsal {
            undisturbed: launch(Ending::Code(0), written()),
            outside: Vec::new(),
            launches: vec![launch(Ending::Struck, written()), last],
            compared: vec![Comparison {
                file: "result".into(),
                same,
            }],
        }
    }

    fn first(rehearsal: &Rehearsal) -> String {
        problems(rehearsal).remove(0).what
    }

    #[test]
    fn a_restart_with_the_same_result_is_a_recovery() {
        let good = rehearsal(launch(Ending::Code(0), went_on()), true);
        assert!(recovered(&good));
        assert_eq!(
            lines(&good),
            [
                "launch 2 went on from ck.1 from the cache, 0.2 s after its begin; 1.0 s of work are done again",
                "result: as undisturbed",
                "RECOVERED"
            ]
        );
    }

    #[test]
    fn each_mistake_has_its_name() {
        let other = rehearsal(launch(Ending::Code(0), went_on()), false);
        assert!(first(&other).contains("the results are others: result"));

        let seen = Seen {
            restart: None,
            ..went_on()
        };
        let unread = rehearsal(launch(Ending::Code(0), seen), true);
        assert!(first(&unread).contains("although ck.1 was there"));

        let nothing = rehearsal(launch(Ending::Code(0), written()), true);
        assert!(first(&nothing).contains("no checkpoint was found"));

        let mut lost = written();
        lost.not_brought_back
            .push("ck.1: two nodes are lost".into());
        let lost = rehearsal(launch(Ending::Code(0), lost), true);
        assert!(first(&lost).ends_with("from the beginning: ck.1: two nodes are lost"));

        let hung = rehearsal(launch(Ending::Hung, written()), true);
        assert!(first(&hung).contains("launch 2 hangs in its restart"));

        let failed = rehearsal(launch(Ending::Code(3), went_on()), true);
        assert!(first(&failed).contains("ended with exit code 3"));

        let mut beside = rehearsal(launch(Ending::Code(0), went_on()), true);
        beside.outside.push("extra".into());
        assert!(first(&beside).contains("also writes extra"));
        assert!(!recovered(&beside));

        let mut incomplete = rehearsal(launch(Ending::Code(0), went_on()), true);
        incomplete.undisturbed.seen = Seen {
            begun: true,
            failed: vec![("ck.1".into(), "was routed but not written".into())],
            ..Seen::default()
        };
        assert!(first(&incomplete).contains("ck.1: was routed but not written"));
    }

    #[test]
    fn a_program_without_scr_needs_its_result_only() {
        let mut unlinked = rehearsal(launch(Ending::Code(0), Seen::default()), true);
        unlinked.undisturbed.seen = Seen::default();
        unlinked.launches[0].seen = Seen::default();
        assert!(recovered(&unlinked));
    }
}
