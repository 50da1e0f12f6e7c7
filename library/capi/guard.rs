//! The boundary to C, which errors and panics do not cross.

use crate::Result;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The text of the last error in a call of this thread.
    static REASON: RefCell<CString> = RefCell::default();
}

/// Runs the body of an interface function. An error or a panic gives `failure`, so that no
/// unwinding crosses into C, where it would be undefined behaviour. [`reason`] tells the error afterwards.
pub fn guard<T>(failure: T, body: impl FnOnce() -> Result<T>) -> T {
    // A panic poisons the lock on the session, so later calls fail.
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "an error inside of SCR, told on standard error".to_string(),
    };
    keep(error);
    failure
}

/// The next [`reason`] is "": a call fails without an error.
pub fn without_reason() {
    keep(String::new());
}

/// The text of the last error in a call of this thread; "" before any, and if the call failed without an error. Valid
/// until the next error.
pub fn reason() -> *const c_char {
    let kept = REASON.try_with(|reason| reason.borrow().as_ptr());
    kept.unwrap_or(c"".as_ptr())
}

/// Nothing is kept at the end of the thread: a program may call from its own destructors.
fn keep(reason: String) {
    // Errors have no NUL, as they are escaped.
    let reason = CString::new(reason).unwrap_or_default();
    drop(REASON.try_with(|kept| kept.replace(reason)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::ffi::CStr;
    use std::thread;

    #[test]
    fn error_and_panic_become_the_failure_value() {
        assert_eq!(guard(1, || Ok(0)), 0);
        assert_eq!(guard(1, || Err(Error::usage("SCR_Init", "no"))), 1);
        assert_eq!(guard(1, || panic!("caught")), 1);
    }

    #[test]
    fn the_reason_of_a_failure_is_kept_for_its_thread() {
        let told = || {
            // SAFETY: no call of this thread follows before the text is copied.
            let text = unsafe { CStr::from_ptr(reason()) };
            text.to_string_lossy().into_owned()
        };
        assert_eq!(told(), "");
        guard(1, || Err(Error::usage("SCR_Init", "a\0b")));
        assert!(told().starts_with("SCR_Init: a"), "{}", told());
        guard(1, || Ok(0));
        assert!(
            told().starts_with("SCR_Init: a"),
            "a success changes nothing"
        );
        assert_eq!(thread::spawn(told).join().unwrap_or_default(), "");
        guard(1, || panic!("caught"));
        assert!(told().starts_with("an error inside of SCR"), "{}", told());
        without_reason();
        assert_eq!(told(), "");
    }
}
