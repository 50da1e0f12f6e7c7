//! The sessions of a process, and the calls that make them. As `mod.rs`, this file is a source of a header:
//! `include/scr_session.h`, which has a function for each other call of a session.
//!
//! A call reaches the session that this thread has entered, by default that of MPI_COMM_WORLD.

use super::table::{self, refuse};
use super::{FAILURE, SCR_SUCCESS, code, guard::guard, routine, text};
use crate::comm::mpi::{MPI_Comm, Mpi};
use crate::job::session_name;
use crate::{Error, Result};
use std::ffi::{c_char, c_int};

/// The session of MPI_COMM_WORLD: that of all calls without a session.
pub const SCR_SESSION_WORLD: SCR_Session = 0;

/// No session.
pub const SCR_SESSION_NULL: SCR_Session = -1;

/// A session. A number is given once in a process.
#[allow(non_camel_case_types)]
pub type SCR_Session = c_int;

// The header needs the numbers, but the table is not part of it.
const _: () = assert!(SCR_SESSION_WORLD == table::WORLD && SCR_SESSION_NULL == table::NULL);

/// Makes the session `session` that of the calls that this thread makes from now on, and returns the one before. Local.
///
/// SCR_Have_restart and all other calls without a session reach it then. The calls that begin with SCR_Session_ do it
/// for the time of one call.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Session_enter(session: SCR_Session) -> SCR_Session {
    table::enter(session)
}

/// Makes a session over the processes of `comm`, of which each calls it with the same `name`. Collective over `comm`,
/// after MPI_Init.
///
/// A session has its own prefix directory, cache, state and parameters; several can be open at once, on
/// communicators that overlap. `name` is a word of letters, digits, `-`, `_` and `.`, of at most 64 bytes. The prefix directory is
/// `SCR_PREFIX/name`, unless SCR_Session_config sets SCR_PREFIX for the session. SCR_Session_init starts it. `comm` is
/// duplicated, and can be freed.
///
/// If processes of `comm` are in SCR_Session_repair of a session of this name, the caller joins it: the session
/// is open then as after SCR_Session_init, which may be called and does nothing.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string, `session` is NULL or points to a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Session_create(
    comm: MPI_Comm,
    name: *const c_char,
    session: *mut SCR_Session,
) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        let name = unsafe { text::string(name) };
        let made = create(comm, name.as_deref());
        let number = match &made {
            Ok(number) => *number,
            Err(_) => SCR_SESSION_NULL,
        };
        if !session.is_null() {
            // SAFETY: not NULL, so by the caller's promise a session.
            unsafe { *session = number };
        } else if made.is_ok() {
            table::forget(number);
            let error = Error::usage("SCR_Session_create", "the pointer to the session is NULL");
            return Err(refuse(error));
        }
        made.map(|_| SCR_SUCCESS)
    })
}

/// As [`SCR_Session_create`], with the number of a communicator in Fortran. Not in the header.
///
/// # Safety
/// As [`SCR_Session_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scr_fortran_session_create(
    comm: c_int,
    name: *const c_char,
    session: *mut SCR_Session,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { SCR_Session_create(Mpi::of_fortran(comm), name, session) }
}

/// Goes on with a session after processes have failed, on the processes of `comm`: the survivors, and others that
/// take the places of lost ones, or none. Collective over `comm`.
///
/// The survivors call it with their session, in whatever state that is; nothing of a phase that was open counts. The others
/// call SCR_Session_create with the name of the session, or SCR_Session_repair with SCR_SESSION_WORLD if that is the session.
/// Then SCR_Have_restart offers the newest checkpoint that is whole or can be rebuilt. If `comm` has another number
/// of processes, what SCR_Allow_other_ranks says holds. Settings are those of the survivors.
///
/// If no process has a run of the session, as when one has failed in SCR_Session_create or SCR_Session_init, the repair
/// begins one, as SCR_Session_init does. A survivor whose SCR_Session_create has failed calls that again.
///
/// Returns 1 if the repair failed, as when another process has failed during it. It can be called again, on yet another
/// communicator. Errors are also: a communicator that lacks a survivor, or with processes of another session.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Session_repair(session: SCR_Session, comm: MPI_Comm) -> c_int {
    guard(FAILURE, || {
        let repaired = table::on(session, |process| {
            let repaired = Mpi::dup("SCR_Session_repair", comm)
                .and_then(|comm| process.repair(comm, true, Ok(())));
            match repaired {
                Ok(()) => Ok(!process.is_off()),
                Err(error) => Err(process.report_usage(error)),
            }
        });
        repaired.map(code)
    })
}

/// As [`SCR_Session_repair`], with the number of a communicator in Fortran. Not in the header.
#[unsafe(no_mangle)]
pub extern "C" fn scr_fortran_session_repair(session: SCR_Session, comm: c_int) -> c_int {
    SCR_Session_repair(session, Mpi::of_fortran(comm))
}

/// Frees a session, after SCR_Session_finalize, and sets `session` to SCR_SESSION_NULL. Collective over its processes.
///
/// # Safety
/// `session` is NULL or points to a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Session_free(session: *mut SCR_Session) -> c_int {
    guard(FAILURE, || {
        let usage = |what: String| {
            let error = Error::usage("SCR_Session_free", what);
            Err(refuse(error))
        };
        if let Some(refused) = routine::refuse() {
            return Err(refused);
        }
        if session.is_null() {
            return usage("the pointer to the session is NULL".to_string());
        }
        // SAFETY: not NULL, so by the caller's promise a session.
        let number = unsafe { *session };
        if number == SCR_SESSION_WORLD {
            return usage("the session of MPI_COMM_WORLD cannot be freed".to_string());
        }
        let freed = table::on(number, |process| {
            let free = !process.is_active();
            // No call that waits for the session meanwhile reaches it any more.
            Ok(free.then(|| table::forget(number)))
        })?;
        if freed.is_none() {
            return usage("the session is open; call SCR_Session_finalize first".to_string());
        }
        // SAFETY: as above.
        unsafe { *session = SCR_SESSION_NULL };
        Ok(code(true))
    })
}

/// Makes a session, or joins one that is being repaired. Collective.
fn create(comm: MPI_Comm, name: Option<&str>) -> Result<SCR_Session> {
    const CALL: &str = "SCR_Session_create";
    if let Some(refused) = routine::refuse() {
        return Err(refused);
    }
    let named = name
        .ok_or_else(|| Error::usage(CALL, "the name is NULL"))
        .and_then(|name| session_name(name).map(|()| name));
    let valid = named.clone().map(drop);
    let made = Mpi::dup(CALL, comm).and_then(|home| {
        table::add(named.unwrap_or_default(), |process| {
            process.repair(home, false, valid)
        })
    });
    made.map_err(refuse)
}
