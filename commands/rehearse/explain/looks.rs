//! Launches of the program that stop, and what is seen of its variables then.

use super::super::super::call::Failure;
use super::super::Signals;
use super::super::plan::Placement;
use super::super::stage::{NODES, Stage, copy};
use super::stops::{Held, Stopped, Why, remote};
use scr_engine::Error;
use scr_engine::format::stop::Moment;
use scr_jobs::variables::image::{Difference, Image};
use scr_jobs::variables::{Programs, Seen, Told};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When the values of two runs are compared.
#[derive(Debug, Clone)]
pub(super) struct Moments {
    /// After so many checkpoints of the undisturbed run, and after a restart from the last of these.
    pub count: usize,
    /// Its name.
    pub name: String,
    pub second: Second,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Second {
    /// The next checkpoint, of this name.
    Next(String),
    /// The end of the run.
    End,
}

impl Second {
    fn has_come(&self, moment: Moment) -> bool {
        match self {
            Second::Next(_) => matches!(moment, Moment::Checkpoint | Moment::End),
            Second::End => moment == Moment::End,
        }
    }
}

/// What differs between a rank of a restarted run and the same rank of the undisturbed one.
pub(super) type Found = Vec<(usize, Difference)>;

/// A restart.
pub(super) struct Look {
    pub restored: Found,
    /// All that was compared after the restart: ranks and keys.
    pub known: BTreeSet<(usize, String)>,
    pub second: Found,
    /// The program has listed its state.
    pub lists: bool,
    /// The names of fields in memory that cannot be looked at.
    pub remote: Vec<String>,
    /// More variables were there than can be looked at.
    pub cut: bool,
    pub told: Told,
    /// The generators of random numbers of libraries that the program calls.
    pub generators: Vec<&'static str>,
    /// At the end of the run: files with results that are other than undisturbed.
    pub results: Vec<PathBuf>,
}

/// Finds out which files with results in a directory are other than undisturbed.
pub(super) type Compare<'a> = dyn Fn(&Path) -> Result<Vec<PathBuf>, Failure> + 'a;

pub(super) struct Looks<'a> {
    stage: &'a Stage,
    place: Placement,
    limit: Duration,
    signals: Signals,
    programs: Programs,
    /// The values of each rank after the checkpoint, and at the second moment.
    first: Vec<Image>,
    later: Vec<Image>,
    launches: u32,
    compare: &'a Compare<'a>,
}

impl<'a> Looks<'a> {
    pub fn new(
        stage: &'a Stage,
        (place, limit): (Placement, Duration),
        signals: Signals,
        compare: &'a Compare<'a>,
    ) -> Self {
        Looks {
            compare,
            stage,
            place,
            limit,
            signals,
            programs: Programs::default(),
            first: Vec::new(),
            later: Vec::new(),
            launches: 0,
        }
    }

    fn start(&mut self, name: &str) -> Result<Held<'a>, Failure> {
        self.launches += 1;
        let name = format!("{}.{name}", self.launches);
        Held::start(self.stage, &self.place, &name, self.limit)
    }

    /// Runs the program undisturbed, and keeps its values and what it has written.
    pub fn undisturbed(&mut self, moments: &Moments) -> Result<(), Why> {
        clear(self.stage.dir())?;
        clear(&self.stage.behind().join(NODES))?;
        let mut held = self.start("undisturbed")?;
        let done = self.follow_undisturbed(&mut held, moments);
        held.finish()?;
        done
    }

    fn follow_undisturbed(&mut self, held: &mut Held<'_>, moments: &Moments) -> Result<(), Why> {
        let (mut count, mut first) = (0, true);
        while let Some(ranks) = held.next(&mut self.signals)? {
            let moment = ranks.first().map_or(Moment::End, |rank| rank.moment);
            if moment == Moment::Checkpoint {
                count += 1;
            }
            if first && count == moments.count {
                first = false;
                self.first = self.keep(&ranks, "first")?;
                self.keep_files()?;
            } else if !first && moments.second.has_come(moment) {
                self.later = self.keep(&ranks, "later")?;
                return Ok(());
            }
            held.go()?;
        }
        Err(Why::Unknown(
            "the program did not stop for a look: it is linked with an older SCR, or with none, or it ended early".into(),
        ))
    }

    /// Restarts the program from the checkpoint, gives the variables of these names the values of the undisturbed run, and
    /// compares. `None` if the program ends early or hangs.
    pub fn restarted(
        &mut self,
        moments: &Moments,
        put: &BTreeSet<String>,
    ) -> Result<Option<Look>, Why> {
        self.bring_files_back()?;
        let mut held = self.start("restarted")?;
        let done = self.follow_restarted(&mut held, moments, put);
        held.finish()?;
        done
    }

    fn follow_restarted(
        &mut self,
        held: &mut Held<'_>,
        moments: &Moments,
        put: &BTreeSet<String>,
    ) -> Result<Option<Look>, Why> {
        let mut look: Option<Look> = None;
        while let Some(ranks) = held.next(&mut self.signals)? {
            let moment = ranks.first().map_or(Moment::End, |rank| rank.moment);
            match &mut look {
                None if moment == Moment::Restored => {
                    let mut found = Look {
                        restored: Vec::new(),
                        known: BTreeSet::new(),
                        second: Vec::new(),
                        lists: ranks.iter().any(Stopped::lists),
                        remote: remote(&ranks),
                        cut: false,
                        told: Told::Nothing,
                        generators: Vec::new(),
                        results: Vec::new(),
                    };
                    self.compare_restored(&ranks, put, &mut found)?;
                    look = Some(found);
                }
                Some(found) if moments.second.has_come(moment) => {
                    for (rank, stopped) in ranks.iter().enumerate() {
                        let differ = self.compare(stopped, rank)?;
                        found
                            .second
                            .extend(differ.into_iter().map(|one| (rank, one)));
                    }
                    if moments.second == Second::End {
                        held.go_to_end(&mut self.signals)?;
                        found.results = (self.compare)(self.stage.dir())?;
                    }
                    return Ok(look);
                }
                // A program that does not restore begins from the beginning.
                None if moment != Moment::Output => return Ok(None),
                _ => {}
            }
            held.go()?;
        }
        Ok(None)
    }

    fn compare_restored(
        &mut self,
        ranks: &[Stopped],
        put: &BTreeSet<String>,
        look: &mut Look,
    ) -> Result<(), Why> {
        for (rank, stopped) in ranks.iter().enumerate() {
            let process = stopped.process()?;
            if rank == 0 {
                let exe = std::fs::read_link(format!("/proc/{}/exe", stopped.pid));
                if let Ok(exe) = exe {
                    look.told = self.programs.told(&exe);
                    look.generators = self.programs.generators(&exe);
                }
            }
            let Seen { leaves, cut, .. } = self.programs.look(&process, &stopped.thread);
            look.cut |= cut;
            let Some(image) = self.first.get(rank) else {
                continue;
            };
            let known = leaves.iter().filter(|leaf| image.has(&leaf.key));
            look.known
                .extend(known.map(|leaf| (rank, leaf.key.clone())));
            let differ = image.differences(&process, &leaves, &stopped.listed);
            let differ = differ.map_err(Failure::from)?;
            look.restored
                .extend(differ.into_iter().map(|one| (rank, one)));
            if !put.is_empty() {
                image
                    .put(&process, &leaves, (put, &stopped.listed))
                    .map_err(Failure::from)?;
            }
        }
        Ok(())
    }

    /// What differs at the second moment.
    fn compare(&mut self, stopped: &Stopped, rank: usize) -> Result<Vec<Difference>, Why> {
        let process = stopped.process()?;
        let seen = self.programs.look(&process, &stopped.thread);
        let Some(image) = self.later.get(rank) else {
            return Ok(Vec::new());
        };
        let found = image.differences(&process, &seen.leaves, &stopped.listed);
        Ok(found.map_err(Failure::from)?)
    }

    fn keep(&mut self, ranks: &[Stopped], name: &str) -> Result<Vec<Image>, Why> {
        let dir = self.beside("images");
        let made = std::fs::create_dir_all(&dir);
        made.map_err(|error| Failure::from(Error::io("create", &dir, error)))?;
        let mut images = Vec::new();
        for (rank, stopped) in ranks.iter().enumerate() {
            let process = stopped.process()?;
            let seen = self.programs.look(&process, &stopped.thread);
            let path = dir.join(format!("{name}.{rank}"));
            let image = Image::take(&path, &process, seen.leaves);
            images.push(image.map_err(Failure::from)?);
        }
        Ok(images)
    }

    /// The directory `explain.NAME` of the rehearsal.
    fn beside(&self, name: &str) -> PathBuf {
        let own = self.stage.dir().file_name().unwrap_or_default();
        let own = own.to_string_lossy();
        self.stage.dir().with_file_name(format!("{own}.{name}"))
    }

    /// Keeps what the program has written, with its checkpoint.
    fn keep_files(&self) -> Result<(), Failure> {
        let kept = self.beside("kept");
        let _ = std::fs::remove_dir_all(&kept);
        std::fs::create_dir_all(&kept).map_err(|error| Error::io("create", &kept, error))?;
        copy(self.stage.dir(), &kept.join("dir"))?;
        copy(&self.stage.behind().join(NODES), &kept.join(NODES))
    }

    fn bring_files_back(&self) -> Result<(), Failure> {
        let kept = self.beside("kept");
        let nodes = self.stage.behind().join(NODES);
        clear(self.stage.dir())?;
        clear(&nodes)?;
        copy(&kept.join("dir"), self.stage.dir())?;
        copy(&kept.join(NODES), &nodes)
    }
}

/// Removes what is in a directory.
fn clear(dir: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::from(Error::io("clear", dir, error));
    std::fs::remove_dir_all(dir).map_err(failed)?;
    std::fs::create_dir_all(dir).map_err(failed)
}
