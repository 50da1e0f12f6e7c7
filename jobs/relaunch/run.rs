//! Decides the next step of the run loop (`scr_run`).

use super::time_left::TooLittleTime;
use scr_engine::policy::halt::FINALIZED;
use std::fmt;

/// The facts on which the decision depends.
#[derive(Debug, Clone, Default)]
pub struct LoopState {
    /// Number of launches so far.
    pub launches: u64,
    /// Limit for launches; `None` for no limit.
    pub limit: Option<u64>,
    /// Exit code of the last launch; `None` before the first.
    pub code: Option<i32>,
    /// True if the last launch was killed because it made no progress.
    pub hung: bool,
    /// Halt conditions that hold, as SCR names them.
    pub halts: Vec<String>,
    /// Number and name of the signal that asked the loop to end.
    pub signal: Option<(i32, &'static str)>,
    /// Result of the node tests since the last launch; `None` without tests.
    pub nodes: Option<NodeCount>,
    /// The node that the launcher starts the program from, and why it must not be used.
    pub own_node: Option<String>,
    /// The reason why the time until the end of the allocation is too short for another launch;
    /// `None` if there is enough time.
    pub too_little_time: Option<TooLittleTime>,
    /// The launches that have ended, oldest first.
    pub ends: Vec<LaunchEnd>,
    /// Number of launches in a row that failed alike, after which no other is made; 0 for no limit.
    pub most_alike: u64,
}

/// The end of a launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchEnd {
    /// Its number, from 1 on.
    pub number: u64,
    /// Exit code.
    pub code: i32,
    /// True if the launch was killed because it made no progress.
    pub hung: bool,
    /// The id of the newest dataset when the launch ended; 0 before the first dataset.
    pub newest: u64,
    /// True if a node was found to be down after the launch.
    pub node_lost: bool,
    /// Duration of the launch, seconds.
    pub seconds: f64,
    /// The nodes that it ran on.
    pub nodes: String,
}

/// Seconds. A launch that is shorter and has no dataset has failed at its beginning. A longer launch may have made
/// progress: its program may have a restart of its own.
const AT_BEGIN: f64 = 60.0;

impl LaunchEnd {
    /// True if both launches failed at the same step, and no lost node explains that.
    fn is_like(&self, other: &LaunchEnd) -> bool {
        let what = |end: &LaunchEnd| (end.code, end.hung, end.newest);
        what(self) == what(other) && self.shows_no_progress() && other.shows_no_progress()
    }

    fn shows_no_progress(&self) -> bool {
        !self.node_lost && (self.newest > 0 || self.seconds < AT_BEGIN)
    }
}

/// Usable nodes, and nodes that a launch needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCount {
    /// Usable nodes.
    pub up: u64,
    /// Nodes that a launch needs.
    pub needed: u64,
}

/// The next step of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Test which nodes can be used.
    Test,
    /// Launch the program.
    Launch,
    /// End the loop.
    Stop(StopReason),
}

/// The reason why the loop ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The program ended with exit code 0.
    Done,
    /// The program called SCR_Finalize, so it was finished, whatever its exit code.
    Finalized,
    /// The loop received a signal.
    Signal(&'static str),
    /// Halt conditions hold.
    Halt(Vec<String>),
    /// The limit of launches is reached.
    NoRunLeft(u64),
    /// The node that the launcher starts the program from must not be used.
    OwnNode(String),
    /// Too few nodes can be used.
    TooFewNodes(NodeCount),
    /// So many of the last launches failed alike.
    SameFailure(usize),
    /// The allocation ends before a launch could save its results.
    TooLittleTime(TooLittleTime),
}

/// The next step. Reasons of the user and of the program come first, then limits. Nodes are tested
/// last, because that takes longest.
pub fn next_step(state: &LoopState) -> NextStep {
    let finalized = state.finalized();
    let others = || state.halts.iter().filter(|reason| *reason != FINALIZED);
    NextStep::Stop(match state {
        LoopState {
            signal: Some((_, name)),
            ..
        } => StopReason::Signal(name),
        LoopState {
            code: Some(0),
            hung: false,
            ..
        } => StopReason::Done,
        _ if others().next().is_some() => StopReason::Halt(others().cloned().collect()),
        _ if finalized && !state.hung => StopReason::Finalized,
        LoopState {
            limit: Some(limit),
            launches,
            ..
        } if launches >= limit => StopReason::NoRunLeft(*limit),
        LoopState {
            too_little_time: Some(why),
            launches: 1..,
            ..
        } => StopReason::TooLittleTime(*why),
        LoopState { nodes: None, .. } => return NextStep::Test,
        LoopState {
            own_node: Some(why),
            ..
        } => StopReason::OwnNode(why.clone()),
        LoopState {
            nodes: Some(nodes), ..
        } if nodes.up == 0 || nodes.up < nodes.needed => StopReason::TooFewNodes(*nodes),
        _ if state.most_alike > 0 && state.alike().len() as u64 >= state.most_alike => {
            StopReason::SameFailure(state.alike().len())
        }
        _ => return NextStep::Launch,
    })
}

impl LoopState {
    /// The last launches that have ended alike: with the same exit code, with no dataset that is newer than that of
    /// the first of these launches, and without the loss of a node.
    pub fn alike(&self) -> &[LaunchEnd] {
        let Some(last) = self.ends.last() else {
            return &[];
        };
        let count = self.ends.iter().rev().take_while(|end| end.is_like(last));
        &self.ends[self.ends.len() - count.count()..]
    }

    /// The facts on which the next decision depends, in lines.
    pub fn explained(&self) -> Vec<String> {
        let known = |text: Option<String>| text.unwrap_or_else(|| "not known yet".into());
        let last = self.ends.last().map(|end| {
            let LaunchEnd { code, seconds, .. } = end;
            let hung = if end.hung { ", without progress" } else { "" };
            let lost = if end.node_lost {
                "; a node was lost"
            } else {
                ""
            };
            format!("exit code {code} after {seconds:.0} s{hung}{lost}")
        });
        let nodes = self
            .nodes
            .map(|NodeCount { up, needed }| format!("{up}, and {needed} needed"));
        let halts = match self.halts.join(", ") {
            none if none.is_empty() => "none holds".into(),
            some => some,
        };
        let limit = self
            .limit
            .map_or("no limit".into(), |limit| limit.to_string());
        vec![
            format!("launches: {} of {limit} (SCR_RUNS)", self.launches),
            format!("last launch: {}", known(last)),
            format!(
                "newest dataset: {}",
                known(self.ends.last().map(|end| end.newest.to_string()))
            ),
            format!(
                "launches in a row that failed alike: {} of {} (SCR_SAME_FAILURES)",
                self.alike().len(),
                self.most_alike
            ),
            format!("halt conditions: {halts}"),
            match self.too_little_time {
                Some(why) => format!("time: {}", StopReason::TooLittleTime(why)),
                None => {
                    "time: enough for a restart and a checkpoint, as far as is known".to_string()
                }
            },
            format!("nodes that can be used: {}", known(nodes)),
            format!(
                "node of scr_run: {}",
                self.own_node
                    .as_deref()
                    .unwrap_or("can be used, or is not needed")
            ),
            format!("signal: {}", self.signal.map_or("none", |(_, name)| name)),
        ]
    }

    fn finalized(&self) -> bool {
        self.halts.iter().any(|reason| reason == FINALIZED)
    }

    /// The exit code of the loop: the exit code of the last launch, except that 0 is only for a
    /// program that was finished. A signal or the watchdog may have ended the run before, and
    /// launchers and programs that handle SIGTERM end with 0 then. `failed`: the loop itself had an
    /// error.
    pub fn exit_code(&self, failed: bool) -> i32 {
        match (self.code, self.signal) {
            (None, Some((number, _))) => 128 + number,
            (Some(0), Some((number, _))) if !self.finalized() => 128 + number,
            (Some(0), None) if self.hung && !self.finalized() => 1,
            (Some(0), _) if failed => 1,
            (code, _) => code.unwrap_or(1),
        }
    }
}

/// The limit for launches, from `SCR_RUNS` and `SCR_RETRIES`; `None` for no limit.
pub fn limit(runs: Option<i64>, retries: Option<i64>) -> Option<u64> {
    let asked = match (runs, retries) {
        (Some(runs), _) if runs < 0 => return None,
        (Some(runs), _) => runs,
        (None, Some(retries)) => retries.saturating_add(1),
        (None, None) => 1,
    };
    Some(u64::try_from(asked).unwrap_or(1).max(1))
}

/// Longest pause after launches without progress, seconds.
const LONGEST_PAUSE: u64 = 60;

/// Pause before the next launch, seconds: `settle` if nodes were lost, to give the scheduler time.
/// After `fruitless` consecutive launches without progress it grows, so that a program that cannot
/// start does not keep the scheduler busy.
pub fn pause(lost_nodes: bool, settle: u64, fruitless: u32) -> u64 {
    let settle = if lost_nodes { settle } else { 0 };
    let back_off = match fruitless {
        0 | 1 => 0,
        n => 1u64
            .checked_shl(n - 1)
            .map_or(LONGEST_PAUSE, |s| s.min(LONGEST_PAUSE)),
    };
    settle.max(back_off)
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Done => f.write_str("the program ended with exit code 0"),
            StopReason::Finalized => {
                f.write_str("the program has called SCR_Finalize, so it was at its end")
            }
            StopReason::Signal(name) => write!(f, "{name} was received"),
            StopReason::Halt(reasons) => write!(
                f,
                "a halt condition holds: {} (scr_halt shows and unsets conditions)",
                reasons.join(", ")
            ),
            StopReason::NoRunLeft(1) => {
                f.write_str("one launch was allowed (SCR_RUNS or SCR_RETRIES allows more)")
            }
            StopReason::NoRunLeft(limit) => write!(f, "{limit} launches were allowed"),
            StopReason::OwnNode(why) => write!(
                f,
                "the node of scr_run, from which the program is launched, is down: {why}"
            ),
            StopReason::TooFewNodes(NodeCount { up: 0, .. }) => f.write_str("no node can be used"),
            StopReason::TooFewNodes(NodeCount { up, needed }) => write!(
                f,
                "nodes_remaining={up} < nodes_needed={needed} (SCR_MIN_NODES says how many are needed)"
            ),
            StopReason::TooLittleTime(TooLittleTime {
                left,
                restart,
                checkpoint,
            }) => write!(
                f,
                "the allocation ends in {left} s, and a restart has taken {restart} s and a checkpoint {checkpoint} s, so nothing that \
                 it computes would be kept"
            ),
            StopReason::SameFailure(count) => write!(
                f,
                "the last {count} launches failed alike, without a new dataset and without the loss of a node, so another one would \
                 do the same (SCR_SAME_FAILURES)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(pause(false, 5, 1), 0);
        assert_eq!(pause(true, 5, 1), 5);
        assert_eq!(pause(false, 5, 2), 2);
        assert_eq!(pause(false, 5, 3), 4);
        assert_eq!(pause(true, 5, 3), 5);
        assert_eq!(pause(false, 5, 100), LONGEST_PAUSE);
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
}
