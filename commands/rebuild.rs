//! `scr rebuild`: rebuilds lost files of a dataset in one directory.

use super::call::{Failure, Invocation};
use super::progress::RebuildProgress;
use super::{Outcome, RunCommand, caches, place, status};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scr_engine::Error;
use scr_engine::cache::layout::level;
use scr_engine::format::Scheme;
use scr_engine::job::Environment;
use scr_engine::prefix::paths::Prefix;
use scr_engine::redundancy::ParityFileName;
use scr_engine::redundancy::offline::DatasetLocation;
use scr_engine::scavenge::contain::shown;
use scr_engine::scavenge::dataset_records::{DatasetRecords, read};
use scr_engine::scavenge::locations::PrefixLocation;
use scr_engine::scavenge::rebuild::{RebuildPlan, Scope, choose};
use scr_engine::store::{Files, posix::Posix};
use scr_engine::text::ranks_in_words;
use scr_jobs::datasets::cached::CacheLocation;
use scr_jobs::tally::CountingFiles;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The classic names.
pub(super) const NAMES: &[&str] = &["scr_rebuild_xor", "scr_rebuild_partner", "scr_rebuild_rs"];

/// Rebuild lost files of a dataset from its redundancy files
///
/// Works without MPI on the parts of a dataset in one directory: a dataset's directory below a cache
/// (scr.dataset.ID, with .scr in it), where files are in rank_R; or the directory
/// .scr/scr.dataset.ID of a prefix directory to which the dataset was scavenged, where files are at
/// their paths in the prefix directory. Compares every file with its recorded size and checksum, and
/// rebuilds missing and damaged ones: files, completion records and redundancy files. If more is
/// lost than the redundancy tolerates, no file changes.
///
/// Exit status: 0 the dataset is complete now, 1 it is not.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Directory of the dataset, instead of the current directory
    #[arg(short, long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only print what is missing, and whether it can be rebuilt
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Only sets with this scheme; map: only the completion records of ranks that have all files
    #[arg(value_parser = asked())]
    scheme: Option<Asked>,
    /// Only the sets of these redundancy files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// The sets that the argument names.
#[derive(Clone, Copy)]
enum Asked {
    /// The sets of a scheme.
    Sets(Scheme),
    /// Completion records alone.
    Records,
}

/// Reads the word of a scheme with redundancy files, or `map`.
fn asked() -> impl TypedValueParser<Value = Asked> {
    let schemes = Scheme::with_files().map(Scheme::lower);
    let words = PossibleValuesParser::new(schemes.chain(["map"]));
    words.map(|word| Scheme::from_word(&word).map_or(Asked::Records, Asked::Sets))
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let place = DatasetDir::of(&place::absolute(
            self.dir.as_deref().unwrap_or(Path::new("")),
        )?)?;
        let (files, tally) = match &place.prefix {
            Some(prefix) => place::counted_files(prefix),
            None => {
                let files = CountingFiles::new(Posix);
                (
                    files.beneath(std::slice::from_ref(&place.dir)),
                    files.tally(),
                )
            }
        };
        let files = &*call.unkept.note(files);
        let mut sources = read(files, &place.meta, None)?;
        self.choose(call.name, &mut sources)?;
        let scope = match self.scheme {
            Some(Asked::Records) => Scope::Records,
            Some(Asked::Sets(_)) | None => Scope::Everything,
        };
        let saved = place.prefix.as_ref().map(PrefixLocation);
        let cached = CacheLocation(place.dir);
        let view = place
            .prefix
            .as_ref()
            .zip(sources.first())
            .map(|(prefix, newest)| {
                let maps = sources.iter().flat_map(|source| source.filemaps.values());
                shown(files, prefix, newest.dataset.id, maps)
            });
        let location = DatasetLocation {
            files: match &view {
                Some(view) => view,
                None => files,
            },
            meta_dir: &place.meta,
            data: match &saved {
                Some(saved) => saved,
                None => &cached,
            },
        };
        let progress = RebuildProgress::new(tally);
        let plan = choose(location, &sources, scope, &progress)?;
        for note in plan.notes() {
            call.warn(&note);
        }
        plan.verdict.clone()?;
        let done = plan.is_whole() || !self.dry_run;
        let text = tell(&plan, self.dry_run);
        let DatasetRecords { dataset, ranks, .. } = plan.source;
        if !self.dry_run {
            plan.carry_out(&Environment::of_process().host)?;
        }
        writeln!(
            call.out,
            "{}: {text}",
            caches::title(dataset, *ranks as u64)
        )?;
        Ok(status(done))
    }
}

/// The lost files, and their fate.
fn tell(plan: &RebuildPlan, dry: bool) -> String {
    let parts = [
        ("files", &plan.losses.data),
        ("redundancy", &plan.losses.redundancy),
        ("records", &plan.missing_records),
    ];
    let lost: Vec<String> = parts
        .into_iter()
        .filter(|(_, ranks)| !ranks.is_empty())
        .map(|(what, ranks)| format!("{what} of {}", ranks_in_words(ranks)))
        .collect();
    match (lost.is_empty(), dry) {
        (true, _) => "all is there".to_string(),
        (false, true) => format!("{} can be rebuilt", lost.join(", ")),
        (false, false) => format!("{} rebuilt", lost.join(", ")),
    }
}

impl Options {
    /// Keeps only the sets that the user asked for.
    fn choose(&self, name: &str, sources: &mut Vec<DatasetRecords>) -> Result<(), Failure> {
        let classic = name
            .strip_prefix("scr_rebuild_")
            .and_then(Scheme::from_word);
        let asked = match self.scheme {
            Some(Asked::Sets(scheme)) => Some(scheme),
            Some(Asked::Records) | None => None,
        };
        if let (Some(classic), Some(asked)) = (classic, asked)
            && classic != asked
        {
            return Err(Failure::said(format!(
                "{name} cannot rebuild {asked} sets; use scr_rebuild_{asked}",
                asked = asked.lower()
            )));
        }
        let scheme = asked.or(classic);
        let named = self.files.iter().map(|path| {
            let name = path.file_name().and_then(ParityFileName::parse);
            let wanted = |scheme| name.is_some_and(|n| scheme == n.scheme);
            let name = name.filter(|_| scheme.is_none_or(wanted));
            name.map(|name| name.set).ok_or_else(|| {
                let scheme = scheme.unwrap_or(Scheme::Xor).lower();
                let path = path.display();
                Failure::said(format!(
                    "{path} is not the name of a redundancy file, such as 2_of_4_in_0.{scheme}"
                ))
            })
        });
        let named: BTreeSet<usize> = named.collect::<Result<_, _>>()?;
        if named.is_empty() && scheme.is_none() {
            return Ok(());
        }
        for source in sources.iter_mut() {
            source.sets.retain(|set| {
                scheme.is_none_or(|scheme| set.scheme == scheme.into())
                    && (named.is_empty() || named.contains(&set.set_id))
            });
            if !named.is_empty() {
                source.unknown.clear();
            }
        }
        sources.retain(|source| !source.sets.is_empty());
        if sources.is_empty() {
            return Err(Failure::said(
                "the dataset has no such redundancy set; `scr print filemap_0` shows one",
            ));
        }
        Ok(())
    }
}

/// True for a dataset, or a node's part of one, in a store with `VIEW=GLOBAL`. Ranks that share
/// a store are in no set together, so no set there has more than one member.
fn in_levels(dir: &Path) -> bool {
    let is_level = |name: &OsStr| matches!(name.to_str().and_then(level), Some(Some(_)));
    let inside = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = inside.map(|entry| entry.file_name());
    dir.file_name().is_some_and(is_level) || names.any(|name| is_level(&name))
}

/// A directory with a dataset.
struct DatasetDir {
    dir: PathBuf,
    meta: PathBuf,
    /// The prefix directory, if the files are at their paths there.
    prefix: Option<Prefix>,
}

impl DatasetDir {
    fn of(dir: &Path) -> Result<DatasetDir, Failure> {
        let dir = std::fs::canonicalize(dir).map_err(|e| Error::io("look at", dir, e))?;
        if in_levels(&dir) {
            return Err(Failure::said(format!(
                "{} is in a store that all nodes share, without redundancy files beside it; \
                 scr scavenge saves all parts that are there",
                dir.display()
            )));
        }
        let is_meta = |path: &Path| path.file_name().is_some_and(|name| name == ".scr");
        let above = dir.parent().filter(|above| is_meta(above));
        if let Some(root) = above.and_then(Path::parent) {
            let prefix = Some(Prefix::new(root));
            let meta = dir.clone();
            return Ok(DatasetDir { dir, meta, prefix });
        }
        let meta = dir.join(".scr");
        if meta.is_dir() {
            let prefix = None;
            return Ok(DatasetDir { dir, meta, prefix });
        }
        Err(Failure::said(format!(
            "{} is not the directory of a dataset: it has no directory .scr, and is not in the \
             .scr of a prefix directory",
            dir.display()
        )))
    }
}
