//! Damaged and hostile files: an error with the file's name, never a panic.

use crate::sandbox::{Said, Sandbox};
use std::path::Path;

/// The commands that read a file, and the file.
const READERS: [(&str, &[&str]); 12] = [
    ("index.scr", &["index"]),
    ("index.scr", &["print", ".scr/index.scr"]),
    ("index.scr", &["index", "--drop=timestep.1"]),
    ("halt.scr", &["halt", "-c3"]),
    ("halt.scr", &["retries-halt"]),
    ("flush.scr", &["flush-file", "--list-ckpt"]),
    ("nodes.scr", &["nodes-file"]),
    ("nodes.scr", &["env", "--runnodes"]),
    ("index.scr", &["have-restart"]),
    ("flush.scr", &["have-restart"]),
    ("halt.scr", &["should-exit"]),
    ("halt.scr", &["prerun"]),
];

fn sane(said: &Said, what: &str) {
    assert!(matches!(said.code, 0 | 1), "{what}: {said:?}");
    assert!(!said.err.contains("panicked"), "{what}: {}", said.err);
}

fn each(bytes: impl Fn(&[u8]) -> Vec<u8>, check: impl Fn(&Said, &str)) {
    let sandbox = Sandbox::of("basic");
    for (file, args) in READERS {
        let path = sandbox.path().join(".scr").join(file);
        let good = std::fs::read(&path).unwrap();
        std::fs::write(&path, bytes(&good)).unwrap();
        let said = sandbox.run(args);
        sane(&said, file);
        check(&said, file);
        std::fs::write(&path, good).unwrap();
    }
}

#[test]
fn cut_files_are_named() {
    for part in [1, 19, 20, 30] {
        each(
            |good| good[..part.min(good.len() - 1)].to_vec(),
            |said, file| {
                assert_eq!(said.code, 1, "{file}");
                assert!(said.err.contains(file), "{}", said.err);
            },
        );
    }
}

#[test]
fn a_flipped_byte_is_found() {
    for place in [0, 5, 9, 15, 22, 26, 40] {
        let flip = |good: &[u8]| {
            let mut bytes = good.to_vec();
            let place = place.min(bytes.len() - 1);
            bytes[place] ^= 0x41;
            bytes
        };
        each(flip, |said, file| {
            assert_eq!(said.code, 1, "{file} {place}");
            assert!(said.err.contains(file), "{}", said.err);
        });
    }
}

/// Trees with a good checksum that are no such record.
#[test]
fn well_formed_nonsense_is_survived() {
    let mut tree = scr::format::Tree::new();
    for key in [
        "VERSION",
        "DSET",
        "DATASET",
        "NODES",
        "ExitBefore",
        "CheckpointsLeft",
        "CURRENT",
    ] {
        tree.set_value(key, "-99999999999999999999");
    }
    tree.set_value("ExitReason", "\x1b]0;title\x07");
    each(
        |_| scr::format::encode(&tree),
        |said, _| {
            assert!(
                !said.out.contains('\x1b') && !said.err.contains('\x1b'),
                "{said:?}"
            );
        },
    );

    let mut tree = scr::format::Tree::new();
    for key in ["ExitBefore", "ExitAfter", "HaltSeconds", "CheckpointsLeft"] {
        tree.set_value(key, i64::MIN.to_string());
    }
    tree.set_value("VERSION", "2")
        .set_value("NODES", u64::MAX.to_string());
    each(|_| scr::format::encode(&tree), |_, _| {});
}

#[test]
fn things_that_are_no_files_are_refused() {
    let sandbox = Sandbox::of("basic");
    for (file, args) in READERS {
        let path = sandbox.path().join(".scr").join(file);
        let good = std::fs::read(&path).unwrap();
        let replace = |make: &dyn Fn(&Path)| {
            std::fs::remove_file(&path).unwrap();
            make(&path);
            let said = sandbox.run(args);
            assert_eq!(said.code, 1, "{file}");
            assert!(
                said.err.contains(file) || said.err.contains("zero"),
                "{}",
                said.err
            );
        };
        replace(&|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap());
        replace(&|path| std::fs::create_dir(path).unwrap());
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, good).unwrap();
    }
}
