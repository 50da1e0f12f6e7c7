//! Output that is no checkpoint leaves the cache when the prefix directory has it; and a flush that
//! failed, or whose processes were killed, is made again by the next run.

use crate::site::{Rank, Site, content};
use scr::Error;
use scr::format::Name;
use scr::format::index::Index;
use scr::prefix::paths::Prefix;
use scr::prefix::records;
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use std::sync::Arc;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

const BACKGROUND: [(&str, &str); 2] = [("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "0")];

fn site(settings: &[(&str, &str)]) -> Site {
    let site = Site::in_memory()
        .set("SCR_CACHE_SIZE", "4")
        .set("SCR_FLUSH", "0")
        .set("SCR_DEBUG", "1");
    let with = |site: Site, (name, value): &(&str, &str)| site.set(name, value);
    settings.iter().fold(site, with)
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

/// The names of the good datasets in the index. The files of each must be right.
fn saved(site: &Site) -> Vec<String> {
    if !site.prefix().join(".scr/index.scr").exists() {
        return Vec::new();
    }
    let index = index(site);
    let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
    let names = good.map(|(id, _)| index.name(*id).unwrap().to_string());
    names
        .inspect(|name| {
            for rank in 0..NODES.len() {
                let path = site.prefix().join(format!("{name}/rank_{rank}.dat"));
                let right = content(name, rank, 1000 + 7 * rank);
                assert!(
                    std::fs::read(path).unwrap() == right,
                    "{name} of rank {rank}"
                );
            }
        })
        .collect()
}

/// The datasets in the cache of each node, which must be the same on all.
fn cached(site: &Site) -> Vec<String> {
    let of = |node: &str| site.entries(node, "scr.dataset.");
    assert!(NODES.iter().all(|node| of(node) == of("n0")));
    let names = of("n0").into_iter();
    names.map(|name| name.replace("scr.dataset.", "")).collect()
}

fn ids_in_flush_file(site: &Site) -> Vec<u64> {
    let record = records::read_flush_file(&Posix, &Prefix::new(&site.prefix())).unwrap();
    record.datasets.into_keys().collect()
}

#[test]
fn output_leaves_the_cache_and_checkpoints_stay() {
    for settings in [&[][..], &BACKGROUND] {
        let site = site(settings);
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.write("out.2", false, true).unwrap();
            rank.write("both.3", true, true).unwrap();
            rank.write("neither.4", false, false).unwrap();
            rank.session.finish_background().unwrap();
            rank.session.should_exit().unwrap();
            if rank.rank == 0 {
                assert_eq!(saved(&site), ["out.2", "both.3"]);
                assert_eq!(cached(&site), ["1", "3", "4"]);
                assert_eq!(ids_in_flush_file(&site), [1, 3, 4]);
            }
            rank.session.should_exit().unwrap();
            // The place is free, and the ids go on.
            rank.write("out.5", false, true).unwrap();
            rank.finalize().unwrap();
        });
        assert_eq!(saved(&site), ["out.2", "both.3", "out.5"]);
        site.expect_restart(&NODES, Some("both.3"));
    }
}

#[test]
fn output_whose_flush_fails_stays_until_it_is_saved() {
    for settings in [&[][..], &BACKGROUND] {
        let site = site(settings);
        let in_the_way = site.prefix().join("out.1/rank_2.dat");
        std::fs::create_dir_all(&in_the_way).unwrap();
        site.run(&NODES, |rank| {
            let written = rank.write("out.1", false, true);
            assert_eq!(written.is_ok(), !settings.is_empty());
            rank.session.finish_background().unwrap();
            rank.session.should_exit().unwrap();
            if rank.rank == 0 {
                assert_eq!(cached(&site), ["1"]);
                std::fs::remove_dir(&in_the_way).unwrap();
            }
            rank.session.should_exit().unwrap();
            // The next dataset tries it again.
            rank.checkpoint("ck.2").unwrap();
            rank.session.finish_background().unwrap();
            rank.session.should_exit().unwrap();
            if rank.rank == 0 {
                assert_eq!(
                    (saved(&site), cached(&site)),
                    (vec!["out.1".into()], vec!["2".into()])
                );
            }
        });
    }
}

#[test]
fn what_failed_in_the_last_run_is_flushed_by_the_next_though_newer_checkpoints_are_there() {
    for settings in [&[][..], &BACKGROUND] {
        let site = site(settings).set("SCR_FLUSH", "3");
        // Output, a checkpoint that is not due, one that is due, and a newer one.
        let ways = ["out.1", "due.4"].map(|name| site.prefix().join(name).join("rank_1.dat"));
        ways.iter()
            .for_each(|way| std::fs::create_dir_all(way).unwrap());
        site.run(&NODES, |rank| {
            let _ = rank.write("out.1", false, true);
            let _ = rank.checkpoint("ck.2");
            let _ = rank.checkpoint("ck.3");
            let _ = rank.checkpoint("due.4");
            rank.session.finish_background().unwrap();
        });
        let site = site.set("SCR_CACHE_SIZE", "9");
        site.run(&NODES, |rank| {
            let _ = rank.checkpoint("ck.5");
        });
        assert_eq!(saved(&site), [""; 0]);
        ways.iter()
            .for_each(|way| std::fs::remove_dir(way).unwrap());
        let cause = site.events.lines().len();
        site.run(&NODES, |rank| {
            assert_eq!(rank.restart().as_deref(), Some("ck.5"));
            rank.session.finish_background().unwrap();
        });
        let told = site.events.lines()[cause..].join("\n");
        assert_eq!(saved(&site), ["out.1", "due.4"], "{told}");
        assert!(!cached(&site).contains(&"1".to_string()));
        assert_eq!(index(&site).current(), Some(&Name::from("due.4")));
    }
}

/// Kills a run at each operation of one rank while it writes output. The next run brings the output to
/// the prefix directory if the cache has all of it, and it leaves the cache then.
fn one_death(settings: &[(&str, &str)], rank: usize) {
    let (mut total, mut at) = (1, 0);
    let (mut by_next, mut lost) = (0, 0);
    while at <= total {
        let mut site = site(settings);
        let files = Faulty::new(Posix);
        let faults = files.faults();
        site.by_rank = vec![None; NODES.len()];
        site.by_rank[rank] = Some(Arc::new(files) as Arc<dyn Files>);
        let before = site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.session.finish_background().unwrap();
            rank.session.should_exit().unwrap();
            if at > 0 && rank.rank == 0 {
                faults.die_at(faults.operations() + at);
            }
            let before = faults.operations();
            rank.session.should_exit().unwrap();
            let life = |rank: &mut Rank| -> Result<(), Error> {
                rank.session
                    .start_output(Some("out.2".into()), false, true)?;
                let file = format!("out.2/rank_{}.dat", rank.rank);
                let data = content("out.2", rank.rank, 1000 + 7 * rank.rank);
                let valid = match rank.session.route(std::path::Path::new(&file)) {
                    Ok(path) => std::fs::write(path, data).is_ok(),
                    Err(_) => false,
                };
                rank.session.complete_output(valid)?;
                rank.session.finish_background()
            };
            let _ = life(rank);
            before
        });
        if at == 0 {
            total = faults.operations() - before[0];
            assert!(total > 3);
        }
        site.by_rank.clear();
        let record = |rank: usize| {
            let dir = site.dataset(NODES[rank], 2).join(".scr");
            dir.join(format!("filemap_{rank}")).exists()
        };
        let (whole, was_saved) = ((0..NODES.len()).all(record), saved(&site) == ["out.2"]);
        site.run(&NODES, |rank| {
            rank.session.finish_background().unwrap();
            assert_eq!(rank.restart().as_deref(), Some("ck.1"));
            rank.session.should_exit().unwrap();
        });
        let now = saved(&site) == ["out.2"];
        assert!(now || !(whole || was_saved), "operation {at} of {total}");
        assert_eq!(cached(&site), ["1"], "operation {at} of {total}");
        by_next += u32::from(now && !was_saved);
        lost += u32::from(!now);
        at += 1;
    }
    assert!(by_next > 1 && lost > 0, "{by_next} {lost}");
}

#[test]
fn a_kill_at_any_moment_loses_no_output_that_the_cache_has() {
    one_death(&[], 0);
    one_death(&[], 1);
    one_death(&BACKGROUND, 0);
}

#[test]
fn output_is_saved_though_the_flush_file_is_lost() {
    let slow = [("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "1")];
    for damaged in [false, true] {
        let site = site(&slow);
        site.run(&NODES, |rank| {
            rank.write("out.1", false, true).unwrap();
            rank.session.abandon();
        });
        let record = site.prefix().join(".scr/flush.scr");
        if damaged {
            std::fs::write(record, "nothing of it").unwrap()
        } else {
            std::fs::remove_file(record).unwrap()
        }
        let site = site.set("SCR_FLUSH_ASYNC", "0");
        site.run(&NODES, |_| ());
        assert_eq!(saved(&site), ["out.1"]);
        assert_eq!(cached(&site), [""; 0]);
    }
}

/// One byte a second: who waits for it does not come back.
#[test]
fn the_next_run_flushes_in_the_background_and_offers_its_checkpoint_meanwhile() {
    let slow = [("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "1")];
    let site = site(&slow).set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        rank.write("out.1", false, true).unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.checkpoint("ck.3").unwrap();
        rank.session.abandon();
    });
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.3"));
        rank.session.abandon();
    });
    assert_eq!(saved(&site), [""; 0]);
    let site = site.set("SCR_FLUSH_ASYNC_BW", "0");
    site.run(&NODES, |rank| rank.finalize().unwrap());
    assert_eq!(saved(&site), ["out.1", "ck.2", "ck.3"]);
    assert_eq!(index(&site).current(), Some(&Name::from("ck.3")));
}

/// A part of the output is lost and its set rebuilds it first; more is lost than that.
#[test]
fn output_is_rebuilt_before_it_is_flushed_and_told_if_that_is_not_possible() {
    let slow = [("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "1")];
    for lost in [&NODES[..1], &NODES[..2]] {
        let site = site(&slow);
        site.run(&NODES, |rank| {
            rank.write("out.1", false, true).unwrap();
            rank.session.abandon();
        });
        lost.iter().for_each(|node| site.lose(node));
        let site = site.set("SCR_FLUSH_ASYNC", "0");
        site.run(&NODES, |_| ());
        match lost.len() {
            1 => assert_eq!(saved(&site), ["out.1"]),
            _ => {
                assert_eq!(saved(&site), [""; 0]);
                let told = site.heard("dataset 1 (out.1) is not in the prefix directory");
                assert_eq!(told.len(), 1, "{:?}", site.events.lines());
                assert!(told[0].contains("ranks 0 and 1 are lost"), "{told:?}");
            }
        }
    }
}

/// The files of a newer dataset of the same name stay.
#[test]
fn an_older_dataset_of_a_name_is_not_flushed_over_a_newer_one() {
    for kill in [false, true] {
        let site = site(&[]);
        let in_the_way = site.prefix().join("out/rank_1.dat");
        std::fs::create_dir_all(&in_the_way).unwrap();
        site.run(&NODES, |rank| {
            rank.write("out", false, true).unwrap_err();
            rank.session.should_exit().unwrap();
            if rank.rank == 1 {
                std::fs::remove_dir(&in_the_way).unwrap();
            }
            rank.session.should_exit().unwrap();
            rank.write("out", false, true).unwrap();
            if !kill {
                rank.checkpoint("ck.3").unwrap();
                rank.finalize().unwrap();
            }
        });
        site.run(&NODES, |_| ());
        assert_eq!(saved(&site), ["out"]);
        assert_eq!(index(&site).id(&Name::from("out")), Some(2));
    }
}
