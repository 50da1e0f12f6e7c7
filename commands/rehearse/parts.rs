//! The parts of a rehearsal that are runs of their own: launches by `scr run`, and a launch that is repaired.

use super::super::call::{Failure, Invocation};
use super::super::run::Signals;
use super::course::Course;
use super::plan::{Draw, Kill};
use super::rehearsal::{Part, Rehearsal, Run};
use super::stage::{Ending, Launch, Stage};
use super::{Options, judge, relaunch, repair, say};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

impl Options {
    /// Makes the runs that are wanted and possible. `whole`: the undisturbed run.
    pub(super) fn parts(
        &self,
        call: &mut Invocation,
        whole: &Stage,
        found: &mut Rehearsal,
        (limit, signals): (Duration, &mut Signals),
    ) -> Result<(), Failure> {
        let (place, undisturbed) = (self.place(), &found.undisturbed);
        let kills = Course::of(undisturbed).short(&place, &mut Draw::new(self.seed))?;
        let stage = |run: Run, launcher: Vec<OsString>| {
            let dir = whole.dir().with_file_name(run.name());
            Stage::new(&dir, &launcher, &self.program()?, &self.copy)
        };
        let launcher = self.launcher()?;
        let relaunched = match self.not_relaunched(undisturbed, whole.dir()) {
            Some(why) => Part::NotTried(why),
            None => {
                let stage = stage(Run::Relaunched, launcher.clone())?;
                say(call, format_args!("launched by scr run: {}", told(&kills)))?;
                let limit = limit.saturating_mul(kills.len() as u32 + 1);
                let launches = relaunch::launches(&stage, &place, &kills, (limit, signals))?;
                self.part(
                    call,
                    (whole, &stage),
                    undisturbed,
                    (Run::Relaunched, launches),
                )?
            }
        };
        let repaired = match (self.not_repaired(undisturbed, &launcher)?, kills.first()) {
            (Some(why), _) => Part::NotTried(why),
            (None, None) => Part::NotTried(NO_CHECKPOINT.into()),
            (None, Some(kill)) => {
                let stage = stage(Run::Repaired, repair::launcher(&launcher))?;
                say(call, format_args!("to be repaired: {kill}"))?;
                let launches = repair::launches(&stage, &place, kill, (limit, signals))?;
                self.part(
                    call,
                    (whole, &stage),
                    undisturbed,
                    (Run::Repaired, launches),
                )?
            }
        };
        (found.relaunched, found.repaired) = (relaunched, repaired);
        Ok(())
    }

    /// Compares a run whose launches have ended with the undisturbed one.
    fn part(
        &self,
        call: &mut Invocation,
        stages: (&Stage, &Stage),
        undisturbed: &Launch,
        (run, launches): (Run, Vec<Launch>),
    ) -> Result<Part, Failure> {
        let mut found = self.undisturbed(undisturbed.clone());
        (found.run, found.launches) = (run, launches);
        for launch in &found.launches {
            say(call, format_args!("{}", judge::ended_in_words(launch)))?;
        }
        let last = found.launches.last();
        if last.is_some_and(|last| last.ending == Ending::Code(0)) {
            self.compare(stages, &mut found, self.ranks)?;
        }
        Ok(Part::Tried(Box::new(found)))
    }

    /// The reason why scr run does not launch the program, if it does not. `whole`: the directory of the undisturbed run.
    fn not_relaunched(&self, undisturbed: &Launch, whole: &Path) -> Option<String> {
        match undisturbed.seen.completed().next() {
            _ if self.quick => Some("--quick leaves it out".into()),
            _ if !self.kill.is_empty() && !self.relaunch => {
                Some("with --kill only by --relaunch".into())
            }
            None => Some(NO_CHECKPOINT.into()),
            Some(_) => relaunch::hindrance(whole),
        }
    }

    /// The reason why no launch is to be repaired, if none is.
    fn not_repaired(
        &self,
        undisturbed: &Launch,
        launcher: &[OsString],
    ) -> Result<Option<String>, Failure> {
        if undisturbed.seen.completed().next().is_none() {
            return Ok(Some(NO_CHECKPOINT.into()));
        }
        if let Some(why) = repair::hindrance(launcher) {
            return Ok(Some(why));
        }
        if self.repair {
            return Ok(None);
        }
        let why = if repair::is_called(&self.program()?) {
            "--repair tries it"
        } else {
            "the program does not call SCR_Session_repair (docs/sessions.md)"
        };
        Ok(Some(why.into()))
    }
}

const NO_CHECKPOINT: &str = "the program has no checkpoint of SCR";

fn told(kills: &[Kill]) -> String {
    let words: Vec<String> = kills.iter().map(ToString::to_string).collect();
    words.join("; then ")
}
