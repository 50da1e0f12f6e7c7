//! `scr rehearse --explain`: names the variables that a restart lacks.
//!
//! The program is run to a checkpoint and to the next one, and the values of its variables are kept ([`looks`]). It is restarted
//! from the first checkpoint. Variables that are then other than undisturbed are suspects. The next checkpoint shows which other
//! variables become wrong. Then restarts follow in which suspects are put right, until the fewest are known with which the next
//! checkpoint comes out right: that is the proof ([`search`]).

mod forbidden;
mod looks;
mod search;
pub(super) mod stops;
mod words;

use super::super::call::{Failure, Invocation};
use super::plan::Placement;
use super::rehearsal::Rehearsal;
use super::{Options, Signals, Stage, say};
use looks::{Looks, Moments, Second};
use std::path::{Path, PathBuf};
use std::time::Duration;
use stops::Why;

/// Time of a restart that is looked at, beside ten times that of the undisturbed run.
const AT_LEAST: Duration = Duration::from_secs(120);

impl Options {
    /// Prints which variables a restart lacks.
    pub(super) fn explain(
        &self,
        rehearsal: &Rehearsal,
        call: &mut Invocation,
    ) -> Result<(), Failure> {
        let moments = match moments(rehearsal) {
            Ok(moments) => moments,
            Err(why) => {
                say(call, format_args!("no explanation: {why}"))?;
                return Ok(());
            }
        };
        say(
            call,
            format_args!(
                "explanation: variables after a restart from {}, against those of an undisturbed run at {}",
                moments.name, moments.name
            ),
        )?;
        let dir = std::fs::canonicalize(&self.dir)
            .map_err(|error| scr_engine::Error::io("resolve", &self.dir, error))?;
        let stage = Stage::new(
            &dir.join("explain"),
            &self.launcher()?,
            &self.program()?,
            &self.copy,
        )?;
        let seconds = rehearsal.undisturbed.seconds;
        let limit = (self.limit).map_or(
            AT_LEAST + Duration::from_secs_f64(10.0 * seconds),
            Duration::from_secs,
        );
        let place = Placement::new(self.ranks as usize, self.nodes as usize);
        let differed = rehearsal.compared.iter().filter(|one| one.other.is_some());
        let results: Vec<&PathBuf> = differed.map(|one| &one.file).collect();
        let compare = |own: &Path| {
            let mut differ = Vec::new();
            for file in &results {
                let one = dir.join("whole").join(file);
                if self.other(&one, &own.join(file))?.is_some() {
                    differ.push(file.to_path_buf());
                }
            }
            Ok(differ)
        };
        let mut looks = Looks::new(&stage, (place, limit), Signals::new()?, &compare);
        match search::find(&mut looks, moments) {
            Ok(found) => {
                for line in words::lines(&found) {
                    say(call, format_args!("{line}"))?;
                }
            }
            Err(Why::Unknown(why)) => say(call, format_args!("no explanation: {why}"))?,
            Err(Why::Forbidden(why)) => say(
                call,
                format_args!("no explanation: {why}. The verdict does not depend on it"),
            )?,
            Err(Why::Failed(failure)) => return Err(failure),
        }
        Ok(())
    }
}

/// The checkpoint of the last restart, and the next one.
fn moments(rehearsal: &Rehearsal) -> Result<Moments, String> {
    if rehearsal.is_not_reproducible() {
        return Err("two undisturbed runs differ, too".into());
    }
    let mut sessions = rehearsal.undisturbed.seen.begun();
    let (Some((session, undisturbed)), None) = (sessions.next(), sessions.next()) else {
        return Err("only programs with one session of SCR can be looked at".into());
    };
    let last = rehearsal.launches.last();
    let seen = last.and_then(|last| last.seen.of(session));
    let Some(restart) = seen.and_then(|seen| seen.restart.as_ref()) else {
        return Err("the last launch has not read a checkpoint".into());
    };
    let all = &undisturbed.completed;
    let Some(place) = all.iter().position(|one| one.name == restart.name) else {
        return Err(format!(
            "the undisturbed run has no checkpoint {}",
            restart.name
        ));
    };
    Ok(Moments {
        count: place + 1,
        name: restart.name.clone(),
        second: match all.get(place + 1) {
            Some(next) => Second::Next(next.name.clone()),
            None => Second::End,
        },
    })
}
