//! Files of tmpfs that are looked at where they lie, while others shorten, write and punch them.

use super::mapping::TMPFS;
use super::posix::Posix;
use super::{File, Files, SHOWN};
use rustix::fs::{FallocateFlags, fallocate, statfs};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use tempfile::TempDir;

const SIZE: usize = (13 << 20) + 123;

/// A file of `SIZE` bytes on tmpfs. Where `/dev/shm` is another file system, or files are not mapped, it says so and returns
/// `None`.
fn in_memory() -> Option<(TempDir, PathBuf, Vec<u8>)> {
    let shm = Path::new("/dev/shm");
    if !cfg!(target_arch = "x86_64") || !statfs(shm).is_ok_and(|s| s.f_type as u64 == TMPFS) {
        println!("skipped: /dev/shm is not tmpfs, or this is no x86-64");
        return None;
    }
    let dir = tempfile::tempdir_in(shm).ok()?;
    let path = dir.path().join("file");
    let byte = |at: usize| (at.wrapping_mul(31) >> 3) as u8 ^ (at >> 12) as u8;
    let content: Vec<u8> = (0..SIZE).map(byte).collect();
    std::fs::write(&path, &content).ok()?;
    Some((dir, path, content))
}

/// What is shown of bytes of a file, if that counts.
fn seen(file: &dyn File, bytes: Range<usize>) -> Option<Vec<u8>> {
    let mut seen = Vec::new();
    let bytes = bytes.start as u64..bytes.end as u64;
    let add = &mut |piece: &[u8]| seen.extend_from_slice(piece);
    file.show(bytes, SHOWN, add).unwrap().then_some(seen)
}

fn windows_of(path: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = path.display().to_string();
    maps.lines().filter(|line| line.contains(&path)).count()
}

#[test]
fn the_bytes_are_shown_in_order_wherever_they_begin_and_end() {
    let Some((_dir, path, content)) = in_memory() else {
        return;
    };
    let file = Posix.open(&path).unwrap();
    let windows = [0, 1, 4095, 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 5];
    for start in windows {
        for end in [(8 << 20) + 5, (12 << 20) - 1, 12 << 20, SIZE - 1, SIZE] {
            let found = seen(&*file, start..end);
            assert!(
                found.is_some_and(|found| found == content[start..end]),
                "{start} {end}"
            );
        }
    }
    // Few bytes are read.
    assert!(seen(&*file, 0..1 << 20).is_none());
    assert!(seen(&*file, 5 << 20..SIZE + 1).is_none());
    assert_eq!(windows_of(&path), 0);
}

/// A process that has the file open for writing could shorten it at any time.
#[test]
fn a_file_that_somebody_may_write_to_is_read() {
    let Some((_dir, path, _)) = in_memory() else {
        return;
    };
    let file = Posix.open(&path).unwrap();
    let reader = std::fs::File::open(&path).unwrap();
    assert!(seen(&*file, 0..SIZE).is_some());
    let writer = std::fs::File::options().write(true).open(&path).unwrap();
    assert!(seen(&*file, 0..SIZE).is_none());
    drop(writer);
    assert!(seen(&*file, 0..SIZE).is_some());
    drop(reader);
}

/// Who was shown a hole would have allocated it, in a store that may be full.
#[test]
fn a_file_with_holes_is_read() {
    let Some((_dir, path, _)) = in_memory() else {
        return;
    };
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let writer = std::fs::File::options().write(true).open(&path).unwrap();
    fallocate(&writer, flags, 8192, 4096).unwrap();
    drop(writer);
    let before = std::fs::metadata(&path).unwrap().blocks();
    assert!(seen(&*Posix.open(&path).unwrap(), 0..SIZE).is_none());
    assert_eq!(std::fs::metadata(&path).unwrap().blocks(), before);
}

/// Without the lease this test ends by SIGBUS.
#[test]
fn a_file_that_others_shorten_meanwhile_ends_nothing_and_what_counts_is_right() {
    const TIMES: usize = 20;
    let Some((_dir, path, content)) = in_memory() else {
        return;
    };
    let file = Posix.open(&path).unwrap();
    let (done, looks, whole) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..TIMES {
                let writer = std::fs::File::options().write(true).open(&path).unwrap();
                writer.set_len(5 << 20).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&writer, &content, 0).unwrap();
                drop(writer);
                // The reader gets on in between, however slow the machine is.
                let before = looks.load(Ordering::Relaxed);
                while looks.load(Ordering::Relaxed) < before + 2 {
                    thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            if let Some(found) = seen(&*file, 0..SIZE) {
                assert!(found == content);
                whole.fetch_add(1, Ordering::Relaxed);
            }
            looks.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(whole.load(Ordering::Relaxed) > 0);
}
