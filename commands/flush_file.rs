//! `scr flush-file`: where the cached datasets of the last run are.

use super::call::{Failure, Invocation};
use super::copy::Configured;
use super::json::{self, Bytes, object};
use super::list_dir::{Which, bases};
use super::progress::Progress;
use super::{Outcome, RunCommand, caches, place, status};
use scr_engine::cache::layout::Layout;
use scr_engine::daemon::Control;
use scr_engine::format::filemap::Filemap;
use scr_engine::format::flush_file::{CACHE, FLUSHING, FlushEntry, FlushFile, PFS, SYNC_FLUSHING};
use scr_engine::format::print::escaped;
use scr_engine::format::transfer::TransferPart;
use scr_engine::format::{Dataset, Name};
use scr_engine::job::clock::local_time;
use scr_engine::prefix::finish::is_same;
use scr_engine::prefix::flush_target::{Checksums, FlushTarget};
use scr_engine::prefix::{paths::Prefix, records};
use scr_engine::scavenge::build;
use scr_engine::scavenge::caches::records as find_records;
use scr_engine::store::{LockAttempt, Watch, wait_for_lock};
use scr_engine::system::time::{Instant, SystemTime};
use scr_engine::text::ranks_in_words;
use scr_engine::transfer::copy::Copier;
use scr_jobs::datasets::resume::resume;
use serde::Serialize;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Time to wait for the last processes of a run to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ask where the cached datasets of the last run are
///
/// Exit status: 0 the answer was printed, or is yes; 1 there is no answer, or it is no.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("question").multiple(false))]
#[command(group = clap::ArgGroup::new("asked").multiple(true).required(true)
    .args(["list_output", "list_ckpt", "need_flush", "latest", "location", "name", "json"]))]
pub(super) struct Options {
    #[command(flatten)]
    dir: place::Dir,
    /// Print the ids of output datasets, lowest first
    #[arg(short = 'o', long, group = "question")]
    list_output: bool,
    /// Print the ids of checkpoints, highest first
    #[arg(short = 'c', long, group = "question")]
    list_ckpt: bool,
    /// With a list: only ids below this one; 0 for no limit
    #[arg(short, long, value_name = "ID", default_value_t = 0)]
    before: u64,
    /// Tell by the exit status whether this dataset still must be flushed
    #[arg(
        short,
        long,
        value_name = "ID",
        alias = "needflush",
        group = "question"
    )]
    need_flush: Option<u64>,
    /// Print the highest id of a dataset
    #[arg(short, long, group = "question")]
    latest: bool,
    /// Print where this dataset is: SYNC_FLUSHING or FLUSHING while it is being copied, PFS if
    /// it is in the prefix directory, else CACHE
    #[arg(short = 'L', long, value_name = "ID", group = "question")]
    location: Option<u64>,
    /// Print the name of this dataset
    // The SCR developer guide uses `subdir`, since datasets once had a directory of their name.
    #[arg(
        short = 's',
        long,
        value_name = "ID",
        alias = "subdir",
        group = "question"
    )]
    name: Option<u64>,
    /// Print what is known of the datasets of the answer as JSON, for programs; without a question, of
    /// all datasets. Described in docs/formats/json.md
    #[arg(long)]
    json: bool,
    /// With --name: complete a dataset whose files other means have brought to the prefix directory.
    /// If all files of its rank2file are there, write its summary, and record that in the flush file.
    /// `scr index --add` then enters it in the index
    #[arg(short = 'S', long, requires = "name", conflicts_with_all = ["list_output", "list_ckpt",
        "need_flush", "latest", "location"])]
    summary: bool,
    /// With --name: resume a flush of this dataset that was killed, after all processes of its run have
    /// ended. Copies what is in the caches of this node and not yet in the prefix directory. When it was
    /// called on all nodes that have a part, the dataset is complete. Exit status 0 if it is, else 1
    #[arg(short, long, requires = "name", conflicts_with_all = ["list_output", "list_ckpt",
        "need_flush", "latest", "location"])]
    resume: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = self.dir.used()?;
        let path = prefix.file("flush.scr");
        // A missing file is an error, as in SCR v3.1.0: most likely it is the wrong directory.
        let files = place::files(&prefix);
        let record = match files.stat(&path)? {
            Some(_) => records::read_flush_file(&*files, &prefix)?,
            None => return Err(Failure::said(format!("there is no {}", path.display()))),
        };
        let entry = |id: Option<u64>| id.and_then(|id| record.datasets.get(&id));
        if let Some(id) = self.name.filter(|_| self.resume) {
            resume_here(&prefix, id, entry(self.name))?;
        }
        if let Some(id) = self.name.filter(|_| self.summary) {
            certify(&prefix, id, entry(self.name))?;
        }
        if self.json {
            return self.print_json(call, &prefix, &record);
        }
        if self.need_flush.is_some() {
            let needed = entry(self.need_flush).is_some_and(FlushEntry::needs_flush);
            return Ok(status(needed));
        }
        let answer = if self.list_output {
            self.list(&record, |entry| entry.output)
        } else if self.list_ckpt {
            let mut ids = self.list(&record, |entry| entry.ckpt);
            ids.reverse();
            ids
        } else if self.latest {
            let latest = record.datasets.keys().next_back();
            latest.map(u64::to_string).into_iter().collect()
        } else if self.location.is_some() {
            let place = entry(self.location).and_then(location);
            place.into_iter().map(str::to_string).collect()
        } else {
            let name = entry(self.name).and_then(FlushEntry::own_name);
            name.into_iter().map(escaped).collect()
        };
        if !answer.is_empty() {
            writeln!(call.out, "{}", answer.join(" "))?;
        }
        Ok(status(!answer.is_empty()))
    }
}

impl Options {
    /// Prints the datasets of the answer, newest first unless the question is for output.
    fn print_json(&self, call: &mut Invocation, prefix: &Prefix, record: &FlushFile) -> Outcome {
        let id = self.need_flush.or(self.location).or(self.name);
        let below = |id: u64| self.before == 0 || id < self.before;
        let wanted = |(known, entry): &(&u64, &FlushEntry)| match id {
            Some(id) => id == **known,
            None if self.list_output => entry.output && below(**known),
            None if self.list_ckpt => entry.ckpt && below(**known),
            None => true,
        };
        let found = record.datasets.iter().rev().filter(wanted);
        let found = found.take(if self.latest { 1 } else { usize::MAX });
        let mut found: Vec<(&u64, &FlushEntry)> = found.collect();
        if self.list_output {
            found.reverse();
        }
        let answer = found.first().is_some_and(|(_, first)| {
            let unknown = self.need_flush.is_some() && !first.needs_flush()
                || self.location.is_some() && location(first).is_none()
                || self.name.is_some() && first.own_name().is_none();
            !unknown
        });
        let list = object! {
            #[serde(flatten)]
            prefix: Bytes("prefix", Some(prefix.root().as_os_str().as_bytes())),
            datasets: found.into_iter().map(known).collect::<Vec<_>>(),
        };
        json::print(call, "flush-file", list)?;
        Ok(status(answer))
    }

    fn list(&self, record: &FlushFile, wanted: impl Fn(&FlushEntry) -> bool) -> Vec<String> {
        record
            .datasets
            .iter()
            .filter(|(id, entry)| wanted(entry) && (self.before == 0 || **id < self.before))
            .map(|(id, _)| id.to_string())
            .collect()
    }
}

fn known((id, entry): (&u64, &FlushEntry)) -> impl Serialize {
    let places = entry.locations.iter().map(Name::as_bytes);
    object! {
        id: *id,
        #[serde(flatten)]
        name: Bytes("name", entry.own_name().map(Name::as_bytes)),
        checkpoint: entry.ckpt,
        output: entry.output,
        location: location(entry),
        locations: places.map(json::text).collect::<Vec<_>>(),
        needs_flush: entry.needs_flush(),
    }
}

/// The most telling of the places of a dataset.
fn location(entry: &FlushEntry) -> Option<&'static str> {
    let places = [SYNC_FLUSHING, FLUSHING, PFS, CACHE];
    places.into_iter().find(|place| entry.is_at(place))
}

/// Resumes the flush of a dataset on this node.
///
/// # Errors
/// The dataset is not complete in the prefix directory, and why.
fn resume_here(prefix: &Prefix, id: u64, entry: Option<&FlushEntry>) -> Result<(), Failure> {
    let dataset = described(prefix, id, entry)?;
    if entry.is_some_and(|entry| !entry.needs_flush()) {
        return Ok(());
    }
    let here = caches::of_prefix(prefix.root())?;
    let files = &*here.files();
    refuse_beside_daemon(&here, dataset)?;
    let mut locks = Vec::new();
    for cache in &here.caches {
        let dir = cache.job();
        if files.stat(&dir)?.is_none() {
            continue;
        }
        // A run that is alive flushes by itself.
        match wait_for_lock(files, &dir, Instant::now() + PATIENCE)? {
            LockAttempt::Acquired(lock) => locks.push(lock),
            LockAttempt::Unsupported => {}
            LockAttempt::HeldByOther => {
                return Err(Failure::said(format!(
                    "{} is in use: a run of this job is alive on this node, and flushes by itself; wait \
                     for its end",
                    dir.display()
                )));
            }
        }
    }
    let (mut parts, mut problems) = (Vec::new(), Vec::new());
    for cache in &here.caches {
        for (layout, records) in find_records(files, cache, id, &mut problems)? {
            // If all nodes see a store, each node copies only its own part.
            let own =
                |map: &Filemap| layout.level().is_none() || map.node == here.node.as_str().into();
            let own = records.filemaps.into_iter().filter(own);
            parts.extend(own.map(|map| {
                let data = layout.data(id, map.rank);
                (map, data)
            }));
        }
    }
    let configured = Configured::of(&here.job.config);
    let target = FlushTarget {
        files,
        prefix,
        metadata: configured.metadata,
        checksums: Checksums::beside_a_run(configured.checksums),
        make_dirs: true,
    };
    let progress = Progress::new("copied");
    let sizes = parts
        .iter()
        .filter_map(|(map, _): &(Filemap, _)| map.files.size());
    sizes.for_each(|size| progress.expect(size));
    let after_piece = |bytes| {
        progress.moved(bytes);
        Ok(())
    };
    let mut copier = Copier::new(files, configured.buffer).watched(&after_piece);
    let time = || local_time(SystemTime::now());
    let resumed = resume(&target, &mut copier, dataset, parts, &time);
    drop(progress);
    let missing = resumed?.missing;
    match (&missing[..], problems.first()) {
        ([], _) => Ok(()),
        (missing, None) => Err(Failure::said(format!(
            "the files of {} are not in the prefix directory, nor in the caches of this node; repeat \
             this on the nodes that have them, or call `scr postrun`",
            ranks_in_words(missing)
        ))),
        (_, Some(problem)) => Err(Failure::said(problem.to_string())),
    }
}

/// Refuses a dataset that the transfer daemon of this node has to copy: both would record the same ranks.
fn refuse_beside_daemon(here: &caches::Here, dataset: &Dataset) -> Result<(), Failure> {
    let base = bases(&here.job, Which::Control)?.first().cloned();
    let job = Layout::new(
        &base.unwrap_or_default(),
        &here.job.user()?,
        &here.job.id()?,
    )
    .job();
    let files = &*here.files();
    if files.stat(&job)?.is_none() {
        return Ok(());
    }
    let file = Control::new(files, job).read()?.unwrap_or_default();
    let same = |part: &TransferPart| is_same(&part.dataset, dataset) && !part.is_done();
    if file.parts().any(|(_, part)| same(part)) {
        Err(Failure::said(format!(
            "the transfer daemon of this node has a part of dataset {} to copy; `scr transfer --finish` \
             copies it to its end, and `scr poststage` that of all nodes",
            dataset.id
        )))
    } else {
        Ok(())
    }
}

/// The description of a dataset in the flush file.
fn described<'a>(
    prefix: &Prefix,
    id: u64,
    entry: Option<&'a FlushEntry>,
) -> Result<&'a Dataset, Failure> {
    let dataset = entry.and_then(|entry| entry.dataset.as_ref());
    dataset.filter(|dataset| dataset.id == id).ok_or_else(|| {
        let path = prefix.file("flush.scr");
        Failure::said(format!("{} does not describe dataset {id}", path.display()))
    })
}

/// Records that the prefix directory has all of the dataset, if that is true.
fn certify(prefix: &Prefix, id: u64, entry: Option<&FlushEntry>) -> Result<(), Failure> {
    let dataset = described(prefix, id, entry)?;
    build::certify(&*place::files(prefix), prefix, dataset).map_err(|error| {
        Failure::said(format!(
            "no summary was written, since {error}; `scr postrun` saves the dataset from the caches"
        ))
    })
}
