//! Tells whether this thread is in a program's routine that lists its state. The session is locked then, so that a
//! call of SCR which needs it is refused.

use crate::Error;
use std::cell::RefCell;

thread_local! {
    /// In a routine: the first call that was refused, if any.
    static ROUTINE: RefCell<Option<Option<Error>>> = const { RefCell::new(None) };
}

/// Runs `work`, which calls a routine. Gives its result, and the error of the first call that was refused.
pub fn run<T>(work: impl FnOnce() -> T) -> (T, Option<Error>) {
    ROUTINE.set(Some(None));
    let done = work();
    (done, ROUTINE.take().flatten())
}

/// The error of a call of SCR inside of a routine; `None` outside of one.
pub fn refuse() -> Option<Error> {
    ROUTINE.with_borrow_mut(|routine| {
        let refused = routine.as_mut()?;
        let what = "a call of SCR that takes no SCR_State is not allowed inside of the routine that lists the state; \
                    use SCR_State_file for files, or make the call before or after";
        let error = || Error::usage("SCR_Checkpoint", what);
        Some(refused.get_or_insert_with(error).clone())
    })
}

#[cfg(test)]
mod tests {
    use super::{refuse, run};

    #[test]
    fn a_call_is_refused_inside_of_a_routine_only() {
        assert_eq!(refuse(), None);
        let (refused, kept) = run(refuse);
        assert!(refused.is_some());
        assert_eq!(refused, kept);
        assert_eq!(run(|| 3), (3, None));
        assert_eq!(refuse(), None);
    }
}
