//! Damage to files in the cache: each kind is found at the next start, named, and repaired from the
//! set. Nothing outside of the cache changes.

use crate::site::{Site, nodes};
use scr::format::Scheme;
use scr::format::{self, Filemap};
use scr::store::Durability;
use scr::store::posix::Posix;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

/// A path in a cache from the directory of the run on, whose name is another after each start.
fn below_run(path: &Path) -> String {
    let mut names = path.iter();
    names.find(|name| name.to_string_lossy().starts_with("scr.run."));
    names.as_path().display().to_string()
}

/// Rank 2's files in a cached dataset.
fn victims(site: &Site) -> [(&'static str, PathBuf); 3] {
    let dir = site.dataset("n2", 1);
    [
        ("application file", dir.join("rank_2/ck.1/rank_2.dat")),
        ("redundancy file", dir.join(".scr/3_of_4_in_0.xor")),
        ("record", dir.join(".scr/filemap_2")),
    ]
}

fn site() -> Site {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    site
}

/// ck.1 must come back; then another node goes, and it must come back again.
fn survives(site: &Site, what: &str) {
    site.expect_restart(&nodes(4), Some("ck.1"));
    let noticed = site.heard("Warning").len() + site.heard("has lost the files of rank 2").len();
    assert!(noticed > 0, "{what} went unnoticed");
    site.lose("n0");
    site.expect_restart(&["spare", "n1", "n2", "n3"], Some("ck.1"));
}

#[test]
fn one_flipped_byte_anywhere_is_found_named_and_repaired() {
    let site = site();
    let mut expected = 0;
    for at in 0..3 {
        let path = || victims(&site)[at].1.clone();
        let (length, mut damaged) = (std::fs::metadata(path()).unwrap().len(), 0);
        // The first and last bytes, and a few between: header, tree, checksums, data.
        let places = (0..16)
            .chain((1..32).map(|i| length * i / 32))
            .chain(length - 8..length);
        for place in places {
            let file = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(path())
                .unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, place).unwrap();
            file.write_at(&[byte[0] ^ 0x10], place).unwrap();
            drop(file);
            site.expect_restart(&nodes(4), Some("ck.1"));
            (expected, damaged) = (expected + 1, damaged + 1);
            let path = below_run(&path());
            let named = site.heard(&path);
            let warned = named.iter().filter(|line| line.contains("Warning")).count();
            assert_eq!(warned, damaged, "byte {place} of {path:?} went unnoticed");
        }
    }
    assert_eq!(site.heard("is ready in the cache").len(), expected);
    site.lose("n0");
    site.expect_restart(&["spare", "n1", "n2", "n3"], Some("ck.1"));
}

/// What may be found where a file should be.
type Damage = (&'static str, fn(&Path, &Path));

const DAMAGE: [Damage; 7] = [
    ("missing", |path, _| std::fs::remove_file(path).unwrap()),
    ("empty", |path, _| std::fs::write(path, b"").unwrap()),
    ("cut", |path, _| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("too long", |path, _| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, [&bytes[..], b"more"].concat()).unwrap();
    }),
    ("a directory", |path, _| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("inside"), b"x").unwrap();
    }),
    ("a pipe", |path, _| {
        std::fs::remove_file(path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }),
    ("a link", |path, outside| {
        std::fs::remove_file(path).unwrap();
        symlink(outside, path).unwrap();
    }),
];

#[test]
fn what_stands_in_place_of_a_file_is_cleared_and_the_file_made_anew() {
    for (which, (what, damage)) in (0..3).flat_map(|w| DAMAGE.map(|d| (w, d))) {
        let site = site();
        std::fs::write(site.outside(), b"untouched").unwrap();
        let (kind, path) = &victims(&site)[which];
        damage(path, &site.outside());
        if (which, what) == (2, "too long") {
            // Data may follow a record; its tree has its own length.
            site.expect_restart(&nodes(4), Some("ck.1"));
            continue;
        }
        site.expect_restart(&nodes(4), Some("ck.1"));
        let heard = site.events.lines().join("\n");
        // A rank that lost only its record keeps its files.
        let made = heard.contains("rebuilt with XOR") || heard.contains("made again");
        assert!(made || which == 2, "{kind} {what}");
        assert_eq!(std::fs::read(site.outside()).unwrap(), b"untouched");
        site.lose("n0");
        site.expect_restart(&["spare", "n1", "n2", "n3"], Some("ck.1"));
    }
}

#[test]
fn a_link_in_place_of_a_directory_leads_nowhere() {
    for dir in ["rank_2", "rank_2/ck.1", ".scr", ""] {
        let site = site();
        let path = site.dataset("n2", 1).join(dir);
        let path = path.components().collect::<PathBuf>();
        std::fs::rename(&path, site.outside()).unwrap();
        symlink(site.outside(), &path).unwrap();
        let before = listing(&site.outside());
        site.expect_restart(&nodes(4), Some("ck.1"));
        assert!(listing(&site.outside()) == before, "{dir}");
        site.lose("n0");
        site.expect_restart(&["spare", "n1", "n2", "n3"], Some("ck.1"));
    }
}

/// All files below a directory, with their content.
fn listing(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                found.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_moved_rank_with_a_damaged_record_is_rebuilt_where_it_is_now() {
    let site = site();
    let (_, record) = &victims(&site)[2];
    std::fs::write(record, b"nothing of SCR").unwrap();
    site.expect_restart(&["n1", "n2", "n3", "n0"], Some("ck.1"));
    site.lose("n1");
    site.expect_restart(&["s", "n2", "n3", "n0"], Some("ck.1"));
}

#[test]
fn a_directory_in_place_of_redundancy_gives_way_without_a_record_too() {
    let site = site();
    let [_, (_, redundancy), (_, record)] = victims(&site);
    std::fs::remove_file(record).unwrap();
    std::fs::remove_file(&redundancy).unwrap();
    std::fs::create_dir(&redundancy).unwrap();
    std::fs::write(redundancy.join("inside"), b"x").unwrap();
    survives(&site, "a lost record");
}

/// Changes rank 2's record and gives it a good checksum.
fn forge(site: &Site, change: impl Fn(&mut Filemap)) {
    let path = &victims(site)[2].1;
    let mut map: Filemap = format::read(&Posix, path).unwrap();
    change(&mut map);
    format::write(&Posix, path, &map, Durability::Atomic).unwrap();
}

/// What a record says that is not so.
type Lie = (&'static str, fn(&mut Filemap));

#[test]
fn a_forged_record_is_one_lost_rank_at_most() {
    let lies: [Lie; 20] = [
        ("another rank", |map| map.rank = 1),
        ("a rank beyond", |map| map.rank = 1 << 40),
        ("fewer ranks", |map| map.ranks = 3),
        ("endless ranks", |map| map.ranks = usize::MAX),
        ("another dataset", |map| map.dataset.id = 7),
        ("id 0", |map| map.dataset.id = 0),
        ("an id as large as can be", |map| map.dataset.id = u64::MAX),
        ("another name", |map| map.dataset.name = "../../x".into()),
        ("no checkpoint", |map| {
            map.dataset.flag_ckpt = false;
            map.dataset.ckpt = None;
        }),
        ("older", |map| map.dataset.created -= 1),
        ("newer", |map| map.dataset.created += 1),
        ("a set of its own", |map| {
            map.reddesc.members = vec![2];
            map.reddesc.set_rank = 0;
        }),
        ("another order", |map| {
            map.reddesc.members = vec![2, 0, 1, 3];
            map.reddesc.set_rank = 0;
        }),
        ("no members", |map| map.reddesc.members.clear()),
        ("members beyond", |map| {
            map.reddesc.members = vec![0, 1, 2, 9]
        }),
        ("a place beyond", |map| map.reddesc.set_rank = 9),
        ("a scheme that is none", |map| {
            map.reddesc.scheme = "NONE".to_string().into()
        }),
        ("another scheme", |map| {
            map.reddesc.scheme = Scheme::Single.into()
        }),
        ("a path outside", |map| {
            map.files.files[0].file = "../../../outside".into()
        }),
        ("endless bytes", |map| map.files.files[0].size = u64::MAX),
    ];
    for (what, lie) in lies {
        let site = site();
        std::fs::write(site.outside(), b"untouched").unwrap();
        forge(&site, lie);
        survives(&site, what);
        assert_eq!(std::fs::read(site.outside()).unwrap(), b"untouched");
    }
}

#[test]
fn records_of_random_bytes_do_no_harm() {
    let mut state = 7u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let site = site();
    for round in 0..32 {
        let path = &victims(&site)[2].1;
        let mut bytes = std::fs::read(path).unwrap();
        if round % 2 == 0 {
            bytes = (0..random() % 400).map(|_| random() as u8).collect();
        } else {
            // WriteBehind a good beginning.
            let at = random() as usize % bytes.len();
            bytes[at..]
                .iter_mut()
                .for_each(|byte| *byte = random() as u8);
        }
        std::fs::write(path, bytes).unwrap();
        site.expect_restart(&nodes(4), Some("ck.1"));
    }
}

#[test]
fn files_of_another_rank_or_dataset_are_not_taken_for_ones_own() {
    let site = Site::new().set("SCR_CACHE_SIZE", "2").set("SCR_FLUSH", "0");
    let two = |site: &Site| {
        site.run(&nodes(4), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        })
    };
    two(&site);
    let file =
        |(id, rank, name): (u64, usize, &str)| site.dataset(&format!("n{rank}"), id).join(name);
    let swaps = [
        (
            (1, 2, ".scr/3_of_4_in_0.xor"),
            (2, 2, ".scr/3_of_4_in_0.xor"),
        ),
        (
            (2, 1, ".scr/2_of_4_in_0.xor"),
            (2, 2, ".scr/3_of_4_in_0.xor"),
        ),
        ((1, 2, ".scr/filemap_2"), (2, 2, ".scr/filemap_2")),
        ((2, 1, ".scr/filemap_1"), (2, 2, ".scr/filemap_2")),
        (
            (2, 1, "rank_1/ck.2/rank_1.dat"),
            (2, 2, "rank_2/ck.2/rank_2.dat"),
        ),
    ];
    for (from, to) in swaps {
        std::fs::copy(file(from), file(to)).unwrap();
        site.expect_restart(&nodes(4), Some("ck.2"));
        let to = below_run(&file(to));
        assert!(!site.heard(&to).is_empty(), "{to}");
    }
    site.lose("n0");
    site.expect_restart(&["s", "n1", "n2", "n3"], Some("ck.2"));
}

/// Schemes with redundancy files, losses they are to stand, and how their files are called.
const SCHEMES: [(&str, &str, &str); 4] = [
    ("XOR", "1", "xor"),
    ("PARTNER", "1", "partner"),
    ("PARTNER", "2", "partner"),
    ("RS", "2", "rs"),
];

/// A run with two checkpoints.
fn site_of(scheme: &str, failures: &str) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_SET_FAILURES", failures)
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "0");
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    site
}

/// A rank's redundancy file of a dataset.
fn redundancy(site: &Site, word: &str, id: u64, rank: usize) -> PathBuf {
    let name = format!(".scr/{}_of_4_in_0.{word}", rank + 1);
    site.dataset(&format!("n{rank}"), id).join(name)
}

/// What becomes of rank 2's redundancy file of ck.2, given that of others: of rank 1, of ck.1,
/// of another run.
type Swap = (&'static str, fn(&Path, &[PathBuf; 3]));

const SWAPS: [Swap; 6] = [
    ("cut within the header", |path, _| shorten(path, 0.01)),
    ("cut within the blocks", |path, _| shorten(path, 0.9)),
    ("cut by one byte", |path, _| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
    }),
    ("that of another rank", |path, others| {
        std::fs::copy(&others[0], path).unwrap();
    }),
    ("that of another dataset", |path, others| {
        std::fs::copy(&others[1], path).unwrap();
    }),
    ("that of another run", |path, others| {
        std::fs::copy(&others[2], path).unwrap();
    }),
];

fn shorten(path: &Path, share: f64) {
    let bytes = std::fs::read(path).unwrap();
    let left = (bytes.len() as f64 * share) as usize;
    std::fs::write(path, &bytes[..left]).unwrap();
}

#[test]
fn a_redundancy_file_that_is_not_its_own_is_named_and_made_anew() {
    for (scheme, failures, word) in SCHEMES {
        let elsewhere = site_of(scheme, failures);
        for (what, swap) in SWAPS {
            let site = site_of(scheme, failures);
            let path = redundancy(&site, word, 2, 2);
            let others = [
                redundancy(&site, word, 2, 1),
                redundancy(&site, word, 1, 2),
                redundancy(&elsewhere, word, 2, 2),
            ];
            let whole = std::fs::read(&path).unwrap();
            swap(&path, &others);
            site.expect_restart(&nodes(4), Some("ck.2"));
            let named = site.heard(&below_run(&path));
            assert_eq!(
                named.len(),
                1,
                "{scheme}, {what}: {:?}",
                site.events.lines()
            );
            assert!(named[0].contains("Warning"), "{scheme}, {what}: {named:?}");
            assert!(
                !site
                    .heard(&format!("{scheme} redundancy made again"))
                    .is_empty()
            );
            let path = redundancy(&site, word, 2, 2);
            assert!(std::fs::read(&path).unwrap() == whole, "{scheme}, {what}");
            // It is good for what it is for: its left neighbour is rebuilt with it.
            site.lose("n1");
            site.expect_restart(&["n0", "s1", "n2", "n3"], Some("ck.2"));
        }
    }
}

#[test]
fn a_redundancy_file_that_is_not_its_own_never_rebuilds_anything() {
    for (scheme, failures, word) in SCHEMES {
        let elsewhere = site_of(scheme, failures);
        for (what, swap) in SWAPS {
            let site = site_of(scheme, failures);
            let others = [
                redundancy(&site, word, 2, 3),
                redundancy(&site, word, 1, 2),
                redundancy(&elsewhere, word, 2, 2),
            ];
            swap(&redundancy(&site, word, 2, 2), &others);
            site.lose("n1");
            // Rank 1 comes back where another member has what it takes; else the older dataset
            // is used. Never wrong bytes: all are compared.
            let enough = failures == "2";
            let expected = if enough { "ck.2" } else { "ck.1" };
            site.expect_restart(&["n0", "s1", "n2", "n3"], Some(expected));
            assert_eq!(
                site.heard("ck.2) cannot be brought back").is_empty(),
                enough,
                "{scheme}, {what}"
            );
        }
    }
}
