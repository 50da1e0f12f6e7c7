//! What goes wrong with the files of the transfer daemon: damage, locks, and other processes that remove the files.

use super::*;
use crate::faulty::{Faults, Faulty};
use crate::format::transfer::{RUN, STOP};
use crate::store::posix::Posix;
use crate::system::thread;
use std::fs;

/// A control directory on a file system with faults.
fn control() -> (tempfile::TempDir, Control, Faults) {
    let dir = tempfile::tempdir().unwrap();
    let files = Faulty::new(Posix);
    let faults = files.faults();
    let control = Control::new(&files, dir.path().to_path_buf());
    (dir, control, faults)
}

fn command(control: &Control) -> Option<String> {
    let file = control.read().unwrap();
    file.and_then(|file| file.command)
        .map(|command| command.to_string())
}

fn order(word: &'static str) -> impl FnMut(&mut Transfer) {
    move |file| file.command = Some(word.into())
}

#[test]
fn what_is_no_transfer_file_is_put_aside_also_for_the_second_time() {
    let (dir, control, _) = control();
    let (path, aside) = (control.file(), dir.path().join(DAMAGED));
    // A directory, a file that is too large, and a file with other content.
    let make: [&dyn Fn(); 3] = [
        &|| fs::create_dir_all(path.join("below")).unwrap(),
        &|| {
            fs::File::create(&path)
                .unwrap()
                .set_len(LARGEST + 1)
                .unwrap()
        },
        &|| fs::write(&path, "none").unwrap(),
    ];
    for make in make {
        make();
        let error = control.update(order(RUN)).unwrap_err();
        assert!(is_damage(&error), "{error}");
        assert!(error.to_string().contains(FILE), "{error}");
        control.update_repaired(order(RUN)).unwrap();
        assert_eq!(command(&control).as_deref(), Some(RUN));
        assert!(aside.exists());
        control.remove().unwrap();
        assert!(!path.exists());
    }
    // Somebody else was faster.
    assert_eq!(control.put_aside().unwrap(), aside);
}

#[test]
fn a_damaged_file_is_left_to_the_living_daemon() {
    let (_dir, control, _) = control();
    let claim = control.claim().unwrap();
    fs::write(control.file(), "none").unwrap();
    thread::scope(|scope| {
        let changed = scope.spawn(|| control.update_repaired(order(STOP)));
        sleep(Duration::from_millis(200));
        assert_eq!(fs::read(control.file()).unwrap(), b"none");
        control.put_aside().unwrap();
        changed.join().unwrap().unwrap();
    });
    assert_eq!(command(&control).as_deref(), Some(STOP));
    drop(claim);
}

#[test]
fn a_daemon_needs_locks_and_all_others_do_without() {
    let (dir, control, faults) = control();
    fs::write(dir.path().join(DAEMON), "").unwrap();
    faults.fail_locks(Some(libc::ENOLCK));
    let error = control.claim().err().unwrap().to_string();
    assert!(error.contains("SCR_CNTL_BASE"), "{error}");
    assert!(error.contains(&dir.path().display().to_string()), "{error}");
    assert_eq!(control.living().unwrap(), None);
    assert_eq!(control.without_daemon(|| Ok(1)).unwrap(), Some(1));
    control.update(order(RUN)).unwrap();
    assert_eq!(command(&control).as_deref(), Some(RUN));
    control.remove_files().unwrap();
    assert!(!control.is_used().unwrap());
}

#[test]
fn locks_that_fail_are_told() {
    let (dir, control, faults) = control();
    fs::write(dir.path().join(DAEMON), "").unwrap();
    faults.fail_locks(Some(libc::EIO));
    let errors = [
        control.claim().err(),
        control.living().err(),
        control.without_daemon(|| Ok(())).err(),
        control.update(order(RUN)).err(),
        control.remove_files().err(),
        control.leave_out(order(RUN)).err(),
    ];
    for (n, error) in errors.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("call {n} succeeds"));
        assert_eq!(error.errno(), Some(libc::EIO), "call {n}: {error}");
    }
    // Nothing was changed without the lock.
    faults.fail_locks(None);
    assert_eq!(control.read().unwrap(), None);
}

#[test]
fn lock_files_that_others_remove_all_the_time_are_told() {
    let (_dir, control, faults) = control();
    // As if the file were gone each time.
    faults.fail_locks(Some(libc::ENOENT));
    for error in [control.claim().err(), control.update(order(RUN)).err()] {
        let error = error.unwrap().to_string();
        assert!(error.contains("removed again and again"), "{error}");
    }
}

#[test]
fn a_file_system_that_cannot_be_read_is_told() {
    let (_dir, control, faults) = control();
    control.update(order(RUN)).unwrap();
    faults.fail_reads(Some((FILE.into(), libc::EIO)));
    assert_eq!(control.read().unwrap_err().errno(), Some(libc::EIO));
    assert_eq!(control.sweep().unwrap_err().errno(), Some(libc::EIO));
    // The file may be gone between the look and the reading.
    faults.fail_reads(Some((FILE.into(), libc::ENOENT)));
    assert_eq!(control.read().unwrap(), None);
    faults.fail_reads(None);
    assert_eq!(command(&control).as_deref(), Some(RUN));
}

#[test]
fn files_with_open_orders_or_damage_stay() {
    let (dir, control, _) = control();
    fs::write(control.file(), "none").unwrap();
    control.sweep().unwrap();
    assert!(
        control.file().exists(),
        "who uses it next tells of the damage"
    );
    control.put_aside().unwrap();
    fs::remove_file(dir.path().join(DAMAGED)).unwrap();
    control.update(order(RUN)).unwrap();
    control.sweep().unwrap();
    assert!(!dir.path().exists(), "nothing was left to do");
}

#[test]
fn the_directory_of_a_run_that_lives_stays() {
    let (dir, control, _) = control();
    control.update(order(RUN)).unwrap();
    let lock = Posix.try_lock(dir.path()).unwrap().unwrap();
    control.sweep().unwrap();
    assert!(dir.path().exists());
    assert!(!control.is_used().unwrap(), "the files of the daemon go");
    drop(lock);
}
