//! Where the files of fields are.

use super::{load, own, save};
use crate::site::{Rank, Site, nodes};
use scr::fields::{List, Pass};
use scr::format::filemap::Filemap;
use scr::store::posix::Posix;
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

/// Lines of this process's mappings that have a file of fields of this site.
fn mapped(site: &Site) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let here = site.node("n0").display().to_string();
    let is_fields = |line: &&str| line.contains(&here) && line.contains(".fields");
    maps.lines().filter(is_fields).count()
}

/// Files of fields of this site that this process has open.
fn open_files(site: &Site) -> usize {
    let here = site.node("n0").display().to_string();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = open.filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let open = open.map(|path| path.display().to_string());
    let is_fields = |path: &String| path.contains(&here) && path.contains(".fields");
    open.filter(is_fields).count()
}

/// In a store on tmpfs. What removes the files meanwhile costs nothing but those files.
#[test]
fn files_that_are_written_over_stay_mapped_as_long_as_they_are_in_the_cache() {
    let site = Site::in_memory()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_FLUSH", "0");
    let is_tmpfs = site.node("n0").starts_with("/dev/shm");
    if !is_tmpfs || !cfg!(target_arch = "x86_64") {
        println!("SKIPPED: files are mapped on tmpfs and x86-64 only");
        return;
    }
    let counts = [300_000, 280_000, 300_000, 310_000, 250_000, 320_000];
    site.run(&nodes(1), |rank| {
        let mut number = 0;
        let mut write = |rank: &mut Rank, count| {
            inode_of(rank, &format!("ck.{number}"), count);
            number += 1;
            mapped(&site)
        };
        let now: Vec<usize> = counts.iter().map(|count| write(rank, *count)).collect();
        assert_eq!(now, [0, 0, 1, 2, 2, 2]);
        // As by `scr clean`: all datasets go.
        let cache = site.cache("n0");
        for entry in std::fs::read_dir(cache).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains("scr.dataset.") {
                std::fs::remove_dir_all(path).unwrap();
            }
        }
        assert_eq!(write(rank, 330_000), 0);
        assert_eq!(restored(rank, 330_000).as_deref(), Some("ck.6"));
        rank.finalize().unwrap();
        assert_eq!(mapped(&site), 0);
    });
}

/// Written over and mapped as the fields are, the redundancy files protect as before.
#[test]
fn redundancy_files_stay_mapped_and_protect() {
    for scheme in ["XOR", "PARTNER"] {
        let site = Site::in_memory()
            .set("SCR_CACHE_SIZE", "2")
            .set("SCR_COPY_TYPE", scheme)
            .set("SCR_FLUSH", "0");
        if !site.node("n0").starts_with("/dev/shm") || !cfg!(target_arch = "x86_64") {
            println!("SKIPPED: files are mapped on tmpfs and x86-64 only");
            return;
        }
        let of_scheme = format!(".{}", scheme.to_lowercase());
        site.run(&nodes(2), |rank| {
            for at in 0..5 {
                inode_of(rank, &format!("ck.{at}"), 300_000);
            }
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let here = site.node(["n0", "n1"][rank.rank]).display().to_string();
            let own = maps.lines().filter(|line| line.contains(&here));
            assert_eq!(
                own.filter(|line| line.contains(&of_scheme)).count(),
                2,
                "{scheme}"
            );
        });
        site.lose("n1");
        site.run(&nodes(2), |rank| {
            assert_eq!(restored(rank, 300_000).as_deref(), Some("ck.4"), "{scheme}");
        });
    }
}

/// Where resident memory is limited, the pages of the store must not count to it.
#[test]
fn no_file_stays_mapped_where_that_is_turned_off() {
    let site = Site::in_memory()
        .set("SCR_CACHE_SIZE", "1")
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_FLUSH", "0");
    let site = site.set("SCR_CACHE_MAPPED", "0");
    site.run(&nodes(1), |rank| {
        let count = 300_000;
        let inodes: Vec<u64> = (0..4)
            .map(|at| inode_of(rank, &format!("ck.{at}"), count))
            .collect();
        assert_eq!((mapped(&site), open_files(&site)), (0, 0));
        // The space is used again all the same.
        assert!(inodes.iter().all(|inode| *inode == inodes[0]));
        assert_eq!(restored(rank, count).as_deref(), Some("ck.3"));
    });
}

/// The library has them when it has written the fields, so no thread reads these again. Each is that of the file.
#[test]
fn the_checksums_of_fields_are_in_the_record_when_the_checkpoint_counts() {
    for scheme in ["SINGLE", "XOR"] {
        let site = Site::new()
            .set("SCR_COPY_TYPE", scheme)
            .set("SCR_FLUSH", "0");
        let sums = site.run(&nodes(2), |rank| {
            let mut data: Vec<f64> = (0..200_000).map(f64::from).collect();
            let me = rank.rank as i32;
            save(rank, "ck.1", |list| {
                own(list, "small", &mut [me; 3])?;
                own(list, "large", &mut data)?;
                own(list, "last", &mut [7u8])
            })
            .unwrap();
            // Other files of SINGLE are read by a thread, which has at most begun.
            let node = ["n0", "n1"][rank.rank];
            let dataset = site.dataset(node, 1);
            let record = dataset.join(format!(".scr/filemap_{}", rank.rank));
            let map: Filemap = scr::format::read(&Posix, &record).unwrap();
            let of_fields = &map.files.files[0];
            let data = dataset.join(format!("rank_{}", rank.rank));
            let file = std::fs::read(data.join(of_fields.file.as_path())).unwrap();
            (of_fields.crc, crc32fast::hash(&file))
        });
        for (recorded, right) in sums {
            assert_eq!(recorded, Some(right), "{scheme}");
        }
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
