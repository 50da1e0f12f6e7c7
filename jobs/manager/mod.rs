//! Resource managers: the nodes of a job and their state.

mod flux;
mod lsf;
mod pbs;
mod pmix;
mod slurm;

use crate::hostlist;
use scr_engine::job::identity::{parameter, scheduler_job};
use scr_engine::job::manager::ManagerKind;
use scr_engine::job::{Environment, Lookup, PrefixPlace};
use scr_engine::{Error, Result};
use std::path::Path;

/// A resource manager, seen from inside one of its jobs. All calls are local; those that return a
/// `Result` may run a program of the manager, at most for
/// [`PATIENCE`](scr_engine::job::program::PATIENCE), and fail if there is no such program or it fails.
pub trait Manager: Send + Sync {
    /// The kind of the manager, which also knows when the allocation ends.
    fn kind(&self) -> ManagerKind;

    /// The name of the manager: "SLURM", "FLUX", "LSF", "PBS", "PMIX" or "NONE".
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Id of the job, as the manager has it; `None` without an id that stays the same from one
    /// launch to the next.
    fn job_id(&self) -> Result<Option<String>>;

    /// Nodes that the job began with, each once, in the manager's order.
    fn nodes(&self) -> Result<Vec<String>>;

    /// The nodes of `nodes` that are down according to the manager, or no longer belong to the job.
    fn down(&self, nodes: &[String]) -> Result<Vec<String>>;

    /// The programs of the manager that these calls and its launcher's need.
    fn programs(&self) -> &'static [&'static str];

    /// The program and arguments that put the job into the queue again, which ends it; `None` if the manager cannot do
    /// that.
    fn requeue(&self) -> Option<(&'static str, Vec<String>)> {
        None
    }
}

/// The manager that set up the environment.
pub fn detect(environment: &Environment) -> Box<dyn Manager> {
    let own = environment.clone();
    match ManagerKind::detect(environment) {
        ManagerKind::Flux => Box::new(flux::Flux(own)),
        ManagerKind::Slurm => Box::new(slurm::Slurm(own)),
        ManagerKind::Lsf => Box::new(lsf::Lsf(own)),
        ManagerKind::Pbs => Box::new(pbs::Pbs(own)),
        ManagerKind::Pmix => Box::new(pmix::Pmix),
        ManagerKind::Nobody => Box::new(Nobody(own)),
    }
}

/// The id of the job, as it is in the names of cache and control directories: SCR_JOB_ID, else
/// the manager's, else one derived from `prefix`, which is asked for only then: its file system may hang. `session`: the name of
/// the session.
///
/// # Errors
/// The id cannot be the name of a directory, or the manager cannot be asked.
pub fn job_id<'a>(
    manager: &dyn Manager,
    environment: &Environment,
    lookup: Lookup,
    prefix: &dyn Fn() -> Result<PrefixPlace<'a>>,
    session: Option<&str>,
) -> Result<String> {
    const NAME: &str = "SCR_JOB_ID";
    let given = parameter(NAME, environment, lookup);
    let given = given.map_or_else(|| manager.job_id(), |id| Ok(Some(id)))?;
    let lookup = |name: &str| given.clone().filter(|_| name == NAME);
    let named = given.is_some() || scheduler_job(environment).is_some();
    let unused = || {
        Ok(PrefixPlace {
            path: Path::new(""),
            identity: None,
        })
    };
    let prefix = if named { unused() } else { prefix() }?;
    let job = scr_engine::job::job_id(environment, &lookup, &prefix)?;
    Ok(scr_engine::job::of_session(job, session))
}

/// The nodes to work with, each once: SCR_NODELIST, else the manager's.
///
/// # Errors
/// The list is not a host list, or the manager cannot tell.
pub fn nodes(
    manager: &dyn Manager,
    environment: &Environment,
    lookup: Lookup,
) -> Result<Vec<String>> {
    match list("SCR_NODELIST", environment, lookup)? {
        given if !given.is_empty() => Ok(given),
        _ => manager.nodes(),
    }
}

/// The hosts of a parameter that is a host list, each once; empty if it is not set.
///
/// # Errors
/// The value is not a host list.
pub fn list(name: &'static str, environment: &Environment, lookup: Lookup) -> Result<Vec<String>> {
    let Some(text) = parameter(name, environment, lookup) else {
        return Ok(Vec::new());
    };
    match hostlist::expand(&text) {
        Ok(hosts) => Ok(hostlist::unique(hosts)),
        Err(Error::Config { place, what }) => Err(Error::config(format!("{name}: {place}"), what)),
        Err(other) => Err(other),
    }
}

/// True if two names may mean one host: they are equal, or one is the other without its domain.
pub fn same_host(one: &str, other: &str) -> bool {
    let inside = |short: &str, long: &str| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| rest.starts_with('.')) && !short.contains('.')
    };
    one == other || inside(one, other) || inside(other, one)
}

/// The nodes of `nodes` that are among `hosts`, whether with or without domain.
fn among(nodes: &[String], hosts: &[String]) -> Vec<String> {
    let found = nodes
        .iter()
        .filter(|node| hosts.iter().any(|host| same_host(node, host)));
    found.cloned().collect()
}

/// Node names from words that a manager gave, each a host list.
fn hosts<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let lists: Result<Vec<Vec<String>>> = words.map(hostlist::expand).collect();
    Ok(hostlist::unique(lists?.concat()))
}

/// The id that the environment has.
fn id(environment: &Environment) -> Option<String> {
    scheduler_job(environment).map(|known| known.value)
}

/// No resource manager: this machine alone.
struct Nobody(Environment);

impl Manager for Nobody {
    fn kind(&self) -> ManagerKind {
        ManagerKind::Nobody
    }

    fn job_id(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let node = scr_engine::job::node_name(&self.0, &|_| None)?;
        Ok(vec![node.value])
    }

    fn down(&self, _: &[String]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn programs(&self) -> &'static [&'static str] {
        &[]
    }
}

#[cfg(test)]
mod tests;
