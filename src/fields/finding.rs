//! The obstacle to a restart, and its meaning for the checkpoint.

use crate::Error;
use crate::session::Verdict;

/// The reason why a checkpoint is not restored, as one rank sees it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The meaning for the checkpoint.
    pub verdict: Verdict,
    /// The error that was found.
    pub error: Error,
}

impl Finding {
    /// The checkpoint is not one of this program.
    pub fn unfit(what: impl Into<String>) -> Self {
        Finding {
            verdict: Verdict::Unfit,
            error: Error::usage("SCR_Restore", what),
        }
    }
}

/// An error of the system, or of a call, is no sign that the checkpoint is bad. Any other error means that
/// it is bad.
impl From<Error> for Finding {
    fn from(error: Error) -> Self {
        let says_nothing = error.is_transient() || matches!(error, Error::Usage { .. });
        Finding {
            verdict: if says_nothing {
                Verdict::NotRead
            } else {
                Verdict::Bad
            },
            error,
        }
    }
}

/// An element that no rank has, or that two have.
pub(super) struct WrongPlace {
    pub field: usize,
    /// The number of the element in the whole.
    pub place: u64,
    pub error: Error,
}

/// A result of one rank in a restart.
pub type Found<T> = std::result::Result<T, Finding>;

/// The reason why this rank goes no further in a restart. The ranks have agreed, so that all of
/// them stop.
#[derive(Debug, Clone)]
pub enum Stop {
    /// This rank has found something.
    Found(Finding),
    /// Another rank has found an error, and this one has not.
    Elsewhere,
    /// The transport has failed: the ranks are out of step.
    Broken(Error),
}

/// A result on which the ranks have agreed.
pub type Agreed<T> = std::result::Result<T, Stop>;

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Self {
        match finding.error {
            Error::Comm { .. } => Stop::Broken(finding.error),
            _ => Stop::Found(finding),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::from(Finding::from(error))
    }
}
