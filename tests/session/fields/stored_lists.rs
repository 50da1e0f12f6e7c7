//! Lists in files that are no partition, though all checksums are right, as no run writes them: those of a mix of checkpoints
//! that SCR did not compare with its checksums, or of another program. A restart by other lists tells what is wrong, and
//! gives the older checkpoint.

use super::load;
use super::save;
use crate::fields_on_ranks::by_index;
use crate::site::{Site, nodes};
use scr::fields::{Given, Indices, List, Order};
use scr_testing::by_index::{Whole, write};

const WHOLE: Whole = Whole {
    first: 1,
    count: 12,
    row: 2,
};

/// What a program writes: each list takes as many bytes as that of the same rank in all cases.
const RIGHT: [&[i64]; 3] = [&[1, 5, 8], &[9, 11, 2, 7], &[12, 4, 6, 3, 10]];

fn value(step: i64) -> impl Fn(i64, u64) -> i32 {
    move |index, place| (1000 * step + 10 * index) as i32 + place as i32
}

fn mesh(list: &mut List<'_>, own: &[i64], data: &mut [i32]) -> scr::Result<()> {
    list.index(&Given {
        name: "nodes",
        indices: Indices::Eight(own),
        first: WHOLE.first,
        whole: WHOLE.count as i64,
    })?;
    list.set_order(Order::Column);
    by_index(
        list,
        ("x", "nodes"),
        &[WHOLE.row as i64, own.len() as i64],
        data,
    )
}

/// What is said of a restart from the lists `stored`, by which each of `ranks` ranks gets the elements of `wanted`.
fn said(stored: [&[i64]; 3], ranks: usize, wanted: &[i64]) -> String {
    // Each of these files has right checksums of its own fields. SCR records no checksum of the files.
    let site = Site::in_memory()
        .set("SCR_FLUSH", "1")
        .set("SCR_CACHE_BYPASS", "1")
        .set("SCR_CRC_ON_FLUSH", "0");
    site.run(&nodes(3), |rank| {
        let own = RIGHT[rank.rank];
        for step in 1..=2 {
            let mut data = scr_testing::by_index::numbers(own, WHOLE, value(step));
            save(rank, &format!("ck.{step}"), |list| {
                mesh(list, own, &mut data)
            })
            .unwrap();
        }
    });
    let other = tempfile::tempdir().unwrap();
    let lists: Vec<Vec<i64>> = stored.iter().map(|list| list.to_vec()).collect();
    write(other.path(), &lists, WHOLE, value(2)).unwrap();
    for rank in 0..3 {
        let file = format!("rank_{rank}.fields");
        let to = site.prefix().join("ck.2").join(&file);
        let bytes = std::fs::read(other.path().join("ck").join(&file)).unwrap();
        assert_eq!(bytes.len(), std::fs::read(&to).unwrap().len());
        std::fs::write(to, bytes).unwrap();
    }
    let found = site.run(&nodes(ranks), |rank| {
        let mut data = vec![-1; 2 * wanted.len()];
        let found = load(rank, |list| mesh(list, wanted, &mut data)).unwrap();
        let step = match found.as_deref() {
            Some("ck.1") => 1,
            Some("ck.2") => 2,
            other => panic!("{other:?}"),
        };
        let right = scr_testing::by_index::numbers(wanted, WHOLE, value(step));
        assert_eq!(data, right, "{found:?}");
        step
    });
    assert!(found.iter().all(|step| *step == found[0]));
    let lines = site.events.lines().join("\n");
    if found[0] == 2 { String::new() } else { lines }
}

#[test]
fn stored_lists_that_are_no_partition_are_told_and_an_older_checkpoint_is_restored() {
    let all: Vec<i64> = (1..=12).rev().collect();
    let lacks = |told: &str, index: i64| {
        told.contains(&format!(
            "index list \"nodes\": no file has the index {index}"
        ))
    };
    for ranks in [1, 2, 3, 5] {
        assert_eq!(said(RIGHT, ranks, &all), "", "lists that are right");
        // An index is in two files, and one is in none.
        let twice = [RIGHT[0], &[9, 11, 4, 7], RIGHT[2]];
        let told = said(twice, ranks, &all);
        assert!(lacks(&told, 2), "{ranks}: {told}");
        // An index is twice in one file. A rank that reads another file may be the first to tell what it lacks.
        let twice = [RIGHT[0], RIGHT[1], &[12, 4, 6, 4, 10]];
        let told = said(twice, ranks, &all);
        let file = told.contains("rank_2.fields") && told.contains("has an index twice");
        assert!(file || lacks(&told, 3), "{ranks}: {told}");
        // A part of the whole is all that is needed, and is there.
        assert_eq!(said(RIGHT, ranks, &[7, 3]), "");
    }
}
