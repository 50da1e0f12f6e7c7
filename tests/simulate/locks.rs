//! The lock of `src/store/lock_directory.rs`, for file systems without locks, is tested on the virtual clock.

use scr::store::posix::Posix;
use scr::store::{LOCK_DIRECTORY, lock_by_directory};
use scr::system::simulated::scheduler::{Simulation, Step};
use scr::system::time::{Instant, sleep};
use std::path::PathBuf;
use std::time::Duration;

/// The process that has the lock.
const HOLDER: u32 = 1;

/// Another process tries to take, within `patience`, a lock that its holder keeps for ten minutes. True if it has got
/// it. `stop`: the holder is stopped as soon as it has the lock.
fn takes_the_lock(stop: bool, patience: Duration) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let (mine, other) = (dir.path().to_path_buf(), dir.path().to_path_buf());
    let take = |dir: PathBuf, patience| {
        lock_by_directory(&Posix, &dir, Instant::now() + patience).unwrap()
    };
    let simulation = Simulation::new(1);
    simulation.start(HOLDER, "holder", move || {
        let held = take(mine, Duration::ZERO);
        assert!(held.is_some());
        sleep(Duration::from_secs(600));
    });
    while !dir.path().join(LOCK_DIRECTORY).exists() {
        assert!(matches!(simulation.step(), Step::Ran(_)));
    }
    if stop {
        simulation.stop(HOLDER);
    }
    let (tell, told) = std::sync::mpsc::channel();
    simulation.start(HOLDER + 1, "other", move || {
        tell.send(take(other, patience).is_some()).unwrap();
    });
    while matches!(simulation.step(), Step::Ran(_)) {}
    assert_eq!(simulation.take_panics(), Vec::<String>::new());
    told.recv().unwrap()
}

/// A dataset was deleted while `scr index --build` worked on it, after that had waited for the lock of the index for as long
/// as it takes to break the lock of a killed process.
#[test]
fn a_lock_is_kept_as_long_as_its_holder_lives() {
    assert!(!takes_the_lock(false, Duration::from_secs(120)));
    assert!(takes_the_lock(false, Duration::from_secs(700)));
}

#[test]
fn the_lock_of_a_stopped_process_is_broken() {
    assert!(!takes_the_lock(true, Duration::from_secs(10)));
    assert!(takes_the_lock(true, Duration::from_secs(30)));
}
