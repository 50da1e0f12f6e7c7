//! What a seed decides of daemons and commands.

use super::commands::Command;
use crate::volume::Damage;
use scr::system::simulated::Random;
use std::time::Duration;

/// Something that happens during a run.
#[derive(Debug, Clone)]
pub enum What {
    /// A daemon starts on a node, also where there is one.
    Daemon(usize),
    KillDaemon(usize),
    StopDaemon(usize, Duration),
    /// The file by which library and daemon of a node tell each other what to do is damaged.
    DamageOrders(usize, Damage),
    /// A command, and after how many steps it is killed.
    Command(Command, Option<u64>),
}

#[derive(Debug, Clone)]
pub struct Event {
    /// The step of the run.
    pub at: u64,
    pub what: What,
}

/// What is done after a run. With a number it is killed after so many steps, and begun again.
#[derive(Debug, Clone)]
pub enum After {
    Poststage(Option<u64>),
    /// By so many people at once.
    Postrun(usize, Option<u64>),
    Command(Command),
    /// `scr flush-file --resume` on all nodes.
    Resume(Option<u64>),
    /// `scr clean` on all nodes: the caches are empty then.
    Clean,
    /// The index is lost, and `scr index --add` makes it again.
    LoseIndex,
}

/// Beside one run.
#[derive(Debug, Clone, Default)]
pub struct BesideRun {
    /// Nodes on which daemons are started before, unless there is one.
    pub daemons: Vec<usize>,
    pub events: Vec<Event>,
    pub after: Vec<After>,
}

/// Beside the runs of a job.
#[derive(Debug, Clone, Default)]
pub struct BesidePlan {
    /// Transfer daemons flush.
    pub daemons: bool,
    pub poststage: bool,
    /// Seconds without progress after which a daemon is left out; bytes per second.
    pub patience: u64,
    pub bandwidth: Option<u64>,
}

impl Event {
    /// True for a command.
    pub fn is_command(&self) -> bool {
        matches!(self.what, What::Command(..))
    }

    /// Many changes of the index in a short time, so that some fall together with those of the run.
    fn crowd(random: &mut Random) -> Vec<Event> {
        let (most, count) = (1 << random.between(8, 11), random.between(8, 24));
        let current = |random: &mut Random| {
            let what = What::Command(Command::Current(random.below(4)), None);
            let at = random.below(most);
            Event { at, what }
        };
        (0..count).map(|_| current(random)).collect()
    }
}

impl BesideRun {
    /// Leaves out what is for those who know that all processes of the run have ended. A halt is taken back all the same.
    pub fn keep_going_on(&mut self) {
        let goes_on = |after: &After| matches!(after, After::Command(Command::GoOn));
        self.after.retain(goes_on);
    }

    /// True if anything happens.
    pub fn is_busy(&self) -> bool {
        !self.daemons.is_empty() || !self.events.is_empty() || !self.after.is_empty()
    }

    /// True if people or scripts call commands.
    pub fn has_people(&self) -> bool {
        let mut events = self.events.iter();
        events.any(Event::is_command) || !self.after.is_empty()
    }

    /// True if daemons are stopped for a time.
    pub fn stops_daemons(&self) -> bool {
        let stops = |event: &Event| matches!(event.what, What::StopDaemon(..));
        self.events.iter().any(stops)
    }

    /// True if a transfer file is damaged.
    pub fn damages_orders(&self) -> bool {
        let damages = |event: &Event| matches!(event.what, What::DamageOrders(..));
        self.events.iter().any(damages)
    }

    /// True if a person orders the program to halt.
    pub fn halts(&self) -> bool {
        let (mut events, mut after) = (self.events.iter(), self.after.iter());
        events.any(|event| matches!(event.what, What::Command(Command::Halt, _)))
            || after.any(|after| matches!(after, After::Command(Command::Halt)))
    }
}

impl BesidePlan {
    /// `background`: flushes go on in the background.
    pub fn draw(random: &mut Random, background: bool) -> Self {
        let daemons = background && random.once_in(3);
        BesidePlan {
            daemons,
            poststage: background && random.once_in(if daemons { 3 } else { 10 }),
            patience: random.between(2, 40),
            bandwidth: random.once_in(4).then(|| random.between(1000, 50_000)),
        }
    }

    /// `people`: commands are called.
    pub fn draw_run(&self, random: &mut Random, nodes: usize, people: bool) -> BesideRun {
        let mut run = BesideRun::default();
        let kill = |random: &mut Random| {
            random.once_in(3).then(|| {
                let most = 1 << random.between(3, 10);
                random.below(most)
            })
        };
        if self.daemons {
            let all = 0..nodes;
            run.daemons = all.filter(|_| !random.once_in(5)).collect();
            for _ in 0..random.below(4) {
                let node = random.below(nodes as u64) as usize;
                let most = 1 << random.between(4, 17);
                let time = Duration::from_millis(random.below(most));
                let what = match random.below(9) {
                    0..=3 => What::Daemon(node),
                    4 | 5 => What::KillDaemon(node),
                    6 | 7 => What::StopDaemon(node, time),
                    _ => {
                        let all = [Damage::Bit, Damage::Sector, Damage::Entry];
                        What::DamageOrders(node, *random.one_of(&all))
                    }
                };
                let at = random.below(1 << 13);
                run.events.push(Event { at, what });
            }
        }
        if self.poststage && !random.once_in(3) {
            run.after.push(After::Poststage(kill(random)));
        }
        if people {
            for _ in 0..random.below(4) {
                let what = What::Command(Command::draw(random, nodes), kill(random));
                let most = 1 << random.between(3, 13);
                let at = random.below(most);
                run.events.push(Event { at, what });
                if random.once_in(3) {
                    let again = What::Command(Command::draw(random, nodes), None);
                    let at = at + random.below(300);
                    run.events.push(Event { at, what: again });
                }
            }
            if random.once_in(20) {
                run.events.extend(Event::crowd(random));
            }
            if !self.daemons && random.once_in(6) {
                run.after.push(After::Resume(kill(random)));
            }
            if random.once_in(3) {
                let people = 1 + usize::from(random.once_in(4));
                run.after.push(After::Postrun(people, kill(random)));
            }
            if random.once_in(6) {
                run.after.push(After::Clean);
            }
            if random.once_in(10) {
                run.after.push(After::LoseIndex);
            }
            if random.once_in(6) {
                run.after.push(After::Command(Command::draw(random, nodes)));
            }
            run.after.push(After::Command(Command::GoOn));
        }
        run
    }

    /// The parameters that follow.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if self.daemons {
            all.push(("SCR_FLUSH_TYPE", "DAEMON".to_string()));
            all.push(("SCR_FLUSH_DAEMON_TIMEOUT", self.patience.to_string()));
        }
        if self.poststage {
            all.push(("SCR_FLUSH_POSTSTAGE", "1".to_string()));
        }
        if let Some(bandwidth) = self.bandwidth {
            all.push(("SCR_FLUSH_ASYNC_BW", bandwidth.to_string()));
        }
        all
    }
}
