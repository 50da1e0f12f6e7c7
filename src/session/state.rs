//! The state machine of the API (SCR user API guide, "SCR API state transitions") as one
//! pure table: which call is allowed where, and where it leads.

use crate::{Error, Result};

/// Where the application stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Before `SCR_Init`, or after `SCR_Finalize`.
    Uninit,
    /// Outside of every phase.
    Idle,
    /// Between `SCR_Start_restart` and `SCR_Complete_restart`.
    Restart,
    /// Between `SCR_Start_checkpoint` and `SCR_Complete_checkpoint`.
    Checkpoint,
    /// Between `SCR_Start_output` and `SCR_Complete_output`.
    Output,
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
    HaveRestart,
    StartRestart,
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
}

impl Call {
    /// The name in the C interface.
    pub fn name(self) -> &'static str {
        match self {
            Call::Init => "SCR_Init",
            Call::Finalize => "SCR_Finalize",
            Call::Configure => "SCR_Config",
            Call::RouteFile => "SCR_Route_file",
            Call::HaveRestart => "SCR_Have_restart",
            Call::StartRestart => "SCR_Start_restart",
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
        }
    }
}

impl State {
    /// Where `call` leads from here, if it succeeds.
    ///
    /// # Errors
    /// [`Error::State`] naming the call, the state and the way out, if it is not allowed.
    pub fn after(self, call: Call) -> Result<State> {
        use Call as C;
        use State as S;
        match (self, call) {
            (S::Uninit, C::Init) => Ok(S::Idle),
            (S::Uninit, C::Configure) => Ok(S::Uninit),
            (S::Idle, C::Finalize) => Ok(S::Uninit),
            (S::Idle, C::StartRestart) => Ok(S::Restart),
            (S::Idle, C::StartCheckpoint) => Ok(S::Checkpoint),
            (S::Idle, C::StartOutput) => Ok(S::Output),
            (S::Idle, C::HaveRestart | C::NeedCheckpoint | C::ShouldExit) => Ok(S::Idle),
            (S::Idle, C::Current | C::Drop | C::Delete) => Ok(S::Idle),
            (S::Restart, C::CompleteRestart) => Ok(S::Idle),
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

    fn words(self, call: Call) -> &'static str {
        match self {
            State::Uninit => "before SCR_Init (or after SCR_Finalize)",
            _ if call == Call::Init => "a second time",
            _ if call == Call::Configure => "after SCR_Init, except to ask",
            State::Idle => "while no phase is open",
            State::Restart => "between SCR_Start_restart and SCR_Complete_restart",
            State::Checkpoint => "between SCR_Start_checkpoint and SCR_Complete_checkpoint",
            State::Output => "between SCR_Start_output and SCR_Complete_output",
        }
    }

    fn way_out(self, call: Call) -> &'static str {
        match self {
            State::Uninit => "call SCR_Init first",
            _ if call == Call::Init => "leave the call out, or call SCR_Finalize first",
            State::Idle if call == Call::Configure => "set parameters before SCR_Init",
            State::Idle => "call the SCR_Start_... that belongs to it first",
            State::Restart => "call SCR_Complete_restart first",
            State::Checkpoint => "call SCR_Complete_checkpoint first",
            State::Output => "call SCR_Complete_output first",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, State};

    const STATES: [State; 5] = [
        State::Uninit,
        State::Idle,
        State::Restart,
        State::Checkpoint,
        State::Output,
    ];
    const CALLS: [Call; 16] = [
        Call::Init,
        Call::Finalize,
        Call::Configure,
        Call::RouteFile,
        Call::HaveRestart,
        Call::StartRestart,
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
    ];

    /// One row a state, one column a call in the order of `CALLS`; `.` is not allowed, a
    /// letter is the state it leads to.
    #[test]
    fn table_is_as_documented() {
        let letter = |s: State| match s {
            State::Uninit => 'U',
            State::Idle => 'I',
            State::Restart => 'R',
            State::Checkpoint => 'C',
            State::Output => 'O',
        };
        let rows: Vec<String> = STATES
            .iter()
            .map(|s| {
                CALLS
                    .iter()
                    .map(|c| s.after(*c).map_or('.', letter))
                    .collect()
            })
            .collect();
        assert_eq!(
            rows,
            [
                "I.U.............",
                ".U.IIR.IC.O.IIII",
                "...R..I.........",
                "...C.....I......",
                "...O.......I....",
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
        for state in [State::Idle, State::Output] {
            assert_eq!(
                state.after(Call::Init).unwrap_err().to_string(),
                "SCR_Init is not allowed a second time; leave the call out, or call SCR_Finalize \
                 first"
            );
        }
    }
}
