//! Where the files of fields are.

use super::{load, own, save};
use crate::site::{Rank, Site, nodes};
use scr::fields::{List, Pass};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The number of the file in the file system in which a rank has its fields, which has `count` numbers.
fn inode_of(rank: &mut Rank, name: &str, count: usize) -> u64 {
    let mut data: Vec<f64> = (0..count).map(|i| (i + rank.rank) as f64).collect();
    let mut beside = PathBuf::new();
    let file = format!("rank_{}.fields", rank.rank);
    save(rank, name, |list| {
        beside = list.file("mesh.bin")?;
        std::fs::write(&beside, name).unwrap();
        own(list, "x", &mut data)
    })
    .unwrap();
    std::fs::metadata(beside.with_file_name(file))
        .unwrap()
        .ino()
}

fn restored(rank: &mut Rank, count: usize) -> Option<String> {
    let mut data = vec![0.0; count];
    let number = rank.rank;
    let found = load(rank, |list| own(list, "x", &mut data)).unwrap();
    let right = data.iter().enumerate();
    assert!(right.into_iter().all(|(i, x)| *x == (i + number) as f64));
    found
}

/// New space takes longer than space that is written over. The files of the program are its own.
#[test]
fn the_fields_of_an_evicted_checkpoint_are_written_over() {
    for scheme in ["SINGLE", "XOR"] {
        let site = Site::new()
            .set("SCR_CACHE_SIZE", "2")
            .set("SCR_COPY_TYPE", scheme)
            .set("SCR_FLUSH", "0");
        // Two ranks on the first node.
        let nodes = ["n0", "n0", "n1"];
        site.run(&nodes, |rank| {
            let counts = [20_000, 30_000, 10, 25_000, 20];
            let inodes: Vec<u64> = (counts.iter().enumerate())
                .map(|(at, count)| inode_of(rank, &format!("ck.{at}"), *count))
                .collect();
            assert_ne!(inodes[0], inodes[1]);
            for at in 2..counts.len() {
                assert_eq!(inodes[at], inodes[at - 2], "{scheme} {at}");
            }
            assert_eq!(restored(rank, 20).as_deref(), Some("ck.4"));
        });
        // The run before may still have the files open.
        site.run(&nodes, |rank| {
            assert_eq!(restored(rank, 20).as_deref(), Some("ck.4"));
            let old = inode_of(rank, "ck.5", 20);
            let new = inode_of(rank, "ck.6", 20);
            assert_ne!(inode_of(rank, "ck.7", 20), new);
            assert_ne!(old, new);
            assert_eq!(restored(rank, 20).as_deref(), Some("ck.7"));
        });
    }
}

/// A file that is written over can no longer be compared.
#[test]
fn the_fields_of_an_evicted_checkpoint_are_compared_if_asked_for() {
    let site = Site::new().set("SCR_CACHE_SIZE", "1").set("SCR_FLUSH", "0");
    let site = site.set("SCR_CRC_ON_DELETE", "1");
    site.run(&nodes(2), |rank| {
        for at in 0..3 {
            inode_of(rank, &format!("ck.{at}"), 20_000);
        }
        rank.finalize().unwrap();
    });
    assert_eq!(site.heard("SCR_CRC_ON_DELETE"), Vec::<String>::new());
}

/// A checkpoint that fails after others were evicted for it costs nothing else. The error says why it has failed, and not
/// that a file is missing therefore.
#[test]
fn a_checkpoint_that_fails_in_reused_space_leaves_the_older_one() {
    let site = Site::new().set("SCR_CACHE_SIZE", "2").set("SCR_FLUSH", "0");
    site.run(&nodes(2), |rank| {
        for at in 0..2 {
            inode_of(rank, &format!("ck.{at}"), 1000);
        }
        let me = rank.rank;
        let failed = save(rank, "ck.2", |list| {
            own(list, "x", &mut [1.0; 1000])?;
            match me {
                0 => {
                    list.file("mesh.bin")?;
                    Err(scr::Error::usage("the program", "no more"))
                }
                _ => Ok(()),
            }
        });
        let why = failed.unwrap_err().to_string();
        assert!(why.contains("no more"), "{why}");
        assert_eq!(restored(rank, 1000).as_deref(), Some("ck.1"));
    });
}

/// The library owns the names: it does not matter where the program runs.
#[test]
fn fields_are_found_wherever_the_program_runs() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "1");
        let elsewhere = |rank: &mut Rank| rank.session.set_cwd("/somewhere/else".into());
        site.run(&nodes(2), |rank| {
            elsewhere(rank);
            inode_of(rank, "ck.1", 10);
        });
        assert!(site.prefix().join("ck.1/rank_1.mesh.bin").is_file());
        let mut passes = Vec::new();
        for ranks in [2, 1] {
            passes = site.run(&nodes(ranks), |rank| {
                elsewhere(rank);
                let mut passes = Vec::new();
                let found = load(rank, |list: &mut List<'_>| {
                    passes.push(list.pass());
                    for old in 0..list.stored_ranks().unwrap() {
                        list.next(scr::fields::Options {
                            from: (ranks == 1).then_some(old),
                            ..Default::default()
                        });
                        if ranks == 1 || old == 0 {
                            own(list, "x", &mut [0.0; 10])?;
                        }
                    }
                    Ok(())
                });
                assert_eq!(found.unwrap().as_deref(), Some("ck.1"));
                passes
            });
        }
        assert_eq!(passes[0], [Pass::Compare, Pass::Read]);
    }
}
