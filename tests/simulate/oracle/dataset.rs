//! A dataset that the program has begun, as far as the oracle knows it.

use super::Excuse;
use crate::acts::Output;
use crate::content::Key;
use crate::places::Place;
use std::collections::BTreeSet;

/// What has become of a dataset after it was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A restart may need it.
    Counts,
    /// Nobody relies on it any more; it may still turn up.
    GivenUp,
    /// The user has dropped it from the index. It may still turn up.
    Dropped,
    /// A newer one has its name. It may still turn up.
    Replaced,
    /// A restart has rejected it, or the user has deleted it: it must not turn up.
    Gone,
}

#[derive(Debug, Clone)]
pub struct Dataset {
    pub key: Key,
    pub name: String,
    pub checkpoint: bool,
    pub output: bool,
    /// The number of the run that writes it.
    pub run: usize,
    /// Where it is written, once a rank has been told.
    pub place: Option<Place>,
    pub id: Option<u64>,
    /// Ranks that have begun to write it, that have called SCR_Complete_output for a whole file, and for
    /// which that has succeeded or failed.
    pub begun: usize,
    pub ended: usize,
    pub good: usize,
    pub failed: usize,
    pub fate: Fate,
    /// It was deleted or rejected, and may be offered all the same.
    pub turns_up: Option<Excuse>,
    /// Ranks for which the call that takes it away has returned.
    pub taken_away: usize,
    /// A person has made it the current one since the last call that takes it away was begun.
    pub wanted_again: bool,
    /// On stable storage in the prefix directory, as was reported.
    pub saved: bool,
    /// For each rank, its node when redundancy was made: all that are possible.
    pub nodes: Vec<Vec<usize>>,
    /// For each rank, the nodes where its files may be.
    pub at: Vec<BTreeSet<usize>>,
    /// For each rank, whether such a node was lost since.
    pub lost: Vec<bool>,
    /// No cache need have it any more.
    pub cache_lost: Option<Excuse>,
    /// It was in the prefix directory, and need not be any more.
    pub prefix_lost: Option<Excuse>,
    /// This one and these newer checkpoints are as many as SCR_FLUSH says, so that one of them was flushed.
    pub due: Vec<Key>,
    /// It was damaged in the prefix directory.
    pub damaged: bool,
    /// It was damaged where no checksum may be recorded: nobody can notice.
    pub unnoticed: bool,
}

impl Dataset {
    pub fn new(
        key: Key,
        output: &Output,
        run: usize,
        node_of: &[usize],
        only: Option<Place>,
    ) -> Self {
        Dataset {
            key,
            name: output.name.clone(),
            checkpoint: output.checkpoint,
            output: output.output,
            run,
            place: only,
            id: None,
            begun: 0,
            ended: 0,
            good: 0,
            failed: 0,
            fate: Fate::Counts,
            turns_up: None,
            taken_away: 0,
            wanted_again: false,
            saved: false,
            nodes: vec![node_of.to_vec()],
            at: node_of.iter().map(|node| BTreeSet::from([*node])).collect(),
            lost: vec![false; node_of.len()],
            cache_lost: None,
            prefix_lost: None,
            due: Vec::new(),
            damaged: false,
            unnoticed: false,
        }
    }

    /// What is known of it, for people.
    pub fn told(&self) -> String {
        let at: Vec<String> = self.at.iter().map(|at| format!("{at:?}")).collect();
        let lost: Vec<usize> = (0..self.ranks()).filter(|rank| self.lost[*rank]).collect();
        format!(
            "{} of run {}, id {:?}, in {:?}, complete on {} of {} ranks, {:?}, saved: {}; ranks at nodes {}, \
             lost: {lost:?}, cache lost: {:?}",
            self.name,
            self.run,
            self.id,
            self.place,
            self.good,
            self.ranks(),
            self.fate,
            self.saved,
            at.join(" "),
            self.cache_lost,
        )
    }

    /// How many ranks write it.
    pub fn ranks(&self) -> usize {
        self.at.len()
    }

    /// All ranks had written their files.
    pub fn is_finished(&self) -> bool {
        self.ended == self.ranks()
    }

    /// All ranks were told that it is complete, or one that it is saved, and nobody has given it up.
    pub fn is_whole(&self) -> bool {
        (self.good == self.ranks() || self.saved) && self.fate == Fate::Counts
    }

    /// Nothing of it need be in a cache any more.
    pub fn lose_cache(&mut self, why: Excuse) {
        self.cache_lost.get_or_insert(why);
    }

    /// It need not be in the prefix directory any more.
    pub fn lose_prefix(&mut self, why: Excuse) {
        self.prefix_lost = Some(why);
        self.saved = false;
        self.due.clear();
    }

    /// A restart may be offered it.
    pub fn may_be_offered(&self) -> bool {
        self.checkpoint && self.is_finished() && self.fate != Fate::Gone
    }

    /// A node has lost its local storage.
    pub fn node_is_lost(&mut self, node: usize) {
        for (at, lost) in self.at.iter().zip(&mut self.lost) {
            *lost |= at.contains(&node);
        }
    }

    /// Two nodes have changed places, each with what it has.
    pub fn nodes_are_swapped(&mut self, one: usize, other: usize) {
        let moved = |node: &usize| match *node {
            node if node == one => other,
            node if node == other => one,
            node => node,
        };
        for at in &mut self.at {
            *at = at.iter().map(moved).collect();
        }
    }

    /// A run begins, with ranks on these nodes: files may move there.
    pub fn may_move(&mut self, node_of: &[usize]) {
        if node_of.len() == self.ranks() {
            for (at, node) in self.at.iter_mut().zip(node_of) {
                at.insert(*node);
            }
        }
    }

    /// All ranks have restarted from it, where it was read.
    pub fn was_read(&mut self, place: Place, node_of: &[usize]) {
        self.place = Some(place);
        self.good = self.ranks();
        match place {
            Place::Prefix => self.saved = true,
            Place::Store(_) => {
                self.at = node_of.iter().map(|node| BTreeSet::from([*node])).collect();
                self.lost.fill(false);
                self.cache_lost = None;
                // It was fetched, and has redundancy for these nodes, or it was in the cache.
                if !self.nodes.iter().any(|nodes| nodes == node_of) {
                    self.nodes.push(node_of.to_vec());
                }
            }
        }
    }

    /// True if no other nodes than these may have any of it in their caches.
    pub fn has_been_on(&self, used: &BTreeSet<usize>) -> bool {
        let written = self.nodes.iter().flatten();
        let moved = self.at.iter().flatten();
        written.chain(moved).all(|node| used.contains(node))
    }

    /// How many nodes, of those for which it has redundancy, miss files when a run is on `used` nodes.
    pub fn losses(&self, used: &BTreeSet<usize>) -> usize {
        let is_lost = |rank: &usize| self.lost[*rank] || !self.at[*rank].is_subset(used);
        let lost: Vec<usize> = (0..self.ranks()).filter(is_lost).collect();
        let nodes = |of: &Vec<usize>| {
            lost.iter()
                .map(|rank| of[*rank])
                .collect::<BTreeSet<_>>()
                .len()
        };
        self.nodes.iter().map(nodes).max().unwrap_or(0)
    }
}
