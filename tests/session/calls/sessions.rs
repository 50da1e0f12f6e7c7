//! Several sessions in each process, on groups of ranks that overlap: random programs write checkpoints of all of them in
//! random order, lose nodes, and restart each from its own newest one. `SCR_SESSION_PROGRAMS`: so many programs.

use crate::site::{Rank, Site, nodes};
use scr::comm::Communicator;
use scr::config::Config;
use scr::session::{Session, Setup};
use scr_testing::threads;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// Numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

/// A session: its name, and the ranks of the job that take part.
struct Group {
    name: String,
    members: Vec<usize>,
    /// Its communicators, for the ranks that take them.
    comms: Mutex<Vec<Option<Box<dyn Communicator>>>>,
}

impl Group {
    /// A random part of `ranks` ranks, at least one.
    fn random(number: usize, ranks: usize, dice: &mut Dice) -> Self {
        let mut members: Vec<usize> = (0..ranks).filter(|_| dice.below(3) > 0).collect();
        if members.is_empty() {
            members.push(dice.below(ranks));
        }
        Group {
            name: format!("group-{number}"),
            members,
            comms: Mutex::default(),
        }
    }

    fn connect(&self) {
        let world = threads::connected(self.members.len());
        *self.comms.lock().unwrap() = world.into_iter().map(Some).collect();
    }

    /// The session of rank `rank` of the job; `None` if it takes no part.
    fn open(&self, site: &Site, rank: usize, node: &str) -> Option<Rank> {
        let own = self.members.iter().position(|member| *member == rank)?;
        let comm = self.comms.lock().unwrap()[own].take().unwrap();
        let setup = Setup {
            comm,
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(node),
            lock_timeout: Duration::from_secs(10),
        };
        let session = Session::init(setup, &mut Config::of_session(&self.name));
        let mut session = session.unwrap().unwrap();
        session.set_cwd(site.prefix().join(&self.name));
        Some(Rank { session, rank: own })
    }
}

/// What the program does, the same on all ranks.
enum Step {
    /// The next checkpoint of this session.
    Checkpoint(usize),
    /// All processes are killed, this node is lost, and the program starts again.
    Kill(usize),
    /// All end with SCR_Finalize, and the program starts again.
    End,
}

fn program(sessions: usize, ranks: usize, dice: &mut Dice) -> Vec<Step> {
    let steps = 6 + dice.below(10);
    let step = |_| match dice.below(8) {
        0 => Step::Kill(dice.below(ranks)),
        1 => Step::End,
        _ => Step::Checkpoint(dice.below(sessions)),
    };
    (0..steps).map(step).collect()
}

fn run(seed: u64) {
    let mut dice = Dice(seed);
    let ranks = 3 + dice.below(3);
    let groups: Vec<Group> = (0..4).map(|n| Group::random(n, ranks, &mut dice)).collect();
    let scheme = ["XOR", "PARTNER"][dice.below(2)];
    let flush = ["0", "1", "2"][dice.below(3)];
    let site = Site::in_memory()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_FLUSH", flush)
        .set("SCR_CACHE_SIZE", "2");
    let names = nodes(ranks);
    let steps = program(groups.len(), ranks, &mut dice);
    let parts = steps.split_inclusive(|step| !matches!(step, Step::Checkpoint(_)));
    // How many checkpoints each session has written. A group of one rank has no redundancy.
    let mut written: BTreeMap<usize, usize> = BTreeMap::new();
    for part in parts {
        groups.iter().for_each(Group::connect);
        let before = written.clone();
        for step in part {
            if let Step::Checkpoint(which) = step {
                *written.entry(*which).or_default() += 1;
            }
        }
        let end = std::sync::Barrier::new(ranks);
        std::thread::scope(|scope| {
            for (rank, node) in names.iter().enumerate() {
                let (groups, site, before, end) = (&groups, &site, &before, &end);
                scope.spawn(move || one_run(seed, groups, site, node, rank, part, before, end));
            }
        });
        if let Some(Step::Kill(node)) = part.last() {
            // A rank that is in no session has nothing there.
            let _ = std::fs::remove_dir_all(site.node(names[*node]));
            for (which, group) in groups.iter().enumerate() {
                if group.members == [*node] {
                    written.insert(which, 0);
                    forget(&site, group);
                }
            }
        }
    }
}

/// A session of the lost node alone: what it has in the prefix directory may be older, so it begins again.
fn forget(site: &Site, group: &Group) {
    let _ = std::fs::remove_dir_all(site.prefix().join(&group.name));
}

#[allow(clippy::too_many_arguments)] // What a thread of a run needs.
fn one_run(
    seed: u64,
    groups: &[Group],
    site: &Site,
    node: &str,
    rank: usize,
    steps: &[Step],
    before: &BTreeMap<usize, usize>,
    end: &std::sync::Barrier,
) {
    let mut open: Vec<Option<Rank>> = groups.iter().map(|g| g.open(site, rank, node)).collect();
    let mut count = before.clone();
    for (which, session) in open.iter_mut().enumerate() {
        let Some(session) = session else { continue };
        let expected = count
            .get(&which)
            .filter(|n| **n > 0)
            .map(|n| format!("ck.{n}"));
        assert_eq!(
            session.restart(),
            expected,
            "seed {seed}, {}",
            groups[which].name
        );
    }
    for step in steps {
        match step {
            Step::Checkpoint(which) => {
                let number = count.entry(*which).or_default();
                *number += 1;
                if let Some(session) = &mut open[*which] {
                    session.checkpoint(&format!("ck.{number}")).unwrap();
                }
            }
            Step::End => {
                let sessions = open.iter_mut().flatten();
                sessions.for_each(|session| session.finalize().unwrap());
            }
            Step::Kill(_) => {}
        }
    }
    // Where a process ends early, calls of others would fail.
    end.wait();
}

#[test]
fn sessions_side_by_side_restart_from_their_own_checkpoints() {
    let programs = std::env::var("SCR_SESSION_PROGRAMS").map_or(40, |count| count.parse().unwrap());
    (0..programs).for_each(run);
}
