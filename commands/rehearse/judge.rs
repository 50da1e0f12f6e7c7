//! Says whether a program has recovered, and if not, why.

use super::checkpoints::Other;
use super::proof::{Proof, bad_restarts, proof, restarts_in_words};
use super::rehearsal::{Comparison, Finding, Rehearsal, Verdict, last_words};
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
    let mut lines: Vec<String> = (0..rehearsal.launches.len())
        .flat_map(|place| restarts_in_words(rehearsal, place))
        .collect();
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

/// The verdict on all launches.
pub(super) fn verdict(rehearsal: &Rehearsal) -> Verdict {
    let ended = rehearsal.launches.last();
    let ended = ended.is_some_and(|last| last.ending == Ending::Code(0));
    let tolerant = rehearsal.tolerant || !rehearsal.unsteady.tolerances.is_empty();
    match (proof(rehearsal), problems(rehearsal).len()) {
        (Proof::WentOn, 0) if tolerant => Verdict::WithinTolerance,
        (Proof::WentOn, 0) => Verdict::Recovered,
        // The only problem is that nothing was seen.
        (Proof::NothingSeen | Proof::NothingThere, 1) if ended => Verdict::NotProven,
        (Proof::WentOn, 1) if rehearsal.is_not_reproducible() => Verdict::NotProven,
        (Proof::WentOn, 1) if ended && rehearsal.compares_nothing() => Verdict::NotProven,
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

/// All problems, the first cause first.
pub(super) fn problems(rehearsal: &Rehearsal) -> Vec<Finding> {
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
            found.extend(bad_end(place + 1, launch));
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

fn bad_end(number: usize, launch: &Launch) -> Option<Finding> {
    match &launch.ending {
        Ending::Code(0) | Ending::Struck => None,
        Ending::Code(_) | Ending::TooEarly(_) if launch.started < launch.ranks => {
            let found = not_started(launch);
            found.map(|Finding { what, remedy }| Finding {
                what: format!("launch {number}: {what}"),
                remedy,
            })
        }
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
            let mut begun = launch.seen.begun();
            let read = if number > 1 && begun.all(|(_, seen)| seen.restart.is_none()) {
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
                    "launch {number} hangs: it made no end within {:.0} s{read}{stacks}",
                    launch.seconds
                ),
                remedy: "The calls of SCR are collective: all ranks must make them in the same order. If it only is slow, give it \
                    more time (--limit).",
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fields::compare::Tolerance;
    use super::super::checkpoints::Checkpoints;
    use super::super::plan::{Awaited, Kill, Victim};
    use super::super::rehearsal::{Unsteady, telling_line};
    use super::super::results::difference;
    use super::super::seen::{Checkpoint, Phase, Restart, Seen};
    use super::*;

    fn launch(ending: Ending, seen: Seen) -> Launch {
        let kill = Kill {
            victim: Victim::Rank(1),
            awaited: Awaited::Complete(1),
            delay: 0.5,
        };
        Launch {
            kill: (ending == Ending::Struck).then_some(kill),
            ending,
            started: 4,
            ranks: 4,
            nodes: 2,
            seconds: 2.0,
            begun: 100.0,
            ended: 102.0,
            stacks: Vec::new(),
            log: "log".into(),
            seen: Sessions([(String::new(), seen)].into()),
        }
    }

    fn checkpoint(name: &str, at: f64) -> Checkpoint {
        Checkpoint {
            name: name.into(),
            begun: at - 0.5,
            at,
            ..Checkpoint::default()
        }
    }

    fn written() -> Seen {
        Seen {
            begun: true,
            completed: vec![checkpoint("ck.1", 101.0)],
            phase: (Phase::Writing("ck.2".into()), 101.5),
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
            completed: vec![checkpoint("ck.2", 101.0)],
            ..written()
        }
    }

    fn rehearsal(last: Launch, same: bool) -> Rehearsal {
        let mut undisturbed = written();
        undisturbed.completed.push(checkpoint("ck.2", 101.5));
        Rehearsal {
            undisturbed: launch(Ending::Code(0), undisturbed),
            outside: Vec::new(),
            launches: vec![launch(Ending::Struck, written()), last],
            compared: vec![Comparison {
                file: "result".into(),
                other: (!same).then(|| difference(b"1", b"2", &Tolerance::default()).unwrap()),
            }],
            checkpoints: Checkpoints::default(),
            unsteady: Unsteady::default(),
            tolerant: false,
            says: None,
            seconds: 6.0,
        }
    }

    fn first(rehearsal: &Rehearsal) -> String {
        assert!(!recovered(rehearsal));
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
                "MOMENT                           WENT ON FROM  COMPARED      VERDICT",
                "launch 1: rank 1 killed in ck.2  ck.1          results same  recovered",
                "launch again by scr run          -             -             not tried: the rehearsal launches by itself",
                "repair in the running job        -             -             not tried: the rehearsal ends a launch with a kill",
                "the rehearsal took 6.0 s, 3.0 times the undisturbed run",
                "RECOVERED"
            ]
        );
    }

    #[test]
    fn a_restart_of_which_nothing_is_compared_proves_nothing() {
        let mut nothing = rehearsal(launch(Ending::Code(0), went_on()), true);
        nothing.compared.clear();
        assert!(first(&nothing).contains("nothing was compared"));
        assert_eq!(verdict(&nothing), Verdict::NotProven);
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
        let far = "launch 1 had written 1 checkpoint, the last ck.1, in 2.0 s";
        assert!(first(&unread).contains(far), "{}", first(&unread));

        let nothing = rehearsal(launch(Ending::Code(0), written()), true);
        assert!(first(&nothing).contains("no checkpoint was offered"));

        let mut lost = written();
        lost.not_brought_back
            .push("ck.1: two nodes are lost".into());
        let lost = rehearsal(launch(Ending::Code(0), lost), true);
        assert!(first(&lost).contains("from the beginning: ck.1: two nodes are lost"));

        let mut failed = went_on();
        failed.restart.as_mut().unwrap().why_not = Some("rank 1 cannot".into());
        let failed = rehearsal(launch(Ending::Code(0), failed), true);
        assert!(first(&failed).contains("could not read its checkpoint"));
        assert!(!lines(&failed)[0].contains("went on"));

        let begun = Seen {
            begun: true,
            ..Seen::default()
        };
        let hung = rehearsal(launch(Ending::Hung, begun), true);
        assert!(first(&hung).contains("launch 2 hangs"));

        let failed = rehearsal(launch(Ending::Code(3), went_on()), true);
        assert!(first(&failed).contains("ended with exit code 3"));

        let mut beside = rehearsal(launch(Ending::Code(0), went_on()), true);
        beside.outside.push("extra".into());
        assert!(first(&beside).contains("also writes extra"));

        let mut incomplete = rehearsal(launch(Ending::Code(0), went_on()), true);
        let seen = Seen {
            begun: true,
            failed: vec![("ck.1".into(), "was routed but not written".into())],
            ..Seen::default()
        };
        incomplete.undisturbed = launch(Ending::Code(0), seen);
        assert!(first(&incomplete).contains("ck.1: was routed but not written"));
    }

    #[test]
    fn what_was_not_seen_is_no_recovery() {
        // The program was killed before the first checkpoint.
        let none = Seen {
            begun: true,
            ..Seen::default()
        };
        let mut early = rehearsal(launch(Ending::Code(0), written()), true);
        early.launches[0] = launch(Ending::Struck, none.clone());
        assert!(first(&early).contains("began from the beginning, as it must: no checkpoint"));
        assert!(lines(&early).contains(&"NOT PROVEN".to_string()));

        // The launch between was killed before its restart, and the last launch makes no restart.
        let mut between = rehearsal(launch(Ending::Code(0), written()), true);
        between.launches.insert(1, launch(Ending::Struck, none));
        assert!(first(&between).contains("launch 3 began from the beginning"));

        // The program reads a checkpoint, and still begins from the beginning.
        let mut back = went_on();
        back.completed = vec![checkpoint("ck.1", 101.0)];
        let back = rehearsal(launch(Ending::Code(0), back), true);
        assert!(first(&back).contains("read ck.1, and then began from the beginning"));
    }

    #[test]
    fn sessions_are_judged_each() {
        let mut two = rehearsal(launch(Ending::Code(0), went_on()), true);
        for launch in &mut two.launches {
            launch.seen.0.insert("ice".into(), written());
        }
        let what = first(&two);
        assert!(
            what.contains("launch 2: session ice began from the beginning"),
            "{what}"
        );
        // A session that had ended need not go on, if another session does.
        two.launches[0].seen.0.get_mut("ice").unwrap().finalized = true;
        assert!(recovered(&two));
        // Each launch has only a session with a name.
        for launch in two.launches.iter_mut().chain([&mut two.undisturbed]) {
            let seen = launch.seen.0.remove("").unwrap();
            launch.seen.0 = [("sea".to_string(), seen)].into();
        }
        assert!(recovered(&two));
        assert!(lines(&two)[0].starts_with("launch 2: session sea went on from ck.1"));
    }

    #[test]
    fn of_a_program_without_scr_nothing_is_proven_but_by_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("0"), "begin\n").unwrap();
        std::fs::write(path("1"), "begin\nrestart from step 8\n").unwrap();
        let mut unlinked = rehearsal(launch(Ending::Code(0), Seen::default()), true);
        unlinked.undisturbed = launch(Ending::Code(0), Seen::default());
        unlinked.launches[0].seen = Sessions::default();
        unlinked.undisturbed.log = path("0");
        unlinked.launches[1].log = path("1");
        assert!(first(&unlinked).contains("nothing shows that launch 2 went on"));
        assert!(lines(&unlinked).contains(&"NOT PROVEN".to_string()));
        let mut says = |text: &str| {
            unlinked.says = Some(text.into());
            let lines = lines(&unlinked);
            (recovered(&unlinked), lines.join(" "))
        };
        assert!(says("restart from").0);
        let (good, text) = says("going on");
        assert!(!good && text.contains("began from the beginning: it did not print"));
        let (good, text) = says("begin");
        assert!(!good && text.contains("the undisturbed run prints"));
    }

    #[test]
    fn a_launcher_that_starts_nothing_is_named_with_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let rule = "-".repeat(60);
        let refused = format!(
            "{rule}\nmpiexec has detected an attempt to run as root.\n\nYou can override this.\n{rule}\n"
        );
        let log = dir.path().join("output");
        std::fs::write(&log, refused).unwrap();
        let mut refused = rehearsal(launch(Ending::Code(0), went_on()), true);
        refused.undisturbed = Launch {
            started: 0,
            log,
            ..launch(Ending::Code(1), Seen::default())
        };
        refused.launches.clear();
        let what = first(&refused);
        let begin = "the launcher has not started the program: mpiexec has detected an attempt to run as root. (output in ";
        assert!(what.starts_with(begin), "{what}");
        assert!(!lines(&refused).iter().any(|line| line.contains("SCR_Init")));
        for (text, line) in [
            ("", None),
            ("----\n", None),
            ("a\n\n b \n\n", Some("b")),
            ("a\n---\nb\nc\n---\n\n---\n", Some("b")),
        ] {
            assert_eq!(telling_line(text), line, "{text}");
        }
    }
}
