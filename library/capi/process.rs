//! A session of the program, and how a call from C reaches it.

mod repair;

use super::around::{
    disabled, environment_print, is_alone_in_launch, is_first_on_node, launched_rank,
};
use super::console::NamedConsole;
use super::repeated::LastFailure;
use super::signals;
use crate::comm::mpi::Mpi;
use crate::comm::{Communicator, Term, collective, solo::Solo};
use crate::config::Config;
use crate::events::{Message, Severity, Sink, Speaker};
use crate::job::Environment;
use crate::session::state::{Call, State};
use crate::session::{Member, Session, Setup, Wait, load};
use crate::store::posix::Posix;
use crate::system::time::Instant;
use crate::{Error, Result};
use scr_engine::messages::SCR_IS_OFF;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time that the other ranks wait for rank 0 to report what all of them have met.
const AFTER_RANK_0: Duration = Duration::from_millis(500);

/// The state that outlives a run of a session: the settings made with `SCR_Config`, and this process's rank,
/// which is the launcher's until MPI gives it.
pub(super) struct Process {
    /// The ranks of the session; `None` for the ranks of MPI_COMM_WORLD.
    home: Option<Mpi>,
    /// "" for the session of MPI_COMM_WORLD.
    name: String,
    /// Ends all sessions of the process, in MPI_Finalize.
    at_end: fn(),
    config: Config,
    rank: usize,
    sink: Arc<dyn Sink>,
    run: RunState,
    /// True after the message why calls outside of a run are refused: `SCR_Init` failed, or MPI has
    /// ended. Later calls do not repeat it.
    told: bool,
    /// The reason why a file of this phase has no path, if this rank has not reported it yet. Rank 0
    /// tells at once.
    pub(super) held: Option<String>,
    /// An error of fields is printed in full once.
    failed: LastFailure,
    /// The environment from which `config` was loaded.
    variables: Option<u64>,
    /// The run began in a repair, and the program has not called `SCR_Init` since.
    joined: bool,
}

enum RunState {
    /// Before `SCR_Init`, and after `SCR_Finalize`.
    None(State),
    /// `SCR_ENABLE=0`: calls have no effect, but their order is checked.
    Disabled(State),
    Active(Box<Session>),
    /// A repair has failed: the state that this process keeps for the next one.
    Broken(Box<Member>),
}

/// Number of sessions with a run. Locked while signals are caught and released, as sessions begin and end in
/// several threads.
static RUNS: Mutex<usize> = Mutex::new(0);

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

impl Process {
    /// Runs `work` on the session, if it has a run. Reports an error once: rank 0 for all ranks if the call is
    /// collective, this rank otherwise.
    pub(super) fn with<T>(
        &mut self,
        call: Call,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<Reply<T>> {
        let process = self;
        if matches!(process.run, RunState::Active(_)) && Mpi::is_finalized() {
            process.end_run();
        }
        match &mut process.run {
            RunState::Broken(_) => {
                let error = Error::usage(
                    call.name(),
                    "ranks of the session were lost, and it is not repaired yet; call SCR_Session_repair",
                );
                Err(process.report(call, error))
            }
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
                    process.end_run();
                }
                if exit {
                    leave(process);
                }
                done
            }
        }
    }
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

impl Process {
    /// Ends a phase, as [`Process::with`]. Files that have no path are an error that many ranks may have: the error
    /// of the phase says so once, with the number of ranks, if they pass `valid` false.
    pub(super) fn complete(
        &mut self,
        call: Call,
        valid: bool,
        work: impl FnOnce(&mut Session) -> Result<()>,
    ) -> Result<Reply<()>> {
        match (&mut self.run, valid) {
            (RunState::Active(session), false) => session.set_why_invalid(self.held.take()),
            _ => self.tell_held(),
        }
        self.with(call, work)
    }

    /// `SCR_Init`; false if SCR is disabled.
    pub(super) fn start(&mut self) -> Result<bool> {
        let done = self.init();
        let done = done.map_err(|error| self.report(Call::Init, error));
        // A second SCR_Init in a run leaves the run as it is.
        self.told = done.is_err() && matches!(self.run, RunState::None(_));
        let done = done?;
        self.leave_if_halted();
        Ok(done)
    }

    /// Ends the program if the run must not go on.
    fn leave_if_halted(&mut self) {
        if let RunState::Active(session) = &self.run
            && session.must_exit()
        {
            leave(self);
        }
    }

    /// `SCR_Finalize`.
    pub(super) fn finalize(&mut self) -> Result<Reply<()>> {
        // The session changes the settings at its end, but they belong to the process.
        let mut config = std::mem::take(&mut self.config);
        let done = self.with(Call::Finalize, |session| session.finalize(&mut config));
        self.config = config;
        done
    }

    /// Ends, in MPI_Finalize, a run for which the program has not called `SCR_Finalize`.
    pub(super) fn mpi_ends(&mut self) {
        self.tell_held();
        if let RunState::Active(session) = &mut self.run {
            session.abandon();
            self.end_run();
            self.told = true;
        }
        // To free it is collective, and the ranks may have other sessions in another order.
        std::mem::forget(self.home.take());
    }
}

/// Ends the program, on all ranks, as `SCR_HALT_EXIT` asks.
fn leave(process: &mut Process) -> ! {
    process.run = RunState::None(State::Uninit);
    std::process::exit(0)
}

impl Process {
    /// The session of MPI_COMM_WORLD. `at_end` ends all sessions in MPI_Finalize. Local.
    pub(super) fn of_world(at_end: fn()) -> Self {
        Process {
            at_end,
            home: None,
            name: String::new(),
            config: Config::new(),
            rank: launched_rank(),
            sink: Arc::new(NamedConsole::new("")),
            run: RunState::None(State::Uninit),
            told: false,
            held: None,
            failed: LastFailure::default(),
            variables: None,
            joined: false,
        }
    }

    /// A session that has no ranks yet. Local.
    pub(super) fn named(name: &str, at_end: fn()) -> Self {
        Process {
            name: name.to_string(),
            config: Config::of_session(name),
            sink: Arc::new(NamedConsole::new(name)),
            ..Process::of_world(at_end)
        }
    }

    /// True between `SCR_Init` and `SCR_Finalize`, unless a repair has failed.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.run, RunState::Active(_))
    }

    /// True between `SCR_Init` and `SCR_Finalize` while SCR is disabled.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.run, RunState::Disabled(_))
    }

    /// The run is over, or was taken out. Signals are caught as long as a session has a run.
    fn end_run(&mut self) {
        self.run = RunState::None(State::Uninit);
        let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        *runs = runs.saturating_sub(1);
        if *runs == 0 {
            signals::release();
        }
    }

    /// Reports an error of a call that makes, repairs or frees sessions. Rank 0 reports an error that all ranks have.
    pub(super) fn report_usage(&self, error: Error) -> Error {
        let text = error.to_string();
        let message = match &error {
            Error::Remote { .. } if self.rank == 0 => Message::of_run(Severity::Error, text),
            Error::Remote { .. } => Message::new(Severity::Debug(1), text),
            _ => Message::new(Severity::Error, text),
        };
        self.tell(&message);
        error
    }

    /// Reports an error: rank 0 one that all ranks have. A file without a path is reported at once by rank 0, by
    /// others in the call that ends the phase; a failure of the transport, or a call in the wrong place, by the
    /// first rank of each node. An error that follows from a reported error is not reported.
    pub(super) fn report(&mut self, call: Call, mut error: Error) -> Error {
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
        let text = self.failed.text(call, &error);
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
            _ => {
                // The launcher may end all processes as soon as one has ended with an error.
                if call == Call::Init {
                    std::thread::sleep(AFTER_RANK_0);
                }
                refused.then(|| Message::new(Severity::Debug(1), text))
            }
        };
        if let Some(event) = event {
            self.tell(&event);
        }
        error
    }

    pub(super) fn tell(&self, event: &Message) {
        self.sink.take(&self.speaker(), event);
    }

    /// Reports why a file had no path, if nothing else will.
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

    pub(super) fn speaker(&self) -> Speaker {
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
        let of_world = self.home.is_none() && Mpi::is_usable();
        let _wait = of_world.then(|| Wait::for_all(self.sink.clone(), self.speaker()));
        let comm = match &self.home {
            Some(home) => home.again()?,
            None => Mpi::dup_world()?,
        };
        self.rank = comm.rank();
        Ok(comm)
    }

    fn init(&mut self) -> Result<bool> {
        let state = match &self.run {
            RunState::None(state) | RunState::Disabled(state) => *state,
            RunState::Active(session) => session.state(),
            RunState::Broken(_) => State::Idle,
        };
        // A process that was added by a repair has a run already.
        if std::mem::take(&mut self.joined) && state == State::Idle {
            return Ok(true);
        }
        state.after(Call::Init)?;
        if disabled() {
            self.run = RunState::Disabled(State::Idle);
            self.tell_disabled();
            return Ok(false);
        }
        let begun = Instant::now();
        let comm = self.all_ranks()?;
        comm.at_finalize(self.at_end)?;
        let alone = is_alone_in_launch(&comm);
        let setup = self.setup(comm);
        self.variables = Some(environment_print());
        let started = Session::init(setup, &mut self.config);
        if started.is_err() && alone && !self.config.is_on("SCR_SERIAL") {
            // All processes of the launch fail in the same way, and one of them reports it.
            self.rank = launched_rank();
        }
        match started? {
            Some(session) => self.begin_run(session, begun),
            None => {
                self.tell_disabled();
                self.run = RunState::Disabled(State::Idle);
            }
        }
        Ok(matches!(self.run, RunState::Active(_)))
    }

    fn setup(&self, comm: Mpi) -> Setup {
        Setup {
            sink: self.sink.clone(),
            ..Setup::of_process(comm)
        }
    }

    fn begin_run(&mut self, mut session: Session, begun: Instant) {
        session.add_blocked(begun);
        let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        if *runs == 0 {
            signals::forget();
        }
        signals::catch(session.halt_signals());
        *runs += 1;
        drop(runs);
        self.run = RunState::Active(Box::new(session));
    }

    pub(super) fn config(&mut self, text: &str) -> Result<Option<String>> {
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
            // After SCR_Init nothing can be set. A process that joined has the settings of the others.
            (Ok(()), RunState::Disabled(_)) => self.config.ask(text),
            (Ok(()), RunState::Active(_)) if self.joined => self.config.ask(text),
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
