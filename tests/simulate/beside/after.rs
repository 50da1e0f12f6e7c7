//! What scripts do after a run: `scr poststage`, `scr postrun` with its scavenge, `scr clean`. Each step is a
//! process on each node that is left, as `scr` starts them.

use super::commands::Command;
use super::draw::After;
use super::{Beside, HANG, Site};
use crate::oracle::Promise;
use crate::places::LOCAL;
use scr::scavenge::Redundancy;
use scr::store::Files;
use scr::system::simulated::scheduler::{self, Simulation, Step};
use scr_jobs::relaunch::save::{candidates, save};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;

/// The steps that a script may take until it is killed with all its processes.
struct Fuse {
    left: Option<u64>,
    killed: bool,
}

type Results<T> = Rc<RefCell<Vec<T>>>;

impl Beside {
    /// What the plan has after this run.
    pub fn after_run(&mut self, simulation: &Simulation, after: &[After]) {
        for what in after {
            self.login.tell(&format!("after the run: {what:?}"));
            match what {
                After::Poststage(kill) => self.again(*kill, |all, fuse| {
                    all.poststage(simulation, fuse);
                }),
                After::Postrun(people, kill) => self.again(*kill, |all, fuse| {
                    all.postrun(simulation, *people, fuse);
                }),
                After::Command(command) => {
                    self.start_command(simulation, command.clone(), None);
                    self.end_run(simulation);
                }
                After::Resume(kill) => self.again(*kill, |all, fuse| {
                    all.resume(simulation, fuse);
                }),
                After::Clean => self.clean(simulation),
                // Where there is no room a new one cannot be written.
                After::LoseIndex if self.login.oracle.borrow().is_tight() => {}
                After::LoseIndex => self.again(None, |all, fuse| {
                    all.alone(simulation, "scr index --add", fuse, Site::make_index);
                }),
            }
        }
        self.check(simulation);
    }

    /// Calls a script; if it is killed, once more.
    fn again(&mut self, kill: Option<u64>, mut script: impl FnMut(&mut Self, &mut Fuse)) {
        let mut fuse = Fuse {
            left: kill,
            killed: false,
        };
        script(self, &mut fuse);
        if fuse.killed {
            self.login
                .tell("the script was killed, and is called again");
            fuse = Fuse {
                left: None,
                killed: false,
            };
            script(self, &mut fuse);
        }
    }

    /// The nodes that can be reached.
    fn up(&self) -> Vec<usize> {
        let all = 0..self.nodes.len();
        all.filter(|node| !self.down.contains(node)).collect()
    }

    /// Runs a process on each of these nodes, and waits for all. Their results; none of those that were
    /// killed.
    fn on_each<T: 'static>(
        &mut self,
        simulation: &Simulation,
        nodes: &[Option<usize>],
        name: &str,
        fuse: &mut Fuse,
        work: impl Fn(&Site) -> T + Clone + 'static,
    ) -> Vec<T> {
        let results: Results<T> = Rc::default();
        let mut started = Vec::new();
        for node in nodes.iter().filter(|_| !fuse.killed) {
            let (work, results) = (work.clone(), results.clone());
            let body = move |site: &Site| {
                let result = work(site);
                results.borrow_mut().push(result);
            };
            started.push(self.start(simulation, *node, name, body));
        }
        let begun = scheduler::now().unwrap_or_default();
        while started.iter().any(|(_, task)| !scheduler::has_ended(*task)) {
            if let Some(left) = &mut fuse.left {
                fuse.killed |= *left == 0;
                *left = left.saturating_sub(1);
            }
            let took = scheduler::now().unwrap_or_default().saturating_sub(begun);
            let hangs = simulation.step() == Step::Stuck || took > HANG;
            if hangs {
                let tasks = simulation.tasks();
                self.hangs(format!("{name} does not end: {tasks:#?}"));
            }
            if hangs || fuse.killed {
                break;
            }
        }
        started.iter().for_each(|(id, _)| simulation.kill(*id));
        results.take()
    }

    fn on_nodes<T: 'static>(
        &mut self,
        simulation: &Simulation,
        name: &str,
        fuse: &mut Fuse,
        work: impl Fn(&Site) -> T + Clone + 'static,
    ) -> Vec<T> {
        let up: Vec<Option<usize>> = self.up().into_iter().map(Some).collect();
        self.on_each(simulation, &up, name, fuse, work)
    }

    /// Runs one process without a cache.
    fn alone<T: 'static>(
        &mut self,
        simulation: &Simulation,
        name: &str,
        fuse: &mut Fuse,
        work: impl Fn(&Site) -> scr::Result<T> + Clone + 'static,
    ) -> Option<T> {
        let (own, named) = (work, name.to_string());
        let told = move |site: &Site| match own(site) {
            Ok(result) => Some(result),
            Err(error) => {
                site.tell(&format!("{named}: {error}"));
                site.blame(&named, &error);
                None
            }
        };
        self.on_each(simulation, &[None], name, fuse, told)
            .into_iter()
            .next()
            .flatten()
    }

    /// `scr poststage`.
    fn poststage(&mut self, simulation: &Simulation, fuse: &mut Fuse) {
        let name = "scr transfer --finish";
        self.on_nodes(simulation, name, fuse, |site| match site.finish_node() {
            Ok(_) => {}
            Err(error) => {
                site.tell(&format!("scr transfer --finish: {error}"));
                site.blame("scr transfer --finish", &error);
            }
        });
        self.alone(simulation, "scr poststage", fuse, Site::enter_complete);
        if !fuse.killed {
            self.start_command(simulation, Command::List, None);
            self.end_run(simulation);
        }
    }

    /// `scr flush-file --resume`.
    fn resume(&mut self, simulation: &Simulation, fuse: &mut Fuse) {
        let name = "scr flush-file --resume";
        self.on_nodes(simulation, name, fuse, move |site| match site.resume() {
            Ok(text) => site.tell(&format!("{name}: {text}")),
            Err(error) => {
                site.tell(&format!("{name}: {error}"));
                site.blame(name, &error);
            }
        });
    }

    /// `scr postrun`, called by some people at once.
    fn postrun(&mut self, simulation: &Simulation, people: usize, fuse: &mut Fuse) {
        if self.up().is_empty() {
            return;
        }
        let used = self.login.files.stat(&self.login.prefix().meta());
        if !matches!(used, Ok(Some(_))) {
            return;
        }
        let wanted = self.login.oracle.borrow().wanted();
        if self.plan.daemons || self.plan.poststage {
            self.poststage(simulation, fuse);
        }
        let record = self.alone(simulation, "scr postrun", fuse, Site::look);
        let held = self.on_nodes(simulation, "scr inspect", fuse, |site| {
            match site.inspect() {
                Ok(held) => held,
                Err(error) => {
                    site.tell(&format!("scr inspect: {error}"));
                    site.blame("scr inspect", &error);
                    BTreeMap::new()
                }
            }
        });
        let mut all = BTreeMap::new();
        for (id, here) in held.into_iter().flatten() {
            let one: &mut scr_jobs::relaunch::save::HeldOnNodes = all.entry(id).or_default();
            one.item.checkpoint |= here.item.checkpoint;
            one.item.output |= here.item.output;
            (one.here, one.ranks) = (one.here + here.here, here.ranks);
        }
        if fuse.killed {
            return;
        }
        let (record, index) = record.unwrap_or_default();
        let items = candidates(&record, index.as_ref(), all, self.down.is_empty());
        let saved = save(&items, |id| {
            Ok::<bool, Infallible>(self.scavenge(simulation, id, people, fuse))
        });
        let Ok(saved) = saved;
        self.login
            .tell(&format!("scr postrun: {items:?}: {saved:?}"));
        if !fuse.killed {
            self.start_command(simulation, Command::List, None);
            self.end_run(simulation);
            // After output that cannot be saved, an older checkpoint is enough.
            if saved.failed.is_empty() {
                let known = |id: u64| record.datasets.contains_key(&id);
                let all_up = self.down.is_empty();
                let mut oracle = self.login.oracle.borrow_mut();
                oracle.must_be_saved(wanted, saved.checkpoint, |id| known(id) || !all_up);
            }
        }
    }

    /// `scr scavenge`. True if the dataset is complete.
    fn scavenge(
        &mut self,
        simulation: &Simulation,
        id: u64,
        people: usize,
        fuse: &mut Fuse,
    ) -> bool {
        let down: Vec<String> = self.down.iter().map(|node| format!("n{node}")).collect();
        let up = self.up();
        let nodes: Vec<Option<usize>> = up
            .iter()
            .flat_map(|node| std::iter::repeat_n(Some(*node), people))
            .collect();
        for needed in [false, true] {
            let down = down.clone();
            let copied = self.on_each(simulation, &nodes, "scr copy", fuse, move |site| {
                let redundancy = if needed {
                    Redundancy::Needed(&down)
                } else {
                    Redundancy::None
                };
                site.copy(id, redundancy).unwrap_or(false)
            });
            if copied.iter().all(|good| *good) && self.down.is_empty() {
                break;
            }
        }
        if scheduler::draw(|random| random.once_in(8)) {
            self.on_each(simulation, &[None], "scr rebuild", fuse, move |site| {
                if let Err(error) = site.rebuild(id) {
                    site.tell(&format!("scr rebuild: {error}"));
                }
            });
        }
        let login = vec![None; people];
        let built =
            self.on_each(
                simulation,
                &login,
                "scr index --build",
                fuse,
                move |site| match site.build(id) {
                    Ok(_) => true,
                    Err(error) => {
                        site.tell(&format!("scr index --build {id}: {error}"));
                        false
                    }
                },
            );
        built.contains(&true)
    }

    /// `scr clean` on all nodes.
    fn clean(&mut self, simulation: &Simulation) {
        let mut fuse = Fuse {
            left: None,
            killed: false,
        };
        let all: Vec<Option<usize>> = (0..self.nodes.len()).map(Some).collect();
        // One that is just starting may make its directory after it was removed.
        let with_daemon = |node: &usize| !self.daemons_on(simulation, *node).is_empty();
        let with_daemon: Vec<String> = (0..self.nodes.len())
            .filter(with_daemon)
            .map(|node| self.nodes[node].variable("SCR_NODE_NAME").to_string())
            .collect();
        self.on_each(
            simulation,
            &all,
            "scr clean",
            &mut fuse,
            move |site| match site.clean() {
                Ok(text) => {
                    site.tell(&format!("scr clean: {text}"));
                    let job = site.layout(LOCAL).job();
                    let gone = !matches!(site.files.stat(&job), Ok(Some(_)));
                    let own = site.variable("SCR_NODE_NAME");
                    let excused = with_daemon.iter().any(|node| node == own);
                    let mut oracle = site.oracle.borrow_mut();
                    oracle.check(Promise::Clean, gone || excused || text != "removed", || {
                        format!("{} is still there", job.display())
                    });
                }
                Err(error) => {
                    site.tell(&format!("scr clean: {error}"));
                    site.blame("scr clean", &error);
                }
            },
        );
    }

    /// What the index says must be true. Daemons go on.
    fn check(&mut self, simulation: &Simulation) {
        let mut fuse = Fuse {
            left: None,
            killed: false,
        };
        let check = |site: &Site| match site.check_index() {
            Ok(()) => None,
            Err(error) => Some(error.to_string()),
        };
        let found = self.on_each(simulation, &[None], "the index", &mut fuse, check);
        let found = found.into_iter().flatten().next();
        let mut oracle = self.login.oracle.borrow_mut();
        if !(oracle.prefix_damaged || oracle.deleted_meanwhile) {
            oracle.check(Promise::Index, found.is_none(), || {
                found.unwrap_or_default()
            });
        }
        let panics = simulation.take_panics();
        let fine = panics.is_empty();
        oracle.check(Promise::Ends, fine, || format!("a panic: {panics:#?}"));
    }
}
