//! Sets: what comes back of them, and what is cut out and counted.

use super::set::{Builder, Set, WINDOW, WORDS, Windows};
use super::set_runs::SetRuns;
use crate::fields::index::ids::Run;

/// A generator of small numbers.
fn random() -> impl FnMut(u64) -> u64 {
    let mut x = 11u64;
    move |below| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (x >> 33) % below
    }
}

fn set(ids: &[u64]) -> Set {
    let mut builder = Builder::default();
    ids.iter().for_each(|first| {
        builder.add(Run {
            first: *first,
            count: 1,
        });
    });
    builder.finish()
}

fn all(bytes: &[u8]) -> Vec<u64> {
    let runs = SetRuns::new(bytes).map(Result::unwrap);
    runs.flat_map(|run| run.first..run.end()).collect()
}

/// Ascending indices: few, many, all of a range, and such as follow each other.
fn lists() -> Vec<Vec<u64>> {
    let mut random = random();
    let mut lists = vec![vec![], vec![0], vec![WINDOW - 1, WINDOW], vec![1 << 50]];
    for part in [2, 3, 7, 9, 17, 300, 5000] {
        lists.push(
            (0..3 * WINDOW + 100)
                .filter(|_| random(part) == 0)
                .collect(),
        );
        lists.push((50..3 * WINDOW).filter(|id| id / 100 % part != 1).collect());
    }
    lists.push((0..40 * WINDOW).step_by(5).chain([90 * WINDOW]).collect());
    lists.push((1..2 * WINDOW).collect());
    // As many runs as make the bits shorter, and of two bytes for each number.
    lists.push((0..WINDOW).filter(|id| id % 17 < 2).collect());
    lists.push((0..WINDOW).filter(|id| id % 170 < 72).collect());
    lists
}

#[test]
fn a_set_comes_back_and_is_cut() {
    for list in lists() {
        let set = set(&list);
        assert_eq!(set.count, list.len() as u64);
        assert_eq!(all(&set.bytes), list);
        let end = list.last().map_or(0, |last| last + 1);
        for (from, to) in [
            (0, end),
            (1, end),
            (0, end / 2),
            (end / 3, end / 2 + 7),
            (end, end + 9),
        ] {
            let in_range = |id: &&u64| (from..to).contains(*id);
            let right: Vec<u64> = list.iter().filter(in_range).copied().collect();
            assert_eq!(all(&set.cut(&(from..to)).unwrap()), right);
            let first = list.iter().find(|id| **id >= from).copied();
            assert_eq!(set.first_from(from), Ok(first));
        }
        let mut by_run = Builder::default();
        for run in set.runs() {
            by_run.add(run.unwrap());
        }
        assert_eq!(by_run.finish(), set);
        let mut by_window = Builder::default();
        let (mut windows, mut words) = (Windows::new(&set.bytes, 0), [0; WORDS]);
        while let Some(number) = windows.peek().unwrap() {
            windows.read(&mut words).unwrap();
            by_window.add_window(number, &words);
        }
        assert_eq!(by_window.finish(), set);
    }
}

#[test]
fn a_set_is_small() {
    let block: Vec<u64> = (0..100 * WINDOW).collect();
    assert!(set(&block).bytes.len() <= 100 * 7);
    let half: Vec<u64> = (0..100 * WINDOW).step_by(2).collect();
    assert!(set(&half).bytes.len() <= 100 * (WINDOW as usize / 8 + 5));
    let few: Vec<u64> = (0..1000).map(|id| id * 200).collect();
    assert!(set(&few).bytes.len() <= 2500);
}

#[test]
fn places_are_how_many_are_below() {
    let mut random = random();
    for list in lists() {
        let own = set(&list);
        for part in [1, 2, 3, 100] {
            for from in [0, list.len() / 2] {
                let chosen: Vec<(usize, u64)> =
                    (from..).zip(list[from..].iter().copied()).collect();
                let chosen: Vec<_> = chosen.into_iter().filter(|_| random(part) == 0).collect();
                let ids: Vec<u64> = chosen.iter().map(|(_, id)| *id).collect();
                let places = own.places_of(&set(&ids).bytes).unwrap().unwrap();
                let right = chosen.iter().map(|(place, _)| *place as u64);
                assert!(right.eq(all(&places.bytes)));
                assert_eq!(places.count, ids.len() as u64);
            }
        }
        let other = (0..=list.len() as u64)
            .find(|id| !list.contains(id))
            .unwrap();
        assert_eq!(own.places_of(&set(&[other]).bytes), Ok(None));
        assert_eq!(own.places_of(&set(&[200 * WINDOW]).bytes), Ok(None));
    }
}

#[test]
fn damaged_bytes_are_an_error() {
    let bits: Vec<u64> = (0..WINDOW).step_by(2).collect();
    for ids in [&bits[..], &[3, 9, 10, 11], &[1 << 40]] {
        let bytes = set(ids).bytes;
        for end in 1..bytes.len() {
            let read = |bytes: &[u8]| SetRuns::new(bytes).collect::<crate::Result<Vec<_>>>();
            assert!(read(&bytes[..end]).is_err(), "{end}");
        }
    }
    // A run that leaves its window, a window that is too far, and windows that do not ascend.
    let mut words = [0; WORDS];
    let mut read = |bytes: &[u8]| Windows::new(bytes, 0).read(&mut words);
    assert!(read(&[0, 3, 0, 0xfe, 0xff, 0x01]).is_ok());
    assert!(read(&[0, 3, 0, 0xfe, 0xff, 0x7f]).is_err());
    assert!(read(&[0, 3, 0, 1, 0xfe, 0x7f]).is_ok());
    assert!(read(&[0, 3, 0, 1, 0xff, 0x7f]).is_err());
    assert!(Windows::new(&[0xff; 10], 0).peek().is_err());
    let (a, b) = (set(&[WINDOW]).bytes, set(&[5]).bytes);
    let own = set(&[5, WINDOW]);
    assert!(own.places_of(&[a, b].concat()).is_err());
}
