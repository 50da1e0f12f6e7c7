//! Owner, group and mode of files that are copied into a directory that people share.

use scr::store::Files;
use scr::store::posix::Posix;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// As a group quota of zero, which only the file system could enforce, needs it: the group is not even asked for.
#[test]
fn a_setgid_directory_keeps_its_group() {
    const GROUP: u32 = 54321;
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().canonicalize().unwrap();
    let path = dir.join("f");
    let own = rustix::process::getegid().as_raw();
    if std::os::unix::fs::chown(&dir, None, Some(GROUP)).is_err() {
        println!("SKIPPED: only root can make a directory of any group");
        return;
    }
    for (mode, expected) in [(0o2770, GROUP), (0o770, own)] {
        fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
        for files in [
            &Posix as &dyn Files,
            &*Posix.beneath(std::slice::from_ref(&dir)),
        ] {
            files.remove_file(&path).unwrap();
            let file = files.create(&path, 0o600).unwrap();
            let wanted = scr::store::Stat {
                gid: own,
                mode: 0o102_640,
                ..files.stat(&path).unwrap().unwrap()
            };
            assert_eq!(file.restore(&wanted).unwrap(), None);
            assert_eq!(files.stat(&path).unwrap().unwrap().gid, expected);
            files.restore(&path, &wanted).unwrap();
            let now = files.stat(&path).unwrap().unwrap();
            assert_eq!(now.gid, expected);
            // A set-group-id bit does not pass to another group.
            let bit = if expected == own { 0o2000 } else { 0 };
            assert_eq!(now.mode & 0o7777, 0o640 | bit);
        }
    }
}
