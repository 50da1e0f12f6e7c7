//! Signals that ask the run to stop (`SCR_HALT_SIGNALS`).
//!
//! The handler stores the number of the signal and calls the program's own handler, if the program
//! has set one. [`received`] gives the number when the program calls SCR.

use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};

/// The last signal that came; 0 if none came.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The action of a signal before [`catch`].
struct Before {
    /// Our handler is set, or one that may call it.
    caught: AtomicBool,
    /// Address of a handler, SIG_DFL or SIG_IGN.
    handler: AtomicUsize,
    /// Flags that it was set with.
    flags: AtomicI32,
}

/// By the number of the signal. There are more than the highest that [`crate::job::signal`] names.
static BEFORE: [Before; 64] = [const {
    Before {
        caught: AtomicBool::new(false),
        handler: AtomicUsize::new(libc::SIG_DFL),
        flags: AtomicI32::new(0),
    }
}; 64];

/// Forgets a signal that came to earlier runs. A signal that came while a session has a run is for all sessions.
pub fn forget() {
    RECEIVED.store(0, SeqCst);
}

/// Catches `signals` from now on. A handler of the program is still called; without one, the signal no
/// longer ends the program.
pub fn catch(signals: &[c_int]) {
    for signal in signals.iter().copied() {
        let (Some(before), Some(mut action)) = (before(signal), action(signal)) else {
            continue;
        };
        // A handler that replaced ours in an earlier run may call it. If ours were set again, the two
        // would call each other without end.
        if before.caught.swap(true, SeqCst) {
            continue;
        }
        before.handler.store(action.sa_sigaction, SeqCst);
        before.flags.store(action.sa_flags, SeqCst);
        // A handler of the program keeps its mask, its stack, and whether system calls are restarted.
        // Without a handler, system calls must not fail because of ours.
        let kept = libc::SA_NODEFER | libc::SA_ONSTACK | libc::SA_RESTART;
        action.sa_flags = match action.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => libc::SA_ONSTACK | libc::SA_RESTART,
            _ => action.sa_flags & kept,
        };
        action.sa_flags |= libc::SA_SIGINFO;
        action.sa_sigaction = ours();
        set(signal, &action);
    }
}

/// Restores the actions that [`catch`] replaced, unless the program has changed them since.
pub fn release() {
    for (signal, before) in (0..).zip(&BEFORE) {
        if before.caught.load(SeqCst)
            && let Some(mut action) = action(signal)
            && action.sa_sigaction == ours()
        {
            action.sa_sigaction = before.handler.load(SeqCst);
            action.sa_flags = before.flags.load(SeqCst);
            set(signal, &action);
            before.caught.store(false, SeqCst);
        }
    }
}

/// The last signal since [`forget`]; 0 if none came.
pub fn received() -> c_int {
    RECEIVED.load(SeqCst)
}

fn before(signal: c_int) -> Option<&'static Before> {
    BEFORE.get(usize::try_from(signal).ok()?)
}

fn ours() -> usize {
    on_signal as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize
}

/// The handler. The handler may run between any two instructions of any thread, so it uses nothing
/// but atomics.
extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    RECEIVED.store(signal, SeqCst);
    let Some(before) = before(signal) else { return };
    let handler = before.handler.load(SeqCst);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return;
    }
    if before.flags.load(SeqCst) & libc::SA_SIGINFO != 0 {
        // SAFETY: the program gave this address to sigaction(2) with SA_SIGINFO, which says
        // that it is such a function; it is called as the system would call it.
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: the same without SA_SIGINFO.
        let handler: extern "C" fn(c_int) = unsafe { transmute(handler) };
        handler(signal);
    }
}

/// The present action of a signal.
fn action(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: without a new action the call only writes the present one to `action`.
    let done = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all fields are plain numbers, zero or as the call wrote them.
    (done == 0).then(|| unsafe { action.assume_init() })
}

/// Sets the action of a signal. This cannot fail for a signal that can be caught.
fn set(signal: c_int, action: &libc::sigaction) {
    // SAFETY: the action is that of the program, or our handler, which lives as long as the
    // process and has the form that SA_SIGINFO says.
    let _ = unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
}
