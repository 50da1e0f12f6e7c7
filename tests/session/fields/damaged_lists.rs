//! Damaged index lists, and fields that go by them: bytes of a file are changed, and the file is cut. A restart gives the
//! older checkpoint, and no element of another index.

use super::{load, save};
use crate::fields_on_ranks::by_index;
use crate::sampled::sampled;
use crate::site::{Rank, Site, nodes};
use scr::fields::{Given, Indices, List};
use std::path::PathBuf;

const WHOLE: i64 = 12;

/// What the three ranks write. The middle one, whose file is damaged, has runs, and an index before a smaller one.
const WRITTEN: [&[i64]; 3] = [&[1, 5, 8], &[9, 10, 11, 2, 3, 7], &[12, 4, 6]];

/// Elements of the indices of a rank.
fn pairs(own: &[i64], step: i64) -> Vec<i32> {
    let of = |index: &i64| [*index as i32, (1000 * step + index * index) as i32];
    own.iter().flat_map(of).collect()
}

fn mesh(list: &mut List<'_>, own: &[i64], data: &mut [i32]) -> scr::Result<()> {
    list.index(&Given {
        name: "nodes",
        indices: Indices::Eight(own),
        first: 1,
        whole: WHOLE,
    })?;
    by_index(list, ("pairs", "nodes"), &[own.len() as i64, 2], data)
}

/// Two checkpoints, both in the cache.
fn written() -> Site {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    site.run(&nodes(3), |rank| {
        let own = WRITTEN[rank.rank];
        for step in 1..=2 {
            let mut data = pairs(own, step);
            let name = format!("ck.{step}");
            save(rank, &name, |list| mesh(list, own, &mut data)).unwrap();
        }
    });
    site
}

fn file(site: &Site) -> PathBuf {
    let mut dirs = vec![site.dataset(nodes(3)[1], 2)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            match path.ends_with("rank_1.fields") {
                true => return path,
                false if path.is_dir() => dirs.push(path),
                false => {}
            }
        }
    }
    panic!("the file is not there");
}

/// The name of the checkpoint that is restored with these lists. `hurt` gets the bytes of the file when SCR has looked
/// for checkpoints.
fn restored(lists: &[&[i64]; 3], hurt: impl Fn(&mut Vec<u8>) + Sync) -> String {
    let site = written();
    let found = site.run(&nodes(3), |rank: &mut Rank| {
        rank.session.have_restart().unwrap();
        if rank.rank == 0 {
            let path = file(&site);
            let mut bytes = std::fs::read(&path).unwrap();
            hurt(&mut bytes);
            std::fs::write(path, bytes).unwrap();
        }
        rank.session.comm().barrier().unwrap();
        let own = lists[rank.rank];
        let mut data = vec![-1; 2 * own.len()];
        let found = load(rank, |list| mesh(list, own, &mut data)).unwrap();
        let found = found.expect("the older one is good");
        let step = found.trim_start_matches("ck.").parse().unwrap();
        assert!(data == pairs(own, step), "{found} {own:?}: {data:?}");
        found
    });
    found[0].clone()
}

#[test]
fn no_changed_byte_gives_other_elements() {
    let site = written();
    let whole = std::fs::read(file(&site)).unwrap();
    let list = whole[64..128].iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let field = 4 * pairs(WRITTEN[1], 1).len();
    assert!(list > 4 && whole.len() < 600);
    let others: [&[i64]; 3] = [&[3, 2, 12], &[], &[11, 9, 1, 4, 5, 6, 7, 8, 10, 2]];
    for at in sampled(0..whole.len()) {
        // Bytes between fields have no meaning.
        let is_gap = (64 + list..128).contains(&at) || (128 + field..192).contains(&at);
        let is_list = (64..64 + list).contains(&at);
        // That each byte of the table counts is seen where it is read.
        if !is_list && at % 3 > 0 {
            continue;
        }
        for (number, lists) in [&WRITTEN, &others].into_iter().enumerate() {
            if !is_list && number != at / 3 % 2 {
                continue;
            }
            let found = restored(lists, |bytes| bytes[at] ^= 1 << (at % 8));
            let right = if is_gap { "ck.2" } else { "ck.1" };
            assert_eq!(found, right, "byte {at}");
        }
    }
}

#[test]
fn no_cut_file_gives_other_elements() {
    let length = std::fs::read(file(&written())).unwrap().len();
    for at in sampled((0..length).step_by(9)) {
        let others: [&[i64]; 3] = [&[10, 2], &[9, 3, 12], &[1]];
        let lists = [&WRITTEN, &others][at / 9 % 2];
        assert_eq!(restored(lists, |bytes| bytes.truncate(at)), "ck.1", "{at}");
    }
}
