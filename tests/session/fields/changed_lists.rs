//! Index lists that change between checkpoints and between runs, by as little as one index. What an earlier checkpoint has
//! of a list is used again only if the list is that one: each checkpoint has the elements by the lists of its own, and a
//! list that has become wrong is refused though the one before was right.

use super::{load, save};
use crate::fields_on_ranks::{Random, by_index};
use crate::site::{Rank, Site, nodes};
use scr::fields::{Given, Indices, List, Options};

/// The index lists of all ranks.
type Lists = Vec<Vec<i64>>;

const RANKS: usize = 3;

/// Elements of a mesh, whose whole begins with 1.
#[derive(Clone, Copy)]
struct Mesh {
    whole: i64,
    shared: bool,
}

fn value(index: i64, step: i64) -> f64 {
    index as f64 + step as f64 / 64.0
}

fn values(list: &[i64], step: i64) -> Vec<f64> {
    list.iter().map(|index| value(*index, step)).collect()
}

fn marks(list: &[i64], step: i64) -> Vec<u8> {
    let of = |index: &i64| [(*index % 251) as u8, step as u8, (*index / 251) as u8];
    list.iter().flat_map(of).collect()
}

impl Mesh {
    fn given<'a>(&self, own: &'a [i64]) -> Given<'a> {
        Given {
            name: "nodes",
            indices: Indices::Eight(own),
            first: 1,
            whole: self.whole,
        }
    }

    fn list(
        &self,
        list: &mut List<'_>,
        own: &[i64],
        data: (&mut [f64], &mut [u8]),
    ) -> scr::Result<()> {
        list.next(Options {
            shared: self.shared,
            ..Options::default()
        });
        list.index(&self.given(own))?;
        let count = own.len() as i64;
        by_index(list, ("values", "nodes"), &[count], data.0)?;
        by_index(list, ("marks", "nodes"), &[count, 3], data.1)
    }

    /// Writes `ck.<step>`. `change` gets the values.
    fn try_write(
        &self,
        rank: &mut Rank,
        step: i64,
        own: &[i64],
        change: impl Fn(&mut [f64]),
    ) -> scr::Result<()> {
        let (mut values, mut marks) = (values(own, step), marks(own, step));
        change(&mut values);
        save(rank, &format!("ck.{step}"), |list| {
            self.list(list, own, (&mut values, &mut marks))
        })
    }

    fn write(&self, rank: &mut Rank, step: i64, own: &[i64]) {
        self.try_write(rank, step, own, |_| {}).unwrap();
    }

    /// Restores `ck.<step>`, the newest one, with this list.
    fn read(&self, rank: &mut Rank, step: i64, own: &[i64], case: &str) {
        let (mut found, mut found_marks) = (vec![-1.0; own.len()], vec![0; 3 * own.len()]);
        let name = load(rank, |list| {
            self.list(list, own, (&mut found, &mut found_marks))
        });
        let name = name.unwrap();
        let who = format!("{case}, rank {}", rank.rank);
        assert_eq!(name.as_deref(), Some(&*format!("ck.{step}")), "{who}");
        // Not told whole: a list may be long.
        let right = values(own, step);
        let wrong = (0..own.len()).find(|at| found[*at] != right[*at]);
        let wrong = wrong.map(|at| (at, own[at], found[at]));
        assert_eq!(wrong, None, "{who}: place, index, and what it got");
        assert!(found_marks == marks(own, step), "{who}");
    }

    /// Bytes of the list in a file.
    fn bytes(&self, own: &[i64]) -> usize {
        self.given(own).encode().unwrap().bytes.len()
    }
}

/// Lists of `count` indices for each rank, scattered and in no order, or ascending.
fn scattered(count: usize, ascend: bool, random: &mut Random) -> (Mesh, Lists) {
    let whole = (RANKS * count) as i64;
    let mut all: Vec<i64> = (1..=whole).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut lists: Lists = all.chunks(count).map(<[i64]>::to_vec).collect();
    if ascend {
        lists.iter_mut().for_each(|list| list.sort_unstable());
    }
    let shared = false;
    (Mesh { whole, shared }, lists)
}

/// The list of rank 1 with two indices swapped, so that it takes as many bytes as before.
fn two_swapped(mesh: Mesh, lists: &Lists) -> Lists {
    let (bytes, count) = (mesh.bytes(&lists[1]), lists[1].len());
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let swapped = pairs.map(|(a, b)| {
        let mut swapped = lists.clone();
        swapped[1].swap(a, b);
        swapped
    });
    let mut same = swapped.filter(|lists| mesh.bytes(&lists[1]) == bytes);
    same.next()
        .expect("numbers of as many bytes can be swapped")
}

/// What the lists have become: in most cases each has as many indices as before.
fn changed(mesh: Mesh, lists: &Lists, random: &mut Random) -> Vec<(&'static str, Lists)> {
    let with = |change: &mut dyn FnMut(&mut Lists)| {
        let mut lists = lists.clone();
        change(&mut lists);
        lists
    };
    let count = lists[0].len();
    let one_index = with(&mut |lists| {
        let (left, right) = lists.split_at_mut(1);
        std::mem::swap(&mut left[0][count / 2], &mut right[0][count / 2]);
    });
    let of_one_rank = with(&mut |lists| {
        for at in (1..count).rev() {
            lists[1].swap(at, random.below(at as u64 + 1) as usize);
        }
    });
    let all = with(&mut |lists| {
        lists.rotate_left(1);
        lists.iter_mut().for_each(|list| list.reverse());
    });
    let last = with(&mut |lists| lists[2].swap(count - 2, count - 1));
    let moved = with(&mut |lists| {
        let index = lists[2].pop().unwrap();
        lists[0].insert(count / 3, index);
    });
    vec![
        ("one index of two ranks", one_index),
        ("two indices swapped", two_swapped(mesh, lists)),
        ("the last two swapped", last),
        ("one rank's order", of_one_rank),
        ("all lists", all),
        ("one index to another rank", moved),
    ]
}

/// Writes and reads checkpoints by the lists `a`, and then by the lists `b`, in three runs. Both have room in the cache, so
/// that each checkpoint but the first ones is written over an older one.
fn change_and_back(mesh: Mesh, (a, b): (&Lists, &Lists), case: &str) {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    assert!(a != b, "{case}");
    let nodes = nodes(RANKS);
    site.run(&nodes, |rank| {
        for (step, lists) in (1..).zip([a, a, a, b]) {
            mesh.write(rank, step, &lists[rank.rank]);
        }
    });
    let runs: [(i64, &Lists, &[&Lists]); 5] = [
        (4, b, &[b, a]),
        (6, b, &[a, a, b]),
        (9, a, &[b]),
        (10, b, &[]),
        (10, a, &[]),
    ];
    for (newest, reads, writes) in runs {
        let case = format!("{case}, from ck.{newest}");
        site.run(&nodes, |rank| {
            mesh.read(rank, newest, &reads[rank.rank], &case);
            for (step, lists) in (newest + 1..).zip(writes) {
                mesh.write(rank, step, &lists[rank.rank]);
            }
        });
    }
}

#[test]
fn a_changed_list_is_written_and_read_as_it_is_now() {
    let mut random = Random(5);
    for ascend in [false, true] {
        for count in [12, 100, 700] {
            let (mesh, lists) = scattered(count, ascend, &mut random);
            for (case, others) in changed(mesh, &lists, &mut random) {
                let case = format!("{count}, ascending {ascend}: {case}");
                change_and_back(mesh, (&lists, &others), &case);
            }
        }
    }
}

/// A long list is written while it is encoded, and compared with that of the file piece by piece.
#[test]
fn a_changed_list_of_a_million_indices_is_written_and_read_as_it_is_now() {
    const MANY: i64 = 1 << 20;
    let mesh = Mesh {
        whole: MANY + 200,
        shared: false,
    };
    // Every other index comes first.
    let halves = |first: i64, end| {
        let list = (first..end).step_by(2).chain((first + 1..end).step_by(2));
        list.collect::<Vec<i64>>()
    };
    let short: Lists = vec![
        halves(1, 101),
        halves(101, MANY + 100),
        halves(MANY + 100, MANY + 201),
    ];
    let mut long = short.clone();
    let index = long[2].pop().unwrap();
    long[1].push(index);
    assert_eq!(long[1].len(), MANY as usize);
    // Beyond the first pieces.
    let mut swapped = long.clone();
    let at = long[1].len() - 9;
    swapped[1].swap(at, at + 2);
    assert_eq!(mesh.bytes(&long[1]), mesh.bytes(&swapped[1]));
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    let runs: [(i64, &Lists, &[&Lists]); 4] = [
        (0, &short, &[&short, &long, &swapped]),
        (3, &swapped, &[&long, &short]),
        (5, &long, &[&swapped]),
        (6, &long, &[]),
    ];
    for (newest, reads, writes) in runs {
        site.run(&nodes(RANKS), |rank| {
            if newest > 0 {
                mesh.read(rank, newest, &reads[rank.rank], "long");
            }
            for (step, lists) in (newest + 1..).zip(writes) {
                mesh.write(rank, step, &lists[rank.rank]);
            }
        });
    }
}

/// The errors of ranks that write right lists twice, and then `wrong`.
fn refused(mesh: Mesh, right: &Lists, wrong: &Lists, change: fn(usize, &mut [f64])) -> Vec<String> {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    let errors = site.run(&nodes(RANKS), |rank| {
        let me = rank.rank;
        mesh.write(rank, 1, &right[me]);
        mesh.write(rank, 2, &right[me]);
        let refused = mesh.try_write(rank, 3, &wrong[me], |values| change(me, values));
        // What comes later is not harmed, and knows nothing of the list that was refused.
        mesh.write(rank, 4, &right[me]);
        let again = mesh.try_write(rank, 5, &wrong[me], |values| change(me, values));
        let errors = [refused, again].map(|written| written.err().map(|e| e.to_string()));
        assert_eq!(
            errors[0].as_deref().map(of_list),
            errors[1].as_deref().map(of_list)
        );
        errors[0].clone().unwrap_or_default()
    });
    let newest = if errors[0].is_empty() { 5 } else { 4 };
    let last = if errors[0].is_empty() { wrong } else { right };
    if newest == 4 {
        site.run(&nodes(RANKS), |rank| {
            mesh.read(rank, newest, &last[rank.rank], "after it was refused");
        });
    }
    errors
}

/// What an error says of a list or a field, without the name of the checkpoint.
fn of_list(error: &str) -> &str {
    let at = error.find("index list").or(error.find("field \""));
    error.get(at.unwrap_or(0)..).unwrap_or(error)
}

#[test]
fn a_list_that_has_become_wrong_is_refused() {
    let mut random = Random(8);
    for ascend in [false, true] {
        let (mesh, lists) = scattered(50, ascend, &mut random);
        let with = |change: &dyn Fn(&mut Lists)| {
            let mut lists = lists.clone();
            change(&mut lists);
            lists
        };
        let (own, other) = (lists[1][20], lists[2][30]);
        let twice = with(&|lists| lists[1][20] = other);
        let alone = with(&|lists| lists[1][20] = lists[1][21]);
        let outside = with(&|lists| lists[1][20] = mesh.whole + 1);
        let least = |twice: i64| {
            if own < twice {
                format!("no rank lists the index {own} ")
            } else {
                format!("the index {twice}")
            }
        };
        for (wrong, told) in [
            (twice, least(other)),
            (alone, least(lists[1][21])),
            (
                outside,
                format!(
                    "number 21 of this rank's list is the index {}",
                    mesh.whole + 1
                ),
            ),
            (
                with(&|lists| {
                    lists[2].pop();
                }),
                format!("no rank lists the index {} ", lists[2][49]),
            ),
        ] {
            let errors = refused(mesh, &lists, &wrong, |_, _| {});
            assert!(errors[0].contains(&told), "{told}: {errors:?}");
        }
    }
}

/// Each rank has copies of two elements of the next one.
fn with_copies(lists: &Lists, at: usize) -> Lists {
    let of = |rank: usize| {
        let mut list = lists[rank].clone();
        let next = &lists[(rank + 1) % RANKS];
        list.insert(3, next[at]);
        list.push(next[at + 1]);
        list
    };
    (0..RANKS).map(of).collect()
}

/// Other elements than before have copies: these are compared, and no others.
#[test]
fn copies_are_compared_by_the_lists_as_they_are_now() {
    let mut random = Random(13);
    for ascend in [false, true] {
        let (mut mesh, lists) = scattered(50, ascend, &mut random);
        mesh.shared = true;
        let (before, now) = (with_copies(&lists, 10), with_copies(&lists, 11));
        change_and_back(mesh, (&before, &now), "shared");
        // Rank 0 changes its copy of an element that had none before; and an element of which no rank has a copy now.
        let index = now[0][52 - 1];
        let errors = refused(mesh, &before, &now, |me, values| {
            if me == 0 {
                values[51] += 0.5;
            }
        });
        let told = format!("ranks 0 and 1 both have the element of index {index} of \"nodes\"");
        assert!(errors[0].contains(&told), "{told}: {errors:?}");
        let free = now[1].iter().position(|index| *index == lists[1][10]);
        assert_eq!(free, Some(11));
        let errors = refused(mesh, &before, &now, |me, values| {
            if me == 1 {
                values[11] += 0.5;
            }
        });
        assert_eq!(errors, [""; RANKS]);
    }
}
