//! Checksums that are taken in the background: of datasets in bypass and of those with SINGLE. A
//! restart finds each kind of damage; without checksums it misses a flipped byte.

use crate::site::{Rank, Site};
use scr::format::Name;
use scr::format::index::Index;
use scr::format::rank2file::RankEntry;
use scr::prefix::paths::Prefix;
use scr::prefix::rank2file;
use scr::store::posix::Posix;
use std::fs;
use std::path::Path;

const NODES: [&str; 2] = ["n0", "n1"];

/// How many files of a dataset have checksums in the prefix directory, and how many there are.
fn recorded(site: &Site, id: u64) -> (usize, usize) {
    let dir = Prefix::new(&site.prefix()).dataset(id);
    let (mut with, mut all) = (0, 0);
    let each = |_, entry: &RankEntry| {
        with += entry
            .files
            .values()
            .filter(|file| file.crc.is_some())
            .count();
        all += entry.files.len();
        Ok(())
    };
    rank2file::for_each(&Posix, &dir, each).unwrap();
    (with, all)
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[500] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn two_in_bypass(site: Site) -> Site {
    let site = site.set("SCR_CACHE_BYPASS", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        if rank.rank == 0 {
            assert_eq!(recorded(&site, 1), (2, 2), "before the next dataset counts");
        }
        rank.finalize().unwrap();
    });
    site
}

/// A word of the message, and what is done to the file.
type Damage = (&'static str, fn(&Path));

#[test]
fn in_bypass_all_damage_is_found_named_and_passed_over() {
    let damages: [Damage; 3] = [
        ("CRC32", flip),
        ("bytes", |path| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_len(900).unwrap();
        }),
        ("missing", |path| fs::remove_file(path).unwrap()),
    ];
    for (word, damage) in damages {
        let site = two_in_bypass(Site::new());
        assert_eq!(recorded(&site, 2), (2, 2));
        damage(&site.prefix().join("ck.2/rank_1.dat"));
        site.expect_restart(&NODES, Some("ck.1"));
        let said = site.heard("cannot fetch dataset 2 (ck.2)");
        assert_eq!(said.len(), 1, "{:?}", site.events.lines());
        for part in ["ck.2/rank_1.dat", "rank 1", "n1", word] {
            assert!(said[0].contains(part), "{part}: {}", said[0]);
        }
        let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
        assert!(index.get(2).unwrap().failed.is_some());
        assert_eq!(index.current(), Some(&Name::from("ck.1")));
    }
}

/// Rank 1 has no file; and of a file that both have written, only rank 0 records it.
#[test]
fn in_bypass_ranks_without_files_of_their_own_take_part() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&NODES, |rank| {
        for (name, all) in [("one", false), ("shared", true), ("last", false)] {
            rank.session
                .start_output(Some(name.into()), true, false)
                .unwrap();
            if rank.rank == 0 || all {
                let path = rank
                    .session
                    .route(Path::new(&format!("{name}/file")))
                    .unwrap();
                fs::write(path, vec![1; 1000]).unwrap();
            }
            rank.session.complete_output(true).unwrap();
        }
        rank.finalize().unwrap();
    });
    for id in 1..=3 {
        assert_eq!(recorded(&site, id), (1, 1), "dataset {id}");
    }
}

#[test]
fn without_checksums_a_flipped_byte_is_missed() {
    let site = Site::new()
        .set("SCR_CACHE_BYPASS", "1")
        .set("SCR_CRC_ON_FLUSH", "0");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(recorded(&site, 2), (0, 2));
    flip(&site.prefix().join("ck.2/rank_1.dat"));
    let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
    assert_eq!(names, [Some(Name::from("ck.2")), Some("ck.2".into())]);
}

#[test]
fn what_is_overwritten_or_deleted_meanwhile_gets_no_checksums_and_no_message() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("same").unwrap();
        rank.checkpoint("same").unwrap();
        rank.checkpoint("gone").unwrap();
        rank.session.delete(&Name::from("gone")).unwrap();
        rank.checkpoint("dropped").unwrap();
        rank.session.drop_dataset(&Name::from("dropped")).unwrap();
        rank.finalize().unwrap();
    });
    assert_eq!(site.heard("checksums"), [] as [&str; 0]);
    site.expect_restart(&NODES, Some("same"));
    assert_eq!(site.heard("unverified"), [] as [&str; 0]);
}

/// A file that changes after SCR_Complete_output: its checksum is not that of any one state.
#[test]
fn a_file_that_is_cut_short_meanwhile_is_told() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&NODES, |rank| {
        rank.session
            .start_output(Some("ck".into()), true, false)
            .unwrap();
        let path = rank
            .session
            .route(Path::new(&format!("ck/{}", rank.rank)))
            .unwrap();
        let file = fs::File::create(&path).unwrap();
        file.set_len(1 << 30).unwrap();
        rank.session.complete_output(true).unwrap();
        if rank.rank == 1 {
            file.set_len(1000).unwrap();
        }
        rank.finalize().unwrap();
    });
    let said = site.heard("has no checksums");
    assert_eq!(said.len(), 1, "{:?}", site.events.lines());
    assert!(
        said[0].contains("ck/1") && said[0].contains("rank 1"),
        "{said:?}"
    );
}

fn single(site: Site) -> Site {
    site.set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "0")
}

#[test]
fn with_single_a_flipped_byte_in_the_cache_is_found_and_named() {
    let site = single(Site::new());
    site.run(&NODES, |rank: &mut Rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.finalize().unwrap();
    });
    flip(&site.dataset("n1", 2).join("rank_1/ck.2/rank_1.dat"));
    site.expect_restart(&NODES, Some("ck.1"));
    let said = site.heard("ck.2/rank_1.dat");
    assert!(
        said.iter().any(|line| line.contains("CRC32")),
        "{:?}",
        site.events.lines()
    );
}

/// SINGLE with a flush: the copy takes the checksums, and the record in the cache gets them, too.
#[test]
fn with_single_and_a_flush_cache_and_prefix_have_checksums() {
    let site = single(Site::new()).set("SCR_FLUSH", "1");
    site.run(&NODES, |rank: &mut Rank| {
        rank.checkpoint("ck.1").unwrap();
        // Ends as if killed, but the threads have done their work.
        rank.session.have_restart().unwrap();
    });
    assert_eq!(recorded(&site, 1), (2, 2));
    flip(&site.dataset("n1", 1).join("rank_1/ck.1/rank_1.dat"));
    site.expect_restart(&NODES, Some("ck.1"));
    assert!(
        !site.heard("rank_1/ck.1/rank_1.dat").is_empty(),
        "{:?}",
        site.events.lines()
    );
}

/// A flush compares what it copies with the checksums that were taken in the background.
#[test]
fn with_single_a_flipped_byte_in_the_cache_is_not_flushed() {
    let site = single(Site::new()).set("SCR_FLUSH", "10");
    site.run(&NODES, |rank: &mut Rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.session.finish_background().unwrap();
        if rank.rank == 1 {
            flip(&site.dataset("n1", 1).join("rank_1/ck.1/rank_1.dat"));
        }
        let error = rank.finalize().unwrap_err().to_string();
        assert!(
            error.contains("rank_1/ck.1/rank_1.dat") && error.contains("CRC32"),
            "{error}"
        );
    });
    let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
    assert!(!index.get(1).unwrap().complete);
}
