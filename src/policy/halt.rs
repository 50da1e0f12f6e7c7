//! Decides when the run must stop (`SCR_Should_exit`, the halt file).

use crate::format::{Name, halt::Halt};

/// The reason that a normal end leaves in the halt file. This reason does not stop the next run.
pub const FINALIZED: &str = "SCR_FINALIZE_CALLED";

/// The reasons that SCR itself writes to the halt file. Users write any others.
pub const SET_BY_SCR: [&str; 5] = [
    FINALIZED,
    TIME_LIMIT,
    NO_CHECKPOINTS_LEFT,
    EXIT_BEFORE_TIME,
    EXIT_AFTER_TIME,
];

/// The end of the allocation is near.
pub const TIME_LIMIT: &str = "TIME_LIMIT";
const NO_CHECKPOINTS_LEFT: &str = "NO_CHECKPOINTS_LEFT";
const EXIT_BEFORE_TIME: &str = "EXIT_BEFORE_TIME";
const EXIT_AFTER_TIME: &str = "EXIT_AFTER_TIME";

/// The reasons to stop now, in the order of SCR v3.1.0. `end` is the end of the allocation, if it
/// is known.
pub fn reasons(halt: &Halt, now: i64, end: Option<i64>) -> Vec<String> {
    let mut found = Vec::new();
    let halt_seconds = halt.halt_seconds.unwrap_or(0);
    if let Some(end) = end {
        let left = end.saturating_sub(now);
        if halt_seconds > 0 && left >= 0 && left <= halt_seconds {
            found.push(TIME_LIMIT.to_string());
        }
    }
    let reason = halt.exit_reason.as_ref().map(Name::to_string);
    found.extend(reason.filter(|reason| reason != FINALIZED));
    if halt.checkpoints_left.is_some_and(|left| left <= 0) {
        found.push(NO_CHECKPOINTS_LEFT.to_string());
    }
    if halt
        .exit_before
        .is_some_and(|t| now >= t.saturating_sub(halt_seconds))
    {
        found.push(EXIT_BEFORE_TIME.to_string());
    }
    if halt.exit_after.is_some_and(|t| now >= t) {
        found.push(EXIT_AFTER_TIME.to_string());
    }
    found
}

/// True if nothing is set that could ever stop a run. The reason that a normal end records does not count.
pub fn is_empty(halt: &Halt) -> bool {
    let Halt {
        exit_reason,
        checkpoints_left,
        exit_after,
        exit_before,
        halt_seconds,
    } = halt;
    let reason = exit_reason.as_ref().map(Name::to_string);
    let times = [exit_after, exit_before, checkpoints_left];
    reason.is_none_or(|reason| reason == FINALIZED)
        && times.iter().all(|time| time.is_none())
        && halt_seconds.is_none_or(|seconds| seconds <= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_at_its_edge() {
        let none = Halt::default();
        let check = |c: &Halt, now, end| reasons(c, now, end).join(" ");
        assert_eq!(check(&none, 100, Some(100)), "");
        let c = Halt {
            halt_seconds: Some(50),
            ..none.clone()
        };
        assert_eq!(check(&c, 100, Some(151)), "");
        assert_eq!(check(&c, 100, Some(150)), "TIME_LIMIT");
        assert_eq!(
            check(&c, 100, Some(99)),
            "",
            "an end in the past is not an end"
        );
        assert_eq!(check(&c, 100, None), "");
        let c = Halt {
            exit_reason: Some("JOB_HALTED".into()),
            ..none.clone()
        };
        assert_eq!(check(&c, 0, None), "JOB_HALTED");
        let c = Halt {
            exit_reason: Some(FINALIZED.into()),
            ..none.clone()
        };
        assert_eq!(check(&c, 0, None), "");
        let c = Halt {
            checkpoints_left: Some(1),
            ..none.clone()
        };
        assert_eq!(check(&c, 0, None), "");
        let c = Halt {
            checkpoints_left: Some(0),
            exit_after: Some(5),
            ..none.clone()
        };
        assert_eq!(check(&c, 5, None), "NO_CHECKPOINTS_LEFT EXIT_AFTER_TIME");
        let c = Halt {
            exit_before: Some(100),
            halt_seconds: Some(10),
            ..none
        };
        assert_eq!(check(&c, 89, None), "");
        assert_eq!(check(&c, 90, None), "EXIT_BEFORE_TIME");
    }
}
