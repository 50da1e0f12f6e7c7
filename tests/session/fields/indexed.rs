//! Fields by index: random partitions of a whole, on any number of ranks, compared with the number of each element.

use super::{load, programs, save};
use crate::fields_on_ranks::{Devices, Random, by_index, partition};
use crate::site::{Rank, Site, nodes};
use scr::fields::{Given, Indices, List, Pass};

/// The index lists of all ranks.
type Lists = Vec<Vec<i64>>;

/// A value that each element of the whole has.
fn value(index: i64, component: i64) -> f64 {
    index as f64 + component as f64 / 16.0
}

fn elements(list: &[i64], components: i64) -> Vec<f64> {
    let of = |index: &i64| {
        let index = *index;
        (0..components).map(move |component| value(index, component))
    };
    list.iter().flat_map(of).collect()
}

/// A mesh: scalars and pairs on its nodes.
struct Mesh {
    first: i64,
    whole: i64,
}

impl Mesh {
    fn list(
        &self,
        list: &mut List<'_>,
        own: &[i64],
        scalar: &mut [f64],
        pairs: &mut [f64],
    ) -> scr::Result<()> {
        list.index(&Given {
            name: "nodes",
            indices: Indices::Eight(own),
            first: self.first,
            whole: self.whole,
        })?;
        if let Some(stored) = list.stored("pairs")? {
            assert_eq!(stored.at, [-1, 0, 0], "its elements have no one place");
            assert_eq!(stored.whole, [self.whole, 2, 1]);
        }
        by_index(list, ("scalar", "nodes"), &[own.len() as i64], scalar)?;
        by_index(list, ("pairs", "nodes"), &[own.len() as i64, 2, 1], pairs)
    }

    fn write(&self, rank: &mut Rank, name: &str, own: &[i64]) -> scr::Result<()> {
        Devices::some((self.whole * 8) as u64 + rank.rank as u64).use_now();
        let (mut scalar, mut pairs) = (elements(own, 1), elements(own, 2));
        save(rank, name, |list| {
            self.list(list, own, &mut scalar, &mut pairs)
        })
    }

    fn read(&self, rank: &mut Rank, own: &[i64]) -> Option<String> {
        Devices::some((own.len() * 8 + rank.rank) as u64).use_now();
        let (right, right_pairs) = (elements(own, 1), elements(own, 2));
        let (mut scalar, mut pairs) = (vec![-1.0; right.len()], vec![-1.0; right_pairs.len()]);
        let found = load(rank, |list| self.list(list, own, &mut scalar, &mut pairs));
        let found = found.unwrap();
        if found.is_some() {
            assert!(scalar == right, "rank {} of {own:?}: {scalar:?}", rank.rank);
            assert!(
                pairs == right_pairs,
                "rank {} of {own:?}: {pairs:?}",
                rank.rank
            );
        }
        found
    }
}

/// The lists of a restart: a partition, or any indices, some of them several times.
fn wanted(mesh: &Mesh, ranks: usize, random: &mut Random) -> Lists {
    let mut lists = partition((mesh.first, mesh.whole), ranks, random);
    if mesh.whole > 0 && random.below(2) == 0 {
        for list in &mut lists {
            for _ in 0..random.below(20) {
                list.push(mesh.first + random.below(mesh.whole as u64) as i64);
            }
        }
    }
    lists
}

#[test]
fn any_number_of_ranks_restores_any_lists() {
    for seed in programs(120) {
        let mut random = Random(seed);
        let mesh = Mesh {
            first: random.below(2) as i64,
            whole: [0, 1, 37, 400][random.below(4) as usize],
        };
        let old = 1 + random.below(9) as usize;
        let bypass = ["0", "1"][random.below(2) as usize];
        let site = Site::in_memory()
            .set("SCR_FLUSH", "1")
            .set("SCR_CACHE_BYPASS", bypass);
        let written = partition((mesh.first, mesh.whole), old, &mut random);
        site.run(&nodes(old), |rank| {
            mesh.write(rank, "ck.1", &written[rank.rank]).unwrap();
            mesh.write(rank, "ck.2", &written[rank.rank]).unwrap();
        });
        for _ in 0..3 {
            let new = 1 + random.below(9) as usize;
            let lists = match random.below(3) {
                0 if new == old => written.clone(),
                _ => wanted(&mesh, new, &mut random),
            };
            site.run(&nodes(new), |rank| {
                let found = mesh.read(rank, &lists[rank.rank]);
                assert_eq!(found.as_deref(), Some("ck.2"), "seed {seed}");
            });
        }
    }
}

/// The error of a checkpoint with these lists, in which rank 0 lists first.
fn refused(whole: i64, lists: &[&[i64]]) -> String {
    let mesh = Mesh { first: 1, whole };
    let site = Site::new();
    let errors = site.run(&nodes(lists.len()), |rank| {
        let error = mesh.write(rank, "ck.1", lists[rank.rank]).unwrap_err();
        error.to_string()
    });
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    errors[0].clone()
}

#[test]
fn lists_that_are_no_partition_are_refused_with_index_and_ranks() {
    for (whole, lists, told) in [
        (
            5,
            &[&[1i64, 2][..], &[4, 5]][..],
            "no rank lists the index 3",
        ),
        (
            5,
            &[&[1, 2, 3], &[3, 4, 5]],
            "ranks 0 and 1 both list the index 3",
        ),
        (
            5,
            &[&[1, 2, 3], &[5, 4, 5]],
            "rank 1 lists the index 5 twice",
        ),
        (
            4,
            &[&[1, 2, 3], &[5, 4]],
            "is the index 5; the whole has the indices 1 to 4",
        ),
        (2, &[&[1, 2], &[0]], "is the index 0"),
    ] {
        let error = refused(whole, lists);
        assert!(
            error.contains(told) && error.contains("\"nodes\""),
            "{error}"
        );
    }
}

/// The elements of a bag: a number of each, and a pair.
#[derive(Default, Clone, PartialEq, Debug)]
struct Particles {
    id: Vec<i64>,
    pair: Vec<f64>,
}

impl Particles {
    fn new(ids: std::ops::Range<i64>) -> Self {
        let pair = ids.clone().flat_map(|id| [value(id, 0), value(id, 1)]);
        Particles {
            pair: pair.collect(),
            id: ids.collect(),
        }
    }

    fn list(&mut self, list: &mut List<'_>) -> scr::Result<()> {
        let mut count = self.id.len() as i64;
        list.begin("cells")?;
        list.bag("particles", &mut count)?;
        if list.pass() != Pass::Write {
            self.id.resize(count as usize, -1);
            self.pair.resize(2 * count as usize, -1.0);
        }
        by_index(list, ("id", "particles"), &[count], &mut self.id)?;
        by_index(list, ("pair", "particles"), &[count, 2], &mut self.pair)?;
        list.end()
    }
}

#[test]
fn a_bag_is_shared_by_any_number_of_ranks() {
    for seed in programs(80) {
        let mut random = Random(seed);
        let old = 1 + random.below(9) as usize;
        let most = [1, 4, 300][random.below(3) as usize];
        let mut ends = vec![0];
        for rank in 0..old {
            ends.push(ends[rank] + random.below(most) as i64);
        }
        let whole = ends[old];
        let bypass = ["0", "1"][random.below(2) as usize];
        let site = Site::in_memory()
            .set("SCR_FLUSH", "1")
            .set("SCR_CACHE_BYPASS", bypass);
        site.run(&nodes(old), |rank| {
            let mut own = Particles::new(ends[rank.rank]..ends[rank.rank + 1]);
            Devices::some(seed + rank.rank as u64).use_now();
            save(rank, "ck.1", |list| own.list(list)).unwrap();
        });
        for new in [
            old,
            1 + random.below(9) as usize,
            1 + random.below(9) as usize,
        ] {
            site.run(&nodes(new), |rank| {
                let me = rank.rank;
                Devices::some(seed + me as u64).use_now();
                let mut own = Particles::default();
                let found = load(rank, |list| own.list(list)).unwrap();
                assert_eq!(found.as_deref(), Some("ck.1"), "seed {seed}");
                let begin = |rank: usize| whole * rank as i64 / new as i64;
                let right = if new == old {
                    ends[me]..ends[me + 1]
                } else {
                    begin(me)..begin(me + 1)
                };
                assert_eq!(
                    own,
                    Particles::new(right),
                    "seed {seed}, rank {me} of {new}"
                );
            });
        }
    }
}
