//! Signals that ask the run to stop (`SCR_HALT_SIGNALS`): caught, remembered, passed on.
//!
//! The handler does only what a handler may do: it stores a number, and calls the handler that
//! was there before it. [`received`] is asked when the program calls SCR.

use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};

/// The last signal that came; 0 for none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// What was done about a signal before us.
struct Before {
    /// Our handler is in place, or one that may call it.
    caught: AtomicBool,
    /// Address of a handler, SIG_DFL or SIG_IGN.
    handler: AtomicUsize,
    /// Flags that it was set with.
    flags: AtomicI32,
}

/// By number of the signal: more than the highest that [`crate::job::signal`] names.
static BEFORE: [Before; 64] = [const {
    Before {
        caught: AtomicBool::new(false),
        handler: AtomicUsize::new(libc::SIG_DFL),
        flags: AtomicI32::new(0),
    }
}; 64];

/// Catches `signals` from now on. A handler that the program has is called as before; where it
/// has none, a signal no longer ends the program.
pub fn catch(signals: &[c_int]) {
    RECEIVED.store(0, SeqCst);
    for signal in signals.iter().copied() {
        let (Some(before), Some(mut action)) = (before(signal), action(signal)) else {
            continue;
        };
        // Whoever set a handler over ours in an earlier run may call it: to set ours over that
        // would make a circle.
        if before.caught.swap(true, SeqCst) {
            continue;
        }
        before.handler.store(action.sa_sigaction, SeqCst);
        before.flags.store(action.sa_flags, SeqCst);
        // A handler keeps its mask and stack, and what becomes of system calls. Without one,
        // none of them may notice.
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

/// Puts back all that [`catch`] found, unless the program has changed it since.
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

/// The last signal that came since [`catch`]; 0 for none.
pub fn received() -> c_int {
    RECEIVED.load(SeqCst)
}

fn before(signal: c_int) -> Option<&'static Before> {
    BEFORE.get(usize::try_from(signal).ok()?)
}

fn ours() -> usize {
    on_signal as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize
}

/// The handler. It may run between any two instructions of any thread, so it uses nothing but
/// atomics.
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

/// What is done about a signal now.
fn action(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: nothing is set; what is there is written to memory of its size.
    let done = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: plain numbers, zero or as the call wrote them.
    (done == 0).then(|| unsafe { action.assume_init() })
}

/// Does so from now on. This cannot fail for a signal that can be caught.
fn set(signal: c_int, action: &libc::sigaction) {
    // SAFETY: the action is that of the program, or our handler, which lives as long as the
    // process and has the form that SA_SIGINFO says.
    let _ = unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
}
