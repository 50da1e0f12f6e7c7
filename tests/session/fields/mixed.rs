//! A file of another checkpoint, of as many bytes and with right checksums of its own, where SCR compares none: the values
//! that are the same on all ranks tell it.

use super::{array, load, part, save};
use crate::site::{Site, nodes};
use scr::fields::{List, Place};

const WHOLE: usize = 120;

fn value(step: i64, element: usize) -> i64 {
    1000 * step + element as i64
}

fn state(list: &mut List<'_>, step: &mut [i64; 1], data: &mut [i64], at: usize) -> scr::Result<()> {
    array(list, "step", step, Place::Same)?;
    part(list, "grid", data, WHOLE, at)
}

/// Where the part of a rank begins.
fn begin(rank: usize, ranks: usize) -> usize {
    WHOLE * rank / ranks
}

#[test]
fn a_file_of_another_checkpoint_is_noticed_by_what_all_ranks_have() {
    for mixed in 0..3 {
        for ranks in [1, 2, 3, 5] {
            let site = Site::in_memory()
                .set("SCR_FLUSH", "1")
                .set("SCR_CACHE_BYPASS", "1")
                .set("SCR_CRC_ON_FLUSH", "0");
            site.run(&nodes(3), |rank| {
                let (at, end) = (begin(rank.rank, 3), begin(rank.rank + 1, 3));
                for step in 1..=2 {
                    let mut data: Vec<i64> = (at..end).map(|i| value(step, i)).collect();
                    let name = format!("ck.{step}");
                    save(rank, &name, |list| state(list, &mut [step], &mut data, at)).unwrap();
                }
            });
            let file = format!("rank_{mixed}.fields");
            let of = |name: &str| site.prefix().join(name).join(&file);
            std::fs::copy(of("ck.1"), of("ck.2")).unwrap();
            site.run(&nodes(ranks), |rank| {
                let (at, end) = (begin(rank.rank, ranks), begin(rank.rank + 1, ranks));
                let (mut step, mut data) = ([-1], vec![-1; end - at]);
                let found = load(rank, |list| state(list, &mut step, &mut data, at));
                let case = format!("file {mixed}, rank {} of {ranks}", rank.rank);
                assert_eq!(found.unwrap().as_deref(), Some("ck.1"), "{case}");
                assert_eq!(step, [1], "{case}");
                assert!((at..end).map(|i| value(1, i)).eq(data), "{case}");
            });
        }
    }
}
