//! Times the copies of flush and fetch beside `cp` and `tar`, in the same run.
//!
//! Usage: cargo bench --no-default-features --bench copy -- FROM TO [MIB [FILES [WORKERS]]]
//!
//! FROM and TO are directories, say of a node's store and of the prefix directory. Copies WORKERS
//! (1) times a file of MIB (512) MiB at once, then FILES (10000) files of 4 KiB; each figure is the
//! median of five, in seconds, and the part of `cp` or `tar | tar` that it takes. "synced" means
//! that the copies are on stable storage at the end; for `cp` and `tar` that is `sync -f`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use scr::store::Files;
use scr::store::posix::Posix;
use scr::transfer::copy::{Copier, CopyMode};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const REPEATS: usize = 5;
const SMALL: usize = 4096;
const BUFFER: usize = 32 << 20;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    words.retain(|word| !word.starts_with("--"));
    let number = |at: usize, usual| words.get(at).map_or(usual, |w| w.parse().unwrap());
    let [from, to] = [0, 1].map(|at| PathBuf::from(words.get(at).expect("FROM and TO")));
    let (mib, files, workers) = (number(2, 512), number(3, 10_000), number(4, 1));
    let (from, to) = (from.join("scr-copy-bench"), to.join("scr-copy-bench.to"));
    let _ = fs::remove_dir_all(&from);
    fs::create_dir_all(from.join("small")).unwrap();
    let large: Vec<PathBuf> = (0..workers)
        .map(|w| from.join(format!("large{w}")))
        .collect();
    for (seed, path) in large.iter().enumerate() {
        fs::write(path, bytes(mib << 20, seed as u64)).unwrap();
    }
    for file in 0..files {
        let path = from.join(format!("small/{file}"));
        fs::write(path, bytes(SMALL, file as u64)).unwrap();
    }
    run("sync", &[]);

    println!(
        "{workers} x {mib} MiB, {} -> {}",
        from.display(),
        to.display()
    );
    let cp = |path: &Path| run("cp", &[path, &to]);
    let plain = time(&to, || each(&large, cp));
    let synced = time(&to, || {
        each(&large, cp);
        run("sync", &["-f".as_ref(), &to]);
    });
    println!("  cp {plain:.3}   synced {synced:.3}");
    for (crc, sync) in [(false, false), (true, false), (false, true), (true, true)] {
        let taken = time(&to, || {
            each(&large, |path| copy(&[path.into()], &to, crc, sync))
        });
        show(crc, sync, taken, if sync { synced } else { plain });
    }

    println!("{files} x {SMALL} B");
    let tar = format!(
        "tar -C {0}/small -cf - . | tar -C {1} -xf -",
        from.display(),
        to.display()
    );
    let tar = |synced: bool| {
        run("sh", &["-c".as_ref(), tar.as_ref()]);
        if synced {
            run("sync", &["-f".as_ref(), &to]);
        }
    };
    let plain = time(&to, || tar(false));
    let synced = time(&to, || tar(true));
    println!("  tar | tar {plain:.3}   synced {synced:.3}");
    let mut small: Vec<PathBuf> = fs::read_dir(from.join("small"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    small.sort();
    for (crc, sync) in [(false, false), (true, false), (true, true)] {
        let taken = time(&to, || {
            copy(&small, &to, crc, false);
            if sync {
                Posix.sync_fs(&to).unwrap();
            }
        });
        show(crc, sync, taken, if sync { synced } else { plain });
    }
    fs::remove_dir_all(&from).unwrap();
    fs::remove_dir_all(&to).unwrap();
}

fn show(crc: bool, sync: bool, taken: f64, reference: f64) {
    let sum = if crc { "with checksum" } else { "without" };
    let sync = if sync { "synced" } else { "" };
    println!(
        "  scr {sum:14} {sync:7} {taken:.3}   {:.2} of the speed",
        reference / taken
    );
}

/// Copies files one after the other, as a rank does.
fn copy(paths: &[PathBuf], to: &Path, crc: bool, sync: bool) {
    let mut copier = Copier::new(&Posix, BUFFER);
    for path in paths {
        let to = to.join(path.file_name().unwrap());
        copier
            .copy(path, &to, None, CopyMode { crc, sync })
            .unwrap();
    }
}

/// Calls `work` for each path in a thread of its own.
fn each(paths: &[PathBuf], work: impl Fn(&Path) + Sync) {
    std::thread::scope(|scope| {
        for path in paths {
            scope.spawn(|| work(path));
        }
    });
}

/// Median of the seconds that `work` takes, each time with an empty directory `to`.
fn time(to: &Path, work: impl Fn()) -> f64 {
    let mut taken: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let _ = fs::remove_dir_all(to);
            fs::create_dir_all(to).unwrap();
            run("sync", &[]);
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    taken[REPEATS / 2]
}

fn run(program: &str, arguments: &[&Path]) {
    assert!(
        Command::new(program)
            .args(arguments)
            .status()
            .unwrap()
            .success()
    );
}

/// Bytes that do not compress.
fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut data = Vec::with_capacity(count + 8);
    while data.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend_from_slice(&state.to_le_bytes());
    }
    data.truncate(count);
    data
}
