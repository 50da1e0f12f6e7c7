//! The sessions of the process by their numbers, and which of them the calls of a thread reach.

use super::process::Process;
use super::routine;
use super::slot::Slot;
use crate::{Error, Result};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of a session. Each number is given once in a process.
pub(super) type Number = c_int;

/// The session of MPI_COMM_WORLD.
pub(super) const WORLD: Number = 0;

/// No session.
pub(super) const NULL: Number = -1;

static SESSIONS: Mutex<Table> = Mutex::new(Table {
    last: WORLD,
    live: BTreeMap::new(),
});

struct Table {
    /// The highest number that was given.
    last: Number,
    live: BTreeMap<Number, Arc<Slot>>,
}

thread_local! {
    /// The session of this thread's calls.
    static CURRENT: Cell<Number> = const { Cell::new(WORLD) };
}

/// The number of the session of this thread's calls.
pub(super) fn current() -> Number {
    CURRENT.get()
}

/// Runs `work` on the session of this thread's calls. No other thread is in it meanwhile.
///
/// # Errors
/// The session has ended, or the call is not allowed here, or another thread is in the program's routine.
pub(super) fn on_current<T>(work: impl FnOnce(&mut Process) -> Result<T>) -> Result<T> {
    if let Some(refused) = routine::refuse() {
        return Err(refused);
    }
    let number = current();
    if let Some(session) = find(number) {
        let mut process = session.enter().map_err(told)?;
        // Another thread may have freed the session while this one waited.
        if find(number).is_some_and(|live| Arc::ptr_eq(&live, &session)) {
            return work(&mut process);
        }
    }
    Err(refuse(Error::usage("SCR_Session", no_session(number))))
}

/// The session with this number.
fn find(number: Number) -> Option<Arc<Slot>> {
    let mut table = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if number == WORLD {
        let world = || Arc::new(Slot::new(Process::of_world(mpi_ends)));
        return Some(table.live.entry(number).or_insert_with(world).clone());
    }
    table.live.get(&number).cloned()
}

/// Reports that a call was refused as another thread is in the session.
fn told(error: Error) -> Error {
    match error {
        Error::Usage { .. } => refuse(error),
        error => error,
    }
}

/// Runs `work`, which calls the program's routine, while this thread is in the session of its calls.
pub(super) fn in_routine<T>(work: impl FnOnce() -> T) -> T {
    let session = find(current());
    let _routine = session.as_ref().map(|session| session.routine());
    work()
}

/// True while the session of this thread's calls is off. False while a thread is in a call of that session.
pub(super) fn is_off() -> bool {
    let session = find(current());
    session.is_some_and(|session| session.try_enter().is_some_and(|process| process.is_off()))
}

/// Reports an error of a call that reaches no session. Does not wait until MPI_COMM_WORLD's session is free. A
/// thread may be in a collective call of that session: another thread, or this thread in a routine of the program.
pub(super) fn refuse(error: Error) -> Error {
    let Some(world) = find(WORLD) else {
        return error;
    };
    match world.try_enter() {
        Some(world) => world.report_usage(error),
        None => Process::of_world(mpi_ends).report_usage(error),
    }
}

/// Ends, in MPI_Finalize, the runs for which the program has not called `SCR_Finalize`.
fn mpi_ends() {
    let table = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<Arc<Slot>> = table.live.values().cloned().collect();
    drop(table);
    // If a session is locked, another thread is in a call, and no rank could take part in another
    // call.
    for session in all {
        if let Some(mut session) = session.try_enter() {
            session.mpi_ends();
        }
    }
}

/// Adds a session, and gives its number.
pub(super) fn add(name: &str, prepare: impl FnOnce(&mut Process) -> Result<()>) -> Result<Number> {
    let mut process = Process::named(name, mpi_ends);
    prepare(&mut process)?;
    let mut table = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    table.last += 1;
    let number = table.last;
    table.live.insert(number, Arc::new(Slot::new(process)));
    Ok(number)
}

/// Forgets a session that has no run.
pub(super) fn forget(number: Number) {
    let mut table = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let gone = table.live.remove(&number);
    drop(table);
    // The communicator of the session is freed only now, while the table is not locked.
    drop(gone);
}

/// Makes `number` the session of this thread's calls, and returns the one before.
pub(super) fn enter(number: Number) -> Number {
    CURRENT.replace(number)
}

/// Runs `work` on a session.
pub(super) fn on<T>(number: Number, work: impl FnOnce(&mut Process) -> Result<T>) -> Result<T> {
    let before = enter(number);
    let done = on_current(work);
    enter(before);
    done
}

fn no_session(number: Number) -> String {
    match number {
        NULL => "the session is SCR_SESSION_NULL; make one with SCR_Session_create".to_string(),
        _ => format!(
            "there is no session {number}: it was freed, or never made; make one with SCR_Session_create"
        ),
    }
}
