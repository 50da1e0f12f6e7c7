//! A program that has changed since it wrote the checkpoint, and lists that depend on what was written.

use super::{array, load, own, part, save};
use crate::site::{Rank, Site, nodes};
use scr::fields::{Element, List, Options, Place};

const CONVERT: Options = Options {
    keep_if_missing: false,
    convert: true,
    shared: false,
    on_device: false,
    on_host: false,
    from: None,
};
const KEEP: Options = Options {
    keep_if_missing: true,
    convert: false,
    shared: false,
    on_device: false,
    on_host: false,
    from: None,
};

#[test]
fn what_has_changed_is_an_error_unless_the_program_allows_it() {
    let site = Site::in_memory();
    site.run(&nodes(2), |rank| {
        let me = rank.rank;
        save(rank, "ck.1", |list| {
            own(list, "narrow", &mut [1.5f32, me as f32])?;
            part(list, "parts", &mut [me as i32; 3], 6, 3 * me)?;
            own(list, "old", &mut [1u8])
        })
        .unwrap();
    });
    type Changed = fn(&mut List<'_>, usize) -> scr::Result<()>;
    let refused: [(Changed, &[&str]); 5] = [
        (
            |list, _| own(list, "narrow", &mut [0.0f64; 2]),
            &[
                "\"narrow\"",
                "lists float64[2]",
                "has float32[2]",
                "SCR_CONVERT converts it",
            ],
        ),
        (
            |list, _| {
                list.next(CONVERT);
                own(list, "narrow", &mut [0i32; 2])
            },
            &["\"narrow\"", "lists int32[2]", "has float32[2]"],
        ),
        (
            |list, me| part(list, "parts", &mut [0i32; 4], 8, 4 * me),
            &["\"parts\"", "of [8]", "of [6]"],
        ),
        (
            |list, _| own(list, "new", &mut [0u8]),
            &["\"new\"", "not in the checkpoint", "SCR_KEEP_IF_MISSING"],
        ),
        (
            |list, me| {
                own(list, "narrow", &mut [0.0f32; 2])?;
                part(list, "parts", &mut [0i32; 3], 6, 3 * me)
            },
            &["\"old\"", "does not list", "SCR_Gone"],
        ),
    ];
    site.run(&nodes(2), |rank| {
        let me = rank.rank;
        for (changed, expected) in refused {
            let error = load(rank, |list| changed(list, me))
                .unwrap_err()
                .to_string();
            for expected in expected {
                assert!(error.contains(expected), "{error} says {expected}");
            }
        }
    });
    for ranks in [2, 3] {
        site.run(&nodes(ranks), |rank| {
            let (me, length) = (rank.rank, 6 / ranks);
            let (mut narrow, mut parts, mut new) = ([0.0f64; 2], vec![0i64; length], [9u8; 3]);
            let found = load(rank, |list| {
                if ranks == 2 {
                    list.next(CONVERT);
                    own(list, "narrow", &mut narrow)?;
                } else {
                    list.gone("narrow")?;
                }
                list.next(CONVERT);
                part(list, "parts", &mut parts, 6, length * me)?;
                list.next(KEEP);
                own(list, "new", &mut new)?;
                list.gone("old")
            });
            assert!(found.unwrap().is_some());
            assert_eq!(new, [9; 3]);
            if ranks == 2 {
                assert_eq!(narrow, [1.5, me as f64]);
            }
            let right: Vec<i64> = (me * length..(me + 1) * length)
                .map(|i| (i / 3) as i64)
                .collect();
            assert_eq!(parts, right);
        });
    }
}

/// Records with arrays whose number and length are part of the state, as a program with lists in lists has.
#[test]
fn lists_in_lists_and_arrays_to_allocate_are_restored() {
    let site = Site::in_memory();
    fn list_cells(list: &mut List<'_>, cells: &mut Vec<Vec<f64>>) -> scr::Result<()> {
        let mut count = cells.len() as i64;
        list.count("cells", &mut count)?;
        cells.resize(count as usize, Vec::new());
        for (number, cell) in cells.iter_mut().enumerate() {
            list.begin(&format!("cell {number}"))?;
            if let Some(stored) = list.stored("x")? {
                assert_eq!(stored.kind, f64::KIND);
                cell.resize(stored.extents[0] as usize, 0.0);
            }
            own(list, "x", cell)?;
            list.end()?;
        }
        Ok(())
    }
    let cells = |rank: usize| -> Vec<Vec<f64>> {
        (0..3 + rank)
            .map(|n| (0..n * 2).map(|i| (n * 10 + i) as f64).collect())
            .collect()
    };
    site.run(&nodes(2), |rank| {
        let mut cells = cells(rank.rank);
        // Their number differs from rank to rank, and so do the lists.
        let error = save(rank, "ck.0", |list| list_cells(list, &mut cells))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("cell 3/x") && error.contains("nothing more"),
            "{error}"
        );
        cells.truncate(3);
        save(rank, "ck.1", |list| list_cells(list, &mut cells)).unwrap();
    });
    site.run(&nodes(2), |rank| {
        let mut restored = Vec::new();
        let found = load(rank, |list| list_cells(list, &mut restored));
        assert_eq!(found.unwrap().as_deref(), Some("ck.1"));
        assert_eq!(restored, cells(rank.rank)[..3]);
    });
    // The counts are the same on all ranks, so any number of ranks may read them.
    site.run(&nodes(3), |rank| {
        let mut count = 0;
        let found = load(rank, |list| {
            list.count("cells", &mut count)?;
            (0..3).try_for_each(|number| list.gone(&format!("cell {number}/x")))
        });
        assert!(found.unwrap().is_some());
        assert_eq!(count, 3);
    });
}

#[test]
fn files_of_the_program_are_in_the_same_dataset() {
    let site = Site::in_memory();
    site.run(&nodes(2), |rank| {
        let me = rank.rank;
        save(rank, "ck.1", |list| {
            let path = list.file("mesh.bin")?;
            std::fs::write(path, format!("mesh {me}")).unwrap();
            array(list, "step", &mut [4i64], Place::Same)
        })
        .unwrap();
    });
    site.run(&nodes(2), |rank| {
        let me = rank.rank;
        let (mut step, mut read) = ([0i64], String::new());
        let found = load(rank, |list| {
            let path = list.file("mesh.bin")?;
            read = std::fs::read_to_string(path).unwrap();
            array(list, "step", &mut step, Place::Same)
        });
        assert!(found.unwrap().is_some());
        assert_eq!((step[0], read), (4, format!("mesh {me}")));
    });
    // Another number of ranks reads those of the old ones.
    site.run(&nodes(1), |rank| {
        let (mut step, mut read) = ([0i64], Vec::new());
        let found = load(rank, |list| {
            read.clear();
            for old in 0..2 {
                list.next(Options {
                    from: Some(old),
                    ..Options::default()
                });
                read.push(std::fs::read_to_string(list.file("mesh.bin")?).unwrap());
            }
            array(list, "step", &mut step, Place::Same)
        });
        assert!(found.unwrap().is_some());
        assert_eq!(read, ["mesh 0", "mesh 1"]);
        let error = load(rank, |list| list.file("mesh.bin").map(drop));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("with SCR_From_rank"), "{error}");
    });
}

#[test]
fn names_of_files_beside_the_fields_that_cannot_be_are_refused() {
    Site::in_memory().run(&nodes(1), |rank| {
        // 255 bytes with `rank_0.` before them.
        let (longest, longer) = ("n".repeat(248), "n".repeat(249));
        for name in ["", "fields", "a/b", ".", "..", "a\0b", &longer] {
            let error = save(rank, "ck.1", |list| list.file(name).map(drop));
            let error = error.unwrap_err().to_string();
            let refused = error.contains("cannot be the name of a file")
                || error.contains("a name in a directory at most 255");
            assert!(refused, "{error}");
        }
        let write = |list: &mut List<'_>| {
            std::fs::write(list.file(&longest)?, "mesh").unwrap();
            Ok(())
        };
        save(rank, "ck.1", write).unwrap();
    });
}

/// Files that were written without fields are no checkpoint of a program with fields.
#[test]
fn a_checkpoint_of_files_does_not_fit_and_is_kept() {
    let site = Site::new();
    site.run(&nodes(2), |rank| rank.checkpoint("ck.1").unwrap());
    site.run(&nodes(2), |rank| {
        let error = load(rank, |list| own(list, "x", &mut [1.0]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("has no file of fields"), "{error}");
    });
    site.expect_restart(&nodes(2), Some("ck.1"));
}

/// A restart that fits no checkpoint leaves them all to the next one, in the order of their age. In bypass a cache of
/// one dataset forgets the newer one when the older one is read.
#[test]
fn a_restart_that_fits_nothing_hides_no_checkpoint_from_the_next() {
    for (bypass, flush) in [("1", "0"), ("0", "1")] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", "1")
            .set("SCR_FLUSH", flush);
        let again = |rank: &mut Rank| {
            for _ in 0..2 {
                let (mut other, mut b) = ([0.0f32], [0i32]);
                assert!(load(rank, |list| own(list, "b", &mut other)).is_err());
                let found = load(rank, |list| own(list, "b", &mut b)).unwrap();
                assert_eq!((found.as_deref(), b), (Some("two"), [2]), "{bypass}");
            }
        };
        site.run(&nodes(2), |rank| {
            save(rank, "one", |list| own(list, "a", &mut [1.0])).unwrap();
            save(rank, "two", |list| own(list, "b", &mut [2i32])).unwrap();
            again(rank);
        });
        site.run(&nodes(2), again);
    }
}
