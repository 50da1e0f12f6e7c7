//! The sets of ranks that protect each other.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A redundancy set, seen by one of its members. The members form a ring: the right
/// neighbour of the last is the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// Number of the set: the lowest world rank among the members (the SCR developer guide, "XOR
    /// file").
    pub id: usize,
    /// Index of this rank in `members`.
    pub index: usize,
    /// World ranks in set order. All members of a set share one list.
    pub members: Arc<[usize]>,
}

impl Set {
    /// The set of `members`, seen by the one at `index`. `None` if `index` is out of range.
    pub fn new(index: usize, members: impl Into<Arc<[usize]>>) -> Option<Set> {
        let members = members.into();
        let id = *members.iter().min()?;
        (index < members.len()).then_some(Set { id, index, members })
    }

    /// Number of members, at least 1.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// World rank of the member `steps` to the right of this one.
    pub fn right(&self, steps: usize) -> usize {
        let at = (self.index + steps % self.size()) % self.size();
        self.members.get(at).copied().unwrap_or(self.id)
    }

    /// World ranks of the `count` members on the left, nearest first; at most all others.
    pub fn lefts(&self, count: usize) -> impl Iterator<Item = usize> {
        self.left_indices()
            .take(count)
            .filter_map(|i| self.members.get(i).copied())
    }

    /// Indices in `members` of all others, nearest left neighbour first.
    pub fn left_indices(&self) -> impl Iterator<Item = usize> + use<> {
        let (index, size) = (self.index, self.size());
        (1..size).map(move |steps| (index + size - steps) % size)
    }
}

/// Number of sets into which all ranks are divided, if the largest failure group (commonly a node) has so
/// many ranks. In order of importance:
///
/// 1. sets have at least 2 members (unless there is only one rank);
/// 2. no set holds two members of one failure group, unless a group is larger than half of
///    all ranks, which makes that impossible under 1;
/// 3. sets have at least `set_size` members, unless a group is larger than the number of
///    such sets.
///
/// The ranks are dealt out to the sets in turn: first the ranks of the larger groups, of groups of one size those of
/// the group with the lowest rank, and in a group the lower ranks. So set sizes differ by at most one. A group has at
/// most as many ranks as there are sets, and no set gets two ranks of a group. Members are in rising order of world
/// rank.
pub fn number_of_sets(ranks: usize, largest: usize, set_size: usize) -> usize {
    largest.max(ranks / set_size.max(2)).min(ranks / 2).max(1)
}

/// The result of [`survives`] for such sets: only the largest group can have several ranks in one
/// set.
pub fn survivable_losses(
    ranks: usize,
    largest: usize,
    sets: usize,
    losses: impl Fn(usize) -> usize,
) -> usize {
    // Set n has the ranks at the places n, n + sets, ... So size and share of the largest group change at these.
    let kinds = [0, ranks % sets, largest % sets];
    let kinds = kinds.into_iter().filter(|set| *set < sets);
    let of_kind = |set: usize| {
        let share = |places: usize| places / sets + usize::from(set < places % sets);
        let (members, of_largest) = (share(ranks), share(largest));
        let losses = losses(members);
        if members <= losses || of_largest > losses {
            return 0;
        }
        let others = (members - of_largest).min(losses - of_largest);
        others + usize::from(of_largest > 0)
    };
    kinds.map(of_kind).min().unwrap_or(0)
}

/// The sets for all ranks at once: entry `r` of the result is the set of world rank `r`, whose failure group has the
/// number `failure_group[r]`. `sets` is from [`number_of_sets`].
pub(super) fn deal_out(failure_group: &[usize], sets: usize) -> Vec<Set> {
    let ranks = failure_group.len();
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (rank, group) in failure_group.iter().enumerate() {
        groups.entry(*group).or_default().push(rank);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort_by_key(|g| (std::cmp::Reverse(g.len()), g.first().copied()));
    let mut dealt: Vec<Vec<usize>> = vec![Vec::new(); sets];
    for (rank, at) in groups.into_iter().flatten().zip((0..sets).cycle()) {
        dealt[at].push(rank);
    }
    let mut seen: Vec<(usize, Set)> = Vec::with_capacity(ranks);
    for mut members in dealt {
        members.sort_unstable();
        let members: Arc<[usize]> = members.into();
        let views = (0..members.len()).filter_map(|i| Set::new(i, members.clone()));
        seen.extend(members.iter().copied().zip(views));
    }
    seen.sort_unstable_by_key(|(rank, _)| *rank);
    seen.into_iter().map(|(_, set)| set).collect()
}

/// The sets of ranks in these failure groups, of at least `set_size` members where that is possible.
#[cfg(test)]
pub(super) fn make_sets(failure_group: &[usize], set_size: usize) -> Vec<Set> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for group in failure_group {
        *sizes.entry(*group).or_default() += 1;
    }
    let largest = sizes.into_values().max().unwrap_or(1);
    deal_out(
        failure_group,
        number_of_sets(failure_group.len(), largest, set_size),
    )
}

/// Number of failure groups, whichever they are, that can be lost together if a set of `n` members can
/// rebuild `losses(n)` of them. The answer is 0 if a set has no more members than that.
pub fn survives(sets: &[Set], failure_group: &[usize], losses: impl Fn(usize) -> usize) -> usize {
    sets.iter()
        .filter(|set| set.index == 0)
        .map(|set| {
            let losses = losses(set.size());
            if set.size() <= losses {
                return 0;
            }
            let mut hit: HashMap<Option<&usize>, usize> = HashMap::new();
            for rank in set.members.iter() {
                *hit.entry(failure_group.get(*rank)).or_default() += 1;
            }
            let mut hit: Vec<usize> = hit.into_values().collect();
            hit.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
            let mut lost = 0;
            hit.iter()
                .take_while(|n| {
                    lost += **n;
                    lost <= losses
                })
                .count()
        })
        .min()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the group of each rank, for groups of these sizes.
    fn blocks(sizes: &[usize]) -> Vec<usize> {
        sizes
            .iter()
            .enumerate()
            .flat_map(|(g, n)| std::iter::repeat_n(g, *n))
            .collect()
    }

    fn members(sets: &[Set]) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = sets
            .iter()
            .filter(|s| s.index == 0)
            .map(|s| s.members.to_vec())
            .collect();
        all.sort();
        all
    }

    /// Checks all properties of [`make_sets`] for one layout.
    fn check(groups: &[usize], set_size: usize) {
        let shape = format!("groups {groups:?}, set size {set_size}");
        let sets = make_sets(groups, set_size);
        let ranks = groups.len();
        assert_eq!(sets.len(), ranks, "{shape}");
        for (rank, set) in sets.iter().enumerate() {
            assert_eq!(set.members[set.index], rank, "{shape}");
            assert_eq!(set.id, set.members[0], "{shape}");
            assert_eq!(sets[set.members[0]].members, set.members, "{shape}");
            assert!(set.members.is_sorted(), "{shape}");
        }
        let distinct = members(&sets);
        let largest_set = distinct.iter().map(Vec::len).max().unwrap_or(0);
        let smallest_set = distinct.iter().map(Vec::len).min().unwrap_or(0);
        assert!(largest_set - smallest_set <= 1, "{shape}");
        assert!(smallest_set >= 2 || ranks < 2, "{shape}");

        let mut count: HashMap<usize, usize> = HashMap::new();
        groups
            .iter()
            .for_each(|g| *count.entry(*g).or_default() += 1);
        let largest = count.values().copied().max().unwrap_or(0);
        let apart = distinct.iter().all(|set| {
            let mut of: Vec<usize> = set.iter().map(|r| groups[*r]).collect();
            of.sort_unstable();
            of.windows(2).all(|w| w[0] != w[1])
        });
        assert_eq!(apart, largest <= (ranks / 2).max(1), "{shape}");
        assert_eq!(
            survives(&sets, groups, |_| 1),
            usize::from(apart && ranks > 1),
            "{shape}"
        );
        let count = number_of_sets(ranks, largest.max(1), set_size);
        if ranks > 0 {
            for most in 0..4 {
                let losses = |members: usize| members.saturating_sub(1).min(most);
                let expected = survives(&sets, groups, losses);
                assert_eq!(
                    survivable_losses(ranks, largest, count, losses),
                    expected,
                    "{shape}"
                );
            }
        }
        if ranks >= set_size && largest <= ranks / set_size.max(2) {
            assert!(smallest_set >= set_size, "{shape}");
        }
    }

    #[test]
    fn sets_have_the_documented_properties_for_many_layouts() {
        for set_size in [0, 1, 2, 3, 4, 8, 100] {
            for nodes in 0..12 {
                for per_node in 1..5 {
                    check(&blocks(&vec![per_node; nodes]), set_size);
                    let cyclic: Vec<usize> = (0..nodes * per_node).map(|r| r % nodes).collect();
                    check(&cyclic, set_size);
                }
            }
            // Uneven nodes: all ways to give 1 to 4 ranks to each of 5 nodes.
            for code in 0..4usize.pow(5) {
                let sizes: Vec<usize> = (0..5).map(|i| code / 4usize.pow(i) % 4 + 1).collect();
                check(&blocks(&sizes), set_size);
            }
        }
        check(&blocks(&[40, 1, 1, 1]), 8);
    }

    #[test]
    fn some_layouts_by_hand() {
        assert_eq!(
            members(&make_sets(&blocks(&[2; 4]), 8)),
            [[0, 2, 4, 6], [1, 3, 5, 7]]
        );
        assert_eq!(members(&make_sets(&blocks(&[1; 5]), 8)), [[0, 1, 2, 3, 4]]);
        assert_eq!(members(&make_sets(&blocks(&[1; 4]), 2)), [[0, 2], [1, 3]]);
        assert_eq!(members(&make_sets(&[7], 8)), [[0]]);
        assert!(make_sets(&[], 8).is_empty());
    }

    #[test]
    fn says_how_many_groups_can_be_lost() {
        let apart = blocks(&[1; 6]);
        assert_eq!(survives(&make_sets(&apart, 6), &apart, |_| 3), 3);
        let paired = blocks(&[2, 2]);
        let one = [Set::new(0, vec![0, 1, 2, 3]).unwrap()];
        assert_eq!(survives(&one, &paired, |_| 1), 0);
        assert_eq!(survives(&one, &paired, |_| 3), 1);
        assert_eq!(survives(&one, &paired, |_| 4), 0);
        assert_eq!(survives(&make_sets(&[0], 8), &[0], |_| 1), 0);
        // Sets of three and of two: the larger one may lose both of its members on one node.
        let uneven = [0, 0, 0, 1, 1];
        let sets = make_sets(&uneven, 8);
        assert_eq!(survives(&sets, &uneven, |members| members - 1), 1);
    }

    /// The definition: the largest number of groups such that no set loses more than it can
    /// rebuild, whichever groups are lost. All ways to place six ranks in three groups are tried.
    #[test]
    fn groups_that_can_be_lost_are_those_of_the_definition() {
        const RANKS: usize = 6;
        let sets: [&[&[usize]]; 3] = [
            &[&[0, 1, 2, 3, 4, 5]],
            &[&[0, 1, 2], &[3, 4, 5]],
            &[&[0, 5, 2, 3], &[1, 4]],
        ];
        let tolerates = |members: &[&[usize]], groups: &[usize], losses: usize, lost: usize| {
            let chosen = (0..8u32).filter(|c| c.count_ones() as usize == lost);
            chosen.into_iter().all(|chosen| {
                let gone = |rank: &&usize| chosen >> groups[**rank] & 1 == 1;
                members
                    .iter()
                    .all(|set| set.iter().filter(gone).count() <= losses)
            })
        };
        for code in 0..3usize.pow(RANKS as u32) {
            let groups: Vec<usize> = (0..RANKS)
                .map(|r| code / 3usize.pow(r as u32) % 3)
                .collect();
            for members in sets {
                let first = |set: &&[usize]| Set::new(0, set.to_vec()).unwrap();
                let views: Vec<Set> = members.iter().map(first).collect();
                let smallest = members.iter().map(|set| set.len()).min().unwrap();
                for losses in 0..smallest {
                    let most =
                        (1..=3).take_while(|lost| tolerates(members, &groups, losses, *lost));
                    assert_eq!(
                        survives(&views, &groups, |_| losses),
                        most.count(),
                        "{groups:?} {members:?} {losses}"
                    );
                }
            }
        }
    }

    #[test]
    fn neighbours_close_the_ring() {
        let set = Set::new(3, vec![4, 9, 2, 7]).unwrap();
        assert_eq!((set.id, set.right(1), set.right(2)), (2, 4, 9));
        assert_eq!((set.right(4), set.right(usize::MAX)), (7, 2));
        assert_eq!(set.lefts(2).collect::<Vec<_>>(), [2, 9]);
        assert_eq!(set.left_indices().collect::<Vec<_>>(), [2, 1, 0]);
        let alone = Set::new(0, vec![5]).unwrap();
        assert_eq!((alone.lefts(3).count(), alone.right(1)), (0, 5));
        assert_eq!(Set::new(1, vec![5]), None);
        assert_eq!(Set::new(0, Vec::new()), None);
    }
}
