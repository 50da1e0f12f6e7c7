//! The stops of a program, at which its memory is looked at: the command's side of `library/capi/stops.rs`.

use super::super::super::call::Failure;
use super::super::super::run::Signals;
use super::super::plan::Placement;
use super::super::stage::{STOPS, Stage};
use scr_engine::Error;
use scr_engine::system::process;
use scr_engine::system::time::Instant;
use scr_jobs::variables::image::Listed;
use scr_jobs::variables::{Frame, Process, Thread};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// The library stops if this variable names a directory.
pub(crate) const VARIABLE: &str = "SCR_REHEARSAL_STOPS";

/// Time between two looks whether all ranks have stopped.
const TICK: Duration = Duration::from_millis(5);

/// Makes the directory of a rank that is about to be started; `None` if the program is not to stop.
pub(crate) fn prepare(stage: &Path, rank: usize) -> Result<Option<PathBuf>, Failure> {
    let stops = stage.join(STOPS);
    let Ok(command) = std::fs::read_to_string(stops.join("command")) else {
        return Ok(None);
    };
    let dir = stops.join(rank.to_string());
    let made = std::fs::create_dir_all(&dir).map_err(|error| Error::io("create", &dir, error));
    let file = dir.join("command");
    made.and_then(|()| {
        std::fs::write(&file, command).map_err(|error| Error::io("write", &file, error))
    })?;
    Ok(Some(dir))
}

/// The reason for a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Restored,
    Checkpoint,
    Output,
    End,
}

/// A rank that has stopped.
#[derive(Debug)]
pub(in super::super) struct Stopped {
    number: u64,
    pub kind: Kind,
    pub pid: u32,
    pub listed: Listed,
    /// The memory of each field, by its name.
    pub fields: Vec<(String, Listed)>,
    /// The files of the dataset that was written last: names in the program, and paths.
    pub files: Vec<(String, PathBuf)>,
    pub thread: Thread,
}

impl Stopped {
    /// Reads the record of a stop; `None` if it is not whole.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut words = lines.next()?.strip_prefix("stop ")?.split(' ');
        let number = words.next()?.parse().ok()?;
        let kind = match words.next()? {
            "restored" => Kind::Restored,
            "checkpoint" => Kind::Checkpoint,
            "output" => Kind::Output,
            _ => Kind::End,
        };
        let mut stopped = Stopped {
            number,
            kind,
            pid: lines.next()?.strip_prefix("process ")?.parse().ok()?,
            listed: Listed::default(),
            fields: Vec::new(),
            files: Vec::new(),
            thread: Thread::default(),
        };
        for line in lines {
            match line.split_once(' ') {
                None if line == "done" => {
                    stopped.listed.settle();
                    stopped.settle_frames();
                    return Some(stopped);
                }
                Some(("field", rest)) => stopped.field(rest)?,
                Some(("file", path)) => stopped.files.push((String::new(), path.into())),
                // Files come after all fields.
                Some(("name", rest)) => {
                    let field = stopped.fields.last_mut().map(|(name, _)| name);
                    let file = stopped.files.last_mut().map(|(name, _)| name);
                    *file.or(field)? = rest.to_string();
                }
                Some(("thread", rest)) => {
                    stopped.thread.pointer = u64::from_str_radix(rest, 16).ok()?;
                }
                Some(("frame", rest)) => stopped.thread.frames.push(frame(rest)?),
                _ => return None,
            }
        }
        None
    }

    /// The unwinder gives with each frame the canonical address of the frame that it has called.
    fn settle_frames(&mut self) {
        let frames = &mut self.thread.frames;
        let outer: Vec<u64> = frames.iter().skip(1).map(|frame| frame.cfa).collect();
        frames.truncate(outer.len());
        for (frame, cfa) in frames.iter_mut().zip(outer) {
            frame.stack = frame.cfa;
            frame.cfa = cfa;
        }
    }

    fn field(&mut self, text: &str) -> Option<()> {
        let (address, rest) = text.split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let numbers: Option<Vec<i64>> = rest.split(' ').map(|word| word.parse().ok()).collect();
        let numbers = numbers?;
        let (size, dims) = numbers.split_first()?;
        let dims: Option<Vec<(u64, i64)>> = dims
            .chunks(2)
            .map(|pair| Some((u64::try_from(*pair.first()?).ok()?, *pair.get(1)?)))
            .collect();
        let (size, dims) = (u64::try_from(*size).ok()?, dims?);
        let mut own = Listed::default();
        own.add(address, size, &dims);
        own.settle();
        self.listed.add(address, size, &dims);
        self.fields.push((String::new(), own));
        Some(())
    }

    /// # Errors
    /// The memory cannot be read.
    pub fn process(&self) -> Result<Process, Failure> {
        Process::open(self.pid).map_err(|error| {
            Failure::said(format!(
                "the memory of process {} cannot be looked at: {error}; containers and the setting kernel.yama.ptrace_scope can \
                 forbid it",
                self.pid
            ))
        })
    }
}

fn frame(text: &str) -> Option<Frame> {
    let mut words = text.split(' ');
    let mut next = || u64::from_str_radix(words.next()?, 16).ok();
    Some(Frame {
        instruction: next()?,
        cfa: next()?,
        pointer: next()?,
        registers: next()?,
        ..Frame::default()
    })
}

/// A launch that stops.
pub(in super::super) struct Held<'a> {
    stage: &'a Stage,
    child: Child,
    ranks: usize,
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
        let file = stops.join("command");
        std::fs::create_dir_all(&stops)
            .and_then(|()| std::fs::write(&file, process::id().to_string()))
            .map_err(|error| Error::io("write", &file, error))?;
        let log = stage.behind().join(format!("output.{name}"));
        Ok(Held {
            stage,
            child: stage.start(place, &log)?,
            ranks: place.ranks(),
            count: 0,
            end: Instant::now() + limit,
        })
    }

    /// Waits until all ranks have stopped; `None` if the program has ended, or its time is over.
    pub fn next(&mut self, signals: &mut Signals) -> Result<Option<Vec<Stopped>>, Failure> {
        self.next_until(signals, self.end)
    }

    /// Like [`Held::next`], and `None` if this time is over.
    pub fn next_until(
        &mut self,
        signals: &mut Signals,
        end: Instant,
    ) -> Result<Option<Vec<Stopped>>, Failure> {
        loop {
            let all: Option<Vec<Stopped>> =
                (0..self.ranks).map(|rank| self.stopped(rank)).collect();
            if let Some(all) = all {
                self.count += 1;
                return Ok(Some(all));
            }
            if self.has_ended() || Instant::now() > end {
                return Ok(None);
            }
            if let Some((_, name)) = signals.end() {
                self.finish()?;
                return Err(Failure::said(format!(
                    "{name} was received, so the launch was ended"
                )));
            }
            signals.wait(TICK);
        }
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Number of ranks that have stopped, but for those that are at their end, which may be long before the others.
    pub fn waiting(&self) -> usize {
        let stopped = (0..self.ranks).filter_map(|rank| self.stopped(rank));
        stopped.filter(|stopped| stopped.kind != Kind::End).count()
    }

    fn rank_dir(&self, rank: usize) -> PathBuf {
        self.stage.behind().join(STOPS).join(rank.to_string())
    }

    fn stopped(&self, rank: usize) -> Option<Stopped> {
        let text = std::fs::read_to_string(self.rank_dir(rank).join("stop")).ok()?;
        Stopped::parse(&text).filter(|stopped| stopped.number == self.count + 1)
    }

    /// Lets all ranks go on.
    pub fn go(&self) -> Result<(), Failure> {
        for rank in 0..self.ranks {
            let (new, file) = (
                self.rank_dir(rank).join("new.go"),
                self.rank_dir(rank).join("go"),
            );
            std::fs::write(&new, self.count.to_string())
                .and_then(|()| std::fs::rename(&new, &file))
                .map_err(|error| Error::io("write", &file, error))?;
        }
        Ok(())
    }

    /// Lets all ranks go on, and waits until the program has ended, or its time is over.
    pub fn go_to_end(&mut self, signals: &mut Signals) -> Result<(), Failure> {
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
        let text = "stop 3 checkpoint 0\nprocess 77\nfield 1000 8 4 8\nname u\nfield 2000 8 3 16 2 256\nname the wind\n\
                    file /cache/rank 0\nname ck.1/rank 0\nthread 7f00\nframe 1f 2e 3d 4c\nframe 4f 5e 6d 7c\ndone\n";
        let stopped = Stopped::parse(text).unwrap();
        assert_eq!(
            (stopped.number, stopped.kind, stopped.pid),
            (3, Kind::Checkpoint, 77)
        );
        let listed = |address| stopped.listed.has(address);
        assert!(listed(0x1000) && listed(0x101f) && !listed(0x1020));
        assert!(listed(0x2010) && !listed(0x2008) && listed(0x2100) && !listed(0x2200));
        let names: Vec<&str> = stopped.fields.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["u", "the wind"]);
        assert!(stopped.fields[1].1.has(0x2010) && !stopped.fields[1].1.has(0x1000));
        let file = ("ck.1/rank 0".to_string(), PathBuf::from("/cache/rank 0"));
        assert_eq!(stopped.files, [file]);
        let thread = &stopped.thread;
        let [frame] = thread.frames[..] else {
            panic!("{thread:?}")
        };
        assert_eq!((frame.cfa, frame.stack, frame.pointer), (0x5e, 0x2e, 0x3d));
        assert_eq!(thread.pointer, 0x7f00);
        assert!(Stopped::parse(text.strip_suffix("done\n").unwrap()).is_none());
        assert!(Stopped::parse("").is_none());
    }
}
