//! What happens to the processes of a run while it goes on: one is stopped, and one that was stopped in the
//! run before goes on; clocks jump.

use crate::faults::Faults;
use crate::machine::{Disturbance, Moment};
use scr::system::simulated::scheduler::{ProcessId, Simulation, TaskId, has_ended};

/// A process of an earlier run that is stopped.
#[derive(Debug, Clone)]
pub struct Orphan {
    pub process: ProcessId,
    pub rank: usize,
    main: TaskId,
    /// When it goes on in the next run.
    until: Moment,
}

/// Of one run.
pub struct Disturbs<'a> {
    plan: &'a Disturbance,
    faults: &'a Faults,
    /// Of the run before.
    orphan: Option<Orphan>,
    goes_on: bool,
    /// Of this run.
    stopped: Option<Orphan>,
    jumped: bool,
}

impl<'a> Disturbs<'a> {
    /// `process` knows that of a rank.
    pub fn new(
        plan: &'a Disturbance,
        faults: &'a Faults,
        orphan: Option<Orphan>,
        process: impl Fn(usize) -> ProcessId,
    ) -> Self {
        let stop = plan.stop.map(|stop| stop.rank);
        let watched = stop
            .into_iter()
            .chain(orphan.as_ref().map(|orphan| orphan.rank));
        faults.count_changes_of(watched.map(process).collect());
        Disturbs {
            plan,
            faults,
            orphan,
            goes_on: false,
            stopped: None,
            jumped: false,
        }
    }

    pub fn has_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// True for a rank that is not stopped.
    pub fn runs(&self, rank: usize) -> bool {
        self.stopped
            .as_ref()
            .is_none_or(|orphan| orphan.rank != rank)
    }

    /// The rank of the run before that was stopped, and goes on.
    pub fn earlier_rank(&self) -> Option<usize> {
        let orphan = self.orphan.as_ref().filter(|_| self.goes_on);
        orphan.map(|orphan| orphan.rank)
    }

    /// Does what is due, and tells it. `ranks` are the processes of this run, with their
    /// first tasks and their nodes.
    pub fn step(
        &mut self,
        simulation: &Simulation,
        steps: u64,
        ranks: &[(ProcessId, TaskId, usize)],
    ) -> Option<(&'static str, String)> {
        if let Some((at, node, ahead)) = self.plan.jump
            && !self.jumped
            && steps >= at
        {
            self.jumped = true;
            let there = ranks.iter().filter(|(.., on)| *on == node);
            there.for_each(|(process, ..)| simulation.set_ahead(*process, ahead));
            let text = format!("the clocks of node n{node} jump: {ahead} ms ahead");
            return Some(("clock that jumps", text));
        }
        if let Some(orphan) = &self.orphan {
            let changes = ranks
                .get(orphan.rank)
                .map_or(0, |(process, ..)| self.faults.changes(*process));
            if !self.goes_on && orphan.until.has_come(steps, changes) {
                self.goes_on = true;
                simulation.resume(orphan.process);
                let text = format!("rank {} of the run before goes on", orphan.rank);
                return Some(("rank of the run before that goes on", text));
            }
            if has_ended(orphan.main) {
                simulation.kill(orphan.process);
                self.orphan = None;
                let text = "the rank of the run before has ended".to_string();
                return Some(("rank of the run before that ends", text));
            }
        }
        let stop = self.plan.stop.filter(|_| self.stopped.is_none())?;
        let (process, main, _) = *ranks.get(stop.rank)?;
        let changes = self.faults.changes(process);
        if has_ended(main) || !stop.at.has_come(steps, changes) {
            return None;
        }
        simulation.stop(process);
        self.stopped = Some(Orphan {
            process,
            rank: stop.rank,
            main,
            until: stop.until,
        });
        let text = format!("rank {} is stopped after {steps} steps", stop.rank);
        Some(("stopped rank", text))
    }

    /// The run is over. Ends what is left of the run before, and returns who is stopped.
    pub fn end(self, simulation: &Simulation) -> Option<Orphan> {
        if let Some(orphan) = self.orphan {
            simulation.kill(orphan.process);
        }
        self.stopped
    }
}
