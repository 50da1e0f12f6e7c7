//! The memory that the library takes does not grow with the files: a sparse file of 4 GiB is
//! protected, lost with its node and rebuilt, in a process whose ranks together take less than
//! one rank may. This must stay the only test of its program: it reads the most memory that its process
//! ever had.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use scr::Result;
use scr::config::Config;
use scr::events::Memory;
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr::store::{Durability, File, Files, Fill, KeptFile, Lock, Refused, Space, Stat};
use scr_engine::forward;
use scr_testing::threads;
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SIZE: u64 = 4 << 30;
const MOST: u64 = 64 << 20;

/// The bytes of the large file that are no holes: first, last, and some around a corner.
const MARKS: [u64; 4] = [0, (2 << 30) - 1, 2 << 30, SIZE - 1];

/// To compare with in one call: byte by byte takes long without optimisation.
static ZEROS: [u8; 4096] = [0; 4096];

/// Files in which zeros are holes, so that the test needs no space.
#[derive(Clone)]
struct Sparse;

struct SparseFile(Box<dyn File>);

impl File for SparseFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let zero = |part: &[u8]| part == &ZEROS[..part.len()];
        if data.chunks(ZEROS.len()).all(zero) {
            Ok(())
        } else {
            self.0.write_at(offset, data)
        }
    }
    fn allocate(&self, size: u64) -> Result<()> {
        match size {
            0 => Ok(()),
            _ => self.0.write_at(size - 1, &[0]),
        }
    }

    fn show(&self, _: Range<u64>, _: usize, _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(false)
    }
    fn write_and_see(&self, _: u64, _: &[u8], _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(false)
    }
    fn fill_at(&self, _: Range<u64>, _: &mut dyn Fill) -> Result<bool> {
        Ok(false)
    }
    fn keep(self: Box<Self>) -> Option<KeptFile> {
        None
    }
    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        Some(kept)
    }

    forward! { self.0;
        fn size(&self) -> Result<u64>;
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
        fn set_size(&self, size: u64) -> Result<()>;
        fn data_from(&self, from: u64) -> Result<Option<Range<u64>>>;
        fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool>;
        fn start_sync(&self, bytes: Range<u64>) -> Result<()>;
        fn descriptor(&self) -> Result<BorrowedFd<'_>>;
        fn sync(&self) -> Result<()>;
        fn restore(&self, stat: &Stat) -> Result<Refused>;
    }
}

fn sparse(file: Box<dyn File>) -> Box<dyn File> {
    Box::new(SparseFile(file))
}

impl Files for Sparse {
    // Paths in these tests have no links.
    fn beneath(&self, _: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }
    fn holding(&self, _: &[&Path]) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }
    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        Posix.create(path, mode).map(sparse)
    }
    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        // Nothing may be below zeros that are not written.
        Posix.create(path, mode).map(sparse)
    }

    forward! { Posix;
        fn real_dir(&self, path: &Path) -> Result<PathBuf>;
        fn open(&self, path: &Path) -> Result<Box<dyn File>>;
        fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>>;
        fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()>;
        fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64>;
        fn make_dirs(&self, path: &Path) -> Result<()>;
        fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn may_add(&self, dir: &Path) -> Result<()>;
        fn list(&self, path: &Path) -> Result<Vec<OsString>>;
        fn stat(&self, path: &Path) -> Result<Option<Stat>>;
        fn identity(&self, path: &Path) -> Option<(u64, u64)>;
        fn rename(&self, from: &Path, to: &Path) -> Result<()>;
        fn remove_file(&self, path: &Path) -> Result<()>;
        fn remove_dir(&self, path: &Path) -> Result<bool>;
        fn remove_tree(&self, path: &Path) -> Result<()>;
        fn sync_dir(&self, path: &Path) -> Result<()>;
        fn sync_fs(&self, path: &Path) -> Result<()>;
        fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused>;
        fn space(&self, path: &Path) -> Result<Space>;
        fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
        fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
    }
}

/// Most memory that this process ever had, bytes (`VmHWM`).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

/// Runs `body` on a rank on each node, below `dir`; a run ends as if it were killed.
fn run(dir: &Path, body: impl Fn(usize, &mut Session) + Sync) {
    let prefix = dir.join("prefix");
    std::fs::create_dir_all(&prefix).unwrap();
    threads::run(NODES.len(), |comm| {
        let rank = comm.rank();
        let base = dir.join(NODES[rank]);
        std::fs::create_dir_all(&base).unwrap();
        let environment = Environment::empty()
            .with_host(NODES[rank])
            .with_cwd(prefix.clone())
            .with("SCR_NODE_NAME", NODES[rank])
            .with("SCR_CACHE_BASE", &base)
            .with("SCR_CNTL_BASE", &base)
            .with("SCR_CACHE_BYPASS", "0")
            .with("SCR_COPY_TYPE", "XOR")
            .with("SCR_JOB_ID", "1001")
            .with("SCR_USER_NAME", "user1");
        let setup = Setup {
            comm,
            files: Arc::new(Sparse),
            sink: Arc::new(Memory::default()),
            environment,
            lock_timeout: std::time::Duration::ZERO,
        };
        body(
            rank,
            &mut Session::init(setup, &mut Config::new()).unwrap().unwrap(),
        );
    });
}

/// Writes a checkpoint of one file, which `write` makes on rank 1.
fn checkpoint(rank: usize, session: &mut Session, write: impl Fn(&Path)) {
    session
        .start_output(Some("ck.1".into()), true, false)
        .unwrap();
    if rank == 1 {
        write(&session.route(Path::new("ck.1/large")).unwrap());
    }
    session.complete_output(true).unwrap();
}

#[test]
fn memory_does_not_grow_with_the_files() {
    let (small, large) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(small.path(), |rank, session| {
        checkpoint(rank, session, |path| {
            std::fs::write(path, [1; 1000]).unwrap()
        });
    });
    let before = peak();

    run(large.path(), |rank, session| {
        checkpoint(rank, session, |path| {
            let file = std::fs::File::create(path).unwrap();
            file.set_len(SIZE).unwrap();
            for (mark, at) in (1..).zip(MARKS) {
                file.write_all_at(&[mark], at).unwrap();
            }
        });
    });
    let encoded = peak() - before;
    assert!(encoded < MOST, "encoding took {encoded} bytes");

    std::fs::remove_dir_all(large.path().join("n1")).unwrap();
    run(large.path(), |rank, session| {
        assert_eq!(session.have_restart().unwrap(), Some("ck.1".into()));
        session.start_restart().unwrap();
        if rank == 1 {
            let path = session.route(Path::new("ck.1/large")).unwrap();
            let file = std::fs::File::open(path).unwrap();
            assert_eq!(file.metadata().unwrap().len(), SIZE);
            for (mark, at) in (1..).zip(MARKS) {
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                assert_eq!(byte, [mark], "at {at}");
            }
        }
        session.complete_restart(true).unwrap();
    });
    let rebuilt = peak() - before;
    assert!(rebuilt < MOST, "rebuilding took {rebuilt} bytes");

    println!("encoding took {encoded} bytes at most, with rebuilding {rebuilt}");
}
