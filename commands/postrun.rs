//! `scr postrun`: saves datasets from the caches of a job without a run.

use super::call::{Failure, Invocation};
use super::inspect_nodes::datasets_of_node;
use super::job::Job;
use super::json::CachedJson;
use super::scavenge::ReachedNodes;
use super::{Outcome, RunCommand, daemons, place, status};
use scr_engine::format::flush_file::FlushFile;
use scr_engine::format::index::Index;
use scr_engine::policy::halt::FINALIZED;
use scr_engine::prefix::{index, records};
use scr_engine::system::time::Instant;
use scr_engine::text::escaped;
use scr_jobs::hostlist::{compress, expand};
use scr_jobs::launcher::Launcher;
use scr_jobs::relaunch::save::{HeldOnNodes, SaveCandidate, candidates, recorded, save};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Save the newest checkpoint and all output from the caches at the end of a job
///
/// Call it at the end of an allocation, when no run of the job is alive; scr run does it itself.
/// Saves output that is not in the prefix directory, oldest first, then the newest checkpoint that
/// can be saved, unless it is in the prefix directory already. That becomes the current checkpoint,
/// from which the next run starts. Files of nodes that are down are rebuilt, as far as their
/// redundancy allows. Sessions of the program that have a name are saved likewise. With SCR_FLUSH_POSTSTAGE or transfer daemons it first waits for the flushes that
/// the last run has left in the background, as scr poststage does, and ends the daemons.
///
/// Exit status: 0 all is in the prefix directory, 1 a dataset could not be saved, or a node did not tell which it has.
#[derive(clap::Args)]
pub(super) struct Options {
    /// What the program was launched with: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER")]
    joblauncher: Option<String>,
    /// Nodes that are known to be down
    #[arg(short, long, value_name = "NODES", default_value = "")]
    down: String,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Print each step, and the output of each node
    #[arg(short, long)]
    verbose: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        call.verbose = self.verbose || job.debug();
        if !job.is_on("SCR_ENABLE")? {
            return Ok(ExitCode::SUCCESS);
        }
        place::used(Some(job.prefix.root()))?;
        let launcher = job.launcher(self.joblauncher.as_deref())?;
        let known = expand(&self.down)?;
        Ok(status(finish(call, &job, launcher.as_ref(), &known)?))
    }
}

/// Saves the datasets, also those of named sessions. True if all that must be in the prefix directory are there.
pub(super) fn finish(
    call: &mut Invocation,
    job: &Job,
    launcher: Option<&Launcher>,
    known: &[String],
) -> Result<bool, Failure> {
    let mut good = finish_session(call, job, launcher, known)?;
    for dir in place::sessions(&job.prefix) {
        writeln!(call.out, "Session in {}:", escaped(&dir.to_string_lossy()))?;
        good &= finish_session(call, &Job::here(Some(&dir))?, launcher, known)?;
    }
    Ok(good)
}

/// [`finish`] of one session.
fn finish_session(
    call: &mut Invocation,
    job: &Job,
    launcher: Option<&Launcher>,
    known: &[String],
) -> Result<bool, Failure> {
    let begun = Instant::now();
    let mut tested = None;
    if daemons::may_have_left(job) {
        match ReachedNodes::tested(call, job, launcher, &job.nodes()?, known) {
            Ok(nodes) => {
                daemons::end(call, job, &nodes)?;
                tested = Some(nodes);
            }
            Err(error) => call.warn(&format!("flushes left behind are not finished: {error}")),
        }
    }
    place::finish_flushes(call, &job.prefix);
    // If the flush file is damaged, what is in the caches of the nodes tells the same.
    let record = records::read_flush_file(&*place::files(&job.prefix), &job.prefix);
    if let Err(error) = &record {
        call.warn(error);
    }
    let index = known_index(call, job);
    let halt = records::read_halt(&*place::files(&job.prefix), &job.prefix).unwrap_or_default();
    let finalized = halt
        .exit_reason
        .is_some_and(|reason| reason == FINALIZED.into());
    // True if the record leaves nothing to save.
    let settled = |record: &FlushFile| save(&recorded(record, index.as_ref()), |_| Err(())).is_ok();
    if finalized && record.as_ref().is_ok_and(settled) {
        writeln!(
            call.out,
            "The last run called SCR_Finalize, and all is in the prefix directory"
        )?;
        return Ok(true);
    }
    let nodes = match tested {
        Some(nodes) => nodes,
        None => ReachedNodes::tested(call, job, launcher, &job.nodes()?, known)?,
    };
    let (held, silent) = held_on(call, &nodes)?;
    let all_told = nodes.down.is_empty() && silent.is_empty();
    let items = candidates(&record.unwrap_or_default(), index.as_ref(), held, all_told);
    for (id, item) in &items {
        call.step(&format_args!("dataset {id}: {}", description(item)))?;
    }
    if !silent.is_empty() {
        let silent = compress(&silent);
        call.error(&format_args!(
            "what the caches of {silent} hold is not known, so a newer dataset may be there that is not in the prefix directory; \
             run scr postrun again when they answer"
        ));
    }
    if items.is_empty() && silent.is_empty() {
        let up = compress(&nodes.up);
        writeln!(
            call.out,
            "There is no dataset of this job in the caches of {up}"
        )?;
        return Ok(true);
    }
    let saved = save(&items, |id| match nodes.save(call, id) {
        Ok(()) => Ok(true),
        Err(Failure::Said(text)) => {
            call.error(&text);
            Ok(false)
        }
        Err(other) => Err(other),
    })?;
    let checkpoints = items.values().any(|item| item.checkpoint);
    let seconds = begun.elapsed().as_secs_f64();
    call.step(&format_args!("secs: {seconds:.1}"))?;
    match saved.checkpoint {
        Some(id) if saved.new.is_empty() && saved.failed.is_empty() => {
            writeln!(
                call.out,
                "The newest checkpoint, dataset {id}, is in the prefix directory"
            )?;
        }
        None if checkpoints => call.error(&"no checkpoint of this job could be saved"),
        _ => {}
    }
    let all_saved = saved.failed.is_empty() && (saved.checkpoint.is_some() || !checkpoints);
    Ok(all_saved && silent.is_empty())
}

/// The index, unless it is lost or damaged.
fn known_index(call: &mut Invocation, job: &Job) -> Option<Index> {
    let files = place::files(&job.prefix);
    match index::lookup(&*files, &job.prefix) {
        Ok(index) => index,
        Err(error) => {
            call.warn(&error);
            None
        }
    }
}

/// The kind of a dataset, and where it is.
fn description(item: &SaveCandidate) -> String {
    let kind = match (item.checkpoint, item.output) {
        (true, true) => "checkpoint and output",
        (true, false) => "checkpoint",
        (false, _) => "output",
    };
    if item.saved {
        format!("{kind}, in the prefix directory")
    } else {
        format!("{kind}, in the caches only")
    }
}

/// The datasets with parts on nodes that are up, and the nodes that have not told which they hold.
fn held_on(
    call: &mut Invocation,
    nodes: &ReachedNodes,
) -> Result<(BTreeMap<u64, HeldOnNodes>, Vec<String>), Failure> {
    let mut held: BTreeMap<u64, HeldOnNodes> = BTreeMap::new();
    let mut silent = Vec::new();
    for answer in nodes.ask(&["inspect", "--json"])? {
        match datasets_of_node(&answer) {
            Ok(datasets) => datasets.iter().for_each(|part| add(&mut held, part)),
            Err(why) => {
                call.warn(&format!("node {}: {why}", answer.node));
                silent.push(answer.node);
            }
        }
    }
    Ok((held, silent))
}

/// Adds a node's part of a dataset.
fn add(held: &mut BTreeMap<u64, HeldOnNodes>, part: &CachedJson) {
    let held = held.entry(part.id).or_default();
    held.item.output |= part.output;
    held.item.checkpoint |= part.checkpoint;
    held.here = held.here.saturating_add(part.ranks_here.len() as u64);
    held.ranks = part.ranks;
}
