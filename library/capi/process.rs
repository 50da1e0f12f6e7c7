//! The one session of the process, and how a call from C reaches it.

use super::{routine, signals};
use crate::comm::mpi::Mpi;
use crate::comm::{Communicator, Term, collective, solo::Solo};
use crate::config::Config;
use crate::events::{Console, Message, Severity, Sink, Speaker};
use crate::job::Environment;
use crate::session::state::{Call, State};
use crate::session::{Session, Setup, load};
use crate::store::posix::Posix;
use crate::system::time::Instant;
use crate::{Error, Result};
use scr_engine::messages::{SCR_IS_OFF, STOPPED_IN_FORTRAN};
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long a rank other than 0 waits to be ended before it speaks itself: this and a turn for each
/// rank before it, in all no more than the last.
const FIRST_TURN: Duration = Duration::from_secs(3);
const TURN: Duration = Duration::from_millis(20);
const LAST_TURN: Duration = Duration::from_secs(10);

/// How long the other ranks wait for rank 0 to report a call in the wrong place.
const AFTER_RANK_0: Duration = Duration::from_millis(500);

/// Time for the launcher to read the last message: Hydra drops what it has not read when MPI_Abort is
/// called.
const BEFORE_ABORT: Duration = Duration::from_millis(300);

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

/// What outlives a session: the settings made with `SCR_Config`, and this process's rank, which is the
/// launcher's until MPI gives it.
struct Process {
    config: Config,
    rank: usize,
    sink: Arc<Console>,
    run: RunState,
    /// Why calls outside of a run are refused was told: `SCR_Init` failed, or MPI has ended. It is not
    /// told again by each call that follows.
    told: bool,
    /// Why a file of this phase has no path, if this rank has not told it yet. Rank 0 tells at once.
    held: Option<String>,
    /// The environment with which `config` was loaded.
    variables: Option<u64>,
}

enum RunState {
    /// Before `SCR_Init`, and after `SCR_Finalize`.
    None(State),
    /// `SCR_ENABLE=0`: calls have no effect, but their order is checked.
    Disabled(State),
    Active(Box<Session>),
}

/// Result of a call that reached the session, or did not need to.
pub enum Reply<T> {
    /// The session's answer.
    Done(T),
    /// SCR is disabled. True between `SCR_Start_output` and `SCR_Complete_output`, or the calls of the
    /// classic interface.
    Disabled(bool),
    /// No session is open, and the call does not need one.
    NoRun,
}

fn process() -> Result<MutexGuard<'static, Option<Process>>> {
    if let Some(refused) = routine::refuse() {
        return Err(refused);
    }
    let mut guard = PROCESS.lock().map_err(|_| {
        Error::comm(
            "SCR".to_string(),
            "an internal error in an earlier call has left SCR unusable".to_string(),
        )
    })?;
    guard.get_or_insert_with(|| Process {
        config: Config::new(),
        rank: launched_rank(),
        sink: Arc::new(Console::default()),
        run: RunState::None(State::Uninit),
        told: false,
        held: None,
        variables: None,
    });
    Ok(guard)
}

/// Runs `work` on the session. Reports an error once: rank 0 for all ranks if the call is
/// collective, this rank otherwise.
pub fn with<T>(call: Call, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<Reply<T>> {
    let mut guard = process()?;
    let Some(process) = guard.as_mut() else {
        return Ok(Reply::Disabled(false));
    };
    if matches!(process.run, RunState::Active(_)) && Mpi::is_finalized() {
        process.run = RunState::None(State::Uninit);
    }
    match &mut process.run {
        RunState::None(state) => match call_without_run(state, call) {
            Ok(()) => Ok(Reply::NoRun),
            Err(error) => Err(process.report(call, error)),
        },
        RunState::Disabled(state) => match call_while_disabled(state, call) {
            Ok(()) => {
                let output = matches!(state, State::FailedOutput | State::FailedCheckpoint);
                if *state == State::Uninit {
                    process.run = RunState::None(State::Uninit);
                }
                Ok(Reply::Disabled(output))
            }
            Err(error) => Err(process.report(call, error)),
        },
        RunState::Active(session) => {
            if let Ok(cwd) = std::env::current_dir() {
                session.set_cwd(cwd);
            }
            session.set_signal(signals::received());
            let begun = Instant::now();
            let done = work(session);
            session.add_blocked(begun);
            let over = session.state() == State::Uninit;
            let exit = session.must_exit();
            let done = match done {
                Ok(value) => Ok(Reply::Done(value)),
                Err(error) => Err(process.report(call, error)),
            };
            if over {
                signals::release();
                process.run = RunState::None(State::Uninit);
            }
            if exit {
                leave(process);
            }
            done
        }
    }
}

/// Ends a phase, as [`with`]. Files that have no path are an error that many ranks may have: the error
/// of the phase says so once, with the number of ranks, if they pass `valid` false.
pub fn complete(
    call: Call,
    valid: bool,
    work: impl FnOnce(&mut Session) -> Result<()>,
) -> Result<Reply<()>> {
    if let Some(process) = process()?.as_mut() {
        match (&mut process.run, valid) {
            (RunState::Active(session), false) => session.set_why_invalid(process.held.take()),
            _ => process.tell_held(),
        }
    }
    with(call, work)
}

/// A call before `SCR_Init` or after `SCR_Finalize`.
fn call_without_run(state: &mut State, call: Call) -> Result<()> {
    let failed = state.failed();
    let next = state.after(call);
    *state = match &next {
        Ok(next) => *next,
        Err(_) => state.refused(call),
    };
    match next? {
        // The program has not checked that its start call failed.
        _ if failed => Err(Error::NotStarted { call: call.name() }),
        _ => Ok(()),
    }
}

/// A call while SCR is disabled. A start leads to a failed phase, so that the program may call the
/// complete call or leave it out.
fn call_while_disabled(state: &mut State, call: Call) -> Result<()> {
    let next = state.after(call)?;
    *state = if call.starts() {
        state.refused(call)
    } else {
        next
    };
    Ok(())
}

/// Called in MPI_Finalize: ends a run for which the program has not called `SCR_Finalize`.
fn mpi_ends() {
    // If it is locked, another thread is in a call, and no rank could take part in another one.
    let Ok(mut guard) = PROCESS.try_lock() else {
        return;
    };
    let Some(process) = guard.as_mut() else {
        return;
    };
    process.tell_held();
    if let RunState::Active(session) = &mut process.run {
        session.abandon();
        signals::release();
        process.run = RunState::None(State::Uninit);
        process.told = true;
    }
}

/// Ends the program, on all ranks, as `SCR_HALT_EXIT` asks.
fn leave(process: &mut Process) -> ! {
    process.run = RunState::None(State::Uninit);
    std::process::exit(0)
}

impl Process {
    /// Reports an error: rank 0 one that all ranks have. A file without a path is reported at once by
    /// rank 0, by others in the call that ends the phase; a failure of the transport, or a call in the
    /// wrong place, by the first rank of each node. What follows from an error that was reported is not reported.
    fn report(&mut self, call: Call, mut error: Error) -> Error {
        let refused = matches!(error, Error::State { .. });
        if matches!(error, Error::NotStarted { .. }) || refused && self.told {
            return error;
        }
        if refused && Mpi::is_finalized() {
            error = Error::State {
                call: call.name(),
                state: "after MPI_Finalize",
                remedy: "call SCR between MPI_Init and MPI_Finalize",
            };
            self.told = true;
        }
        let text = error.to_string();
        let rank = self.speaker().rank;
        let event = match &self.run {
            RunState::Active(session) if matches!(error, Error::Comm { .. }) => {
                let first = is_first_on_node(&session.reported_file(call));
                first.then(|| Message::new(Severity::Error, text))
            }
            RunState::Active(_) if call.is_of_files() && !refused => match rank {
                0 => Some(Message::new(Severity::Error, text)),
                _ => {
                    self.held.get_or_insert(text);
                    None
                }
            },
            // A rank may be the only one that makes this call. If rank 0 makes it, too, rank 0 speaks
            // for its node.
            RunState::Active(session) if refused => {
                let file = session.reported_file(call);
                if rank > 0 && !file.exists() {
                    std::thread::sleep(AFTER_RANK_0);
                }
                let first = is_first_on_node(&file);
                match rank {
                    0 => Some(Message::of_run(Severity::Error, text)),
                    _ => first.then(|| Message::new(Severity::Error, text)),
                }
            }
            _ if rank == 0 => Some(Message::of_run(Severity::Error, text)),
            _ if refused => Some(Message::new(Severity::Debug(1), text)),
            _ => None,
        };
        if let Some(event) = event {
            self.tell(&event);
        }
        error
    }

    fn tell(&self, event: &Message) {
        self.sink.take(&self.speaker(), event);
    }

    /// Tells why a file had no path, if nobody else will.
    fn tell_held(&mut self) {
        if let Some(text) = self.held.take() {
            self.tell(&Message::new(Severity::Error, text));
        }
    }

    /// Says that SCR is off. Once, by rank 0.
    fn tell_disabled(&self) {
        if self.speaker().rank == 0 {
            let text = format!(
                "SCR is off (SCR_ENABLE=0): no checkpoint is offered, protected or copied, and files are \
                 where the program names them ({SCR_IS_OFF})"
            );
            self.tell(&Message::of_run(Severity::Note, text));
        }
    }

    fn speaker(&self) -> Speaker {
        match &self.run {
            RunState::Active(session) => session.speaker().clone(),
            _ => Speaker {
                rank: self.rank,
                node: Environment::of_process().host,
            },
        }
    }

    /// A new communicator over all ranks, which must have called MPI_Init. Collective.
    fn all_ranks(&mut self) -> Result<Mpi> {
        let comm = Mpi::dup_world()?;
        self.rank = comm.rank();
        Ok(comm)
    }

    fn init(&mut self) -> Result<bool> {
        let state = match &self.run {
            RunState::None(state) | RunState::Disabled(state) => *state,
            RunState::Active(session) => session.state(),
        };
        state.after(Call::Init)?;
        if disabled() {
            self.run = RunState::Disabled(State::Idle);
            self.tell_disabled();
            return Ok(false);
        }
        let begun = Instant::now();
        let comm = self.all_ranks()?;
        comm.at_finalize(mpi_ends)?;
        let setup = Setup {
            sink: self.sink.clone(),
            ..Setup::of_process(comm)
        };
        self.variables = Some(environment_print());
        self.run = match Session::init(setup, &mut self.config)? {
            Some(mut session) => {
                session.add_blocked(begun);
                signals::catch(session.halt_signals());
                RunState::Active(Box::new(session))
            }
            None => {
                self.tell_disabled();
                RunState::Disabled(State::Idle)
            }
        };
        Ok(matches!(self.run, RunState::Active(_)))
    }

    fn config(&mut self, text: &str) -> Result<Option<String>> {
        let off = disabled() || matches!(self.run, RunState::Disabled(_));
        let loaded = match &self.run {
            RunState::Active(_) => Ok(()),
            // A disabled SCR does not need MPI.
            _ if off => self.agree_on(&Solo::new(), text),
            // Before MPI_Init and after MPI_Finalize each process is alone.
            _ => match self.all_ranks() {
                Ok(comm) => self.agree_on(&comm, text),
                Err(_) => self.agree_on(&Solo::new(), text),
            },
        };
        match (loaded, &self.run) {
            (Err(error @ Error::Usage { .. }), _) => Err(error),
            // This query is answered even if a file cannot be read. SCR_Init reports that.
            (Err(_), _) if text.trim() == "SCR_ENABLE" => {
                Ok(Some(if off { "0" } else { "1" }.to_string()))
            }
            (Err(error), _) => Err(error),
            // After SCR_Init nothing can be set.
            (Ok(()), RunState::Disabled(_)) => self.config.ask(text),
            (Ok(()), _) => self.config.call(text),
        }
    }

    /// All ranks must pass the same text; rank 0 reads environment and files for all.
    fn agree_on(&mut self, comm: &dyn Communicator, text: &str) -> Result<()> {
        let environment = Environment::of_process();
        let print = collective::fingerprint(text.as_bytes()) as i64;
        // The program may have changed the environment since.
        let variables = Some(environment_print());
        let stale = self.config.needs_load() || self.variables != variables;
        let terms = [Term::Max(print), Term::Min(print), Term::Max(stale.into())];
        let [most, least, stale] = collective::combine(comm, terms)?;
        if most != least {
            return Err(Error::usage(
                "SCR_Config",
                "the text differs between ranks; pass the same on all",
            ));
        }
        if !stale.on_any() {
            return Ok(());
        }
        let loaded = match comm.rank() {
            0 => {
                load(&Posix, &environment, &mut self.config).and_then(|()| self.config.to_message())
            }
            _ => Ok(Vec::new()),
        };
        let mut message = collective::agree(comm, &environment.host, loaded)?;
        collective::bcast(comm, 0, &mut message)?;
        if comm.rank() != 0 {
            self.config = Config::from_message(&message, environment)?;
        }
        self.variables = variables;
        Ok(())
    }
}

/// True if no other process of this node has made the file, or if that cannot be known.
fn is_first_on_node(file: &Path) -> bool {
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    !matches!(made, Err(error) if error.kind() == ErrorKind::AlreadyExists)
}

/// Makes the directory of a file, as SCR does while it is enabled. If it cannot be made, the program
/// gets the reason when it opens the file.
pub fn make_parent(file: &Path) {
    if let Some(dir) = file.parent() {
        let _ = std::fs::create_dir_all(dir);
    }
}

/// This process's rank as the launcher gives it, for messages before MPI gives it. 0 if there is no
/// launcher.
fn launched_rank() -> usize {
    const NAMES: [&str; 6] = [
        "PMI_RANK",
        "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK",
        "PALS_RANKID",
        "FLUX_TASK_RANK",
        "SLURM_PROCID",
    ];
    let told = |name: &&str| std::env::var(name).ok()?.parse().ok();
    NAMES.iter().find_map(told).unwrap_or(0)
}

/// Changes with any environment variable.
fn environment_print() -> u64 {
    let mut hasher = DefaultHasher::new();
    for variable in std::env::vars_os() {
        variable.hash(&mut hasher);
    }
    hasher.finish()
}

/// True if the environment disables SCR. It is checked before anything else: a disabled SCR does not
/// need MPI.
fn disabled() -> bool {
    std::env::var("SCR_ENABLE").is_ok_and(|value| {
        ["0", "no", "off", "false"]
            .iter()
            .any(|word| value.trim().eq_ignore_ascii_case(word))
    })
}

/// `SCR_Init`; false if SCR is disabled.
pub fn init() -> Result<bool> {
    let mut guard = process()?;
    let Some(process) = guard.as_mut() else {
        return Ok(false);
    };
    let done = process.init();
    let done = done.map_err(|error| process.report(Call::Init, error));
    // A second SCR_Init in a run leaves the run as it is.
    process.told = done.is_err() && matches!(process.run, RunState::None(_));
    let done = done?;
    if let RunState::Active(session) = &process.run
        && session.must_exit()
    {
        leave(process);
    }
    Ok(done)
}

/// `SCR_Finalize`.
pub fn finalize() -> Result<Reply<()>> {
    // The session changes the settings at its end, but they belong to the process.
    let mut config = match process()?.as_mut() {
        Some(process) => std::mem::take(&mut process.config),
        None => Config::new(),
    };
    let done = with(Call::Finalize, |session| session.finalize(&mut config));
    if let Some(process) = process()?.as_mut() {
        process.config = config;
    }
    done
}

/// `SCR_Config`.
pub fn config(text: &str) -> Result<Option<String>> {
    let mut guard = process()?;
    let Some(process) = guard.as_mut() else {
        return Ok(None);
    };
    process
        .config(text)
        .map_err(|error| process.report(Call::Configure, error))
}

/// Reports an error that only the Fortran module sees; it is the same on all ranks as a rule.
pub fn report_fortran(call: &str, reason: &str) -> Result<()> {
    if let Some(process) = process()?.as_ref() {
        let severity = match process.speaker().rank {
            0 => Severity::Error,
            _ => Severity::Debug(1),
        };
        process.tell(&Message::new(severity, format!("{call}: {reason}")));
    }
    Ok(())
}

/// Ends the program on all ranks, with the reason if it was not reported yet. If all ranks come here,
/// rank 0 speaks: the others wait to be ended by it. Where MPI cannot do that, each rank ends itself.
pub fn stop_fortran(call: &str, reason: &str) -> ! {
    let abort = Mpi::can_abort();
    if let Ok(mut guard) = process()
        && let Some(process) = guard.as_mut()
    {
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
    }
    if call == "scr_init" {
        Mpi::leave_other_mpi();
    }
    Mpi::abort(1)
}
