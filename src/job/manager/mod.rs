//! Resource managers: the nodes of a job and their state.

mod flux;
mod lsf;
mod pbs;
mod pmix;
mod slurm;

use super::identity::{parameter, scheduler_job, variable};
use super::{Environment, Lookup, PrefixPlace, end_time, hostlist};
use crate::{Error, Result};
use std::path::Path;

/// A resource manager, seen from inside a job of it. All calls are local; those that return a
/// `Result` may run a program of the manager, at most for
/// [`PATIENCE`](super::program::PATIENCE), and fail if there is no such program or it fails.
pub trait Manager: Send + Sync {
    /// Its name: "SLURM", "FLUX", "LSF", "PBS", "PMIX" or "NONE".
    fn name(&self) -> &'static str;

    /// Id of the job, as the manager has it; `None` if it has none that stays the same from
    /// one launch to the next.
    fn job_id(&self) -> Result<Option<String>>;

    /// Nodes that the job began with, each once, in the manager's order.
    fn nodes(&self) -> Result<Vec<String>>;

    /// Those of `nodes` that are down according to the manager, or no longer belong to the job.
    fn down(&self, nodes: &[String]) -> Result<Vec<String>>;

    /// The programs of the manager that these calls and its launcher's need.
    fn programs(&self) -> &'static [&'static str];

    /// The program and arguments that put the job into the queue again, which ends it; `None` if there is no such thing.
    fn requeue(&self) -> Option<(&'static str, Vec<String>)> {
        None
    }

    /// When the allocation ends, in seconds since the epoch; `None` if it has no end.
    fn end(&self) -> Result<Option<i64>>;
}

/// The manager that set up the environment. Flux comes first, because its instances run inside
/// jobs of others.
pub fn detect(environment: &Environment) -> Box<dyn Manager> {
    let has = |names: &[&str]| {
        names
            .iter()
            .any(|name| variable(name, environment).is_some())
    };
    let environment = environment.clone();
    if has(&["FLUX_URI", "FLUX_JOB_ID"]) {
        Box::new(flux::Flux(environment))
    } else if has(&["SLURM_JOB_ID", "SLURM_JOBID"]) {
        Box::new(slurm::Slurm(environment))
    } else if has(&["LSB_JOBID"]) {
        Box::new(lsf::Lsf(environment))
    } else if has(&["PBS_JOBID"]) {
        Box::new(pbs::Pbs(environment))
    } else if has(&["PMIX_NAMESPACE"]) {
        Box::new(pmix::Pmix)
    } else {
        Box::new(Nobody(environment))
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
    let job = super::job_id(environment, &lookup, &prefix)?;
    Ok(super::of_session(job, session))
}

/// The nodes to work with, each once: SCR_NODELIST, else the manager's.
///
/// # Errors
/// The list is no host list, or the manager cannot tell.
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

/// The hosts of a parameter that is a host list, each once; none if it is not set.
///
/// # Errors
/// It is no host list.
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

/// When the allocation ends, in seconds since the epoch: SCR_END_TIME, else what the
/// environment or the manager says; `None` if nobody knows or there is no end.
///
/// # Errors
/// SCR_END_TIME is no time, or the manager cannot be asked.
pub fn end(
    manager: &dyn Manager,
    environment: &Environment,
    lookup: Lookup,
) -> Result<Option<i64>> {
    match end_time(environment, lookup)? {
        Some(known) => Ok(Some(known.value)),
        // 0 if an earlier command could not find it out.
        None if parameter("SCR_END_TIME", environment, lookup).is_some() => Ok(None),
        None => manager.end(),
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

/// Those of `nodes` that are among `hosts`, whether with or without domain.
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

/// `[[DD-]HH:]MM:SS` or, with `minutes`, `HH:MM`, in seconds.
fn duration(text: &str, minutes: bool) -> Option<i64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse().ok()?, clock),
        None => (0i64, text),
    };
    let mut sum = 0i64;
    for part in clock.split(':') {
        let part: i64 = part.parse().ok().filter(|part| *part >= 0)?;
        sum = sum.checked_mul(60)?.checked_add(part)?;
    }
    let sum = if minutes { sum.checked_mul(60)? } else { sum };
    days.checked_mul(86_400)?.checked_add(sum)
}

/// The id that the environment has.
fn id(environment: &Environment) -> Option<String> {
    scheduler_job(environment).map(|known| known.value)
}

/// No resource manager: this machine alone.
struct Nobody(Environment);

impl Manager for Nobody {
    fn name(&self) -> &'static str {
        "NONE"
    }

    fn job_id(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let node = super::node_name(&self.0, &|_| None)?;
        Ok(vec![node.value])
    }

    fn down(&self, _: &[String]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn end(&self) -> Result<Option<i64>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
