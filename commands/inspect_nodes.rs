//! `scr inspect` on several nodes: asks each, and adds up their datasets.

use super::caches::Caches;
use super::call::{Failure, Invocation};
use super::details::Checksums;
use super::job::Job;
use super::json::{CachedJson, InspectJson};
use super::on_nodes::command_on_nodes;
use scr_jobs::hostlist::{compress, expand, minus, unique};
use scr_jobs::remote::NodeResult;
use std::time::Duration;

/// Time in which a node must answer.
const PATIENCE: Duration = Duration::from_secs(300);

/// The beginning of the message of `scr inspect` on a node without a dataset.
pub(super) const NO_DATASET: &str = "no dataset on node";

// No doc comment: clap would take it for the help of the command.
#[derive(clap::Args)]
pub(super) struct AskedNodes {
    /// Ask these nodes, instead of those of the job
    #[arg(long, value_name = "NODES", conflicts_with = "id")]
    jobset: Option<String>,
    /// Ask only these nodes of the job, which are up
    #[arg(long, value_name = "NODES", conflicts_with_all = ["id", "down"])]
    up: Option<String>,
    /// Ask all nodes of the job but these, which are down
    #[arg(long, value_name = "NODES", conflicts_with = "id")]
    down: Option<String>,
}

impl AskedNodes {
    /// False if only this node is looked at.
    pub fn are_named(&self) -> bool {
        self.jobset.is_some() || self.up.is_some() || self.down.is_some()
    }

    /// The contents of the caches of the nodes. A node that does not answer is a warning.
    ///
    /// # Errors
    /// The node does not exist, no node can be asked, no node has a dataset, or none is known and a node has not answered.
    pub fn ask(&self, call: &mut Invocation, caches: &Caches) -> Result<InspectJson, Failure> {
        let job = caches.job()?;
        let nodes = self.nodes(&job)?;
        if nodes.is_empty() {
            return Err(Failure::said("no node is left to ask"));
        }
        let bases = caches.bases()?;
        let mut words = vec!["inspect", "--json"];
        for base in &bases {
            words.extend(["--cache", base]);
        }
        let task = command_on_nodes(&job, caches.control(), &words)?;
        let mut list = InspectJson {
            node: compress(&nodes),
            datasets: Vec::new(),
        };
        let mut silent = Vec::new();
        for answer in job.remote(None)?.run(&nodes, &task, PATIENCE) {
            match datasets_of_node(&answer) {
                Ok(found) => found
                    .into_iter()
                    .for_each(|one| add(&mut list.datasets, one)),
                Err(why) => {
                    call.warn(&format!("node {}: {why}", answer.node));
                    silent.push(answer.node);
                }
            }
        }
        if list.datasets.is_empty() && !silent.is_empty() {
            return Err(Failure::said(format!(
                "what the caches of {} hold is not known",
                compress(&silent)
            )));
        }
        // The order of a node's own list; equal ids keep theirs.
        list.datasets.sort_by_key(|one| std::cmp::Reverse(one.id));
        if list.datasets.is_empty() {
            Err(Failure::said(format!(
                "no dataset in the caches of {}; set user, job id and stores as in the run, or use \
                 --cntldir and --cache",
                list.node
            )))
        } else {
            Ok(list)
        }
    }

    fn nodes(&self, job: &Job) -> Result<Vec<String>, Failure> {
        let list = |list: &Option<String>| Ok::<_, Failure>(expand(list.as_deref().unwrap_or(""))?);
        if self.up.is_some() && self.jobset.is_none() {
            return Ok(unique(list(&self.up)?));
        }
        let all = match self.jobset {
            Some(_) => unique(list(&self.jobset)?),
            None => job.nodes()?,
        };
        let up = list(&self.up)?;
        let is_up = |node: &String| self.up.is_none() || up.contains(node);
        let all: Vec<String> = all.into_iter().filter(is_up).collect();
        Ok(minus(&all, &list(&self.down)?))
    }
}

/// The datasets on a node, from its answer to `inspect --json`; otherwise why they are not known.
pub(super) fn datasets_of_node(answer: &NodeResult) -> Result<Vec<CachedJson>, String> {
    match answer.code {
        Some(0) => serde_json::from_str::<InspectJson>(&answer.out)
            .map(|list| list.datasets)
            .map_err(|error| format!("its answer cannot be read: {error}")),
        Some(1) if answer.err.contains(NO_DATASET) => Ok(Vec::new()),
        _ => Err(answer.why()),
    }
}

/// Adds a node's part of a dataset.
fn add(datasets: &mut Vec<CachedJson>, part: CachedJson) {
    let same = |one: &&mut CachedJson| {
        (one.id, &one.name, &one.name_hex) == (part.id, &part.name, &part.name_hex)
    };
    let Some(whole) = datasets.iter_mut().find(same) else {
        datasets.push(part);
        return;
    };
    whole.ranks_here.extend(part.ranks_here);
    whole.ranks_here.sort_unstable();
    whole.ranks_here.dedup();
    whole.checksums = match (whole.checksums, part.checksums) {
        (one, None) | (None, one) => one,
        (Some(one), Some(other)) if one == other => Some(one),
        _ => Some(Checksums::Some),
    };
}
