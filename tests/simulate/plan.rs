//! What a seed decides of a job before it begins: nodes, parameters, what the program does in each run,
//! and what breaks.

use crate::acts::{self, Act, Said};
use crate::beside::{After, BesidePlan, BesideRun};
use crate::counts::Reached;
use crate::faults::Budget;
use crate::flips::FlipBudget;
use crate::machine::Disturbance;
pub use crate::machine::Loss;
use crate::places::Places;
use crate::volume::{Damage, Profile};
use scr::system::simulated::Random;

/// Most ranks of a run.
const RANKS: usize = 12;

/// A bit pattern by which the numbers for damaged fields differ from those that the scheduler draws.
const FIELDS: u64 = 0x6669_656c_6473_2121;

/// A bit pattern for the numbers of bits that flip.
const FLIPS: u64 = 0x666c_6970_7321_2121;

/// When a run is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    Never,
    /// One process at this step, and the others some steps later.
    AtStep(u64),
    /// All processes, when a call has reported for the n-th time that a dataset is saved.
    WhenSaved(u64),
}

/// One run of the program.
#[derive(Debug, Clone)]
pub struct Run {
    /// For each rank, the number of its node.
    pub node_of: Vec<usize>,
    /// The ranks that the run before has lost, if its other processes go on in this one.
    pub repairs: Option<Vec<usize>>,
    /// What the ranks say of the checkpoints that they are offered first; of all others, that they are good.
    pub said: Vec<Said>,
    pub acts: Vec<Act>,
    /// It ends with SCR_Finalize.
    pub finalizes: bool,
    /// After that it calls SCR_Init once more, restarts, and does this.
    pub again: Option<Vec<Act>>,
    /// The program calls SCR_Allow_other_ranks.
    pub allows: bool,
    pub kill: Kill,
    pub faults: Budget,
    /// Bits that flip in redundancy before it counts.
    pub flips: FlipBudget,
    pub disturbance: Disturbance,
    /// The local file systems have no more than this, bytes.
    pub capacity: Option<u64>,
    /// Free bytes in the shared file system when the run begins, if there are few.
    pub shared_room: Option<u64>,
    /// What is lost after it.
    pub loss: Loss,
    /// Daemons and commands during it and after it.
    pub beside: BesideRun,
    /// With fields: by so many ranks the parts of a whole are turned.
    pub turn: usize,
    /// Parameters in place of those of the job.
    pub changes: Vec<(&'static str, String)>,
}

/// A whole job.
#[derive(Debug, Clone)]
pub struct Plan {
    pub nodes: usize,
    /// Files are split and copied in small pieces, so that these few ranks take the ways of thousands.
    pub small: bool,
    pub local: Profile,
    pub shared: Profile,
    pub places: Places,
    pub flush: u64,
    pub background: bool,
    pub fetch: bool,
    pub prefix_size: u64,
    /// SCR_START_ANEW.
    pub anew: bool,
    /// Parameters besides those that follow from the fields above.
    pub more: Vec<(&'static str, String)>,
    pub runs: Vec<Run>,
    pub beside: BesidePlan,
    /// After these runs it is looked whether anything is left that belongs to nothing.
    pub tidy: bool,
    /// The datasets of the program are made of fields.
    pub fields: bool,
}

impl Plan {
    /// The plan with which the job of a seed begins.
    pub fn of_seed(seed: u64) -> Plan {
        Plan::draw(&mut Random::new(seed))
    }

    pub fn draw(random: &mut Random) -> Plan {
        let mut plan = Plan::of_machine(random);
        let mut names = Vec::new();
        let node_of = draw_ranks(random, plan.nodes);
        for number in 0..random.between(1, 3) as usize {
            let node_of = if random.once_in(16) {
                draw_other_ranks(random, &node_of, plan.nodes)
            } else {
                node_of.clone()
            };
            let run = Run::draw(random, number, node_of, &plan, &mut names);
            plan.runs.push(run);
        }
        let number = plan.runs.len();
        let last = if random.once_in(12) {
            draw_other_ranks(random, &node_of, plan.nodes)
        } else {
            plan.runs[number - 1].node_of.clone()
        };
        let mut end = Run::quiet(&last, acts::checkpoints(number, 1));
        end.allows = random.once_in(2);
        if random.once_in(12) {
            end.capacity = Some(random.below(6000));
        }
        plan.runs.push(end);
        plan.tidy = random.once_in(4);
        if plan.tidy {
            let quiet = Run::quiet(&last, Vec::new());
            plan.runs.extend([quiet.clone(), quiet]);
        }
        plan.beside = BesidePlan::draw(random, plan.background);
        let people = random.once_in(3);
        // An index that was lost does not tell of datasets that were not complete.
        plan.tidy &= !people;
        for run in &mut plan.runs[..number] {
            run.beside = plan.beside.draw_run(random, plan.nodes, people);
            if run.disturbance.stop.is_some() {
                // It is for those who know that all processes of the run have ended.
                let resumes = |after: &After| matches!(after, After::Resume(_));
                run.beside.after.retain(|after| !resumes(after));
            }
        }
        for later in 1..number {
            if random.once_in(3) {
                plan.repair_before(later, random);
            }
        }
        if random.once_in(4) {
            plan.make_of_fields();
        }
        plan.draw_changes(random);
        plan.draw_damaged_fields(random);
        plan.draw_flips(random);
        plan
    }

    /// Makes the program one whose datasets are made of fields. It is told only at the end of SCR_Restore what was
    /// offered, so that no command may change that meanwhile.
    pub fn make_of_fields(&mut self) {
        self.fields = true;
        for run in &mut self.runs {
            run.beside.events.retain(|event| !event.is_command());
        }
    }

    /// Lets the runs of half of the programs with fields have other parts of the wholes, and damages such fields where
    /// only their own checksums show it. `random` goes on as if nothing had been drawn.
    fn draw_damaged_fields(&mut self, random: &Random) {
        let mut random = Random::new(random.clone().number() ^ FIELDS);
        if !self.fields || random.once_in(2) {
            return;
        }
        for run in &mut self.runs {
            run.turn = random.below(run.node_of.len() as u64) as usize;
        }
        self.small |= random.once_in(2);
        if random.once_in(3) {
            return;
        }
        self.more.push(("SCR_CRC_ON_FLUSH", "0".to_string()));
        let not_so = ["SCR_CRC_ON_FLUSH", "SCR_USE_CONTAINERS"];
        self.more
            .retain(|(name, value)| !not_so.contains(name) || value == "0");
        let number = random.below(self.runs.len() as u64 - 1) as usize;
        let run = &mut self.runs[number];
        run.loss = Loss::Fields(*random.one_of(&[Damage::Bit, Damage::Sector]));
        if random.once_in(2) && run.repairs.is_none() {
            // Not too early.
            (run.kill, run.finalizes) = (Kill::Never, true);
        }
    }

    /// Lets bits flip in some runs of some jobs. `random` goes on as if nothing had been drawn.
    fn draw_flips(&mut self, random: &Random) {
        let mut random = Random::new(random.clone().number() ^ FLIPS);
        if !random.once_in(6) {
            return;
        }
        for run in &mut self.runs {
            run.flips = FlipBudget::draw(&mut random);
        }
    }

    fn of_machine(random: &mut Random) -> Plan {
        let mut more = Vec::new();
        if random.once_in(3) {
            more.push(("SCR_USE_CONTAINERS", "1".to_string()));
            more.push(("SCR_CONTAINER_SIZE", random.between(1000, 9000).to_string()));
        }
        for (name, one_in) in [
            ("SCR_CRC_ON_FLUSH", 3),
            ("SCR_CRC_ON_COPY", 3),
            ("SCR_CRC_ON_DELETE", 4),
            ("SCR_FLUSH_ON_RESTART", 4),
            ("SCR_FETCH_BYPASS", 5),
            ("SCR_COPY_METADATA", 6),
            ("SCR_CACHE_CHECK", 8),
            ("SCR_GLOBAL_RESTART", 8),
            ("SCR_DROP_AFTER_CURRENT", 8),
            ("SCR_REQUIRE_RESTART", 40),
        ] {
            if random.once_in(one_in) {
                more.push((name, random.below(2).to_string()));
            }
        }
        for (name, one_in) in [("SCR_FLUSH_WIDTH", 4), ("SCR_FETCH_WIDTH", 6)] {
            if random.once_in(one_in) {
                more.push((name, random.between(1, 3).to_string()));
            }
        }
        if random.once_in(25) {
            // The allocation ends while the job runs: the virtual clock begins at this time.
            let end = BEGIN + random.below(4);
            more.push(("SCR_END_TIME", end.to_string()));
            more.push(("SCR_HALT_SECONDS", "2".to_string()));
            more.push(("SCR_HALT_EXIT", random.below(2).to_string()));
        }
        if random.once_in(8) {
            more.push(("SCR_LOG_ENABLE", "1".to_string()));
            more.push(("SCR_LOG_SYSLOG_ENABLE", "0".to_string()));
            more.push(("SCR_LOG_TXT_SIZE", random.between(0, 4000).to_string()));
            more.push(("SCR_CHECKPOINT_INTERVAL", "auto".to_string()));
        }
        let nodes = if random.once_in(4) {
            random.between(1, 6)
        } else {
            random.between(1, 4)
        };
        let remote = if random.once_in(5) {
            Profile::Nfs
        } else {
            Profile::Weakest
        };
        let profiles = [Profile::Ordered, Profile::Weakest, remote];
        Plan {
            nodes: nodes as usize,
            small: random.once_in(12),
            local: *random.one_of(&[Profile::Tmpfs, Profile::Ordered, Profile::Weakest]),
            shared: *random.one_of(&profiles),
            places: Places::draw(random),
            flush: *random.one_of(&[0, 1, 1, 2, 3]),
            background: random.once_in(2),
            fetch: !random.once_in(16),
            prefix_size: if random.once_in(4) {
                random.between(1, 3)
            } else {
                0
            },
            anew: random.once_in(12),
            more,
            runs: Vec::new(),
            beside: BesidePlan::default(),
            tidy: false,
            fields: false,
        }
    }

    /// The parameters of all ranks.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let flag = |value: bool| u8::from(value).to_string();
        let mut all = vec![
            ("SCR_JOB_ID", "1001".to_string()),
            ("SCR_USER_NAME", "user1".to_string()),
            ("SCR_FILE_BUF_SIZE", "4096".to_string()),
            ("SCR_MPI_BUF_SIZE", "512".to_string()),
            ("SCR_FLUSH", self.flush.to_string()),
            ("SCR_FLUSH_ASYNC", flag(self.background)),
            ("SCR_FETCH", flag(self.fetch)),
            ("SCR_PREFIX_SIZE", self.prefix_size.to_string()),
            ("SCR_START_ANEW", flag(self.anew)),
        ];
        all.extend(self.places.variables());
        all.extend(self.beside.variables());
        all.extend(self.more.iter().cloned());
        all
    }

    /// True if a parameter has this value in the job or in one of its runs.
    fn has(&self, name: &str, value: &str) -> bool {
        let changes = self.runs.iter().flat_map(|run| &run.changes);
        let mut all = self.more.iter().chain(changes);
        all.any(|(other, has)| *other == name && has == value)
    }

    /// True if a parameter is set to 1, in some run at least.
    pub fn is_set(&self, name: &str) -> bool {
        self.has(name, "1")
    }

    /// A parameter is 0, which is not its default, in some run at least.
    pub fn is_off(&self, name: &str) -> bool {
        self.has(name, "0")
    }

    /// A run may restart from a checkpoint of another number of ranks.
    pub fn takes_other_ranks(&self, run: &Run) -> bool {
        let set = |name| self.is_set_in(run, name);
        let set = set("SCR_FETCH_BYPASS") || set("SCR_GLOBAL_RESTART");
        !self.anew && (run.allows || self.fields || set)
    }

    /// Counts what was drawn.
    pub fn count(&self, reached: &mut Reached) {
        let (first, runs) = (&self.runs[0].node_of, self.runs.iter());
        let acts = || self.runs.iter().flat_map(|run| run.acts.iter());
        let has = |wanted: fn(&Act) -> bool| acts().any(wanted);
        for (name, is_so) in [
            ("containers", self.is_set("SCR_USE_CONTAINERS")),
            ("fields", self.fields),
            (
                "damaged fields",
                runs.clone().any(|run| matches!(run.loss, Loss::Fields(_))),
            ),
            ("flush in the background", self.background),
            ("lines of stores and descriptors", self.places.lines),
            ("several stores", self.places.stores.len() > 1),
            (
                "store that all nodes see",
                self.places.stores.iter().any(|s| s.global),
            ),
            ("bypass", self.places.schemes.iter().any(|s| s.bypass)),
            ("sliding window", self.prefix_size > 0),
            ("no fetch", !self.fetch),
            ("fetch in bypass", self.is_set("SCR_FETCH_BYPASS")),
            ("global restart", self.is_set("SCR_GLOBAL_RESTART")),
            ("halt condition", self.is_set("SCR_HALT_EXIT")),
            ("event log", self.is_set("SCR_LOG_ENABLE")),
            (
                "another number of ranks",
                runs.clone().any(|run| run.node_of.len() != first.len()),
            ),
            (
                "ranks on other nodes",
                runs.clone().any(|run| run.node_of != *first),
            ),
            ("full node", runs.clone().any(|run| run.capacity.is_some())),
            (
                "full prefix directory",
                runs.clone().any(|run| run.shared_room.is_some()),
            ),
            (
                "second SCR_Init",
                runs.clone().any(|run| run.again.is_some()),
            ),
            (
                "rejected or unread checkpoint",
                runs.clone().any(|run| !run.said.is_empty()),
            ),
            (
                "output",
                has(|act| matches!(act, Act::Write(o) if o.output)),
            ),
            (
                "bad rank",
                has(|act| matches!(act, Act::Write(o) if o.bad.is_some())),
            ),
            (
                "other parameters in a run",
                runs.clone().any(|run| !run.changes.is_empty()),
            ),
            ("purge of the cache", runs.clone().any(Run::purges_cache)),
            (
                "purge of the prefix directory",
                runs.clone().any(Run::purges_prefix),
            ),
            ("no fetch", runs.clone().any(|run| !self.fetch_in(run))),
            (
                "SCR_CURRENT",
                runs.clone().any(|run| run.current().is_some()),
            ),
            ("SCR_Current", has(|act| matches!(act, Act::Current(_)))),
            ("SCR_Drop", has(|act| matches!(act, Act::Drop(_)))),
            ("SCR_Delete", has(|act| matches!(act, Act::Delete(_)))),
            ("look at what is left", self.tidy),
            ("network file system", self.shared == Profile::Nfs),
            ("small sizes", self.small),
            (
                "clocks that differ",
                runs.clone().any(|run| run.disturbance.clocks_differ()),
            ),
            (
                "slow operations",
                runs.clone().any(|run| run.disturbance.slow.is_some()),
            ),
            (
                "slow messages",
                runs.clone().any(|run| run.disturbance.late.is_some()),
            ),
            (
                "repair without a relaunch",
                runs.clone().any(|run| run.repairs.is_some()),
            ),
            (
                "bits that flip in redundancy",
                runs.clone().any(|run| run.flips.one_in > 0),
            ),
            ("transfer daemons", self.beside.daemons),
            ("poststage", self.beside.poststage),
            ("commands", runs.clone().any(|run| run.beside.has_people())),
        ] {
            if is_so {
                reached.feature(name);
            }
        }
    }
}

/// What the clock on the wall shows when a simulation begins.
const BEGIN: u64 = 1_751_000_000;

/// Draws on which nodes the ranks of a run are.
fn draw_ranks(random: &mut Random, nodes: usize) -> Vec<usize> {
    let mut node_of = Vec::new();
    let even = random.once_in(2);
    let each = random.between(1, 3);
    for node in 0..nodes {
        let here = if even { each } else { random.between(1, 3) };
        node_of.extend((0..here).map(|_| node));
    }
    node_of.truncate(RANKS);
    node_of
}

/// Draws them for a later run: on other nodes, or another number.
fn draw_other_ranks(random: &mut Random, node_of: &[usize], nodes: usize) -> Vec<usize> {
    if random.once_in(2) {
        return node_of.iter().map(|node| (node + 1) % nodes).collect();
    }
    let used = random.between(1, nodes as u64);
    draw_ranks(random, used as usize)
}

impl Run {
    /// There is less room than is needed.
    pub fn is_tight(&self) -> bool {
        self.capacity.is_some() || self.shared_room.is_some()
    }

    /// One that is not disturbed and ends normally.
    pub fn quiet(node_of: &[usize], acts: Vec<Act>) -> Run {
        Run {
            node_of: node_of.to_vec(),
            repairs: None,
            said: Vec::new(),
            acts,
            finalizes: true,
            again: None,
            allows: false,
            kill: Kill::Never,
            faults: Budget::default(),
            flips: FlipBudget::default(),
            disturbance: Disturbance::default(),
            capacity: None,
            shared_room: None,
            loss: Loss::Nothing,
            beside: BesideRun::default(),
            turn: 0,
            changes: Vec::new(),
        }
    }

    /// True for a rank that acts for its node, and has its locks.
    pub fn leads(&self, rank: usize) -> bool {
        let node = self.node_of.get(rank);
        self.node_of.iter().position(|other| Some(other) == node) == Some(rank)
    }

    fn draw(
        random: &mut Random,
        number: usize,
        node_of: Vec<usize>,
        plan: &Plan,
        names: &mut Vec<String>,
    ) -> Run {
        let mut disturbance = Disturbance::draw(random, &node_of);
        // Nothing but a lock keeps rank 0 of an older run from the prefix directory.
        disturbance.stop.take_if(|_| plan.shared == Profile::Nfs);
        let mut loss = match disturbance.stop {
            // A rank that is to go on keeps its node.
            Some(_) => Loss::Nothing,
            None => Loss::draw(random, plan.nodes),
        };
        let most = 1 << random.between(5, 14);
        let kill = match random.below(12) {
            0..4 => Kill::Never,
            4 if disturbance.stop.is_none() => {
                loss = if random.once_in(2) {
                    Loss::Power
                } else {
                    Loss::Nodes(plan.nodes)
                };
                Kill::WhenSaved(random.between(1, 3))
            }
            _ => Kill::AtStep(random.below(most)),
        };
        let acts = acts::draw(random, number, names);
        let again = random
            .once_in(20)
            .then(|| acts::draw(random, number + 100, names));
        Run {
            node_of,
            repairs: None,
            said: Said::draw(random),
            acts,
            finalizes: random.once_in(2) || again.is_some(),
            again,
            allows: random.once_in(2),
            kill,
            faults: if random.once_in(5) {
                Budget::draw(random, plan.nodes, most)
            } else {
                Budget::default()
            },
            flips: FlipBudget::default(),
            disturbance,
            capacity: None,
            shared_room: random.once_in(16).then(|| random.below(20_000)),
            loss,
            beside: BesideRun::default(),
            turn: 0,
            changes: Vec::new(),
        }
    }
}
