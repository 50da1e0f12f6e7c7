//! The one session of the process, and the way from a call in C to it.

use super::signals;
use crate::comm::mpi::Mpi;
use crate::comm::{Communicator, Term, collective, solo::Solo};
use crate::config::Config;
use crate::events::{Console, Event, Severity, Sink, Speaker};
use crate::job::Environment;
use crate::session::state::{Call, State};
use crate::session::{OTHER_RUN, Session, Setup, load};
use crate::store::posix::Posix;
use crate::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard};

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

/// What outlives a session: settings made through `SCR_Config`, and our rank, by the launcher
/// until MPI has told it. No communicator, since nobody tells us when MPI ends.
struct Process {
    config: Config,
    rank: usize,
    sink: Arc<Console>,
    run: Run,
}

enum Run {
    /// Before `SCR_Init`, and after `SCR_Finalize`.
    None(State),
    /// `SCR_ENABLE=0`: calls have no effect, but their order is still checked.
    Disabled(State),
    Active(Box<Session>),
}

/// What a call does on a live session.
pub enum Reply<T> {
    /// The session's answer.
    Done(T),
    /// SCR is disabled.
    Disabled,
    /// There is no run, and the call does not need one.
    NoRun,
}

fn process() -> Result<MutexGuard<'static, Option<Process>>> {
    let mut guard = PROCESS.lock().map_err(|_| Error::Comm {
        call: "SCR".to_string(),
        what: "an internal error in an earlier call has left SCR unusable".to_string(),
    })?;
    guard.get_or_insert_with(|| Process {
        config: Config::new(),
        rank: launched_rank(),
        sink: Arc::new(Console::default()),
        run: Run::None(State::Uninit),
    });
    Ok(guard)
}

/// Runs `work` on the session. Prints an error once: rank 0 for all if the call is
/// collective, this rank otherwise.
pub fn with<T>(call: Call, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<Reply<T>> {
    let mut guard = process()?;
    let Some(process) = guard.as_mut() else {
        return Ok(Reply::Disabled);
    };
    match &mut process.run {
        Run::None(state) => match call_without_run(state, call) {
            Ok(()) => Ok(Reply::NoRun),
            Err(error) => Err(process.report(call, error)),
        },
        Run::Disabled(state) => match call_while_disabled(state, call) {
            Ok(()) => {
                if *state == State::Uninit {
                    process.run = Run::None(State::Uninit);
                }
                Ok(Reply::Disabled)
            }
            Err(error) => Err(process.report(call, error)),
        },
        Run::Active(session) => {
            if let Ok(cwd) = std::env::current_dir() {
                session.set_cwd(cwd);
            }
            session.set_signal(signals::received());
            let done = work(session);
            let over = session.state() == State::Uninit;
            let exit = session.must_exit();
            let done = match done {
                Ok(value) => Ok(Reply::Done(value)),
                Err(error) => Err(process.report(call, error)),
            };
            if over {
                signals::release();
                process.run = Run::None(State::Uninit);
            }
            if exit {
                leave(process);
            }
            done
        }
    }
}

/// A call without a run.
fn call_without_run(state: &mut State, call: Call) -> Result<()> {
    let failed = state.failed();
    let next = state.after(call);
    *state = match &next {
        Ok(next) => *next,
        Err(_) => state.refused(call),
    };
    match next? {
        // The program goes on after a start that failed, though it should not.
        _ if failed => Err(Error::NotStarted { call: call.name() }),
        _ => Ok(()),
    }
}

/// A call while SCR is disabled. Every start fails then, so that a program may leave out the
/// complete, or not.
fn call_while_disabled(state: &mut State, call: Call) -> Result<()> {
    let next = state.after(call)?;
    *state = match call.starts() {
        true => state.refused(call),
        false => next,
    };
    Ok(())
}

/// `SCR_HALT_EXIT`: the program ends here, on all ranks, as the user asked.
fn leave(process: &mut Process) -> ! {
    process.run = Run::None(State::Uninit);
    std::process::exit(0)
}

impl Process {
    /// Says what went wrong: this rank for itself, or rank 0 for all that know the same. Nobody
    /// repeats that a start has failed.
    fn report(&self, call: Call, error: Error) -> Error {
        if matches!(error, Error::NotStarted { .. }) {
            return error;
        }
        let speaker = self.speaker();
        let local = matches!(error, Error::State { .. } | Error::Comm { .. });
        if local || call == Call::RouteFile || speaker.rank == 0 {
            self.sink
                .take(&speaker, &Event::new(Severity::Error, error.to_string()));
        }
        error
    }

    fn speaker(&self) -> Speaker {
        match &self.run {
            Run::Active(session) => session.speaker().clone(),
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
            Run::None(state) | Run::Disabled(state) => *state,
            Run::Active(session) => session.state(),
        };
        state.after(Call::Init)?;
        if disabled() {
            self.run = Run::Disabled(State::Idle);
            return Ok(false);
        }
        let comm = self.all_ranks()?;
        let setup = Setup {
            comm: Box::new(comm),
            files: Arc::new(Posix),
            sink: self.sink.clone(),
            environment: Environment::of_process(),
            lock_timeout: OTHER_RUN,
        };
        self.run = match Session::init(setup, &mut self.config)? {
            Some(session) => {
                signals::catch(session.halt_signals());
                Run::Active(Box::new(session))
            }
            None => Run::Disabled(State::Idle),
        };
        Ok(matches!(self.run, Run::Active(_)))
    }

    fn config(&mut self, text: &str) -> Result<Option<String>> {
        let off = disabled() || matches!(self.run, Run::Disabled(_));
        let loaded = match &self.run {
            Run::Active(_) => Ok(()),
            // A disabled SCR does without MPI.
            _ if off => self.agree_on(&Solo::new(), text),
            // Before MPI_Init and after MPI_Finalize each process is alone.
            _ => match self.all_ranks() {
                Ok(comm) => self.agree_on(&comm, text),
                Err(_) => self.agree_on(&Solo::new(), text),
            },
        };
        match (loaded, &self.run) {
            (Err(error @ Error::Usage { .. }), _) => Err(error),
            // This one has an answer also where a file cannot be read, which SCR_Init will say.
            (Err(_), _) if text.trim() == "SCR_ENABLE" => {
                Ok(Some(if off { "0" } else { "1" }.to_string()))
            }
            (Err(error), _) => Err(error),
            // It is too late to set anything.
            (Ok(()), Run::Disabled(_)) => self.config.ask(text),
            (Ok(()), _) => self.config.call(text),
        }
    }

    /// All ranks must pass the same text; rank 0 reads environment and files for all.
    fn agree_on(&mut self, comm: &dyn Communicator, text: &str) -> Result<()> {
        let environment = Environment::of_process();
        let print =
            i64::from(crc32fast::hash(text.as_bytes())) << 24 | text.len() as i64 & 0xff_ffff;
        let mut terms = [
            Term::Max(print),
            Term::Min(print),
            Term::Max(self.config.needs_load().into()),
        ];
        comm.allreduce(&mut terms)?;
        if terms[0].value() != terms[1].value() {
            return Err(Error::usage(
                "SCR_Config",
                "the text differs between ranks; pass the same on all",
            ));
        }
        if terms[2].value() == 0 {
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
        Ok(())
    }
}

/// Our rank as launchers tell it, for messages before MPI has told it. Where none does, there
/// is one process, or nobody knows: 0.
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

/// The environment is looked at before anything else: a disabled SCR does not even need MPI.
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
    let done = process
        .init()
        .map_err(|error| process.report(Call::Init, error))?;
    if let Run::Active(session) = &process.run
        && session.must_exit()
    {
        leave(process);
    }
    Ok(done)
}

/// `SCR_Finalize`.
pub fn finalize() -> Result<Reply<()>> {
    // The settings belong to the process, so they are lent to the session's end.
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
