//! Commands beside a program whose files of fields stay mapped.

use crate::fields_on_ranks::save;
use crate::scavenge::on;
use crate::site::{Rank, Site, nodes};
use scr::fields::{Element, List, Place, Slice, Spec, restore};

/// Numbers of a rank: its files are large enough to be mapped.
const COUNT: usize = 200_000;

fn number(step: i64, rank: usize, at: usize) -> f64 {
    (step * 1_000_003 + rank as i64 * 7919 + at as i64) as f64
}

fn list(list: &mut List<'_>, step: &mut [i64; 1], data: &mut [f64]) -> scr::Result<()> {
    let spec = |name, kind, extents| Spec {
        name,
        kind,
        extents,
        strides: None,
        place: Place::Own,
    };
    list.field(spec("step", i64::KIND, &[1]), Some(&mut Slice::new(step)))?;
    let extents = [COUNT as i64];
    list.field(spec("u", f64::KIND, &extents), Some(&mut Slice::new(data)))
}

/// Writes the checkpoint of a step.
pub fn write(rank: &mut Rank, step: i64) {
    let me = rank.rank;
    let mut data: Vec<f64> = (0..COUNT).map(|at| number(step, me, at)).collect();
    let written = save(rank, &format!("ck.{step}"), |all| {
        list(all, &mut [step], &mut data)
    });
    written.unwrap();
}

/// The checkpoint that is restored, after a look at all its bytes.
pub fn read(rank: &mut Rank) -> Option<String> {
    let (mut step, mut data) = ([0], vec![0.0; COUNT]);
    let found = restore(&mut rank.session, &mut |all| {
        list(all, &mut step, &mut data)
    });
    let name = found.unwrap()?.to_string();
    let mut places = data.iter().enumerate();
    let right = places.all(|(at, found)| *found == number(step[0], rank.rank, at));
    assert!(right && name == format!("ck.{}", step[0]), "{name}");
    Some(name)
}

#[test]
fn scr_clean_leaves_the_files_of_a_live_run() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("SKIPPED: there is no /dev/shm");
        return;
    };
    let site = Site::at(memory)
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "0");
    site.run(&nodes(2), |rank| {
        for step in 1..=8 {
            if rank.rank == 0 {
                let said = on(&site, "n0", "scr", &["clean", "--force"]).out();
                assert!(said.contains("a run of this job is alive"), "{said}");
            }
            write(rank, step);
        }
    });
    site.run(&nodes(2), |rank| {
        assert_eq!(read(rank).as_deref(), Some("ck.8"));
        write(rank, 9);
    });
    // The run has ended.
    for node in nodes(2) {
        let said = on(&site, node, "scr", &["clean"]).out();
        assert!(said.starts_with("Removed "), "{said}");
    }
    let restored = site.run(&nodes(2), |rank| {
        let restored = read(rank);
        write(rank, 1);
        restored
    });
    assert_eq!(restored, [None, None]);
}
