//! Options that leave nodes out of a launch.

use super::LauncherKind;
use crate::hostlist;
use scr_engine::Result;
use scr_engine::job::Environment;
use scr_engine::job::program::{failed, find};
use std::ffi::{OsStr, OsString};

/// Options of Open MPI and Hydra that name hosts, without their dashes. Our option replaces them:
/// Hydra refuses both together, and Open MPI would take the union.
const HOSTS_OF_OPEN_MPI: [&str; 2] = ["host", "H"];
const HOSTS_OF_HYDRA: [&str; 8] = [
    "f",
    "hosts",
    "host",
    "hostlist",
    "hostfile",
    "machine",
    "machines",
    "machinefile",
];

/// Options of mpirun whose value may look like the program to launch.
const PROGRAMS: [&str; 4] = ["launcher", "bootstrap", "launcher-exec", "bootstrap-exec"];

/// The arguments with which the launcher uses only the nodes `up`.
pub(super) fn without(
    kind: LauncherKind,
    arguments: &[OsString],
    up: &[String],
    excluded: &[String],
    environment: &Environment,
) -> Result<Vec<OsString>> {
    let out = || hostlist::compress(excluded);
    let ours: Vec<String> = match kind {
        LauncherKind::Srun => vec![format!("--exclude={}", out())],
        LauncherKind::Flux => return flux(arguments, format!("--requires=-host:{}", out())),
        LauncherKind::Jsrun | LauncherKind::Lrun => {
            vec![format!("--exclude_hosts={}", excluded.join(","))]
        }
        LauncherKind::Aprun => {
            let nids: Vec<&str> = up.iter().map(|node| nid(node)).collect();
            vec!["-L".to_string(), nids.join(",")]
        }
        LauncherKind::OpenMpi => {
            // Without a number of slots each node would take one process.
            let slots = up.iter().map(|node| format!("{node}:*"));
            let slots: Vec<String> = slots.collect();
            vec!["--host".to_string(), slots.join(",")]
        }
        LauncherKind::Hydra => vec!["-hosts".to_string(), up.join(",")],
    };
    let rest = match kind {
        LauncherKind::OpenMpi => drop_options(arguments, &HOSTS_OF_OPEN_MPI, environment),
        LauncherKind::Hydra => drop_options(arguments, &HOSTS_OF_HYDRA, environment),
        _ => arguments.to_vec(),
    };
    Ok(ours.into_iter().map(OsString::from).chain(rest).collect())
}

/// `flux run` and the older `flux mini run` take options after the word `run`.
fn flux(arguments: &[OsString], option: String) -> Result<Vec<OsString>> {
    let place = match arguments.iter().position(|word| word == "run") {
        Some(place) if place < 2 => place + 1,
        _ => {
            return Err(failed(
                "flux",
                "write `flux run`: SCR must wait until the program ends",
            ));
        }
    };
    let mut all = arguments.to_vec();
    all.insert(place, option.into());
    Ok(all)
}

/// aprun knows nodes by number: node `nid00012` is 12.
fn nid(node: &str) -> &str {
    let digits = node.strip_prefix("nid").unwrap_or(node);
    match digits.trim_start_matches('0') {
        "" => "0",
        number => number,
    }
}

/// The user's arguments without the options before the program that name hosts.
fn drop_options(
    arguments: &[OsString],
    names: &[&str],
    environment: &Environment,
) -> Vec<OsString> {
    let (ours, rest) = arguments.split_at(program(arguments, environment));
    let mut kept = Vec::new();
    let mut words = ours.iter();
    while let Some(word) = words.next() {
        match option(word) {
            Some((name, None)) if names.contains(&name) => {
                let _ = words.next();
            }
            Some((name, Some(_))) if names.contains(&name) => {}
            _ => kept.push(word.clone()),
        }
    }
    kept.extend_from_slice(rest);
    kept
}

/// The position of the program to launch: the first word that is not an option and names a program
/// on this node. The words after it belong to the program.
fn program(arguments: &[OsString], environment: &Environment) -> usize {
    let mut value_of_ours = false;
    let runs = |word: &OsString| {
        let program = option(word).is_none()
            && !value_of_ours
            && word
                .to_str()
                .is_some_and(|word| find(environment, word).is_some());
        value_of_ours = option(word).is_some_and(|(name, _)| PROGRAMS.contains(&name));
        program
    };
    let place = arguments.iter().position(runs);
    place.unwrap_or(arguments.len())
}

/// Name and value of `-name`, `--name` and `--name=value`.
fn option(word: &OsStr) -> Option<(&str, Option<&str>)> {
    let name = word.to_str()?.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    match name.split_once('=') {
        Some((name, value)) => Some((name, Some(value))),
        None => Some((name, None)),
    }
}
