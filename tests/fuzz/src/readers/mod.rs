//! All readers of what others may have written.

mod fields;
mod records;
mod text;
mod worlds;

use std::path::{Path, PathBuf};

/// What is tried, and how much memory it may use.
pub struct Reader {
    pub name: &'static str,
    /// Real files, which the fuzzer changes.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Panics if what it finds is wrong.
    pub read: fn(&[u8]),
    /// Bytes of memory that any input may use, and for each of its bytes.
    pub fixed: usize,
    pub each: usize,
}

pub const READERS: &[Reader] = &[
    Reader {
        name: "file",
        seeds: records::files,
        read: records::file,
        fixed: 16 << 10,
        each: 64,
    },
    Reader {
        name: "tree",
        seeds: records::trees,
        read: records::tree,
        fixed: 16 << 10,
        each: 128,
    },
    Reader {
        name: "transfer",
        seeds: records::transfers,
        read: records::transfer,
        fixed: 32 << 10,
        each: 128,
    },
    Reader {
        name: "log",
        seeds: text::logs,
        read: text::log,
        fixed: 256 << 10,
        each: 64,
    },
    Reader {
        name: "configuration",
        seeds: text::configurations,
        read: text::configuration,
        fixed: 256 << 10,
        each: 256,
    },
    Reader {
        name: "calls",
        seeds: text::calls,
        read: text::call,
        fixed: 64 << 10,
        each: 256,
    },
    Reader {
        name: "hosts",
        seeds: text::hosts,
        read: text::host,
        // A list may stand for a million names.
        fixed: 512 << 20,
        each: 64,
    },
    Reader {
        name: "import",
        seeds: text::imports,
        read: text::import,
        fixed: 64 << 10,
        each: 256,
    },
    Reader {
        name: "fields",
        seeds: fields::seeds,
        read: fields::read,
        fixed: 1 << 20,
        each: 64,
    },
    Reader {
        name: "indices",
        seeds: fields::lists,
        read: fields::read_list,
        fixed: 16 << 10,
        each: 512,
    },
    Reader {
        name: "prefix",
        seeds: worlds::of_prefix,
        read: worlds::prefix,
        fixed: 64 << 20,
        each: 256,
    },
    Reader {
        name: "cache",
        seeds: worlds::of_cache,
        read: worlds::cache,
        fixed: 64 << 20,
        each: 256,
    },
];

/// A directory for this process, in memory if the machine has such a file system.
fn scratch() -> &'static Path {
    static DIR: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    DIR.get_or_init(|| {
        let shm = Path::new("/dev/shm");
        match tempfile::tempdir_in(shm) {
            Ok(dir) => dir,
            Err(_) => tempfile::tempdir().expect("a place for temporary files"),
        }
    })
    .path()
}

/// Files of the tests.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// All files below a directory, with their paths in it, in order.
fn files_below(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(here) = todo.pop() {
        for entry in std::fs::read_dir(&here).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                todo.push(path)
            } else {
                let name = path.strip_prefix(dir).expect("below it").to_path_buf();
                found.push((name, std::fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}
