//! Bags that another number of ranks gets by a key: an owner function, or the order of the keys.

use super::{load, programs, save};
use crate::fields_on_ranks::{Random, by_index};
use crate::site::{Rank, Site, nodes};
use scr::Error;
use scr::fields::{Key, List, Owner, Pass};

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
