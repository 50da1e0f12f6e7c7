//! A rank dies at any operation of its communicator. The others get an error, and a repair brings the newest
//! checkpoint back: with a process in the place of the lost one, or on the ranks that are left.

use crate::fields_on_ranks::{by_index, save};
use crate::site::{Rank, Site, content};
use scr::comm::{Communicator, Pending, Tag, Term};
use scr::config::Config;
use scr::fields::{Given, Indices, Key, List, Options, Owner, restore};
use scr::session::{Member, Session, Setup};
use scr::store::Files;
use scr::store::posix::Posix;
use scr::{Error, Result};
use scr_testing::faulty::Faulty;
use scr_testing::threads;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

/// The program checkpoints these, and the rank dies while it does.
const NAMES: [&str; 3] = ["b", "c", "d"];

/// A communicator of a rank that dies after so many operations: then the others see that it has ended.
struct Mortal {
    inner: Mutex<Option<Arc<dyn Communicator>>>,
    rank: usize,
    size: usize,
    left: Arc<AtomicU64>,
}

impl Mortal {
    fn new(inner: Box<dyn Communicator>, left: Arc<AtomicU64>) -> Self {
        let (rank, size) = (inner.rank(), inner.size());
        Mortal {
            inner: Mutex::new(Some(inner.into())),
            rank,
            size,
            left,
        }
    }

    /// The communicator, for one operation.
    fn alive(&self) -> Result<Arc<dyn Communicator>> {
        let mut inner = self.inner.lock().unwrap();
        if self.left.load(Ordering::Relaxed) == 0 {
            *inner = None;
        } else if self.left.load(Ordering::Relaxed) != u64::MAX {
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
        let gone = || Error::comm("test", "this rank is dead");
        inner.clone().ok_or_else(gone)
    }
}

impl Communicator for Mortal {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.alive()?.isend(to, tag, data)
    }
    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.alive()?.irecv(from, tag, buffer)
    }
    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.alive()?.recv(from, tag)
    }
    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        self.alive()?.recv_any(tag)
    }
    fn barrier(&self) -> Result<()> {
        self.alive()?.barrier()
    }
    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.alive()?.allreduce(terms)
    }
    fn abort(&self, _: i32) -> ! {
        panic!("aborted")
    }
}

/// How the ranks go on after the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A process takes the place of the lost one, on its node, with what it had there.
    SameNode,
    /// The node is lost, and the process is on another one.
    OtherNode,
    /// The node is lost, and there is one rank less.
    Shrink,
}

/// When a rank is lost, and when a second one.
#[derive(Debug, Clone, Copy)]
struct Loss {
    way: Way,
    rank: usize,
    /// After so many operations of its communicator.
    at: u64,
    /// The rank of the repaired run that is lost during the repair, after so many operations.
    during: Option<(usize, u64)>,
}

/// What became of it.
#[derive(Debug, Default)]
struct Outcome {
    /// The rank died before its work was done.
    died: bool,
    died_again: bool,
    /// The newest checkpoint that was complete on a rank.
    completed: Option<&'static str>,
}

/// The communicators of the ranks of a run, for those that take them.
type Members = Mutex<Vec<Option<Box<dyn Communicator>>>>;

/// The members of a run, in which rank `mortal` dies after `left` operations.
fn members(size: usize, mortal: usize, left: &Arc<AtomicU64>) -> Members {
    let world = threads::connected(size).into_iter().enumerate();
    let with_fate = |(rank, comm): (usize, Box<dyn Communicator>)| {
        let comm = if rank == mortal {
            Box::new(Mortal::new(comm, left.clone()))
        } else {
            comm
        };
        Some(comm)
    };
    Mutex::new(world.map(with_fate).collect())
}

fn take(members: &Members, rank: usize) -> Box<dyn Communicator> {
    members.lock().unwrap()[rank].take().unwrap()
}

/// A program that loses a rank, is repaired, restarts, and goes on.
struct Program<'a> {
    site: &'a Site,
    loss: Loss,
    /// Its checkpoints are of fields: an index list with halos, and a bag.
    fields: bool,
    /// The operations that are left to the rank that dies, and to the one that dies in the repair.
    fates: [Arc<AtomicU64>; 2],
    /// The ranks of the first run, of that after the repair, and of that after a second loss.
    runs: [Members; 3],
    next_size: usize,
    all: Barrier,
    outcome: Mutex<Outcome>,
}

/// What a process has between two runs.
struct Process {
    member: Member,
    config: Config,
    files: Arc<dyn Files>,
    node: &'static str,
}

impl<'a> Program<'a> {
    fn new(site: &'a Site, loss: Loss) -> Self {
        let never = || Arc::new(AtomicU64::new(u64::MAX));
        let fates = [never(), never()];
        let size = NODES.len();
        let next_size = size - usize::from(loss.way == Way::Shrink);
        let second = loss.during.map_or(usize::MAX, |(rank, _)| rank);
        let runs = [
            members(size, loss.rank, &fates[0]),
            members(next_size, second, &fates[1]),
            members(next_size, usize::MAX, &never()),
        ];
        Program {
            site,
            loss,
            fields: false,
            fates,
            runs,
            next_size,
            all: Barrier::new(size),
            outcome: Mutex::default(),
        }
    }

    fn run(self) -> Outcome {
        std::thread::scope(|scope| {
            for (rank, node) in NODES.iter().enumerate() {
                let program = &self;
                scope.spawn(move || program.on_rank(rank, node));
            }
        });
        self.outcome.into_inner().unwrap()
    }

    fn on_rank(&self, rank: usize, node: &'static str) {
        let mut process = self.first_run(rank, node);
        self.all.wait();
        let shrinks = self.loss.way == Way::Shrink;
        if shrinks && rank == self.loss.rank {
            self.all.wait();
            return;
        }
        let rank = rank - usize::from(shrinks && rank > self.loss.rank);
        let session = self.repair(rank, &mut process);
        let mut me = Rank { session, rank };
        let completed = self.outcome.lock().unwrap().completed;
        if self.fields {
            let name = restore_fields(&mut me, self.next_size);
            assert!(name.as_str() >= completed.unwrap_or("a"), "{name}");
        } else {
            restart(&mut me, completed, self.next_size);
        }
        self.checkpoint(&mut me, "e", self.next_size).unwrap();
        if self.fields {
            assert_eq!(restore_fields(&mut me, self.next_size), "e");
        } else {
            assert_eq!(me.restart().as_deref(), Some("e"));
        }
        me.session.finalize(&mut process.config).unwrap();
    }

    fn checkpoint(&self, me: &mut Rank, name: &str, size: usize) -> Result<()> {
        if !self.fields {
            return me.checkpoint(name).map(drop);
        }
        let mut state = State::new(me.rank, size, name);
        save(me, name, |list| state.list(list, size))
    }

    /// Until a rank has died, and the others have noticed.
    fn first_run(&self, rank: usize, node: &'static str) -> Process {
        let faulty = Faulty::new(Posix);
        let faults = faulty.faults();
        let mut process = Process {
            member: Member::new(),
            config: Config::new(),
            files: Arc::new(faulty),
            node,
        };
        let setup = setup(self.site, &process, take(&self.runs[0], rank));
        let session = Session::init(setup, &mut process.config).unwrap().unwrap();
        let mut me = Rank { session, rank };
        self.checkpoint(&mut me, "a", NODES.len()).unwrap();
        self.all.wait();
        let dies = rank == self.loss.rank;
        if dies {
            self.fates[0].store(self.loss.at, Ordering::Relaxed);
        }
        self.all.wait();
        for name in NAMES {
            if self.checkpoint(&mut me, name, NODES.len()).is_err() {
                break;
            }
            let mut outcome = self.outcome.lock().unwrap();
            outcome.completed = outcome.completed.max(Some(name));
        }
        if !dies {
            process.member = me.session.leave();
            return process;
        }
        self.outcome.lock().unwrap().died = self.fates[0].load(Ordering::Relaxed) == 0;
        faults.die_now();
        drop(me);
        if self.loss.way != Way::SameNode {
            self.site.lose(node);
        }
        Process {
            member: Member::new(),
            config: Config::new(),
            files: Arc::new(Posix),
            node: if self.loss.way == Way::OtherNode {
                "n4"
            } else {
                node
            },
        }
    }

    /// The repair, and another one if a rank is lost during it.
    fn repair(&self, rank: usize, process: &mut Process) -> Session {
        let [_, fate] = &self.fates;
        let at = self.loss.during.filter(|(second, _)| *second == rank);
        if let Some((_, at)) = at {
            fate.store(at, Ordering::Relaxed);
        }
        let mut repaired = self.repair_once(rank, process, 1);
        if at.is_some() && fate.swap(u64::MAX, Ordering::Relaxed) == 0 {
            self.outcome.lock().unwrap().died_again = true;
            (process.member, process.config) = (Member::new(), Config::new());
            repaired = Err(Error::comm("test", "this rank is dead"));
        }
        self.all.wait();
        let again = self.outcome.lock().unwrap().died_again;
        if again {
            if let Ok(Some(session)) = repaired {
                process.member = session.leave();
            }
            repaired = self.repair_once(rank, process, 2);
        }
        repaired.unwrap().expect("some rank has survived")
    }

    fn repair_once(
        &self,
        rank: usize,
        process: &mut Process,
        run: usize,
    ) -> Result<Option<Session>> {
        let setup = setup(self.site, process, take(&self.runs[run], rank));
        Session::repair(setup, &mut process.member, &mut process.config)
    }
}

fn setup(site: &Site, process: &Process, comm: Box<dyn Communicator>) -> Setup {
    Setup {
        comm,
        files: process.files.clone(),
        sink: site.events.clone(),
        environment: site.environment(process.node),
        lock_timeout: Duration::from_secs(10),
    }
}

/// Elements of a whole with those of the next rank, and elements of a bag that belong to the rank of their number.
struct State {
    step: i64,
    ids: Vec<i64>,
    heat: Vec<i64>,
    bag: Vec<i64>,
}

impl State {
    const WHOLE: i64 = 23;

    fn new(rank: usize, size: usize, name: &str) -> Self {
        let step = i64::from(name.as_bytes()[0]);
        let next = (rank + 1) % size;
        let of = |rank: usize| (0..Self::WHOLE).filter(move |id| *id as usize % size == rank);
        let mut ids: Vec<i64> = of(rank).collect();
        ids.extend(of(next).filter(|_| next != rank));
        State {
            step,
            heat: ids.iter().map(|id| 100 * step + id).collect(),
            ids,
            bag: of(rank).map(|id| id + 1000 * step).collect(),
        }
    }

    fn list(&mut self, list: &mut List<'_>, size: usize) -> Result<()> {
        list.count("step", &mut self.step)?;
        list.next(Options {
            shared: true,
            ..Options::default()
        });
        list.index(&Given {
            name: "nodes",
            indices: Indices::Eight(&self.ids),
            first: 0,
            whole: Self::WHOLE,
        })?;
        by_index(
            list,
            ("heat", "nodes"),
            &[self.ids.len() as i64],
            &mut self.heat,
        )?;
        let mut count = self.bag.len() as i64;
        let mut owner = |keys: &[i64], ranks: &mut [i32]| {
            for (key, rank) in keys.iter().zip(ranks) {
                *rank = (key % 1000 % size as i64) as i32;
            }
            Ok(())
        };
        let owner: Option<&mut Owner<'_>> = Some(&mut owner);
        list.bag_by_key("all", &mut count, Key { field: "id", owner })?;
        self.bag.resize(count as usize, -1);
        by_index(list, ("id", "all"), &[count], &mut self.bag)
    }
}

/// Restores fields, which must be right. The name of the checkpoint.
fn restore_fields(me: &mut Rank, size: usize) -> String {
    let mut state = State::new(me.rank, size, "?");
    state.heat.fill(-1);
    let found = restore(&mut me.session, &mut |list| state.list(list, size));
    let name = found.unwrap().expect("a checkpoint").to_string();
    let right = State::new(me.rank, size, &name);
    state.bag.sort_unstable();
    assert!(state.heat == right.heat, "{name}: {:?}", state.heat);
    assert!(state.bag == right.bag, "{name}: {:?}", state.bag);
    name
}

/// What is offered must be as new as what was complete on any rank, and right.
fn restart(me: &mut Rank, completed: Option<&str>, size: usize) {
    me.session.allow_other_ranks(true).unwrap();
    let offered = me.session.have_restart().unwrap().expect("a checkpoint");
    let name = offered.to_string();
    assert!(
        name.as_str() >= completed.unwrap_or("a"),
        "{name} {completed:?}"
    );
    me.session.start_restart().unwrap();
    let writers = me.session.restart_ranks().unwrap() as usize;
    for writer in 0..writers {
        if writers == size && writer != me.rank {
            continue;
        }
        let path = format!("{name}/rank_{writer}.dat");
        let path = me.session.route(Path::new(&path)).unwrap();
        let right = content(&name, writer, 1000 + 7 * writer);
        assert_eq!(
            std::fs::read(path).unwrap(),
            right,
            "{name} of rank {writer}"
        );
    }
    me.session.complete_restart(true).unwrap();
}

fn site(more: &[(&str, &str)]) -> Site {
    let site = Site::in_memory().set("SCR_CACHE_SIZE", "3");
    more.iter()
        .fold(site, |site, (name, value)| site.set(name, value))
}

fn all_operations(way: Way, step: usize, more: &[(&str, &str)]) {
    all_operations_of(way, step, more, false);
}

/// Each n-th operation of each rank, until it lives. `SCR_REPAIR_EACH=1`: each operation.
fn all_operations_of(way: Way, step: usize, more: &[(&str, &str)], fields: bool) {
    let step = std::env::var("SCR_REPAIR_EACH").map_or(step, |step| step.parse().unwrap());
    for rank in 0..NODES.len() {
        for at in (1..).step_by(step) {
            let loss = Loss {
                way,
                rank,
                at,
                during: None,
            };
            let site = site(more);
            let program = Program {
                fields,
                ..Program::new(&site, loss)
            };
            if !program.run().died {
                assert!(at > 30, "{at}");
                break;
            }
        }
    }
}

#[test]
fn a_process_takes_the_place_of_one_that_died_in_any_operation() {
    all_operations(Way::SameNode, 3, &[("SCR_COPY_TYPE", "XOR")]);
}

#[test]
fn a_process_on_another_node_takes_the_place_of_one_whose_node_is_lost() {
    all_operations(Way::OtherNode, 3, &[("SCR_COPY_TYPE", "XOR")]);
    all_operations(Way::OtherNode, 7, &[("SCR_COPY_TYPE", "PARTNER")]);
}

#[test]
fn the_ranks_that_are_left_go_on_without_a_lost_one() {
    all_operations(Way::Shrink, 5, &[("SCR_COPY_TYPE", "XOR")]);
}

/// Halos and bags by a key are restored by the ranks that are left.
#[test]
fn the_ranks_that_are_left_restore_fields_of_the_lost_one() {
    all_operations_of(Way::Shrink, 9, &[("SCR_COPY_TYPE", "XOR")], true);
    all_operations_of(Way::SameNode, 23, &[("SCR_COPY_TYPE", "XOR")], true);
}

#[test]
fn flushes_in_the_background_end_with_the_run_that_began_them() {
    let flush = [
        ("SCR_FLUSH", "1"),
        ("SCR_FLUSH_ASYNC", "1"),
        ("SCR_COPY_TYPE", "XOR"),
    ];
    all_operations(Way::OtherNode, 11, &flush);
}

#[test]
fn a_second_rank_is_lost_during_the_repair() {
    for way in [Way::OtherNode, Way::Shrink] {
        for second in 0..NODES.len() - usize::from(way == Way::Shrink) {
            for at in (1..).step_by(6) {
                let loss = Loss {
                    way,
                    rank: 1,
                    at: 20,
                    during: Some((second, at)),
                };
                let more = [("SCR_COPY_TYPE", "XOR"), ("SCR_FLUSH", "1")];
                if !Program::new(&site(&more), loss).run().died_again {
                    assert!(at > 10, "{at}");
                    break;
                }
            }
        }
    }
}
