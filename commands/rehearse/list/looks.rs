//! The launch whose variables are looked at.

use super::super::super::call::Failure;
use super::super::Signals;
use super::super::explain::stops::{Held, Stopped, Why, remote};
use super::super::plan::Placement;
use super::super::rehearsal::last_words_in;
use super::super::seen::Sessions;
use super::super::stage::Stage;
use super::files::{Budget, InFile};
use super::table::{Seen, Table};
use scr_engine::format::stop::Moment;
use scr_engine::system::time::Instant;
use scr_jobs::variables::{self, Programs, Share, Told};
use std::time::Duration;

/// Time between two looks whether the program waits for ranks that do not stop.
const TURN: Duration = Duration::from_secs(1);

/// When a checkpoint is complete, all of its ranks stop within much less than this time.
const TO_STOP: Duration = Duration::from_secs(60);

/// What was seen of a program's variables.
pub(super) struct Found {
    pub table: Table,
    /// Number of ranks that were looked at, and in words those that were not.
    pub ranks: usize,
    pub elsewhere: Option<String>,
    /// The checkpoint after which it was looked at, and the one that followed, or the end of the run; `None` if neither was
    /// reached.
    pub first: String,
    pub second: Option<String>,
    /// The program has listed its state.
    pub lists: bool,
    /// The names of fields in memory that cannot be looked at.
    pub remote: Vec<String>,
    /// It has written files of its own.
    pub writes_files: bool,
    /// There were more variables than can be looked at, or larger files than are searched.
    pub cut: bool,
    pub cut_files: bool,
    pub told: Told,
}

/// Launches the program, and looks at it after its first checkpoint, and at the next one or at its end.
pub(super) fn look(
    stage: &Stage,
    place: &Placement,
    limit: Duration,
    signals: Signals,
) -> Result<Found, Failure> {
    let mut held = Held::start(stage, place, "list", limit)?;
    let end = Instant::now() + limit;
    let mut look = Look {
        stage,
        signals,
        ranks: place.ranks(),
        end,
        programs: Programs::default(),
        budget: Budget::default(),
    };
    let found = look.follow(&mut held);
    let (ended, in_time) = (held.has_ended(), Instant::now() < end);
    held.finish()?;
    let words = if ended {
        last_words_in(&stage.behind().join("output.list"))
    } else {
        String::new()
    };
    match found {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(look.why_not(in_time).map_or_else(
            |failure| failure,
            |why| Failure::said(format!("{why}{words}")),
        )),
        Err(Why::Failed(failure)) => Err(failure),
        Err(Why::Unknown(why)) => Err(Failure::said(why)),
        // With the other options nothing is looked at.
        Err(Why::Forbidden(why)) => Err(Failure::said(format!(
            "{why}. Without --list, scr rehearse kills the program, restarts it and compares its checkpoints"
        ))),
    }
}

struct Look<'a> {
    stage: &'a Stage,
    signals: Signals,
    ranks: usize,
    /// The time of the launch is over then.
    end: Instant,
    programs: Programs,
    budget: Budget,
}

impl Look<'_> {
    fn follow(&mut self, held: &mut Held<'_>) -> Result<Option<Found>, Why> {
        let mut found: Option<Found> = None;
        while let Some(stopped) = self.next(held)? {
            let moment = stopped.first().map_or(Moment::End, |rank| rank.moment);
            match &mut found {
                None if moment == Moment::Checkpoint => {
                    let name = self.checkpoint()?;
                    let mut first = self.first(&stopped, name)?;
                    first.elsewhere = held.elsewhere_in_words();
                    found = Some(first);
                }
                None if moment == Moment::End => return Ok(None),
                Some(found) if matches!(moment, Moment::Checkpoint | Moment::End) => {
                    found.second = Some(match moment {
                        Moment::Checkpoint => self.checkpoint()?,
                        _ => "the end of the run".into(),
                    });
                    self.second(&stopped, found)?;
                    // At its end a program may have freed what it had.
                    if moment == Moment::Checkpoint {
                        found.table.settle();
                    }
                    break;
                }
                _ => {}
            }
            held.go()?;
        }
        Ok(found)
    }

    /// Waits until all ranks have stopped; `None` if the program has ended, or its time is over.
    fn next(&mut self, held: &mut Held<'_>) -> Result<Option<Vec<Stopped>>, Why> {
        let mut partly = None;
        loop {
            let now = Instant::now();
            let turn = self.end.min(now + TURN);
            let stopped = held.next_until(&mut self.signals, turn)?;
            if stopped.is_some() || held.has_ended() || now >= self.end {
                return Ok(stopped);
            }
            // What the ranks that have stopped are to do for the others is not done meanwhile.
            self.seen()?;
            let waiting = held.waiting();
            if waiting == 0 {
                partly = None;
            } else if *partly.get_or_insert(now) + TO_STOP < now {
                let why = format!(
                    "{waiting} of {} ranks have written a checkpoint; only programs in which all do can be looked at",
                    self.ranks
                );
                return Err(Failure::said(why).into());
            }
        }
    }

    fn seen(&self) -> Result<Sessions, Failure> {
        let seen = self.stage.seen_so_far()?;
        if seen.begun().count() > 1 {
            return Err(Failure::said(
                "the program has several sessions of SCR; only programs with one can be looked at",
            ));
        }
        Ok(seen)
    }

    /// The name of the newest checkpoint.
    fn checkpoint(&self) -> Result<String, Failure> {
        let seen = self.seen()?;
        let last = seen.completed().last();
        Ok(last.map_or("a checkpoint".into(), |last| last.name.clone()))
    }

    fn first(&mut self, stopped: &[Stopped], first: String) -> Result<Found, Why> {
        let mut found = Found {
            table: Table::default(),
            ranks: stopped.len(),
            elsewhere: None,
            first,
            second: None,
            lists: stopped.iter().any(Stopped::lists),
            remote: remote(stopped),
            writes_files: stopped.iter().any(|rank| !rank.files.is_empty()),
            cut: false,
            cut_files: false,
            told: Told::Nothing,
        };
        if let Some(rank) = stopped.first() {
            let exe = std::fs::read_link(format!("/proc/{}/exe", rank.pid));
            found.told = exe.map_or(Told::Nothing, |exe| self.programs.told(&exe));
        }
        for stopped in stopped {
            self.look_at(stopped, &mut found)?;
        }
        found.cut_files = self.budget.is_spent();
        if found.table.is_empty() {
            let why = match found.told {
                Told::Nothing => {
                    "the program is stripped, so its variables have no names; link it without -s, and compile it with -g"
                }
                _ => "the program has no variables that can be seen",
            };
            return Err(Failure::said(why).into());
        }
        Ok(found)
    }

    fn look_at(&mut self, stopped: &Stopped, found: &mut Found) -> Result<(), Why> {
        let process = stopped.process()?;
        let variables::Seen { leaves, cut, .. } = self.programs.look(&process, &stopped.thread);
        found.cut |= cut;
        let shares = leaves.into_iter().filter_map(|leaf| {
            let leaf = leaf.fitted(&stopped.listed);
            let share = Share::of(&process, &leaf, &stopped.listed)?;
            Some((leaf, share))
        });
        let all: Vec<_> = shares.collect();
        let missing = all.iter().filter(|(_, share)| share.listed == 0);
        let missing: Vec<_> = missing.map(|(leaf, _)| leaf).collect();
        let mut in_files = self
            .budget
            .find(&process, &missing, &stopped.files)
            .into_iter();
        for (leaf, share) in &all {
            let in_file = match share.listed {
                0 => in_files.next().unwrap_or(InFile::No),
                _ => InFile::No,
            };
            let seen = Seen {
                leaf,
                share: *share,
                fields: fields(stopped, leaf, share),
                in_file,
            };
            found.table.add(stopped.rank, &seen);
        }
        Ok(())
    }

    fn second(&mut self, stopped: &[Stopped], found: &mut Found) -> Result<(), Why> {
        for stopped in stopped {
            let process = stopped.process()?;
            for leaf in self.programs.look(&process, &stopped.thread).leaves {
                let leaf = leaf.fitted(&stopped.listed);
                if let Some(share) = Share::of(&process, &leaf, &stopped.listed) {
                    let seen = Seen {
                        leaf: &leaf,
                        share,
                        fields: fields(stopped, &leaf, &share),
                        in_file: InFile::No,
                    };
                    found.table.compare(stopped.rank, &seen);
                }
            }
        }
        Ok(())
    }

    /// The reason why there was no checkpoint to look at.
    fn why_not(&self, in_time: bool) -> Result<&'static str, Failure> {
        let seen = self.seen()?;
        Ok(if seen.completed().next().is_some() {
            "the program did not stop for a look: it is linked with an older SCR"
        } else if !in_time {
            "the program has not come to its first checkpoint within --limit"
        } else if seen.begun().next().is_none() {
            "the program ended and has not called SCR_Init: it is not linked with SCR, or SCR_ENABLE is 0"
        } else {
            "the program ended before its first checkpoint was complete; let it run longer, or write one earlier"
        })
    }
}

/// The fields that have some of a leaf.
fn fields(stopped: &Stopped, leaf: &variables::Leaf, share: &Share) -> Vec<String> {
    if share.listed == 0 {
        return Vec::new();
    }
    let all = stopped.fields.iter();
    all.filter(|(_, memory)| leaf.is_in(memory))
        .map(|(name, _)| name.clone())
        .collect()
}
