//! Fields by index, read in the order of the indices: random lists, and lists that no run would write.

use super::{Owner, SavedFields};
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::posix::Posix;
use scr_testing::by_index::{self, Whole, write};

/// The index times 1000 and the place in the row.
fn value(index: i64, place: u64) -> i32 {
    index as i32 * 1000 + place as i32
}

fn elements(list: &[i64], whole: Whole) -> Vec<i32> {
    by_index::numbers(list, whole, value)
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    let all = bytes.as_chunks().0.iter();
    all.map(|bytes| i32::from_le_bytes(*bytes)).collect()
}

/// A generator of small numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005) + 1;
        (self.0 >> 33) % below
    }
}

/// Lists that have each index once.
fn partition(random: &mut Random, ranks: u64, (first, whole): (i64, u64)) -> Vec<Vec<i64>> {
    let mut lists = vec![Vec::new(); ranks as usize];
    let block = 1 + random.below(9);
    for index in 0..whole {
        let rank = match block {
            1..=4 => random.below(ranks),
            _ => index / block % ranks,
        };
        lists[rank as usize].push(first + index as i64);
    }
    for list in &mut lists {
        if random.below(3) == 0 {
            for at in (1..list.len()).rev() {
                list.swap(at, random.below(at as u64 + 1) as usize);
            }
        }
    }
    lists
}

#[test]
fn elements_come_in_the_order_of_their_indices_in_bands_of_any_size() {
    let mut random = Random(5);
    for case in 0..60 {
        let whole = [0, 1, 40, 300][random.below(4) as usize];
        let (first, row) = (random.below(5) as i64 - 2, 1 + random.below(5));
        let ranks = 1 + random.below(7);
        let lists = partition(&mut random, ranks, (first, whole));
        let dir = tempfile::tempdir().unwrap();
        let of = Whole {
            first,
            count: whole,
            row,
        };
        let dataset = write(dir.path(), &lists, of, value).unwrap();
        let saved = SavedFields::open(&Posix, &Prefix::new(dir.path()), &dataset).unwrap();
        let found = saved.find(&["x", "nodes"]).unwrap();
        let (x, nodes) = (&found[0], &found[1]);
        assert_eq!((x.owner, x.arrays()), (Owner::Whole, 1));
        assert_eq!((nodes.owner, nodes.arrays()), (Owner::Index, lists.len()));
        let array = x.array(0);
        assert_eq!(array.extents, [whole, row]);
        let all: Vec<i64> = (0..whole as i64).map(|index| first + index).collect();
        let right = elements(&all, of);
        for _ in 0..3 {
            let (band, together) = (1 + random.below(200), 1 + random.below(4));
            let mut bands = saved.read(x, 0).unwrap().of_bytes(band, together);
            let mut bytes = Vec::new();
            while let Some(band) = bands.next_band().unwrap() {
                bytes.extend_from_slice(band);
            }
            assert!(numbers(&bytes) == right, "case {case}: {band} {together}");
        }
        if whole > 0 {
            // The fastest first, from 1 on, and then the index of the program.
            let last = array.index(whole * row - 1);
            assert_eq!(last, [row as i64, first + whole as i64 - 1]);
        }
        for (rank, list) in lists.iter().enumerate() {
            let mut part = saved.read_part(x, rank).unwrap().unwrap();
            let part = part.next_band().unwrap().unwrap_or_default();
            assert!(numbers(part) == elements(list, of));
            let mut bands = saved.read(nodes, rank).unwrap();
            assert_eq!(bands.array().extents, [list.len() as u64]);
            bands = bands.of_bytes(40, 1);
            let mut bytes = Vec::new();
            while let Some(band) = bands.next_band().unwrap() {
                bytes.extend_from_slice(band);
            }
            let indices = bytes.as_chunks().0.iter();
            assert!(
                indices
                    .map(|b| i64::from_le_bytes(*b))
                    .eq(list.iter().copied())
            );
        }
        let listed = saved.list().unwrap();
        let index = listed[0].index.as_ref().unwrap();
        assert_eq!(
            (index.first, index.whole, &index.list),
            (first, whole, &None)
        );
        assert_eq!(listed[0].array.extents, [whole]);
        let list = listed[1].index.as_ref().unwrap().list.as_deref();
        assert_eq!((list, listed[1].bytes), (Some("nodes"), 4 * whole * row));
    }
}

/// The error of reading "x".
fn refused(lists: &[Vec<i64>], whole: u64) -> String {
    let dir = tempfile::tempdir().unwrap();
    let of = Whole {
        first: 1,
        count: whole,
        row: 2,
    };
    let dataset = write(dir.path(), lists, of, value).unwrap();
    let saved = SavedFields::open(&Posix, &Prefix::new(dir.path()), &dataset).unwrap();
    let found = saved.find(&["x"]).unwrap();
    saved
        .read(&found[0], 0)
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[test]
fn an_index_that_not_exactly_one_rank_has_is_named() {
    for (lists, whole, told) in [
        (
            &[vec![1, 2], vec![4]][..],
            4,
            "no rank has the index 3 of the whole of 4 elements",
        ),
        (
            &[vec![3, 1, 2], vec![4, 2]],
            4,
            "ranks 0 and 1 both have the index 2",
        ),
        (
            &[vec![3, 1, 2], vec![4, 5, 4]],
            5,
            "rank 1 has the index 4 twice",
        ),
        (&[vec![], vec![]], 1, "no rank has the index 1"),
    ] {
        let error = refused(lists, whole);
        let named = error.contains("field \"x\", index list \"nodes\": ");
        assert!(named && error.contains(told), "{error}");
    }
}

/// Of many ranks, each block is read once, though their indices alternate.
#[test]
fn each_block_is_read_once_if_the_lists_ascend() {
    let (ranks, whole, row) = (16, 200_000u64, 8);
    let mut lists = vec![Vec::new(); ranks];
    for index in 0..whole as i64 {
        lists[index as usize / 3 % ranks].push(index);
    }
    let dir = tempfile::tempdir().unwrap();
    let of = Whole {
        first: 0,
        count: whole,
        row,
    };
    let dataset = write(dir.path(), &lists, of, value).unwrap();
    let files = crate::tally::CountingFiles::new(Posix);
    let tally = files.tally();
    let saved = SavedFields::open(&files, &Prefix::new(dir.path()), &dataset).unwrap();
    let found = saved.find(&["x"]).unwrap();
    let (before, _) = tally.bytes();
    let mut bands = saved.read(&found[0], 0).unwrap().of_bytes(100_000, 1);
    let mut next = 0;
    while let Some(band) = bands.next_band().unwrap() {
        for number in numbers(band) {
            assert_eq!(number, value((next / row) as i64, next % row));
            next += 1;
        }
    }
    assert_eq!(next, whole * row);
    let (after, _) = tally.bytes();
    let bytes = 4 * whole * row;
    let read = after - before;
    assert!(
        (bytes..bytes * 105 / 100).contains(&read),
        "{read} of {bytes}"
    );
}
