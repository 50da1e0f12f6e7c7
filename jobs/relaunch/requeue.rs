//! Decides whether the scheduler is asked for another allocation when the run loop ends (`scr run
//! --requeue`).

use super::run::{LoopState, StopReason};
use scr_engine::policy::halt::TIME_LIMIT;

/// An allocation with at most this many seconds left is taken as at its end: schedulers send SIGTERM before the end.
const AT_END: i64 = 180;

/// `Ok` if another allocation can bring the program further; else why not. `progress`: this allocation has brought a new
/// dataset. `left`: seconds until its end, if that is known.
pub fn requeue(
    state: &LoopState,
    why: &StopReason,
    progress: bool,
    left: Option<i64>,
) -> Result<(), String> {
    let only_time = state.halts.iter().any(|reason| reason == TIME_LIMIT);
    let is_end = left.is_some_and(|left| left <= AT_END);
    let wanted = match why {
        // The program was told to stop in time.
        StopReason::Done | StopReason::Finalized => only_time,
        StopReason::Halt(reasons) => reasons.iter().all(|reason| reason == TIME_LIMIT),
        StopReason::Signal(name) => *name == "SIGTERM" && is_end,
        StopReason::TooFewNodes(_) | StopReason::OwnNode(_) | StopReason::TooLittleTime(_) => true,
        StopReason::NoRunLeft(_) | StopReason::SameFailure(_) => false,
    };
    match (wanted, progress) {
        (false, _) => Err(why.to_string()),
        (true, false) => {
            Err("this allocation has brought no new dataset, so the next one may not either".into())
        }
        (true, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relaunch::run::NodeCount;

    #[test]
    fn only_what_another_allocation_can_change() {
        let ended_in_time = LoopState {
            halts: vec![TIME_LIMIT.to_string()],
            ..LoopState::default()
        };
        let state = LoopState::default();
        let some = |word: &str| StopReason::Halt(vec![word.to_string()]);
        let few = NodeCount { up: 1, needed: 2 };
        for (state, why, left, expected) in [
            (&state, StopReason::Done, None, false),
            (&ended_in_time, StopReason::Done, None, true),
            (&ended_in_time, StopReason::Finalized, None, true),
            (&state, some(TIME_LIMIT), None, true),
            (&state, some("because"), None, false),
            (&state, StopReason::Signal("SIGTERM"), None, false),
            (&state, StopReason::Signal("SIGTERM"), Some(3600), false),
            (&state, StopReason::Signal("SIGTERM"), Some(20), true),
            (&state, StopReason::Signal("SIGINT"), Some(20), false),
            (&state, StopReason::TooFewNodes(few), None, true),
            (&state, StopReason::NoRunLeft(3), None, false),
            (&state, StopReason::SameFailure(3), None, false),
        ] {
            assert_eq!(requeue(state, &why, true, left).is_ok(), expected, "{why}");
            assert!(requeue(state, &why, false, left).is_err());
        }
    }
}
