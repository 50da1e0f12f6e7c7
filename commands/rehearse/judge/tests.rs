use super::super::super::fields::compare::Tolerance;
use super::super::plan::{Awaited, Kill, Victim};
use super::super::rehearsal::{Part, telling_line};
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
        launches: vec![launch(Ending::Struck, written()), last],
        compared: vec![Comparison {
            file: "result".into(),
            other: (!same).then(|| difference(b"1", b"2", &Tolerance::default()).unwrap()),
        }],
        relaunched: Part::NotTried("it is left out".into()),
        repaired: Part::NotTried("no ULFM".into()),
        seconds: 6.0,
        ..Rehearsal::new(launch(Ending::Code(0), undisturbed), false, None)
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
            "launch again by scr run          -             -             not tried: it is left out",
            "repair in the running job        -             -             not tried: no ULFM",
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
fn a_kill_after_the_last_checkpoint_proves_nothing() {
    let last = Seen {
        completed: Vec::new(),
        ..went_on()
    };
    let mut late = rehearsal(launch(Ending::Code(0), last), true);
    let what = first(&late);
    assert!(
        what.starts_with("no checkpoint was written after a restart"),
        "{what}"
    );
    assert_eq!(verdict(&late), Verdict::NotProven);
    let row = "results same  not proven: killed after the last checkpoint";
    assert!(lines(&late)[3].ends_with(row), "{:?}", lines(&late));

    // A launch before it has computed something after its restart.
    let between = launch(Ending::Struck, went_on());
    late.launches.insert(1, between);
    assert_eq!(verdict(&late), Verdict::Recovered);
    late.launches.remove(1);

    // With one checkpoint there is no earlier kill.
    late.undisturbed.seen = Sessions([(String::new(), written())].into());
    assert_eq!(verdict(&late), Verdict::Recovered);
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

#[test]
fn a_part_that_has_not_recovered_counts() {
    let part = |run, last, same| {
        let mut part = rehearsal(last, same);
        part.run = run;
        Part::Tried(Box::new(part))
    };
    let good = || launch(Ending::Code(0), went_on());
    let mut all = rehearsal(good(), true);
    all.relaunched = part(Run::Relaunched, good(), true);
    assert!(recovered(&all));
    let table = lines(&all).join("\n");
    assert!(
        table.contains("\nlaunch 1 of scr run: rank 1 killed in ck.2  ck.1 "),
        "{table}"
    );
    assert!(!table.contains("launch again by scr run"), "{table}");

    // The repaired program computes something else.
    all.repaired = part(Run::Repaired, good(), false);
    assert_eq!(verdict(&all), Verdict::NotRecovered);
    assert!(first(&all).starts_with("repaired: after the restart the results are others"));

    // It ends with its rank.
    let mut ended = launch(Ending::Code(75), Seen::default());
    ended.seen = Sessions::default();
    all.repaired = part(Run::Repaired, ended, true);
    assert!(first(&all).starts_with("repaired: the launch ended with the rank that was killed"));
    let table = lines(&all).join("\n");
    assert!(table.contains("not recovered: the launch ended with the rank\n"));

    // A mistake is told once, of the first run that shows it.
    all.launches[1] = launch(Ending::Code(3), went_on());
    assert!(first(&all).starts_with("launch 2 ended with exit code 3"));
    assert_eq!(problems(&all).len(), 1);

    // scr run has made no launch.
    let mut none = rehearsal(good(), true);
    let Part::Tried(mut refused) = part(Run::Relaunched, good(), true) else {
        panic!();
    };
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("output.run");
    std::fs::write(&log, "scr_run: 1: the program is not launched: no node\n").unwrap();
    refused.launches = vec![Launch {
        log,
        ..launch(Ending::Code(1), Seen::default())
    }];
    none.relaunched = Part::Tried(refused);
    let table = lines(&none).join("\n");
    assert!(
        table.contains("\nlaunch again by scr run          -             -             not recovered: not launched: no node\n"),
        "{table}"
    );
    assert!(!recovered(&none));
}
