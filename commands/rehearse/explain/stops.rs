//! The stops of a program, at which its memory is looked at: the command's side of `library/capi/stops.rs`.

use super::super::super::call::Failure;
use super::super::super::run::Signals;
use super::super::plan::Placement;
use super::super::processes::{Rank, in_words, refusal};
use super::super::stage::{STOPS, Stage};
use super::forbidden;
use scr_engine::format::stop::{COMMAND, GO, Moment, OtherForm, RECORD, Stop};
use scr_engine::job::Machine;
use scr_engine::system::process;
use scr_engine::system::time::Instant;
use scr_engine::text::{escaped, excerpt};
use scr_engine::{Error, version};
use scr_jobs::variables::image::Listed;
use scr_jobs::variables::{Frame, Process, Thread};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// Time between two looks whether all ranks have stopped.
const TICK: Duration = Duration::from_millis(5);

/// The reason why there is nothing to tell of the variables.
pub(in super::super) enum Why {
    Unknown(String),
    /// The program cannot be looked at from here.
    Forbidden(String),
    Failed(Failure),
}

impl From<Failure> for Why {
    fn from(failure: Failure) -> Self {
        Why::Failed(failure)
    }
}

/// Makes the directory of a rank that is about to be started; `None` if the program is not to stop, or runs on another machine
/// than the command.
pub(crate) fn prepare(stage: &Path, rank: usize) -> Result<Option<PathBuf>, Failure> {
    let stops = stage.join(STOPS);
    let Ok(command) = std::fs::read_to_string(stops.join(COMMAND)) else {
        return Ok(None);
    };
    let machine = command.lines().nth(1).and_then(Machine::parse);
    if !machine.is_some_and(|machine| Machine::here().has_the_processes_of(&machine)) {
        return Ok(None);
    }
    let dir = stops.join(rank.to_string());
    let made = std::fs::create_dir_all(&dir).map_err(|error| Error::io("create", &dir, error));
    let file = dir.join(COMMAND);
    made.and_then(|()| {
        std::fs::write(&file, command).map_err(|error| Error::io("write", &file, error))
    })?;
    Ok(Some(dir))
}

/// A rank that has stopped.
#[derive(Debug)]
pub(in super::super) struct Stopped {
    pub rank: usize,
    pub moment: Moment,
    pub pid: u32,
    pub listed: Listed,
    /// The memory of each field, by its name.
    pub fields: Vec<(String, Listed)>,
    /// The names of fields in memory that cannot be looked at, as that of a device.
    pub remote: Vec<String>,
    /// The files of the dataset that was written last: names in the program, and paths.
    pub files: Vec<(String, PathBuf)>,
    pub thread: Thread,
}

/// The names of fields that some rank has in memory that cannot be looked at.
pub(in super::super) fn remote(ranks: &[Stopped]) -> Vec<String> {
    let names = ranks.iter().flat_map(|rank| &rank.remote);
    let names: BTreeSet<&String> = names.collect();
    names.into_iter().cloned().collect()
}

/// The line that names them, for people.
pub(in super::super) fn not_looked_at(remote: &[String]) -> Option<String> {
    let names: Vec<_> = remote.iter().map(|name| escaped(name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "  fields that are not looked at, as the processor does not read their memory: {}",
            excerpt(&names.join(", "), 300)
        )
    })
}

impl Stopped {
    /// True if the program has listed its state.
    pub fn lists(&self) -> bool {
        !self.listed.is_empty() || !self.remote.is_empty()
    }

    fn of(rank: usize, stop: Stop) -> Self {
        let mut listed = Listed::default();
        let mut fields = Vec::new();
        for field in stop.fields {
            let mut own = Listed::default();
            own.add(field.address, field.size, &field.dims);
            own.settle();
            listed.add(field.address, field.size, &field.dims);
            fields.push((field.name, own));
        }
        listed.settle();
        // The unwinder gives with each frame the canonical address of the frame that it has called.
        let outer = stop.frames.iter().skip(1);
        let frames = stop.frames.iter().zip(outer).map(|(frame, outer)| Frame {
            instruction: frame.instruction,
            cfa: outer.cfa,
            pointer: frame.pointer,
            stack: frame.cfa,
            registers: frame.registers,
            ..Frame::default()
        });
        Stopped {
            rank,
            moment: stop.moment,
            pid: stop.process,
            listed,
            fields,
            remote: stop.remote,
            files: (stop.files.into_iter())
                .map(|(name, path)| (name, path.into()))
                .collect(),
            thread: Thread {
                frames: frames.collect(),
                pointer: stop.thread,
            },
        }
    }

    /// # Errors
    /// The memory cannot be read.
    pub fn process(&self) -> Result<Process, Why> {
        Process::open(self.pid).map_err(|error| {
            Why::Forbidden(format!(
                "the memory of rank {} (process {}) cannot be looked at: {}",
                self.rank,
                self.pid,
                forbidden::why(self.pid, &error)
            ))
        })
    }
}

/// The library of the program writes other records than this command reads.
fn other_form(other: &OtherForm) -> Why {
    let own = version::RELEASE;
    Why::Forbidden(match &other.release {
        Some(release) if release != own => format!(
            "the program is linked with scr-rs {release}, whose stops this scr, which is of scr-rs {own}, cannot read: use the scr \
             command of that release"
        ),
        Some(_) => format!(
            "the program is linked with another build of scr-rs {own}, whose stops this scr cannot read: use the scr command of \
             that build"
        ),
        None => format!(
            "the program is linked with an scr-rs whose stops this scr, which is of scr-rs {own}, cannot read: use the scr command \
             of the same release"
        ),
    })
}

/// A launch that stops.
pub(in super::super) struct Held<'a> {
    stage: &'a Stage,
    child: Child,
    ranks: usize,
    /// Those that stop, as soon as all have been started.
    here: Vec<usize>,
    /// Those that run on other machines, and do not stop.
    elsewhere: Vec<Rank>,
    /// Number of stops so far.
    count: u64,
    end: Instant,
}

impl<'a> Held<'a> {
    pub fn start(
        stage: &'a Stage,
        place: &Placement,
        name: &str,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let stops = stage.behind().join(STOPS);
        let _ = std::fs::remove_dir_all(&stops);
        let file = stops.join(COMMAND);
        let command = format!("{}\n{}\n", process::id(), Machine::here());
        std::fs::create_dir_all(&stops)
            .and_then(|()| std::fs::write(&file, command))
            .map_err(|error| Error::io("write", &file, error))?;
        let log = stage.behind().join(format!("output.{name}"));
        Ok(Held {
            stage,
            child: stage.start(place, &log)?,
            ranks: place.ranks(),
            here: Vec::new(),
            elsewhere: Vec::new(),
            count: 0,
            end: Instant::now() + limit,
        })
    }

    /// Waits until all ranks have stopped; `None` if the program has ended, or its time is over.
    pub fn next(&mut self, signals: &mut Signals) -> Result<Option<Vec<Stopped>>, Why> {
        self.next_until(signals, self.end)
    }

    /// Like [`Held::next`], and `None` if this time is over.
    pub fn next_until(
        &mut self,
        signals: &mut Signals,
        end: Instant,
    ) -> Result<Option<Vec<Stopped>>, Why> {
        loop {
            if self.find_ranks()?
                && let Some(all) = self.all()?
            {
                self.count += 1;
                return Ok(Some(all));
            }
            if self.has_ended() || Instant::now() > end {
                return Ok(None);
            }
            if let Some((_, name)) = signals.end() {
                self.finish()?;
                let why = format!("{name} was received, so the launch was ended");
                return Err(Failure::said(why).into());
            }
            signals.wait(TICK);
        }
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Number of ranks that have stopped, but for those that are at their end, which may be long before the others.
    pub fn waiting(&self) -> usize {
        let stopped = self.here.iter();
        let stopped = stopped.filter_map(|rank| self.stopped(*rank).ok()?);
        stopped
            .filter(|stopped| stopped.moment != Moment::End)
            .count()
    }

    /// The ranks that were not looked at.
    pub fn elsewhere_in_words(&self) -> Option<String> {
        let some = !self.elsewhere.is_empty();
        some.then(|| in_words(&self.elsewhere, self.ranks))
    }

    fn rank_dir(&self, rank: usize) -> PathBuf {
        self.stage.behind().join(STOPS).join(rank.to_string())
    }

    /// Finds out which ranks stop. False as long as not all have been started.
    fn find_ranks(&mut self) -> Result<bool, Why> {
        if self.here.is_empty() {
            let (elsewhere, are_all) = self.stage.elsewhere(self.ranks);
            if elsewhere.len() == self.ranks {
                return Err(Why::Unknown(refusal(&elsewhere, self.ranks)));
            }
            if are_all {
                let is_here = |rank: &usize| elsewhere.iter().all(|one| one.number != *rank);
                self.here = (0..self.ranks).filter(is_here).collect();
                self.elsewhere = elsewhere;
            }
        }
        Ok(!self.here.is_empty())
    }

    /// All ranks that stop, if they have stopped.
    fn all(&self) -> Result<Option<Vec<Stopped>>, Why> {
        let here = self.here.iter();
        here.map(|rank| self.stopped(*rank)).collect()
    }

    fn stopped(&self, rank: usize) -> Result<Option<Stopped>, Why> {
        let path = self.rank_dir(rank).join(RECORD);
        let Ok(text) = std::fs::read_to_string(path) else {
            return Ok(None);
        };
        let stop = Stop::decode(&text).map_err(|other| other_form(&other))?;
        let (here, there) = (Machine::here(), Machine::parse(&stop.machine));
        if let Some(there) = there.filter(|there| !here.has_the_processes_of(there)) {
            return Err(Why::Forbidden(format!(
                "the memory of rank {rank} cannot be looked at: it runs {}, and scr rehearse on {}; start scr rehearse in the same \
                 container, or the container without process ids of its own",
                here.in_words(&there),
                here.host
            )));
        }
        Ok((stop.number == self.count + 1).then(|| Stopped::of(rank, stop)))
    }

    /// Lets all ranks go on.
    pub fn go(&self) -> Result<(), Failure> {
        for rank in self.here.iter().copied() {
            let (new, file) = (
                self.rank_dir(rank).join("new.go"),
                self.rank_dir(rank).join(GO),
            );
            std::fs::write(&new, self.count.to_string())
                .and_then(|()| std::fs::rename(&new, &file))
                .map_err(|error| Error::io("write", &file, error))?;
        }
        Ok(())
    }

    /// Lets all ranks go on, and waits until the program has ended, or its time is over.
    pub fn go_to_end(&mut self, signals: &mut Signals) -> Result<(), Why> {
        self.go()?;
        while self.next(signals)?.is_some() {
            self.go()?;
        }
        Ok(())
    }

    /// Ends the launch as a failure would.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.stage.kill(|_, _| true);
        self.stage.bury(&mut self.child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_a_stop_is_read() {
        let text = "stops 2 of scr-rs 0.1.0\nstop 3 checkpoint\nprocess 77 on node1 1:2\nfield 1000 8 4 8\nname u\n\
                    field 2000 8 3 16 2 256\nname the wind\nremote heat\nfile /cache/rank 0\nname ck.1/rank 0\nthread 7f00\n\
                    frame 1f 2e 3d 4c\nframe 4f 5e 6d 7c\ndone\n";
        let stopped = Stopped::of(0, Stop::decode(text).unwrap());
        assert_eq!((stopped.moment, stopped.pid), (Moment::Checkpoint, 77));
        let listed = |address| stopped.listed.has(address);
        assert!(listed(0x1000) && listed(0x101f) && !listed(0x1020));
        assert!(listed(0x2010) && !listed(0x2008) && listed(0x2100) && !listed(0x2200));
        let names: Vec<&str> = stopped.fields.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["u", "the wind"]);
        assert!(stopped.fields[1].1.has(0x2010) && !stopped.fields[1].1.has(0x1000));
        assert!(stopped.lists() && stopped.remote == ["heat"]);
        let file = ("ck.1/rank 0".to_string(), PathBuf::from("/cache/rank 0"));
        assert_eq!(stopped.files, [file]);
        let thread = &stopped.thread;
        let [frame] = thread.frames[..] else {
            panic!("{thread:?}")
        };
        assert_eq!((frame.cfa, frame.stack, frame.pointer), (0x5e, 0x2e, 0x3d));
        assert_eq!(thread.pointer, 0x7f00);
    }
}
