//! The places of the ranks, and the processes to kill, with their times.

use super::super::call::Failure;
use std::fmt;

/// The node of each rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placement {
    nodes: Vec<String>,
    ranks: usize,
    spares: usize,
}

impl Placement {
    pub fn new(ranks: usize, nodes: usize) -> Self {
        Placement {
            nodes: (0..nodes).map(|node| format!("n{node}")).collect(),
            ranks,
            spares: 0,
        }
    }

    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The node of a rank: neighbours are together, as launchers place them.
    pub fn node_of(&self, rank: usize) -> &str {
        &self.nodes[rank * self.nodes.len() / self.ranks]
    }

    /// A spare node takes the place of one that is lost.
    pub fn replace(&mut self, lost: &str) {
        for node in self.nodes.iter_mut().filter(|node| *node == lost) {
            *node = format!("spare{}", self.spares);
            self.spares += 1;
        }
    }

    /// Another number of ranks on the same nodes, or on the first of them if there are fewer ranks.
    pub fn spread(&mut self, ranks: usize) {
        self.nodes.truncate(ranks.max(1));
        self.ranks = ranks;
    }
}

/// The node or rank that is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Victim {
    AnyNode,
    AnyRank,
    Node(String),
    Rank(usize),
}

/// The moment at which it is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// The failure comes after a checkpoint that is drawn.
    Any,
    /// The failure comes after this many checkpoints of the launch.
    Checkpoint(usize),
    /// The failure comes after this many seconds of the launch.
    Seconds(f64),
}

/// One failure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Strike {
    pub victim: Victim,
    pub moment: Moment,
}

impl Strike {
    pub fn any(victim: Victim) -> Self {
        Strike {
            victim,
            moment: Moment::Any,
        }
    }

    /// Reads `node`, `node=n2@3`, `rank=5@20s` and the like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (what, when) = match text.split_once('@') {
            Some((what, when)) => (what, Some(when)),
            None => (text, None),
        };
        let victim = match what.split_once('=') {
            None if what == "node" => Victim::AnyNode,
            None if what == "rank" => Victim::AnyRank,
            Some(("node", node)) if !node.is_empty() => Victim::Node(node.to_string()),
            Some(("rank", rank)) => Victim::Rank(
                rank.parse()
                    .map_err(|_| format!("`{rank}` is no number of a rank"))?,
            ),
            _ => {
                return Err("it is node, node=NAME, rank or rank=NUMBER, with @ and a time".into());
            }
        };
        let moment = match when {
            None => Moment::Any,
            Some(when) => moment(when)?,
        };
        Ok(Strike { victim, moment })
    }

    /// Chooses the processes to kill and the times by random numbers, if the user has not named them. `checkpoints`
    /// and `seconds` are numbers of the undisturbed run.
    pub fn settle(
        &self,
        place: &Placement,
        checkpoints: usize,
        seconds: f64,
        draw: &mut Draw,
    ) -> Result<Self, Failure> {
        let victim = match &self.victim {
            Victim::AnyNode => Victim::Node(place.nodes[draw.below(place.nodes.len())].clone()),
            Victim::AnyRank => Victim::Rank(draw.below(place.ranks)),
            Victim::Node(node) if !place.nodes.contains(node) => {
                return Err(Failure::said(format!(
                    "there is no node {node} to kill; the nodes are then {}",
                    place.nodes.join(" ")
                )));
            }
            Victim::Rank(rank) if *rank >= place.ranks => {
                return Err(Failure::said(format!(
                    "there is no rank {rank} to kill: the last one is {}",
                    place.ranks - 1
                )));
            }
            known => known.clone(),
        };
        let moment = match self.moment {
            // Without checkpoints of SCR nothing tells how far the program is.
            Moment::Any | Moment::Checkpoint(_) if checkpoints == 0 => {
                Moment::Seconds(seconds / 2.0)
            }
            // After a restart fewer checkpoints are left; the end may follow the last one at once.
            Moment::Any => Moment::Checkpoint(1 + draw.below((checkpoints / 2).max(1))),
            known => known,
        };
        Ok(Strike { victim, moment })
    }
}

fn moment(text: &str) -> Result<Moment, String> {
    if let Some(seconds) = text.strip_suffix('s') {
        let seconds = seconds.parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| (0.0..1e9).contains(seconds));
        return seconds
            .map(Moment::Seconds)
            .ok_or_else(|| format!("`{text}` is no number of seconds, such as 20s"));
    }
    match text.parse() {
        Ok(0) | Err(_) => Err(format!(
            "`{text}` is no number of checkpoints from 1 on, nor of seconds, such as 20s"
        )),
        Ok(count) => Ok(Moment::Checkpoint(count)),
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.victim {
            Victim::AnyNode => f.write_str("a node")?,
            Victim::AnyRank => f.write_str("a rank")?,
            Victim::Node(node) => write!(f, "node {node}")?,
            Victim::Rank(rank) => write!(f, "rank {rank}")?,
        }
        match self.moment {
            Moment::Any => f.write_str(" is killed after a checkpoint"),
            Moment::Checkpoint(count) => {
                write!(f, " is killed after checkpoint {count} of the launch")
            }
            Moment::Seconds(seconds) => write!(f, " is killed after {seconds:.1} s"),
        }
    }
}

/// Numbers that a seed decides (splitmix64, Steele and others 2014).
pub(super) struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_are_read_and_wrong_ones_refused() {
        let of = |victim, moment| Ok(Strike { victim, moment });
        assert_eq!(Strike::parse("node"), of(Victim::AnyNode, Moment::Any));
        assert_eq!(
            Strike::parse("node=n2@3"),
            of(Victim::Node("n2".into()), Moment::Checkpoint(3))
        );
        assert_eq!(
            Strike::parse("rank=5@1.5s"),
            of(Victim::Rank(5), Moment::Seconds(1.5))
        );
        assert_eq!(
            Strike::parse("rank@2"),
            of(Victim::AnyRank, Moment::Checkpoint(2))
        );
        for wrong in [
            "",
            "nod",
            "node=",
            "rank=x",
            "node@",
            "node@0",
            "node@-1s",
            "rank@s",
            "node@1e99s",
        ] {
            assert!(Strike::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_said_is_drawn_and_what_is_not_there_refused() {
        let place = Placement::new(4, 2);
        let mut draw = Draw::new(1);
        for _ in 0..50 {
            let strike = Strike::any(Victim::AnyNode).settle(&place, 6, 1.0, &mut draw);
            let Strike { victim, moment } = strike.unwrap();
            assert!(matches!(&victim, Victim::Node(node) if place.nodes.contains(node)));
            assert!(matches!(moment, Moment::Checkpoint(1..=3)), "{moment:?}");
        }
        let unlinked = Strike::parse("rank@3")
            .unwrap()
            .settle(&place, 0, 8.0, &mut draw);
        assert_eq!(unlinked.unwrap().moment, Moment::Seconds(4.0));
        for absent in ["node=n2", "rank=4"] {
            let strike = Strike::parse(absent).unwrap();
            assert!(
                strike.settle(&place, 6, 1.0, &mut draw).is_err(),
                "{absent}"
            );
        }
    }

    #[test]
    fn a_spare_takes_the_place_of_a_lost_node() {
        let mut place = Placement::new(5, 2);
        let nodes = |place: &Placement| -> Vec<String> {
            (0..place.ranks())
                .map(|rank| place.node_of(rank).into())
                .collect()
        };
        assert_eq!(nodes(&place), ["n0", "n0", "n0", "n1", "n1"]);
        place.replace("n0");
        place.replace("spare0");
        assert_eq!(nodes(&place), ["spare1", "spare1", "spare1", "n1", "n1"]);
        place.spread(1);
        assert_eq!(nodes(&place), ["spare1"]);
    }
}
