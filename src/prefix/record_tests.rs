//! The index and the small records, on a real directory.

use super::finish::{Announced, Entered, Entering};
use super::names::owners;
use super::paths::Prefix;
use super::{finish, index, rank2file, records};
use crate::format::Dataset;
use crate::format::flush_file::{FlushEntry, FlushFile};
use crate::format::rank2file::RankEntry;
use crate::store::Files;
use crate::store::posix::Posix;
use crate::system::thread;
use crate::system::time::sleep;
use crate::tally::CountingFiles;
use crate::threads;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

fn prefix() -> (tempfile::TempDir, Prefix) {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(dir.path());
    std::fs::create_dir(prefix.meta()).unwrap();
    (dir, prefix)
}

fn dataset(id: u64, name: &str, created: u64) -> Dataset {
    Dataset {
        id,
        name: name.into(),
        created,
        ..Dataset::default()
    }
}

/// The inode of a file: each change makes a new one.
fn version(prefix: &Prefix, name: &str) -> u64 {
    std::fs::metadata(prefix.file(name)).unwrap().ino()
}

#[test]
fn a_missing_record_is_an_empty_one_and_a_damaged_one_an_error() {
    let (_dir, prefix) = prefix();
    assert!(index::read(&Posix, &prefix).unwrap().datasets().is_empty());
    assert_eq!(
        records::read_flush_file(&Posix, &prefix),
        Ok(FlushFile::default())
    );
    assert_eq!(
        records::read_halt(&Posix, &prefix).unwrap().exit_reason,
        None
    );
    for name in ["index.scr", "flush.scr", "halt.scr"] {
        std::fs::write(prefix.file(name), "damaged").unwrap();
    }
    assert!(index::read(&Posix, &prefix).is_err());
    assert!(index::update(&Posix, &prefix, |_| Ok(())).is_err());
    let text = records::read_flush_file(&Posix, &prefix)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("flush.scr") && text.contains("remove it"),
        "{text}"
    );
    let text = records::read_halt(&Posix, &prefix).unwrap_err().to_string();
    assert!(text.contains("scr halt --remove"), "{text}");
    assert!(records::update_halt(&Posix, &prefix, |_| ()).is_err());
    // The flush file says nothing that the caches do not say.
    records::update_flush_file(&Posix, &prefix, |_| ()).unwrap();
    assert_eq!(
        records::read_flush_file(&Posix, &prefix),
        Ok(FlushFile::default())
    );
}

#[test]
fn what_is_changed_is_written_and_what_is_not_is_left() {
    let (_dir, prefix) = prefix();
    index::enter(&Posix, &prefix, &dataset(1, "a", 10)).unwrap();
    let before = version(&prefix, "index.scr");
    index::update(&Posix, &prefix, |_| Ok(())).unwrap();
    assert_eq!(version(&prefix, "index.scr"), before);
    let failed = index::update(&Posix, &prefix, |index| {
        index.mark_failed(1, "t");
        Err::<(), _>(crate::Error::format(0, "no"))
    });
    assert!(failed.is_err());
    assert_eq!(version(&prefix, "index.scr"), before);
    let id = index::update(&Posix, &prefix, |index| {
        index.mark_failed(1, "t");
        Ok(index.max_dataset())
    });
    assert_eq!(id, Ok(1));
    assert!(
        index::read(&Posix, &prefix)
            .unwrap()
            .get(1)
            .unwrap()
            .failed
            .is_some()
    );

    let halt = |seconds| move |halt: &mut crate::format::halt::Halt| halt.halt_seconds = seconds;
    records::update_halt(&Posix, &prefix, halt(Some(7))).unwrap();
    let before = version(&prefix, "halt.scr");
    records::update_halt(&Posix, &prefix, halt(Some(7))).unwrap();
    assert_eq!(version(&prefix, "halt.scr"), before);
    assert_eq!(
        records::read_halt(&Posix, &prefix).unwrap().halt_seconds,
        Some(7)
    );

    let mut flush = FlushFile::default();
    flush
        .datasets
        .insert(1, FlushEntry::cached(dataset(1, "a", 10)));
    records::write_flush_file(&Posix, &prefix, &flush).unwrap();
    assert_eq!(records::read_flush_file(&Posix, &prefix), Ok(flush.clone()));
    records::update_flush_file(&Posix, &prefix, |record| {
        record
            .datasets
            .insert(2, FlushEntry::cached(dataset(2, "b", 11)));
    })
    .unwrap();
    let ids: Vec<u64> = records::read_flush_file(&Posix, &prefix)
        .unwrap()
        .datasets
        .into_keys()
        .collect();
    assert_eq!(ids, [1, 2]);
    records::write_nodes(&Posix, &prefix, 4).unwrap();
    let nodes: crate::format::nodes::Nodes =
        crate::format::read(&Posix, &prefix.file("nodes.scr")).unwrap();
    assert_eq!(nodes.nodes, 4);
}

#[test]
fn a_name_that_is_written_again_takes_the_records_of_the_old_dataset_with_it() {
    let (_dir, prefix) = prefix();
    for id in [1, 2] {
        std::fs::create_dir(prefix.dataset(id)).unwrap();
    }
    index::enter(&Posix, &prefix, &dataset(1, "a", 10)).unwrap();
    index::enter(&Posix, &prefix, &dataset(1, "a", 11)).unwrap();
    assert!(prefix.dataset(1).exists(), "it is the same");
    index::enter(&Posix, &prefix, &dataset(2, "a", 12)).unwrap();
    assert!(!prefix.dataset(1).exists() && prefix.dataset(2).exists());
    let index = index::read(&Posix, &prefix).unwrap();
    assert_eq!((index.id(&"a".into()), index.get(1)), (Some(2), None));
}

#[test]
fn of_several_that_bring_a_dataset_the_first_enters_it() {
    let (_dir, prefix) = prefix();
    let enter = |dataset: Dataset| index::enter_once(&Posix, &prefix, &dataset);
    let failed = || {
        let index = index::read(&Posix, &prefix).unwrap();
        let entry = index.get(3).unwrap();
        entry.failed.is_some()
    };
    let fail = || {
        let fail = |index: &mut crate::format::index::Index| {
            index.mark_failed(3, "t");
            Ok(())
        };
        index::update(&Posix, &prefix, fail).unwrap();
    };
    enter(dataset(3, "a", 10)).unwrap();
    fail();
    enter(dataset(3, "a", 10)).unwrap();
    assert!(failed(), "what the first has entered stays");
    // Of the same time, with another name; then of a later time: each is another dataset.
    for other in [dataset(3, "b", 10), dataset(3, "b", 11)] {
        enter(other).unwrap();
        assert!(!failed());
        fail();
    }
    let text = enter(dataset(3, "b", 10)).unwrap_err().to_string();
    assert!(
        text.contains("older than the dataset of that number"),
        "{text}"
    );
    assert!(failed());
    // A newer one of its name is complete.
    enter(dataset(2, "b", 9)).unwrap();
    let complete = |index: &mut crate::format::index::Index| {
        index.set_complete(dataset(4, "b", 12), "t");
        Ok(())
    };
    index::update(&Posix, &prefix, complete).unwrap();
    let text = enter(dataset(2, "b", 9)).unwrap_err().to_string();
    assert!(text.contains("dataset 4, which is newer"), "{text}");
}

#[test]
fn only_one_has_the_lock() {
    let (dir, _) = prefix();
    let lock = index::lock(&Posix, dir.path()).unwrap();
    assert!(Posix.try_lock(dir.path()).unwrap().is_none());
    // The reader waits for the file.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| index::lock(&Posix, dir.path()).map(drop));
        drop(lock);
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    let missing = index::lock(&Posix, &dir.path().join("missing"));
    assert!(missing.err().unwrap().is_not_found());
}

#[test]
fn of_all_ranks_with_a_file_the_lowest_owns_it() {
    const RANKS: usize = 5;
    // File f is registered by each rank that f divides, file 0 by all; in turned order.
    let files = |rank: usize| {
        let mut mine: Vec<usize> = (1..=40usize).filter(|f| rank.is_multiple_of(*f)).collect();
        mine.push(0);
        mine.rotate_left(rank % 3);
        mine
    };
    let found = threads::run(RANKS, |comm| {
        let names: Vec<String> = files(comm.rank())
            .iter()
            .map(|f| format!("d/{f}"))
            .collect();
        let paths: Vec<&Path> = names.iter().map(Path::new).collect();
        owners(&*comm, &paths).unwrap()
    });
    for (rank, owners) in found.into_iter().enumerate() {
        let expected = files(rank).into_iter().map(|file| {
            let mut ranks = 0..RANKS;
            ranks.find(|other| files(*other).contains(&file)).unwrap()
        });
        assert_eq!(owners, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_lock_that_another_holds_is_waited_for() {
    let (_dir, prefix) = prefix();
    let held = index::lock(&Posix, prefix.real()).unwrap();
    let waited = thread::scope(|scope| {
        let lock = || index::lock(&Posix, prefix.real()).map(drop);
        let waiting = scope.spawn(lock);
        sleep(Duration::from_millis(100));
        drop(held);
        waiting.join().unwrap()
    });
    assert_eq!(waited, Ok(()));
}

/// Somebody deletes or drops a dataset when its flush has only to enter it as complete.
#[test]
fn what_is_taken_out_during_its_flush_stays_out() {
    let (_dir, prefix) = prefix();
    let flushed = dataset(1, "a", 10);
    let time = || "t".to_string();
    let complete =
        || finish::complete(&Posix, &prefix, &flushed, Entering::Announced, &time).unwrap();
    let entries = || index::read(&Posix, &prefix).unwrap().datasets().len();
    finish::announce(&Posix, &prefix, &flushed).unwrap();
    assert_eq!(complete(), Entered::Now);
    // Another reader may have come first.
    assert_eq!(complete(), Entered::Before);
    assert_eq!(entries(), 1);
    finish::announce(&Posix, &prefix, &flushed).unwrap();
    let drop_it = |index: &mut crate::format::index::Index| {
        index.remove_id(1);
        Ok(())
    };
    index::update(&Posix, &prefix, drop_it).unwrap();
    assert_eq!(complete(), Entered::TakenOut);
    assert_eq!(entries(), 0);
}

/// A person builds a dataset after a run has looked for it, and before the run flushes it.
#[test]
fn what_is_complete_is_not_announced_again_unless_a_restart_from_it_failed() {
    let (_dir, prefix) = prefix();
    let built = dataset(1, "a", 10);
    let announce = |dataset| finish::announce(&Posix, &prefix, dataset).unwrap();
    let is_complete = || {
        let index = index::read(&Posix, &prefix).unwrap();
        index.get(1).unwrap().complete
    };
    assert_eq!(announce(&built), Announced::Begun);
    assert!(!is_complete());
    let time = || "t".to_string();
    finish::complete(&Posix, &prefix, &built, Entering::Announced, &time).unwrap();
    assert_eq!(announce(&built), Announced::Complete);
    assert!(is_complete());
    assert!(prefix.dataset(1).join("summary.scr").exists());
    index::update(&Posix, &prefix, |index| {
        index.mark_failed(1, "t");
        Ok(())
    })
    .unwrap();
    assert_eq!(announce(&built), Announced::Begun);
    assert!(!is_complete());
    finish::complete(&Posix, &prefix, &built, Entering::Announced, &time).unwrap();
    assert_eq!(announce(&dataset(1, "a", 11)), Announced::Begun);
}

/// A process was killed when it had put the complete summary in its place, and before it could sync the
/// directory.
#[test]
fn what_another_process_completed_is_synced_before_it_is_entered() {
    let (_dir, prefix) = prefix();
    let whole = Dataset {
        files: Some(0),
        size: Some(0),
        ..dataset(1, "a", 10)
    };
    finish::announce(&Posix, &prefix, &whole).unwrap();
    let entries = vec![RankEntry::default()];
    rank2file::write_all(&Posix, &prefix.dataset(1), entries).unwrap();
    finish::seal(&Posix, &prefix, &whole).unwrap();
    let files = CountingFiles::new(Posix);
    let tally = files.tally();
    let found = finish::seal_if_whole(&files, &prefix, &whole).unwrap();
    assert_eq!(found.map(|dataset| dataset.id), Some(1));
    assert_eq!(tally.take().get("sync"), Some(&2));
}

/// The index was made again, so that nothing is current, and then an older dataset is built.
#[test]
fn an_older_checkpoint_does_not_become_current_where_none_is() {
    let (_dir, prefix) = prefix();
    let enter = |dataset: &Dataset, entering| {
        let time = || "t".to_string();
        finish::complete(&Posix, &prefix, dataset, entering, &time).unwrap()
    };
    let checkpoint = |id, name, created| Dataset {
        flag_ckpt: true,
        ..dataset(id, name, created)
    };
    let saved = Entering::Saved { verified: true };
    for id in [1, 2, 3] {
        fs::create_dir_all(prefix.dataset(id)).unwrap();
    }
    enter(&checkpoint(2, "b", 11), Entering::Listed);
    enter(&checkpoint(1, "a", 10), saved);
    let index = index::read(&Posix, &prefix).unwrap();
    assert_eq!(index.current_id(), None);
    enter(&checkpoint(3, "c", 12), saved);
    let index = index::read(&Posix, &prefix).unwrap();
    assert_eq!(index.current_id(), Some(3));
}

/// A deletion that was killed has left the summary.
#[test]
fn a_dataset_without_its_rank2file_is_not_finished() {
    let (_dir, prefix) = prefix();
    let whole = Dataset {
        files: Some(1),
        size: Some(10),
        ..dataset(1, "a", 10)
    };
    finish::announce(&Posix, &prefix, &whole).unwrap();
    finish::seal(&Posix, &prefix, &whole).unwrap();
    let found = finish::seal_if_whole(&Posix, &prefix, &whole).unwrap();
    assert!(found.is_none());
}

#[test]
fn a_dataset_whose_name_has_gone_to_a_newer_one_is_not_entered_again() {
    let (_dir, prefix) = prefix();
    let older = dataset(1, "a", 10);
    finish::announce(&Posix, &prefix, &older).unwrap();
    let enter = |entering| finish::enter(&Posix, &prefix, &older, entering, &|| "t".to_string());
    let saved = Entering::Saved { verified: true };
    enter(saved).unwrap();
    finish::announce(&Posix, &prefix, &dataset(2, "a", 11)).unwrap();
    for entering in [saved, Entering::Listed] {
        let text = enter(entering).unwrap_err().to_string();
        assert!(text.contains("dataset 2 has taken its name"), "{text}");
        assert!(text.contains("`scr index --drop a`"), "{text}");
    }
    let index = index::read(&Posix, &prefix).unwrap();
    assert!(index.get(1).is_none() && index.current().is_none());
}
