//! The library beside a daemon that lives, for which the test stands: it has the daemon's lock.

use super::*;
use crate::faulty::{Faults, Faulty};
use crate::format::transfer::RUNNING;
use crate::store::posix::Posix;
use crate::system::thread;
use std::cell::Cell;

const AT: PartId = PartId {
    dataset: 1,
    part: 0,
};

const PATIENCE: Duration = Duration::from_millis(100);

fn control() -> (tempfile::TempDir, Control, Faults) {
    let dir = tempfile::tempdir().unwrap();
    let files = Faulty::new(Posix);
    let control = Control::new(&files, dir.path().to_path_buf());
    control
        .update(|file| file.command = Some(RUN.into()))
        .unwrap();
    (dir, control, files.faults())
}

fn entry(control: &Control) -> Entry {
    Entry {
        control: control.clone(),
        at: AT,
        part: TransferPart::default(),
        limits: Limits {
            bandwidth: 0,
            percent: 0.0,
        },
        patience: Duration::from_secs(3600),
    }
}

/// Watches the part, and does not copy it.
fn watch(entry: &Entry) -> Result<Copied> {
    let (cancel, stay) = (Cancel::default(), Cancel::default());
    let copy = |_: &Cancel| Err(Error::config("the test", "does not copy"));
    entry.watch(&cancel, &stay, copy, drop)
}

#[test]
fn an_earlier_daemon_is_not_left_out_for_an_error_of_the_file_system() {
    let (_dir, control, faults) = control();
    let _claim = control.claim().unwrap();
    faults.fail_reads(Some((control.file(), libc::EIO)));
    let error = end_earlier(&control, PATIENCE).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EIO));
    assert!(control.living().unwrap().is_some());
}

#[test]
fn an_earlier_daemon_that_cannot_be_told_to_stop_is_left_out() {
    let (_dir, control, faults) = control();
    let _claim = control.claim().unwrap();
    faults.fill_up(true);
    let told = end_earlier(&control, Duration::from_secs(3600)).unwrap();
    let told = told.unwrap();
    assert!(told.contains("cannot be told to stop"), "{told}");
    assert!(told.contains("No space left"), "{told}");
    assert!(!control.is_used().unwrap());
}

#[test]
fn a_part_that_is_removed_again_and_again_is_given_up() {
    let (_dir, control, _) = control();
    let _claim = control.claim().unwrap();
    let entry = entry(&control);
    thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&entry).err());
        while !watching.is_finished() {
            control.update(|file| file.remove(AT)).unwrap();
            sleep(Duration::from_millis(1));
        }
        let error = watching.join().unwrap().unwrap().to_string();
        assert!(error.contains("lost from the transfer file"), "{error}");
    });
}

#[test]
fn what_a_dead_daemon_has_not_copied_is_copied_here() {
    let (_dir, control, _) = control();
    let entry = entry(&control);
    entry.leave().unwrap();
    control
        .update(|file| file.part_mut(AT).unwrap().state = Some(RUNNING.into()))
        .unwrap();
    let copied = Copied { files: 3, bytes: 7 };
    let told = Cell::new(None);
    let (cancel, stay) = (Cancel::default(), Cancel::default());
    let result = entry.watch(&cancel, &stay, |_| Ok(copied), |text| told.set(Some(text)));
    let result = result.map(|copied| (copied.files, copied.bytes));
    assert_eq!(result, Ok((3, 7)));
    let told = told.take().unwrap();
    assert!(told.contains("a thread copies it"), "{told}");
    assert_eq!(control.read().unwrap().unwrap().part(AT), None);
}

#[test]
fn a_part_is_left_to_the_daemon_that_lives() {
    let (_dir, control, _) = control();
    let _claim = control.claim().unwrap();
    let entry = entry(&control);
    assert!(entry.give().unwrap());
    let (cancel, stay) = (Cancel::default(), Cancel::default());
    stay.cancel();
    let copy = |_: &Cancel| Err(Error::config("the test", "does not copy"));
    let error = entry.watch(&cancel, &stay, copy, drop).err().unwrap();
    assert!(error.to_string().contains("left to the daemon"), "{error}");
    assert!(control.read().unwrap().unwrap().part(AT).is_some());
}
