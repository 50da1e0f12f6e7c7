//! What breaks of the machine: a rank that is stopped and goes on in the next run, clocks, slow disks and
//! messages, and what happens to nodes and their disks between two runs.

use crate::faults::{Only, Slow};
use crate::files::Shared;
use crate::oracle::left::{FOREIGN_LOCAL, FOREIGN_SHARED};
use crate::volume::{Damage, Volume};
use scr::system::simulated::{Random, scheduler};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What happens to the machine between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    Nothing,
    /// These many nodes come back empty.
    Nodes(usize),
    /// Of all nodes and the shared file system.
    Power,
    /// Of these many nodes.
    PowerOf(usize),
    /// Two nodes have changed places: each has the disk of the other.
    Swap,
    /// A node comes back with what it had when an earlier run began.
    Old,
    /// Something at rest is damaged: in the prefix directory, or else in the cache of a node.
    Damage(Damage, bool),
    /// A file of fields in the prefix directory is damaged.
    Fields(Damage),
}

impl Loss {
    pub fn draw(random: &mut Random, nodes: usize) -> Loss {
        let count = |random: &mut Random| random.between(1, nodes as u64) as usize;
        match random.below(24) {
            0..=6 => Loss::Nodes(1),
            7..=9 => Loss::Nodes(count(random)),
            10..=12 => Loss::Power,
            13 => Loss::PowerOf(count(random)),
            14 => Loss::Swap,
            15 => Loss::Old,
            16 | 17 => {
                let damage = *random.one_of(&[Damage::Bit, Damage::Sector, Damage::Entry]);
                Loss::Damage(damage, random.once_in(2))
            }
            _ => Loss::Nothing,
        }
    }

    /// How many nodes it hits.
    fn nodes(self) -> usize {
        match self {
            Loss::Nodes(count) | Loss::PowerOf(count) => count,
            Loss::Old | Loss::Damage(_, false) => 1,
            Loss::Nothing | Loss::Power | Loss::Swap | Loss::Damage(_, true) | Loss::Fields(_) => 0,
        }
    }

    /// For people.
    pub fn kind(self) -> &'static str {
        match self {
            Loss::Nothing => "nothing",
            Loss::Nodes(_) => "lost node",
            Loss::Power => "power loss",
            Loss::PowerOf(_) => "power loss of some nodes",
            Loss::Swap => "nodes that change places",
            Loss::Old => "old disk",
            Loss::Damage(Damage::Bit, _) => "flipped bit",
            Loss::Damage(Damage::Sector, _) => "lost sector",
            Loss::Damage(Damage::Entry, _) => "lost entry of a directory",
            Loss::Fields(_) => "damaged file of fields",
        }
    }
}

/// What the disks have lost, for the oracle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// All nodes and the shared file system have lost power.
    Power,
    /// The nodes that count as lost have lost power only: their disks have what was synced.
    PowerOfNodes,
    /// This node may have nothing any more of what it had.
    Node(usize),
    /// This node has what it had before an earlier run.
    Old(usize),
    /// The disks of these nodes have changed places.
    Swapped(usize, usize),
    /// Something in a cache is damaged.
    Cache,
    /// Something below this path of the prefix directory is damaged.
    Prefix(PathBuf),
}

/// A moment of a run.
#[derive(Debug, Clone, Copy)]
pub enum Moment {
    /// This step.
    Step(u64),
    /// A rank has created, written and renamed so many times.
    Change(u64),
}

impl Moment {
    fn draw(random: &mut Random, most: u64) -> Moment {
        if random.once_in(3) {
            Moment::Step(random.below(most))
        } else {
            Moment::Change(random.between(1, 50))
        }
    }

    /// One at which a later run is about as far as an earlier one was at this moment.
    fn draw_near(self, random: &mut Random) -> Moment {
        match self {
            Moment::Step(at) => Moment::Step(at + random.below(at / 2 + 1)),
            Moment::Change(at) => Moment::Change(at + random.below(8)),
        }
    }

    /// True once it has come.
    pub fn has_come(self, steps: u64, changes: u64) -> bool {
        match self {
            Moment::Step(at) => steps >= at,
            Moment::Change(at) => changes >= at,
        }
    }
}

/// A rank that is stopped, while the others are killed, and goes on in the next run.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    pub rank: usize,
    /// Of its run.
    pub at: Moment,
    /// Of the next one; the changes are those of the rank that has its number there.
    pub until: Moment,
}

/// What disturbs a run besides faults of files.
#[derive(Debug, Clone, Default)]
pub struct Disturbance {
    pub stop: Option<Stop>,
    pub slow: Option<Slow>,
    /// A rank to and from which messages take up to so long.
    pub late: Option<(usize, Duration)>,
    /// By how many milliseconds the clocks of the nodes are ahead; behind if it is negative.
    pub ahead: Vec<i64>,
    /// The clock of a node jumps at a step: it is ahead by so much then.
    pub jump: Option<(u64, usize, i64)>,
}

/// By how many milliseconds the clock of a node may be ahead, or behind if it is negative. That of rank 0 does not
/// go back, which is assumed, so it is right; all others do what they will.
fn clock(random: &mut Random, node: usize, node_of: &[usize]) -> i64 {
    const DAY: u64 = 24 * 3600 * 1000;
    if node_of.first() == Some(&node) {
        0
    } else if random.once_in(2) {
        // The simulation begins some days after the first time that there is.
        -(random.below(10 * DAY) as i64)
    } else {
        random.below(2 * 365 * DAY) as i64
    }
}

impl Disturbance {
    /// By how many milliseconds the clock of a node is ahead when the run begins.
    pub fn ahead_of(&self, node: usize) -> i64 {
        self.ahead.get(node).copied().unwrap_or_default()
    }

    /// True if the nodes show different times.
    pub fn clocks_differ(&self) -> bool {
        self.jump.is_some() || self.ahead.windows(2).any(|two| two[0] != two[1])
    }

    /// Makes the clock of rank 0 right, after ranks have moved to these nodes. See [`clock`].
    pub fn set_rank_0_right(&mut self, node_of: &[usize]) {
        let Some(&first) = node_of.first() else {
            return;
        };
        if let Some(ahead) = self.ahead.get_mut(first) {
            *ahead = 0;
        }
        self.jump.take_if(|(_, node, _)| *node == first);
    }

    /// For a run with ranks on these nodes.
    pub fn draw(random: &mut Random, node_of: &[usize]) -> Disturbance {
        let ranks = node_of.len() as u64;
        let nodes = node_of.iter().max().map_or(0, |last| last + 1);
        let most = 1 << random.between(5, 14);
        let stops = ranks > 1 && random.once_in(10);
        let stop = stops.then(|| {
            let rank = random.below(ranks) as usize;
            let at = Moment::draw(random, most);
            // Its paths may be those at which the next run is then.
            let until = if random.once_in(2) {
                at.draw_near(random)
            } else {
                Moment::draw(random, most)
            };
            Stop { rank, at, until }
        });
        let slow = random.once_in(12).then(|| Slow {
            most: Duration::from_micros(random.between(10, 20_000)),
            only: Only::draw(random, nodes),
            threads: random.once_in(2),
        });
        let late = random.once_in(25).then(|| {
            let most = Duration::from_micros(1 << random.between(8, 21));
            (random.below(ranks) as usize, most)
        });
        let ahead = if random.once_in(4) {
            (0..nodes)
                .map(|node| clock(random, node, node_of))
                .collect()
        } else {
            Vec::new()
        };
        let jump = random.once_in(10).then(|| {
            let node = random.below(nodes as u64) as usize;
            (random.below(most), node, clock(random, node, node_of))
        });
        Disturbance {
            stop,
            slow,
            late,
            ahead,
            jump,
        }
    }
}

/// The disks of a machine, and what they had when each run began.
pub struct Disks<'a> {
    pub shared: &'a Shared,
    pub local: &'a [Shared],
    pub earlier: &'a [Vec<Volume>],
}

impl Disks<'_> {
    /// Does to them what happens between two runs, and tells what was hit. Of the nodes in `used` none is lost.
    pub fn lose(&self, loss: Loss, used: &BTreeSet<usize>) -> Vec<Hit> {
        let count = self.local.len();
        let first = scheduler::draw(|random| random.below(count as u64)) as usize;
        let nodes = first..first + loss.nodes().min(count);
        let nodes = nodes.map(|node| node % count);
        let is_spared = |node: &usize| matches!(loss, Loss::Nodes(_)) && used.contains(node);
        let nodes = nodes.filter(|node| !is_spared(node));
        let mut hits: Vec<Hit> = nodes.map(Hit::Node).collect();
        match loss {
            Loss::Nothing => {}
            Loss::Nodes(_) | Loss::PowerOf(_) => {
                for hit in &hits {
                    if let Hit::Node(node) = hit {
                        self.lose_node(*node, loss);
                    }
                }
                if matches!(loss, Loss::PowerOf(_)) {
                    hits.push(Hit::PowerOfNodes);
                }
            }
            Loss::Power => {
                for volume in self.local.iter().chain([self.shared]) {
                    scheduler::draw(|random| volume.lock().unwrap().lose_power(random));
                }
                hits.push(Hit::Power);
            }
            Loss::Swap => {
                let second = (first + 1) % count;
                if first != second {
                    let mut one = self.local[first].lock().unwrap();
                    let mut other = self.local[second].lock().unwrap();
                    std::mem::swap(&mut *one, &mut other);
                    one.forget_processes();
                    other.forget_processes();
                    hits.push(Hit::Swapped(first, second));
                }
            }
            Loss::Old => {
                let run = scheduler::draw(|random| random.below(self.earlier.len() as u64 + 1));
                match self.earlier.get(run as usize) {
                    None => hits.clear(),
                    Some(earlier) => {
                        let mut volume = self.local[first].lock().unwrap();
                        *volume = earlier[first].clone();
                        volume.forget_processes();
                        hits = vec![Hit::Old(first)];
                    }
                }
            }
            Loss::Damage(damage, _) | Loss::Fields(damage) => {
                let (volume, of_scr): (_, fn(&Path) -> bool) = match loss {
                    Loss::Fields(_) => (self.shared, is_of_fields),
                    Loss::Damage(_, true) => (self.shared, is_of_prefix),
                    _ => (&self.local[first], is_of_cache),
                };
                let shared = !matches!(loss, Loss::Damage(_, false));
                let mut volume = volume.lock().unwrap();
                match scheduler::draw(|random| volume.damage(damage, of_scr, random)) {
                    None => hits.clear(),
                    Some(path) if shared => hits.push(Hit::Prefix(path)),
                    Some(_) => hits.push(Hit::Cache),
                }
            }
        }
        hits
    }

    fn lose_node(&self, node: usize, loss: Loss) {
        let mut volume = self.local[node].lock().unwrap();
        match loss {
            Loss::PowerOf(_) => scheduler::draw(|random| volume.lose_power(random)),
            _ => *volume = Volume::new(volume.profile(), volume.capacity()),
        }
        self.forget_node(node);
    }

    /// What a node had in memory of the shared file system is lost.
    fn forget_node(&self, node: usize) {
        scheduler::draw(|random| self.shared.lock().unwrap().lose_node(node, random));
    }
}

/// What the user or others keep there is not damaged: nobody could tell.
fn is_foreign(path: &Path, all: &[&str]) -> bool {
    let meets = |other: &&str| Path::new(other).starts_with(path) || path.starts_with(other);
    all.iter().any(meets)
}

fn is_of_prefix(path: &Path) -> bool {
    let own = path.starts_with("prefix") && path != Path::new("prefix/.scrconf");
    own && !is_foreign(path, &FOREIGN_SHARED)
}

fn is_of_fields(path: &Path) -> bool {
    is_of_prefix(path) && path.extension().is_some_and(|name| name == "fields")
}

fn is_of_cache(path: &Path) -> bool {
    !is_foreign(path, &FOREIGN_LOCAL)
}
