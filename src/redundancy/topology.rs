//! The nodes, stores and redundancy sets of a run. Every rank sends a report to rank 0 and gets an
//! assignment.

use crate::config::descriptors::{Descriptors, SchemeDescriptor};
use crate::format::Name;
use crate::format::Scheme;
use crate::messages::{FEWER_LOSSES, KEPT_WITH_SINGLE, WEAK_REDUNDANCY};
use crate::redundancy::RedundancyScheme;
use crate::redundancy::{self, EVERYTHING, Set};
use crate::text;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A rank's report to rank 0: its node, failure groups and stores.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
#[derive(Default)]
pub struct RankReport {
    /// Its node.
    pub node: Name,
    /// For each redundancy descriptor, the failure group of this rank.
    pub failure: Vec<Name>,
    /// For each store, the instance that this rank uses. Ranks with the same instance share it.
    pub sharing: Vec<Name>,
    /// Fingerprint of the settings that must be the same on all ranks; see
    /// `session/start/consistency.rs`.
    pub common: u64,
}

/// A redundancy descriptor, as far as the sets depend on it.
#[derive(Debug, Clone)]
pub struct SetPlan {
    scheme: Scheme,
    set_size: usize,
    set_failures: usize,
    store: usize,
    /// True if the store is not in the nodes, so that it survives their loss.
    outlives: bool,
    /// The word for a failure group in messages.
    group: String,
}

/// What rank 0 tells a rank.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
#[derive(Default)]
pub struct RankAssignment {
    /// Number of nodes of the run.
    pub nodes: u64,
    /// Number of this rank's node, from 0.
    pub node: usize,
    /// The ranks of this rank's node.
    pub of_node: Sharing,
    /// For each store, the ranks that share it.
    pub stores: Vec<Sharing>,
    /// For each redundancy descriptor, this rank's set.
    pub sets: Vec<SetMembership>,
    /// For each redundancy descriptor, the number of failure groups that may be lost, whichever
    /// they are. [`EVERYTHING`] for a store that is not in the nodes. The same on all ranks.
    pub tolerates: Vec<usize>,
    /// Only on rank 0: descriptors that cannot protect as configured.
    pub notes: Vec<Note>,
    /// If this rank's settings differ from those of rank 0: the node of rank 0. Everything else is
    /// empty then.
    pub first_different: Option<Name>,
}

/// The ranks that use one instance of a store, or run on one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct Sharing {
    /// The rank that acts for all of them.
    pub leader: usize,
    /// Only on the leader: the other ranks. Empty if it is all ranks of the run.
    pub followers: Vec<usize>,
    /// True if it is all ranks of the run.
    pub all: bool,
    /// Number of this group of ranks, from 0.
    pub number: usize,
    /// How many groups there are.
    pub groups: usize,
}

impl Sharing {
    /// On the leader: all these ranks, itself included, of a run of `size` ranks. Ascending.
    pub fn ranks(&self, size: usize) -> Vec<usize> {
        if self.all {
            (0..size).collect()
        } else {
            std::iter::once(self.leader)
                .chain(self.followers.iter().copied())
                .collect()
        }
    }
}

/// A message to the user about a redundancy descriptor.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct Note {
    /// Index of the descriptor.
    pub plan: usize,
    /// The message.
    pub text: Name,
}

/// A rank's position in a set, as a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
#[derive(Default)]
pub struct SetMembership {
    index: usize,
    members: Vec<usize>,
}

impl SetMembership {
    /// Number of members.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Converts to a set. Fails if the position is not valid.
    pub fn set(self) -> Result<Set> {
        Set::new(self.index, self.members).ok_or_else(|| {
            Error::format(
                0,
                "rank 0 assigned this rank no valid position in a redundancy set",
            )
        })
    }
}

impl RankReport {
    /// The report of this rank. `common` is the fingerprint of its settings.
    pub fn new(node: &str, descriptors: &Descriptors, common: u64) -> RankReport {
        let group = |name: &str| descriptors.groups.get(name).map_or("", String::as_str);
        let (schemes, stores) = (&descriptors.schemes, &descriptors.stores);
        let failure = schemes.iter().map(|s| group(&s.group).into());
        // A store that is wider than a node is identified by its group. A store in a node is
        // identified by its directory too, since ranks of a node may use different directories.
        let sharing = stores.iter().map(|s| {
            let text = if s.outlives_nodes() {
                group(&s.group).to_string()
            } else {
                format!("{}\n{}", group(&s.group), s.dir.display())
            };
            text.as_str().into()
        });
        RankReport {
            node: node.into(),
            failure: failure.collect(),
            sharing: sharing.collect(),
            common,
        }
    }
}

impl SetPlan {
    /// The plans of all redundancy descriptors.
    pub fn all(descriptors: &Descriptors) -> Vec<SetPlan> {
        let Descriptors {
            schemes, stores, ..
        } = descriptors;
        let plan = |s: &SchemeDescriptor| SetPlan {
            scheme: s.scheme,
            set_size: s.set_size as usize,
            set_failures: s.set_failures as usize,
            store: s.store,
            outlives: stores.get(s.store).is_some_and(|s| s.outlives_nodes()),
            group: match s.group.as_str() {
                "NODE" => "node".to_string(),
                other => format!("group of {other}"),
            },
        };
        schemes.iter().map(plan).collect()
    }
}

/// The lowest rank whose settings differ from those of rank 0. Rank 0 only.
pub fn first_different(reports: &[RankReport]) -> Option<usize> {
    let first = reports.first()?;
    reports.iter().position(|h| h.common != first.common)
}

/// The assignments of all ranks, in rank order. Every rank must report as many groups and stores as
/// rank 0. Rank 0 only.
pub fn assign(reports: &[RankReport], plans: &[SetPlan]) -> Result<Vec<RankAssignment>> {
    let Some(first) = reports.first() else {
        return Ok(Vec::new());
    };
    let fits =
        |h: &RankReport| h.failure.len() == plans.len() && h.sharing.len() == first.sharing.len();
    if let Some(rank) = reports.iter().position(|h| !fits(h)) {
        let what = format!("rank {rank} has other stores or schemes than rank 0");
        return Err(Error::format(0, what));
    }
    let nodes = numbered(reports.iter().map(|h| &h.node));
    let count = count(&nodes) as u64;
    let mut answers: Vec<RankAssignment> = nodes
        .into_iter()
        .map(|node| RankAssignment {
            nodes: count,
            node,
            ..RankAssignment::default()
        })
        .collect();
    for (answer, share) in answers
        .iter_mut()
        .zip(shares(reports.iter().map(|h| &h.node)))
    {
        answer.of_node = share;
    }
    for store in 0..first.sharing.len() {
        let shares = shares(reports.iter().map(|h| &h.sharing[store]));
        for (answer, share) in answers.iter_mut().zip(shares) {
            answer.stores.push(share);
        }
    }
    for (at, plan) in plans.iter().enumerate() {
        let groups = domains(reports, |h| &h.failure[at], plan.store);
        let (sets, tolerates, note) = sets(plan, &groups);
        for (answer, set) in answers.iter_mut().zip(sets) {
            answer.sets.push(SetMembership {
                index: set.index,
                members: set.members.to_vec(),
            });
            answer.tolerates.push(tolerates);
        }
        if let (Some(answer), Some(text)) = (answers.first_mut(), note) {
            let text = text.as_str().into();
            answer.notes.push(Note { plan: at, text });
        }
    }
    Ok(answers)
}

/// The failure domain of each rank for datasets in `store`: ranks of a node, or of one instance of
/// the store, lose their data together. Rank 0 only.
pub fn domains_of_nodes(reports: &[RankReport], store: usize) -> Vec<usize> {
    domains(reports, |h| &h.node, store)
}

/// Numbers the failure domains. Ranks are in one domain if they share a group or an instance of the
/// store, directly or through other ranks.
fn domains<'a>(
    reports: &'a [RankReport],
    group: impl Fn(&'a RankReport) -> &'a Name,
    store: usize,
) -> Vec<usize> {
    let groups = numbered(reports.iter().map(group));
    let none = Name::default();
    let instance = |h: &'a RankReport| h.sharing.get(store);
    let instances = numbered(reports.iter().map(|h| instance(h).unwrap_or(&none)));
    // Joins groups that share an instance. A domain is identified by its lowest group.
    let mut lowest: Vec<usize> = (0..count(&groups)).collect();
    let root = |lowest: &[usize], mut at: usize| {
        while let Some(next) = lowest.get(at).copied().filter(|next| *next != at) {
            at = next;
        }
        at
    };
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for (group, instance) in groups.iter().zip(&instances) {
        let here = root(&lowest, *group);
        let there = root(&lowest, *seen.entry(*instance).or_insert(here));
        if let Some(entry) = lowest.get_mut(here.max(there)) {
            *entry = here.min(there);
        }
    }
    let classes: Vec<usize> = groups.iter().map(|group| root(&lowest, *group)).collect();
    numbered(classes.iter())
}

/// The ranks that share a store, from the instance that each rank uses.
fn shares<'a>(instances: impl Iterator<Item = &'a Name>) -> Vec<Sharing> {
    let instances = numbered(instances);
    let mut ranks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (rank, instance) in instances.iter().enumerate() {
        ranks.entry(*instance).or_default().push(rank);
    }
    let groups = ranks.len();
    let all = groups == 1;
    let mut shares: Vec<Sharing> = instances
        .iter()
        .filter_map(|instance| Some((*instance, *ranks.get(instance)?.first()?)))
        .map(|(number, leader)| Sharing {
            leader,
            all,
            followers: Vec::new(),
            number,
            groups,
        })
        .collect();
    for members in ranks.into_values().filter(|_| !all) {
        if let Some((leader, followers)) = members.split_first()
            && let Some(share) = shares.get_mut(*leader)
        {
            share.followers = followers.to_vec();
        }
    }
    shares
}

/// Numbers for names, in order of first appearance.
fn numbered<'a, T: Ord + 'a>(names: impl Iterator<Item = &'a T>) -> Vec<usize> {
    let mut known: BTreeMap<&T, usize> = BTreeMap::new();
    names
        .map(|name| {
            let next = known.len();
            *known.entry(name).or_insert(next)
        })
        .collect()
}

/// Number of different values.
fn count(numbers: &[usize]) -> usize {
    numbers.iter().collect::<BTreeSet<_>>().len()
}

/// The sets of one descriptor, the number of failure groups that may be lost, and a message to the
/// user.
fn sets(plan: &SetPlan, groups: &[usize]) -> (Vec<Set>, usize, Option<String>) {
    let (word, failures) = (plan.scheme.word(), plan.set_failures);
    let alone = || {
        let ranks = 0..groups.len();
        ranks.filter_map(|rank| Set::new(0, vec![rank])).collect()
    };
    let outlives = if plan.outlives { EVERYTHING } else { 0 };
    if plan.scheme.redundancy().is_none() {
        return (alone(), outlives, None);
    }
    if count(groups) < 2 {
        let why = if plan.outlives {
            "all ranks share one instance of the store, which survives the loss of nodes"
        } else {
            "all ranks are in one failure group"
        };
        let so = if plan.outlives {
            format!("{word} would add nothing")
        } else {
            format!("{word} could not survive its loss")
        };
        let note = format!("{why}, so {so}: datasets are kept with SINGLE ({KEPT_WITH_SINGLE})");
        return (alone(), outlives, Some(note));
    }
    // Smaller sets protect better, so they replace sets that are too large for the code.
    let mut size = plan.set_size.clamp(2, redundancy::MAX_BLOCKS);
    let mut sets = redundancy::make_sets(groups, size);
    let spans = |sets: &[Set]| {
        let largest = sets.iter().map(Set::size).max().unwrap_or(0);
        largest + failures <= redundancy::MAX_BLOCKS
    };
    while size > 2 && !spans(&sets) {
        size /= 2;
        sets = redundancy::make_sets(groups, size);
    }
    let scheme = RedundancyScheme::new(plan.scheme, failures);
    let survived = redundancy::survives(&sets, groups, |members| scheme.losses(members));
    let group = if plan.outlives {
        "instance of the store"
    } else {
        plan.group.as_str()
    };
    let note = match survived {
        0 => Some(format!(
            "{word} cannot keep the ranks of one failure group apart here: the loss of one \
             {group} may lose a dataset; spread ranks evenly over nodes ({WEAK_REDUNDANCY})"
        )),
        _ if survived < failures => Some(format!(
            "{word} is to survive {failures} losses, but with these ranks and nodes you survive \
             the loss of any {survived} {}, not of {}; use more nodes ({FEWER_LOSSES})",
            text::plural(survived, group),
            survived + 1
        )),
        _ => None,
    };
    (sets, survived.max(outlives), note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(scheme: &str, set_size: usize, set_failures: usize) -> SetPlan {
        SetPlan {
            scheme: Scheme::from_word(scheme).unwrap(),
            set_size,
            set_failures,
            store: 0,
            outlives: false,
            group: "node".to_string(),
        }
    }

    /// Reports of ranks on `nodes`, with one XOR descriptor over nodes and one store at
    /// `dir(node)`.
    fn reports(nodes: &[&str], dir: impl Fn(&str) -> String) -> Vec<RankReport> {
        let report = |node: &&str| RankReport {
            node: (*node).into(),
            failure: vec![(*node).into()],
            sharing: vec![format!("{node} {}", dir(node)).as_str().into()],
            common: 1,
        };
        nodes.iter().map(report).collect()
    }

    /// The assignments for one XOR descriptor in the first store.
    fn assignments(reports: &[RankReport], outlives: bool) -> Vec<RankAssignment> {
        let plan = SetPlan {
            outlives,
            ..plan("XOR", 8, 1)
        };
        assign(reports, &[plan]).unwrap()
    }

    fn sets_of(answers: Vec<RankAssignment>) -> Vec<Vec<usize>> {
        let first = |answer: RankAssignment| answer.sets.into_iter().next().unwrap().set().unwrap();
        answers
            .into_iter()
            .map(|a| first(a).members.to_vec())
            .collect()
    }

    #[test]
    fn ranks_of_a_node_share_a_leader_and_no_set() {
        let nodes = ["a", "a", "b", "b", "c", "c"];
        let answers = assignments(&reports(&nodes, |_| "/shm".to_string()), false);
        let leaders: Vec<usize> = answers.iter().map(|a| a.stores[0].leader).collect();
        assert_eq!(leaders, [0, 0, 2, 2, 4, 4]);
        assert_eq!(answers[2].tolerates, [1]);
        assert!(answers.iter().all(|a| a.nodes == 3 && a.notes.is_empty()));
        for (rank, set) in sets_of(answers).into_iter().enumerate() {
            assert!(set.contains(&rank));
            let on: BTreeSet<&str> = set.iter().map(|r| nodes[*r]).collect();
            assert_eq!(on.len(), set.len(), "{set:?}");
        }
    }

    #[test]
    fn one_directory_has_a_leader_on_each_node_and_one_node_one_for_each_directory() {
        let leaders = |reports: &[RankReport]| -> Vec<usize> {
            let answers = assignments(reports, false);
            answers.iter().map(|a| a.stores[0].leader).collect()
        };
        assert_eq!(
            leaders(&reports(&["a", "b", "a"], |_| "/shared".to_string())),
            [0, 1, 0]
        );
        let mut two = reports(&["a", "a"], |_| "/ssd0".to_string());
        two[1].sharing = vec!["/ssd1".into()];
        assert_eq!(leaders(&two), [0, 1]);
    }

    /// Four nodes in two racks. The store is one per rack, or one for all.
    fn racked(store: impl Fn(usize) -> &'static str) -> Vec<RankReport> {
        let mut reports = reports(&["a", "b", "c", "d"], |_| String::new());
        for (rank, report) in reports.iter_mut().enumerate() {
            report.sharing = vec![store(rank / 2).into()];
        }
        reports
    }

    #[test]
    fn ranks_of_one_instance_of_a_store_are_in_no_set_together() {
        let answers = assignments(&racked(|rack| ["r0", "r1"][rack]), true);
        assert!(answers[0].notes.is_empty());
        assert_eq!(answers[1].tolerates, [EVERYTHING]);
        let shares: Vec<_> = answers
            .iter()
            .map(|a| (a.stores[0].leader, a.stores[0].followers.clone()))
            .collect();
        assert_eq!(
            shares,
            [(0, vec![1]), (0, vec![]), (2, vec![3]), (2, vec![])]
        );
        assert_eq!(sets_of(answers), [[0, 2], [1, 3], [0, 2], [1, 3]]);
    }

    #[test]
    fn one_store_for_all_has_one_leader_and_needs_no_redundancy() {
        let answers = assignments(&racked(|_| "all"), true);
        let share = &answers[0].stores[0];
        assert!(share.all && share.followers.is_empty());
        assert!(answers.iter().all(|a| a.stores[0].leader == 0));
        let nodes: Vec<usize> = answers.iter().map(|a| a.node).collect();
        assert_eq!(nodes, [0, 1, 2, 3]);
        let note = answers[0].notes[0].text.to_string();
        assert!(
            note.contains("share one instance") && note.contains("SINGLE"),
            "{note}"
        );
        assert_eq!(answers[3].tolerates, [EVERYTHING]);
        assert_eq!(sets_of(answers), [[0], [1], [2], [3]]);
    }

    #[test]
    fn domains_are_joined_through_others() {
        let mut reports = reports(&["a", "b", "c", "d", "b"], |_| String::new());
        for (report, store) in reports.iter_mut().zip(["x", "y", "y", "z", "x"]) {
            report.sharing = vec![store.into()];
        }
        assert_eq!(domains_of_nodes(&reports, 0), [0, 0, 0, 1, 0]);
    }

    #[test]
    fn rank_0_gets_one_note_per_descriptor_that_cannot_protect() {
        let answers = assignments(&reports(&["a", "a"], |_| "/shm".to_string()), false);
        assert!(
            answers[0].notes[0]
                .text
                .to_string()
                .contains("kept with SINGLE")
        );
        assert!(answers[1].notes.is_empty());
        assert_eq!(sets_of(answers), [[0], [1]]);

        // Five of six ranks are on one node, so some set must hold two of them.
        let crowded = ["a", "a", "a", "a", "a", "b"];
        let answers = assignments(&reports(&crowded, |_| "/shm".to_string()), false);
        assert!(
            answers[0].notes[0]
                .text
                .to_string()
                .contains("spread ranks evenly")
        );
    }

    #[test]
    fn the_first_rank_with_other_settings_is_found() {
        let mut reports = reports(&["a", "b", "c"], |_| "/shm".to_string());
        assert_eq!(
            (first_different(&reports), first_different(&[])),
            (None, None)
        );
        reports[1].common = 2;
        reports[2].common = 3;
        assert_eq!(first_different(&reports), Some(1));
    }

    #[test]
    fn ranks_that_tell_more_or_less_are_refused() {
        let changes: [fn(&mut RankReport); 2] = [
            |report| report.failure.clear(),
            |report| report.sharing.push("/more".into()),
        ];
        for change in changes {
            let mut reports = reports(&["a", "b", "c"], |_| "/shm".to_string());
            change(&mut reports[1]);
            let error = assign(&reports, &[plan("XOR", 8, 1)]).unwrap_err();
            assert!(error.to_string().contains("rank 1"), "{error}");
        }
        assert!(assign(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn a_position_outside_of_its_set_is_an_error() {
        let (index, members) = (2, vec![0, 1]);
        assert!(SetMembership { index, members }.set().is_err());
    }

    fn note(scheme: &str, failures: usize, groups: &[usize]) -> String {
        sets(&plan(scheme, 8, failures), groups)
            .2
            .unwrap_or_default()
    }

    #[test]
    fn says_what_can_be_survived() {
        let nodes: Vec<usize> = (0..4).collect();
        assert_eq!(note("RS", 2, &nodes), "");
        assert_eq!(note("PARTNER", 1, &nodes), "");
        assert!(note("RS", 5, &nodes).contains("the loss of any 3 nodes, not of 4"));
        assert!(note("RS", 2, &[0, 1]).contains("the loss of any 1 node, not of 2"));
        assert!(note("PARTNER", 3, &[0, 1, 2]).contains("any 2 nodes, not of 3"));
        assert!(note("RS", 2, &[0, 0]).contains("kept with SINGLE"));
        // Three of four ranks are on one node, so a set holds two of them.
        assert!(note("XOR", 1, &[0, 0, 0, 1]).contains("spread ranks evenly"));
        assert_eq!(note("SINGLE", 0, &nodes), "");
    }

    #[test]
    fn sets_that_no_code_spans_are_divided() {
        let nodes: Vec<usize> = (0..700).collect();
        for (scheme, size, failures) in [("RS", 250, 6), ("XOR", 5000, 1), ("PARTNER", 300, 2)] {
            let (sets, tolerates, note) = sets(&plan(scheme, size, failures), &nodes);
            let largest = sets.iter().map(Set::size).max().unwrap();
            assert!(largest <= 250 && largest > 60, "{scheme}: {largest}");
            assert_eq!((tolerates, note), (failures, None), "{scheme}");
        }
    }
}
