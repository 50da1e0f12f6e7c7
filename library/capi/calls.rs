//! The way of a call from C to the session of this thread.

use super::process::Reply;
use super::table::on_current;
use crate::Result;
use crate::comm::mpi::Mpi;
use crate::events::{Message, Severity};
use crate::session::Session;
use crate::session::state::Call;
use scr_engine::messages::STOPPED_IN_FORTRAN;
use std::time::Duration;

/// Time that a rank other than 0 waits to be ended before it prints its own message: this time and
/// a turn for each rank before it, at most [`LAST_TURN`] in all.
const FIRST_TURN: Duration = Duration::from_secs(3);
const TURN: Duration = Duration::from_millis(20);
const LAST_TURN: Duration = Duration::from_secs(10);

/// Time for the launcher to read the last message: Hydra drops unread output when MPI_Abort is
/// called.
const BEFORE_ABORT: Duration = Duration::from_millis(300);

/// Runs `work` on the session. Reports an error once: rank 0 for all ranks if the call is
/// collective, this rank otherwise.
pub fn with<T>(call: Call, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<Reply<T>> {
    on_current(|process| process.with(call, work))
}

/// Ends a phase, as [`with`]: `valid` is false if this rank has a file without a path.
pub fn complete(
    call: Call,
    valid: bool,
    work: impl FnOnce(&mut Session) -> Result<()>,
) -> Result<Reply<()>> {
    on_current(|process| process.complete(call, valid, work))
}

/// `SCR_Config`.
pub fn config(text: &str) -> Result<Option<String>> {
    on_current(|process| {
        let told = process.config(text);
        told.map_err(|error| process.report(Call::Configure, error))
    })
}

/// Reports an error that only the Fortran module sees; it is the same on all ranks as a rule.
pub fn report_fortran(call: &str, reason: &str) -> Result<()> {
    on_current(|process| {
        let severity = match process.speaker().rank {
            0 => Severity::Error,
            _ => Severity::Debug(1),
        };
        process.tell(&Message::new(severity, format!("{call}: {reason}")));
        Ok(())
    })
}

/// Ends the program on all ranks, with the reason if it was not reported yet. If all ranks come here,
/// rank 0 speaks: the others wait to be ended by it. If MPI cannot do that, each rank ends itself.
pub fn stop_fortran(call: &str, reason: &str) -> ! {
    let abort = Mpi::can_abort();
    let told = on_current(|process| {
        let rank = process.speaker().rank;
        if rank > 0 && abort {
            let turn = FIRST_TURN + TURN * u32::try_from(rank).unwrap_or(u32::MAX);
            std::thread::sleep(turn.min(LAST_TURN));
        }
        if rank == 0 || abort {
            let reason = match reason {
                "" => process.held.take(),
                _ => Some(format!("{call}: {reason}")),
            };
            let reason = reason.map_or(String::new(), |reason| reason + "; ");
            let end = format!(
                "SCR stops the program, which passes no ierror to {call} ({STOPPED_IN_FORTRAN})"
            );
            process.tell(&Message::new(Severity::Error, reason + &end));
            std::thread::sleep(BEFORE_ABORT);
        }
        Ok(())
    });
    drop(told);
    if call == "scr_init" {
        Mpi::leave_other_mpi();
    }
    Mpi::abort(1)
}
