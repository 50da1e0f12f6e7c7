//! How ranks find each other: every rank tells rank 0 where it is, and hears with whom it
//! shares what.

use crate::config::descriptors::{Descriptors, Scheme};
use crate::format::Name;
use crate::redundancy::{self, Set};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a rank says about itself.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
#[derive(Default)]
pub struct Hello {
    /// Its node.
    pub node: Name,
    /// For each redundancy descriptor, the failure group that it belongs to.
    pub failure: Vec<Name>,
    /// For each store, who shares it: the group and the directory.
    pub sharing: Vec<Name>,
    /// Scheme, set size and failures of each redundancy descriptor, the same on all ranks.
    pub schemes: Vec<Name>,
}

/// What a rank is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
#[derive(Default)]
pub struct Welcome {
    /// Number of nodes of the run.
    pub nodes: u64,
    /// For each store, the rank that acts for all that share it with this one.
    pub leaders: Vec<usize>,
    /// For each redundancy descriptor, this rank's set.
    pub sets: Vec<Place>,
    /// Descriptors that cannot protect as configured, in words.
    pub notes: Vec<Name>,
}

/// A place in a set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
#[derive(Default)]
pub struct Place {
    index: usize,
    members: Vec<usize>,
}

impl Place {
    /// As a set; the place is checked, though it comes from rank 0.
    pub fn set(self) -> Result<Set> {
        Set::new(self.index, self.members)
            .ok_or_else(|| Error::format(0, "rank 0 gave this rank no place in a redundancy set"))
    }
}

impl Hello {
    /// From this rank's descriptors.
    pub fn new(node: &str, descriptors: &Descriptors) -> Hello {
        let group = |name: &str| descriptors.groups.get(name).map_or("", String::as_str);
        Hello {
            node: node.into(),
            failure: descriptors
                .schemes
                .iter()
                .map(|s| group(&s.group).into())
                .collect(),
            sharing: descriptors
                .stores
                .iter()
                .map(|s| {
                    format!("{}\n{}", group(&s.group), s.dir.display())
                        .as_str()
                        .into()
                })
                .collect(),
            schemes: descriptors
                .schemes
                .iter()
                .map(|s| {
                    format!("{} {} {}", s.scheme.word(), s.set_size, s.set_failures)
                        .as_str()
                        .into()
                })
                .collect(),
        }
    }
}

/// Rank 0: the answers to all, in the order of ranks. Every rank must have said as much as
/// rank 0 did.
pub fn answer(hellos: &[Hello]) -> Result<Vec<Welcome>> {
    let Some(first) = hellos.first() else {
        return Ok(Vec::new());
    };
    if let Some(rank) = hellos.iter().position(|h| {
        h.failure.len() != first.failure.len()
            || h.sharing.len() != first.sharing.len()
            || h.schemes != first.schemes
    }) {
        return Err(Error::Config {
            place: format!("rank {rank} on {}", hellos[rank].node),
            what: "has other STORE or CKPT descriptors than rank 0; make SCR_CACHE_BASE and \
                   SCR_CNTL_BASE name configured stores on all processes, or on none"
                .to_string(),
        });
    }
    let nodes: BTreeSet<&Name> = hellos.iter().map(|h| &h.node).collect();
    let mut answers: Vec<Welcome> = hellos
        .iter()
        .map(|_| Welcome {
            nodes: nodes.len() as u64,
            ..Welcome::default()
        })
        .collect();
    for store in 0..first.sharing.len() {
        // The node counts too: two emulated nodes may share a directory, and each must find
        // what its own ranks left there.
        let mut leaders: BTreeMap<(&Name, &Name), usize> = BTreeMap::new();
        for (rank, hello) in hellos.iter().enumerate() {
            let key = (&hello.node, &hello.sharing[store]);
            let leader = *leaders.entry(key).or_insert(rank);
            answers[rank].leaders.push(leader);
        }
    }
    for scheme in 0..first.schemes.len() {
        let groups = numbered(hellos.iter().map(|h| &h.failure[scheme]));
        let (sets, note) = sets(&first.schemes[scheme].to_string(), &groups);
        for (answer, set) in answers.iter_mut().zip(sets) {
            answer.sets.push(Place {
                index: set.index,
                members: set.members.to_vec(),
            });
        }
        if let Some(answer) = answers.first_mut() {
            answer.notes.extend(note.map(|note| note.as_str().into()));
        }
    }
    Ok(answers)
}

/// Numbers for names, in order of first appearance.
fn numbered<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<usize> {
    let mut known: BTreeMap<&Name, usize> = BTreeMap::new();
    names
        .map(|name| {
            let next = known.len();
            *known.entry(name).or_insert(next)
        })
        .collect()
}

/// The sets of one descriptor, given as "SCHEME SIZE FAILURES", and what the user should
/// know.
fn sets(scheme: &str, groups: &[usize]) -> (Vec<Set>, Option<String>) {
    let mut words = scheme.split(' ');
    let word = words.next().unwrap_or_default();
    let mut number = |default| words.next().and_then(|w| w.parse().ok()).unwrap_or(default);
    let (size, failures): (usize, usize) = (number(8), number(1));
    let alone = || {
        (0..groups.len())
            .filter_map(|rank| Set::new(0, vec![rank]))
            .collect()
    };
    let Some(scheme) = redundancy::by_name(word, failures) else {
        return (alone(), None);
    };
    if word == Scheme::Single.word() {
        return (alone(), None);
    }
    let distinct = groups.iter().max().map_or(0, |max| max + 1);
    if distinct < 2 {
        return (
            alone(),
            Some(format!(
                "all ranks are in one failure group, so {word} could not survive its loss: \
                 datasets are kept with SINGLE"
            )),
        );
    }
    // Smaller sets protect better, so they may replace those that no code can span.
    let mut size = size.clamp(2, redundancy::MOST_BLOCKS);
    let mut sets = redundancy::plan(groups, size);
    let spans = |sets: &[Set]| {
        let largest = sets.iter().map(Set::size).max().unwrap_or(0);
        largest + failures <= redundancy::MOST_BLOCKS
    };
    while size > 2 && !spans(&sets) {
        size /= 2;
        sets = redundancy::plan(groups, size);
    }
    let smallest = sets.iter().map(Set::size).min().unwrap_or(0);
    let stands = scheme.losses(smallest);
    let note = match redundancy::survives(&sets, groups, stands) {
        0 => Some(format!(
            "{word} cannot keep the ranks of one failure group apart here: the loss of one \
             node may lose a dataset; spread ranks evenly over nodes"
        )),
        survived if survived < failures => Some(format!(
            "{word} is to survive {failures} losses, but with these ranks and nodes datasets \
             survive the loss of any {survived} failure group{}, not of {}; use more nodes",
            if survived == 1 { "" } else { "s" },
            survived + 1
        )),
        _ => None,
    };
    (sets, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks on nodes, with one XOR descriptor over nodes and one store at `dir(node)`.
    fn hellos(nodes: &[&str], dir: impl Fn(&str) -> String) -> Vec<Hello> {
        let hello = |node: &&str| Hello {
            node: (*node).into(),
            failure: vec![(*node).into()],
            sharing: vec![dir(node).as_str().into()],
            schemes: vec!["XOR 8 1".into()],
        };
        nodes.iter().map(hello).collect()
    }

    fn sets_of(answers: Vec<Welcome>) -> Vec<Vec<usize>> {
        let first = |answer: Welcome| answer.sets.into_iter().next().unwrap().set().unwrap();
        answers
            .into_iter()
            .map(|a| first(a).members.to_vec())
            .collect()
    }

    #[test]
    fn ranks_of_a_node_share_a_leader_and_no_set() {
        let nodes = ["a", "a", "b", "b", "c", "c"];
        let answers = answer(&hellos(&nodes, |_| "/shm".to_string())).unwrap();
        let leaders: Vec<usize> = answers.iter().map(|a| a.leaders[0]).collect();
        assert_eq!(leaders, [0, 0, 2, 2, 4, 4]);
        assert!(answers.iter().all(|a| a.nodes == 3 && a.notes.is_empty()));
        for (rank, set) in sets_of(answers).into_iter().enumerate() {
            assert!(set.contains(&rank));
            let on: BTreeSet<&str> = set.iter().map(|r| nodes[*r]).collect();
            assert_eq!(on.len(), set.len(), "{set:?}");
        }
    }

    #[test]
    fn one_directory_has_a_leader_on_each_node_and_one_node_one_for_each_directory() {
        let leaders = |hellos: &[Hello]| -> Vec<usize> {
            answer(hellos)
                .unwrap()
                .iter()
                .map(|a| a.leaders[0])
                .collect()
        };
        assert_eq!(
            leaders(&hellos(&["a", "b", "a"], |_| "/shared".to_string())),
            [0, 1, 0]
        );
        let mut two = hellos(&["a", "a"], |_| "/ssd0".to_string());
        two[1].sharing = vec!["/ssd1".into()];
        assert_eq!(leaders(&two), [0, 1]);
    }

    #[test]
    fn what_cannot_protect_is_told_to_rank_0_once() {
        let answers = answer(&hellos(&["a", "a"], |_| "/shm".to_string())).unwrap();
        assert!(answers[0].notes[0].to_string().contains("kept with SINGLE"));
        assert!(answers[1].notes.is_empty());
        assert_eq!(sets_of(answers), [[0], [1]]);

        // Five of six ranks on one node: some set must hold two of them.
        let crowded = ["a", "a", "a", "a", "a", "b"];
        let answers = answer(&hellos(&crowded, |_| "/shm".to_string())).unwrap();
        assert!(
            answers[0].notes[0]
                .to_string()
                .contains("spread ranks evenly")
        );
    }

    #[test]
    fn ranks_that_are_configured_differently_are_refused_by_name() {
        let changes: [fn(&mut Hello); 3] = [
            |hello| hello.failure.clear(),
            |hello| hello.sharing.push("/more".into()),
            |hello| hello.schemes = vec!["XOR 4 1".into()],
        ];
        for change in changes {
            let mut hellos = hellos(&["a", "b", "c"], |_| "/shm".to_string());
            change(&mut hellos[1]);
            let error = answer(&hellos).unwrap_err().to_string();
            assert!(error.contains("rank 1 on b"), "{error}");
        }
        assert!(answer(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_place_outside_of_its_set_is_an_error() {
        let (index, members) = (2, vec![0, 1]);
        assert!(Place { index, members }.set().is_err());
    }

    fn note(scheme: &str, groups: &[usize]) -> String {
        sets(scheme, groups).1.unwrap_or_default()
    }

    #[test]
    fn says_what_can_be_survived() {
        let nodes: Vec<usize> = (0..4).collect();
        assert_eq!(note("RS 8 2", &nodes), "");
        assert_eq!(note("PARTNER 8 1", &nodes), "");
        assert!(note("RS 8 5", &nodes).contains("any 3 failure groups, not of 4"));
        assert!(note("RS 8 2", &[0, 1]).contains("any 1 failure group, not of 2"));
        assert!(note("PARTNER 8 3", &[0, 1, 2]).contains("any 2 failure groups, not of 3"));
        assert!(note("RS 8 2", &[0, 0]).contains("kept with SINGLE"));
        // Three of four ranks on one node: a set holds two of them.
        assert!(note("XOR 8 1", &[0, 0, 0, 1]).contains("spread ranks evenly"));
        assert_eq!(note("SINGLE 8 0", &nodes), "");
    }

    #[test]
    fn sets_that_no_code_spans_are_divided() {
        let nodes: Vec<usize> = (0..700).collect();
        for scheme in ["RS 250 6", "XOR 5000 1", "PARTNER 300 2"] {
            let (sets, note) = sets(scheme, &nodes);
            let largest = sets.iter().map(Set::size).max().unwrap();
            assert!(largest <= 250 && largest > 60, "{scheme}: {largest}");
            assert_eq!(note, None, "{scheme}");
        }
    }
}
