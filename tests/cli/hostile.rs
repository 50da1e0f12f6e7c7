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

/// Files with a good checksum that are not such a record.
#[test]
fn well_formed_files_of_another_kind_are_errors() {
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
fn devices_and_directories_are_refused() {
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

/// Names in files and on the command line are escaped in messages.
#[test]
fn messages_do_nothing_to_a_terminal() {
    let name = "a b\x1b]0;title\x07\n\u{202e}$(touch pwned)";
    let sandbox = Sandbox::of("basic");
    let index = sandbox.path().join(".scr/index.scr");
    let mut index = scr::format::index::Index::read(&scr::store::posix::Posix, &index).unwrap();
    let mut dataset = index.get(3).unwrap().dataset.clone().unwrap();
    dataset.name = name.into();
    index.set_complete(dataset, "2026-11-21T03:23:24");
    let path = sandbox.path().join(".scr/index.scr");
    index.write(&scr::store::posix::Posix, &path).unwrap();
    std::fs::write(
        sandbox.path().join(".scr/scr.dataset.3/rank2file"),
        "garbage",
    )
    .unwrap();
    for args in [
        &["index", "--delete", name][..],
        &["index", "--current", "no\x1b[2J"],
        &["index", "--add", "no\x1b[2J"],
        &["index", "--no\x1b[2J"],
        &["print", "no\x1b[2J"],
        &["rebuild", "--dir", "no\x1b[2J"],
        &["copy", "--id", "1", "--prefix", "no\x1b[2J"],
        &["run", "no\x1b[2J"],
    ] {
        let said = sandbox.run(args);
        assert_ne!(said.code, 0, "{args:?}");
        for text in [&said.out, &said.err] {
            let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!text.contains(bad), "{args:?}: {text:?}");
        }
        if args[1] == "--delete" {
            assert_eq!(said.err.lines().count(), 1, "{}", said.err);
            let quoted = "--drop $'a b\\x1b]0;title\\x07\\x0a\\xe2\\x80\\xae$(touch pwned)'`";
            assert!(said.err.contains(quoted), "{}", said.err);
        }
    }
}
