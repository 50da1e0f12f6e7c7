//! Many files in one dataset: each costs the same, however many there are.

use crate::job::in_memory;
use crate::site::{Rank, Site};
use crate::{alone, memory, number};
use scr::store::posix::Posix;
use scr_jobs::tally::{CountingFiles, FileTally};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

/// What all ranks together have done in one step.
#[derive(Debug)]
struct Costs {
    name: &'static str,
    operations: u64,
    allocations: u64,
    /// The most bytes that were allocated at once beyond what was there before the step.
    memory: u64,
    seconds: f64,
}

/// Notes the costs of steps; all ranks call it, and rank 0 notes.
struct Meter<'a> {
    tally: &'a FileTally,
    costs: Vec<Costs>,
    allocations: u64,
    live: u64,
    begun: Instant,
}

impl<'a> Meter<'a> {
    fn new(tally: &'a FileTally) -> Self {
        tally.take();
        memory::take_peak();
        Meter {
            tally,
            costs: Vec::new(),
            allocations: memory::allocations(),
            live: memory::live(),
            begun: Instant::now(),
        }
    }

    fn note(&mut self, name: &'static str) {
        let allocations = memory::allocations();
        self.costs.push(Costs {
            name,
            operations: self.tally.take().values().sum(),
            allocations: allocations - self.allocations,
            memory: memory::take_peak().saturating_sub(self.live),
            seconds: self.begun.elapsed().as_secs_f64(),
        });
        (self.allocations, self.live) = (memory::allocations(), memory::live());
        self.begun = Instant::now();
    }
}

fn name_of(rank: usize, file: usize) -> String {
    format!("ck/{rank}/{}/file_{file}", file / 1000)
}

fn write(rank: &mut Rank, files: usize) {
    let session = &mut rank.session;
    session
        .start_output(Some("ck".into()), true, false)
        .unwrap();
    for file in 0..files {
        let path = session.route(Path::new(&name_of(rank.rank, file))).unwrap();
        std::fs::write(path, b"content of a file").unwrap();
    }
    session.complete_output(true).unwrap();
}

fn restart(rank: &mut Rank, files: usize) {
    let session = &mut rank.session;
    assert!(session.have_restart().unwrap().is_some());
    session.start_restart().unwrap();
    for file in 0..files {
        let path = session.route(Path::new(&name_of(rank.rank, file))).unwrap();
        assert!(path.exists());
    }
    session.complete_restart(true).unwrap();
}

/// The life of a dataset with so many files on each rank.
fn life(ranks: usize, files: usize, settings: &[(&str, &str)]) -> Vec<Costs> {
    let counting = CountingFiles::new(Posix);
    let tally = counting.tally();
    let mut site = in_memory()
        .set("SCR_COPY_TYPE", "XOR")
        .set("SCR_FLUSH", "0");
    site.files = Arc::new(counting);
    for (name, value) in settings {
        site = site.set(name, value);
    }
    let nodes = &NODES[..ranks];
    let mut meter = Meter::new(&tally);
    site.run(nodes, |rank| write(rank, files));
    meter.note("written");
    site.run(nodes, |rank| restart(rank, files));
    meter.note("restarted from the cache");
    if ranks > 1 {
        std::fs::remove_dir_all(site.node(nodes[1])).unwrap();
        site.run(nodes, |rank| restart(rank, files));
        meter.note("rebuilt");
    }
    let site: Site = site.set("SCR_FLUSH", "1");
    site.run(nodes, |rank| {
        rank.session.have_restart().unwrap();
        let mut config = scr::config::Config::new();
        rank.session.finalize(&mut config).unwrap();
    });
    meter.note("flushed");
    std::fs::remove_dir_all(site.dir.path().join("nodes")).unwrap();
    site.run(nodes, |rank| restart(rank, files));
    meter.note("fetched");
    meter.costs
}

/// How the flush copies.
const WAYS: [&[(&str, &str)]; 3] = [
    &[],
    &[("SCR_FLUSH_ASYNC", "1")],
    &[("SCR_USE_CONTAINERS", "1")],
];

#[test]
fn each_file_costs_the_same_however_many_there_are() {
    let _alone = alone();
    for way in WAYS {
        let (few, many) = (life(2, 500, way), life(2, 2000, way));
        for (few, many) in few.iter().zip(&many) {
            let name = few.name;
            assert!(
                many.operations <= 4 * few.operations,
                "{way:?}, {name}: {few:?}, {many:?}"
            );
            assert!(
                many.allocations <= 4 * few.allocations,
                "{way:?}, {name}: {few:?}, {many:?}"
            );
        }
    }
}

/// By hand: `SCR_GROWTH_FILES=100000`, `SCR_GROWTH_FILE_RANKS=4`, `SCR_GROWTH_WAY=2`.
#[test]
fn the_costs_of_many_files() {
    let _alone = alone();
    let ranks = number("SCR_GROWTH_FILE_RANKS", 2);
    let way = WAYS[number("SCR_GROWTH_WAY", 0)];
    for files in [100, number("SCR_GROWTH_FILES", 200)] {
        let all = (ranks * files) as f64;
        for costs in life(ranks, files, way) {
            println!(
                "{files} files on each of {ranks} ranks, {}: {:.1} operations, {:.1} allocations, {:.0} bytes and \
                 {:.1} us for each file",
                costs.name,
                costs.operations as f64 / all,
                costs.allocations as f64 / all,
                costs.memory as f64 / all,
                costs.seconds / all * 1e6
            );
        }
    }
}
