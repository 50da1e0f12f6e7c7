//! The losses that are survived, and the datasets that fit, by the rules that a run of this shape would use.

use super::places::Places;
use super::report::DoctorReport;
use crate::call::Failure;
use crate::job::Job;
use scr_engine::config::descriptors::{Descriptors, SchemeDescriptor};
use scr_engine::config::{Config, Settings};
use scr_engine::job::Environment;
use scr_engine::policy::capacity::with_redundancy;
use scr_engine::redundancy::topology::{Divisions, SetPlan, Topology, forecast};
use scr_engine::redundancy::{EVERYTHING, RedundancyScheme};
use scr_engine::text::bytes;
use scr_engine::text::{counted, plural};
use std::collections::{BTreeMap, HashSet};

/// The largest number of ranks.
const MOST: usize = 1 << 20;

/// The shape of a run: its nodes, and the ranks on each.
pub(super) struct RunShape {
    /// Number of nodes, at least 1.
    pub nodes: usize,
    ranks: usize,
    /// Known names of nodes.
    listed: Vec<String>,
    /// The source of the numbers.
    why: String,
    /// True if the names belong to a job, not only to this machine.
    of_job: bool,
    /// True if one node was assumed, because the number of nodes is not known.
    guessed: bool,
}

impl RunShape {
    /// The shape from the options, else the allocation with the nodes `listed`, else the last run.
    pub fn new(
        job: &Job,
        listed: Vec<String>,
        nodes: Option<u32>,
        ranks: Option<u32>,
    ) -> Result<RunShape, Failure> {
        let no_job = job.manager.name() == "NONE" && listed.len() < 2;
        let last = job.run_nodes().ok().flatten().filter(|_| no_job);
        let last = last.and_then(|nodes| usize::try_from(nodes).ok());
        let (nodes, of_nodes) = match (nodes, last) {
            (Some(nodes), _) => (nodes as usize, "--nodes"),
            (None, Some(nodes)) => (nodes, "the last run"),
            (None, None) if no_job => (1, "assumed, say --nodes"),
            (None, None) => (listed.len(), "the allocation"),
        };
        let nodes = nodes.max(1);
        let (ranks, of_ranks) = match (ranks, ranks_of(&job.environment, nodes)) {
            (Some(ranks), _) => (ranks as usize, "--ranks"),
            (None, Some((ranks, variable))) => (ranks, variable),
            (None, None) => (1, "assumed, say --ranks"),
        };
        if nodes.saturating_mul(ranks) > MOST {
            let what =
                format!("{nodes} nodes with {ranks} ranks each are more than {MOST} ranks\n");
            let kind = clap::error::ErrorKind::ValueValidation;
            return Err(clap::Error::raw(kind, what).into());
        }
        Ok(RunShape {
            nodes,
            ranks,
            listed,
            why: format!("nodes: {of_nodes}; ranks: {of_ranks}"),
            of_job: !no_job,
            guessed: no_job && nodes == 1 && of_nodes != "--nodes",
        })
    }

    /// A name for each node: names of the job, of GROUPS lines and of this machine, then invented
    /// ones.
    pub fn names(&self, config: &Config) -> Vec<String> {
        let in_groups = config
            .items("GROUPS")
            .map(|item| item.key.clone())
            .collect();
        let (first, then) = if self.of_job {
            (self.listed.clone(), in_groups)
        } else {
            (in_groups, self.listed.clone())
        };
        let made_up = (1..).map(|number| format!("another-node-{number}"));
        let all = first.into_iter().chain(then).chain(made_up);
        let mut seen = HashSet::new();
        let each_once = all.filter(|name| seen.insert(name.clone()));
        each_once.take(self.nodes).collect()
    }
}

/// Ranks on each node according to the resource manager, and the variable that says so.
fn ranks_of(environment: &Environment, nodes: usize) -> Option<(usize, &'static str)> {
    let number = |name: &'static str| {
        let text = environment.get(name)?;
        let number: usize = text.trim().parse().ok().filter(|n| *n > 0)?;
        Some((number, name))
    };
    let on_all = ["SLURM_NTASKS", "LSB_DJOB_NUMPROC", "PBS_NP"];
    let on_all = || on_all.into_iter().find_map(number);
    number("SLURM_NTASKS_PER_NODE").or_else(|| {
        let (ranks, name) = on_all()?;
        Some((ranks.div_ceil(nodes), name))
    })
}

/// The redundancy sets of a run.
pub(super) struct Sets(Vec<Topology>);

impl Sets {
    /// The sets of a run on nodes with these descriptors.
    pub fn new(of_nodes: &[Descriptors], shape: &RunShape) -> Sets {
        let plans = of_nodes.first().map(SetPlan::all).unwrap_or_default();
        // All nodes read one configuration in one environment.
        let nodes = of_nodes
            .iter()
            .map(|node| (Divisions::of(node), shape.ranks));
        let nodes: Vec<(Divisions, usize)> = nodes.collect();
        Sets(forecast(&nodes, &plans))
    }

    /// Reports which losses each redundancy descriptor survives.
    pub fn losses(
        &self,
        all: &Descriptors,
        settings: &Settings,
        shape: &RunShape,
        report: &mut DoctorReport,
    ) {
        report.section(format!(
            "What is survived, with {} of {} ({})",
            counted(shape.nodes, "node"),
            counted(shape.ranks, "rank"),
            shape.why
        ));
        let Some(first) = self.0.first() else { return };
        for scheme in all.schemes.iter().filter(|scheme| scheme.enabled) {
            let tolerates = first.tolerates.get(scheme.index).copied().unwrap_or(0);
            let dir = all
                .stores
                .get(scheme.store)
                .map(|store| store.dir.display());
            let text = match (scheme.bypass, dir) {
                (false, Some(dir)) => format!(
                    "{} in {dir}, {}: {}",
                    scheme.scheme.word(),
                    self.sizes(scheme),
                    survived(tolerates, &scheme.group)
                ),
                _ => format!(
                    "not in the cache (BYPASS) but in {}: the loss of all nodes",
                    settings.prefix.display()
                ),
            };
            report.fact(&used_for(scheme), text);
        }
        for note in &first.notes {
            let scheme = all
                .schemes
                .get(note.plan)
                .filter(|s| s.enabled && !s.bypass);
            if let Some(scheme) = scheme.filter(|_| !shape.guessed) {
                report.wrong(
                    format!("{}: {}", scheme.place, note.text),
                    "run on more nodes, or let another scheme or BYPASS=1 protect these datasets",
                );
            }
        }
    }

    fn sizes(&self, scheme: &SchemeDescriptor) -> String {
        let sets = self
            .0
            .iter()
            .filter_map(|assignment| assignment.sets.get(scheme.index));
        let sizes: Vec<usize> = sets.map(|set| set.size()).collect();
        match (sizes.iter().min(), sizes.iter().max()) {
            (Some(1), Some(1)) => "each rank for itself".to_string(),
            (Some(least), Some(most)) if least == most => format!("sets of {least} ranks"),
            (Some(least), Some(most)) => format!("sets of {least} to {most} ranks"),
            _ => String::new(),
        }
    }

    /// Reports whether as many datasets as the cache keeps fit, with `size` bytes of each rank.
    pub fn fit(
        &self,
        all: &Descriptors,
        settings: &Settings,
        (shape, size): (&RunShape, u64),
        places: &Places,
        report: &mut DoctorReport,
    ) {
        report.section(format!("Whether {} of each rank fit", bytes(size)));
        for (store, space) in all.stores.iter().zip(&places.stores) {
            let needs = all.schemes.iter().filter(|s| s.enabled && !s.bypass);
            let needs = needs.filter(|s| s.store == store.index);
            let Some(one) = needs.map(|scheme| self.need(scheme, size)).max() else {
                continue;
            };
            let (kept, dir) = (store.count, store.dir.display());
            let needed = format!(
                "{} for a dataset with redundancy, {} for the {kept} that are kept",
                bytes(one),
                bytes(one.saturating_mul(kept))
            );
            report.fact("cache", format!("{dir}: {needed}"));
            let remedy = match space {
                None => continue,
                Some(free) if one.saturating_mul(kept) <= *free => continue,
                Some(free) if one <= *free => format!(
                    "keep only {}: set SCR_CACHE_SIZE, or COUNT of the STORE line",
                    free / one.max(1)
                ),
                Some(_) => "use another store, a scheme with less redundancy, fewer ranks on a \
                            node, or SCR_CACHE_BYPASS=1"
                    .to_string(),
            };
            let free = space.map_or(String::new(), bytes);
            report.wrong(
                format!("{dir} has room for {free}, but needs {needed}"),
                remedy,
            );
        }
        let whole = size.saturating_mul((shape.nodes * shape.ranks) as u64);
        let dir = settings.prefix.display();
        report.fact("prefix", format!("{dir}: {} for a dataset", bytes(whole)));
        if let Some(free) = places.prefix.filter(|free| *free < whole) {
            report.wrong(
                format!(
                    "{dir} has {} free, but one dataset takes {}",
                    bytes(free),
                    bytes(whole)
                ),
                "make room, or set SCR_PREFIX to a directory on a larger file system",
            );
        }
    }

    /// The space that one dataset takes in the fullest instance of the store, bytes.
    fn need(&self, scheme: &SchemeDescriptor, size: u64) -> u64 {
        let protection = RedundancyScheme::new(scheme.scheme, scheme.set_failures as usize);
        let copies = scheme.scheme.makes_copies();
        let mut instances: BTreeMap<usize, u64> = BTreeMap::new();
        for assignment in &self.0 {
            let leader = assignment
                .stores
                .get(scheme.store)
                .map_or(0, |share| share.leader);
            let members = assignment
                .sets
                .get(scheme.index)
                .map_or(1, |set| set.size());
            let losses = protection.losses(members);
            let part = with_redundancy(size, copies, members, losses);
            let sum = instances.entry(leader).or_default();
            *sum = sum.saturating_add(part);
        }
        instances.into_values().max().unwrap_or(0)
    }
}

/// Tells for which datasets a descriptor is used.
fn used_for(scheme: &SchemeDescriptor) -> String {
    match (scheme.output, scheme.interval) {
        (true, _) => "output".to_string(),
        (false, 1) => "checkpoints".to_string(),
        (false, n) => format!("1 of {n}"),
    }
}

fn survived(tolerates: usize, group: &str) -> String {
    let one = match group {
        "NODE" => "node".to_string(),
        other => format!("group of {other}"),
    };
    match tolerates {
        EVERYTHING => format!("the loss of any number of {}", plural(0, &one)),
        0 => format!("a failure of processes, but not the loss of a {one}"),
        n => format!("the loss of any {}, not of {}", counted(n, &one), n + 1),
    }
}
