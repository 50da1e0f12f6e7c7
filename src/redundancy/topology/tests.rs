//! Thread ranks find their topology; what they find is compared with definitions that see all ranks at once.

use super::*;
use crate::redundancy::EVERYTHING;
use crate::redundancy::sets::{make_sets, survives};
use crate::threads;
use std::collections::{BTreeMap, BTreeSet};

fn plan(scheme: &str, set_size: usize, set_failures: usize) -> SetPlan {
    SetPlan {
        scheme: Scheme::from_word(scheme).unwrap(),
        set_size,
        set_failures,
        outlives: false,
        group: "node".to_string(),
    }
}

/// A rank: its node, its failure group, and its instance of the only store.
#[derive(Debug, Clone)]
struct Place {
    node: String,
    group: String,
    instance: String,
}

/// Ranks on nodes that are their failure groups, each with a store in it.
fn on(nodes: &[&str]) -> Vec<Place> {
    let place = |node: &&str| Place {
        node: node.to_string(),
        group: node.to_string(),
        instance: format!("{node} /shm"),
    };
    nodes.iter().map(place).collect()
}

/// Divisions of which nothing is known but the names.
fn divisions(place: &Place) -> Divisions {
    let key = |text: &String| text.clone().into_bytes();
    let both = |a: &String, b: &String| format!("{a}\0{b}").into_bytes();
    let Place {
        node,
        group,
        instance,
    } = place;
    let joins = |group, both| Domain::Joins {
        group,
        instance: 2,
        both,
    };
    Divisions {
        keys: vec![
            key(node),
            key(group),
            key(instance),
            both(node, instance),
            both(group, instance),
        ],
        node: 0,
        stores: vec![2],
        lost_with: vec![joins(0, 3)],
        schemes: vec![joins(1, 4)],
    }
}

fn found(places: &[Place], plan: &SetPlan) -> Vec<Topology> {
    threads::run(places.len(), |comm| {
        let own = divisions(&places[comm.rank()]);
        Topology::find(&*comm, &own, std::slice::from_ref(plan)).unwrap()
    })
}

fn xor() -> SetPlan {
    plan("XOR", 8, 1)
}

fn sets_of(found: &[Topology]) -> Vec<Vec<usize>> {
    found.iter().map(|f| f.sets[0].members.to_vec()).collect()
}

/// Numbers for names, in order of first appearance.
fn numbered<T: Ord>(names: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known: BTreeMap<T, usize> = BTreeMap::new();
    let mut number = |name| {
        let next = known.len();
        *known.entry(name).or_insert(next)
    };
    names.map(&mut number).collect()
}

/// The definition of failure domains: numbers are made equal until no two ranks with one group or one
/// instance have different ones.
fn domains(groups: &[&String], instances: &[&String]) -> Vec<usize> {
    let mut domains: Vec<usize> = (0..groups.len()).collect();
    loop {
        let before = domains.clone();
        for a in 0..groups.len() {
            for b in 0..groups.len() {
                if groups[a] == groups[b] || instances[a] == instances[b] {
                    domains[a] = domains[a].min(domains[b]);
                }
            }
        }
        if domains == before {
            return domains;
        }
    }
}

/// Compares with the definitions.
fn check(places: &[Place], plan: &SetPlan) {
    let story = format!("{plan:?} {places:?}");
    let all = found(places, plan);
    let nodes: Vec<&String> = places.iter().map(|p| &p.node).collect();
    let groups: Vec<&String> = places.iter().map(|p| &p.group).collect();
    let instances: Vec<&String> = places.iter().map(|p| &p.instance).collect();
    for (names, shares) in [
        (&nodes, all.iter().map(|f| &f.of_node).collect::<Vec<_>>()),
        (&instances, all.iter().map(|f| &f.stores[0]).collect()),
    ] {
        let numbers = numbered(names.iter());
        let count = numbers.iter().max().unwrap() + 1;
        for (rank, share) in shares.into_iter().enumerate() {
            let ranks = (0..names.len()).filter(|other| names[*other] == names[rank]);
            let ranks: Vec<usize> = ranks.collect();
            let leads = ranks[0] == rank && count > 1;
            let expected = Sharing {
                leader: ranks[0],
                followers: if leads {
                    ranks[1..].to_vec()
                } else {
                    Vec::new()
                },
                all: count == 1,
                number: numbers[rank],
                groups: count,
            };
            assert_eq!(*share, expected, "rank {rank}: {story}");
        }
    }
    let lost: Vec<usize> = all.iter().map(|f| f.lost_with[0]).collect();
    assert_eq!(lost, domains(&nodes, &instances), "{story}");
    let described: Vec<(Divisions, usize)> = places.iter().map(|p| (divisions(p), 1)).collect();
    for (found, mut foreseen) in all
        .iter()
        .zip(forecast(&described, std::slice::from_ref(plan)))
    {
        let followers = |share: &Sharing| share.followers.clone();
        foreseen.of_node.followers = followers(&found.of_node);
        foreseen.stores[0].followers = followers(&found.stores[0]);
        assert_eq!(*found, foreseen, "{story}");
    }
    let domains = domains(&groups, &instances);
    let mut size = plan.set_size;
    let mut sets = make_sets(&domains, size);
    let scheme = crate::redundancy::RedundancyScheme::new(plan.scheme, plan.set_failures);
    let alone = domains.iter().collect::<BTreeSet<_>>().len() < 2;
    while sets.iter().any(|set| set.size() + plan.set_failures > 256) {
        size /= 2;
        sets = make_sets(&domains, size);
    }
    for (rank, found) in all.iter().enumerate() {
        if alone {
            assert_eq!(found.sets, [Set::new(0, vec![rank]).unwrap()], "{story}");
        } else {
            assert_eq!(found.sets, [sets[rank].clone()], "{story}");
            let survived = survives(&sets, &domains, |members| scheme.losses(members));
            assert_eq!(found.tolerates, [survived], "{story}");
        }
        assert_eq!(found.notes, all[0].notes);
    }
}

#[test]
fn any_ranks_find_what_the_definitions_say() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut below = |limit: usize| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    };
    for _ in 0..400 {
        let ranks = 1 + below(24);
        let [nodes, groups, instances] = [0; 3].map(|_| {
            let most = 1 + below(ranks);
            1 + below(most)
        });
        let (nested, cyclic) = (below(3) > 0, below(2) > 0);
        let place = |rank: usize, below: &mut dyn FnMut(usize) -> usize| {
            let node = if cyclic { rank % nodes } else { below(nodes) };
            let group = if nested { node % groups } else { below(groups) };
            let instance = if nested {
                group % instances
            } else {
                below(instances)
            };
            Place {
                node: format!("n{node}"),
                group: format!("g{group}"),
                instance: format!("i{instance}"),
            }
        };
        let places: Vec<Place> = (0..ranks).map(|rank| place(rank, &mut below)).collect();
        let failures = 1 + below(3);
        let scheme = [("XOR", 1), ("RS", failures), ("PARTNER", failures)][below(3)];
        check(&places, &plan(scheme.0, 2 + below(9), scheme.1));
    }
}

#[test]
fn groups_and_instances_that_overlap_in_a_chain_are_one_domain() {
    let place = |rank: usize| Place {
        node: format!("n{}", rank / 2),
        group: format!("n{}", rank / 2),
        instance: format!("i{}", rank.div_ceil(2)),
    };
    let mut places: Vec<Place> = (0..12).map(place).collect();
    places.extend(on(&["a", "a", "b", "c", "d"]));
    check(&places, &xor());
}

#[test]
fn names_that_differ_in_the_last_byte_only_are_different_nodes() {
    let name = |last: &str| "n".repeat(254) + last;
    let names = ["a", "b", "a", "c", "b"].map(name);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check(&on(&names), &xor());
    let found = found(&on(&names), &xor());
    let nodes: Vec<usize> = found.iter().map(|f| f.of_node.number).collect();
    assert_eq!(nodes, [0, 1, 0, 2, 1]);
}

#[test]
fn nodes_with_different_numbers_of_ranks_are_in_the_order_of_their_sizes() {
    let mut nodes = Vec::new();
    for (node, ranks) in ["a", "b", "c", "d", "e", "f"]
        .iter()
        .zip([1, 5, 2, 5, 1, 3])
    {
        nodes.extend(std::iter::repeat_n(*node, ranks));
    }
    check(&on(&nodes), &xor());
    check(&on(&nodes), &plan("RS", 4, 2));
}

#[test]
fn ranks_of_a_node_share_a_leader_and_no_set() {
    let nodes = ["a", "a", "b", "b", "c", "c"];
    let found = found(&on(&nodes), &xor());
    let leaders: Vec<usize> = found.iter().map(|f| f.stores[0].leader).collect();
    assert_eq!(leaders, [0, 0, 2, 2, 4, 4]);
    assert_eq!(found[2].tolerates, [1]);
    assert!(
        found
            .iter()
            .all(|f| f.of_node.groups == 3 && f.notes.is_empty())
    );
    for (rank, set) in sets_of(&found).into_iter().enumerate() {
        assert!(set.contains(&rank));
        let on: BTreeSet<&str> = set.iter().map(|r| nodes[*r]).collect();
        assert_eq!(on.len(), set.len(), "{set:?}");
    }
}

#[test]
fn one_store_for_all_has_one_leader_and_needs_no_redundancy() {
    let mut places = on(&["a", "b", "c", "d"]);
    places
        .iter_mut()
        .for_each(|place| place.instance = "all".into());
    let outlives = SetPlan {
        outlives: true,
        ..xor()
    };
    let found = found(&places, &outlives);
    let share = &found[0].stores[0];
    assert!(share.all && share.followers.is_empty());
    assert!(found.iter().all(|f| f.stores[0].leader == 0));
    let nodes: Vec<usize> = found.iter().map(|f| f.of_node.number).collect();
    assert_eq!(nodes, [0, 1, 2, 3]);
    let note = &found[0].notes[0].text;
    assert!(
        note.contains("share one instance") && note.contains("SINGLE"),
        "{note}"
    );
    assert_eq!(found[3].tolerates, [EVERYTHING]);
    assert_eq!(sets_of(&found), [[0], [1], [2], [3]]);
}

#[test]
fn ranks_of_one_instance_of_a_store_are_in_no_set_together() {
    let mut places = on(&["a", "b", "c", "d"]);
    for (place, rack) in places.iter_mut().zip(["r0", "r0", "r1", "r1"]) {
        place.instance = rack.into();
    }
    let outlives = SetPlan {
        outlives: true,
        ..xor()
    };
    let found = found(&places, &outlives);
    assert!(found[0].notes.is_empty());
    assert_eq!(found[1].tolerates, [EVERYTHING]);
    let shares = found
        .iter()
        .map(|f| (f.stores[0].leader, f.stores[0].followers.clone()));
    assert_eq!(
        shares.collect::<Vec<_>>(),
        [(0, vec![1]), (0, vec![]), (2, vec![3]), (2, vec![])]
    );
    assert_eq!(sets_of(&found), [[0, 2], [1, 3], [0, 2], [1, 3]]);
}

fn note(scheme: &str, failures: usize, groups: &[usize]) -> String {
    let names: Vec<String> = groups.iter().map(|group| format!("n{group}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = found(&on(&names), &plan(scheme, 8, failures));
    found[0]
        .notes
        .first()
        .map_or(String::new(), |note| note.text.clone())
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
    let domains = Groups {
        count: 700,
        largest: 1,
        smallest: 1,
        led: None,
    };
    for (scheme, size, failures) in [("RS", 250, 6), ("XOR", 5000, 1), ("PARTNER", 300, 2)] {
        let found = Protection::of(&plan(scheme, size, failures), 700, &domains);
        let largest = 700usize.div_ceil(found.sets.unwrap());
        assert!(largest <= 250 && largest > 60, "{scheme}: {largest}");
        assert_eq!((found.tolerates, found.note), (failures, None), "{scheme}");
    }
}

/// A code has at most 256 blocks: members and losses together.
#[test]
fn a_set_is_as_large_as_its_code_can_be() {
    for (ranks, sets) in [(253, 1), (254, 1), (255, 3)] {
        let groups = Groups {
            count: ranks,
            largest: 1,
            smallest: 1,
            led: None,
        };
        let found = Protection::of(&plan("RS", 256, 2), ranks, &groups);
        assert_eq!((found.sets, found.tolerates), (Some(sets), 2), "{ranks}");
    }
}
