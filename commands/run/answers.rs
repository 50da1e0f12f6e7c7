//! Checks whether the prefix directory answers. A parallel file system may hang for minutes, and a process that
//! asks it hangs with it.

use super::signals::Signals;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use scr_engine::prefix::paths::Prefix;
use scr_engine::system::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use scr_engine::system::thread;
use scr_engine::system::time::Instant;
use std::path::Path;
use std::time::Duration;

/// The user is told after this time without an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two looks at the answer.
const TICK: Duration = Duration::from_millis(200);

/// Waits until the prefix directory answers, and tells with `say` if that takes long. False if a signal has ended the wait.
/// `lock` is the file that this process holds the lock of.
pub(super) fn wait(
    prefix: &Prefix,
    lock: &Path,
    signals: &mut Signals,
    mut say: impl FnMut(&str),
) -> bool {
    let answer = ask(lock);
    let begun = Instant::now();
    let mut told = false;
    loop {
        match answer.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) if !told => return true,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                let seconds = begun.elapsed().as_secs();
                say(&format!(
                    "the prefix directory answers again, after {seconds} s"
                ));
                return true;
            }
        }
        if begun.elapsed() > PATIENCE && !std::mem::replace(&mut told, true) {
            let dir = prefix.root().display();
            say(&format!(
                "the prefix directory {dir} does not answer; all waits until its file system does"
            ));
        }
        // No launch is there to which a signal could be passed on.
        signals.wait(Duration::ZERO);
        if signals.end().is_some() && begun.elapsed() > PATIENCE {
            return false;
        }
    }
}

/// Changes the time of a file, which the file system has to write. The answer comes when it is done, or has failed.
fn ask(file: &Path) -> Receiver<()> {
    let (send, answer) = channel();
    let file = file.to_path_buf();
    thread::spawn(move || {
        const NOW: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: NOW,
            last_modification: NOW,
        };
        // An error also shows that the file system answers. Later steps report it.
        let _ = utimensat(CWD, &file, &times, AtFlags::empty());
        send.send(())
    });
    answer
}
