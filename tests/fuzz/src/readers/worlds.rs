//! Whole directories in which one file has other bytes: a prefix directory, and the cache of a node. A job of one
//! rank starts there and restarts from what it is offered; commands look at them.
//!
//! An input begins with a byte that names the file, and one that tells whether the size and the checksum
//! of a metadata file are put right.

use super::{files_below, records, scratch};
use scr::comm::solo::Solo;
use scr::config::Config;
use scr::events::Memory;
use scr::format::Name;
use scr::job::Environment;
use scr::prefix::file_lists::FileLists;
use scr::prefix::paths::Prefix;
use scr::prefix::{finish, index, rank2file, records as prefix_records};
use scr::scavenge::build;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Files with their paths.
type Snapshot = Vec<(PathBuf, Vec<u8>)>;

const NAMES: [&str; 3] = ["ck.1", "ck.2", "ck.3"];

fn content(name: &str) -> Vec<u8> {
    name.bytes().cycle().take(900).collect()
}

/// A run in which `flush` and `containers` are as they are said.
pub fn session(base: &Path, flush: &str, containers: &str) -> scr::Result<Option<Session>> {
    let (prefix, local) = (base.join("prefix"), base.join("node"));
    for dir in [&prefix, &local] {
        std::fs::create_dir_all(dir).expect("a directory in memory");
    }
    let environment = Environment::empty()
        .with_host("n1")
        .with_cwd(&prefix)
        .with("SCR_NODE_NAME", "n1")
        .with("SCR_PREFIX", &prefix)
        .with("SCR_CACHE_BASE", &local)
        .with("SCR_CNTL_BASE", &local)
        .with("SCR_CACHE_BYPASS", "0")
        .with("SCR_CACHE_SIZE", "3")
        .with("SCR_JOB_ID", "1001")
        .with("SCR_USER_NAME", "user1")
        .with("SCR_LOG_ENABLE", "0")
        .with("SCR_FLUSH", flush)
        .with("SCR_USE_CONTAINERS", containers);
    let setup = Setup {
        comm: Box::new(Solo::new()),
        files: Arc::new(Posix),
        sink: Arc::new(Memory::default()),
        environment,
        lock_timeout: Duration::ZERO,
    };
    Session::init(setup, &mut Config::new())
}

/// What a run leaves that is killed after three checkpoints.
fn world(flush: &str, containers: &str) -> Snapshot {
    let base = scratch().join("first");
    let mut run = session(&base, flush, containers)
        .expect("an empty directory")
        .expect("SCR is enabled");
    for name in NAMES {
        run.start_output(Some(Name::from(name)), true, false)
            .expect("started");
        let path = run
            .route(Path::new(&format!("{name}/rank_0.dat")))
            .expect("routed");
        std::fs::write(path, content(name)).expect("written");
        run.complete_output(true).expect("completed");
    }
    drop(run);
    let all = files_below(&base);
    std::fs::remove_dir_all(&base).expect("removed");
    all
}

/// The worlds with data in the prefix directory: as plain files, and in containers.
fn prefixes() -> &'static [Snapshot; 2] {
    static WORLDS: OnceLock<[Snapshot; 2]> = OnceLock::new();
    WORLDS.get_or_init(|| {
        ["0", "1"].map(|containers| {
            let mut all = world("1", containers);
            all.retain(|(path, _)| path.starts_with("prefix"));
            all
        })
    })
}

/// The world with data in the cache.
fn caches() -> &'static [Snapshot; 1] {
    static WORLDS: OnceLock<[Snapshot; 1]> = OnceLock::new();
    WORLDS.get_or_init(|| [world("0", "0")])
}

fn is_metadata(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x95, 0x1f, 0xc3, 0xf5])
}

/// Each file once as it is, and once without header and checksum.
fn seeds(worlds: &[Snapshot]) -> Vec<Vec<u8>> {
    let all = worlds.iter().flatten().enumerate();
    let both = all.flat_map(|(number, (_, bytes))| {
        let plain = [&[number as u8, 0], &bytes[..]].concat();
        let tree = records::without_seal(bytes).filter(|_| is_metadata(bytes));
        let tree = tree.map(|tree| [&[number as u8, 1], tree].concat());
        [Some(plain), tree]
    });
    both.flatten().collect()
}

/// Makes the directory with the changed file in it. The path of that file, and whether it is as it was, or cannot
/// be told from a good one.
fn world_with(worlds: &[Snapshot], bytes: &[u8]) -> Option<(PathBuf, PathBuf, bool)> {
    let (number, rest) = bytes.split_first()?;
    let (seal, rest) = rest.split_first()?;
    let count: usize = worlds.iter().map(Vec::len).sum();
    let mut number = usize::from(*number) % count;
    let world = worlds.iter().find(|world| {
        let here = number < world.len();
        number -= if here { 0 } else { world.len() };
        here
    })?;
    let base = scratch().join("world");
    let _ = std::fs::remove_dir_all(&base);
    let sealed = seal % 2 == 1;
    for (at, (path, old)) in world.iter().enumerate() {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent()?).expect("a directory in memory");
        let new = match (at == number, sealed) {
            (false, _) => old.clone(),
            (true, false) => rest.to_vec(),
            (true, true) => records::sealed(rest),
        };
        std::fs::write(path, new).expect("a file in memory");
    }
    let (changed, old) = &world[number];
    // A changed file with a right checksum may be what another run has written.
    let unnoticed = sealed && is_metadata(old);
    Some((base.clone(), base.join(changed), unnoticed))
}

/// A start of the job, and its restart. What it is given is what was written, unless metadata say so.
fn restart(base: &Path, unnoticed: bool) {
    let Ok(Some(mut run)) = session(base, "1", "0") else {
        return;
    };
    for _ in NAMES {
        let Ok(Some(name)) = run.have_restart() else {
            break;
        };
        let name = name.to_string();
        let read = run
            .start_restart()
            .and_then(|_| run.route(Path::new(&format!("{name}/rank_0.dat"))));
        let bytes = read.ok().and_then(|path| std::fs::read(path).ok());
        let right = bytes.as_ref().is_some_and(|bytes| *bytes == content(&name));
        assert!(
            right || unnoticed || bytes.is_none(),
            "other bytes of {name} than were written"
        );
        if run.complete_restart(right).is_ok() {
            break;
        }
    }
    if run
        .start_output(Some(Name::from("ck.4")), true, true)
        .is_ok()
    {
        let _ = run.complete_output(true);
    }
}

/// What commands read of a prefix directory.
fn look_at(root: &Path) {
    let prefix = Prefix::new(root);
    let _ = prefix_records::read_halt(&Posix, &prefix);
    let _ = prefix_records::read_flush_file(&Posix, &prefix);
    let Ok(index) = index::read(&Posix, &prefix) else {
        return;
    };
    for id in index.datasets().keys().copied() {
        let dir = prefix.dataset(id);
        let _ = rank2file::for_each(&Posix, &dir, |_, _| Ok(()));
        let _ = build::read(&Posix, &prefix, id);
        let _ = build::read_complete(&Posix, &prefix, id);
        if let Ok(mut lists) = FileLists::open(&Posix, &prefix, id)
            && let Ok(files) = lists.of_rank(&Posix, &prefix, 0)
        {
            for path in files {
                assert!(path.starts_with(root), "{}", path.display());
            }
        }
    }
    let _ = finish::finish_ended(&Posix, &prefix, &String::new, &mut Vec::new());
}

pub fn of_prefix() -> Vec<Vec<u8>> {
    seeds(prefixes())
}

pub fn prefix(bytes: &[u8]) {
    if let Some((base, _, unnoticed)) = world_with(prefixes(), bytes) {
        look_at(&base.join("prefix"));
        restart(&base, unnoticed);
    }
}

pub fn of_cache() -> Vec<Vec<u8>> {
    seeds(caches())
}

pub fn cache(bytes: &[u8]) {
    if let Some((base, changed, unnoticed)) = world_with(caches(), bytes) {
        // SINGLE does not compare the checksums of data that lie where they were written.
        let data = changed.ends_with("rank_0.dat");
        restart(&base, unnoticed || data);
    }
}
