//! The rules of the API: which calls are allowed, what they return, which files they leave.

use crate::site::{Rank, Site};
use scr::Error;
use scr::config::Config;
use scr::format::halt::Halt;
use scr::format::index::Index;
use scr::format::{Name, read, to_tree};
use scr::session::state::State;
use scr::store::posix::Posix;
use std::path::{Path, PathBuf};

const NODES: [&str; 2] = ["n0", "n1"];

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap_or_default()
}

fn current(site: &Site) -> Option<String> {
    index(site).current().map(ToString::to_string)
}

fn halt(site: &Site) -> Halt {
    read(&Posix, &site.prefix().join(".scr/halt.scr")).unwrap()
}

fn set_halt(site: &Site, halt: &Halt) {
    std::fs::create_dir_all(site.prefix().join(".scr")).unwrap();
    let bytes = scr::format::encode(&to_tree(halt).unwrap());
    std::fs::write(site.prefix().join(".scr/halt.scr"), bytes).unwrap();
}

fn lose_all(site: &Site) {
    NODES.iter().for_each(|node| site.lose(node));
}

fn in_prefix(names: &[&str]) -> Site {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        names.iter().for_each(|name| rank.checkpoint(name).unwrap());
    });
    lose_all(&site);
    site
}

/// All calls that are illegal in a state, with their C names.
fn illegal(rank: &mut Rank) -> Vec<(&'static str, Result<(), Error>)> {
    let name = Name::from("ck");
    let state = rank.session.state();
    let session = &mut rank.session;
    let mut told = Vec::new();
    // Those that open a phase come last: it is a failed one then, outside of a run.
    if state != State::Restart {
        told.push(("SCR_Complete_restart", session.complete_restart(true)));
    }
    if state != State::Checkpoint {
        told.push(("SCR_Complete_checkpoint", session.complete_checkpoint(true)));
    }
    if state != State::Output {
        told.push(("SCR_Complete_output", session.complete_output(true)));
    }
    if state != State::Idle {
        told.push(("SCR_Have_restart", session.have_restart().map(|_| ())));
        told.push(("SCR_Need_checkpoint", session.need_checkpoint().map(|_| ())));
        told.push(("SCR_Should_exit", session.should_exit().map(|_| ())));
        told.push(("SCR_Current", session.current(&name)));
        told.push(("SCR_Drop", session.drop_dataset(&name)));
        told.push(("SCR_Delete", session.delete(&name)));
        told.push(("SCR_Finalize", session.finalize(&mut Config::new())));
        told.push(("SCR_Start_restart", session.start_restart().map(|_| ())));
        told.push(("SCR_Start_checkpoint", session.start_checkpoint()));
        told.push((
            "SCR_Start_output",
            session.start_output(Some(name.clone()), true, false),
        ));
    }
    told
}

#[test]
fn an_illegal_call_names_itself_and_the_state_and_changes_nothing() {
    for bypass in ["0", "1"] {
        let site = in_prefix(&["ck"]).set("SCR_CACHE_BYPASS", bypass);
        site.run(&NODES, |rank| {
            let check = |rank: &mut Rank, words: &str| {
                let state = rank.session.state();
                for (call, told) in illegal(rank) {
                    let text = told.unwrap_err().to_string();
                    assert!(text.starts_with(call) && text.contains(words), "{text}");
                    assert_eq!(rank.session.state().outside(), state, "{call}");
                }
            };
            check(rank, "while no phase is open");
            let early = rank.session.start_restart().unwrap_err().to_string();
            assert!(early.contains("call SCR_Have_restart"), "{early}");
            assert_eq!(rank.session.state(), State::FailedRestart);
            rank.session.have_restart().unwrap().unwrap();
            rank.session.start_restart().unwrap();
            check(rank, "between SCR_Start_restart and SCR_Complete_restart");
            rank.session.complete_restart(true).unwrap();
            rank.session.start_checkpoint().unwrap();
            check(
                rank,
                "between SCR_Start_checkpoint and SCR_Complete_checkpoint",
            );
            rank.session.complete_checkpoint(true).unwrap();
            rank.session.start_output(None, false, true).unwrap();
            check(rank, "between SCR_Start_output and SCR_Complete_output");
            rank.session.complete_output(true).unwrap();
            rank.finalize().unwrap();
            check(rank, "before SCR_Init (or after SCR_Finalize)");
        });
        assert!(
            index(&site).get(1).unwrap().is_good(),
            "the first is as it was"
        );
        assert_eq!(index(&site).max_dataset(), 3);
    }
}

#[test]
fn names_and_flags_must_be_the_same_on_all_ranks() {
    for bypass in ["0", "1"] {
        let site = in_prefix(&["ck"]).set("SCR_CACHE_BYPASS", bypass);
        site.run(&NODES, |rank| {
            let odd = rank.rank == 1;
            let name = |other: &str| Some(Name::from(if odd { other } else { "ck" }));
            for told in [
                rank.session.start_output(name("other"), true, false),
                rank.session.start_output(name("ck"), odd, true),
                rank.session.start_output(name("ck"), true, odd),
            ] {
                let text = told.unwrap_err().to_string();
                assert!(text.contains("differ between ranks"), "{text}");
                assert_eq!(rank.session.state(), State::FailedOutput);
            }
        });
        assert_eq!(current(&site).as_deref(), Some("ck"), "bypass {bypass}");
        assert!(index(&site).get(1).unwrap().is_good());
        let names = site.run(&NODES, |rank| rank.restart());
        assert_eq!(names[0].as_deref(), Some("ck"));
    }
}

#[test]
fn the_answer_stays_until_the_restart_is_complete_and_after_it() {
    for bypass in ["0", "1"] {
        let site = in_prefix(&["ck.1", "ck.2", "ck.3"]).set("SCR_CACHE_BYPASS", bypass);
        site.run(&NODES, |rank| {
            for _ in 0..3 {
                assert_eq!(rank.restart().as_deref(), Some("ck.3"));
            }
            rank.checkpoint("ck.4").unwrap();
            // One that fails does not hide the one before.
            let name = Some("bad".into());
            rank.session.start_output(name, true, false).unwrap();
            rank.session.complete_output(rank.rank != 1).unwrap_err();
            assert_eq!(rank.restart().as_deref(), Some("ck.4"));
            rank.session.have_restart().unwrap();
            rank.session.start_restart().unwrap();
            rank.session.complete_restart(rank.rank != 1).unwrap_err();
            assert_eq!(rank.restart().as_deref(), Some("ck.3"));
        });
    }
}

/// Room for one: the start of the second checkpoint takes the first out of the cache.
#[test]
fn what_was_flushed_since_an_idle_search_is_found() {
    let site = Site::new()
        .set("SCR_CACHE_BYPASS", "1")
        .set("SCR_CACHE_SIZE", "1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.session.have_restart().unwrap(), None);
        rank.checkpoint("ck.1").unwrap();
        let name = Some("bad".into());
        rank.session.start_output(name, true, false).unwrap();
        rank.session.complete_output(rank.rank != 1).unwrap_err();
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
    });
}

#[test]
fn fetching_can_be_switched_off_and_a_restart_required() {
    let site = in_prefix(&["ck.1"]).set("SCR_FETCH", "0");
    let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
    assert_eq!(names, [None, None]);
    assert_eq!(site.heard("starts from the beginning").len(), 1);
    let site = site.set("SCR_REQUIRE_RESTART", "1");
    let told = site.run(&NODES, |rank| {
        rank.session.have_restart().map_err(|e| e.to_string())
    });
    for text in told {
        assert!(text.unwrap_err().contains("SCR_REQUIRE_RESTART=1"));
    }
    let site = site.set("SCR_FETCH", "1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"))
    });
}

#[test]
fn a_fetch_may_leave_files_in_the_prefix() {
    let site = in_prefix(&["ck.1"]).set("SCR_FETCH_BYPASS", "1");
    site.run(&NODES, |rank| {
        rank.session.have_restart().unwrap().unwrap();
        rank.session.start_restart().unwrap();
        let file = format!("ck.1/rank_{}.dat", rank.rank);
        let path = rank.session.route(Path::new(&file)).unwrap();
        assert_eq!(path, site.prefix().join(&file));
        // Where all can see them, a rank may read what another wrote.
        let other = format!("ck.1/rank_{}.dat", 1 - rank.rank);
        assert!(rank.session.route(Path::new(&other)).is_ok());
        assert!(rank.session.route(Path::new("ck.1/none")).is_err());
        rank.session.complete_restart(true).unwrap();
    });
}

#[test]
fn the_parameter_current_counts_once_an_allocation() {
    let site = in_prefix(&["ck.1", "ck.2", "ck.3"])
        .set("SCR_CURRENT", "ck.1")
        .set("SCR_FETCH_BYPASS", "1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.write("ck.4", true, true).unwrap();
    });
    // The cache holds ck.4 only; without it the marker in the index counts, not the wish.
    let site = site.set("SCR_CACHE_PURGE", "1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.4"))
    });
    lose_all(&site);
    let site = site.set("SCR_CURRENT", "none");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.4"))
    });
    assert_eq!(
        site.heard("SCR_CURRENT=none: there is no such checkpoint")
            .len(),
        1
    );
}

/// The cache has a copy, which is offered before anything is fetched.
#[test]
fn what_the_parameter_current_names_is_not_offered_again_when_it_was_rejected() {
    let site = Site::new().set("SCR_FLUSH", "1").set("SCR_CURRENT", "ck.2");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    site.run(&NODES, |rank| {
        let offered = rank.session.have_restart().unwrap();
        assert_eq!(offered, Some(Name::from("ck.2")));
        rank.session.start_restart().unwrap();
        rank.session.complete_restart(false).unwrap_err();
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
    });
}

/// The flush of a newer checkpoint had no room for its entry in the index. It is entered before, and so does not
/// become the current one after the call.
#[test]
fn current_enters_a_newer_checkpoint_first() {
    let site = Site::new().set("SCR_FLUSH", "1");
    let prefix = scr::prefix::paths::Prefix::new(&site.prefix());
    site.run(&NODES, |rank| {
        rank.restart();
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        if rank.rank == 0 {
            scr::prefix::index::update(&Posix, &prefix, |index| {
                let newest = index.get(2).unwrap().dataset.clone().unwrap();
                index.add(newest);
                Ok(())
            })
            .unwrap();
        }
        rank.session.current(&Name::from("ck.1")).unwrap();
    });
    assert_eq!(current(&site).as_deref(), Some("ck.1"));
    assert!(index(&site).get(2).unwrap().complete);
    lose_all(&site);
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
    });
}

#[test]
fn current_before_have_restart_decides() {
    for cached in [false, true] {
        let site = Site::new().set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "3");
        site.run(&NODES, |rank| {
            for name in ["ck.1", "ck.2", "ck.3"] {
                rank.checkpoint(name).unwrap();
            }
        });
        if !cached {
            lose_all(&site);
        }
        site.run(&NODES, |rank| {
            let unknown = rank.session.current(&Name::from("ck.9")).unwrap_err();
            assert!(
                unknown.to_string().contains("no dataset `ck.9`"),
                "{unknown}"
            );
            rank.session.current(&Name::from("ck.2")).unwrap();
            assert_eq!(rank.restart().as_deref(), Some("ck.2"), "cached {cached}");
            rank.write("new", true, true).unwrap();
        });
        let index = index(&site);
        assert_eq!(index.id(&Name::from("new")), Some(4), "ids never go back");
        assert!(index.get(3).unwrap().is_good(), "and no entry is lost");
        assert_eq!(current(&site).as_deref(), Some("new"));
    }
}

#[test]
fn drop_takes_the_entry_and_delete_all() {
    let site = in_prefix(&["ck.1", "ck.2", "ck.3"]);
    std::fs::write(site.prefix().join("ck.2/note"), "of the user").unwrap();
    site.run(&NODES, |rank| {
        rank.session.drop_dataset(&Name::from("ck.3")).unwrap();
        // SCR's own programs end if this is an error.
        rank.session.drop_dataset(&Name::from("ck.3")).unwrap();
    });
    let told = site.heard("SCR_Drop: there is no dataset `ck.3`");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    assert!(site.prefix().join("ck.3/rank_1.dat").exists());
    assert!(
        site.prefix()
            .join(".scr/scr.dataset.3/summary.scr")
            .exists()
    );
    assert_eq!(
        current(&site).as_deref(),
        Some("ck.2"),
        "the marker moves down"
    );
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.session.delete(&Name::from("ck.2")).unwrap();
        rank.session.delete(&Name::from("ck.2")).unwrap();
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
    });
    let told = site.heard("SCR_Delete: there is no dataset `ck.2`");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    let left: Vec<PathBuf> = ["ck.2/rank_0.dat", "ck.2/rank_1.dat", ".scr/scr.dataset.2"]
        .map(|name| site.prefix().join(name))
        .into();
    assert!(left.iter().all(|path| !path.exists()), "{left:?}");
    assert!(site.prefix().join("ck.2/note").exists(), "not ours");
    site.run(&NODES, |rank| {
        rank.session.delete(&Name::from("ck.1")).unwrap()
    });
    assert!(
        !site.prefix().join("ck.1").exists(),
        "emptied directories go"
    );
    assert_eq!(current(&site), None);
    assert!(index(&site).datasets().is_empty());
}

#[test]
fn the_window_keeps_the_newest_checkpoints_and_all_output() {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_PREFIX_SIZE", "2");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.write("out", false, true).unwrap();
        rank.write("both", true, true).unwrap();
        for name in ["ck.2", "ck.3", "ck.4"] {
            rank.checkpoint(name).unwrap();
        }
    });
    let there = |name: &str| site.prefix().join(name).exists();
    assert_eq!(
        ["ck.1", "out", "both", "ck.2", "ck.3", "ck.4"].map(there),
        [false, true, true, false, true, true]
    );
    assert!(!site.prefix().join(".scr/scr.dataset.1").exists());
}

#[test]
fn purges_empty_prefix_and_cache() {
    let site = Site::new().set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "2");
    site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
    let site = site.set("SCR_PREFIX_PURGE", "1");
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"), "from the cache");
    });
    assert!(!site.prefix().join("ck.1").exists());
    assert!(index(&site).datasets().is_empty());
    let site = site.set("SCR_CACHE_PURGE", "1");
    site.run(&NODES, |rank| assert_eq!(rank.restart(), None));
}

#[test]
fn a_recovered_checkpoint_is_flushed_when_asked() {
    for (name, bypass) in [
        ("SCR_FLUSH_ON_RESTART", false),
        ("SCR_GLOBAL_RESTART", true),
    ] {
        let site = Site::new();
        site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
        assert!(!site.prefix().join("ck.1").exists());
        let site = site.set(name, "1");
        site.run(&NODES, |rank| {
            assert!(site.prefix().join("ck.1/rank_0.dat").exists(), "{name}");
            rank.session.have_restart().unwrap().unwrap();
            rank.session.start_restart().unwrap();
            let file = format!("ck.1/rank_{}.dat", rank.rank);
            let path = rank.session.route(Path::new(&file)).unwrap();
            assert_eq!(path.starts_with(site.prefix()), bypass, "{name}");
            rank.session.complete_restart(true).unwrap();
            rank.write("new", true, true).unwrap();
        });
        assert_eq!(index(&site).id(&Name::from("new")), Some(2), "{name}");
    }
}

#[test]
fn a_checkpoint_is_needed_every_so_many_calls() {
    let asks = |site: &Site| {
        let answers = site.run(&NODES, |rank| -> String {
            (0..6)
                .map(|_| {
                    if rank.session.need_checkpoint().unwrap() {
                        'y'
                    } else {
                        '.'
                    }
                })
                .collect()
        });
        assert_eq!(answers[0], answers[1]);
        answers[0].clone()
    };
    assert_eq!(asks(&Site::new()), "......");
    assert_eq!(
        asks(&Site::new().set("SCR_CHECKPOINT_INTERVAL", "3")),
        "..y..y"
    );
    assert_eq!(
        asks(&Site::new().set("SCR_CHECKPOINT_OVERHEAD", "10")),
        "yyyyyy"
    );
    assert_eq!(
        asks(&Site::new().set("SCR_CHECKPOINT_SECONDS", "100000")),
        "......"
    );
    let site = Site::new();
    set_halt(
        &site,
        &Halt {
            exit_after: Some(1),
            ..Halt::default()
        },
    );
    assert_eq!(
        asks(&site),
        "yyyyyy",
        "a checkpoint is due when the job must end"
    );
}

#[test]
fn each_halt_condition_stops_the_job() {
    let soon = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64
        + 10_000;
    let none = Halt::default();
    let reason = |word: &str| Halt {
        exit_reason: Some(word.into()),
        ..Halt::default()
    };
    for (halt, word) in [
        (none.clone(), None),
        (reason("SCR_FINALIZE_CALLED"), None),
        (reason("JOB_HALTED"), Some("JOB_HALTED")),
        (
            Halt {
                checkpoints_left: Some(0),
                ..none.clone()
            },
            Some("NO_CHECKPOINTS_LEFT"),
        ),
        (
            Halt {
                exit_before: Some(1),
                ..none.clone()
            },
            Some("EXIT_BEFORE_TIME"),
        ),
        (
            Halt {
                exit_after: Some(1),
                ..none.clone()
            },
            Some("EXIT_AFTER_TIME"),
        ),
        (
            Halt {
                exit_after: Some(soon),
                ..none.clone()
            },
            None,
        ),
        (
            Halt {
                halt_seconds: Some(20_000),
                ..none.clone()
            },
            Some("TIME_LIMIT"),
        ),
        (
            Halt {
                halt_seconds: Some(10),
                ..none.clone()
            },
            None,
        ),
    ] {
        let site = Site::new().set("SCR_END_TIME", &soon.to_string());
        set_halt(&site, &halt);
        let told = site.run(&NODES, |rank| rank.session.should_exit().unwrap());
        assert_eq!(told, [word.is_some(); 2], "{halt:?}");
        if let Some(word) = word {
            assert_eq!(site.heard(word).len(), 1, "{halt:?}");
        }
        let exits = site.run(&NODES, |rank| rank.session.must_exit());
        assert_eq!(exits, [false; 2], "SCR_HALT_EXIT is not set");
        let site = site.set("SCR_HALT_EXIT", "1");
        let exits = site.run(&NODES, |rank| rank.session.must_exit());
        assert_eq!(exits, [word.is_some(); 2], "{halt:?}");
    }
}

#[test]
fn checkpoints_left_count_down_and_the_last_one_ends_the_job() {
    let site = Site::new().set("SCR_HALT_EXIT", "1");
    set_halt(
        &site,
        &Halt {
            checkpoints_left: Some(2),
            ..Halt::default()
        },
    );
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        assert!(!rank.session.must_exit());
        rank.write("out", false, true).unwrap();
        assert!(!rank.session.must_exit(), "output does not count");
        rank.checkpoint("ck.2").unwrap();
        assert!(rank.session.must_exit());
    });
    let left = halt(&site);
    assert_eq!(left.checkpoints_left, Some(0));
    assert_eq!(left.exit_reason, Some("NO_CHECKPOINTS_LEFT".into()));
    assert_eq!(
        current(&site).as_deref(),
        Some("ck.2"),
        "it was flushed before"
    );
}

#[test]
fn halt_seconds_count_though_a_halt_file_exists() {
    let site = Site::new();
    site.run(&NODES, |rank| rank.finalize().unwrap());
    assert_eq!(halt(&site).exit_reason, Some("SCR_FINALIZE_CALLED".into()));
    let site = site.set("SCR_HALT_SECONDS", "300");
    site.run(&NODES, |rank| assert!(!rank.session.should_exit().unwrap()));
    assert_eq!(halt(&site).halt_seconds, Some(300));
    assert_eq!(
        halt(&site).exit_reason,
        None,
        "this run has not come to its end"
    );
}

/// The id and the state of a dataset in the index.
fn state(site: &Site, name: &str) -> (u64, bool) {
    let index = index(site);
    let id = index.id(&Name::from(name)).unwrap();
    (id, index.get(id).unwrap().is_good())
}

fn invalid(rank: &mut Rank, name: &str) {
    let name = Some(name.into());
    rank.session.start_output(name, true, false).unwrap();
    rank.session.complete_output(false).unwrap_err();
}

pub fn reject(rank: &mut Rank, expected: &str) {
    let offered = rank.session.have_restart().unwrap();
    assert_eq!(offered.unwrap().to_string(), expected);
    rank.session.start_restart().unwrap();
    rank.session.complete_restart(false).unwrap_err();
}

#[test]
fn ids_are_used_once() {
    for bypass in ["1", "0"] {
        let site = || {
            Site::new()
                .set("SCR_CACHE_BYPASS", bypass)
                .set("SCR_FLUSH", "1")
        };
        // After a rejection.
        let rejected = site();
        rejected.run(&NODES, |rank| {
            rank.checkpoint("A").unwrap();
            rank.checkpoint("B").unwrap();
            reject(rank, "B");
            rank.checkpoint("C").unwrap();
        });
        assert_eq!(state(&rejected, "A"), (1, true));
        assert_eq!(state(&rejected, "B"), (2, false));
        assert_eq!(state(&rejected, "C"), (3, true));
        // After a second rejection, and with a restart between.
        let twice = site();
        twice.run(&NODES, |rank| {
            for name in ["A", "B", "C"] {
                rank.checkpoint(name).unwrap();
            }
            reject(rank, "C");
            reject(rank, "B");
            assert_eq!(rank.restart().as_deref(), Some("A"));
            rank.checkpoint("D").unwrap();
        });
        assert_eq!(state(&twice, "A"), (1, true));
        assert_eq!(state(&twice, "D"), (4, true));
        // After a dataset that failed, and a look for a restart.
        let failed = site();
        failed.run(&NODES, |rank| {
            rank.checkpoint("A").unwrap();
            invalid(rank, "B");
            rank.session.have_restart().unwrap();
            rank.session.have_restart().unwrap();
            rank.checkpoint("C").unwrap();
        });
        assert_eq!(state(&failed, "A"), (1, true));
        assert_eq!(state(&failed, "C"), (3, true));
    }
}

/// An id that another process adds to the index while the run is on is not used either.
#[test]
fn ids_of_datasets_that_are_added_meanwhile_are_not_used() {
    let other = in_prefix(&["x.1", "x.2", "x.3"]);
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("A").unwrap();
        if rank.rank == 0 {
            let mut index = index(&site);
            index.add(index_entry(&other, 3));
            let path = site.prefix().join(".scr/index.scr");
            index.write(&Posix, &path).unwrap();
        }
        rank.session.should_exit().unwrap();
        rank.session.drop_dataset(&Name::from("A")).unwrap();
        rank.session.have_restart().unwrap();
        rank.checkpoint("B").unwrap();
    });
    assert_eq!(state(&site, "B"), (4, true));
    assert_eq!(state(&site, "x.3"), (3, false));
}

/// Nor if it is no checkpoint, so that the count of checkpoints has not risen with it.
#[test]
fn ids_of_output_that_is_added_meanwhile_are_not_used() {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("A").unwrap();
        if rank.rank == 0 {
            let mut output = index_entry(&site, 1);
            (output.id, output.name) = (2, "output".into());
            (output.flag_ckpt, output.flag_output, output.ckpt) = (false, true, None);
            let mut index = index(&site);
            index.add(output);
            let path = site.prefix().join(".scr/index.scr");
            index.write(&Posix, &path).unwrap();
        }
        rank.checkpoint("B").unwrap();
    });
    assert_eq!(state(&site, "B"), (3, true));
    assert_eq!(state(&site, "output"), (2, false));
}

fn index_entry(site: &Site, id: u64) -> scr::format::Dataset {
    index(site).get(id).unwrap().dataset.clone().unwrap()
}

#[test]
fn an_offer_ends_where_the_next_dataset_begins() {
    for bypass in ["1", "0"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", "3")
            .set("SCR_FLUSH", "0");
        site.run(&NODES, |rank| rank.checkpoint("A").unwrap());
        site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap().unwrap();
            rank.checkpoint("B").unwrap();
            let offered = rank.session.have_restart().unwrap().unwrap();
            assert_eq!(offered.to_string(), "B", "bypass {bypass}");
            rank.checkpoint("C").unwrap();
            reject(rank, "C");
            reject(rank, "B");
            assert_eq!(rank.restart().as_deref(), Some("A"));
        });
    }
}

#[test]
fn what_was_offered_and_not_rejected_is_offered_again() {
    for (bypass, size) in [("1", "1"), ("0", "2")] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", size);
        site.run(&NODES, |rank| {
            rank.checkpoint("older").unwrap();
            rank.checkpoint("A").unwrap();
            for name in ["B", "C", "D"] {
                invalid(rank, name);
                let offered = rank.session.have_restart().unwrap().unwrap();
                assert_eq!(offered.to_string(), "A", "bypass {bypass}");
            }
            rank.session.start_restart().unwrap();
            rank.session.complete_restart(true).unwrap();
        });
    }
}

/// SCR v3.1.0 keeps records of what it wrote in bypass in the cache, and restarts from them.
#[test]
fn without_a_fetch_a_run_in_bypass_restarts_from_the_one_before() {
    let site = Site::new()
        .set("SCR_CACHE_BYPASS", "1")
        .set("SCR_FETCH", "0");
    site.run(&NODES, |rank| {
        rank.checkpoint("A").unwrap();
        rank.checkpoint("B").unwrap();
    });
    // One that comes to nothing does not change that.
    site.run(&NODES, |rank| rank.finalize().unwrap());
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("B"));
        reject(rank, "B");
        assert_eq!(rank.session.have_restart().unwrap(), None, "A had left");
        rank.checkpoint("C").unwrap();
    });
    site.expect_restart(&NODES, Some("C"));
    // In another job it is not in the cache.
    let site = site.set("SCR_JOB_ID", "1002");
    site.expect_restart(&NODES, None);
}

#[test]
fn a_reason_to_halt_stays_until_it_is_unset() {
    for finalized_first in [false, true] {
        let site = Site::new();
        if finalized_first {
            site.run(&NODES, |rank| rank.finalize().unwrap());
        }
        let asked = Halt {
            exit_reason: Some("JOB_HALTED".into()),
            ..Halt::default()
        };
        set_halt(&site, &asked);
        for _ in 0..2 {
            site.run(&NODES, |rank| {
                assert!(rank.session.should_exit().unwrap());
                rank.checkpoint("A").unwrap();
                rank.finalize().unwrap();
            });
            assert_eq!(halt(&site).exit_reason, Some("JOB_HALTED".into()));
        }
    }
}

/// The files of the older one are those of the newer one now, good or bad.
#[test]
fn a_name_that_is_used_again_takes_the_older_dataset() {
    let site = Site::new()
        .set("SCR_CACHE_BYPASS", "1")
        .set("SCR_CACHE_SIZE", "3");
    site.run(&NODES, |rank| {
        rank.checkpoint("other").unwrap();
        rank.checkpoint("A").unwrap();
        let name = Some("A".into());
        rank.session.start_output(name, true, false).unwrap();
        let file = format!("A/rank_{}.dat", rank.rank);
        let path = rank.session.route(Path::new(&file)).unwrap();
        std::fs::write(path, b"half").unwrap();
        rank.session.complete_output(false).unwrap_err();
        assert_eq!(rank.restart().as_deref(), Some("other"));
    });
}

#[test]
fn nothing_is_loaded_before_have_restart() {
    let site = Site::new();
    site.run(&NODES, |rank| rank.checkpoint("A").unwrap());
    site.run(&NODES, |rank| {
        rank.session.start_restart().unwrap_err();
        rank.session.current(&Name::from("A")).unwrap();
        rank.session.start_restart().unwrap_err();
        assert_eq!(rank.restart().as_deref(), Some("A"));
    });
}
