//! A file operation fails, or a process dies, at each operation in turn: all ranks get the same
//! results, no rank waits for ever, and no incomplete dataset is offered.

use crate::site::{Rank, Site, content};
use scr::Error;
use scr::format::Name;
use scr::prefix::paths::Prefix;
use scr::prefix::{index, rank2file};
use scr::store::Files;
use scr::store::faulty::{Faults, Faulty};
use scr::store::posix::Posix;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

impl Site {
    /// Gives one rank a file system of its own that can fail.
    fn faulty(&mut self, rank: usize) -> Faults {
        let files = Faulty::new(Posix);
        let faults = files.faults();
        self.by_rank = vec![None; NODES.len()];
        self.by_rank[rank] = Some(Arc::new(files) as Arc<dyn Files>);
        faults
    }
}

/// Everything that a program can do, errors or not: which calls worked. Stops where the
/// program would be in a wrong state, as a real one does.
fn life(rank: &mut Rank) -> Vec<Result<(), Error>> {
    let mut told = Vec::new();
    let offered = rank.session.have_restart();
    told.push(offered.clone().map(|_| ()));
    if let Ok(Some(_)) = offered {
        told.push(rank.session.start_restart().map(|_| ()));
        told.push(rank.session.complete_restart(false));
        let next = rank.session.have_restart();
        told.push(next.clone().map(|_| ()));
        if let Ok(Some(_)) = next {
            told.push(rank.session.start_restart().map(|_| ()));
            told.push(rank.session.complete_restart(true));
        }
    }
    told.push(rank.session.need_checkpoint().map(|_| ()));
    for (name, checkpoint, output) in [("a", true, false), ("b", true, true), ("c", false, true)] {
        told.push(write(rank, name, checkpoint, output));
    }
    told.push(rank.session.current(&Name::from("a")));
    told.push(rank.session.drop_dataset(&Name::from("b")));
    told.push(rank.session.delete(&Name::from("c")));
    told.push(rank.session.should_exit().map(|_| ()));
    told.push(rank.finalize());
    told
}

/// Writes a dataset, and gives up where a local step fails as a program would: valid=0.
fn write(rank: &mut Rank, name: &str, checkpoint: bool, output: bool) -> Result<(), Error> {
    rank.session
        .start_output(Some(Name::from(name)), checkpoint, output)?;
    let file = format!("{name}/rank_{}.dat", rank.rank);
    let data = content(name, rank.rank, 1000 + 7 * rank.rank);
    let valid = match rank.session.route(Path::new(&file)) {
        Ok(path) => std::fs::write(path, data).is_ok(),
        Err(_) => false,
    };
    rank.session.complete_output(valid)
}

/// The same prefix and cache for each try: two checkpoints in the prefix, one in the cache.
fn prepared(bypass: &str, lose: bool) -> Site {
    let site = Site::in_memory()
        .set("SCR_CACHE_BYPASS", bypass)
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_PREFIX_SIZE", "3")
        .set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("old.1").unwrap();
        rank.checkpoint("old.2").unwrap();
    });
    if lose {
        NODES.iter().for_each(|node| site.lose(node));
    }
    site
}

/// One operation of one rank fails, each in turn. All ranks must hear of the same successes
/// and failures, and none that the transport went out of step.
fn one_failure(bypass: &str, lose: bool, rank: usize) {
    let mut total = 1;
    let mut at = 0;
    while at < total {
        let mut site = prepared(bypass, lose);
        let faults = site.faulty(rank);
        if at > 0 {
            faults.fail_at(at, libc::EIO);
        }
        let lives = site.start(&NODES, |started| match started {
            Ok(rank) => life(&mut rank.unwrap()),
            Err(error) => vec![Err(error)],
        });
        if at == 0 {
            assert!(lives.iter().flatten().any(Result::is_ok));
            total = faults.operations();
        }
        let outcome = |life: &Vec<Result<(), Error>>| -> Vec<bool> {
            life.iter().map(Result::is_ok).collect()
        };
        for (rank, life) in lives.iter().enumerate() {
            let first: Vec<_> = life.iter().filter_map(|told| told.as_ref().err()).collect();
            let story = format!("operation {at} of {total}, rank {rank}: {first:?}");
            assert_eq!(outcome(life), outcome(&lives[0]), "{story}");
            let out_of_step = first
                .iter()
                .any(|error| matches!(error, Error::Comm { .. }));
            assert!(!out_of_step, "{story}");
        }
        at += 1;
    }
}

#[test]
fn a_failure_on_rank_0_is_heard_by_all_with_bypass() {
    one_failure("1", false, 0);
}

#[test]
fn a_failure_on_rank_0_is_heard_by_all_with_cache() {
    one_failure("0", false, 0);
}

#[test]
fn a_failure_on_rank_0_is_heard_by_all_after_a_fetch() {
    one_failure("0", true, 0);
}

#[test]
fn a_failure_on_another_rank_is_heard_by_all() {
    one_failure("1", false, 1);
    one_failure("0", false, 2);
    one_failure("0", true, 1);
}

/// True if the prefix directory has the records of all ranks of the dataset of this name, and the index
/// has it as not complete: its flush was killed in its last steps.
fn is_certified_but_open(site: &Site, name: &str) -> bool {
    let prefix = Prefix::new(&site.prefix());
    let index = index::read(&Posix, &prefix).unwrap();
    let Some(id) = index.id(&Name::from(name)) else {
        return false;
    };
    let mut ranks = BTreeSet::new();
    let read = rank2file::for_each(&Posix, &prefix.dataset(id), |rank, _| {
        ranks.insert(rank);
        Ok(())
    });
    read.is_ok() && ranks.len() == NODES.len() && !index.get(id).unwrap().complete
}

/// A rank dies at an operation of a flush, each in turn. The next run, on other nodes, is
/// offered the new checkpoint whole or the old one whole, and the new one if it was complete
/// for all, or if only the end of the bookkeeping was missing.
fn one_death(settings: &[(&str, &str)], nodes: &[&str], rank: usize) -> u32 {
    let mut total = 1;
    let mut at = 0;
    let mut offered = BTreeSet::new();
    let mut open = 0;
    while at <= total {
        let mut site = Site::in_memory().set("SCR_FLUSH", "1");
        for (name, value) in settings {
            site = site.set(name, value);
        }
        let lose_all = |site: &Site| {
            let there = NODES.iter().filter(|node| site.node(node).exists());
            there.for_each(|node| site.lose(node));
        };
        site.run(nodes, |rank| {
            rank.checkpoint("old").unwrap();
            rank.finalize().unwrap();
        });
        lose_all(&site);
        let faults = site.faulty(rank);
        let done = site.start(nodes, |started| {
            let mut rank = started?.unwrap();
            // Armed between two rounds, when nobody writes: what dies before is no flush.
            rank.session.should_exit()?;
            if at > 0 && rank.rank == 0 {
                faults.die_at(faults.operations() + at);
            }
            let before = faults.operations();
            rank.session.should_exit()?;
            write(&mut rank, "new", true, false)?;
            rank.finalize()?;
            Ok::<u64, Error>(before)
        });
        if at == 0 {
            total = faults.operations() - done[0].clone().unwrap();
            assert!(total > 1);
        }
        site.by_rank.clear();
        lose_all(&site);
        let certified = is_certified_but_open(&site, "new");
        open += u32::from(certified);
        let names = site.run(nodes, |rank| rank.restart());
        let name = names[0].clone().unwrap_or_default();
        assert!(
            names.iter().all(|n| n.as_deref() == Some(&name)),
            "{at}: {names:?}"
        );
        let complete = done.iter().all(Result::is_ok);
        assert!(
            name == "new" || (name == "old" && !complete && !certified),
            "operation {at}: {name:?}, certified {certified}"
        );
        offered.insert(name);
        at += 1;
    }
    assert_eq!(offered.len(), 2, "{offered:?}");
    open
}

const BYPASS: &[(&str, &str)] = &[("SCR_CACHE_BYPASS", "1")];
const CACHE: &[(&str, &str)] = &[("SCR_CACHE_BYPASS", "0")];
const CONTAINERS: &[(&str, &str)] = &[
    ("SCR_CACHE_BYPASS", "0"),
    ("SCR_USE_CONTAINERS", "1"),
    ("SCR_CONTAINER_SIZE", "1500"),
];
const BACKGROUND: &[(&str, &str)] = &[
    ("SCR_CACHE_BYPASS", "0"),
    ("SCR_FLUSH_ASYNC", "1"),
    ("SCR_FLUSH_ASYNC_BW", "0"),
];

#[test]
fn a_flush_may_die_anywhere_on_rank_0() {
    for settings in [CACHE, BYPASS, CONTAINERS] {
        let open = one_death(settings, &NODES, 0);
        assert!(
            open > 1,
            "no death between two last steps of the bookkeeping"
        );
    }
}

#[test]
fn a_background_flush_may_die_anywhere() {
    // The ranks of a node have one leader, so its operations come in the same order each time.
    let open = one_death(BACKGROUND, &["n0", "n0", "n0"], 0);
    assert!(
        open > 1,
        "no death between two last steps of the bookkeeping"
    );
    one_death(BACKGROUND, &NODES, 0);
    one_death(BACKGROUND, &NODES, 2);
}

#[test]
fn a_flush_may_die_anywhere_on_another_rank() {
    one_death(CACHE, &NODES, 1);
    one_death(BYPASS, &NODES, 2);
    one_death(CONTAINERS, &NODES, 2);
}
