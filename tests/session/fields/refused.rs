//! A program that goes on though its restart was refused, or that has gone back past checkpoints which it cannot
//! read: they are not replaced, unless the user gives them up.

use super::{array, load, own, part, save};
use crate::site::{Rank, Site, nodes};
use scr::fields::{List, Place, checkpoint};
use scr::format::Name;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A grid of this rank, of so many elements.
fn list(list: &mut List<'_>, grid: &mut [f64]) -> scr::Result<()> {
    own(list, "grid", grid)
}

fn load_grid(rank: &mut Rank, length: usize) -> scr::Result<Option<String>> {
    let mut grid = vec![0.0; length];
    load(rank, |fields| list(fields, &mut grid))
}

fn save_grid(rank: &mut Rank, name: &str, length: usize) -> scr::Result<()> {
    save(rank, name, |fields| list(fields, &mut vec![1.0; length]))
}

fn written(site: &Site) {
    site.run(&nodes(2), |rank| {
        for name in ["ck.1", "ck.2"] {
            save_grid(rank, name, 4).unwrap();
        }
    });
}

fn expect_refused(done: scr::Result<()>) {
    let error = done.unwrap_err().to_string();
    assert!(
        error.contains("SCR-340") && error.contains("SCR_START_ANEW=1"),
        "{error}"
    );
}

/// The files of fields in a directory, with their content.
fn files(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "fields") {
            // Each run has a directory of its own in the cache.
            let of_run = |part: &&OsStr| part.to_string_lossy().starts_with("scr.run.");
            let name = path.iter().filter(|part| !of_run(part)).collect();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn after_a_refused_restart_nothing_is_written_until_the_old_checkpoints_are_given_up() {
    for (bypass, flush) in [("0", "0"), ("0", "1"), ("1", "1")] {
        let site = Site::in_memory()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", flush)
            .set("SCR_CACHE_SIZE", "2")
            .set("SCR_PREFIX_SIZE", "2");
        written(&site);
        let stored = || {
            let mut found = BTreeMap::new();
            let places = [site.prefix(), site.cache("n0"), site.cache("n1")];
            let dirs = places.iter().filter(|dir| dir.exists());
            dirs.for_each(|dir| files(dir, &mut found));
            found
        };
        let before = stored();
        site.run(&nodes(2), |rank| {
            let error = load_grid(rank, 5).unwrap_err().to_string();
            assert!(
                error.contains("SCR-240") && error.contains("SCR_START_ANEW=1"),
                "{error}"
            );
            // Under the old names, another one, one that SCR makes, and output that is no checkpoint.
            for name in ["ck.1", "ck.2", "other"] {
                expect_refused(save_grid(rank, name, 5));
            }
            for (name, checkpoints) in [(None, true), (Some(Name::from("ck.1")), false)] {
                let flags = Ok((checkpoints, !checkpoints));
                let mut routine = |fields: &mut List<'_>| list(fields, &mut [1.0; 5]);
                let done = checkpoint(&mut rank.session, name, flags, &mut routine);
                expect_refused(done);
            }
            // Files are as fields.
            expect_refused(rank.checkpoint("ck.1"));
        });
        assert!(stored() == before, "bypass {bypass}, flush {flush}");
        // A list that fits ends it.
        site.run(&nodes(2), |rank| {
            load_grid(rank, 5).unwrap_err();
            assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("ck.2"));
            save_grid(rank, "ck.3", 4).unwrap();
        });
        let given_up = site.set("SCR_START_ANEW", "1");
        given_up.run(&nodes(2), |rank| {
            assert_eq!(load_grid(rank, 5).unwrap(), None);
            save_grid(rank, "ck.1", 5).unwrap();
            assert_eq!(load_grid(rank, 5).unwrap().as_deref(), Some("ck.1"));
        });
        assert!(!given_up.heard("starts from the beginning").is_empty());
    }
}

/// An error that says nothing of the checkpoint: the program has not restored it, and would begin from the beginning all the same.
#[test]
fn after_a_restart_that_the_routine_has_ended_nothing_is_written() {
    let site = Site::in_memory().set("SCR_CACHE_SIZE", "2");
    written(&site);
    site.run(&nodes(2), |rank| {
        let me = rank.rank;
        let failed = load(rank, |fields| {
            list(fields, &mut [0.0; 4])?;
            match me {
                1 => Err(scr::Error::usage("the program", "no memory")),
                _ => Ok(()),
            }
        });
        failed.unwrap_err();
        expect_refused(save_grid(rank, "ck.1", 4));
        // A program that names the one which it wants knows what is there.
        rank.session.current(&"ck.2".into()).unwrap();
        save_grid(rank, "ck.3", 4).unwrap();
    });
    site.run(&nodes(2), |rank| {
        assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("ck.3"));
    });
}

/// With room for one dataset in the cache: what cannot be started does not evict the one that is there.
#[test]
fn a_name_in_which_no_file_can_be_made_costs_no_checkpoint() {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "1");
    site.run(&nodes(2), |rank| {
        save_grid(rank, "ck.1", 4).unwrap();
        for name in [
            "../ck.2",
            ".scr/ck.2",
            &"n".repeat(256),
            &"deep/".repeat(190),
        ] {
            save_grid(rank, name, 4).unwrap_err();
        }
        let mut listed = false;
        let flags = Err(scr::Error::usage("SCR_Checkpoint", "the routine is NULL"));
        let mut routine = |_: &mut List<'_>| {
            listed = true;
            Ok(())
        };
        checkpoint(&mut rank.session, None, flags, &mut routine).unwrap_err();
        assert!(!listed);
        assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("ck.1"));
    });
}

/// Where nothing good is left, or was never there, the program begins and writes.
#[test]
fn a_program_that_finds_no_checkpoint_writes() {
    let site = Site::in_memory()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2");
    let all_gone = |rank: &mut Rank| {
        assert_eq!(load_grid(rank, 5).unwrap(), None);
        save_grid(rank, "ck.1", 5).unwrap();
    };
    site.run(&nodes(2), all_gone);
    site.lose("n0");
    site.lose("n1");
    site.run(&nodes(2), all_gone);
    // A program that asks for none is as one with files: it says what it wants to replace.
    site.run(&nodes(2), |rank| save_grid(rank, "ck.1", 4).unwrap());
}

#[test]
fn a_checkpoint_that_a_restart_has_passed_over_is_not_replaced() {
    for flush in ["0", "1"] {
        let site = Site::in_memory()
            .set("SCR_FLUSH", flush)
            .set("SCR_CACHE_SIZE", "4");
        site.run(&nodes(2), |rank| {
            save_grid(rank, "ck.1", 4).unwrap();
            save_grid(rank, "ck.2", 5).unwrap();
            save_grid(rank, "ck.3", 5).unwrap();
        });
        site.run(&nodes(2), |rank| {
            let again = |rank: &mut Rank| {
                let error = save_grid(rank, "ck.2", 4).unwrap_err().to_string();
                assert!(error.contains("SCR-308"), "{error}");
            };
            assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("ck.1"));
            // All that do not fit are told in one line.
            rank.session.comm().barrier().unwrap();
            let told = site.heard("is not of this program");
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(
                told[0].contains("(ck.3)") && told[0].contains("ck.2"),
                "{told:?}"
            );
            again(rank);
            save_grid(rank, "new", 4).unwrap();
            // Another restart, which passes over nothing.
            assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("new"));
            again(rank);
            rank.session.delete(&"ck.3".into()).unwrap();
            save_grid(rank, "ck.3", 4).unwrap();
        });
        let given_up = site.set("SCR_START_ANEW", "1");
        given_up.run(&nodes(2), |rank| {
            assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("ck.3"));
            save_grid(rank, "ck.2", 4).unwrap();
        });
    }
}

/// Three ranks go on after a fourth was lost, and list the parts that they had: a hole.
#[test]
fn what_was_known_of_the_parts_ends_with_a_repair() {
    let site = Site::in_memory();
    let save_part = |rank: &mut Rank, name: &str| {
        let me = rank.rank;
        save(rank, name, |fields| {
            part(fields, "whole", &mut [me as f64; 10], 40, 10 * me)?;
            array(fields, "step", &mut [1], Place::Same)
        })
    };
    let first = scr_testing::threads::connected(4);
    let left = scr_testing::threads::connected(3);
    let left = left.into_iter().map(Some).chain([None]);
    let ranks = first.into_iter().zip(left).zip(nodes(4)).enumerate();
    std::thread::scope(|scope| {
        for (me, ((first, left), node)) in ranks {
            let site = &site;
            scope.spawn(move || {
                let setup = |comm| scr::session::Setup {
                    comm,
                    files: std::sync::Arc::new(scr::store::posix::Posix),
                    sink: site.events.clone(),
                    environment: site.environment(node),
                    lock_timeout: std::time::Duration::from_secs(10),
                };
                let mut config = scr::config::Config::new();
                let session = scr::session::Session::init(setup(first), &mut config);
                let mut rank = Rank {
                    session: session.unwrap().unwrap(),
                    rank: me,
                };
                save_part(&mut rank, "ck.1").unwrap();
                save_part(&mut rank, "ck.2").unwrap();
                let mut member = rank.session.leave();
                let Some(left) = left else {
                    return;
                };
                let session = scr::session::Session::repair(setup(left), &mut member, &mut config);
                let mut rank = Rank {
                    session: session.unwrap().unwrap(),
                    rank: me,
                };
                let error = save_part(&mut rank, "ck.3").unwrap_err().to_string();
                assert!(error.contains("no rank has the element"), "{error}");
                rank.session.finalize(&mut config).unwrap();
            });
        }
    });
}

/// In bypass the program reads what is in the prefix directory, so what does not count is not left there.
#[test]
fn a_checkpoint_that_fails_leaves_no_file_in_the_prefix_directory() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(3), |rank| {
        save_grid(rank, "ck.1", 4).unwrap();
        let me = rank.rank;
        let failed = save(rank, "deep/ck.2", |fields| {
            list(fields, &mut [1.0; 4])?;
            let path = fields.file("mesh")?;
            std::fs::write(path, "mesh").unwrap();
            match me {
                2 => Err(scr::Error::usage("the program", "no memory")),
                _ => Ok(()),
            }
        });
        failed.unwrap_err();
        rank.session.comm().barrier().unwrap();
        assert!(!rank.session.in_prefix(Path::new("deep/ck.2")).exists());
        assert!(
            rank.session
                .in_prefix(Path::new("ck.1/rank_2.fields"))
                .exists()
        );
    });
    site.run(&nodes(3), |rank| {
        assert_eq!(load_grid(rank, 4).unwrap().as_deref(), Some("ck.1"));
    });
}
