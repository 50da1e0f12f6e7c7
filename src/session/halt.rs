//! The end of a run on request: conditions in the halt file, signals, the end of the allocation.

use super::Session;
use crate::Result;
use crate::comm::{Term, VerdictExt};
use crate::events::{Event, Severity};
use crate::format::Name;
use crate::job::manager::{self, ManagerKind};
use crate::job::{Environment, clock, signal};
use crate::messages::{END_NOT_KNOWN, JOB_SHOULD_STOP};
use crate::policy::halt;
use crate::prefix::records;
use crate::session::run::Run;
use crate::session::state::Call;
use std::cell::{Cell, OnceCell, RefCell};

/// The state of a run's end.
pub(super) struct HaltState {
    /// A condition holds, and SCR itself must end the program (`SCR_HALT_EXIT`). The same on all
    /// ranks.
    must_exit: bool,
    /// The signal that asks this process to stop; 0 if no signal came.
    signal: i32,
    environment: Environment,
    /// Rank 0: when the allocation ends, seconds since the epoch, once it was asked for.
    allocation_end: OnceCell<Option<i64>>,
    /// The event log has a reason why the run must stop.
    recorded: Cell<bool>,
}

/// The facts that all ranks learn in one round.
pub(super) struct Decision {
    /// Rank 0's answer.
    yes: bool,
    /// The number of a signal in the lowest 8 bits, and above them the rank that got it; 0 if no
    /// signal came.
    signal: i64,
}

impl Decision {
    /// True if rank 0 said so, or if a signal has come to any rank.
    pub fn is_yes(&self) -> bool {
        self.yes || self.signal != 0
    }

    /// Text about the signal, if one has come.
    fn signal(&self) -> Option<String> {
        let (rank, number) = (self.signal >> 8, self.signal & 0xff);
        let name = || signal::name(number as i32);
        (number != 0).then(|| format!("{} came to rank {rank}", name()))
    }
}

impl HaltState {
    /// The state at the beginning of a run. The environment tells how to find the end of the allocation.
    pub fn new(environment: Environment) -> Self {
        HaltState {
            must_exit: false,
            signal: 0,
            environment,
            allocation_end: OnceCell::new(),
            recorded: Cell::new(false),
        }
    }

    /// Asks rank 0 a yes-or-no question, and all ranks whether a signal has come. Collective; one
    /// round.
    pub fn decide(&self, run: &Run, ask: impl FnOnce() -> Result<bool>) -> Result<Decision> {
        let local = match run.rank() {
            0 => ask(),
            _ => Ok(false),
        };
        let signal = match self.signal {
            0 => 0,
            signal => (run.rank() as i64) << 8 | i64::from(signal),
        };
        let terms = [
            Term::Max(local.as_ref().is_ok_and(|yes| *yes).into()),
            Term::Max(signal),
        ];
        let (_, [yes, signal]) = run.agree_with(local, terms)?.all_done()?;
        Ok(Decision {
            yes: yes.on_any(),
            signal: signal.get(),
        })
    }

    /// Rank 0: why the job should stop; empty if it should not. Local.
    pub fn reasons(&self, run: &Run) -> Result<Vec<String>> {
        let halt = records::read_halt(&*run.files, &run.prefix)?;
        let end = match halt.halt_seconds {
            Some(1..) => self.end_of_allocation(run),
            _ => None,
        };
        Ok(halt::reasons(&halt, clock::now(), end))
    }

    /// Rank 0: when the allocation ends, in seconds since the epoch, if it can be found out. The
    /// end is found out once; that may take as long as a program of the resource manager. Local.
    pub fn end_of_allocation(&self, run: &Run) -> Option<i64> {
        *self.allocation_end.get_or_init(|| {
            let set = run.settings.end_time.map(|end| end.to_string());
            let lookup = |name: &str| set.clone().filter(|_| name == "SCR_END_TIME");
            let manager = ManagerKind::detect(&self.environment);
            let why = match manager::end(manager, &self.environment, &lookup) {
                Ok(Some(end)) if end > clock::now() => return Some(end),
                Ok(Some(end)) => format!("{end} is past"),
                Ok(None) => format!("the resource manager ({}) sets none", manager.name()),
                Err(error) => error.to_string(),
            };
            let text = format!(
                "the end of the allocation is not known, so SCR_HALT_SECONDS does not count \
                 (but before the time of scr_halt --before): {why}; set SCR_END_TIME ({END_NOT_KNOWN})"
            );
            run.tell_once(Severity::Warning, text);
            None
        })
    }

    /// Records that the run must stop, once. Local.
    fn log(&self, run: &Run, reason: &str) {
        if !self.recorded.replace(true) {
            run.log(Event::Halt, |record| record.note(reason));
        }
    }

    /// True if the run must end now, which the halt file then says. Only with `SCR_HALT_EXIT`.
    /// Collective; one round, and another one if the run must end.
    fn must_end(&mut self, run: &Run) -> Result<bool> {
        if !run.settings.halt_exit {
            return Ok(false);
        }
        let reasons = RefCell::new(Vec::new());
        let decision = self.decide(run, || {
            let found = self.reasons(run)?;
            let any = !found.is_empty();
            reasons.replace(found);
            Ok(any)
        })?;
        if !decision.is_yes() {
            return Ok(false);
        }
        self.must_exit = true;
        run.on_root(|| {
            let mut reasons = reasons.into_inner();
            // A signal ends this run only, so it is not recorded as a reason for the next one.
            let recorded = reasons.last().map_or(halt::FINALIZED, String::as_str);
            let recorded: Name = recorded.into();
            reasons.extend(decision.signal());
            self.log(run, &reasons.join(", "));
            run.tell_once(
                Severity::Note,
                format!("Job exiting: {}", reasons.join(", ")),
            );
            run.keep_record(|| {
                records::update_halt(&*run.files, &run.prefix, |halt| {
                    // A reason that the user has given stays until the user unsets it.
                    let own =
                        |reason: &mut Name| halt::SET_BY_SCR.contains(&reason.to_string().as_str());
                    halt.exit_reason.take_if(own);
                    halt.exit_reason.get_or_insert(recorded);
                })
            });
            Ok(())
        })?;
        Ok(true)
    }
}

/// Rank 0: one checkpoint less until the run must stop, if the halt file counts them. Local.
pub(super) fn count_down(run: &Run) {
    run.keep_record(|| {
        records::update_halt(&*run.files, &run.prefix, |halt| {
            halt.checkpoints_left = halt
                .checkpoints_left
                .map(|left| left.saturating_sub(1).max(0));
        })
    });
}

impl Session {
    /// True if a halt condition holds and the user wants SCR itself to end the program
    /// (`SCR_HALT_EXIT`). Local; the same on all ranks.
    pub fn must_exit(&self) -> bool {
        self.halt.must_exit
    }

    /// The signals that ask the run to stop (`SCR_HALT_SIGNALS`). Local; the same on all ranks.
    pub fn halt_signals(&self) -> &[i32] {
        &self.run.settings.halt_signals
    }

    /// Notes a signal that has come to this process; 0 if none came. Signals that are not in
    /// `SCR_HALT_SIGNALS` are ignored. Local: the other ranks hear of the signal in their next call
    /// that asks whether to stop.
    pub fn set_signal(&mut self, signal: i32) {
        let known = self.halt_signals().contains(&signal);
        self.halt.signal = if known { signal } else { 0 };
    }

    /// True if the program should stop (`SCR_Should_exit`): rank 0 decides for all, unless a signal
    /// has come to any rank. Collective; one round.
    pub fn should_exit(&mut self) -> Result<bool> {
        self.state.allow(Call::ShouldExit)?;
        self.count_call();
        self.flush().look_after(Call::ShouldExit)?;
        let run = &self.run;
        let decision = self.halt.decide(run, || {
            let reasons = self.halt.reasons(run)?;
            if let Some(reason) = reasons.first() {
                self.halt.log(run, reason);
                run.tell_once(
                    Severity::Note,
                    format!("the job should stop: {reason} ({JOB_SHOULD_STOP})"),
                );
            }
            Ok(!reasons.is_empty())
        })?;
        if let Some(signal) = decision.signal() {
            self.halt.log(run, &signal);
            run.tell_once(
                Severity::Note,
                format!("the job should stop: {signal} ({JOB_SHOULD_STOP})"),
            );
        }
        Ok(decision.is_yes())
    }

    /// Flushes the newest checkpoint if the run must end now, so that the program can be ended. Only with
    /// `SCR_HALT_EXIT`. Collective.
    pub(super) fn flush_before_halt(&mut self) -> Result<()> {
        if self.halt.must_end(&self.run)? {
            self.flush().look_after(Call::Finalize)?;
            self.flush_newest()
        } else {
            Ok(())
        }
    }

    /// Flushes the newest checkpoint if it must be in the prefix directory when the run ends. If all newer
    /// checkpoints were rejected or deleted, the newest may be one that an earlier run has left in the cache.
    /// Such a checkpoint is recovered first. Collective.
    pub(super) fn flush_newest(&mut self) -> Result<()> {
        // Flushes that go on must end in any case.
        let recovered = self.restart().bring_back_due().verdict()?;
        self.flush().newest().and(recovered)
    }
}
