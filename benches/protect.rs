//! Times `SCR_Complete_output` in processor time, which other programs on the machine disturb less.
//!
//! Usage: cargo bench --no-default-features --bench protect -- DIR [MIB [RANKS [REPEATS]]]
//!
//! Ranks are threads, each on a node of its own below DIR, say /dev/shm. Each writes one file of MIB (256) over that of the
//! checkpoint before last. Prints for each scheme the least and the median of the processor time of all ranks together in
//! the call, in milliseconds.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use scr::comm::Communicator;
use scr::config::Config;
use scr::events::Memory;
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr_testing::threads;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    words.retain(|word| !word.starts_with("--"));
    let number = |at: usize, usual| words.get(at).map_or(usual, |w| w.parse().unwrap());
    let dir = Path::new(words.first().expect("DIR")).join("scr-protect-bench");
    let (mib, ranks, repeats) = (number(1, 256), number(2, 2), number(3, 7));
    for scheme in ["SINGLE", "PARTNER", "XOR", "RS"] {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("prefix")).unwrap();
        let mut times = times(&dir, scheme, mib << 20, ranks, repeats);
        times.sort_by(f64::total_cmp);
        println!("{scheme} {:.1} {:.1}", times[0], times[times.len() / 2]);
    }
    let _ = std::fs::remove_dir_all(&dir);
}

/// Milliseconds of each call but the first two, which allocate.
fn times(dir: &Path, scheme: &str, bytes: usize, ranks: usize, repeats: usize) -> Vec<f64> {
    let barrier = Barrier::new(ranks);
    let mut all = threads::run(ranks, |comm| {
        let rank = comm.rank();
        let node = format!("n{rank}");
        let base = dir.join(&node);
        std::fs::create_dir_all(&base).unwrap();
        let environment = Environment::empty()
            .with_host(&node)
            .with_cwd(dir.join("prefix"))
            .with("SCR_NODE_NAME", &node)
            .with("SCR_PREFIX", dir.join("prefix"))
            .with("SCR_CACHE_BASE", &base)
            .with("SCR_CNTL_BASE", &base)
            .with("SCR_CACHE_BYPASS", "0")
            .with("SCR_CACHE_SIZE", "2")
            .with("SCR_FLUSH", "0")
            .with("SCR_COPY_TYPE", scheme)
            .with("SCR_JOB_ID", "1")
            .with("SCR_USER_NAME", "bench");
        let setup = Setup {
            comm,
            files: Arc::new(Posix),
            sink: Arc::new(Memory::default()),
            environment,
            lock_timeout: Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        let data: Vec<u8> = (0..bytes).map(|at| (at * (rank + 3) / 7) as u8).collect();
        let mut times = Vec::new();
        for number in 0..repeats + 2 {
            let name = format!("ck.{number}");
            session
                .start_output(Some(name.as_str().into()), true, false)
                .unwrap();
            let path = session.route(Path::new(&format!("{name}/{rank}"))).unwrap();
            std::fs::write(path, &data).unwrap();
            barrier.wait();
            let begun = processor_time();
            barrier.wait();
            session.complete_output(true).unwrap();
            barrier.wait();
            if number > 1 {
                times.push(1e3 * (processor_time() - begun));
            }
            session.finish_background().unwrap();
        }
        times
    });
    all.swap_remove(0)
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
