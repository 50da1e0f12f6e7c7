//! A run of many checkpoints: the last ones cost what the first ones did.

use crate::job::in_memory;
use crate::site::Site;
use crate::{alone, memory, number};
use scr::Result;
use scr::config::Config;
use scr::events::{Message, Sink, Speaker};
use scr::format::Dataset;
use scr::prefix::index;
use scr::prefix::paths::Prefix;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr::store::{Durability, File, Files, Lock, Refused, Space, Stat};
use scr_engine::forward;
use scr_jobs::tally::{CountingFiles, FileTally};
use scr_testing::threads;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

/// Two ranks with redundancy, on a node each.
const NODES: [&str; 2] = ["n0", "n1"];

/// Between two looks at what a run has: so many checkpoints, a few of them flushed.
const WINDOW: usize = 20;

/// Hears nothing, so that no memory grows with what is told.
struct Deaf;

impl Sink for Deaf {
    fn take(&self, _: &Speaker, _: &Message) {}
}

/// What rank 0 does in a window, and what there is at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Costs {
    /// Operations on files, by name.
    operations: BTreeMap<&'static str, u64>,
    read: u64,
    written: u64,
    open_files: usize,
    threads: usize,
    /// Entries of the prefix directory, of its `.scr`, and of the node's storage, with all below.
    entries: [usize; 3],
}

fn count(dir: &str) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

/// Waits until no thread deletes what nodes had.
fn wait_for_deletions(site: &Site) {
    let is_named = |dir: &Path, name: &str| {
        let listed = std::fs::read_dir(dir).into_iter().flatten();
        listed
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(name))
    };
    // A thread has no name before it begins, and the datasets are gone before it ends.
    let deletes = |task: std::io::Result<std::fs::DirEntry>| {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
        name.is_ok_and(|name| name.starts_with("scr-delete"))
    };
    while NODES
        .iter()
        .any(|node| is_named(&site.cache(node), "scr.trash."))
        || std::fs::read_dir("/proc/self/task").unwrap().any(deletes)
    {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn entries(dir: &Path) -> usize {
    let found = std::fs::read_dir(dir).into_iter().flatten();
    let below = |entry: std::io::Result<std::fs::DirEntry>| {
        // A thread may delete it at this moment.
        let Ok(entry) = entry else { return 0 };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => 1 + entries(&entry.path()),
            _ => 1,
        }
    };
    found.map(below).sum()
}

/// One rank of a run.
struct Run {
    rank: usize,
    session: Session,
    tally: FileTally,
    before: (u64, u64),
    dirs: [PathBuf; 3],
}

impl Run {
    fn checkpoint(&mut self, number: usize) {
        let name = format!("ck.{number:06}");
        let session = &mut self.session;
        session
            .start_output(Some(name.as_str().into()), true, false)
            .unwrap();
        let file = format!("{name}/rank_{}", self.rank);
        let path = session.route(Path::new(&file)).unwrap();
        std::fs::write(path, b"content").unwrap();
        session.complete_output(true).unwrap();
    }

    fn costs(&mut self) -> Costs {
        let (read, written) = self.tally.bytes();
        let before = std::mem::replace(&mut self.before, (read, written));
        Costs {
            operations: self.tally.take(),
            read: read - before.0,
            written: written - before.1,
            open_files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            entries: self.dirs.clone().map(|dir| entries(&dir)),
        }
    }
}

/// Takes so many checkpoints with these parameters, and tells `look` of each window: its number, its time, its costs.
fn run(
    settings: &[(&str, &str)],
    checkpoints: usize,
    look: impl Fn(usize, Duration, Costs) + Sync,
) {
    let mut site = in_memory()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "10");
    for (name, value) in settings {
        site = site.set(name, value);
    }
    // While rank 0 looks, the other does nothing.
    let wait = Barrier::new(NODES.len());
    threads::run(NODES.len(), |comm| {
        let rank = comm.rank();
        let files = CountingFiles::new(Posix);
        let tally = files.tally();
        let setup = Setup {
            comm,
            files: Arc::new(files),
            sink: Arc::new(Deaf),
            environment: site.environment(NODES[rank]),
            lock_timeout: Duration::from_secs(10),
        };
        let mut run = Run {
            rank,
            session: Session::init(setup, &mut Config::new()).unwrap().unwrap(),
            tally,
            before: (0, 0),
            dirs: [
                site.prefix(),
                site.prefix().join(".scr"),
                site.node(NODES[0]),
            ],
        };
        for window in 0..checkpoints / WINDOW {
            let begun = Instant::now();
            for at in 0..WINDOW {
                run.checkpoint(window * WINDOW + at + 1);
            }
            let took = begun.elapsed();
            wait.wait();
            if rank == 0 {
                wait_for_deletions(&site);
                look(window, took, run.costs());
            }
            wait.wait();
        }
        run.session.finalize(&mut Config::new()).unwrap();
    });
}

/// What there is after 1020 checkpoints, and after 3000, all with numbers of as many digits.
fn first_and_last(settings: &[(&str, &str)]) -> [(Costs, u64); 2] {
    let seen = Mutex::new(Vec::new());
    run(settings, 3000, |window, _, costs| {
        if [1000, 2980].contains(&(window * WINDOW)) {
            seen.lock().unwrap().push((costs, memory::live()));
        }
    });
    seen.into_inner().unwrap().try_into().unwrap()
}

#[test]
fn a_long_run_costs_as_much_at_its_end_as_at_its_beginning() {
    let _alone = alone();
    for containers in ["0", "1"] {
        let settings = [("SCR_PREFIX_SIZE", "3"), ("SCR_USE_CONTAINERS", containers)];
        let [(first, live), (last, live_then)] = first_and_last(&settings);
        // A time takes more or fewer digits.
        let alike = |one: u64, other: u64| one.abs_diff(other) * 100 < one;
        assert!(
            alike(first.read, last.read) && alike(first.written, last.written),
            "{first:?}, {last:?}"
        );
        let last = Costs {
            read: first.read,
            written: first.written,
            ..last
        };
        assert_eq!(first, last);
        let grown = live_then.saturating_sub(live);
        assert!(grown < 4 << 10, "{grown} bytes more after 2000 checkpoints");
    }
}

/// The threads work at other times in each run, so the counts may differ a little.
#[test]
fn a_long_run_with_flushes_in_the_background_keeps_nothing() {
    let _alone = alone();
    let settings = [("SCR_PREFIX_SIZE", "3"), ("SCR_FLUSH_ASYNC", "1")];
    let [(first, live), (last, live_then)] = first_and_last(&settings);
    let sum = |costs: &Costs| costs.operations.values().sum::<u64>();
    // One flush more or less falls into 20 checkpoints with two.
    assert!(sum(&last) < 2 * sum(&first), "{first:?}, {last:?}");
    assert!(
        last.open_files < first.open_files + 20,
        "{first:?}, {last:?}"
    );
    assert_eq!(first.threads, last.threads);
    for (first, last) in first.entries.iter().zip(&last.entries) {
        assert!(*last < first + 20, "{first:?}, {last:?}");
    }
    let grown = live_then.saturating_sub(live);
    assert!(
        grown < 100 << 10,
        "{grown} bytes more after 2000 checkpoints"
    );
}

/// Deletes slowly, as a busy node or a large dataset does.
#[derive(Clone)]
struct SlowDeletion(Arc<dyn Files>);

impl Files for SlowDeletion {
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(SlowDeletion(self.0.beneath(roots)))
    }
    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files> {
        Arc::new(SlowDeletion(self.0.holding(dirs)))
    }
    fn remove_tree(&self, path: &Path) -> Result<()> {
        if path.to_string_lossy().contains("/scr.trash.") && path.exists() {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.0.remove_tree(path)
    }

    forward! { self.0;
        fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>>;
        fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>>;
        fn real_dir(&self, path: &Path) -> Result<PathBuf>;
        fn open(&self, path: &Path) -> Result<Box<dyn File>>;
        fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>>;
        fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()>;
        fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64>;
        fn make_dirs(&self, path: &Path) -> Result<()>;
        fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn may_add(&self, dir: &Path) -> Result<()>;
        fn list(&self, path: &Path) -> Result<Vec<OsString>>;
        fn stat(&self, path: &Path) -> Result<Option<Stat>>;
        fn identity(&self, path: &Path) -> Option<(u64, u64)>;
        fn rename(&self, from: &Path, to: &Path) -> Result<()>;
        fn remove_file(&self, path: &Path) -> Result<()>;
        fn remove_dir(&self, path: &Path) -> Result<bool>;
        fn sync_dir(&self, path: &Path) -> Result<()>;
        fn sync_fs(&self, path: &Path) -> Result<()>;
        fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused>;
        fn space(&self, path: &Path) -> Result<Space>;
        fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
        fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
    }
}

#[test]
fn a_program_that_is_faster_than_deletion_waits_for_it() {
    let _alone = alone();
    let files: Arc<dyn Files> = Arc::new(SlowDeletion(Arc::new(Posix)));
    let site = in_memory().set("SCR_CACHE_SIZE", "1").set("SCR_FLUSH", "0");
    let most = threads::run(1, |comm| {
        let setup = Setup {
            comm,
            files: files.clone(),
            sink: Arc::new(Deaf),
            environment: site.environment("n0"),
            lock_timeout: Duration::from_secs(10),
        };
        let mut run = Run {
            rank: 0,
            session: Session::init(setup, &mut Config::new()).unwrap().unwrap(),
            tally: FileTally::default(),
            before: (0, 0),
            dirs: Default::default(),
        };
        let mut most = 0;
        for number in 1..30 {
            run.checkpoint(number);
            let names = std::fs::read_dir(site.cache("n0")).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            most = most.max(names.filter(|name| name.starts_with("scr.trash.")).count());
        }
        most
    });
    assert!(
        most[0] <= 4,
        "{} datasets were being deleted at once",
        most[0]
    );
}

/// By hand: `SCR_GROWTH_CHECKPOINTS=100000`, with `SCR_GROWTH_PREFIX_SIZE=0` for an index that grows, and
/// `SCR_GROWTH_ASYNC=1`. Prints every tenth part of the run.
#[test]
fn the_costs_of_a_long_run() {
    let _alone = alone();
    let checkpoints = number("SCR_GROWTH_CHECKPOINTS", 200);
    let size = number("SCR_GROWTH_PREFIX_SIZE", 3).to_string();
    let background = number("SCR_GROWTH_ASYNC", 0).to_string();
    let flush = number("SCR_GROWTH_FLUSH", 10).to_string();
    let settings = [
        ("SCR_PREFIX_SIZE", size.as_str()),
        ("SCR_FLUSH_ASYNC", &background),
        ("SCR_FLUSH", &flush),
    ];
    let windows = checkpoints / WINDOW;
    run(&settings, checkpoints, |window, took, costs| {
        if window == 0 || (window + 1) % (windows / 10).max(1) == 0 {
            let each = took.as_secs_f64() / WINDOW as f64 * 1e6;
            let all: u64 = costs.operations.values().sum();
            println!(
                "{} checkpoints: {each:.0} us each, {all} operations, {} bytes read, {} written, {} files open, {} \
                 threads, entries {:?}, {} bytes live",
                (window + 1) * WINDOW,
                costs.read,
                costs.written,
                costs.open_files,
                costs.threads,
                costs.entries,
                memory::live()
            );
        }
    });
}

/// By hand: `SCR_GROWTH_INDEX=100000`. What one flush pays for the datasets that the index has already.
#[test]
fn the_costs_of_a_large_index() {
    let _alone = alone();
    let site = in_memory();
    std::fs::create_dir(site.prefix().join(".scr")).unwrap();
    let prefix = Prefix::new(&site.prefix());
    let dataset = |id: u64| Dataset {
        id,
        name: format!("ck.{id:06}").into(),
        flag_ckpt: true,
        ckpt: Some(id),
        created: id,
        files: Some(1000),
        size: Some(1 << 30),
        user: "user1".into(),
        jobid: "1001".into(),
        ..Dataset::default()
    };
    let datasets = number("SCR_GROWTH_INDEX", 1000) as u64;
    let files = CountingFiles::new(Posix);
    index::update(&files, &prefix, |index| {
        (1..=datasets).for_each(|id| index.set_complete(dataset(id), "2026-01-01T00:00:00"));
        Ok(())
    })
    .unwrap();
    let begun = Instant::now();
    let index = index::read(&files, &prefix).unwrap();
    let read = begun.elapsed();
    assert_eq!(index.datasets().len() as u64, datasets);
    memory::take_peak();
    let live = memory::live();
    let begun = Instant::now();
    index::enter(&files, &prefix, &dataset(datasets + 1)).unwrap();
    println!(
        "{datasets} datasets: index of {} bytes, read in {read:.3?}, changed in {:.3?} with {} bytes of memory",
        std::fs::metadata(prefix.file("index.scr")).unwrap().len(),
        begun.elapsed(),
        memory::take_peak() - live
    );
}
