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
        Placement::on(ranks, (0..nodes).map(|node| format!("n{node}")).collect())
    }

    /// As many ranks on these nodes.
    pub fn on(ranks: usize, nodes: Vec<String>) -> Self {
        Placement {
            nodes,
            ranks,
            spares: 0,
        }
    }

    pub fn names(&self) -> &[String] {
        &self.nodes
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

    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Another number of ranks and nodes. The first nodes stay, and others that have nothing are added.
    pub fn spread(&mut self, ranks: usize, nodes: usize) {
        self.ranks = ranks;
        let nodes = nodes.min(ranks).max(1);
        self.nodes.truncate(nodes);
        while self.nodes.len() < nodes {
            self.nodes.push(format!("spare{}", self.spares));
            self.spares += 1;
        }
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

/// The moment at which it is killed, as the user names it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// Between a checkpoint and the next one, after so many checkpoints of the launch. `None`: after a drawn number.
    Between(Option<usize>),
    /// After so many checkpoints of the launch and so many seconds.
    After(usize, f64),
    /// Before the first checkpoint.
    Start,
    /// In a checkpoint. `None`: in one that is drawn.
    Checkpoint(Option<usize>),
    /// While a checkpoint is brought back or read.
    Restart,
    /// After so many seconds of the launch.
    Seconds(f64),
}

/// One failure, as the user names it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Strike {
    pub victim: Victim,
    pub moment: Moment,
}

impl Strike {
    pub fn new(victim: Victim, moment: Moment) -> Self {
        Strike { victim, moment }
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
                return Err(
                    "it is node, node=NAME, rank or rank=NUMBER, with @ and a moment".into(),
                );
            }
        };
        let moment = match when {
            None => Moment::Between(None),
            Some(when) => moment(when)?,
        };
        Ok(Strike { victim, moment })
    }

    /// Chooses the processes to kill, if the user has not named them.
    pub fn choose(&self, place: &Placement, draw: &mut Draw) -> Result<Victim, Failure> {
        Ok(match &self.victim {
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
        })
    }
}

/// The words for a moment after `@`.
const MOMENTS: &str = "it is start, checkpoint, checkpoint=3, restart, 3 or 3+0.5s for after the third checkpoint, or 20s";

fn moment(text: &str) -> Result<Moment, String> {
    let wrong = |text: &str| format!("`{text}` is no moment: {MOMENTS}");
    let seconds = |text: &str| {
        let seconds = text.strip_suffix('s')?.parse::<f64>().ok()?;
        (0.0..1e9).contains(&seconds).then_some(seconds)
    };
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
    let found = match (text, text.split_once(['=', '+'])) {
        ("start", _) => Some(Moment::Start),
        ("restart", _) => Some(Moment::Restart),
        ("checkpoint", _) => Some(Moment::Checkpoint(None)),
        (_, Some(("checkpoint", which))) if text.contains('=') => {
            number(which).map(|which| Moment::Checkpoint(Some(which)))
        }
        (_, Some((which, after))) if text.contains('+') => number(which)
            .zip(seconds(after))
            .map(|(which, after)| Moment::After(which, after)),
        (_, None) if text.ends_with('s') => seconds(text).map(Moment::Seconds),
        (_, None) => number(text).map(|which| Moment::Between(Some(which))),
        _ => None,
    };
    found.ok_or_else(|| wrong(text))
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Victim::AnyNode => f.write_str("a node"),
            Victim::AnyRank => f.write_str("a rank"),
            Victim::Node(node) => write!(f, "node {node}"),
            Victim::Rank(rank) => write!(f, "rank {rank}"),
        }
    }
}

/// The event of a launch after which the time of a kill begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    Launch,
    /// The program has called SCR_Init.
    Start,
    /// This checkpoint of the launch has begun, from 1 on.
    Begun(usize),
    /// This checkpoint of the launch is complete. The kill comes before the next one.
    Complete(usize),
    /// This checkpoint of the launch is complete. The kill may also come after later ones.
    After(usize),
    /// A checkpoint is brought back, or read.
    Restore,
    /// A checkpoint is read.
    Read,
    /// A checkpoint was read.
    Restarted,
}

/// A kill: its victim, and its moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kill {
    pub victim: Victim,
    pub awaited: Awaited,
    /// Seconds after the event.
    pub delay: f64,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kill { victim, delay, .. } = self;
        write!(f, "{victim} is killed ")?;
        match self.awaited {
            Awaited::Launch => write!(f, "after {delay:.2} s"),
            Awaited::Start => write!(f, "{delay:.2} s after SCR_Init"),
            Awaited::Begun(which) => {
                write!(
                    f,
                    "in checkpoint {which} of the launch, {delay:.3} s after its begin"
                )
            }
            Awaited::Complete(which) | Awaited::After(which) => {
                write!(f, "{delay:.2} s after checkpoint {which} of the launch")
            }
            Awaited::Restore => f.write_str("while a checkpoint is brought back"),
            Awaited::Read => f.write_str("while a checkpoint is read"),
            Awaited::Restarted => write!(f, "{delay:.2} s after its restart"),
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

    /// A number from 0 on, below 1.
    pub fn fraction(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn strikes_are_read_and_wrong_ones_refused() {
        let of = |victim, moment| Ok(Strike { victim, moment });
        let read = Strike::parse;
        assert_eq!(read("node"), of(Victim::AnyNode, Moment::Between(None)));
        let third = Moment::Between(Some(3));
        assert_eq!(read("node=n2@3"), of(Victim::Node("n2".into()), third));
        for (text, moment) in [
            ("2", Moment::Between(Some(2))),
            ("2+0.5s", Moment::After(2, 0.5)),
            ("start", Moment::Start),
            ("checkpoint", Moment::Checkpoint(None)),
            ("checkpoint=3", Moment::Checkpoint(Some(3))),
            ("restart", Moment::Restart),
            ("1.5s", Moment::Seconds(1.5)),
        ] {
            let strike = read(&format!("rank=5@{text}"));
            assert_eq!(strike, of(Victim::Rank(5), moment), "{text}");
        }
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
            "rank@start=1",
            "rank@checkpoint=0",
            "rank@checkpoint+1s",
            "rank@0+1s",
            "rank@1+2",
            "rank@1=2s",
        ] {
            assert!(Strike::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn victims_that_are_not_named_are_drawn_and_those_that_are_not_there_refused() {
        let place = Placement::new(4, 2);
        let mut draw = Draw::new(1);
        let drawn: BTreeSet<String> = (0..50)
            .map(|_| Strike::parse("node").unwrap().choose(&place, &mut draw))
            .map(|victim| victim.unwrap().to_string())
            .collect();
        assert_eq!(drawn, BTreeSet::from(["node n0".into(), "node n1".into()]));
        for absent in ["node=n2", "rank=4"] {
            let strike = Strike::parse(absent).unwrap();
            assert!(strike.choose(&place, &mut draw).is_err(), "{absent}");
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
        place.spread(4, 3);
        assert_eq!(nodes(&place), ["spare1", "spare1", "n1", "spare2"]);
        place.spread(1, 3);
        assert_eq!(nodes(&place), ["spare1"]);
    }
}
