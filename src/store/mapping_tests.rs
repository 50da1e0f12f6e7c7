//! Files of tmpfs that are written over through a mapping, while others shorten, open, fill and remove them.

use super::file::PosixFile;
use super::lease::{Lease, SignalTaker};
use super::mapping::{Mapping, TMPFS};
use super::posix::Posix;
use super::{File, Files};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, ftruncate, open, statfs};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const SIZE: usize = 3 << 20;

/// A directory on tmpfs. Where `/dev/shm` is another file system, or files are not mapped, it says so and returns `None`.
pub(crate) fn memory() -> Option<TempDir> {
    let shm = Path::new("/dev/shm");
    if !cfg!(target_arch = "x86_64") || !statfs(shm).is_ok_and(|s| s.f_type as u64 == TMPFS) {
        println!("skipped: /dev/shm is not tmpfs, or this is no x86-64");
        return None;
    }
    tempfile::tempdir_in(shm).ok()
}

/// Bytes that differ with the place and with `seed`.
pub(crate) fn content(seed: u8, size: usize) -> Vec<u8> {
    let byte = |at: usize| (at.wrapping_mul(31) >> 3) as u8 ^ (at >> 12) as u8 ^ seed;
    (0..size).map(byte).collect()
}

/// Opens a file to write over it.
pub(super) fn opened(path: &Path) -> PosixFile {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let fd: OwnedFd = open(path, flags, Mode::from_raw_mode(0o600)).unwrap();
    PosixFile::new(fd, path)
}

/// A file with `SIZE` bytes that was kept and is written over under another name.
pub(super) fn written_over(dir: &Path) -> (PosixFile, PathBuf) {
    let (old, path) = (dir.join("old"), dir.join("new"));
    let file = opened(&old);
    file.write_at(0, &content(1, SIZE)).unwrap();
    let kept = Box::new(file).keep().unwrap();
    std::fs::rename(&old, &path).unwrap();
    let mut file = opened(&path);
    assert!(file.take_over(kept).is_none());
    (file, path)
}

/// Such a file for the tests of those who use it.
pub(crate) fn mapped(dir: &Path) -> (Box<dyn File>, PathBuf) {
    let (file, path) = written_over(dir);
    (Box::new(file), path)
}

/// True if `file` stores to its mapping now.
fn is_stored_to(file: &PosixFile, data: &[u8]) -> bool {
    file.store(0, data).0.len() < data.len()
}

#[test]
fn the_bytes_are_right_wherever_a_write_begins_and_ends() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let mut expected = content(1, SIZE);
    let lengths = [
        0,
        1,
        4095,
        4096,
        256 << 10,
        (256 << 10) + 4159,
        (260 << 10) + 1,
        1 << 20,
    ];
    let places = [0, 1, 63, 64, 65, 4095, 4096, 1 << 20, SIZE - (1 << 20)];
    for (seed, (place, length)) in places
        .iter()
        .flat_map(|p| lengths.map(|l| (*p, l)))
        .enumerate()
    {
        let data = content(seed as u8, length);
        file.write_at(place as u64, &data).unwrap();
        expected[place..place + length].copy_from_slice(&data);
        assert!(
            std::fs::read(&path).unwrap() == expected,
            "{length} at {place}"
        );
    }
    // What is behind the mapping is written, too, and part of the next mapping.
    let longer = content(7, SIZE + 123_457);
    file.write_at(0, &longer).unwrap();
    assert!(std::fs::read(&path).unwrap() == longer);
    let mut again = opened(&path);
    assert!(again.take_over(Box::new(file).keep().unwrap()).is_none());
    again.write_at(0, &content(8, longer.len())).unwrap();
    assert!(is_stored_to(&again, &longer));
    again.set_size(2 << 20).unwrap();
    assert!(
        !is_stored_to(&again, &longer),
        "it is shorter than the mapping"
    );
    again.write_at(0, &longer).unwrap();
    assert!(std::fs::read(&path).unwrap() == longer);
}

#[test]
fn only_a_file_that_was_kept_is_stored_to_and_its_time_changes() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(2, SIZE);
    assert!(!is_stored_to(&opened(&path), &data));
    let kept = Box::new(file).keep().unwrap();
    let mut other = opened(&dir.path().join("other"));
    other.write_at(0, &data).unwrap();
    let kept = other.take_over(kept).unwrap();
    let mut file = opened(&path);
    assert!(file.take_over(kept).is_none() && is_stored_to(&file, &data));
    let changed = |path: &Path| Posix.stat(path).unwrap().unwrap().mtime;
    let before = changed(&path);
    thread::sleep(Duration::from_millis(20));
    file.write_at(0, &data).unwrap();
    assert!(changed(&path) > before);
}

/// A process that has the file open could shorten it at any time.
#[test]
fn a_file_that_somebody_has_open_is_written_by_calls() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(3, SIZE);
    let reader = std::fs::File::open(&path).unwrap();
    assert!(!is_stored_to(&file, &data));
    file.write_at(0, &data).unwrap();
    assert!(std::fs::read(&path).unwrap() == data);
    drop(reader);
    assert!(is_stored_to(&file, &data));
}

/// Without the lease this test ends by SIGBUS, and without an owner of the lease's signal by SIGIO.
#[test]
fn a_file_that_others_shorten_and_open_meanwhile_ends_nothing() {
    const TIMES: usize = 60;
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let done = AtomicBool::new(false);
    let stored = AtomicUsize::new(0);
    let whole = content(4, SIZE);
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for time in 0..TIMES {
                // SAFETY: the name ends with 0.
                assert_eq!(unsafe { libc::truncate(name.as_ptr(), 0) }, 0);
                assert!(std::fs::File::open(&path).is_ok(), "{time}");
                // The writer gets on in between, however slow the machine is.
                let before = stored.load(Ordering::Relaxed);
                while stored.load(Ordering::Relaxed) < before + 2 {
                    thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            file.write_at(0, &whole).unwrap();
            stored.fetch_add(1, Ordering::Relaxed);
        }
    });
    file.write_at(0, &whole).unwrap();
    assert!(std::fs::read(&path).unwrap() == whole);
    assert!(is_stored_to(&file, &whole));
}

#[test]
fn a_file_with_holes_is_written_by_calls() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(5, SIZE);
    let punch = |path: &Path| {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(
            std::fs::File::options().write(true).open(path).unwrap(),
            flags,
            8192,
            4096,
        )
        .unwrap();
    };
    punch(&path);
    assert!(!is_stored_to(&file, &data));
    file.write_at(0, &data).unwrap();
    assert!(is_stored_to(&file, &data));
    // Nor is it mapped.
    let new = dir.path().join("sparse");
    let sparse = opened(&new);
    sparse.write_at(0, &data).unwrap();
    let kept = Box::new(sparse).keep().unwrap();
    punch(&new);
    let mut sparse = opened(&new);
    assert!(sparse.take_over(kept).is_none() && !is_stored_to(&sparse, &data));
    sparse.write_at(0, &data).unwrap();
    assert!(std::fs::read(&new).unwrap() == data);
}

/// Without the look for holes this test ends by SIGBUS.
#[test]
fn a_full_store_is_an_error_and_ends_nothing() {
    let Some(store) = small_store() else { return };
    let (file, path) = written_over(store.path());
    let data = content(6, SIZE);
    assert!(is_stored_to(&file, &data));
    ftruncate(file.descriptor().unwrap(), 4096).unwrap();
    ftruncate(file.descriptor().unwrap(), SIZE as u64).unwrap();
    let filler = opened(&store.path().join("filler"));
    let full = (0..).find_map(|at| filler.write_at(at << 20, &data[..1 << 20]).err());
    assert!(full.unwrap().is_full());
    assert!(file.write_at(0, &data).unwrap_err().is_full());
    drop((file, path));
}

/// A directory with a tmpfs of 8 MiB, which only the calling thread sees, and which ends with it. `None`, with a line,
/// where that may not be mounted.
fn small_store() -> Option<TempDir> {
    memory()?;
    let dir = tempfile::tempdir().unwrap();
    let path = CString::new(dir.path().as_os_str().as_bytes()).unwrap();
    let mount = |what: Option<&CStr>, place: &CStr, flags, options: Option<&CStr>| {
        let or_null = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: all texts end with 0, and live longer than the call.
        let done = unsafe {
            libc::mount(
                or_null(what),
                place.as_ptr(),
                or_null(what),
                flags,
                or_null(options).cast(),
            )
        };
        done == 0
    };
    // SAFETY: takes an integer. Only this thread, which runs one test, gets other mounts.
    let alone = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0;
    let mounted = alone
        && mount(None, c"/", libc::MS_REC | libc::MS_PRIVATE, None)
        && mount(Some(c"tmpfs"), &path, 0, Some(c"size=8m"));
    if !mounted {
        println!("skipped: no tmpfs may be mounted here");
    }
    mounted.then_some(dir)
}

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// No other test of this file gets a SIGIO, so the handler may stay.
#[test]
fn the_program_gets_no_signal_of_ours_and_its_own() {
    let Some(dir) = memory() else { return };
    // SAFETY: the handler only changes an atomic value.
    unsafe { libc::signal(libc::SIGIO, count as *const () as libc::sighandler_t) };
    let (file, path) = written_over(dir.path());
    let fd = file.descriptor().unwrap().try_clone_to_owned().unwrap();
    let before = SIGNALS.load(Ordering::Relaxed);
    let taker = SignalTaker::start().unwrap();
    let lease = Lease::take(fd.as_fd(), &taker).unwrap();
    let opener = thread::spawn(move || Posix.open(&path).map(drop));
    // SAFETY: takes three integers.
    while unsafe { libc::fcntl(rustix::fd::AsRawFd::as_raw_fd(&fd), libc::F_GETLEASE) }
        == libc::F_WRLCK
    {
        thread::yield_now();
    }
    assert!(lease.give_back());
    assert_eq!(
        opener.join().unwrap(),
        Ok(()),
        "who opens without blocking waits"
    );
    assert_eq!(SIGNALS.load(Ordering::Relaxed), before);
    // SAFETY: a signal that has a handler.
    unsafe { libc::raise(libc::SIGIO) };
    assert_eq!(SIGNALS.load(Ordering::Relaxed), before + 1);
}

#[test]
fn children_and_dumps_do_not_get_the_mapping() {
    let Some(dir) = memory() else { return };
    let (_file, path) = written_over(dir.path());
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let of_file = maps.split(&*path.display().to_string()).nth(1).unwrap();
    let flags = of_file
        .lines()
        .find(|line| line.starts_with("VmFlags:"))
        .unwrap();
    assert!(flags.contains(" dc") && flags.contains(" dd"), "{flags}");
}

#[test]
fn a_kept_file_that_is_removed_is_given_up() {
    let Some(dir) = memory() else { return };
    let kept = super::KeptFiles::default();
    let is_mapped = |path: &Path| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains(&path.display().to_string())
    };
    let (file, path) = written_over(dir.path());
    let data = content(9, SIZE);
    std::fs::remove_file(&path).unwrap();
    assert!(
        is_stored_to(&file, &data),
        "it has no name, but its pages are there"
    );
    kept.add(Box::new(file));
    assert!(is_mapped(&path));
    kept.drop_removed();
    assert!(!is_mapped(&path));
    let (file, path) = written_over(dir.path());
    kept.add(Box::new(file));
    kept.drop_removed();
    assert!(is_mapped(&path));
    kept.clear();
    assert!(!is_mapped(&path));
}

#[test]
fn a_mapped_file_is_read_through_its_mapping_unless_somebody_has_it_open() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(10, SIZE);
    file.write_at(0, &data).unwrap();
    let mapping = Mapping::new(file.descriptor().unwrap()).unwrap();
    let read = |place: usize, length: usize| {
        let mut found = vec![0; length];
        let loaded = mapping.load(file.descriptor().unwrap(), place as u64, &mut found);
        assert!(!loaded || found == data[place..place + length]);
        loaded
    };
    for place in [0, 1, 4097, SIZE - (256 << 10)] {
        assert!(read(place, 256 << 10), "{place}");
        let mut found = vec![0; 256 << 10];
        file.read_at(place as u64, &mut found).unwrap();
        assert!(found == data[place..place + found.len()]);
    }
    let beyond = &mut vec![0; 256 << 10];
    assert!(!mapping.load(
        file.descriptor().unwrap(),
        (SIZE - beyond.len() + 1) as u64,
        beyond
    ));
    let reader = std::fs::File::open(&path).unwrap();
    assert!(!read(0, SIZE));
    drop(reader);
    assert!(read(0, SIZE));
    // Without the look at the size this test ends by SIGBUS.
    ftruncate(file.descriptor().unwrap(), 1 << 20).unwrap();
    assert!(!mapping.load(file.descriptor().unwrap(), 1 << 20, beyond));
    assert!(file.read_at(1 << 20, beyond).is_err());
}

#[test]
fn a_file_system_that_keeps_files_goes_on_with_them() {
    let Some(dir) = memory() else { return };
    let kept = super::KeptFiles::default();
    let files = kept.used_by(std::sync::Arc::new(Posix));
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let here = dir.path().display().to_string();
        maps.lines().filter(|line| line.contains(&here)).count()
    };
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    let read = |path: &Path| {
        let mut found = vec![0; SIZE];
        files.open(path).unwrap().read_at(0, &mut found).unwrap();
        found
    };
    let write = |path: &Path, seed| {
        let file = files.rewrite(path, 0o600).unwrap();
        file.write_at(0, &content(seed, SIZE)).unwrap();
    };
    write(&old, 11);
    assert!(read(&old) == content(11, SIZE));
    assert_eq!(mapped(), 0, "to map it takes as long as to read it once");
    std::fs::rename(&old, &new).unwrap();
    write(&new, 12);
    assert_eq!(mapped(), 1);
    assert!(read(&new) == content(12, SIZE));
    assert_eq!(mapped(), 1, "it is kept again");
    files.remove_tree(&new).unwrap();
    assert_eq!(mapped(), 0, "its space is free");
}

/// Writes `data` at `place` of a file and returns what is shown, unless that cannot be done.
fn written_and_seen(file: &PosixFile, place: usize, data: &[u8]) -> Option<Vec<u8>> {
    let mut seen = Vec::new();
    let mut see = |bytes: &[u8]| seen.extend_from_slice(bytes);
    let done = file.write_and_see(place as u64, data, &mut see).unwrap();
    done.then_some(seen)
}

#[test]
fn what_is_written_is_seen_as_it_lies_in_the_file() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let mut expected = content(1, SIZE);
    let lengths = [64 << 10, (64 << 10) + 1, 100_000, 256 << 10, 1 << 20];
    for (number, length) in lengths.into_iter().enumerate() {
        for place in [0, 1, 63, 4097, SIZE - length] {
            let data = content((number + place) as u8 ^ 0x5a, length);
            expected[place..place + length].copy_from_slice(&data);
            let before = std::fs::metadata(&path).unwrap().modified().unwrap();
            thread::sleep(Duration::from_millis(10));
            let seen = written_and_seen(&file, place, &data).unwrap();
            assert!(seen == data, "{length} at {place}");
            let after = std::fs::metadata(&path).unwrap().modified().unwrap();
            assert!(after > before, "{length} at {place}");
        }
    }
    assert!(std::fs::read(&path).unwrap() == expected);
}

#[test]
fn nothing_is_seen_where_the_mapping_cannot_be_used() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(2, 256 << 10);
    assert_eq!(written_and_seen(&file, 0, &data[..(64 << 10) - 1]), None);
    let beyond = SIZE - data.len() + 1;
    assert_eq!(written_and_seen(&file, beyond, &data), None);
    let reader = std::fs::File::open(&path).unwrap();
    assert_eq!(written_and_seen(&file, 0, &data), None);
    drop(reader);
    assert!(written_and_seen(&file, 0, &data).is_some());
    // Without the look at the size this test ends by SIGBUS.
    ftruncate(file.descriptor().unwrap(), 1 << 20).unwrap();
    assert_eq!(written_and_seen(&file, 1 << 20, &data), None);
    let path = dir.path().join("new2");
    let file = opened(&path);
    file.write_at(0, &content(1, SIZE)).unwrap();
    assert_eq!(written_and_seen(&file, 0, &data), None, "it is not mapped");
}
