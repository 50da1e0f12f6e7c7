//! The decisions of the loop of launches.

use super::*;

fn after(code: i32) -> LoopState {
    LoopState {
        launches: 1,
        limit: Some(3),
        code: Some(code),
        ..LoopState::default()
    }
}

fn some(halts: &[&str]) -> Vec<String> {
    halts.iter().map(|halt| halt.to_string()).collect()
}

const ENOUGH: Option<NodeCount> = Some(NodeCount { up: 4, needed: 4 });

#[test]
fn the_table() {
    let first = LoopState {
        limit: Some(1),
        ..LoopState::default()
    };
    let cases = [
        (first.clone(), NextStep::Test),
        (
            LoopState {
                nodes: ENOUGH,
                ..first.clone()
            },
            NextStep::Launch,
        ),
        (
            LoopState {
                halts: some(&["JOB_HALTED"]),
                ..first
            },
            NextStep::Stop(StopReason::Halt(some(&["JOB_HALTED"]))),
        ),
        (after(0), NextStep::Stop(StopReason::Done)),
        (after(1), NextStep::Test),
        (
            LoopState {
                nodes: ENOUGH,
                ..after(137)
            },
            NextStep::Launch,
        ),
        (
            LoopState {
                limit: Some(1),
                ..after(1)
            },
            NextStep::Stop(StopReason::NoRunLeft(1)),
        ),
        (
            LoopState {
                limit: None,
                launches: u64::MAX,
                nodes: ENOUGH,
                ..after(1)
            },
            NextStep::Launch,
        ),
        (
            LoopState {
                halts: some(&[FINALIZED]),
                ..after(1)
            },
            NextStep::Stop(StopReason::Finalized),
        ),
        // An example is a program that exits by itself when SCR asks it to.
        (
            LoopState {
                halts: some(&["NO_CHECKPOINTS_LEFT"]),
                ..after(0)
            },
            NextStep::Stop(StopReason::Done),
        ),
        (
            LoopState {
                halts: some(&[FINALIZED, "X"]),
                ..after(9)
            },
            NextStep::Stop(StopReason::Halt(some(&["X"]))),
        ),
        (
            LoopState {
                signal: Some((15, "SIGTERM")),
                ..after(143)
            },
            NextStep::Stop(StopReason::Signal("SIGTERM")),
        ),
        (
            LoopState {
                nodes: ENOUGH,
                own_node: Some("n1: Failed to ping".into()),
                ..after(137)
            },
            NextStep::Stop(StopReason::OwnNode("n1: Failed to ping".into())),
        ),
        // A launcher may return 0 when the watchdog ends the step.
        (
            LoopState {
                hung: true,
                ..after(0)
            },
            NextStep::Test,
        ),
        (
            LoopState {
                hung: true,
                nodes: ENOUGH,
                ..after(137)
            },
            NextStep::Launch,
        ),
    ];
    for (state, expected) in cases {
        assert_eq!(next_step(&state), expected, "{state:?}");
    }
}

#[test]
fn a_program_that_fails_at_the_same_step_is_not_launched_for_ever() {
    let end = |code, newest| LaunchEnd {
        code,
        newest,
        ..LaunchEnd::default()
    };
    let after = |ends: &[LaunchEnd]| LoopState {
        limit: None,
        launches: ends.len() as u64,
        nodes: ENOUGH,
        ends: ends.to_vec(),
        most_alike: 3,
        waited: true,
        ..after(1)
    };
    let hung = LaunchEnd {
        hung: true,
        ..end(1, 4)
    };
    let lost = LaunchEnd {
        node_lost: true,
        ..end(1, 4)
    };
    let long = LaunchEnd {
        seconds: 3600.0,
        ..end(1, 0)
    };
    for (ends, alike) in [
        (vec![], 0),
        (vec![end(1, 0); 2], 2),
        // The second launch wrote dataset 4. This launch and the later launches all failed
        // after that dataset.
        (vec![end(1, 3), end(1, 4), end(1, 4), end(1, 4)], 3),
        (vec![end(1, 4), end(1, 4), end(139, 4)], 1),
        (vec![end(1, 4), end(1, 4), hung.clone()], 1),
        (vec![end(1, 4), lost.clone(), end(1, 4), end(1, 4)], 2),
        (vec![end(1, 4), end(1, 4), lost], 0),
        (vec![hung; 3], 3),
        // These launches belong to a program with a restart of its own.
        (vec![long; 3], 0),
    ] {
        let state = after(&ends);
        assert_eq!(state.alike().len(), alike, "{ends:?}");
        let expected = if alike >= 3 {
            NextStep::Stop(StopReason::SameFailure(alike))
        } else {
            NextStep::Launch
        };
        assert_eq!(next_step(&state), expected, "{ends:?}");
        let without = LoopState {
            most_alike: 0,
            ..state
        };
        assert_eq!(next_step(&without), NextStep::Launch);
    }
}

#[test]
fn exit_code_0_is_for_a_finished_program() {
    let signal = Some((15, "SIGTERM"));
    let killed = |code| LoopState {
        signal,
        ..after(code)
    };
    let finalized = |state| LoopState {
        halts: some(&[FINALIZED]),
        ..state
    };
    let hung = |code| LoopState {
        hung: true,
        ..after(code)
    };
    let not_launched = LoopState {
        code: None,
        ..killed(0)
    };
    for (state, code) in [
        (LoopState::default(), 1),
        (after(0), 0),
        (after(3), 3),
        (killed(0), 143),
        (killed(3), 3),
        (finalized(killed(0)), 0),
        (not_launched, 143),
        (hung(0), 1),
        (hung(137), 137),
        (finalized(hung(0)), 0),
    ] {
        assert_eq!(state.exit_code(false), code, "{state:?}");
        assert_eq!(state.exit_code(true), code.max(1), "{state:?}");
    }
}

#[test]
fn nodes_at_the_edge() {
    for (up, needed, launches) in [
        (4, 4, true),
        (5, 4, true),
        (3, 4, false),
        (1, 0, true),
        (0, 0, false),
    ] {
        let nodes = NodeCount { up, needed };
        let state = LoopState {
            nodes: Some(nodes),
            ..after(1)
        };
        let expected = if launches {
            NextStep::Launch
        } else {
            NextStep::Stop(StopReason::TooFewNodes(nodes))
        };
        assert_eq!(next_step(&state), expected);
    }
}

#[test]
fn limits() {
    assert_eq!(limit(None, None), Some(1));
    assert_eq!(limit(None, Some(0)), Some(1));
    assert_eq!(limit(None, Some(2)), Some(3));
    assert_eq!(limit(Some(5), Some(2)), Some(5));
    assert_eq!(limit(Some(0), Some(2)), Some(1));
    assert_eq!(limit(Some(-1), Some(2)), None);
    assert_eq!(limit(None, Some(i64::MAX)), Some(i64::MAX as u64));
}

#[test]
fn pauses() {
    let without_progress = LaunchEnd {
        before: 4,
        newest: 4,
        ..LaunchEnd::default()
    };
    let with_progress = LaunchEnd {
        newest: 5,
        ..without_progress.clone()
    };
    for (node_lost, fruitless, seconds) in [
        (false, 1, 0),
        (true, 0, 5),
        (true, 1, 5),
        (false, 2, 2),
        (false, 3, 4),
        (true, 3, 5),
        (false, 100, LONGEST_PAUSE),
    ] {
        let mut ends = vec![without_progress.clone(), with_progress.clone()];
        ends.extend(vec![without_progress.clone(); fruitless]);
        let state = LoopState {
            limit: None,
            nodes: ENOUGH,
            ends,
            node_lost,
            settle: 5,
            ..after(1)
        };
        let fruitless = fruitless as u32;
        let expected = match seconds {
            0 => NextStep::Launch,
            _ => NextStep::Wait(Pause { seconds, fruitless }),
        };
        assert_eq!(next_step(&state), expected, "{state:?}");
        let state = LoopState {
            waited: true,
            ..state
        };
        assert_eq!(next_step(&state), NextStep::Launch);
    }
}

#[test]
fn each_reason_to_launch_no_more_says_what_would_change_it() {
    let nodes = |up| StopReason::TooFewNodes(NodeCount { up, needed: 4 });
    for (why, said) in [
        (StopReason::Done, "the program ended with exit code 0"),
        (StopReason::Finalized, "SCR_Finalize"),
        (StopReason::Signal("SIGTERM"), "SIGTERM was received"),
        (StopReason::Halt(vec!["A".into(), "B".into()]), "A, B"),
        (StopReason::Halt(vec!["A".into()]), "scr_halt"),
        (StopReason::NoRunLeft(1), "one launch was allowed (SCR_RUNS"),
        (StopReason::NoRunLeft(7), "7 launches were allowed"),
        (nodes(0), "no node can be used"),
        (
            nodes(3),
            "nodes_remaining=3 < nodes_needed=4 (SCR_MIN_NODES",
        ),
    ] {
        let text = why.to_string();
        assert!(text.contains(said), "{text}");
    }
}
