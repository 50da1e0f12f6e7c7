//! `scr copy`: copies this node's parts of a dataset to the prefix directory.

use super::call::{Failure, Invocation};
use super::progress::Progress;
use super::{Outcome, RunCommand, caches, place, status};
use scr_engine::config::Config;
use scr_engine::config::table::parameter;
use scr_engine::config::value::Typed;
use scr_engine::format::print::escaped;
use scr_engine::job::Environment;
use scr_engine::scavenge::copy::{CopySettings, Redundancy, copy};
use scr_engine::text::counted;
use scr_jobs::hostlist::expand;
use std::io::Write;
use std::process::ExitCode;

/// Copy this node's parts of a dataset from its cache to the prefix directory
///
/// For the end of a job that was killed: run it on each node that is left, then run
/// `scr index --build ID` once. Files go to their paths in the prefix directory, or with
/// SCR_USE_CONTAINERS=1 or --containers into containers of this node, of SCR_CONTAINER_SIZE bytes.
/// Completion records and redundancy files go to its .scr/scr.dataset.ID. Every file is compared with its
/// recorded checksum while it is copied; a checksum that is missing is taken, unless SCR_CRC_ON_FLUSH is
/// 0. Files that were copied before are not copied again, so the command can be repeated. A rank with a
/// damaged file is left out, and can be rebuilt.
///
/// If nodes are down, their ranks are rebuilt from redundancy files on other nodes. Name them, as
/// separate words or as a list such as n[3-5],n9, to copy only the redundancy files of sets that may
/// have a rank there.
///
/// The last line of the output is `scr_copy: NODE: Return code: N`, with the exit status: 0
/// all parts on this node were copied; 1 some were not, or this node has no part of the dataset.
#[derive(clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    caches: caches::Caches,
    /// Number of the dataset
    #[arg(short, long, value_name = "ID")]
    id: u64,
    /// Bytes to copy at a time, also with a suffix such as MB, instead of SCR_FILE_BUF_SIZE
    #[arg(short, long, value_name = "BYTES", value_parser = bytes)]
    buf: Option<usize>,
    /// Take the checksums that are missing, and record all, also with SCR_CRC_ON_FLUSH=0
    #[arg(short = 'r', long)]
    crc: bool,
    /// Copy into containers, also without SCR_USE_CONTAINERS=1
    #[arg(long)]
    containers: bool,
    /// Copy only what this node keeps for other nodes, its redundancy files: the second round of a
    /// scavenge, after all nodes have copied their own files
    #[arg(long)]
    partner: bool,
    /// Which redundancy files to copy: all, none, or only those that a rebuild needs, in a second
    /// round after all nodes have copied with none. Default: needed if nodes are down, else all
    #[arg(long, value_name = "WHICH", value_parser = ["all", "needed", "none"])]
    redundancy: Option<String>,
    /// Nodes that are down
    #[arg(value_name = "DOWNNODE")]
    down: Vec<String>,
}

const BUFFER: &str = "SCR_FILE_BUF_SIZE";

fn bytes(text: &str) -> Result<usize, String> {
    let kind = parameter(BUFFER).map(|p| p.kind);
    match kind.and_then(|kind| kind.parse(text)) {
        Some(Typed::Bytes(bytes)) => usize::try_from(bytes).map_err(|e| e.to_string()),
        _ => Err(kind.map(|kind| kind.allowed()).unwrap_or_default()),
    }
}

/// The parameters of a copy. Those with a bad value have their default: the files are saved anyway.
pub(super) struct Configured {
    /// `SCR_FILE_BUF_SIZE`, bytes.
    pub buffer: usize,
    /// `SCR_COPY_METADATA`.
    pub metadata: bool,
    use_containers: bool,
    container_size: u64,
    /// `SCR_CRC_ON_FLUSH`.
    pub checksums: bool,
}

impl Configured {
    pub fn of(config: &Config) -> Self {
        let typed = |name: &str| {
            let parameter = parameter(name)?;
            let set = config.typed(parameter).ok().flatten();
            set.or_else(|| parameter.kind.parse(parameter.default))
        };
        let is_on = |name: &str| matches!(typed(name), Some(Typed::Bool(true)));
        let bytes = |name: &str| match typed(name) {
            Some(Typed::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let buffer = bytes(BUFFER).and_then(|bytes| usize::try_from(bytes).ok());
        Configured {
            buffer: buffer.unwrap_or(1 << 20),
            metadata: is_on("SCR_COPY_METADATA"),
            use_containers: is_on("SCR_USE_CONTAINERS"),
            container_size: bytes("SCR_CONTAINER_SIZE").unwrap_or(u64::MAX),
            checksums: is_on("SCR_CRC_ON_FLUSH"),
        }
    }

    /// The size of containers, if they are wanted or `forced`.
    fn containers(&self, forced: bool) -> Option<u64> {
        (forced || self.use_containers).then_some(self.container_size)
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
        let mut down = Vec::new();
        for list in &self.down {
            down.extend(expand(list)?);
        }
        let configured = Configured::of(&here.job.config);
        let redundancy = match (self.redundancy.as_deref(), &down[..]) {
            (Some("none"), _) if self.partner => {
                return Err(Failure::said(
                    "--partner copies redundancy files, and --redundancy none leaves them out; give one \
                     of them",
                ));
            }
            (Some("none"), _) => Redundancy::None,
            (None, []) | (Some("all"), _) => Redundancy::All,
            (_, down) => Redundancy::Needed(down),
        };
        let progress = Progress::new("copied");
        let settings = CopySettings {
            files: &*call.unkept.note(here.files()),
            prefix: &here.job.prefix,
            node: &here.node,
            redundancy,
            only_redundancy: self.partner,
            containers: configured.containers(self.containers),
            checksums: self.crc || configured.checksums,
            buffer: self.buf.unwrap_or(configured.buffer),
            metadata: configured.metadata,
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
            let places = places.join(", ");
            return Err(Failure::said(if copied.problems.is_empty() {
                format!("there is nothing of dataset {} in {places}", self.id)
            } else {
                format!("no part of dataset {} can be read in {places}", self.id)
            }));
        };
        let name = escaped(&dataset.name);
        let saved = if self.partner {
            String::new()
        } else {
            format!(
                "{} of this node saved, ",
                counted(copied.ranks.len(), "rank")
            )
        };
        writeln!(
            call.out,
            "dataset {} ({name}): {saved}{} copied, {} bytes",
            self.id,
            counted(copied.files as usize, "file"),
            copied.bytes
        )?;
        Ok(status(copied.problems.is_empty()))
    }
}
