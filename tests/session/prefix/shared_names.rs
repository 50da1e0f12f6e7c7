//! Which files are deleted from the prefix directory if several datasets have files of the same
//! names.

use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use scr::format::index::Index;
use scr::store::posix::Posix;
use scr::store::{Durability, Files};
use scr_jobs::tally::CountingFiles;
use std::path::Path;
use std::sync::Arc;

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

fn exists(site: &Site, file: &str) -> bool {
    site.prefix().join(file).exists()
}

/// A checkpoint with these files of the rank.
fn write(rank: &mut Rank, name: &str, files: &[String]) -> scr::Result<()> {
    rank.session
        .start_output(Some(Name::from(name)), true, false)?;
    for file in files {
        let path = rank.session.route(Path::new(file))?;
        std::fs::write(path, content(name, rank.rank, 500)).unwrap();
    }
    rank.session.complete_output(true)
}

/// One whose data are `restart_<rank>.dat`, whatever its name.
fn overwrite(rank: &mut Rank, name: &str) -> scr::Result<()> {
    let files = [
        format!("restart_{}.dat", rank.rank),
        format!("{name}/log_{}", rank.rank),
    ];
    write(rank, name, &files)
}

fn flushing(bypass: &str) -> Site {
    Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_CACHE_BYPASS", bypass)
}

#[test]
fn the_window_leaves_files_that_the_newer_one_has_written_again() {
    for bypass in ["0", "1"] {
        let site = flushing(bypass).set("SCR_PREFIX_SIZE", "1");
        site.run(&nodes(3), |rank| {
            overwrite(rank, "ck.1").unwrap();
            overwrite(rank, "ck.2").unwrap();
        });
        assert_eq!(index(&site).datasets().len(), 1);
        for node in nodes(3).iter().filter(|node| site.node(node).exists()) {
            site.lose(node);
        }
        site.run(&nodes(3), |rank| {
            let name = rank.session.have_restart().unwrap().unwrap();
            assert_eq!(name, Name::from("ck.2"));
            rank.session.start_restart().unwrap();
            let file = format!("restart_{}.dat", rank.rank);
            let path = rank.session.route(Path::new(&file)).unwrap();
            let right = content("ck.2", rank.rank, 500);
            assert_eq!(std::fs::read(path).unwrap(), right, "bypass {bypass}");
            rank.session.complete_restart(true).unwrap();
        });
        assert!(!exists(&site, "ck.1"), "what only the old one had goes");
        assert!(!exists(&site, ".scr/scr.dataset.1"));
        assert_eq!(site.heard("3 files of dataset 1 (ck.1) stay").len(), 1);
    }
}

/// Which rank wrote a file makes no difference, nor how many ranks there are now.
#[test]
fn another_number_of_ranks_deletes_and_leaves_the_same() {
    let site = flushing("1");
    site.run(&nodes(4), |rank| {
        let own = format!("old/own_{}", rank.rank);
        write(rank, "old", &[own, format!("x/shared_{}", rank.rank)]).unwrap();
        let other = format!("x/shared_{}", 3 - rank.rank);
        write(rank, "new", &[other]).unwrap();
    });
    site.run(&nodes(3), |rank| {
        rank.session.delete(&Name::from("old")).unwrap()
    });
    assert!(!exists(&site, "old"));
    for rank in 0..4 {
        assert!(exists(&site, &format!("x/shared_{rank}")), "{rank}");
    }
    site.run(&nodes(1), |rank| {
        rank.session.delete(&Name::from("new")).unwrap()
    });
    assert!(!exists(&site, "x"));
    assert!(index(&site).datasets().is_empty());
}

/// As long as a good dataset's files are not known, any file may be one of them.
#[test]
fn nothing_goes_while_the_list_of_a_good_one_cannot_be_read() {
    let site = flushing("1");
    site.run(&nodes(2), |rank| {
        overwrite(rank, "ck.1").unwrap();
        overwrite(rank, "ck.2").unwrap();
    });
    let list = site.prefix().join(".scr/scr.dataset.2/rank2file.0.0");
    let mut bytes = std::fs::read(&list).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&list, bytes).unwrap();
    let told = site.run(&nodes(2), |rank| {
        rank.session.delete(&Name::from("ck.1")).unwrap_err()
    });
    for text in told.iter().map(ToString::to_string) {
        for part in ["dataset 2 (ck.2)", "rank2file.0.0", "--drop ck.2"] {
            assert!(text.contains(part), "{text}");
        }
    }
    assert!(index(&site).get(1).unwrap().is_good());
    assert!(exists(&site, "ck.1/log_0") && exists(&site, "restart_1.dat"));
    // One that nobody restarts from by itself is in nobody's way.
    let mut changed = index(&site);
    changed.mark_failed(2, "2026-11-21T00:00:00");
    let path = site.prefix().join(".scr/index.scr");
    changed.write(&Posix, &path).unwrap();
    site.run(&nodes(2), |rank| {
        rank.session.delete(&Name::from("ck.1")).unwrap()
    });
    assert!(!exists(&site, "ck.1/log_0"));
}

/// The lists of what is outside of the window do not count: one of them that is damaged
/// would keep all others for ever.
#[test]
fn a_damaged_list_outside_of_the_window_holds_up_no_other() {
    let site = flushing("1");
    site.run(&nodes(2), |rank| {
        for i in 1..=3 {
            overwrite(rank, &format!("ck.{i}")).unwrap();
        }
    });
    let list = site.prefix().join(".scr/scr.dataset.1/rank2file");
    Posix.replace(&list, b"bad", Durability::Atomic).unwrap();
    let site = site.set("SCR_PREFIX_SIZE", "1");
    site.run(&nodes(2), |rank| overwrite(rank, "ck.4").unwrap());
    let left: Vec<u64> = index(&site).datasets().keys().copied().collect();
    assert_eq!(left, [1, 4]);
    assert!(!exists(&site, "ck.2") && !exists(&site, "ck.3"));
    assert!(exists(&site, "ck.1/log_0") && exists(&site, "restart_0.dat"));
    let told = site.heard("could not be deleted");
    assert!(
        told.len() == 1 && told[0].contains("dataset 1 (ck.1)"),
        "{told:?}"
    );
}

#[test]
fn a_purge_leaves_nothing() {
    let site = flushing("1");
    site.run(&nodes(2), |rank| {
        overwrite(rank, "ck.1").unwrap();
        overwrite(rank, "ck.2").unwrap();
    });
    let site = site.set("SCR_PREFIX_PURGE", "1");
    site.run(&nodes(2), |_| ());
    assert!(!exists(&site, "restart_0.dat") && !exists(&site, "ck.2"));
    assert!(index(&site).datasets().is_empty());
}

/// A system call for each file, one after the other, would be the work of hours for one rank
/// of a large job.
#[test]
fn all_ranks_share_in_unlinking() {
    const FILES: u64 = 64;
    let mut site = flushing("1");
    site.run(&nodes(1), |rank| {
        let files: Vec<String> = (0..FILES).map(|i| format!("ck/{i}")).collect();
        write(rank, "ck", &files).unwrap();
    });
    let counting: Vec<Arc<CountingFiles<Posix>>> = (0..4)
        .map(|_| Arc::new(CountingFiles::new(Posix)))
        .collect();
    let each = counting.iter().cloned();
    site.by_rank = each.map(|files| Some(files as Arc<dyn Files>)).collect();
    let removed = site.run(&nodes(4), |rank| {
        let tally = counting[rank.rank].tally();
        tally.take();
        rank.session.delete(&Name::from("ck")).unwrap();
        tally.take().get("remove_file").copied().unwrap_or(0)
    });
    assert_eq!(removed.iter().sum::<u64>(), FILES, "{removed:?}");
    assert!(
        removed.iter().all(|count| *count > FILES / 16),
        "{removed:?}"
    );
    assert!(!exists(&site, "ck"));
}

/// A dataset that a restart passes over stays in the cache, and only rank 0 knows its name.
#[test]
fn a_deletion_takes_older_ones_of_the_name_that_the_restart_has_passed_over() {
    for global in ["0", "1"] {
        let site = flushing("0")
            .set("SCR_COPY_TYPE", "SINGLE")
            .set("SCR_CACHE_SIZE", "3")
            .set("SCR_GLOBAL_RESTART", global);
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck").unwrap();
            rank.checkpoint("ck").unwrap();
        });
        let lost = site.dataset("n1", 2).join("rank_1/ck/rank_1.dat");
        std::fs::remove_file(lost).unwrap();
        site.run(&nodes(2), |rank| {
            assert_eq!(rank.restart().as_deref(), Some("ck"));
            rank.session.delete(&Name::from("ck")).unwrap();
        });
        let passed_over = site.heard("cached dataset 1 (ck) is older than dataset 2");
        assert!(!passed_over.is_empty(), "{:?}", site.events.lines());
        site.expect_restart(&nodes(2), None);
    }
}

/// What another number of ranks wrote, this one cannot use; that number can, in a later run.
#[test]
fn a_deletion_takes_what_another_number_of_ranks_has_in_its_caches() {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "3");
    site.run(&nodes(4), |rank| {
        rank.checkpoint("kept").unwrap();
        rank.checkpoint("ck").unwrap();
    });
    site.run(&nodes(2), |rank| {
        rank.session.delete(&Name::from("ck")).unwrap();
        rank.session.delete(&Name::from("none")).unwrap();
    });
    assert!(site.heard("no dataset `ck`").is_empty());
    assert_eq!(site.heard("no dataset `none`").len(), 1);
    site.expect_restart(&nodes(4), Some("kept"));
}
