//! `SCR_Session_repair`: a session goes on with the processes that are left, or begins with them.

use super::{Process, RunState};
use crate::capi::around::{disabled, environment_print};
use crate::comm::mpi::Mpi;
use crate::comm::{Communicator, Term, collective};
use crate::events::Severity;
use crate::job::Environment;
use crate::session::state::State;
use crate::session::{Member, Session};
use crate::system::time::Instant;
use crate::{Error, Result};

/// The facts that the ranks of a repair learn about each other. The same on all.
struct Met {
    /// The lowest rank that asks for a run.
    asking: Option<usize>,
    /// A rank has a run that can go on.
    has_run: bool,
}

impl Process {
    /// `SCR_Session_repair`: the session goes on with the ranks of `comm`; this rank is one of them. A process that has
    /// no run joins. If no rank has one, these are the ranks of the session from now on, and a run begins if a rank of
    /// those `asks` for it: the processes before could not begin one. `valid` says whether the arguments of this rank
    /// can be used. Collective over `comm`.
    pub(in crate::capi) fn repair(
        &mut self,
        comm: Mpi,
        asks: bool,
        valid: Result<()>,
    ) -> Result<()> {
        let begun = Instant::now();
        comm.at_finalize(self.at_end)?;
        let valid = valid.and_then(|()| self.require_survivors(&comm));
        // A run goes on if the communicator cannot be used.
        let Met { asking, has_run } = self.meet(&comm, asks, valid)?;
        let mut member = self.leave_run();
        let survives = member.has_survived();
        let repaired = if has_run {
            self.repair_on(&comm, &mut member)
        } else {
            Ok(None)
        };
        if member.has_survived() {
            self.run = RunState::Broken(Box::new(member));
        }
        let Some(session) = repaired? else {
            self.rank = comm.rank();
            if let Some(broken) = self.home.replace(comm) {
                broken.revoke();
            }
            return asking.map_or(Ok(()), |asking| self.begin_after_repair(asking));
        };
        if let Some(home) = &self.home {
            home.revoke();
        }
        self.rank = comm.rank();
        self.home = Some(comm);
        self.variables = Some(environment_print());
        self.joined = !survives;
        if !Mpi::sees_failures() {
            let text = "this MPI has no User Level Failure Mitigation (as Open MPI 5 has): the session went on with other \
                        processes, but it cannot survive the failure of one";
            session.tell_once(Severity::Note, text);
        }
        self.begin_run(session, begun);
        Ok(())
    }

    /// Begins a run of a session that could not begin before, with the settings of rank `asking`. Collective.
    fn begin_after_repair(&mut self, asking: usize) -> Result<()> {
        let environment = Environment::of_process();
        let comm = self.all_ranks()?;
        let is_asking = comm.rank() == asking;
        let settings = if is_asking {
            self.config.to_message()
        } else {
            Ok(Vec::new())
        };
        let mut settings = collective::agree(&comm, &environment.host, settings)?;
        collective::bcast(&comm, asking, &mut settings)?;
        let host = environment.host.clone();
        let taken = if is_asking {
            Ok(())
        } else {
            self.config.take_over(&settings, environment)
        };
        collective::agree(&comm, &host, taken)?;
        self.run = RunState::None(State::Uninit);
        self.joined = false;
        self.init()?;
        self.told = false;
        // `SCR_Init` may follow, as after `SCR_Session_create`.
        self.joined = self.is_active();
        self.leave_if_halted();
        Ok(())
    }

    /// Fails on all ranks if `valid` is an error on one, or the names of their sessions differ. Collective.
    fn meet(&self, comm: &Mpi, asks: bool, valid: Result<()>) -> Result<Met> {
        let print = collective::fingerprint(self.name.as_bytes()) as i64;
        let asking = if asks { comm.rank() as i64 } else { i64::MAX };
        let has_run = matches!(self.run, RunState::Active(_) | RunState::Broken(_));
        let terms = [
            Term::Min(print),
            Term::Max(print),
            Term::Min(asking),
            Term::Max(has_run.into()),
        ];
        let host = Environment::of_process().host;
        let agreement = collective::agree_with(comm, &host, valid, terms)?;
        let ((), [least, most, asking, has_run]) = agreement.all_done()?;
        if least == most {
            let asking = usize::try_from(asking.get()).ok();
            return Ok(Met {
                asking: asking.filter(|rank| *rank < comm.size()),
                has_run: has_run.on_any(),
            });
        }
        Err(Error::usage(
            "SCR_Session",
            "the processes of the communicator gave sessions of different names; give the same on all",
        ))
    }

    /// The session on the ranks of `comm`; `None` if all are new.
    fn repair_on(&mut self, comm: &Mpi, member: &mut Member) -> Result<Option<Session>> {
        if disabled() {
            return Ok(None);
        }
        let setup = self.setup(comm.again()?);
        Session::repair(setup, member, &mut self.config)
    }

    /// Takes out the parts that a repair needs of the run, which has lost ranks, and of earlier repairs
    /// that failed.
    fn leave_run(&mut self) -> Member {
        match std::mem::replace(&mut self.run, RunState::None(State::Uninit)) {
            RunState::Active(session) => {
                self.end_run();
                session.leave()
            }
            RunState::Broken(member) => *member,
            RunState::Disabled(_) => {
                self.run = RunState::Disabled(State::Idle);
                Member::new()
            }
            RunState::None(_) => Member::new(),
        }
    }

    /// Checks that all ranks of the session are in `comm` that are alive, as far as is known. Local.
    fn require_survivors(&self, comm: &Mpi) -> Result<()> {
        let missing = match &self.home {
            Some(home) => home.missing_in(comm),
            None => match self.run {
                RunState::Active(_) | RunState::Broken(_) => Mpi::missing_of_world(comm),
                _ => Vec::new(),
            },
        };
        match missing.first() {
            None => Ok(()),
            Some(rank) => Err(Error::usage(
                "SCR_Session_repair",
                format!(
                    "the communicator lacks rank {rank} of the session, which has not failed; give one with all \
                     survivors"
                ),
            )),
        }
    }
}
