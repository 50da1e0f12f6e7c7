//! A run, as its records in the log tell it.

use scr_engine::events::{Event, EventKind};
use scr_engine::log::Record;

/// The activity of a run at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Activity {
    Compute,
    /// Output that is no checkpoint is written.
    Output,
    /// A checkpoint is written and made redundant.
    Checkpoint,
    /// A dataset is copied to the prefix directory, and the program waits.
    Flush,
    /// A cached dataset is checked and rebuilt.
    Rebuild,
    /// A checkpoint is fetched from the prefix directory.
    Fetch,
    /// The program reads a checkpoint.
    Read,
}

/// A time in which a run does one thing. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    pub activity: Activity,
    pub begin: f64,
    pub end: f64,
    /// The duration of the phase, without phases inside of it.
    pub seconds: f64,
    pub dataset: Option<u64>,
    /// A flush between the beginning of a checkpoint and the computation after it.
    pub of_checkpoint: bool,
    /// True if its end is in the log, and it is not a checkpoint that failed.
    pub is_whole: bool,
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The run has ended by itself: with `END` or `HALT`.
    Itself,
    /// The run was killed, and `RUN_END` of `scr run` has the time.
    KilledAt,
    /// The run was killed after its last record.
    KilledAfter,
    /// No record after it shows that the run has ended.
    Unknown,
}

impl Ending {
    pub fn is_failure(self) -> bool {
        matches!(self, Ending::KilledAt | Ending::KilledAfter)
    }
}

/// A complete checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    pub id: u64,
    pub name: Option<String>,
    pub at: f64,
}

/// A run: from `SCR_Init` to `SCR_Finalize`, or until it was killed.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub job: String,
    pub begin: f64,
    /// The time of the last record of the run, or of its end.
    pub end: f64,
    pub ending: Option<Ending>,
    /// The duration of the run, if the record `END` has it.
    seconds: Option<f64>,
    pub procs: Option<u64>,
    pub nodes: Option<u64>,
    /// The phases of the run, in the order of their ends. A phase inside of another phase comes before
    /// it.
    pub phases: Vec<Phase>,
    /// Flushes in the background.
    pub background: Vec<Phase>,
    /// The checkpoints that it completed.
    pub checkpoints: Vec<Done>,
    /// The last checkpoint that the program read.
    read: Option<(u64, Option<String>)>,
    /// The last checkpoint that was recovered or fetched for it.
    offered: Option<(u64, Option<String>)>,
    /// Notes of nodes that failed in it or before the next run.
    pub node_failures: Vec<String>,
    /// Seconds without progress, if it was ended for that.
    pub hang: Option<f64>,
    /// Times whose work was lost.
    pub lost: Vec<(f64, f64)>,
    /// Number of times that the clock went back.
    pub clock_steps: u64,
    halted: bool,
    in_checkpoint: bool,
    open: Vec<OpenPhase>,
    flushing: Vec<OpenPhase>,
    newest: f64,
}

#[derive(Debug, Clone)]
struct OpenPhase {
    activity: Activity,
    dataset: Option<u64>,
    begin: f64,
    /// Seconds of phases inside of it.
    inside: f64,
}

impl Run {
    /// A run that begins with this record.
    pub fn begun(record: &Record) -> Self {
        let time = record.at();
        let begin = match record.event {
            Event::Start => time,
            // The beginning is not in the log.
            _ if record.event.kind() == EventKind::Incident => time - record.secs.unwrap_or(0.0),
            _ => time,
        };
        Run {
            job: record.job.clone(),
            begin,
            end: time,
            newest: time,
            procs: record.procs,
            nodes: record.nodes,
            ..Run::default()
        }
    }

    /// The duration of the run, seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or((self.end - self.begin).max(0.0))
    }

    /// Id and name of the checkpoint that it went on from.
    pub fn restart(&self) -> Option<&(u64, Option<String>)> {
        self.read.as_ref().or(self.offered.as_ref())
    }

    /// True if the log has that the program began to read it.
    pub fn has_read(&self) -> bool {
        self.read.is_some()
    }

    /// The writing of this checkpoint, if the run was killed before the log had its end.
    pub fn cut_off_checkpoint(&self, id: u64) -> Option<&Phase> {
        let last = self.phases.iter().rev();
        let mut last = last.filter(|phase| phase.activity == Activity::Checkpoint);
        last.next()
            .filter(|phase| phase.dataset == Some(id) && !phase.is_whole)
    }

    /// True if it got as far as to compute.
    pub fn computed(&self) -> bool {
        self.read.is_some() || self.phases.iter().any(|p| p.activity == Activity::Compute)
    }

    /// Ends the run, if it has not ended. `at` is the time of its end, if it is known.
    pub fn close(&mut self, at: Option<f64>) {
        if self.ending.is_some() {
            return;
        }
        let ending = match (self.halted, at) {
            (true, _) => Ending::Itself,
            (false, Some(_)) => Ending::KilledAt,
            (false, None) => Ending::KilledAfter,
        };
        self.end_with(ending, at);
    }

    /// Ends the run with the end of the log.
    pub fn end_of_log(&mut self) {
        match self.halted {
            true => self.close(None),
            false if self.ending.is_none() => self.end_with(Ending::Unknown, None),
            false => {}
        }
    }

    fn end_with(&mut self, ending: Ending, at: Option<f64>) {
        self.ending = Some(ending);
        self.end = self.end.max(at.unwrap_or(self.end));
        // The phases that were open when the run ended.
        while let Some(last) = self.open.pop() {
            self.finish(&last, self.end, None);
        }
        self.open = Vec::new();
    }

    /// Takes a record of the run itself.
    pub fn take(&mut self, record: &Record) {
        let time = record.at();
        let reached = match record.event.kind() {
            EventKind::Transfer => time + record.secs.unwrap_or(0.0),
            EventKind::Incident => {
                // Two clocks may differ by the end of a second.
                self.clock_steps += u64::from(time < self.newest - 1.0);
                self.newest = time;
                time
            }
        };
        if self.ending.is_none() {
            self.end = self.end.max(reached);
        }
        self.change_state(record);
        let Some((activity, is_end)) = phase_of(&record.event) else {
            return;
        };
        if is_end {
            self.close_phase(activity, record)
        } else {
            self.open_phase(activity, record)
        }
    }

    fn change_state(&mut self, record: &Record) {
        let named = || record.dset.map(|id| (id, record.name.clone()));
        match record.event {
            Event::End => {
                self.seconds = record.secs;
                if self.ending.is_none() {
                    // If the log has whole seconds, its times differ from this by less than one
                    // second.
                    let length = record.secs.unwrap_or(0.0);
                    if (record.at() - self.begin - length).abs() < 1.0 {
                        self.begin = record.at() - length;
                    }
                    self.end_with(Ending::Itself, Some(record.at()));
                }
            }
            Event::Halt => self.halted = true,
            Event::CheckpointStart => self.in_checkpoint = true,
            Event::CheckpointEnd => {
                let done = |(id, name)| Done {
                    id,
                    name,
                    at: record.at(),
                };
                self.checkpoints.extend(named().map(done));
            }
            Event::ComputeStart => {
                self.in_checkpoint = false;
                // No other phase goes on any more, even if the log lacks its end.
                while let Some(last) = self.open.pop() {
                    if last.activity == Activity::Compute {
                        self.finish(&last, record.at(), None);
                    }
                }
            }
            Event::RestartStart => self.read = named(),
            // The note says why the program could not read it.
            Event::RestartEnd if record.note.is_some() => self.read = None,
            Event::RestartSuccess => {
                self.offered = named();
                self.add_recovery(record);
            }
            Event::RestartFail => self.add_recovery(record),
            Event::FetchSuccess => self.offered = named(),
            Event::AsyncFlushStart => self.flushing.push(OpenPhase {
                activity: Activity::Flush,
                dataset: record.dset,
                begin: record.at(),
                inside: 0.0,
            }),
            Event::AsyncFlushSuccess | Event::AsyncFlushFail | Event::AsyncFlushCancel => {
                self.end_background(record);
            }
            _ => {}
        }
    }

    /// All rebuilds together, if the log lacks them one by one.
    fn add_recovery(&mut self, record: &Record) {
        let known = |phase: &Phase| phase.activity == Activity::Rebuild;
        if !self.phases.iter().any(known) && record.secs.is_some() {
            self.close_phase(Activity::Rebuild, record);
        }
    }

    fn end_background(&mut self, record: &Record) {
        let end = record.at();
        let of_dataset = |open: &OpenPhase| open.dataset == record.dset;
        let begun = self.flushing.iter().rposition(of_dataset);
        let begun = begun.map(|at| self.flushing.remove(at).begin);
        let passed = begun.map_or(0.0, |begun| (end - begun).max(0.0));
        let seconds = record.secs.unwrap_or(passed);
        self.background.push(Phase {
            activity: Activity::Flush,
            begin: end - seconds,
            end,
            seconds,
            dataset: record.dset,
            of_checkpoint: false,
            is_whole: true,
        });
    }

    fn open_phase(&mut self, activity: Activity, record: &Record) {
        self.open.push(OpenPhase {
            activity,
            dataset: record.dset,
            begin: record.at(),
            inside: 0.0,
        });
    }

    fn close_phase(&mut self, activity: Activity, record: &Record) {
        let end = record.at();
        let at = self.open.iter().rposition(|open| open.activity == activity);
        let open = at.and_then(|at| self.open.drain(at..).next());
        let open = open.unwrap_or(OpenPhase {
            activity,
            dataset: None,
            begin: end,
            inside: 0.0,
        });
        self.finish(&open, end, Some(record));
    }

    /// Adds a phase that ends at `end`, with this record. A phase without a record was cut off.
    fn finish(&mut self, open: &OpenPhase, end: f64, record: Option<&Record>) {
        let seconds = record.and_then(|record| record.secs);
        let seconds = seconds.unwrap_or((end - open.begin).max(0.0));
        if let Some(around) = self.open.last_mut() {
            around.inside += seconds;
        }
        self.phases.push(Phase {
            activity: open.activity,
            begin: end - seconds,
            end,
            seconds: (seconds - open.inside).max(0.0),
            dataset: record.and_then(|record| record.dset).or(open.dataset),
            of_checkpoint: self.in_checkpoint,
            is_whole: record.is_some_and(|record| record.event != Event::CheckpointFail),
        });
    }
}

/// The phase that an event begins, or ends (true).
fn phase_of(event: &Event) -> Option<(Activity, bool)> {
    Some(match event {
        Event::ComputeStart => (Activity::Compute, false),
        Event::ComputeEnd => (Activity::Compute, true),
        Event::CheckpointStart => (Activity::Checkpoint, false),
        Event::CheckpointEnd | Event::CheckpointFail => (Activity::Checkpoint, true),
        Event::OutputStart => (Activity::Output, false),
        Event::OutputEnd | Event::OutputFail => (Activity::Output, true),
        Event::FlushStart => (Activity::Flush, false),
        Event::FlushSuccess | Event::FlushFail => (Activity::Flush, true),
        Event::RebuildStart => (Activity::Rebuild, false),
        Event::RebuildSuccess | Event::RebuildFail => (Activity::Rebuild, true),
        Event::FetchStart => (Activity::Fetch, false),
        Event::FetchSuccess | Event::FetchFail => (Activity::Fetch, true),
        Event::RestartStart => (Activity::Read, false),
        Event::RestartEnd => (Activity::Read, true),
        _ => return None,
    })
}
