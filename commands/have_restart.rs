//! `scr have-restart`: the checkpoint that the next run would restart from.

use super::call::Invocation;
use super::job::Job;
use super::{Outcome, RunCommand, place};
use scr_engine::Result;
use scr_engine::format::flush_file::{CACHE, FlushEntry};
use scr_engine::format::print::escaped;
use scr_engine::format::{Name, index::Index};
use scr_engine::job::clock::local_time;
use scr_engine::prefix::{finish, index, records};
use scr_engine::system::time::SystemTime;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the name of the checkpoint that the next run would restart from
///
/// That is the newest checkpoint in the cache, as the last run recorded it, unless the prefix
/// directory has a newer one; else the one that scr index marks as current, or the newest good one.
/// Does not check files: a run may find damage and use an older checkpoint.
///
/// Exit status: 0 printed, 1 there is no checkpoint.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        match next(&job)? {
            Some(name) => {
                writeln!(call.out, "{}", escaped(&name))?;
                Ok(ExitCode::SUCCESS)
            }
            None => Ok(ExitCode::FAILURE),
        }
    }
}

/// The checkpoint that the next run would restart from, according to the records.
pub(super) fn next(job: &Job) -> Result<Option<Name>> {
    let files = place::files(&job.prefix);
    // The run reports datasets that it cannot finish.
    let _ = finish::finish_ended(
        &*files,
        &job.prefix,
        &|| local_time(SystemTime::now()),
        &mut Vec::new(),
    );
    let record = records::read_flush_file(&*files, &job.prefix)?;
    let index = index::read(&*files, &job.prefix)?;
    let mut cached = record.datasets.into_iter().rev();
    let cached = cached.find(|(_, entry)| entry.ckpt && entry.is_at(CACHE));
    if let Some((id, entry)) = cached
        && !has_newer(&index, id, &entry)
    {
        let known = entry.name.or_else(|| index.name(id).cloned());
        if known.is_some() {
            return Ok(known);
        }
    }
    let first = index.candidates().into_iter().next();
    Ok(first.and_then(|id| index.name(id).cloned()))
}

/// True if the prefix directory has a good checkpoint that was written after a cached one.
fn has_newer(index: &Index, id: u64, cached: &FlushEntry) -> bool {
    let created = cached.dataset.as_ref().map(|dataset| dataset.created);
    index.datasets().iter().any(|(other, entry)| {
        let theirs = entry.dataset.as_ref().map(|dataset| dataset.created);
        let newer = match (theirs, created) {
            (Some(theirs), Some(ours)) => theirs > ours,
            _ => *other > id,
        };
        newer && entry.is_good() && entry.is_checkpoint()
    })
}
