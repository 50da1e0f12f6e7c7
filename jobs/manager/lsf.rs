//! IBM Spectrum LSF.

use super::{Manager, among, hosts, id};
use scr_engine::job::Environment;
use scr_engine::job::identity::variable;
use scr_engine::job::manager::ManagerKind;
use scr_engine::job::program::ask;
use scr_engine::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// The manager of a job of LSF.
pub(super) struct Lsf(pub Environment);

/// Largest host file that is read, bytes.
const MAX_FILE: u64 = 64 << 20;

impl Lsf {
    /// A name for each slot of the job, from the first source that is there.
    fn slots(&self) -> Result<Vec<String>> {
        if let Some(file) = variable("LSB_DJOB_HOSTFILE", &self.0) {
            return words_of(Path::new(&file));
        }
        if let Some(pairs) = variable("LSB_MCPU_HOSTS", &self.0) {
            let words: Vec<&str> = pairs.split_whitespace().collect();
            // More than one slot is all that matters.
            let slots = words.chunks(2).flat_map(|pair| match pair {
                [host, "1"] => vec![host.to_string()],
                [host, _] => vec![host.to_string(), host.to_string()],
                _ => Vec::new(),
            });
            return Ok(slots.collect());
        }
        let hosts = variable("LSB_HOSTS", &self.0).unwrap_or_default();
        Ok(hosts.split_whitespace().map(str::to_string).collect())
    }
}

/// The words of a file of node names.
pub(super) fn words_of(file: &Path) -> Result<Vec<String>> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(MAX_FILE).read_to_string(&mut text))
        .map_err(|error| Error::io("read", file, error))?;
    Ok(text.split_whitespace().map(str::to_string).collect())
}

/// Drops the launch node: the first one, which has one slot where all others have more.
fn without_launch_node(slots: &[String]) -> &[String] {
    let mut counts = HashMap::new();
    for host in slots {
        *counts.entry(host).or_insert(0u64) += 1;
    }
    let alone = |host: &String| counts.get(host) == Some(&1);
    match slots.split_first() {
        Some((first, rest)) if alone(first) && !rest.is_empty() && !rest.iter().any(alone) => rest,
        _ => slots,
    }
}

impl Manager for Lsf {
    fn kind(&self) -> ManagerKind {
        ManagerKind::Lsf
    }

    fn job_id(&self) -> Result<Option<String>> {
        Ok(id(&self.0))
    }

    fn programs(&self) -> &'static [&'static str] {
        &["bjobs", "bhosts"]
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let slots = self.slots()?;
        hosts(without_launch_node(&slots).iter().map(String::as_str))
    }

    fn down(&self, nodes: &[String]) -> Result<Vec<String>> {
        let mut arguments = vec!["-w"];
        arguments.extend(nodes.iter().map(String::as_str));
        let answer = ask(&self.0, "bhosts", &arguments, &[])?;
        let mut bad = Vec::new();
        for line in answer.lines() {
            let mut words = line.split_whitespace();
            if let (Some(host), Some("unavail" | "unreach")) = (words.next(), words.next()) {
                bad.push(host.to_string());
            }
        }
        Ok(among(nodes, &bad))
    }

    fn requeue(&self) -> Option<(&'static str, Vec<String>)> {
        Some(("brequeue", vec![id(&self.0)?]))
    }
}
