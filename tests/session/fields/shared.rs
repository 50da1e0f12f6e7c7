//! Index lists of which several ranks write an index: equal copies are one element, and others are refused.

use super::{load, programs, save};
use crate::fields_on_ranks::{Random, by_index, partition};
use crate::site::{Rank, Site, nodes};
use scr::fields::{Given, Indices, List, Options};

/// What a rank has: its list, and the elements of two fields.
#[derive(Clone)]
struct Own {
    list: Vec<i64>,
    scalar: Vec<f64>,
    triples: Vec<[u8; 3]>,
}

impl Own {
    fn new(list: &[i64]) -> Self {
        Own {
            list: list.to_vec(),
            scalar: list.iter().map(|index| *index as f64 / 7.0).collect(),
            triples: list.iter().map(|index| [*index as u8, 1, 2]).collect(),
        }
    }

    fn list_nodes(&mut self, list: &mut List<'_>, whole: i64, shared: bool) -> scr::Result<()> {
        list.next(Options {
            shared,
            ..Options::default()
        });
        list.index(&Given {
            name: "nodes",
            indices: Indices::Eight(&self.list),
            first: 1,
            whole,
        })?;
        let count = self.list.len() as i64;
        by_index(list, ("scalar", "nodes"), &[count], &mut self.scalar)?;
        let mut flat: Vec<u8> = self.triples.iter().flatten().copied().collect();
        by_index(list, ("triples", "nodes"), &[count, 3], &mut flat)?;
        self.triples = flat.as_chunks().0.to_vec();
        Ok(())
    }

    /// With a list and a field that are not shared.
    fn list(&mut self, list: &mut List<'_>, whole: i64, shared: bool) -> scr::Result<()> {
        let one = i64::from(self.list.first() == Some(&1));
        let all: Vec<i64> = (0..one).collect();
        list.index(&Given {
            name: "one",
            indices: Indices::Eight(&all),
            first: 0,
            whole: 1,
        })?;
        by_index(list, ("of one", "one"), &[one], &mut vec![7u8; all.len()])?;
        self.list_nodes(list, whole, shared)
    }

    fn write(&mut self, rank: &mut Rank, name: &str, whole: i64) -> scr::Result<()> {
        save(rank, name, |list| self.list(list, whole, true))
    }
}

/// The lists of a partition, in which index 1 is the first one of its rank, and some more indices for each rank.
fn with_halos(whole: i64, ranks: usize, random: &mut Random) -> Vec<Vec<i64>> {
    let mut lists = partition((1, whole), ranks, random);
    for list in &mut lists {
        for _ in 0..random.below(1 + 2 * list.len() as u64) {
            let index = 2 + random.below(whole as u64 - 1) as i64;
            if !list.contains(&index) {
                list.push(index);
            }
        }
        if let Some(at) = list.iter().position(|index| *index == 1) {
            list.swap(0, at);
        }
    }
    lists
}

#[test]
fn equal_copies_are_written_and_any_lists_restored() {
    for seed in programs(60) {
        let mut random = Random(seed);
        let whole = [2, 9, 300][random.below(3) as usize];
        let old = 1 + random.below(9) as usize;
        let site = Site::in_memory().set("SCR_FLUSH", "1");
        let written = with_halos(whole, old, &mut random);
        let others = with_halos(whole, old, &mut random);
        site.run(&nodes(old), |rank| {
            // The second one knows which elements are shared, and the third one has other lists.
            for (name, lists) in [("ck.1", &written), ("ck.2", &written), ("ck.3", &others)] {
                let mut own = Own::new(&lists[rank.rank]);
                own.write(rank, name, whole).unwrap();
            }
        });
        for shared in [false, true] {
            let new = 1 + random.below(9) as usize;
            let lists = if new == old && shared {
                others.clone()
            } else {
                with_halos(whole, new, &mut random)
            };
            site.run(&nodes(new), |rank| {
                let right = Own::new(&lists[rank.rank]);
                let mut own = right.clone();
                own.scalar.fill(-1.0);
                own.triples.fill([9; 3]);
                let found = load(rank, |list| {
                    list.gone("one")?;
                    list.gone("of one")?;
                    own.list_nodes(list, whole, shared)
                });
                assert_eq!(found.unwrap().as_deref(), Some("ck.3"), "seed {seed}");
                assert!(
                    own.scalar == right.scalar,
                    "seed {seed}, rank {}",
                    rank.rank
                );
                assert!(own.triples == right.triples, "seed {seed}");
            });
        }
    }
}

/// Changes a rank's elements.
type Change = fn(&mut Own);

/// What some ranks change, and what is said of it, if it is refused.
type Case<'a> = (&'a [(usize, Change)], Option<&'a str>);

#[test]
fn copies_that_differ_are_refused_with_field_index_and_ranks() {
    // Index 3 is of ranks 0, 2 and 3, index 5 of ranks 1 and 2, index 6 of ranks 0 and 3.
    let lists = [vec![1, 6, 2, 3], vec![4, 5], vec![5, 3, 7], vec![8, 3, 6]];
    let cases: [Case<'_>; 8] = [
        (
            &[(2, |own| own.scalar[1] += 1e-12)],
            Some("field \"scalar\": ranks 0 and 2 both have the element of index 3 of \"nodes\""),
        ),
        (
            &[(0, |own| own.scalar[3] = -1.0)],
            Some("field \"scalar\": ranks 0 and 2 both have the element of index 3 "),
        ),
        (
            &[(3, |own| own.scalar[1] = f64::NAN)],
            Some("field \"scalar\": ranks 0 and 3 both have the element of index 3 "),
        ),
        (
            &[(1, |own| own.triples[1][2] = 3)],
            Some("field \"triples\": ranks 1 and 2 both have the element of index 5 "),
        ),
        // The first field, and the smallest index.
        (
            &[
                (0, |own| own.triples[3][0] = 0),
                (1, |own| own.scalar[1] = 0.0),
                (3, |own| own.scalar[2] = 0.0),
            ],
            Some("field \"scalar\": ranks 1 and 2 both have the element of index 5 "),
        ),
        // An element of one rank, and all copies of another one.
        (&[(0, |own| own.scalar[0] = -1.0)], None),
        (&[(3, |own| own.triples[0] = [0; 3])], None),
        (
            &[
                (0, |own| own.scalar[1] = f64::NAN),
                (3, |own| own.scalar[2] = f64::NAN),
            ],
            None,
        ),
    ];
    // With what is known from a checkpoint before, and without.
    for is_known in [false, true] {
        for (number, (changes, told)) in cases.iter().enumerate() {
            let site = Site::new();
            let errors = site.run(&nodes(lists.len()), |rank| {
                let mut own = Own::new(&lists[rank.rank]);
                if is_known {
                    own.write(rank, "ck.0", 8).unwrap();
                }
                for (_, change) in changes.iter().filter(|(at, _)| *at == rank.rank) {
                    change(&mut own);
                }
                let written = own.write(rank, "ck.1", 8);
                // Later ones are not harmed.
                Own::new(&lists[rank.rank]).write(rank, "ck.2", 8).unwrap();
                written.err().map(|error| error.to_string())
            });
            assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
            match (told, &errors[0]) {
                (None, None) => {}
                (Some(told), Some(error)) => {
                    assert!(error.contains(told), "case {number}: {error}");
                    assert!(error.contains("SCR_SHARED"), "{error}");
                }
                _ => panic!("case {number}: {errors:?}"),
            }
        }
    }
}

/// The error of a checkpoint in which a rank lists `lists` of its own, shared as `shared` says.
fn refused(lists: &[Vec<i64>], shared: impl Fn(usize) -> bool + Sync) -> String {
    let site = Site::new();
    let errors = site.run(&nodes(lists.len()), |rank| {
        let mut own = Own::new(&lists[rank.rank]);
        let shared = shared(rank.rank);
        let error = save(rank, "ck.1", |list| own.list(list, 8, shared));
        error.unwrap_err().to_string()
    });
    errors[0].clone()
}

#[test]
fn lists_that_are_wrong_even_if_they_are_shared_are_refused() {
    let twice = [vec![1, 2, 3], vec![4, 5, 3, 6, 5], vec![7, 8]];
    let error = refused(&twice, |_| true);
    assert!(error.contains("rank 1 lists the index 5 twice"), "{error}");
    assert!(!error.contains("SCR_SHARED"), "{error}");
    let hole = [vec![1, 2, 3], vec![4, 5, 3], vec![8, 7]];
    let error = refused(&hole, |_| true);
    assert!(error.contains("no rank lists the index 6"), "{error}");
    let both = [vec![1, 2, 3], vec![4, 5, 3], vec![6, 8, 7]];
    let error = refused(&both, |_| false);
    assert!(
        error.contains("ranks 0 and 1 both list the index 3"),
        "{error}"
    );
    assert!(error.contains("SCR_SHARED"), "{error}");
    let error = refused(&both, |rank| rank != 1);
    assert!(error.contains("from 1 on, shared"), "{error}");
}

#[test]
fn only_an_index_list_is_shared() {
    let site = Site::new();
    for sort in 0..3 {
        let errors = site.run(&nodes(1), |rank| {
            let written = save(rank, "ck.1", |list| {
                list.next(Options {
                    shared: true,
                    ..Options::default()
                });
                match sort {
                    0 => list.count("x", &mut 3),
                    1 => list.bag("x", &mut 3),
                    _ => super::own(list, "x", &mut [1.0]),
                }
            });
            written.unwrap_err().to_string()
        });
        let told = "field \"x\": SCR_SHARED is an option of index lists";
        assert!(errors[0].contains(told), "{errors:?}");
    }
}
