//! PBS Professional, OpenPBS and Torque.

use super::{Manager, among, hosts, id, lsf::words_of};
use scr_engine::job::Environment;
use scr_engine::job::identity::variable;
use scr_engine::job::manager::ManagerKind;
use scr_engine::job::program::ask;
use scr_engine::{Error, Result};
use std::path::Path;

/// The manager of a job of PBS.
pub(super) struct Pbs(pub Environment);

impl Manager for Pbs {
    fn kind(&self) -> ManagerKind {
        ManagerKind::Pbs
    }

    fn job_id(&self) -> Result<Option<String>> {
        Ok(id(&self.0))
    }

    fn programs(&self) -> &'static [&'static str] {
        &["qstat", "pbsnodes"]
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let file = variable("PBS_NODEFILE", &self.0).ok_or_else(|| {
            Error::config(
                "PBS_NODEFILE",
                "is not set, so the nodes of the job are not known; set SCR_NODELIST",
            )
        })?;
        let words = words_of(Path::new(&file))?;
        hosts(words.iter().map(String::as_str))
    }

    /// `pbsnodes -l` lists nodes that are out of order, with their states. A node that is only
    /// offline takes no new job, but keeps those that it has.
    fn down(&self, nodes: &[String]) -> Result<Vec<String>> {
        let answer = ask(&self.0, "pbsnodes", &["-l"], &[])?;
        let mut bad = Vec::new();
        for line in answer.lines() {
            let mut words = line.split_whitespace();
            if let (Some(host), Some(states)) = (words.next(), words.next()) {
                let out = |state: &str| matches!(state, "down" | "unknown" | "state-unknown");
                if states.split(',').any(out) {
                    bad.push(host.to_string());
                }
            }
        }
        Ok(among(nodes, &bad))
    }

    fn requeue(&self) -> Option<(&'static str, Vec<String>)> {
        Some(("qrerun", vec![id(&self.0)?]))
    }
}
