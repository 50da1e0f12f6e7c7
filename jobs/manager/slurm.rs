//! Slurm.

use super::{Manager, among, hosts, id};
use crate::hostlist;
use scr_engine::Result;
use scr_engine::job::Environment;
use scr_engine::job::identity::variable;
use scr_engine::job::manager::{ManagerKind, job_of_slurm};
use scr_engine::job::program::ask;

/// The manager of a job of Slurm.
pub(super) struct Slurm(pub Environment);

/// True if a node in a state, as `sinfo` prints it in long form, cannot be used. Flags follow the
/// word; `*` says that the node does not answer.
fn is_down(state: &str) -> bool {
    const OUT: [&str; 9] = [
        "down",
        "drained",
        "error",
        "unknown",
        "no_respond",
        "powered_down",
        "powering_down",
        "power_down",
        "reboot",
    ];
    let state = state.to_ascii_lowercase();
    let word = state.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    state.contains('*') || OUT.contains(&word)
}

impl Manager for Slurm {
    fn kind(&self) -> ManagerKind {
        ManagerKind::Slurm
    }

    fn job_id(&self) -> Result<Option<String>> {
        Ok(id(&self.0))
    }

    fn programs(&self) -> &'static [&'static str] {
        &["squeue", "sinfo", "scontrol", "scancel"]
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let set = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
        match set.iter().find_map(|name| variable(name, &self.0)) {
            Some(list) => hosts([list.as_str()].into_iter()),
            None => hosts([job_of_slurm(&self.0, "%N")?.as_str()].into_iter()),
        }
    }

    fn down(&self, nodes: &[String]) -> Result<Vec<String>> {
        let wanted = format!("--nodes={}", hostlist::compress(nodes));
        let arguments = ["--noheader", "--Node", &wanted, "--format=%N %T"];
        let answer = ask(&self.0, "sinfo", &arguments, &[])?;
        let states = answer
            .lines()
            .filter_map(|line| line.trim().split_once(' '));
        let bad = states.filter(|(_, state)| is_down(state.trim()));
        let mut bad = hosts(bad.map(|(node, _)| node))?;
        // A node that failed leaves an allocation made with --no-kill, for good: once it is
        // back it may belong to others.
        let ours = hosts([job_of_slurm(&self.0, "%N")?.as_str()].into_iter())?;
        let begun = self.nodes()?;
        if !ours.is_empty() {
            bad.extend(hostlist::minus(&begun, &ours));
        }
        Ok(among(nodes, &bad))
    }

    fn requeue(&self) -> Option<(&'static str, Vec<String>)> {
        Some(("scontrol", vec!["requeue".to_string(), id(&self.0)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::is_down;

    #[test]
    fn states() {
        for good in [
            "allocated",
            "mixed",
            "idle",
            "idle~",
            "completing",
            "draining",
            "mixed-",
            "maint",
            "planned",
            "allocated+",
            "failing",
        ] {
            assert!(!is_down(good), "{good}");
        }
        for bad in [
            "down",
            "down*",
            "DOWN",
            "allocated*",
            "drained",
            "drained*",
            "unknown*",
            "idle*",
            "down$",
            "reboot^",
            "powered_down",
            "mixed*",
        ] {
            assert!(is_down(bad), "{bad}");
        }
    }
}
