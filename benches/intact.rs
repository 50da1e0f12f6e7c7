//! Times a restart from a cache that lost nothing, in processor time, against one read of the same bytes at the speed of
//! memory.
//!
//! Usage: cargo bench --no-default-features --bench intact -- DIR [MIB [RANKS [REPEATS]]]
//!
//! Ranks are threads, each on a node of its own below DIR, say /dev/shm, and each with one file of MIB (256). Prints, for
//! files of the program and for fields, the medians of the processor time of all ranks together, in milliseconds, and as
//! multiples of one read of all bytes in the same run: `SCR_Init`, which verifies, and how the program then gets its data
//! (by `read` into its memory, and by `SCR_Restore`).

#![allow(clippy::unwrap_used, clippy::expect_used)]

use scr::comm::Communicator;
use scr::config::Config;
use scr::events::Memory;
use scr::fields::{Element, List, Memory as _, Place, Slice, Spec, checkpoint, restore};
use scr::format::Name;
use scr::job::Environment;
use scr::session::{Session, Setup, Verdict};
use scr::store::posix::Posix;
use scr_testing::threads;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Number of fields that make up the bytes of a rank.
const FIELDS: usize = 8;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    words.retain(|word| !word.starts_with("--"));
    let number = |at: usize, usual| words.get(at).map_or(usual, |w| w.parse().unwrap());
    let dir = Path::new(words.first().expect("DIR")).join("scr-intact-bench");
    let (mib, ranks, repeats) = (number(1, 256), number(2, 1), number(3, 9));
    for scheme in if ranks == 1 {
        &["SINGLE"][..]
    } else {
        &["SINGLE", "XOR"]
    } {
        for of_fields in [false, true] {
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(dir.join("prefix")).unwrap();
            let run = Run {
                dir: dir.clone(),
                scheme: scheme.to_string(),
                of_fields,
                words: (mib << 20) / 8,
                barrier: Barrier::new(ranks),
            };
            threads::run(ranks, |comm| run.write(comm));
            let restart = |_| threads::run(ranks, |comm| run.restart(comm)).swap_remove(0);
            let times: Vec<[f64; 4]> = (0..repeats).map(restart).collect();
            let [read, copy, init, load] = [0, 1, 2, 3].map(|at| median(&times, at));
            let what = if of_fields { "fields" } else { "files" };
            println!(
                "{scheme} {what}: one read {read:.1} memcpy {copy:.1} SCR_Init {init:.1} ({:.2}) data {load:.1} ({:.2}) \
                 together {:.2}",
                init / read,
                load / read,
                (init + load) / read,
            );
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
}

fn median(times: &[[f64; 4]], at: usize) -> f64 {
    let mut times: Vec<f64> = times.iter().map(|times| times[at]).collect();
    times.sort_by(f64::total_cmp);
    1e3 * times[times.len() / 2]
}

struct Run {
    dir: PathBuf,
    scheme: String,
    of_fields: bool,
    /// Of eight bytes, on each rank.
    words: usize,
    barrier: Barrier,
}

impl Run {
    fn session(&self, comm: Box<dyn Communicator>) -> Session {
        let node = format!("n{}", comm.rank());
        let base = self.dir.join(&node);
        std::fs::create_dir_all(&base).unwrap();
        let environment = Environment::empty()
            .with_host(&node)
            .with_cwd(self.dir.join("prefix"))
            .with("SCR_NODE_NAME", &node)
            .with("SCR_PREFIX", self.dir.join("prefix"))
            .with("SCR_CACHE_BASE", &base)
            .with("SCR_CNTL_BASE", &base)
            .with("SCR_CACHE_BYPASS", "0")
            .with("SCR_FLUSH", "0")
            .with("SCR_COPY_TYPE", &self.scheme)
            .with("SCR_JOB_ID", "1")
            .with("SCR_USER_NAME", "bench");
        let setup = Setup {
            comm,
            files: Arc::new(Posix),
            sink: Arc::new(Memory::default()),
            environment,
            lock_timeout: Duration::from_secs(10),
        };
        Session::init(setup, &mut Config::new()).unwrap().unwrap()
    }

    /// Processor time of all ranks together in `work`, seconds.
    fn timed<T>(&self, work: impl FnOnce() -> T) -> (f64, T) {
        self.barrier.wait();
        let begun = processor_time();
        self.barrier.wait();
        let done = work();
        self.barrier.wait();
        let time = processor_time() - begun;
        self.barrier.wait();
        (time, done)
    }

    /// The data of a rank.
    fn data(&self, rank: usize) -> Vec<u64> {
        let words = 0..self.words as u64;
        words.map(|at| at * 0x9e37_79b9 + rank as u64).collect()
    }

    fn write(&self, comm: Box<dyn Communicator>) {
        let rank = comm.rank();
        let mut data = self.data(rank);
        let mut session = self.session(comm);
        if self.of_fields {
            let name = Some(Name::from("ck"));
            let mut list = |list: &mut List<'_>| all(list, &mut data);
            checkpoint(&mut session, name, Ok((true, false)), &mut list).unwrap();
        } else {
            session
                .start_output(Some("ck".into()), true, false)
                .unwrap();
            let path = session.route(&name_of(rank)).unwrap();
            std::fs::write(
                path,
                Slice::new(&mut data).bytes(0, 8 * self.words).unwrap(),
            )
            .unwrap();
            session.complete_output(true).unwrap();
        }
        // The checksum of a file without redundancy is taken in the background.
        session.finish_background().unwrap();
    }

    /// Seconds of: one read of all bytes, one copy of them, the start, and the way of the data into memory.
    fn restart(&self, comm: Box<dyn Communicator>) -> [f64; 4] {
        let rank = comm.rank();
        let expected = self.data(rank);
        let mut data = vec![1; self.words];
        // The first time after memory was allocated takes longer.
        black_box(sum(&expected));
        let (read, _) = self.timed(|| black_box(sum(&expected)));
        let (copy, ()) = self.timed(|| data.copy_from_slice(black_box(&expected)));
        data.fill(1);
        let (init, mut session) = self.timed(|| self.session(comm));
        let (load, ()) = self.timed(|| {
            if self.of_fields {
                let mut list = |list: &mut List<'_>| all(list, &mut data);
                assert!(restore(&mut session, &mut list).unwrap().is_some());
            } else {
                assert!(session.have_restart().unwrap().is_some());
                session.start_restart().unwrap();
                let file = File::open(session.route(&name_of(rank)).unwrap()).unwrap();
                let mut memory = Slice::new(&mut data);
                let bytes = memory.bytes_mut(0, 8 * self.words).unwrap();
                file.read_exact_at(bytes, 0).unwrap();
                session.complete_restart(Verdict::Read).unwrap();
            }
        });
        assert!(data == expected);
        [read, copy, init, load]
    }
}

/// The file of a rank.
fn name_of(rank: usize) -> PathBuf {
    PathBuf::from(format!("ck/{rank}"))
}

/// Lists all the words as fields.
fn all(list: &mut List<'_>, data: &mut [u64]) -> scr::Result<()> {
    let length = data.len().div_ceil(FIELDS);
    for (number, part) in data.chunks_mut(length).enumerate() {
        let extents = [part.len() as i64];
        let spec = Spec {
            name: &format!("f{number}"),
            kind: u64::KIND,
            extents: &extents,
            strides: None,
            place: Place::Own,
        };
        list.field(spec, Some(&mut Slice::new(part)))?;
    }
    Ok(())
}

/// One read of memory.
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; 8];
    for words in words.as_chunks::<8>().0 {
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Processor time of this process so far, seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes the local value.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
