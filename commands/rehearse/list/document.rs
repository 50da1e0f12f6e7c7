//! The variables as JSON.

use super::looks::Found;
use super::table::{State, Variable};
use crate::json::object;
use scr_jobs::variables::Told;
use serde::Serialize;

/// `scr rehearse --list --json`
pub(super) fn document(found: &Found) -> impl Serialize {
    let all = found.table.sorted(found.lists).into_iter();
    object! {
        ranks: found.ranks,
        elsewhere: found.elsewhere.clone(),
        first: found.first.clone(),
        second: found.second.clone(),
        debug_information: found.told == Told::Debug,
        lists: found.lists,
        on_devices: found.remote.clone(),
        writes_files: found.writes_files,
        cut: found.cut || found.cut_files,
        variables: all.map(|one| variable(one, found)).collect::<Vec<_>>(),
    }
}

fn variable(one: &Variable, found: &Found) -> impl Serialize {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_string());
    object! {
        name: one.name.clone(),
        declared: known(&one.declared),
        #[serde(rename = "type")]
        kind: known(&one.type_name),
        shape: one.shape.clone(),
        parts: one.parts,
        ranks: one.ranks.len(),
        bytes: one.bytes,
        state: match one.state(found.lists) {
            State::Listed => "listed",
            State::PartlyListed => "listed in part",
            State::InFile => "in a file",
            State::PartlyInFile => "in a file in part",
            State::Missing => "not listed",
            State::Unknown => "not known",
        },
        listed_bytes: one.listed,
        fields: one.fields.clone(),
        file_bytes: one.in_files,
        files: one.files.clone(),
        changes: one.changes,
    }
}
