//! The state machine of the API (SCR user API guide, "SCR API state transitions") as one pure
//! table: the calls that are allowed in each state, and the next state.

use crate::{Error, Result};

/// The phase of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No run: before `SCR_Init`, or after `SCR_Finalize`.
    Uninit,
    /// Between phases.
    Idle,
    /// Between `SCR_Start_restart` and `SCR_Complete_restart`.
    Restart,
    /// Between `SCR_Start_checkpoint` and `SCR_Complete_checkpoint`.
    Checkpoint,
    /// Between `SCR_Start_output` and `SCR_Complete_output`.
    Output,
    /// The state after an `SCR_Start_restart` that failed.
    FailedRestart,
    /// The state after an `SCR_Start_checkpoint` that failed.
    FailedCheckpoint,
    /// The state after an `SCR_Start_output` that failed.
    FailedOutput,
    /// The state after any start outside of a run: before `SCR_Init`, or after `SCR_Finalize`.
    FailedEarly,
}

/// A call of the API that depends on the state. `SCR_Get_version` is allowed everywhere
/// and is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it: each is the C function of that name.
pub enum Call {
    Init,
    Finalize,
    Configure,
    RouteFile,
    AllowOtherRanks,
    HaveRestart,
    StartRestart,
    RestartRanks,
    RestartFileCount,
    RestartFile,
    CompleteRestart,
    NeedCheckpoint,
    StartCheckpoint,
    CompleteCheckpoint,
    StartOutput,
    CompleteOutput,
    ShouldExit,
    Current,
    Drop,
    Delete,
    Checkpoint,
    Restore,
}

impl Call {
    /// The name in the C interface.
    pub fn name(self) -> &'static str {
        match self {
            Call::Init => "SCR_Init",
            Call::Finalize => "SCR_Finalize",
            Call::Configure => "SCR_Config",
            Call::RouteFile => "SCR_Route_file",
            Call::AllowOtherRanks => "SCR_Allow_other_ranks",
            Call::HaveRestart => "SCR_Have_restart",
            Call::StartRestart => "SCR_Start_restart",
            Call::RestartRanks => "SCR_Restart_ranks",
            Call::RestartFileCount => "SCR_Restart_file_count",
            Call::RestartFile => "SCR_Restart_file",
            Call::CompleteRestart => "SCR_Complete_restart",
            Call::NeedCheckpoint => "SCR_Need_checkpoint",
            Call::StartCheckpoint => "SCR_Start_checkpoint",
            Call::CompleteCheckpoint => "SCR_Complete_checkpoint",
            Call::StartOutput => "SCR_Start_output",
            Call::CompleteOutput => "SCR_Complete_output",
            Call::ShouldExit => "SCR_Should_exit",
            Call::Current => "SCR_Current",
            Call::Drop => "SCR_Drop",
            Call::Delete => "SCR_Delete",
            Call::Checkpoint => "SCR_Checkpoint",
            Call::Restore => "SCR_Restore",
        }
    }

    /// True if it starts a phase.
    pub fn starts(self) -> bool {
        matches!(
            self,
            Call::StartRestart | Call::StartCheckpoint | Call::StartOutput
        )
    }

    /// True if the call is local, and about files of an open phase: a single rank may make it.
    pub fn is_of_files(self) -> bool {
        matches!(
            self,
            Call::RouteFile | Call::RestartRanks | Call::RestartFileCount | Call::RestartFile
        )
    }
}

impl State {
    /// The state after `call`, if it succeeds.
    ///
    /// A start that fails leads to a failed phase, in which a file has no path: a program that goes
    /// on must not overwrite the file of an older dataset. The complete call ends the phase, and
    /// fails. Any call that is allowed between phases ends it, too: a program may leave out the
    /// complete call after a start that failed.
    ///
    /// # Errors
    /// [`Error::State`] naming the call, the state and the way out, if it is not allowed.
    pub fn after(self, call: Call) -> Result<State> {
        use Call as C;
        use State as S;
        match (self, call) {
            (S::Uninit, C::Init) => Ok(S::Idle),
            (S::Uninit, C::Configure | C::RouteFile) => Ok(S::Uninit),
            (S::FailedRestart, C::CompleteRestart) => Ok(S::Idle),
            (S::FailedCheckpoint, C::CompleteCheckpoint) => Ok(S::Idle),
            (S::FailedOutput, C::CompleteOutput) => Ok(S::Idle),
            (S::FailedEarly, C::CompleteRestart | C::CompleteCheckpoint | C::CompleteOutput) => {
                Ok(S::Uninit)
            }
            _ if self.failed() && call == C::RouteFile => Ok(self),
            _ if self.failed() => self.outside().after(call),
            (S::Idle, C::Finalize) => Ok(S::Uninit),
            (S::Idle, C::StartRestart) => Ok(S::Restart),
            (S::Idle, C::StartCheckpoint) => Ok(S::Checkpoint),
            (S::Idle, C::StartOutput) => Ok(S::Output),
            (S::Idle, C::AllowOtherRanks | C::HaveRestart) => Ok(S::Idle),
            (S::Idle, C::NeedCheckpoint | C::ShouldExit) => Ok(S::Idle),
            (S::Idle, C::Current | C::Drop | C::Delete) => Ok(S::Idle),
            (S::Idle, C::Checkpoint | C::Restore) => Ok(S::Idle),
            (S::Restart, C::CompleteRestart) => Ok(S::Idle),
            (S::Restart, C::RestartRanks | C::RestartFileCount | C::RestartFile) => Ok(S::Restart),
            (S::Checkpoint, C::CompleteCheckpoint) => Ok(S::Idle),
            (S::Output, C::CompleteOutput) => Ok(S::Idle),
            (S::Idle | S::Restart | S::Checkpoint | S::Output, C::RouteFile) => Ok(self),
            _ => Err(Error::State {
                call: call.name(),
                state: self.words(call),
                remedy: self.way_out(call),
            }),
        }
    }

    /// The state after `call`, if it fails or is not allowed: a failed phase after a start, unless
    /// another phase is open; else the same.
    pub fn refused(self, call: Call) -> State {
        match (self.outside(), call) {
            (State::Uninit, call) if call.starts() => State::FailedEarly,
            (State::Idle, Call::StartRestart) => State::FailedRestart,
            (State::Idle, Call::StartCheckpoint) => State::FailedCheckpoint,
            (State::Idle, Call::StartOutput) => State::FailedOutput,
            _ => self,
        }
    }

    /// True if the start of this phase has failed.
    pub fn failed(self) -> bool {
        self.outside() != self
    }

    /// The state before a failed phase; any other state is as it is.
    pub fn outside(self) -> State {
        match self {
            State::FailedRestart | State::FailedCheckpoint | State::FailedOutput => State::Idle,
            State::FailedEarly => State::Uninit,
            other => other,
        }
    }

    /// Checks that `call` is allowed, and gives the state after it. A call other than a route that
    /// follows a failed start ends the failed phase.
    ///
    /// # Errors
    /// The errors of [`State::after`].
    pub(super) fn allow(&mut self, call: Call) -> Result<State> {
        let next = self.after(call);
        match &next {
            Err(_) => *self = self.refused(call),
            Ok(next) if !next.failed() => *self = self.outside(),
            Ok(_) => {}
        }
        next
    }

    /// Ends a phase.
    ///
    /// # Errors
    /// `call` is not allowed, or the start of the phase has failed. The same on all ranks.
    pub(super) fn end_phase(&mut self, call: Call) -> Result<()> {
        let failed = self.failed();
        *self = self.allow(call)?;
        if failed {
            Err(Error::NotStarted { call: call.name() })
        } else {
            Ok(())
        }
    }

    fn words(self, call: Call) -> &'static str {
        match self {
            State::Uninit => "before SCR_Init (or after SCR_Finalize)",
            _ if call == Call::Init => "a second time",
            _ if call == Call::Configure => "after SCR_Init, except to ask",
            State::Restart => "between SCR_Start_restart and SCR_Complete_restart",
            State::Checkpoint => "between SCR_Start_checkpoint and SCR_Complete_checkpoint",
            State::Output => "between SCR_Start_output and SCR_Complete_output",
            _ => "while no phase is open",
        }
    }

    fn way_out(self, call: Call) -> &'static str {
        match self {
            State::Uninit => "call SCR_Init first",
            _ if call == Call::Init => "leave the call out, or call SCR_Finalize first",
            State::Restart => "call SCR_Complete_restart first",
            State::Checkpoint => "call SCR_Complete_checkpoint first",
            State::Output => "call SCR_Complete_output first",
            _ if call == Call::Configure => "set parameters before SCR_Init",
            _ => "call the SCR_Start_... that belongs to it first",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, State};

    const STATES: [State; 9] = [
        State::Uninit,
        State::Idle,
        State::Restart,
        State::Checkpoint,
        State::Output,
        State::FailedRestart,
        State::FailedCheckpoint,
        State::FailedOutput,
        State::FailedEarly,
    ];
    const CALLS: [Call; 22] = [
        Call::Init,
        Call::Finalize,
        Call::Configure,
        Call::RouteFile,
        Call::AllowOtherRanks,
        Call::HaveRestart,
        Call::StartRestart,
        Call::RestartRanks,
        Call::RestartFileCount,
        Call::RestartFile,
        Call::CompleteRestart,
        Call::NeedCheckpoint,
        Call::StartCheckpoint,
        Call::CompleteCheckpoint,
        Call::StartOutput,
        Call::CompleteOutput,
        Call::ShouldExit,
        Call::Current,
        Call::Drop,
        Call::Delete,
        Call::Checkpoint,
        Call::Restore,
    ];

    fn letter(state: State) -> char {
        match state {
            State::Uninit => 'U',
            State::Idle => 'I',
            State::Restart => 'R',
            State::Checkpoint => 'C',
            State::Output => 'O',
            State::FailedRestart => 'r',
            State::FailedCheckpoint => 'c',
            State::FailedOutput => 'o',
            State::FailedEarly => 'u',
        }
    }

    /// A table with a row for each state, and a column for each call in the order of `CALLS`.
    fn table(of: impl Fn(State, Call) -> char) -> Vec<String> {
        STATES
            .iter()
            .map(|state| CALLS.iter().map(|call| of(*state, *call)).collect())
            .collect()
    }

    /// `.` is not allowed, a letter is the state it leads to.
    #[test]
    fn table_is_as_documented() {
        assert_eq!(
            table(|state, call| state.after(call).map_or('.', letter)),
            [
                "I.UU..................",
                ".U.IIIR....IC.O.IIIIII",
                "...R...RRRI...........",
                "...C.........I........",
                "...O...........I......",
                ".U.rIIR...IIC.O.IIIIII",
                ".U.cIIR....ICIO.IIIIII",
                ".U.oIIR....IC.OIIIIIII",
                "I.Uu......U..U.U......",
            ]
        );
    }

    #[test]
    fn a_call_in_the_wrong_phase_is_told_the_way_out() {
        for (state, call, way_out) in [
            (State::Uninit, Call::StartOutput, "call SCR_Init first"),
            (
                State::Idle,
                Call::Init,
                "leave the call out, or call SCR_Finalize first",
            ),
            (
                State::Idle,
                Call::Configure,
                "set parameters before SCR_Init",
            ),
            (
                State::Idle,
                Call::CompleteOutput,
                "call the SCR_Start_... that belongs to it first",
            ),
            (
                State::Restart,
                Call::StartOutput,
                "call SCR_Complete_restart first",
            ),
            (
                State::Checkpoint,
                Call::HaveRestart,
                "call SCR_Complete_checkpoint first",
            ),
            (
                State::Output,
                Call::Finalize,
                "call SCR_Complete_output first",
            ),
        ] {
            let error = state.after(call).unwrap_err().to_string();
            assert!(error.contains(way_out), "{error}");
        }
    }

    /// The letter is the state that a call leads to which fails or is not allowed.
    #[test]
    fn a_start_that_fails_leads_to_a_failed_phase_unless_one_is_open() {
        assert_eq!(
            table(|state, call| letter(state.refused(call))),
            [
                "UUUUUUuUUUUUuUuUUUUUUU",
                "IIIIIIrIIIIIcIoIIIIIII",
                "RRRRRRRRRRRRRRRRRRRRRR",
                "CCCCCCCCCCCCCCCCCCCCCC",
                "OOOOOOOOOOOOOOOOOOOOOO",
                "rrrrrrrrrrrrcrorrrrrrr",
                "ccccccrcccccccoccccccc",
                "oooooorooooocooooooooo",
                "uuuuuuuuuuuuuuuuuuuuuu",
            ]
        );
    }

    #[test]
    fn a_refusal_names_call_state_and_remedy() {
        let text = State::Output
            .after(Call::StartRestart)
            .unwrap_err()
            .to_string();
        assert!(text.contains("SCR_Start_restart"), "{text}");
        assert!(text.contains("between SCR_Start_output"), "{text}");
        assert!(text.contains("call SCR_Complete_output first"), "{text}");
        for call in [Call::HaveRestart, Call::StartOutput] {
            let text = State::Uninit.after(call).unwrap_err().to_string();
            assert!(text.contains("before SCR_Init"), "{text}");
            assert!(text.contains("call SCR_Init first"), "{text}");
        }
        for state in [State::Idle, State::Output] {
            assert_eq!(
                state.after(Call::Init).unwrap_err().to_string(),
                "SCR_Init is not allowed a second time; leave the call out, or call SCR_Finalize \
                 first (SCR-110)"
            );
        }
    }
}
