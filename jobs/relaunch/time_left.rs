//! Decides whether the remaining time of an allocation is enough for another launch.

use scr_engine::events::Event;

/// Number of the last restarts, and of the last checkpoints, that are looked at.
const LAST: usize = 5;

/// Keeps a launch from being given up for a guess that is a little too high: the program might have come to its end.
const SHARE: f64 = 0.9;

/// The times of restarts and checkpoints in earlier runs of a log.
#[derive(Debug, Clone, Default)]
pub struct LaunchCosts {
    restarts: Vec<f64>,
    checkpoints: Vec<f64>,
    launched: Option<f64>,
    read: bool,
    begun: Option<f64>,
}

/// A launch that would be of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLittleTime {
    /// Seconds that are left.
    pub left: i64,
    /// Seconds from a launch to the computation after its restart.
    pub restart: i64,
    /// Seconds that a checkpoint takes.
    pub checkpoint: i64,
}

impl LaunchCosts {
    /// Takes a record of the log, in order: its event and time.
    pub fn add(&mut self, event: &Event, at: f64) {
        match event {
            Event::RunStart => {
                self.launched = Some(at);
                (self.read, self.begun) = (false, None);
            }
            Event::RestartEnd => self.read = true,
            Event::CheckpointStart => self.begun = Some(at),
            // The program goes on, after a restart, or after a checkpoint with its flush.
            Event::ComputeStart => {
                if let Some(launched) = self.launched.take_if(|_| self.read) {
                    self.restarts.push(at - launched);
                }
                if let Some(begun) = self.begun.take() {
                    self.checkpoints.push(at - begun);
                }
            }
            Event::RunEnd | Event::JobEnd => self.launched = None,
            _ => {}
        }
    }

    /// The reason why another launch is of no use with `left` seconds left; `None` if it is of use. If a restart and a
    /// checkpoint take longer than that, nothing that the launch computes would be kept.
    pub fn too_little(&self, left: i64) -> Option<TooLittleTime> {
        let (restart, checkpoint) = (median(&self.restarts)?, median(&self.checkpoints)?);
        let needed = (restart + checkpoint) * SHARE;
        ((left as f64) < needed).then_some(TooLittleTime {
            left: left.max(0),
            restart: restart.ceil() as i64,
            checkpoint: checkpoint.ceil() as i64,
        })
    }
}

/// The median of the last [`LAST`] values; `None` of an empty list.
fn median(all: &[f64]) -> Option<f64> {
    let mut last = all[all.len().saturating_sub(LAST)..].to_vec();
    last.sort_by(f64::total_cmp);
    last.get(last.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_must_have_time_for_a_restart_and_a_checkpoint() {
        let mut costs = LaunchCosts::default();
        assert_eq!(costs.too_little(0), None, "nothing is known");
        let first = [
            (Event::RunStart, 0.0),
            (Event::ComputeStart, 5.0),
            (Event::CheckpointStart, 100.0),
            (Event::CheckpointEnd, 110.0),
            (Event::FlushSuccess, 120.0),
            (Event::ComputeStart, 120.0),
            (Event::RunEnd, 130.0),
        ];
        for (event, at) in &first {
            costs.add(event, *at);
        }
        assert_eq!(costs.too_little(0), None, "no restart is known");
        let second = [
            (Event::RunStart, 200.0),
            (Event::ComputeStart, 210.0),
            (Event::RestartStart, 211.0),
            (Event::RestartEnd, 230.0),
            (Event::ComputeStart, 230.0),
            (Event::ComputeStart, 300.0),
        ];
        for (event, at) in &second {
            costs.add(event, *at);
        }
        let told = TooLittleTime {
            left: 40,
            restart: 30,
            checkpoint: 20,
        };
        assert_eq!(costs.too_little(40), Some(told));
        assert_eq!(costs.too_little(46), None);
    }
}
