//! `scr copy`: copies this node's parts of a dataset to the prefix directory.

use super::call::{Failure, Invocation};
use super::progress::Progress;
use super::{Command, CommandGroup, Outcome, RunCommand, caches, place};
use crate::config::table::parameter;
use crate::config::value::Typed;
use crate::format::print::escaped;
use crate::job::Environment;
use crate::scavenge::copy::{CopySettings, Redundancy, copy};
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("copy", &["scr_copy"], CommandGroup::Scripts);

/// Copy this node's parts of a dataset from its cache to the prefix directory
///
/// For the end of a job that was killed: run it on each node that is left, then run
/// `scr index --build ID` once. Files go to their paths in the prefix directory, completion
/// records and redundancy files to its .scr/scr.dataset.ID. Every file is compared with its
/// recorded checksum while it is copied. Files that were copied before are not copied again, so the
/// command can be repeated. A rank with a damaged file is left out, and can be rebuilt.
///
/// The last line of the output is `scr_copy: NODE: Return code: N`, with the exit status: 0
/// all parts on this node were copied; 1 some were not, or this node has no part of the dataset.
#[derive(clap::Args)]
struct Options {
    #[command(flatten)]
    caches: caches::Caches,
    /// Number of the dataset
    #[arg(short, long, value_name = "ID")]
    id: u64,
    /// Bytes to copy at a time, also with a suffix such as MB, instead of SCR_FILE_BUF_SIZE
    #[arg(short, long, value_name = "BYTES", value_parser = bytes)]
    buf: Option<usize>,
    /// No effect: checksums are always compared
    #[arg(short = 'r', long)]
    crc: bool,
    /// No effect: files are copied as plain files, also with SCR_USE_CONTAINERS=1
    #[arg(long)]
    containers: bool,
    /// Which redundancy files to copy: all, none, or only those that a rebuild needs, in a second
    /// round after all nodes have copied with none
    #[arg(long, value_name = "WHICH", default_value = "all",
          value_parser = ["all", "needed", "none"])]
    redundancy: String,
}

const BUFFER: &str = "SCR_FILE_BUF_SIZE";

fn bytes(text: &str) -> Result<usize, String> {
    let kind = parameter(BUFFER).map(|p| p.kind);
    match kind.and_then(|kind| kind.parse(text)) {
        Some(Typed::Bytes(bytes)) => usize::try_from(bytes).map_err(|e| e.to_string()),
        _ => Err(kind.map(|kind| kind.allowed()).unwrap_or_default()),
    }
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let found = self.caches.find().and_then(|here| {
            // A mistyped name must not become a directory.
            place::used(Some(here.job.prefix.root())).map(|_| here)
        });
        let node = match &found {
            Ok(here) => here.node.clone(),
            Err(_) => Environment::of_process().host,
        };
        let code = match found.and_then(|here| self.copy(call, &here)) {
            Ok(code) => code,
            Err(Failure::Said(text)) => {
                call.error(&text);
                ExitCode::FAILURE
            }
            Err(other) => return Err(other),
        };
        let status = u8::from(code != ExitCode::SUCCESS);
        writeln!(call.out, "scr_copy: {node}: Return code: {status}")?;
        Ok(code)
    }
}

impl Options {
    fn copy(&self, call: &mut Invocation, here: &caches::Here) -> Outcome {
        // The files are saved even if a parameter has a bad value.
        let typed = |name: &str| {
            let value = parameter(name).and_then(|p| here.job.config.typed(p).ok());
            value.flatten()
        };
        let configured = match typed(BUFFER) {
            Some(Typed::Bytes(bytes)) => usize::try_from(bytes).ok(),
            _ => None,
        };
        let progress = Progress::new("copied");
        let settings = CopySettings {
            files: &*here.files(),
            prefix: &here.job.prefix,
            node: &here.node,
            redundancy: match self.redundancy.as_str() {
                "none" => Redundancy::None,
                "needed" => Redundancy::Needed,
                _ => Redundancy::All,
            },
            buffer: self.buf.or(configured).unwrap_or(1 << 20),
            metadata: typed("SCR_COPY_METADATA") != Some(Typed::Bool(false)),
            watch: &progress,
        };
        let copied = copy(&settings, &here.caches, self.id);
        drop(progress);
        for problem in &copied.problems {
            call.warn(problem);
        }
        let Some(dataset) = &copied.dataset else {
            let places: Vec<String> = here
                .caches
                .iter()
                .map(|cache| cache.job().display().to_string())
                .collect();
            return Err(Failure::said(format!(
                "there is nothing of dataset {} in {}",
                self.id,
                places.join(", ")
            )));
        };
        let name = escaped(&dataset.name);
        writeln!(
            call.out,
            "dataset {} ({name}): {} ranks of this node saved, {} files copied, {} bytes",
            self.id,
            copied.ranks.len(),
            copied.files,
            copied.bytes
        )?;
        Ok(match copied.problems.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }
}
