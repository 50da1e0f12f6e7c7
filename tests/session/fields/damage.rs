//! Damaged checkpoints: nothing in the program's memory changes, the message names the field, and the older
//! checkpoint is restored.

use super::{load, own, part, save};
use crate::site::{Rank, Site, nodes};
use scr::session::state::State;
use std::path::PathBuf;

const LENGTH: usize = 50_000;

fn state(step: usize, me: usize) -> [Vec<f64>; 3] {
    [3, 5, 7].map(|field| {
        (0..LENGTH)
            .map(|i| (i * field + step + me) as f64)
            .collect()
    })
}

/// Two checkpoints of three ranks, both in the cache.
fn write(site: &Site) {
    site.run(&nodes(3), |rank| {
        for step in 1..=2 {
            let me = rank.rank;
            let [mut a, mut b, mut c] = state(step, me);
            save(rank, &format!("ck.{step}"), |list| {
                own(list, "a", &mut a)?;
                part(list, "b", &mut b, 3 * LENGTH, me * LENGTH)?;
                own(list, "c", &mut c)
            })
            .unwrap();
        }
    });
}

/// A restart on `ranks` nodes gives the first checkpoint, and the memory changes only once. `hurt` is done when
/// SCR has looked for checkpoints.
fn expect_first(site: &Site, ranks: usize, hurt: impl Fn() + Sync) {
    let step = 1;
    site.run(&nodes(ranks), |rank| {
        let me = rank.rank;
        rank.session.allow_other_ranks(true).unwrap();
        rank.session.have_restart().unwrap();
        if me == 0 {
            hurt();
        }
        rank.session.comm().barrier().unwrap();
        let mut compared = 0;
        let mut data = [
            vec![-1.0; LENGTH],
            vec![-1.0; 3 * LENGTH / ranks],
            vec![-1.0; LENGTH],
        ];
        let found = load(rank, |list| {
            // Until a checkpoint is found good, nothing changes.
            compared += 1;
            let untouched = data.iter().flatten().all(|x| *x == -1.0);
            assert!(untouched, "call {compared} of rank {me}");
            let [a, b, c] = &mut data;
            if ranks == 3 {
                own(list, "a", a)?;
            }
            let length = b.len();
            part(list, "b", b, 3 * LENGTH, me * length)?;
            match ranks {
                3 => own(list, "c", c),
                _ => list.gone("a").and_then(|()| list.gone("c")),
            }
        });
        assert_eq!(
            found.unwrap(),
            Some(format!("ck.{step}")),
            "{:?}",
            site.events.lines()
        );
        assert_eq!(rank.session.state(), State::Idle);
        if ranks == 3 {
            assert!(data == state(step, me));
        }
        let first = me * 3 * LENGTH / ranks;
        let right =
            (0..3 * LENGTH / ranks).map(|i| (first + i) / LENGTH + step + (first + i) % LENGTH * 5);
        assert!(
            data[1]
                .iter()
                .zip(right)
                .all(|(found, right)| *found == right as f64)
        );
    });
}

/// The file of fields of a rank in the cache.
fn file(site: &Site, rank: usize, step: u64) -> PathBuf {
    let data = site.dataset(nodes(3)[rank], step);
    let found = walk(&data)
        .into_iter()
        .find(|path| path.ends_with(format!("rank_{rank}.fields")));
    found.expect("the file is there")
}

fn walk(dir: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Changes one byte of a file, in the middle of what `place` of its bytes are before.
fn flip(path: &PathBuf, place: f64) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = (bytes.len() as f64 * place) as usize;
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_flipped_byte_of_any_field_costs_that_checkpoint_alone() {
    for (place, name) in [(0.1, "\"a\""), (0.5, "\"b\""), (0.9, "\"c\"")] {
        for rank in 0..3 {
            let site = Site::in_memory()
                .set("SCR_FLUSH", "0")
                .set("SCR_CACHE_SIZE", "2");
            write(&site);
            expect_first(&site, 3, || flip(&file(&site, rank, 2), place));
            let told = site.heard("is damaged");
            assert!(told.iter().any(|line| line.contains(name)), "{told:?}");
        }
    }
}

/// More than 4 MiB, so that a field is copied from where it lies.
const LARGE: usize = 600_000;

/// Two checkpoints of one rank with one large field, both in the cache.
fn write_large() -> Site {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    site.run(&nodes(1), |rank| {
        for step in 1..=2 {
            let mut x = large(step);
            let name = format!("ck.{step}");
            save(rank, &name, |list| own(list, "x", &mut x)).unwrap();
        }
    });
    site
}

fn large(step: usize) -> Vec<f64> {
    (0..LARGE).map(|i| (i * step) as f64).collect()
}

/// Changes one byte of a file through a mapping, which leaves the times of a file of tmpfs as they are.
fn flip_in_memory(path: &PathBuf, place: f64) {
    let file = std::fs::File::options().read(true).write(true).open(path);
    let file = file.unwrap();
    let length = file.metadata().unwrap().len() as usize;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping as long as the file, in which one byte is changed, and which then ends.
    unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let address = libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, 0);
        assert_ne!(address, libc::MAP_FAILED);
        *address.cast::<u8>().add((length as f64 * place) as usize) ^= 0x10;
        libc::munmap(address, length);
    }
}

/// Nothing tells of such a change but the checksum of the block, when it is copied.
#[test]
fn a_byte_that_flips_after_the_start_has_found_it_right_costs_that_checkpoint_alone() {
    for place in [0.001, 0.5, 0.98] {
        let site = write_large();
        site.run(&nodes(1), |rank| {
            flip_in_memory(&file(&site, 0, 2), place);
            let mut x = vec![-1.0; LARGE];
            let found = load(rank, |list| own(list, "x", &mut x)).unwrap();
            assert_eq!(found.as_deref(), Some("ck.1"));
            assert!(x == large(1));
        });
        let told = site.heard("is damaged");
        assert!(told.iter().any(|line| line.contains("\"x\"")), "{told:?}");
    }
}

#[test]
fn a_file_that_the_start_has_found_right_is_not_read_twice_until_it_changes() {
    let site = write_large();
    site.run(&nodes(1), |rank| {
        let newest = file(&site, 0, 2);
        rank.session.have_restart().unwrap();
        assert!(rank.session.is_verified(&newest));
        assert!(!rank.session.is_verified(&file(&site, 0, 1)), "not offered");
        let mut x = vec![-1.0; LARGE];
        let found = load(rank, |list| own(list, "x", &mut x)).unwrap();
        assert_eq!(found.as_deref(), Some("ck.2"));
        assert!(x == large(2));
    });
    site.run(&nodes(1), |rank| {
        let newest = file(&site, 0, 2);
        rank.session.have_restart().unwrap();
        assert!(rank.session.is_verified(&newest));
        let writer = std::fs::File::options().write(true).open(&newest).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&writer, b"S", 0).unwrap();
        drop(writer);
        assert!(!rank.session.is_verified(&newest));
    });
}

#[test]
fn damage_in_header_table_and_trailer_is_found() {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    for place in [0.0, 0.99995, 0.9999999] {
        write(&site);
        expect_first(&site, 3, || flip(&file(&site, 1, 2), place));
        site.lose("n0");
        site.lose("n1");
        site.lose("n2");
    }
}

#[test]
fn a_file_that_is_cut_or_lost_costs_that_checkpoint_alone() {
    for length in [None, Some(0), Some(10), Some(500_000)] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", "0")
            .set("SCR_CACHE_SIZE", "2");
        write(&site);
        expect_first(&site, 3, || {
            let path = file(&site, 2, 2);
            match length {
                None => std::fs::remove_file(&path).unwrap(),
                Some(length) => {
                    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
                    file.set_len(length).unwrap();
                }
            }
        });
    }
}

#[test]
fn damage_is_found_on_another_number_of_ranks_too() {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "1")
        .set("SCR_CRC_ON_FLUSH", "0")
        .set("SCR_FETCH_BYPASS", "1");
    write(&site);
    nodes(3).iter().for_each(|node| site.lose(node));
    expect_first(&site, 2, || {
        flip(&site.prefix().join("ck.2/rank_1.fields"), 0.5)
    });
    assert!(
        site.heard("is damaged")
            .iter()
            .any(|line| line.contains("\"b\""))
    );
}

fn first(rank: &mut Rank, name: &str, length: usize) -> scr::Result<Option<String>> {
    let mut data = vec![0.0; length];
    load(rank, |list| own(list, name, &mut data))
}

/// The newest checkpoint is of another program: the older one is restored, and the newest stays good.
#[test]
fn a_checkpoint_of_another_shape_is_passed_over_and_kept() {
    for flush in ["0", "1"] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", flush)
            .set("SCR_CACHE_SIZE", "2");
        site.run(&nodes(2), |rank| {
            save(rank, "ck.1", |list| own(list, "x", &mut [1.0; 4])).unwrap();
            save(rank, "ck.2", |list| own(list, "x", &mut [1.0; 5])).unwrap();
        });
        for _ in 0..2 {
            site.run(&nodes(2), |rank| {
                assert_eq!(first(rank, "x", 4).unwrap().as_deref(), Some("ck.1"));
            });
            let told =
                site.heard("the program lists float64[4], and the checkpoint has float64[5]");
            assert!(
                told.iter().any(|line| line.contains("\"x\"")),
                "{:?}",
                site.events.lines()
            );
        }
        site.run(&nodes(2), |rank| {
            assert_eq!(first(rank, "x", 5).unwrap().as_deref(), Some("ck.2"));
        });
        site.run(&nodes(2), |rank| {
            let error = first(rank, "y", 4).unwrap_err().to_string();
            assert!(error.contains("no checkpoint fits this program"), "{error}");
            assert!(
                error.contains("\"y\"") && error.contains("not in the checkpoint"),
                "{error}"
            );
            assert_eq!(rank.session.state(), State::Idle);
        });
        site.run(&nodes(2), |rank| {
            assert_eq!(first(rank, "x", 5).unwrap().as_deref(), Some("ck.2"));
        });
    }
}
