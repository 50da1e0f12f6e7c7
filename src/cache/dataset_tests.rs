//! Removals in a dataset's directory while other processes do the same, and when the file system fails.

use super::*;
use crate::faulty::{Faults, Faulty};
use crate::store::posix::Posix;
use std::fs;

/// A store with the directory of the records of dataset 1.
fn store() -> (tempfile::TempDir, Layout, Faulty<Posix>, Faults) {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path(), "user1", "1001").of_run(1);
    let files = Faulty::new(Posix);
    let meta = layout.meta_below(1);
    files.make_private_dirs(layout.base(), &meta).unwrap();
    let faults = files.faults();
    (dir, layout, files, faults)
}

#[test]
fn what_cannot_be_moved_to_the_trash_is_removed() {
    let (_dir, layout, files, faults) = store();
    let path = layout.meta(1).join("file");
    fs::write(&path, "").unwrap();
    // The directory of the trash, then the move.
    faults.fail_at(faults.operations() + 2, libc::EIO);
    move_to_trash(&files, &layout, 1, &path).unwrap();
    assert!(!path.exists());
    // Another rank was faster.
    move_to_trash(&files, &layout, 1, &path).unwrap();
}

#[test]
fn redundancy_files_go_unless_a_record_that_cannot_be_read_may_need_them() {
    let (_dir, layout, files, faults) = store();
    let record = layout.filemap(1, 0);
    let strays = ["1_of_2_in_0.xor", "2_of_2_in_0.xor"].map(|name| layout.meta(1).join(name));
    for path in strays.iter().chain([&record]) {
        fs::write(path, "").unwrap();
    }
    faults.fail_reads(Some((record.clone(), libc::EIO)));
    assert_eq!(discard_stray_files(&files, &layout, 1), Ok(false));
    assert!(strays.iter().all(|path| path.exists()));
    // The record was sent to another node meanwhile.
    faults.fail_reads(Some((record, libc::ENOENT)));
    assert_eq!(discard_stray_files(&files, &layout, 1), Ok(true));
    assert!(!strays.iter().any(|path| path.exists()));
}

#[test]
fn a_directory_that_cannot_be_listed_is_not_empty() {
    let (_dir, layout, files, faults) = store();
    assert_eq!(entries(&files, &layout).unwrap().len(), 1);
    assert!(entries(&files, &layout.of_run(2)).unwrap().is_empty());
    faults.fail_read_at(1, libc::EIO, u64::MAX);
    let error = entries(&files, &layout).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EIO));
}
