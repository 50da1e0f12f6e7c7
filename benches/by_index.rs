//! Times restarts of fields by index on thread ranks beside boxes and beside a plain copy of as many elements in memory,
//! and counts the memory that they take.
//!
//! Usage: cargo bench --no-default-features --bench by_index -- DIR [WHOLE [FIELDS [WRITERS [READERS [TIMES [LAYOUT...]]]]]]
//!
//! DIR is a directory in memory, such as one in /dev/shm. WRITERS (2) ranks write FIELDS (8) fields of float64 of a whole of
//! WHOLE (4000000) elements, and READERS (3) ranks restore them TIMES (5) times; each figure is the median. Layouts are as in
//! `indexed.c`: box, block, scattered, shuffled. "floor" copies the fields of one rank after the other in memory, from
//! the order in which they come to their places: what the same work costs without files and messages. Memory is what is
//! allocated at most on all ranks together, beyond the program's data, for each rank, MiB.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use scr::config::Config;
use scr::events::Memory;
use scr::fields::{Element, Given, Indices, List, Place, Slice, Spec, checkpoint, restore};
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr_testing::threads;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn more(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(live, Relaxed);
}

// SAFETY: as System, which does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        more(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The elements of a rank.
fn choose(layout: &str, whole: u64, rank: u64, ranks: u64) -> Vec<i64> {
    if layout == "box" || layout == "block" {
        return ((whole * rank / ranks) as i64..(whole * (rank + 1) / ranks) as i64).collect();
    }
    let mut ids: Vec<i64> = Vec::with_capacity((whole / ranks + whole / 1000 + 1000) as usize);
    ids.extend(
        (0..whole)
            .filter(|id| mixed(*id) % ranks == rank)
            .map(|id| id as i64),
    );
    if layout == "shuffled" {
        for i in (1..ids.len()).rev() {
            ids.swap(i, (mixed(i as u64) % (i as u64 + 1)) as usize);
        }
    }
    ids
}

fn value(field: usize, id: i64) -> f64 {
    id as f64 + field as f64 / 64.0
}

struct State<'a> {
    whole: i64,
    is_box: bool,
    ids: &'a [i64],
    data: &'a mut [Vec<f64>],
}

impl State<'_> {
    fn list(&mut self, list: &mut List<'_>) -> scr::Result<()> {
        let count = [self.ids.len() as i64];
        let (whole, at) = ([self.whole], [self.ids.first().copied().unwrap_or(0)]);
        if !self.is_box {
            list.index(&Given {
                name: "nodes",
                indices: Indices::Eight(self.ids),
                first: 0,
                whole: self.whole,
            })?;
        }
        for (number, data) in self.data.iter_mut().enumerate() {
            let known;
            let place = if self.is_box {
                Place::Part {
                    whole: &whole,
                    at: &at,
                }
            } else {
                known = list.known_index("nodes")?;
                Place::Indexed { list: &known }
            };
            let spec = Spec {
                name: &format!("field {number}"),
                kind: f64::KIND,
                extents: &count,
                strides: None,
                place,
            };
            list.field(spec, Some(&mut Slice::new(data)))?;
        }
        Ok(())
    }
}

/// Each rank's work; the seconds of the slowest one, and the bytes at most.
fn run(
    dir: &Path,
    ranks: usize,
    layout: &str,
    whole: u64,
    fields: usize,
    reads: bool,
) -> (f64, usize) {
    let (took, memory) = (AtomicUsize::new(0), AtomicUsize::new(0));
    threads::run(ranks, |comm| {
        let rank = comm.rank();
        let host = format!("n{rank}");
        let base = dir.join(&host);
        std::fs::create_dir_all(&base).unwrap();
        let environment = Environment::empty()
            .with_host(&host)
            .with_cwd(dir.join("prefix"))
            .with("SCR_NODE_NAME", &host)
            .with("SCR_CACHE_BASE", &base)
            .with("SCR_CNTL_BASE", &base)
            .with("SCR_CACHE_BYPASS", "1")
            .with("SCR_FLUSH", "1")
            .with("SCR_COPY_TYPE", "SINGLE")
            .with("SCR_JOB_ID", if reads { "2" } else { "1" })
            .with("SCR_USER_NAME", "user1");
        let setup = Setup {
            comm,
            files: Arc::new(Posix),
            sink: Arc::new(Memory::default()),
            environment,
            lock_timeout: std::time::Duration::ZERO,
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        let ids = choose(layout, whole, rank as u64, ranks as u64);
        let mut data: Vec<Vec<f64>> = (0..fields)
            .map(|field| {
                ids.iter()
                    .map(|id| if reads { -1.0 } else { value(field, *id) })
                    .collect()
            })
            .collect();
        let mut state = State {
            whole: whole as i64,
            is_box: layout == "box",
            ids: &ids,
            data: &mut data,
        };
        session.comm().barrier().unwrap();
        let before = LIVE.load(Relaxed);
        session.comm().barrier().unwrap();
        MOST.store(before, Relaxed);
        session.comm().barrier().unwrap();
        let begin = Instant::now();
        if reads {
            let found = restore(&mut session, &mut |list: &mut List<'_>| state.list(list)).unwrap();
            assert!(found.is_some());
        } else {
            checkpoint(
                &mut session,
                Some("ck.1".into()),
                Ok((true, false)),
                &mut |list: &mut List<'_>| state.list(list),
            )
            .unwrap();
        }
        let seconds = begin.elapsed().as_secs_f64();
        session.comm().barrier().unwrap();
        took.fetch_max((seconds * 1e6) as usize, Relaxed);
        memory.fetch_max(MOST.load(Relaxed) - before, Relaxed);
        for (field, data) in data.iter().enumerate() {
            assert!(data.iter().zip(&ids).all(|(x, id)| *x == value(field, *id)));
        }
    });
    (took.into_inner() as f64 / 1e6, memory.into_inner() / ranks)
}

/// The seconds in which the elements of all ranks are copied to their places, by as many threads.
fn floor(layout: &str, whole: u64, fields: usize, ranks: usize) -> f64 {
    let took = AtomicUsize::new(0);
    threads::run(ranks, |comm| {
        let ids = choose(layout, whole, comm.rank() as u64, ranks as u64);
        // A permutation of the places, the time of which is not counted.
        let mut places: Vec<u32> = (0..ids.len() as u32).collect();
        if layout == "shuffled" {
            for i in (1..places.len()).rev() {
                places.swap(i, (mixed(i as u64 ^ 0x5555) % (i as u64 + 1)) as usize);
            }
        }
        let from: Vec<f64> = ids.iter().map(|id| *id as f64).collect();
        let mut to = vec![vec![-1.0f64; from.len()]; fields];
        comm.barrier().unwrap();
        let begin = Instant::now();
        for to in &mut to {
            for (place, value) in places.iter().zip(&from) {
                to[*place as usize] = *value;
            }
        }
        took.fetch_max((begin.elapsed().as_secs_f64() * 1e6) as usize, Relaxed);
        std::hint::black_box(&to);
    });
    took.into_inner() as f64 / 1e6
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    words.retain(|word| !word.starts_with("--"));
    let number = |at: usize, usual: usize| words.get(at).map_or(usual, |w| w.parse().unwrap());
    let dir = Path::new(words.first().expect("DIR")).join("scr-by-index");
    let (whole, fields) = (number(1, 4_000_000) as u64, number(2, 8));
    let (writers, readers, times) = (number(3, 2), number(4, 3), number(5, 5));
    let layouts: Vec<&str> = match words.get(6..) {
        Some(layouts) if !layouts.is_empty() => layouts.iter().map(String::as_str).collect(),
        _ => vec!["box", "block", "scattered", "shuffled"],
    };
    println!(
        "{:10} {:>8} {:>6} {:>8} {:>6} {:>8}",
        "layout", "write", "memory", "restore", "memory", "floor"
    );
    for layout in layouts {
        let (mut writes, mut reads, mut floors) = (Vec::new(), Vec::new(), Vec::new());
        let (mut written, mut read) = (0, 0);
        for _ in 0..times {
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(dir.join("prefix")).unwrap();
            let (seconds, bytes) = run(&dir, writers, layout, whole, fields, false);
            writes.push(seconds);
            written = written.max(bytes);
            let (seconds, bytes) = run(&dir, readers, layout, whole, fields, true);
            reads.push(seconds);
            read = read.max(bytes);
            floors.push(floor(layout, whole, fields, readers));
        }
        let mib = |bytes: usize| bytes as f64 / (1 << 20) as f64;
        println!(
            "{layout:10} {:8.3} {:6.1} {:8.3} {:6.1} {:8.3}",
            median(writes),
            mib(written),
            median(reads),
            mib(read),
            median(floors)
        );
    }
    let _ = std::fs::remove_dir_all(&dir);
}
