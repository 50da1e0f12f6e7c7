//! Redundancy counts only if it is right, and a run that is killed before it is complete loses nothing that was recorded.

use crate::fields_on_ranks::save;
use crate::sampled::sampled;
use crate::site::{Rank, Site, nodes};
use scr::fields::{Element, Place, Slice, Spec};
use scr::redundancy::ParityFileName;
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use scr_testing::flipping::Flips;
use std::path::Path;
use std::sync::Arc;

const SCHEMES: [&str; 3] = ["XOR", "PARTNER", "RS"];

fn site(scheme: &str) -> Site {
    Site::in_memory()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "0")
}

fn faulty(site: &mut Site) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files) as Arc<dyn Files>;
    faults
}

fn is_redundancy(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("next_")
}

/// Writes two checkpoints; `before` is called between them. True if the second is complete.
fn two_checkpoints(site: &Site, before: impl Fn() + Sync) -> bool {
    let done = site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.session.should_exit().unwrap();
        if rank.rank == 0 {
            before();
        }
        rank.session.should_exit().unwrap();
        rank.checkpoint("ck.2").map_err(|error| error.to_string())
    });
    for error in done.iter().filter_map(|one| one.as_ref().err()) {
        assert!(error.contains("it was dropped"), "{error}");
        assert!(error.contains("was changed"), "{error}");
    }
    done.iter().all(Result::is_ok)
}

/// The node of rank 1 is lost, and `name` is restored with redundancy.
fn expect_restored(site: &Site, name: &str) {
    site.lose("n1");
    site.expect_restart(&["n0", "s1", "n2", "n3"], Some(name));
}

#[test]
fn a_bit_that_flips_in_a_file_is_told_and_the_redundancy_made_again() {
    for scheme in SCHEMES {
        for before in [0, 1, 3] {
            let mut site = site(scheme);
            let faults = faulty(&mut site);
            let complete = two_checkpoints(&site, || faults.flip_writes(is_redundancy, before, 1));
            assert!(complete && faults.flipped() == 1, "{scheme}");
            let told = site.heard("the redundancy of dataset 2 (ck.2) is made again");
            let all = site.events.lines();
            assert_eq!(told.len(), 1, "{all:?}");
            assert!(
                told[0].contains("_of_")
                    && told[0].contains("wrong on node n")
                    && told[0].contains("SCR-323"),
                "{told:?}"
            );
            site.files = Arc::new(Posix);
            expect_restored(&site, "ck.2");
        }
    }
}

#[test]
fn a_bit_that_flips_in_a_message_is_told_and_the_redundancy_made_again() {
    for scheme in SCHEMES {
        let mut site = site(scheme);
        let flips = Flips::default();
        site.flips = Some(flips.clone());
        assert!(two_checkpoints(&site, || flips.set(2, 1)));
        assert_eq!(flips.flipped(), 1);
        assert!(!site.heard("is made again").is_empty());
        expect_restored(&site, "ck.2");
    }
}

/// Written over and mapped, the redundancy of the program's files protects as before, and is proven as before.
#[test]
fn redundancy_of_files_stays_mapped_and_protects() {
    let content = |rank: usize, number: usize| vec![(17 * rank + number) as u8; 3_000_000];
    for scheme in SCHEMES {
        let mut site = site(scheme);
        let faults = faulty(&mut site);
        if !site.node("n0").starts_with("/dev/shm") || !cfg!(target_arch = "x86_64") {
            println!("SKIPPED: files are mapped on tmpfs and x86-64 only");
            return;
        }
        site.run(&nodes(3), |rank| {
            for number in 0..5 {
                let session = &mut rank.session;
                let name = format!("ck.{number}");
                session
                    .start_output(Some(name.as_str().into()), true, false)
                    .unwrap();
                let path = format!("{name}/rank_{}", rank.rank);
                let path = session.route(Path::new(&path)).unwrap();
                std::fs::write(path, content(rank.rank, number)).unwrap();
                if number == 4 && rank.rank == 0 {
                    faults.flip_writes(is_redundancy, 3, 1);
                }
                session.complete_output(true).unwrap();
            }
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let here = site.node(["n0", "n1", "n2"][rank.rank]);
            let here = here.display().to_string();
            let own = maps.lines().filter(|line| line.contains(&here));
            let of_scheme = format!(".{}", scheme.to_lowercase());
            let own = own.filter(|line| line.contains(&of_scheme)).count();
            assert_eq!(own, 2, "{scheme}: {maps}");
        });
        assert_eq!(faults.flipped(), 1);
        let told = site.heard("the redundancy of dataset 5 (ck.4) is made again");
        assert_eq!(told.len(), 1, "{scheme}");
        site.files = Arc::new(Posix);
        site.lose("n1");
        site.run(&nodes(3), |rank| {
            let session = &mut rank.session;
            let found = session.have_restart().unwrap();
            assert_eq!(found.unwrap().to_string(), "ck.4", "{scheme}");
            session.start_restart().unwrap();
            let path = format!("ck.4/rank_{}", rank.rank);
            let path = session.route(Path::new(&path)).unwrap();
            assert!(std::fs::read(path).unwrap() == content(rank.rank, 4));
            session.complete_restart(true).unwrap();
        });
    }
}

#[test]
fn redundancy_that_is_never_right_costs_the_dataset_and_no_other() {
    for scheme in SCHEMES {
        let mut site = site(scheme);
        let faults = faulty(&mut site);
        let complete = two_checkpoints(&site, || faults.flip_writes(is_redundancy, 0, 10_000));
        assert!(!complete, "{scheme}");
        site.files = Arc::new(Posix);
        expect_restored(&site, "ck.1");
    }
}

#[test]
fn no_redundancy_is_made_again_without_a_cause() {
    for scheme in SCHEMES {
        let site = site(scheme);
        assert!(two_checkpoints(&site, || ()));
        assert_eq!(site.heard("is made again"), [""; 0]);
    }
}

/// Writes a checkpoint of files or of fields.
fn write(rank: &mut Rank, name: &str, fields: bool) -> scr::Result<()> {
    if !fields {
        return rank.checkpoint(name);
    }
    let mut data: Vec<f64> = (0..100)
        .map(|at| f64::from(at) + rank.rank as f64)
        .collect();
    save(rank, name, |list| {
        let spec = Spec {
            name: "u",
            kind: f64::KIND,
            extents: &[100],
            strides: None,
            place: Place::Own,
        };
        list.field(spec, Some(&mut Slice::new(&mut data)))
    })
}

/// All ranks are offered `name`. The content is compared with its checksums by SCR.
fn expect_offer(site: &Site, nodes: &[&str], name: &str) {
    let offered = site.run(nodes, |rank| rank.session.have_restart().unwrap());
    let right = offered.iter().flatten().all(|one| one.to_string() == name);
    let all = site.events.lines().join("\n");
    assert!(
        right && offered.iter().all(Option::is_some),
        "{offered:?}, not {name}\n{all}"
    );
}

/// Flips a bit of the only file in a directory.
fn damage(dir: &Path) {
    let mut entries = std::fs::read_dir(dir).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
}

/// Kills all ranks at each operation of one of them while the second checkpoint is completed. With the records of all
/// ranks the next start protects the files. Gives the number of kills after which redundancy was missing then.
fn kills(scheme: &str, fields: bool) -> usize {
    let mut counted = site(scheme);
    let faults = faulty(&mut counted);
    let run = |site: &Site, faults: &Faults, die: Option<u64>| {
        let before = site.run(&nodes(4), |rank| {
            write(rank, "ck.1", fields).unwrap();
            rank.session.should_exit().unwrap();
            let before = faults.operations();
            if let Some(n) = die.filter(|_| rank.rank == 0) {
                faults.die_at(before + n);
            }
            rank.session.should_exit().unwrap();
            let _ = write(rank, "ck.2", fields);
            before
        });
        faults.operations() - before[0]
    };
    let operations = run(&counted, &faults, None);
    assert!(operations > 20, "{operations}");
    let mut unprotected = 0;
    for n in sampled(1..=operations) {
        let mut site = site(scheme);
        let faults = faulty(&mut site);
        run(&site, &faults, Some(n));
        site.files = Arc::new(Posix);
        let meta = |rank: usize| site.dataset(nodes(4)[rank], 2).join(".scr");
        let recorded = |rank: usize| meta(rank).join(format!("filemap_{rank}")).exists();
        let protected = |rank: usize| {
            let names = std::fs::read_dir(meta(rank)).unwrap();
            let mut names = names.map(|name| name.unwrap().file_name());
            names.any(|name| ParityFileName::parse(&name).is_some())
        };
        let all = (0..4).all(recorded);
        let bare = all && !(0..4).all(protected);
        unprotected += usize::from(bare);
        if all && n % 2 == 0 && !(0..4).any(protected) {
            // A file that is not as it was recorded is not protected.
            let dir = meta(2).with_file_name("rank_2").join("ck.2");
            damage(&dir);
            expect_offer(&site, &nodes(4), "ck.1");
            continue;
        }
        expect_offer(&site, &nodes(4), if all { "ck.2" } else { "ck.1" });
        if bare {
            site.lose("n1");
            expect_offer(&site, &["n0", "s1", "n2", "n3"], "ck.2");
        }
    }
    unprotected
}

#[test]
fn files_that_all_ranks_have_recorded_are_protected_after_a_kill_at_any_operation() {
    for scheme in SCHEMES {
        assert!(kills(scheme, false) > 0, "{scheme}");
    }
}

/// Their checksums are known before the redundancy is made.
#[test]
fn fields_that_all_ranks_have_recorded_are_protected_after_a_kill_at_any_operation() {
    for scheme in SCHEMES {
        assert!(kills(scheme, true) > 0, "{scheme}");
    }
}

/// Makes the redundancy of the second checkpoint again, as bits flip in messages. `harm` is done at the n-th operation after the
/// begin of that checkpoint. Gives the number of operations then, and whether the checkpoint is complete.
fn made_again(site: &mut Site, n: u64, harm: impl Fn(&Faults, u64) + Sync) -> (u64, bool) {
    let faults = faulty(site);
    let flips = Flips::default();
    site.flips = Some(flips.clone());
    let done = site.run(&nodes(3), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.session.should_exit().unwrap();
        let before = faults.operations();
        if rank.rank == 0 {
            flips.set(1, 1);
            harm(&faults, before + n);
        }
        rank.session.should_exit().unwrap();
        (before, rank.checkpoint("ck.2").is_ok())
    });
    (site.files, site.flips) = (Arc::new(Posix), None);
    let complete = done.iter().all(|(_, complete)| *complete);
    (faults.operations() - done[0].0, complete)
}

#[test]
fn redundancy_that_is_made_again_meets_a_full_store_or_a_kill_at_any_operation() {
    for scheme in SCHEMES {
        let mut first = site(scheme);
        let (operations, complete) = made_again(&mut first, 0, |_, _| ());
        assert!(complete && operations > 30, "{scheme}: {operations}");
        assert!(!first.heard("is made again").is_empty());
        for n in sampled((1..=operations).step_by(2)) {
            for kills in [false, true] {
                let mut site = site(scheme);
                let (_, complete) = made_again(&mut site, n, |faults, at| {
                    if kills {
                        faults.die_at(at);
                    } else {
                        faults.fail_at(at, libc::ENOSPC);
                    }
                });
                let offered = site.run(&nodes(3), |rank| rank.restart());
                let all = site.events.lines().join("\n");
                let newest = offered[0].as_deref() == Some("ck.2");
                assert!(offered.iter().all(|name| *name == offered[0]), "{all}");
                assert!(
                    newest || !complete && offered[0].as_deref() == Some("ck.1"),
                    "{scheme} {n} {kills}: {offered:?}\n{all}"
                );
                // What is offered then is protected.
                let name = offered[0].clone().unwrap();
                site.lose("n1");
                site.expect_restart(&["n0", "s1", "n2"], Some(&name));
            }
        }
    }
}
