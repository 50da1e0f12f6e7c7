//! The memory of index lists: not even the bytes of a long list are in memory at once.

use crate::fields_on_ranks::{Random, by_index, save};
use crate::job::in_memory;
use crate::site::nodes;
use crate::{alone, memory};
use scr::fields::{Given, Indices, List, restore};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Elements of the whole, on two ranks.
const WHOLE: i64 = 4_000_000;

/// Bytes that a call may take on both ranks together. Their lists have four bytes for each element in a file.
const MOST: u64 = 12 << 20;

/// What a checkpoint and a restart with the same lists take, in any order.
#[test]
fn a_list_takes_less_memory_than_it_has_bytes() {
    let _alone = alone();
    let mut all: Vec<i64> = (0..WHOLE).collect();
    let mut random = Random(1);
    for at in (1..all.len()).rev() {
        all.swap(at, random.below(at as u64 + 1) as usize);
    }
    let lists: Vec<&[i64]> = all.chunks(all.len() / 2).collect();
    let site = in_memory().set("SCR_FLUSH", "1");
    let taken = AtomicU64::new(0);
    let run = |reads: bool| {
        taken.store(0, Relaxed);
        site.run(&nodes(2), |rank| {
            let own = lists[rank.rank];
            let mut data: Vec<i32> = own.iter().map(|id| *id as i32).collect();
            if reads {
                data.fill(-1);
            }
            let mut list = |list: &mut List<'_>| {
                list.index(&Given {
                    name: "nodes",
                    indices: Indices::Eight(own),
                    first: 0,
                    whole: WHOLE,
                })?;
                by_index(list, ("numbers", "nodes"), &[own.len() as i64], &mut data)
            };
            rank.session.comm().barrier().unwrap();
            let before = memory::live();
            memory::take_peak();
            rank.session.comm().barrier().unwrap();
            if reads {
                assert!(restore(&mut rank.session, &mut list).unwrap().is_some());
            } else {
                save(rank, "ck.1", list).unwrap();
            }
            rank.session.comm().barrier().unwrap();
            taken.fetch_max(memory::take_peak().saturating_sub(before), Relaxed);
            assert!(data.iter().zip(own).all(|(x, id)| i64::from(*x) == *id));
        });
        taken.load(Relaxed)
    };
    let (written, read) = (run(false), run(true));
    println!("{WHOLE} indices in any order: {written} bytes to write them, {read} to read them");
    assert!(written < MOST, "{written}");
    assert!(read < MOST, "{read}");
}
