//! The course of the undisturbed run, from which the moments of kills are drawn.

use super::super::call::Failure;
use super::plan::{Awaited, Draw, Kill, Moment, Placement, Strike, Victim};
use super::stage::Launch;

/// A drawn moment lies in this part of an interval, so that the next checkpoint has not begun.
const MOST: f64 = 0.95;

/// The times of the undisturbed run.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    /// Session and name of each checkpoint, in the order in which they were complete.
    names: Vec<(String, String)>,
    /// Seconds that each checkpoint took.
    lengths: Vec<f64>,
    /// Seconds to the begin of each checkpoint from the one before, or from SCR_Init.
    gaps: Vec<f64>,
    /// Seconds from the last checkpoint to the end.
    rest: f64,
    seconds: f64,
}

impl Course {
    pub fn of(undisturbed: &Launch) -> Self {
        let mut all = Vec::new();
        for (session, seen) in &undisturbed.seen.0 {
            all.extend(seen.completed.iter().map(|one| (session, one)));
        }
        all.sort_by(|(_, a), (_, b)| a.at.total_cmp(&b.at));
        let mut course = Course {
            seconds: undisturbed.seconds,
            ..Course::default()
        };
        let starts = undisturbed.seen.begun().map(|(_, seen)| seen.begun_at);
        let mut before = starts.min_by(f64::total_cmp).unwrap_or(undisturbed.begun);
        for (session, one) in all {
            course.names.push((session.clone(), one.name.clone()));
            course.lengths.push((one.at - one.begun).max(0.0));
            course.gaps.push((one.begun - before).max(0.0));
            before = one.at;
        }
        course.rest = (undisturbed.ended - before).max(0.0);
        course
    }

    /// Without --kill: a few moments of all kinds. Each costs an interval between two checkpoints at most.
    pub fn plan(&self) -> Vec<Strike> {
        let mut plan = vec![Strike::new(Victim::AnyRank, Moment::Between(None))];
        let count = self.names.len();
        if count >= 3 {
            plan.insert(0, Strike::new(Victim::AnyRank, Moment::Start));
            plan.push(Strike::new(Victim::AnyRank, Moment::Restart));
        }
        if count >= 2 {
            plan.push(Strike::new(Victim::AnyNode, Moment::Between(None)));
        }
        if count >= 6 {
            plan.push(Strike::new(Victim::AnyRank, Moment::Checkpoint(None)));
        }
        plan
    }

    /// The kills of a run that is to cost little more than an undisturbed one: each right after a checkpoint, first of a rank,
    /// and then of a node.
    pub fn short(&self, place: &Placement, draw: &mut Draw) -> Result<Vec<Kill>, Failure> {
        let count = self.names.len();
        let mut kill = |victim: Victim, after| -> Result<Kill, Failure> {
            Ok(Kill {
                victim: Strike::new(victim, Moment::Between(None)).choose(place, draw)?,
                awaited: Awaited::Complete(after),
                delay: 0.0,
            })
        };
        let node = kill(Victim::AnyNode, 1)?;
        if count < 2 {
            return Ok(vec![node]);
        }
        let rank = kill(Victim::AnyRank, (count / 2).max(1))?;
        Ok(vec![rank, node])
    }

    /// Number of checkpoints of the undisturbed run that the program has passed after `launches`.
    fn passed(&self, launches: &[Launch]) -> usize {
        let mut passed = 0;
        for launch in launches {
            for (session, seen) in &launch.seen.0 {
                let read = seen.restart.iter().map(|one| (&one.name, one.at));
                let written = seen.completed.iter().map(|one| (&one.name, one.at));
                for (name, _) in read.chain(written) {
                    let places = self.names.iter().enumerate();
                    let is_it = |one: &(String, String)| one.0 == *session && one.1 == *name;
                    let places: Vec<usize> = places
                        .filter(|(_, one)| is_it(one))
                        .map(|(place, _)| place)
                        .collect();
                    passed = match places[..] {
                        [place] => passed.max(place + 1),
                        // A name that is used again does not tell how far it is.
                        _ => passed + 1,
                    };
                }
            }
        }
        passed.min(self.names.len())
    }

    /// The kill in the next launch after `launches`. `more` strikes come after it. `None` if nothing of the program is left
    /// to be killed.
    pub fn settle(
        &self,
        strike: &Strike,
        (place, launches): (&Placement, &[Launch]),
        more: usize,
        draw: &mut Draw,
    ) -> Result<Option<Kill>, Failure> {
        let victim = strike.choose(place, draw)?;
        let point = match strike.moment {
            Moment::Seconds(seconds) => Some((Awaited::Launch, seconds)),
            _ if self.names.is_empty() => {
                Some((Awaited::Launch, self.blind(strike, launches, draw)))
            }
            _ => self.point(strike.moment, self.passed(launches), more, draw),
        };
        Ok(point.map(|(awaited, delay)| Kill {
            victim,
            awaited,
            delay,
        }))
    }

    /// Seconds after which a program without checkpoints of SCR is killed: nothing tells how far it is.
    fn blind(&self, strike: &Strike, launches: &[Launch], draw: &mut Draw) -> f64 {
        let fraction = draw.fraction();
        if strike.moment == Moment::Start {
            return self.seconds * 0.1 * fraction;
        }
        // What is left becomes less with each launch.
        let halves = launches.len().min(30) as i32;
        self.seconds * 0.5f64.powi(halves) * (0.4 + 0.2 * fraction)
    }

    fn point(
        &self,
        moment: Moment,
        passed: usize,
        more: usize,
        draw: &mut Draw,
    ) -> Option<(Awaited, f64)> {
        let left = self.names.len() - passed;
        let fraction = MOST * draw.fraction();
        // A kill after so many checkpoints of the launch comes before another one.
        let gap = |after: usize| match self.gaps.get(passed + after) {
            Some(gap) => gap * fraction,
            None => self.rest * 0.5 * fraction,
        };
        // One of them is left, and some for the strikes that follow.
        let usual = (left.saturating_sub(1) / (more + 1)).max(1);
        Some(match moment {
            Moment::Between(Some(after)) => (Awaited::Complete(after), gap(after)),
            // With one checkpoint there is no other moment that proves anything.
            Moment::Between(None) if self.names.len() == 1 && left == 1 => {
                (Awaited::Complete(1), gap(1))
            }
            Moment::Between(None) => match left {
                0 => return None,
                1 => (Awaited::Restarted, gap(0)),
                _ => {
                    let after = 1 + draw.below(usual);
                    (Awaited::Complete(after), gap(after))
                }
            },
            Moment::After(after, seconds) => (Awaited::After(after), seconds),
            Moment::Start => (Awaited::Start, self.gaps.first()? * fraction),
            Moment::Checkpoint(which) => {
                let which = match which {
                    Some(which) => which,
                    // The kill may come late, and must not come after the last checkpoint.
                    None if left < 2 => return None,
                    None => 1 + draw.below(usual),
                };
                let length = self.lengths.get(passed + which - 1);
                (Awaited::Begun(which), length? * fraction)
            }
            Moment::Restart if draw.below(2) == 0 => (Awaited::Restore, 0.0),
            Moment::Restart => (Awaited::Read, 0.0),
            Moment::Seconds(seconds) => (Awaited::Launch, seconds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen::{Checkpoint, Restart, Seen, Sessions};
    use super::super::stage::Ending;
    use super::*;

    /// A launch that wrote these checkpoints, one a second, each in a tenth of it.
    fn launch(read: Option<usize>, written: impl Iterator<Item = usize>) -> Launch {
        let name = |number: usize| format!("ck.{number}");
        let checkpoint = |number: usize| Checkpoint {
            name: name(number),
            begun: 99.9 + number as f64,
            at: 100.0 + number as f64,
            ..Checkpoint::default()
        };
        let seen = Seen {
            begun: true,
            begun_at: 100.0,
            completed: written.map(checkpoint).collect(),
            restart: read.map(|number| Restart {
                name: name(number),
                at: 100.2,
                why_not: None,
                from: String::new(),
            }),
            ..Seen::default()
        };
        Launch {
            ending: Ending::Code(0),
            kill: None,
            started: 4,
            ranks: 4,
            nodes: 2,
            seconds: 10.5,
            begun: 99.5,
            ended: 110.2,
            stacks: Vec::new(),
            log: "log".into(),
            seen: Sessions([(String::new(), seen)].into()),
        }
    }

    /// Draws a moment a hundred times.
    fn drawn(course: &Course, moment: Moment, launches: &[Launch], more: usize) -> Vec<Kill> {
        let (place, strike) = (Placement::new(4, 2), Strike::new(Victim::AnyRank, moment));
        let mut draw = Draw::new(7);
        let kills = (0..100).filter_map(|_| {
            course
                .settle(&strike, (&place, launches), more, &mut draw)
                .unwrap()
        });
        kills.collect()
    }

    #[test]
    fn kills_come_over_the_whole_interval_and_not_after_the_last_checkpoint() {
        let course = Course::of(&launch(None, 1..=10));
        let mut delays = Vec::new();
        for (launches, left) in [
            (Vec::new(), 10),
            (vec![launch(None, 1..=6)], 4),
            (vec![launch(None, 1..=6), launch(Some(6), 7..=8)], 2),
        ] {
            let kills = drawn(&course, Moment::Between(None), &launches, 0);
            assert_eq!(kills.len(), 100);
            let mut most = 0;
            for kill in kills {
                let Awaited::Complete(after) = kill.awaited else {
                    panic!("{kill}");
                };
                most = most.max(after);
                delays.push(kill.delay);
            }
            assert_eq!(most, left - 1);
        }
        // From the begin of the interval to its end.
        assert!(delays.iter().all(|delay| (0.0..0.9).contains(delay)));
        for part in 0..8 {
            let part = f64::from(part) * 0.1;
            assert!(
                delays
                    .iter()
                    .any(|delay| (part..part + 0.1).contains(delay)),
                "{part}"
            );
        }
        let all = [launch(None, 1..=10)];
        assert!(drawn(&course, Moment::Between(None), &all, 0).is_empty());
        assert!(drawn(&course, Moment::Checkpoint(None), &all, 0).is_empty());
        // One checkpoint is left: the kill comes before it.
        let nine = [launch(Some(8), 9..=9)];
        let kills = drawn(&course, Moment::Between(None), &nine, 0);
        assert!(kills.iter().all(|kill| kill.awaited == Awaited::Restarted));
    }

    #[test]
    fn later_strikes_have_their_share() {
        let course = Course::of(&launch(None, 1..=10));
        let most = |more| {
            let kills = drawn(&course, Moment::Between(None), &[], more);
            let after = kills.iter().map(|kill| match kill.awaited {
                Awaited::Complete(after) => after,
                _ => 0,
            });
            after.max()
        };
        assert_eq!((most(0), most(2), most(20)), (Some(9), Some(3), Some(1)));
    }

    #[test]
    fn a_short_run_is_killed_right_after_checkpoints_and_not_after_the_last() {
        let place = Placement::new(4, 2);
        for count in 1..=12 {
            let course = Course::of(&launch(None, 1..=count));
            let kills = course.short(&place, &mut Draw::new(7)).unwrap();
            let after = kills.iter().map(|kill| match kill.awaited {
                Awaited::Complete(after) if kill.delay == 0.0 => after,
                _ => panic!("{kill}"),
            });
            // Each launch goes on from where the one before was killed.
            let last: usize = after.sum();
            assert!(last < count.max(3), "{count}");
            let node = kills
                .iter()
                .filter(|kill| matches!(kill.victim, Victim::Node(_)));
            assert_eq!((kills.len(), node.count()), (count.min(2), 1));
        }
    }

    #[test]
    fn other_moments_are_in_their_calls() {
        let course = Course::of(&launch(None, 1..=10));
        for kill in drawn(&course, Moment::Checkpoint(Some(4)), &[], 0) {
            assert_eq!(kill.awaited, Awaited::Begun(4));
            assert!((0.0..0.1).contains(&kill.delay), "{kill}");
        }
        for kill in drawn(&course, Moment::Start, &[], 0) {
            assert_eq!(kill.awaited, Awaited::Start);
            assert!((0.0..0.9).contains(&kill.delay), "{kill}");
        }
        let kills = drawn(&course, Moment::Restart, &[launch(None, 1..=2)], 0);
        for awaited in [Awaited::Restore, Awaited::Read] {
            assert!(kills.iter().any(|kill| kill.awaited == awaited));
        }
        assert_eq!(kills.len(), 100);
    }

    #[test]
    fn a_program_without_checkpoints_is_killed_in_the_middle_of_its_time() {
        let course = Course::of(&launch(None, 0..0));
        assert_eq!(course.plan().len(), 1);
        let seconds = |launches: &[Launch]| {
            let kills = drawn(&course, Moment::Between(Some(3)), launches, 0);
            assert!(kills.iter().all(|kill| kill.awaited == Awaited::Launch));
            kills.iter().map(|kill| kill.delay).fold(0.0, f64::max)
        };
        assert!((6.0..6.3).contains(&seconds(&[])));
        assert!((3.0..3.2).contains(&seconds(&[launch(None, 0..0)])));
    }
}
