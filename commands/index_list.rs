//! The lists of `scr index`: for people, and as JSON.

use super::call::{Failure, Invocation};
use super::details::{Details, Times, is_saved, kind};
use super::json::{self, Bytes, object};
use super::place;
use super::terminal::{HEADING, Line, WRONG};
use clap::builder::styling::Style;
use scr_engine::format::Name;
use scr_engine::format::flush_file::{CACHE, FlushEntry};
use scr_engine::format::index::{Index, IndexEntry};
use scr_engine::format::print::escaped;
use scr_engine::prefix::{paths::Prefix, records};
use scr_jobs::datasets::listing::{rows, table};
use std::os::unix::ffi::OsStrExt;

/// Column of the names in the table.
const NAMES: usize = 35;

/// Prints the checkpoints, newest first.
pub(super) fn list(call: &mut Invocation, prefix: &Prefix) -> std::result::Result<(), Failure> {
    let listed = rows(&existing(prefix)?);
    let style = |row: usize| match listed.get(row) {
        Some(row) if row.current => HEADING,
        Some(row) if !row.valid => WRONG,
        _ => Style::new(),
    };
    Ok(call.show(&Line::table(&table(&listed), NAMES, style))?)
}

/// Prints all datasets, newest first, with all known facts.
pub(super) fn list_long(
    call: &mut Invocation,
    prefix: &Prefix,
) -> std::result::Result<(), Failure> {
    let index = existing(prefix)?;
    let current = index.current_id();
    let known = details(call, prefix, &index);
    let entries = || index.datasets().iter().rev();
    let row = |((&id, entry), details): ((&u64, &IndexEntry), &Details)| {
        let flag = |flag: bool, word: &str| if flag { word } else { "" }.to_string();
        let output = entry.dataset.as_ref().is_some_and(|d| d.flag_output);
        let valid = if entry.is_good() { "YES" } else { "NO" };
        let mut cells = vec![
            id.to_string(),
            valid.to_string(),
            entry.flushed.as_ref().map(escaped).unwrap_or_default(),
            flag(current == Some(id), "*"),
            kind(entry.is_checkpoint(), output).to_string(),
        ];
        cells.extend(details.cells());
        cells.push(index.name(id).map(escaped).unwrap_or_default());
        cells
    };
    let rows: Vec<Vec<String>> = entries().zip(&known).map(row).collect();
    let mut headings = vec!["DSET", "VALID", "FLUSHED", "CUR", "TYPE"];
    headings.extend(Details::HEADINGS);
    headings.push("NAME");
    let right = ["DSET", "CUR", "RANKS", "FILES", "SIZE", "SECONDS", "RATE"];
    let styles: Vec<Style> = entries()
        .map(|(id, entry)| match entry.is_good() {
            _ if current == Some(*id) => HEADING,
            false => WRONG,
            true => Style::new(),
        })
        .collect();
    let style = |row: usize| styles.get(row).copied().unwrap_or_default();
    Ok(call.show(&Line::columns(&headings, &right, &rows, style))?)
}

/// The details of all datasets, newest first.
fn details(call: &mut Invocation, prefix: &Prefix, index: &Index) -> Vec<Details> {
    let files = &*place::files(prefix);
    let times = Times::read(call, files, prefix, is_saved);
    let mut all = Vec::new();
    for (id, entry) in index.datasets().iter().rev() {
        let details = match &entry.dataset {
            Some(dataset) => Details::of(dataset, times.of(dataset)),
            None => Details::default(),
        };
        all.push(details.with_rank2file(call, files, prefix, *id));
    }
    all
}

/// Reads the index. A missing one is an error, as in SCR v3.1.0: most likely it is the wrong directory,
/// or a run was killed early.
fn existing(prefix: &Prefix) -> std::result::Result<Index, Failure> {
    match Index::read(&*place::files(prefix), &prefix.file("index.scr")) {
        Err(error) if error.is_not_found() => Err(nothing_flushed(prefix)),
        other => Ok(other?),
    }
}

/// Prints all datasets as JSON, newest first; with `long`, also the facts that take longer to find
/// out.
pub(super) fn list_json(
    call: &mut Invocation,
    prefix: &Prefix,
    long: bool,
) -> std::result::Result<(), Failure> {
    let index = existing(prefix)?;
    let current = index.current_id();
    let known = if long {
        details(call, prefix, &index)
    } else {
        Vec::new()
    };
    let one = |(at, (&id, entry)): (usize, (&u64, &IndexEntry))| {
        let details = known.get(at);
        let dataset = entry.dataset.as_ref();
        let words = |name: &Name| json::text(name.as_bytes());
        let given = |name: &&Name| !name.is_empty();
        object! {
            id: id,
            #[serde(flatten)]
            name: Bytes("name", index.name(id).map(Name::as_bytes)),
            checkpoint: entry.is_checkpoint(),
            output: dataset.is_some_and(|d| d.flag_output),
            valid: entry.is_good(),
            complete: entry.complete,
            current: current == Some(id),
            flushed: entry.flushed.as_ref().map(words),
            fetched: entry.fetched.iter().map(words).collect::<Vec<_>>(),
            failed: entry.failed.as_ref().map(words),
            created: dataset.map(|d| d.created).filter(|time| *time > 0),
            files: dataset.and_then(|d| d.files),
            bytes: dataset.and_then(|d| d.size),
            user: dataset.map(|d| &d.user).filter(given).map(words),
            job: dataset.map(|d| &d.jobid).filter(given).map(words),
            ranks: details.and_then(|d| d.ranks),
            seconds: details.and_then(|d| d.seconds),
            bytes_per_second: details.and_then(|d| d.rate),
            checksums: details.and_then(|d| d.checksums),
        }
    };
    let root = prefix.root().as_os_str().as_bytes();
    let datasets = index.datasets().iter().rev().enumerate().map(one);
    let list = object! {
        #[serde(flatten)]
        prefix: Bytes("prefix", Some(root)),
        current: current,
        datasets: datasets.collect::<Vec<_>>(),
    };
    json::print(call, "index", list)
}

/// The message without an index, with the datasets in the caches of the last run.
fn nothing_flushed(prefix: &Prefix) -> Failure {
    /// Number of datasets that are named, at most.
    const MANY: usize = 10;
    let held = match records::read_flush_file(&*place::files(prefix), prefix) {
        Err(error) => format!("what the caches hold is not known: {error}"),
        Ok(record) => {
            let held = record.datasets.iter().rev();
            let held: Vec<_> = held.filter(|(_, entry)| entry.is_at(CACHE)).collect();
            let mut words: Vec<String> = held.iter().take(MANY).map(cached).collect();
            if held.len() > MANY {
                words.push(format!("{} older ones", held.len() - MANY));
            }
            if words.is_empty() {
                "no run has recorded a dataset in a cache".to_string()
            } else {
                format!(
                    "the last run left in the caches of its nodes: {}; the next run of the job \
                     finds them there, and `scr postrun` saves the newest",
                    words.join(", ")
                )
            }
        }
    };
    let index = prefix.file("index.scr");
    Failure::said(format!(
        "nothing was flushed to this prefix directory yet: there is no {}; {held}",
        index.display()
    ))
}

fn cached((id, entry): &(&u64, &FlushEntry)) -> String {
    let name = entry
        .own_name()
        .map_or(String::new(), |name| format!(" (`{}')", escaped(name)));
    let kind = if entry.ckpt { "" } else { ", output" };
    format!("dataset {id}{name}{kind}")
}
