//! Tells that a call waits for processes that have not called it: inside of MPI it would wait without a word.

use crate::events::{Message, Severity, Sink, Speaker};
use crate::messages::WAITS_FOR_ALL;
use crate::store::beyond_standard;
use crate::store::block_signals::BlockedSignals;
use crate::system::process;
use crate::system::sync::mpsc::{RecvTimeoutError, Sender, channel};
use crate::system::thread::Builder;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::time::Duration;

/// Rank 0 reports a wait after the first of these times, and a rank of each other node after the second.
const RANK_0: Duration = Duration::from_secs(60);
const OTHERS: Duration = Duration::from_secs(90);

/// While a value exists, the calling thread is in a call of MPI that waits for other processes.
pub struct Wait {
    /// The thread ends when this is dropped.
    _ends: Sender<()>,
}

impl Wait {
    /// For all processes of MPI_COMM_WORLD. A process that waits long reports it, as `speaker`.
    pub fn for_all(sink: Arc<dyn Sink>, speaker: Speaker) -> Wait {
        let patience = if speaker.rank == 0 { RANK_0 } else { OTHERS };
        Wait::of(patience, move || {
            let alone = is_first_on_node()?;
            let text = format!(
                "rank {} (process {}) waits in its first call of SCR for other processes: it is collective over \
                 MPI_COMM_WORLD; make it on all, or SCR_Session_create on the communicator of those that take part \
                 ({WAITS_FOR_ALL})",
                speaker.rank,
                process::id()
            );
            sink.take(&speaker, &Message::new(Severity::Note, text));
            Some(alone)
        })
    }

    /// Calls `tell` if the wait is long. The result lives until the wait is over.
    fn of<T>(patience: Duration, tell: impl FnOnce() -> T + Send + 'static) -> Wait {
        let (ends, over) = channel();
        let _blocked = BlockedSignals::new();
        // Without a thread nothing is reported.
        let _ = Builder::new().spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = over.recv_timeout(patience) {
                let _told = tell();
                let _ = over.recv();
            }
        });
        Wait { _ends: ends }
    }
}

/// A name that one process of a launch has on this node as long as the value lives; `None` if another process has
/// it.
fn is_first_on_node() -> Option<Option<UnixListener>> {
    // Processes of one launcher have one parent on a node.
    let launcher = std::os::unix::process::parent_id();
    let name = format!("scr.waits.{launcher}");
    let bind = |name: SocketAddr| beyond_standard(|| UnixListener::bind_addr(&name));
    match SocketAddr::from_abstract_name(name).and_then(bind) {
        Ok(listener) => Some(Some(listener)),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => None,
        Err(_) => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_is_long_is_told_once_and_a_short_one_is_not() {
        let (told, heard) = channel();
        let tell = told.clone();
        let long = Wait::of(Duration::ZERO, move || tell.send("long"));
        assert_eq!(heard.recv(), Ok("long"));
        drop(long);
        drop(Wait::of(Duration::MAX, move || told.send("short")));
        // The thread of the short one has ended, and has told nothing.
        assert!(heard.recv().is_err());
    }

    #[test]
    fn one_process_of_a_launch_tells_it_on_a_node() {
        let first = is_first_on_node();
        assert!(matches!(first, Some(Some(_))));
        assert!(is_first_on_node().is_none());
    }
}
