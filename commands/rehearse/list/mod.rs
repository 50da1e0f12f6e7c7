//! `scr rehearse --list`: shows which variables of a program its checkpoints have.
//!
//! The program is launched once, and stops after its first two checkpoints ([`looks`]). Its variables on all ranks become the
//! rows of a table ([`table`]), with what the program has listed of them. Where it writes files itself, these are searched for
//! the bytes of variables ([`files`]). What changes between both checkpoints, and no checkpoint has, stands first ([`words`]).

mod document;
mod files;
mod looks;
mod table;
mod words;

use super::super::Outcome;
use super::super::call::Invocation;
use super::{Options, Signals, Stage, json, say};
use std::process::ExitCode;
use std::time::Duration;

/// Without --limit a launch may take as long as it wants.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

impl Options {
    /// Prints the variables of the program.
    pub(super) fn list(&self, call: &mut Invocation) -> Outcome {
        self.check()?;
        let (program, launcher) = (self.program()?, self.launcher()?);
        let dir = self.directory()?.join("list");
        let stage = Stage::new(&dir, &launcher, &program, &self.copy)?;
        say(call, format_args!("launch in {}", dir.display()))?;
        let limit = self.limit.map_or(NO_LIMIT, Duration::from_secs);
        let found = looks::look(&stage, &self.place(), limit, Signals::new()?)?;
        if self.json {
            json::print(call, "rehearse", document::document(&found))?;
        } else {
            call.show(&words::lines(&found))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
