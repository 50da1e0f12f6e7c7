//! Completes a scavenged dataset: `scr index --build`, `scr index --add`, `scr scavenge`.

use super::call::{Failure, Invocation};
use super::copy::Configured;
use super::progress::RebuildProgress;
use super::{configuration, place};
use scr_engine::format::print::escaped;
use scr_engine::job::Environment;
use scr_engine::job::clock::local_time;
use scr_engine::prefix::paths::Prefix;
use scr_engine::scavenge::{BuildSettings, build};
use scr_engine::system::time::SystemTime;
use scr_engine::text::ranks_in_words;
use std::io::Write;

/// Completes a dataset from its parts in the prefix directory, and prints which files were rebuilt.
pub(super) fn complete(
    call: &mut Invocation,
    prefix: &Prefix,
    id: u64,
) -> std::result::Result<(), Failure> {
    let (host, mut notes) = (Environment::of_process().host, Vec::new());
    // A dataset is completed also where the configuration cannot be read.
    let config = configuration::load(Some(prefix.root())).ok();
    let checksums = config.is_none_or(|(config, _)| Configured::of(&config).checksums);
    let (files, tally) = place::counted_files(prefix);
    let progress = RebuildProgress::new(tally);
    let how = BuildSettings {
        node: &host,
        time: &local_time(SystemTime::now()),
        checksums,
        watch: &progress,
    };
    let files = call.unkept.note(files);
    let built = build(&*files, prefix, id, how, &mut notes);
    drop(progress);
    for note in &notes {
        call.warn(note);
    }
    let built = built?;
    if !built.rebuilt.is_empty() {
        let ranks = ranks_in_words(&built.rebuilt);
        writeln!(call.out, "Rebuilt the files of {ranks}")?;
    }
    let (name, ranks) = (escaped(&built.dataset.name), built.ranks);
    writeln!(
        call.out,
        "Dataset {id} (`{name}'), {ranks} ranks, is complete and in the index"
    )?;
    Ok(())
}
