//! Decides the next step of the run loop (`scr_run`).

use super::time_left::TooLittleTime;
use scr_engine::policy::halt::FINALIZED;
use std::fmt;

#[cfg(test)]
mod tests;

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
    /// True if nodes went down since the last launch.
    pub node_lost: bool,
    /// Pause after the loss of nodes, seconds, so that the resource manager can settle.
    pub settle: u64,
    /// True if the pause before the next launch is over.
    pub waited: bool,
}

/// The end of a launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchEnd {
    /// The number of the launch, from 1 on.
    pub number: u64,
    /// Exit code.
    pub code: i32,
    /// True if the launch was killed because it made no progress.
    pub hung: bool,
    /// The id of the newest dataset when the launch began; 0 before the first dataset.
    pub before: u64,
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
    /// Wait before the launch.
    Wait(Pause),
    /// Launch the program.
    Launch,
    /// End the loop.
    Stop(StopReason),
}

/// A pause before a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// The length of the pause.
    pub seconds: u64,
    /// Number of launches in a row without a new dataset.
    pub fruitless: u32,
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
    /// This many of the last launches failed alike.
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
        _ => {
            let pause = (!state.waited).then(|| state.pause()).flatten();
            return pause.map_or(NextStep::Launch, NextStep::Wait);
        }
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

    /// The pause before the next launch: after the loss of nodes, to give the resource manager time. After launches in a row
    /// without a new dataset it grows, so that a program that cannot start does not keep the scheduler busy.
    fn pause(&self) -> Option<Pause> {
        let in_a_row = self.ends.iter().rev();
        let in_a_row = in_a_row.take_while(|end| end.newest <= end.before);
        let fruitless = u32::try_from(in_a_row.count()).unwrap_or(u32::MAX);
        let back_off = match fruitless {
            0 | 1 => 0,
            n => 1u64
                .checked_shl(n - 1)
                .map_or(LONGEST_PAUSE, |s| s.min(LONGEST_PAUSE)),
        };
        let settle = if self.node_lost { self.settle } else { 0 };
        let seconds = settle.max(back_off);
        (seconds > 0).then_some(Pause { seconds, fruitless })
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
    /// program that was finished. A signal or the watchdog may have ended the run earlier, and
    /// launchers and programs that handle SIGTERM then end with 0. `failed`: the loop itself had an
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

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pause { seconds, fruitless } = self;
        write!(f, "waiting {seconds} s: ")?;
        match fruitless {
            0 | 1 => f.write_str("so that the resource manager can settle (SCR_SETTLE_SECONDS)"),
            _ => write!(f, "{fruitless} launches in a row made no progress"),
        }
    }
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
