//! Others who shorten, open, punch and remove the files that a program has mapped.

use super::{COUNT, Program, read, site};
use crate::fields_on_ranks::Random;
use crate::site::{Site, nodes};
use rustix::fs::{FallocateFlags, fallocate};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// How often a file is harmed at least.
const HARMS: usize = 100;

/// The files of fields and of redundancy below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if [".fields", ".xor"]
                .iter()
                .any(|end| path.to_string_lossy().ends_with(end))
            {
                found.push(path);
            }
        }
    }
    found
}

/// Does one harm to a file, which may be gone meanwhile.
fn harm(path: &Path, random: &mut Random) {
    let open = std::fs::File::options().read(true).write(true).open(path);
    let Ok(file) = open else { return };
    match random.below(5) {
        0 => drop(file.set_len(0)),
        1 => drop(file.set_len(1 << 20)),
        2 => drop(std::fs::remove_file(path)),
        3 => {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&file, flags, 256 << 10, 512 << 10);
        }
        // Nobody else gets a lease.
        _ => std::thread::sleep(Duration::from_millis(2)),
    }
}

/// All of `nodes` restart from this step, or a newer one, and read the right bytes.
fn expect_at_least(site: &Site, step: i64) {
    let restored = site.run(&nodes(3), |rank| read(rank).unwrap());
    assert!(
        restored.iter().all(|found| *found >= step),
        "{restored:?}, not {step}"
    );
}

/// What is harmed in the middle of a checkpoint fails that checkpoint, or is found by a restart.
#[test]
fn files_that_others_change_at_any_time_neither_end_the_program_nor_pass_for_good() {
    let Some(site) = site("XOR") else { return };
    let mut program = Program::start(&site, &nodes(3), None);
    assert_eq!(program.restored(), 0);
    program.go(4, COUNT);
    program.complete(4);
    let mut random = Random(std::process::id().into());
    let nodes_dir = site.dir.path().join("nodes");
    let harmed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let writes = scope.spawn(|| {
            while harmed.load(Relaxed) < HARMS {
                program.go(5, COUNT);
                for _ in 0..5 {
                    assert!(program.hear().is_some(), "the program was ended");
                }
            }
        });
        while !writes.is_finished() {
            let all = files(&nodes_dir);
            if !all.is_empty() {
                harm(&all[random.below(all.len() as u64) as usize], &mut random);
                harmed.fetch_add(1, Relaxed);
            }
            std::thread::sleep(Duration::from_micros(random.below(3000)));
        }
    });
    program.go(3, COUNT);
    let last = program.complete(3);
    let (_, signal) = program.kill();
    assert_eq!(signal, Some(libc::SIGKILL));
    expect_at_least(&site, last);
}

/// Between two checkpoints everything that is kept goes, as by `scr clean --force` after the locks were removed, or a cleaner
/// of `/dev/shm`.
#[test]
fn files_that_go_between_checkpoints_cost_nothing_but_themselves() {
    let Some(site) = site("XOR") else { return };
    let mut program = Program::start(&site, &nodes(3), None);
    assert_eq!(program.restored(), 0);
    let change = |change: fn(&Path)| {
        let all = files(&site.dir.path().join("nodes"));
        all.iter().for_each(|path| change(path));
        all.len()
    };
    let shorten = |path: &Path| std::fs::File::create(path).map(drop).unwrap();
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    for harm in [shorten, remove] {
        program.go(5, COUNT);
        program.complete(5);
        assert_eq!(change(harm), 12);
    }
    program.go(4, COUNT);
    let last = program.complete(4);
    assert_eq!(program.kill().1, Some(libc::SIGKILL));
    expect_at_least(&site, last);
}
