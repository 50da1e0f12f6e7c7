//! Bags that another number of ranks gets by a key: an owner function, or the order of the keys.

use super::{load, programs, save};
use crate::fields_on_ranks::{Random, by_index};
use crate::site::{Rank, Site, nodes};
use scr::Error;
use scr::fields::{Element, Key, List, Owner, Pass};

/// The elements of a bag: a number of each in the order of the files, keys, and a pair.
#[derive(Default, Clone, PartialEq, Debug)]
struct Particles {
    id: Vec<i64>,
    cell: Vec<i32>,
    height: Vec<f32>,
    pair: Vec<i64>,
}

fn cell(id: i64) -> i32 {
    (id * 7919 % 11) as i32 - 5
}

fn height(id: i64) -> f32 {
    (id * 31 % 17 - 8) as f32 / 4.0
}

/// How the bag is shared on another number of ranks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By<'a> {
    Nothing,
    Owner(&'a str),
    Sorted(&'a str),
}

impl Particles {
    fn new(ids: impl Iterator<Item = i64>) -> Self {
        let id: Vec<i64> = ids.collect();
        Particles {
            cell: id.iter().map(|id| cell(*id)).collect(),
            height: id.iter().map(|id| height(*id)).collect(),
            pair: id.iter().flat_map(|id| [*id, -id]).collect(),
            id,
        }
    }

    fn list<'a>(
        &mut self,
        list: &mut List<'_>,
        by: By<'_>,
        owner: &'a mut Owner<'a>,
    ) -> scr::Result<()> {
        let mut count = self.id.len() as i64;
        list.begin("cells")?;
        match by {
            By::Nothing => list.bag("all", &mut count)?,
            By::Owner(field) => {
                let owner = Some(owner);
                list.bag_by_key("all", &mut count, Key { field, owner })?;
            }
            By::Sorted(field) => {
                let owner = None;
                list.bag_by_key("all", &mut count, Key { field, owner })?;
            }
        }
        let size = count as usize;
        // In the first call the memory stays as it is.
        let mut other = Particles::new((0..count).map(|_| -1));
        let all = match list.pass() {
            Pass::Compare => &mut other,
            Pass::Write => self,
            Pass::Read => {
                self.id.resize(size, -1);
                self.cell.resize(size, -1);
                self.height.resize(size, -1.0);
                self.pair.resize(2 * size, -1);
                self
            }
        };
        by_index(list, ("id", "all"), &[count], &mut all.id)?;
        by_index(list, ("cell", "all"), &[count], &mut all.cell)?;
        by_index(list, ("height", "all"), &[count], &mut all.height)?;
        by_index(list, ("pair", "all"), &[count, 2], &mut all.pair)?;
        list.end()
    }
}

/// The rank of a cell.
fn owner_of(cell: i64, size: usize) -> i32 {
    ((cell + 5) * 3 % size as i64) as i32
}

fn written(ends: &[i64]) -> Site {
    let site = Site::in_memory().set("SCR_FLUSH", "1");
    site.run(&nodes(ends.len() - 1), |rank| {
        let mut own = Particles::new(ends[rank.rank]..ends[rank.rank + 1]);
        save(rank, "ck.1", |list| {
            own.list(list, By::Sorted("nothing"), &mut |_, _| unreachable!())
        })
        .unwrap();
    });
    site
}

fn random_ends(random: &mut Random) -> Vec<i64> {
    let old = 1 + random.below(9) as usize;
    let most = [1, 4, 200][random.below(3) as usize];
    let mut ends = vec![0];
    for rank in 0..old {
        ends.push(ends[rank] + random.below(most) as i64);
    }
    ends
}

#[test]
fn each_rank_gets_the_elements_that_a_key_gives_it() {
    for seed in programs(80) {
        let mut random = Random(seed);
        let ends = random_ends(&mut random);
        let (old, whole) = (ends.len() - 1, ends[ends.len() - 1]);
        let site = written(&ends);
        for by in [
            By::Owner("cell"),
            By::Owner("id"),
            By::Sorted("cell"),
            By::Sorted("height"),
        ] {
            let new = 1 + random.below(9) as usize;
            site.run(&nodes(new), |rank| {
                let (me, mut own) = (rank.rank, Particles::default());
                let mut asked = 0;
                let found = load(rank, |list| {
                    own.list(list, by, &mut |keys, ranks| {
                        asked += keys.len();
                        for (key, rank) in keys.iter().zip(ranks) {
                            *rank = owner_of(*key, new);
                        }
                        Ok(())
                    })
                });
                assert_eq!(found.unwrap().as_deref(), Some("ck.1"), "seed {seed}");
                let mut all: Vec<i64> = (0..whole).collect();
                let begin = |rank: usize| whole as usize * rank / new;
                if new == old {
                    all = (ends[me]..ends[me + 1]).collect();
                    assert_eq!(asked, 0);
                } else {
                    match by {
                        By::Owner("cell") => {
                            all.retain(|id| owner_of(cell(*id).into(), new) == me as i32);
                        }
                        By::Owner(_) => all.retain(|id| owner_of(*id, new) == me as i32),
                        By::Sorted("cell") => all.sort_by_key(|id| cell(*id)),
                        _ => all.sort_by(|a, b| height(*a).total_cmp(&height(*b))),
                    }
                    if matches!(by, By::Sorted(_)) {
                        all = all[begin(me)..begin(me + 1)].to_vec();
                    }
                }
                let right = Particles::new(all.into_iter());
                assert_eq!(own, right, "seed {seed}, {by:?}, rank {me} of {new}");
            });
        }
    }
}

/// The error of a restart on two ranks, in which nothing may change, and the checkpoint stays.
fn refused(
    by: impl Fn(usize) -> By<'static> + Sync,
    owner: impl Fn(usize, &[i64], &mut [i32]) -> scr::Result<()> + Sync,
) -> String {
    let site = written(&[0, 5, 9, 12]);
    let errors = site.run(&nodes(2), |rank: &mut Rank| {
        let (me, mut own) = (rank.rank, Particles::new(90..92));
        let error = load(rank, |list| {
            assert!(list.pass() != Pass::Read);
            own.list(list, by(me), &mut |keys, ranks| owner(me, keys, ranks))
        });
        assert_eq!(own, Particles::new(90..92));
        error.unwrap_err().to_string()
    });
    site.run(&nodes(2), |rank| {
        let mut own = Particles::default();
        let found = load(rank, |list| {
            own.list(list, By::Sorted("id"), &mut |_, _| unreachable!())
        });
        assert_eq!(found.unwrap().as_deref(), Some("ck.1"));
    });
    errors[0].clone()
}

#[test]
fn wrong_keys_and_owners_are_told_and_nothing_changes() {
    let good = |_: usize, _: &[i64], ranks: &mut [i32]| {
        ranks.fill(1);
        Ok(())
    };
    for (wrong, told) in [
        (2, "rank 2;"),
        (-1, "rank -1;"),
        (i32::MAX, "rank 2147483647;"),
    ] {
        let error = refused(
            |_| By::Owner("id"),
            |_, keys, ranks| {
                ranks.fill(0);
                for (key, rank) in keys.iter().zip(ranks) {
                    if *key == 10 {
                        *rank = wrong;
                    }
                }
                Ok(())
            },
        );
        let element = "bag \"cells/all\": the owner of element 1 of rank 2 of those that wrote it, with the key 10, ";
        assert!(error.contains(element), "{error}");
        assert!(
            error.contains(told) && error.contains("the ranks 0 to 1"),
            "{error}"
        );
    }
    let error = refused(
        |_| By::Owner("id"),
        |me, _, ranks| match me {
            1 => Err(Error::usage("SCR_Bag_by_key", "no map of the cells")),
            _ => good(me, &[], ranks),
        },
    );
    assert!(error.contains("no map of the cells"), "{error}");
    for (by, told) in [
        (
            By::Owner("none"),
            "its key \"cells/none\" is not in the checkpoint",
        ),
        (
            By::Sorted("none"),
            "its key \"cells/none\" is not in the checkpoint",
        ),
        (
            By::Owner("height"),
            "\"cells/height\" (float32[5] of bag \"cells/all\") is no integer",
        ),
        (
            By::Owner("pair"),
            "is no field of the bag with one number for each element",
        ),
        (
            By::Sorted("pair"),
            "is no field of the bag with one number for each element",
        ),
    ] {
        let error = refused(|_| by, good);
        assert!(
            error.contains(told) && error.contains("bag \"cells/all\""),
            "{error}"
        );
    }
    for others in [By::Nothing, By::Sorted("id")] {
        let by = move |me| if me == 1 { others } else { By::Owner("id") };
        let error = refused(by, good);
        assert!(
            error.contains("the ranks give other keys of bags"),
            "{error}"
        );
    }
}

/// Keys of a kind, in the order of a sorted bag; some are equal.
fn sorted_bag<T: Element + Copy + Send + Sync + Default>(
    name: &str,
    ascending: &[T],
    bits: impl Fn(T) -> u64 + Copy + Sync,
) {
    let count = ascending.len();
    // Each key twice, in another order.
    let scattered: Vec<T> = (0..2 * count).map(|at| ascending[at * 5 % count]).collect();
    let right: Vec<u64> = ascending.iter().flat_map(|key| [bits(*key); 2]).collect();
    let site = Site::in_memory().set("SCR_FLUSH", "1");
    let list = |list: &mut List<'_>, all: &mut Vec<T>, places: &mut Vec<i64>| {
        let mut count = all.len() as i64;
        let (field, owner) = (name, None);
        list.bag_by_key("all", &mut count, Key { field, owner })?;
        if list.pass() == Pass::Read {
            all.resize(count as usize, T::default());
            places.resize(count as usize, -1);
        }
        let (mut other, mut other_places) =
            (vec![T::default(); count as usize], vec![-1; count as usize]);
        let (all, places) = match list.pass() {
            Pass::Compare => (&mut other, &mut other_places),
            _ => (all, places),
        };
        by_index(list, (name, "all"), &[count], all)?;
        by_index(list, ("place", "all"), &[count], places)
    };
    site.run(&nodes(2), |rank| {
        let half = rank.rank * count..(rank.rank + 1) * count;
        let mut places: Vec<i64> = half.clone().map(|at| at as i64).collect();
        let mut own = scattered[half].to_vec();
        save(rank, "ck.1", |l| list(l, &mut own, &mut places)).unwrap();
    });
    for ranks in [1, 3, 7] {
        let found = site.run(&nodes(ranks), |rank| {
            let (mut own, mut places) = (Vec::new(), Vec::new());
            load(rank, |l| list(l, &mut own, &mut places))
                .unwrap()
                .expect("a checkpoint");
            let own: Vec<u64> = own.into_iter().map(bits).collect();
            (own, places)
        });
        let keys: Vec<u64> = found.iter().flat_map(|(own, _)| own.clone()).collect();
        assert_eq!(keys, right, "{name} on {ranks} ranks");
        let places: Vec<i64> = found.into_iter().flat_map(|(_, places)| places).collect();
        for (pair, key) in places.chunks(2).zip(ascending) {
            assert!(pair[0] < pair[1], "{name}: equal keys stay in their order");
            assert_eq!(bits(scattered[pair[0] as usize]), bits(*key));
        }
    }
}

#[test]
fn a_bag_is_sorted_by_real_and_natural_numbers() {
    let (least, most) = (f64::MIN_POSITIVE, f64::MAX);
    let real = [
        -f64::NAN,
        f64::NEG_INFINITY,
        -most,
        -1.5,
        -least,
        -0.0,
        0.0,
        least,
        2.25,
        1e300,
        f64::INFINITY,
        f64::NAN,
    ];
    sorted_bag("float64", &real, f64::to_bits);
    let single = [
        f32::NEG_INFINITY,
        f32::MIN,
        -1e-30,
        -0.0,
        0.0,
        1e-45,
        7.5,
        f32::MAX,
        f32::NAN,
    ];
    sorted_bag("float32", &single, |key: f32| key.to_bits().into());
    let natural = [
        0,
        1,
        255,
        u64::MAX / 2,
        u64::MAX / 2 + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    sorted_bag("uint64", &natural, |key| key);
    sorted_bag("int64", &[i64::MIN, -1, 0, i64::MAX], |key| key as u64);
    sorted_bag("uint8", &[0u8, 1, 2, 127, 128, 255], |key| key.into());
}

/// An owner function gets numbers with sign.
#[test]
fn a_natural_key_of_an_owner_function_is_below_2_to_the_63() {
    for (largest, is_told) in [(u64::MAX / 2, false), (u64::MAX / 2 + 1, true)] {
        let site = Site::in_memory().set("SCR_FLUSH", "1");
        let all = |list: &mut List<'_>, keys: &mut Vec<u64>| {
            let mut count = keys.len() as i64;
            let mut owner = |keys: &[i64], ranks: &mut [i32]| {
                assert!(keys.iter().all(|key| *key >= 0));
                ranks.fill(1);
                Ok(())
            };
            let (field, owner): (_, Option<&mut Owner<'_>>) = ("key", Some(&mut owner));
            list.bag_by_key("all", &mut count, Key { field, owner })?;
            let mut other = vec![0; count as usize];
            let keys = match list.pass() {
                Pass::Write => keys,
                Pass::Compare => &mut other,
                Pass::Read => {
                    keys.resize(count as usize, 0);
                    keys
                }
            };
            by_index(list, ("key", "all"), &[count], keys)
        };
        site.run(&nodes(3), |rank| {
            let mut keys = vec![3, if rank.rank == 2 { largest } else { 7 }];
            save(rank, "ck.1", |list| all(list, &mut keys)).unwrap();
        });
        let found = site.run(&nodes(2), |rank| {
            let mut keys = Vec::new();
            let found = load(rank, |list| all(list, &mut keys));
            (found.err().map(|error| error.to_string()), keys)
        });
        if is_told {
            let error = found[0].0.as_deref().unwrap_or_default();
            let told = format!(
                "bag \"all\": element 1 of rank 2 of those that wrote it has the key {largest}, "
            );
            assert!(error.contains(&told), "{error}");
            assert!(found.iter().all(|(_, keys)| keys.is_empty()));
        } else {
            assert_eq!(found[1], (None, vec![3, 7, 3, 7, 3, largest]));
        }
    }
}
