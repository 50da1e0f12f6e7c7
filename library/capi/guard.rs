//! Where errors and panics stop before they reach C.

use crate::Result;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an interface function. An error or a panic gives `failure`, so that no
/// unwinding crosses into C, where it would be undefined behaviour.
pub fn guard<T>(failure: T, body: impl FnOnce() -> Result<T>) -> T {
    // A panic poisons the lock on the session, so later calls fail.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(_)) | Err(_) => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn error_and_panic_become_the_failure_value() {
        assert_eq!(guard(1, || Ok(0)), 0);
        assert_eq!(guard(1, || Err(Error::usage("SCR_Init", "no"))), 1);
        assert_eq!(guard(1, || panic!("caught")), 1);
    }
}
