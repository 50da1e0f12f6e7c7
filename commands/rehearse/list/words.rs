//! The variables as a table for people.

use super::super::explain::stops::not_looked_at;
use super::looks::Found;
use super::table::{State, Variable};
use crate::terminal::Line;
use clap::builder::styling::Style;
use scr_engine::text::{bytes, counted, escaped, excerpt};
use scr_jobs::variables::Told;
use std::collections::BTreeSet;

/// A table has so many rows.
const MOST: usize = 100;
/// So many letters of a name are shown.
const LONGEST: usize = 60;

pub(super) fn lines(found: &Found) -> Vec<Line> {
    let mut text = vec![looked_at(found)];
    if let Some(elsewhere) = &found.elsewhere {
        text.push(format!("  {elsewhere}, where no memory can be looked at"));
    }
    text.extend(not_looked_at(&found.remote));
    if found.told == Told::Symbols {
        text.push("  it has no debug information, so types are not known, and of pointers only what is of malloc: compile it with -g".into());
    }
    if found.cut {
        text.push("  it has more variables than can be looked at: the first ones were".into());
    }
    if found.cut_files {
        text.push("  its files are larger than what is searched: the first ones were".into());
    }
    let mut lines: Vec<Line> = text.into_iter().map(Line::new).collect();
    let all = found.table.sorted(found.lists);
    let is_shown = |one: &&&Variable| !one.single || one.is_suspicious(found.lists);
    let shown: Vec<&&Variable> = all.iter().filter(is_shown).take(MOST).collect();
    let rows: Vec<Vec<String>> = shown.iter().map(|one| row(one, found)).collect();
    let headings = [
        "VARIABLE",
        "DECLARED",
        "TYPE",
        "SHAPE",
        "BYTES",
        "IN THE CHECKPOINT",
    ];
    if !rows.is_empty() {
        lines.extend(Line::columns(&headings, &["BYTES"], &rows, |_| {
            Style::new()
        }));
    }
    let more = all.iter().filter(|one| !is_shown(one));
    let left = all.iter().filter(is_shown).skip(MOST);
    let (more, left): (Vec<_>, Vec<_>) = (more.collect(), left.collect());
    lines.extend(rest("variable with fewer bytes", &left, found).map(Line::new));
    lines.extend(rest("variable of one element", &more, found).map(Line::new));
    lines.push(Line::new(sum(&all, found)));
    lines
}

/// `variables on 2 ranks after ck.4, and what changes until ck.8`
fn looked_at(found: &Found) -> String {
    let ranks = counted(found.ranks, "rank");
    let changes = match &found.second {
        Some(second) => format!("and what changes until {}", escaped(second)),
        None => "and there was no second checkpoint to see what changes".into(),
    };
    format!(
        "variables on {ranks} after {}, {changes}",
        escaped(&found.first)
    )
}

fn row(one: &Variable, found: &Found) -> Vec<String> {
    let dash = |text: &str| match text {
        "" => "-".to_string(),
        text => excerpt(text, LONGEST),
    };
    let counts: Vec<String> = one.shape.iter().map(u64::to_string).collect();
    let shape = match one.parts {
        0 | 1 => counts.join("x"),
        parts => format!("{} ({parts} parts)", counts.join("x")),
    };
    vec![
        excerpt(&one.name, LONGEST),
        dash(&one.declared),
        dash(&one.type_name),
        dash(shape.trim()),
        bytes(one.bytes),
        state(one, found),
    ]
}

/// `not in the list, changes, on 1 rank`
fn state(one: &Variable, found: &Found) -> String {
    let of = |part: u64| format!("{} of {}", bytes(part), bytes(one.bytes));
    let mut words = vec![match one.state(found.lists) {
        State::Listed => format!("in {}", fields(&one.fields)),
        State::PartlyListed => format!("{} in {}", of(one.listed), fields(&one.fields)),
        State::InFile => format!("in file {}", first_of(&one.files)),
        State::PartlyInFile if one.in_files > 0 => {
            format!("{} in file {}", of(one.in_files), first_of(&one.files))
        }
        State::PartlyInFile => format!("in part in file {}", first_of(&one.files)),
        State::Missing => "not in the list".into(),
        State::Unknown => "not known".into(),
    }];
    if one.changes == Some(true) {
        words.push(match one.state(found.lists) {
            State::PartlyListed => "the rest changes".into(),
            _ => "changes".into(),
        });
    }
    if one.ranks.len() < found.ranks {
        words.push(format!("on {}", counted(one.ranks.len(), "rank")));
    }
    words.join(", ")
}

fn fields(names: &BTreeSet<String>) -> String {
    match names.len() {
        0 | 1 => format!("field \"{}\"", first_of(names)),
        2 => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("fields {}", excerpt(&names.join(" and "), LONGEST))
        }
        number => format!("{number} fields, such as \"{}\"", first(names)),
    }
}

fn first(names: &BTreeSet<String>) -> String {
    names
        .first()
        .map_or(String::new(), |name| excerpt(name, LONGEST))
}

/// The first name, and how many there are beside it.
fn first_of(names: &BTreeSet<String>) -> String {
    match names.len() {
        0 | 1 => first(names),
        number => format!("{} and {} more", first(names), number - 1),
    }
}

/// Variables that have no row.
fn rest(noun: &str, all: &[&&Variable], found: &Found) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let size = all.iter().map(|one| one.bytes).sum();
    let (saved, others): (Vec<&Variable>, Vec<_>) = all
        .iter()
        .copied()
        .copied()
        .partition(|one| matches!(one.state(found.lists), State::Listed | State::InFile));
    let what = if found.lists {
        "in the list"
    } else {
        "found in files"
    };
    let same = if !others.is_empty() && others.iter().all(|one| one.changes == Some(false)) {
        ", without a change"
    } else {
        ""
    };
    Some(format!(
        "and {}, {}: {} {what}, {} not{same}",
        counted(all.len(), noun),
        bytes(size),
        saved.len(),
        others.len()
    ))
}

/// All bytes, and those that no checkpoint has.
fn sum(all: &[&Variable], found: &Found) -> String {
    let size: u64 = all.iter().map(|one| one.bytes).sum();
    let listed: u64 = all.iter().map(|one| one.listed).sum();
    let in_files: u64 = all.iter().map(|one| one.in_files).sum();
    let suspicious = all.iter().filter(|one| one.is_suspicious(found.lists));
    let suspicious: Vec<_> = suspicious.collect();
    let mut words = vec![format!("{} in all", bytes(size))];
    if found.lists {
        words.push(format!("{} in the list", bytes(listed)));
    }
    if found.writes_files {
        words.push(format!("{} found in files", bytes(in_files)));
    }
    if !found.lists && !found.writes_files {
        words.push("the program writes nothing through SCR".into());
    }
    if found.second.is_some() {
        let what = if found.lists {
            "not in the list"
        } else {
            "not known to be in a checkpoint"
        };
        words.push(match suspicious.len() {
            0 => format!("nothing that changes is {what}"),
            1 => format!("1 variable changes and is {what}"),
            number => format!("{number} variables change and are {what}"),
        });
    }
    words.join(", ")
}
