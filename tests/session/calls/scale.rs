//! How the costs of the calls grow with the ranks: what each rank sends and receives, whatever the machine.
//! `docs/scaling.md` has the table; its rows of 64 ranks are compared in each run. The others are counted
//! and written by hand:
//!
//! `SCR_SCALE_RANKS=64,512,4096 SCR_WRITE_DOCS=1 cargo test ... --test session -- calls::scale`

use crate::site::Site;
use scr::comm::{Communicator, threads};
use scr::config::Config;
use scr::session::{Session, Setup};
use scr_testing::counting::{CommTally, CountingComm, Counts};
use std::path::Path;

const RANKS_A_NODE: [usize; 3] = [1, 8, 64];

/// Bytes that rank 0 receives at most for each doubling of the ranks if nothing is lost.
const MOST_A_STEP: u64 = 2000;

/// The calls, in the order of the table.
const CALLS: [&str; 11] = [
    "SCR_Init, empty cache",
    "SCR_Start_output",
    "SCR_Complete_output, XOR",
    "SCR_Init, checkpoint in the cache",
    "SCR_Have_restart, in the cache",
    "SCR_Init, a node was lost",
    "SCR_Have_restart, a node was lost",
    "SCR_Finalize",
    "SCR_Complete_output, XOR and flush",
    "SCR_Init, all nodes were lost",
    "SCR_Have_restart, fetch",
];

/// One rank that notes what its calls cost.
struct Rank {
    session: Session,
    tally: CommTally,
    noted: Vec<Counts>,
    rank: usize,
}

impl Rank {
    fn note(&mut self) {
        self.noted.push(self.tally.take());
    }

    /// Writes a checkpoint. Its start and its end are noted.
    fn write(&mut self, name: &str) {
        let started = self.session.start_output(Some(name.into()), true, false);
        started.unwrap();
        self.note();
        let path = self
            .session
            .route(Path::new(&format!("{name}/{}", self.rank)));
        std::fs::write(path.unwrap(), [1; 100]).unwrap();
        self.session.complete_output(true).unwrap();
        self.note();
    }

    fn restart(&mut self, expected: &str) {
        let name = self.session.have_restart().unwrap().unwrap();
        assert_eq!(name.to_string(), expected);
        self.note();
        self.session.start_restart().unwrap();
        self.session.complete_restart(true).unwrap();
        self.tally.take();
    }
}

/// A run of so many ranks, in blocks of `on_node` a node. The costs of what its ranks note, `SCR_Init` first.
fn run(site: &Site, ranks: usize, on_node: usize, body: impl Fn(&mut Rank) + Sync) -> Vec<Cost> {
    let noted = threads::run(ranks, |comm| {
        let rank = comm.rank();
        let comm = CountingComm::new(comm);
        let tally = comm.tally();
        let setup = Setup {
            comm: Box::new(comm),
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(&node(rank / on_node)),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        let noted = Vec::new();
        let mut rank = Rank {
            session,
            tally,
            noted,
            rank,
        };
        rank.note();
        body(&mut rank);
        rank.noted
    });
    let calls = 0..noted[0].len();
    calls
        .map(|call| Cost::of(noted.iter().map(|calls| &calls[call])))
        .collect()
}

fn node(number: usize) -> String {
    format!("n{number}")
}

/// What a call costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Cost {
    rounds: u64,
    /// Messages that a rank sends at most.
    messages: u64,
    largest: u64,
    /// Bytes that a rank sends.
    sent: Spread,
    /// Bytes that a rank receives.
    received: Spread,
}

/// A number of each rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Spread {
    most: u64,
    mean: u64,
    root: u64,
}

impl Spread {
    fn of(numbers: impl Iterator<Item = u64> + Clone) -> Self {
        let ranks = numbers.clone().count() as u64;
        Spread {
            most: numbers.clone().max().unwrap(),
            mean: numbers.clone().sum::<u64>() / ranks,
            root: numbers.clone().next().unwrap(),
        }
    }
}

impl Cost {
    fn of<'a>(counts: impl Iterator<Item = &'a Counts> + Clone) -> Self {
        let most = |of: fn(&Counts) -> u64| counts.clone().map(of).max().unwrap();
        Cost {
            rounds: most(|c| c.rounds),
            messages: most(|c| c.messages),
            largest: most(|c| c.largest),
            sent: Spread::of(counts.clone().map(|c| c.bytes)),
            received: Spread::of(counts.clone().map(|c| c.bytes_received)),
        }
    }

    fn row(&self) -> String {
        let of = |s: &Spread| format!("{} | {} | {}", s.most, s.mean, s.root);
        let (sent, received) = (of(&self.sent), of(&self.received));
        let (rounds, messages, largest) = (self.rounds, self.messages, self.largest);
        format!("{rounds} | {messages} | {largest} | {sent} | {received}")
    }
}

/// The cost of each of [`CALLS`].
fn costs(ranks: usize, on_node: usize) -> Vec<Cost> {
    let cache = Site::in_memory().set("SCR_FLUSH", "0");
    let mut costs = run(&cache, ranks, on_node, |rank| {
        rank.write("ck.1");
        rank.session.finalize(&mut Config::new()).unwrap();
        rank.note();
    });
    let finalize = costs.pop();
    let restart = |rank: &mut Rank| rank.restart("ck.1");
    costs.extend(run(&cache, ranks, on_node, restart));
    cache.lose(&node(1));
    costs.extend(run(&cache, ranks, on_node, restart));
    costs.extend(finalize);

    let flushed = Site::in_memory().set("SCR_FLUSH", "1");
    let written = run(&flushed, ranks, on_node, |rank| rank.write("ck.1"));
    costs.extend(written.into_iter().last());
    (0..ranks / on_node).for_each(|lost| flushed.lose(&node(lost)));
    costs.extend(run(&flushed, ranks, on_node, restart));
    costs
}

/// The shapes of runs that are counted: ranks, and ranks a node; at least two nodes.
fn shapes() -> Vec<(usize, usize)> {
    let sizes = std::env::var("SCR_SCALE_RANKS").unwrap_or("64".to_string());
    let sizes = sizes.split(',').map(|ranks| ranks.parse().unwrap());
    let of = |ranks| RANKS_A_NODE.map(|on_node| (ranks, on_node));
    let all = sizes.flat_map(of);
    all.filter(|(ranks, on_node)| 2 * on_node <= *ranks)
        .collect()
}

/// The name of a row, and its numbers.
fn split(row: &str) -> Option<(String, Vec<u64>)> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, ranks, on_node, call, numbers @ .., _] = &cells[..] else {
        return None;
    };
    let numbers = numbers.iter().map(|number| number.parse());
    let numbers = numbers.collect::<Result<_, _>>().ok()?;
    Some((format!("{ranks} | {on_node} | {call}"), numbers))
}

/// True if two rows are the same but for what differs from run to run: the lengths of paths, and the ranks at which
/// names meet, since directories of tests have names that are drawn.
fn same(left: &[u64], right: &[u64]) -> bool {
    let near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 512 + a / 2;
    left.len() == right.len() && left[..2] == right[..2] && left.iter().zip(right).all(near)
}

#[test]
fn the_table_of_scaling_is_what_the_calls_cost() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scaling.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let write = std::env::var_os("SCR_WRITE_DOCS").is_some();
    let mut wrong = Vec::new();
    for (ranks, on_node) in shapes() {
        for (call, cost) in CALLS.into_iter().zip(costs(ranks, on_node)) {
            let row = format!("| {ranks} | {on_node} | {call} | {} |", cost.row());
            let (name, counted) = split(&row).unwrap();
            let known = |line: &&mut String| split(line).is_some_and(|known| known.0 == name);
            let line = lines.iter_mut().find(known);
            let line = line.unwrap_or_else(|| panic!("docs/scaling.md has no row for {name}"));
            if !same(&split(line).unwrap().1, &counted) {
                wrong.push(format!("{row}\nthe table has\n{line}"));
                *line = row;
            }
        }
    }
    if write {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// On an empty cache, where nothing depends on the number of nodes: no rank is special, and eight times as many
/// ranks cost each some messages more.
#[test]
fn what_a_start_costs_a_rank_grows_with_the_logarithm_of_the_ranks() {
    for (ranks, on_node) in [(32, 1), (32, 8), (256, 1), (256, 8), (256, 64)] {
        let site = Site::in_memory();
        let costs = run(&site, ranks, on_node, |_| ());
        let (cost, steps) = (&costs[0], u64::from(ranks.ilog2()));
        assert_eq!(cost.messages, 6 * steps, "{ranks} ranks, {on_node} a node");
        assert!(
            cost.sent.most <= 1600 * steps,
            "{ranks}, {on_node}: {cost:?}"
        );
        assert!(
            cost.received.most <= 600 * steps,
            "{ranks}, {on_node}: {cost:?}"
        );
    }
}

/// A restart from a cache in which all is there: what rank 0 receives does not grow with the nodes, since those whose
/// leaders report the same are one. A set has eight members, each of which has another place in it.
#[test]
fn what_rank_0_gets_of_an_intact_cache_grows_with_the_logarithm_of_the_ranks() {
    for (ranks, on_node) in [(64, 1), (64, 8), (512, 1), (512, 8)] {
        let site = Site::in_memory().set("SCR_FLUSH", "0");
        run(&site, ranks, on_node, |rank| rank.write("ck.1"));
        let costs = run(&site, ranks, on_node, |_| ());
        let (cost, steps) = (&costs[0], u64::from(ranks.ilog2()));
        for bytes in [cost.received.root, cost.largest] {
            assert!(
                bytes <= MOST_A_STEP * steps,
                "{ranks} ranks, {on_node} a node: {cost:?}"
            );
        }
    }
}
