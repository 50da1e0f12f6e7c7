//! `scr inspect`: lists datasets that can be saved, and the fields of a saved one.

use super::call::{Failure, Invocation};
use super::details::{Checksums, Details, Times, Took, is_written, kind};
use super::inspect_nodes::{AskedNodes, NO_DATASET};
use super::json::{self, Bytes, CachedJson, InspectJson, object};
use super::terminal::Line;
use super::{Outcome, RunCommand, caches, fields};
use clap::builder::styling::Style;
use scr_engine::cache::layout::Layout;
use scr_engine::format::print::escaped;
use scr_engine::format::{Dataset, Name};
use scr_engine::redundancy::offline::DatasetLocation;
use scr_engine::scavenge::contain::shown;
use scr_engine::scavenge::rebuild::{Scope, choose};
use scr_engine::scavenge::scr_v3::{self, ScrV3Dataset, is_from_scr_v3};
use scr_engine::scavenge::{build, locations::PrefixLocation};
use scr_engine::text::ranks_in_words;
use scr_jobs::datasets::cached::{NodeDataset, list_datasets};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// List the datasets in the cache of this node, or what was saved of one, or its fields
///
/// Lists the datasets with parts on this node, newest first: id, CKPT for a checkpoint and OUTPUT
/// for output, number of ranks whose files are here; of the whole dataset number of ranks and files and
/// size, how many seconds the program took to write it and the rate, from the event log; of how many
/// files here the checksum is recorded, and the name. A - stands for an unknown value. With --id,
/// checks the parts of a dataset that were copied to the prefix directory, and tells whether `scr
/// index --build` can complete it.
///
/// With --jobset, --up or --down, the same of several nodes together: HERE is the number of ranks whose
/// files are on the nodes that were asked. SCR_REMOTE says how nodes are reached.
///
/// With --fields, lists the fields of a complete dataset in the prefix directory: type and extents, in
/// the order in which the program names the dimensions; whose the values are: "own" of each rank, "part"
/// of a whole, "same" on all ranks, a count, an "index" list, or a "bag"; how many ranks have elements; bytes, of
/// the same values once, and the name. If a part goes by an index list or a bag, INDEX is its name; that of a list
/// is the indices of its whole, and "shared" if several ranks may have equal copies. A bag has a number of
/// elements, and no type and no bytes: those are of its fields.
///
/// Exit status: 0 there is a dataset or, with --id, it can be completed; 1 not, and the message says
/// where it was looked for.
#[derive(clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    caches: caches::Caches,
    #[command(flatten)]
    nodes: AskedNodes,
    /// Check what the prefix directory has of this dataset
    #[arg(short, long, value_name = "ID", conflicts_with = "quiet")]
    id: Option<u64>,
    /// List the fields of this dataset in the prefix directory
    #[arg(long, value_name = "NAME|ID", conflicts_with_all = ["quiet", "id"])]
    fields: Option<OsString>,
    /// Print only the ids, on one line
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if let Some(dataset) = &self.fields {
            let prefix = self.caches.job()?.prefix;
            return fields::list::show(call, &prefix, &Name::from(dataset.as_os_str()), self.json);
        }
        if self.nodes.are_named() {
            let list = self.nodes.ask(call, &self.caches)?;
            return self.show(call, list);
        }
        let here = self.caches.find()?;
        match self.id {
            Some(id) => self.saved(call, &here, id),
            None => {
                let list = self.cached(call, &here)?;
                self.show(call, list)
            }
        }
    }
}

impl Options {
    /// The datasets with parts on this node.
    fn cached(&self, call: &mut Invocation, here: &caches::Here) -> Result<InspectJson, Failure> {
        let (datasets, problems) = list_datasets(&*here.files(), &here.caches)?;
        for problem in &problems {
            call.warn(problem);
        }
        if datasets.is_empty() {
            return Err(nothing(here));
        }
        let times = if self.quiet {
            Times::default()
        } else {
            Times::read(call, &*here.files(), &here.job.prefix, is_written)
        };
        let one = |held: &NodeDataset| cached_json(held, times.of(&held.dataset));
        Ok(InspectJson {
            node: here.node.clone(),
            datasets: datasets.iter().map(one).collect(),
        })
    }

    /// Prints datasets in caches, in the form that was asked for.
    fn show(&self, call: &mut Invocation, list: InspectJson) -> Outcome {
        if self.quiet {
            let mut ids: Vec<String> = list.datasets.iter().map(|d| d.id.to_string()).collect();
            ids.dedup();
            writeln!(call.out, "{}", ids.join(" "))?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.json {
            json::print(call, "inspect", list)?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<Vec<String>> = list.datasets.iter().map(row).collect();
        let mut headings = vec!["DSET", "TYPE", "HERE"];
        headings.extend(Details::HEADINGS);
        headings.push("NAME");
        let right = ["DSET", "HERE", "RANKS", "FILES", "SIZE", "SECONDS", "RATE"];
        call.show(&Line::columns(&headings, &right, &rows, |_| Style::new()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the state of a dataset in the prefix directory.
    fn saved(&self, call: &mut Invocation, here: &caches::Here, id: u64) -> Outcome {
        let saved = saved(call, here, id)?;
        let (dataset, ranks) = (&saved.dataset, saved.ranks);
        let (state, rebuild) = match &saved.state {
            State::Complete => ("complete", &[][..]),
            State::Copied(lost) if lost.is_empty() => ("copied", &lost[..]),
            State::Copied(lost) => ("rebuildable", &lost[..]),
        };
        if self.json {
            let root = here.job.prefix.root();
            let saved = object! {
                prefix: root.to_string_lossy().into_owned(),
                dataset: object! {
                    id: dataset.id,
                    #[serde(flatten)]
                    name: Bytes("name", Some(dataset.name.as_bytes())),
                    ranks: ranks,
                    state: state,
                    rebuild_ranks: rebuild,
                },
            };
            json::print(call, "inspect", saved)?;
            return Ok(ExitCode::SUCCESS);
        }
        let text = match state {
            "complete" => "complete".to_string(),
            "copied" => "all files are there".to_string(),
            _ => format!("files of {} can be rebuilt", ranks_in_words(rebuild)),
        };
        writeln!(call.out, "{}: {text}", caches::title(dataset, ranks))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn cached_json(held: &NodeDataset, took: Option<&Took>) -> CachedJson {
    let (dataset, name) = (&held.dataset, held.dataset.name.as_bytes());
    let details = Details::of(dataset, took);
    CachedJson {
        id: dataset.id,
        name: json::text(name),
        name_hex: json::hex(name),
        checkpoint: dataset.is_checkpoint(),
        output: dataset.flag_output,
        ranks: held.ranks as u64,
        ranks_here: held.here.iter().copied().collect(),
        files: details.files,
        bytes: details.bytes,
        seconds: details.seconds,
        bytes_per_second: details.rate,
        checksums: Checksums::of(held.checksums, held.files),
    }
}

/// A line of the table.
fn row(dataset: &CachedJson) -> Vec<String> {
    let details = Details {
        files: dataset.files,
        bytes: dataset.bytes,
        ranks: Some(dataset.ranks),
        seconds: dataset.seconds,
        rate: dataset.bytes_per_second,
        checksums: dataset.checksums,
    };
    let mut cells = vec![
        dataset.id.to_string(),
        kind(dataset.checkpoint, dataset.output).to_string(),
        dataset.ranks_here.len().to_string(),
    ];
    cells.extend(details.cells());
    cells.push(name_of(dataset));
    cells
}

/// The name as messages show it.
fn name_of(dataset: &CachedJson) -> String {
    let bytes = dataset.name_hex.as_deref().and_then(json::of_hex);
    escaped(&Name::new(
        bytes.unwrap_or_else(|| dataset.name.clone().into()),
    ))
}

/// The state of a dataset in the prefix directory.
struct Saved {
    dataset: Dataset,
    ranks: u64,
    state: State,
}

enum State {
    Complete,
    /// All files are there, except those of these ranks, which can be rebuilt.
    Copied(Vec<usize>),
}

/// The message if the node has no dataset, or its caches cannot be read: where the command looked.
fn nothing(here: &caches::Here) -> Failure {
    let files = here.files();
    let mut unread = false;
    let looked = here.caches.iter().map(Layout::job).map(|dir| {
        let why = match files.stat(&dir) {
            Ok(None) => "does not exist".to_string(),
            Ok(Some(_)) => "has no dataset".to_string(),
            Err(error) => {
                unread = true;
                error.to_string()
            }
        };
        format!("{} {why}", dir.display())
    });
    let looked = looked.collect::<Vec<_>>().join(", ");
    let node = &here.node;
    // scr postrun must not take an unreadable cache for an empty one.
    if unread {
        return Failure::said(format!(
            "the caches of node {node} cannot be read: {looked}"
        ));
    }
    Failure::said(format!(
        "{NO_DATASET} {node}: {looked}; set user, job id and stores as in the run, or use --cntldir and --cache"
    ))
}

/// Finds out the state of a dataset in the prefix directory.
///
/// # Errors
/// The dataset cannot be completed; the error says why.
fn saved(call: &mut Invocation, here: &caches::Here, id: u64) -> Result<Saved, Failure> {
    let (prefix, files) = (&here.job.prefix, &*here.files());
    if let Ok(Some((dataset, ranks))) = build::read_complete(files, prefix, id) {
        return Ok(Saved {
            dataset,
            ranks,
            state: State::Complete,
        });
    }
    let sources = match build::read(files, prefix, id) {
        Err(_) if is_from_scr_v3(files, &prefix.dataset(id)).unwrap_or(false) => {
            let ScrV3Dataset { dataset, entries } = scr_v3::read(files, prefix, id)?;
            return Ok(Saved {
                dataset,
                ranks: entries.len() as u64,
                state: State::Copied(Vec::new()),
            });
        }
        other => other?,
    };
    let (meta_dir, data) = (&prefix.dataset(id), &PrefixLocation(prefix));
    let maps = sources.iter().flat_map(|source| source.filemaps.values());
    let view = shown(files, prefix, id, maps);
    let location = DatasetLocation {
        files: &view,
        meta_dir,
        data,
    };
    let plan = choose(location, &sources, Scope::Data, &())?;
    for note in plan.notes() {
        call.warn(&note);
    }
    plan.verdict.clone()?;
    Ok(Saved {
        dataset: plan.source.dataset.clone(),
        ranks: plan.source.ranks as u64,
        state: State::Copied(plan.losses.data.clone()),
    })
}
