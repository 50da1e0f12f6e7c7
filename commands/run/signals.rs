//! Waits for signals to the run loop and for the end of its children.

use super::super::call::Failure;
use scr_engine::Error;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag::{register, register_conditional_default};
use signal_hook::low_level::{pipe, signal_name};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Signals that are passed on to the application.
const PASSED_ON: [i32; 6] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// Signals after which the program is not launched again.
const LAST: [i32; 4] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT];

/// The signals that arrive.
pub(in super::super) struct Signals {
    arrived: Vec<(i32, Arc<AtomicBool>)>,
    wakes: UnixStream,
    end: Option<i32>,
    over: Arc<AtomicBool>,
}

impl Signals {
    /// Catches signals from now on, for [`Signals::wait`]. Ignored signals stay ignored, such as SIGINT
    /// in a background job of a shell.
    pub fn new() -> Result<Self, Failure> {
        let failed = |error| Failure::from(Error::io("wait for", "signals", error));
        let (wakes, wake) = UnixStream::pair().map_err(failed)?;
        let (mut arrived, over) = (Vec::new(), Arc::new(AtomicBool::new(false)));
        for signal in PASSED_ON.into_iter().filter(|signal| !ignored(*signal)) {
            let flag = Arc::new(AtomicBool::new(false));
            register_conditional_default(signal, over.clone()).map_err(failed)?;
            // The flag is set before the byte wakes the loop.
            register(signal, flag.clone()).map_err(failed)?;
            pipe::register(signal, wake.try_clone().map_err(failed)?).map_err(failed)?;
            arrived.push((signal, flag));
        }
        pipe::register(SIGCHLD, wake).map_err(failed)?;
        Ok(Signals {
            arrived,
            wakes,
            end: None,
            over,
        })
    }

    /// Waits for a signal or the end of a child, at most `limit`. Returns the signals to pass on.
    pub fn wait(&mut self, limit: Duration) -> Vec<i32> {
        // A timeout of zero would mean no timeout. To read nothing is not an error.
        let limit = limit.max(Duration::from_millis(1));
        if self.wakes.set_read_timeout(Some(limit)).is_ok() {
            let _ = self.wakes.read(&mut [0; 64]);
        }
        self.arrived()
    }

    /// The signals that arrived since the last call.
    fn arrived(&mut self) -> Vec<i32> {
        let arrived = self
            .arrived
            .iter()
            .filter(|(_, flag)| flag.swap(false, Ordering::SeqCst));
        let signals: Vec<i32> = arrived.map(|(signal, _)| *signal).collect();
        let last = || signals.iter().find(|signal| LAST.contains(signal));
        self.end = self.end.or_else(|| last().copied());
        signals
    }

    /// Gives signals their default effect from now on.
    pub fn release(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Number and name of the first signal after which nothing is launched any more. Other signals
    /// that arrive while no launch runs are dropped.
    pub fn end(&mut self) -> Option<(i32, &'static str)> {
        self.arrived();
        self.end.map(|signal| (signal, name(signal)))
    }
}

/// The name of a signal.
pub(super) fn name(signal: i32) -> &'static str {
    signal_name(signal).unwrap_or("a signal")
}

/// True if this process was started with the signal ignored.
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
