//! What the launcher, the node and the user give to a run, and what they leave out.

use crate::site::{Site, nodes};
use scr::comm::solo::Solo;
use scr::comm::{Communicator, Pending, Tag, Term};
use scr::config::Config;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr_testing::threads;
use std::sync::Arc;
use std::time::Duration;

/// A process that is alone in its MPI.
struct Alone(Solo);

impl Communicator for Alone {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> scr::Result<Box<dyn Pending>> {
        self.0.isend(to, tag, data)
    }
    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> scr::Result<Box<dyn Pending>> {
        self.0.irecv(from, tag, buffer)
    }
    fn recv(&self, from: usize, tag: Tag) -> scr::Result<Vec<u8>> {
        self.0.recv(from, tag)
    }
    fn recv_any(&self, tag: Tag) -> scr::Result<(usize, Vec<u8>)> {
        self.0.recv_any(tag)
    }
    fn barrier(&self) -> scr::Result<()> {
        self.0.barrier()
    }
    fn allreduce(&self, terms: &mut [Term]) -> scr::Result<()> {
        self.0.allreduce(terms)
    }
    fn alone_in(&self) -> Option<String> {
        Some("MPICH 4.0.2".to_string())
    }
    fn abort(&self, code: i32) -> ! {
        self.0.abort(code)
    }
}

/// The error of a start of a process that is alone, with these variables of its launcher.
fn start_alone(site: &Site, variables: &[(&str, &str)]) -> Option<String> {
    let environment = variables
        .iter()
        .fold(site.environment("n0"), |all, (name, value)| {
            all.with(name, *value)
        });
    let setup = Setup {
        comm: Box::new(Alone(Solo::new())),
        files: Arc::new(Posix),
        sink: site.events.clone(),
        environment,
        lock_timeout: Duration::from_secs(10),
    };
    let started = Session::init(setup, &mut Config::new());
    started.err().map(|error| error.to_string())
}

#[test]
fn a_process_that_is_alone_though_several_were_launched_does_not_start() {
    let site = Site::new();
    let launched = ("OMPI_COMM_WORLD_SIZE", "4");
    let error = start_alone(&site, &[launched]).unwrap();
    for words in [
        "SCR_Init: 4 processes were launched (OMPI_COMM_WORLD_SIZE), and each is alone",
        "runs with MPICH 4.0.2, but the launcher is of another MPI",
        "SCR_SERIAL=1 (SCR-101)",
    ] {
        assert!(error.contains(words), "{error}");
    }
    assert!(
        !site.prefix().join(".scr").exists(),
        "it has begun to use the prefix directory"
    );
    for alone in [
        &[][..],
        &[launched, ("SCR_SERIAL", "1")],
        &[launched, ("PMI_SIZE", "1")],
        &[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")],
        &[launched, ("SCR_ENABLE", "0")],
    ] {
        assert_eq!(start_alone(&site, alone), None, "{alone:?}");
    }
}

#[test]
fn ranks_of_a_node_that_see_different_directories_do_not_start() {
    let site = Site::new();
    // Each thread has a working directory of its own, by way of which one path leads to several directories.
    let own = "/proc/thread-self/cwd/cache";
    for (shared, ranks) in [(true, 2), (false, 2), (false, 3)] {
        let directory = |rank: usize| match rank {
            _ if shared => site.node("shared"),
            rank => site.node(&format!("own.{}", rank % 2)),
        };
        let told = threads::run(ranks, |comm| {
            let directory = directory(comm.rank());
            std::fs::create_dir_all(directory.join("cache")).unwrap();
            // SAFETY: only this thread is concerned.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_FS) }, 0);
            std::env::set_current_dir(&directory).unwrap();
            let environment = site.environment("n0");
            let setup = Setup {
                comm,
                files: Arc::new(Posix),
                sink: site.events.clone(),
                environment: environment
                    .with("SCR_CACHE_BASE", own)
                    .with("SCR_CNTL_BASE", own),
                lock_timeout: Duration::from_secs(10),
            };
            let started = Session::init(setup, &mut Config::new());
            started.err().map(|error| error.to_string())
        });
        for error in told {
            assert_eq!(error.is_none(), shared, "{error:?}");
            let words = "/cache is not the same directory for all ranks of node n0: what rank 0 has put there is not there \
                         for rank 1,";
            let clear = |error: String| error.contains(words) && error.contains("SCR_CACHE_BASE");
            assert!(error.clone().is_none_or(clear), "{error:?}");
        }
    }
}

/// The warnings that no checkpoint is ever due, of a run that asks `asks` times.
fn told_that_none_is_due(site: &Site, asks: u32, writes: bool) -> usize {
    let before = site.heard("(SCR-390)").len();
    site.run(&nodes(2), |rank| {
        for _ in 0..asks {
            rank.session.need_checkpoint().unwrap();
        }
        if writes {
            rank.checkpoint("ck.1").unwrap();
        }
        rank.finalize().unwrap();
    });
    site.heard("(SCR-390)").len() - before
}

#[test]
fn a_program_that_asks_in_vain_is_told_so_once() {
    let site = Site::new();
    assert_eq!(told_that_none_is_due(&site, 5, false), 1);
    let told = &site.heard("(SCR-390)")[0];
    for words in ["Warning: ", "called 5 times", "SCR_CHECKPOINT_INTERVAL"] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(told_that_none_is_due(&site, 0, false), 0, "it did not ask");
    assert_eq!(told_that_none_is_due(&site, 5, true), 0, "it has written");
    for (name, value) in [
        ("SCR_CHECKPOINT_INTERVAL", "100"),
        ("SCR_CHECKPOINT_SECONDS", "1000"),
        ("SCR_CHECKPOINT_OVERHEAD", "1"),
        ("SCR_CHECKPOINT_INTERVAL", "auto"),
        ("SCR_HALT_SECONDS", "60"),
        ("SCR_HALT_SIGNALS", "USR1"),
    ] {
        let site = Site::new().set(name, value);
        assert_eq!(told_that_none_is_due(&site, 5, false), 0, "{name}={value}");
    }
}
