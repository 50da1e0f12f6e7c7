//! `scr inspect --fields`: the list of the fields of a dataset.

use crate::call::{Failure, Invocation};
use crate::json::{self, Bytes, object};
use crate::terminal::Line;
use crate::{Outcome, dataset};
use clap::builder::styling::Style;
use scr_engine::format::Name;
use scr_engine::format::print::escaped;
use scr_engine::prefix::paths::Prefix;
use scr_engine::text::counted;
use scr_jobs::saved_fields::{FieldSummary, IndexSummary, Owner, SavedFields};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Prints the fields of the dataset `name`.
pub(crate) fn show(call: &mut Invocation, prefix: &Prefix, name: &Name, as_json: bool) -> Outcome {
    let files = &*crate::place::files(prefix);
    let dataset = dataset::find(files, prefix, name)?;
    let saved = SavedFields::open(files, prefix, &dataset)?;
    let fields = saved.list()?;
    let ranks = saved.ranks();
    if as_json {
        let document = object! {
            prefix: prefix.root().to_string_lossy().into_owned(),
            dataset: object! {
                id: dataset.id,
                #[serde(flatten)]
                name: Bytes("name", Some(dataset.name.as_bytes())),
                ranks: ranks,
                fields: fields.iter().map(field_json).collect::<Vec<_>>(),
            },
        };
        json::print(call, "inspect", document)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        call.out,
        "Dataset {} (`{}'): {} of {}",
        dataset.id,
        escaped(&dataset.name),
        counted(fields.len(), "field"),
        counted(ranks, "rank")
    )?;
    table(call, &fields)
}

fn table(call: &mut Invocation, fields: &[FieldSummary]) -> Result<ExitCode, Failure> {
    let by_index = fields.iter().any(|field| field.index.is_some());
    let rows = fields.iter().map(|field| row(field, by_index));
    let rows: Vec<Vec<String>> = rows.collect();
    let mut headings = vec!["TYPE", "SHAPE", "WHOSE", "RANKS", "BYTES", "NAME"];
    if by_index {
        headings.insert(3, "INDEX");
    }
    let lines = Line::columns(&headings, &["RANKS", "BYTES"], &rows, |_| Style::new());
    call.show(&lines)?;
    Ok(ExitCode::SUCCESS)
}

fn row(field: &FieldSummary, by_index: bool) -> Vec<String> {
    let numbers = field.array.shape();
    let shape = match (field.same_extents, &numbers[..]) {
        (false, _) => "differs".to_string(),
        (true, []) => "-".to_string(),
        (true, numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            numbers.join("x")
        }
    };
    let mut row = vec![
        kind(field).unwrap_or_else(|| "-".to_string()),
        shape,
        whose(field).to_string(),
        field.ranks.to_string(),
        field.bytes.to_string(),
        field.name.clone(),
    ];
    if by_index {
        row.insert(3, index(field.index.as_ref()));
    }
    row
}

/// The name of the list by which the elements of a field go; of a list, the indices of the whole.
fn index(index: Option<&IndexSummary>) -> String {
    match index {
        None => "-".to_string(),
        Some(IndexSummary {
            list: Some(list), ..
        }) => list.clone(),
        Some(IndexSummary { whole: 0, .. }) => "none".to_string(),
        Some(IndexSummary {
            first,
            whole,
            shared,
            ..
        }) => {
            let last = first.saturating_add_unsigned(whole - 1);
            let shared = if *shared { ", shared" } else { "" };
            format!("{first} to {last}{shared}")
        }
    }
}

/// The type of the elements; `None` for a bag, whose fields have types.
fn kind(field: &FieldSummary) -> Option<String> {
    (!field.is_bag).then(|| field.array.kind.to_string())
}

/// The owner of the values, in a word.
fn whose(field: &FieldSummary) -> &'static str {
    match (field.is_count, field.owner) {
        (true, _) => "count",
        _ if field.is_bag => "bag",
        (false, Owner::EachRank) => "own",
        (false, Owner::Whole) => "part",
        (false, Owner::All) => "same",
        (false, Owner::Index) => "index",
    }
}

fn field_json(field: &FieldSummary) -> impl Serialize {
    object! {
        name: &field.name,
        #[serde(rename = "type")]
        kind: kind(field),
        shape: field.same_extents.then(|| field.array.shape()),
        order: match field.array.order {
            scr_engine::fields::Order::Row => "row",
            scr_engine::fields::Order::Column => "column",
        },
        whose: whose(field),
        ranks: field.ranks,
        bytes: field.bytes,
        index: field.index.as_ref().map(|index| object! {
            list: &index.list,
            first: index.first,
            whole: index.whole,
            shared: index.shared,
        }),
    }
}
