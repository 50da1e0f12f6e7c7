//! Which mutants the compiler refuses.

use crate::Result;
use crate::choose::At;
use crate::write::Placed;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Checks the library in the tree, and says which mutants the errors are about.
pub fn refused(tree: &Path, placed: &[Placed]) -> Result<BTreeSet<At>> {
    let output = Command::new("cargo")
        .current_dir(tree)
        .args(["check", "--locked", "--quiet", "--message-format", "short"])
        .args(["--lib", "--no-default-features", "--features", "cli"])
        .output()
        .map_err(|error| format!("cargo check: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.contains(": error"))
        .collect();
    let mut refused = BTreeSet::new();
    for line in &errors {
        let mut words = line.splitn(4, ':');
        let (file, row, column) = (words.next(), words.next(), words.next());
        let place = row.and_then(|row| row.parse::<usize>().ok());
        let place = place.zip(column.and_then(|column| column.parse::<usize>().ok()));
        let found = placed
            .iter()
            .find(|placed| Some(placed.name.as_str()) == file);
        if let (Some(placed), Some((row, column))) = (found, place) {
            refused.extend(at(placed, row, column));
        }
    }
    if refused.is_empty() && !output.status.success() {
        Err(format!("the tree does not compile:\n{said}"))
    } else {
        Ok(refused)
    }
}

/// The mutants whose code is at this place; if it is in none, all of that line.
fn at(placed: &Placed, row: usize, column: usize) -> Vec<At> {
    let mut lines = placed.text.split_inclusive('\n');
    let begin: usize = lines.by_ref().take(row - 1).map(str::len).sum();
    let line = lines.next().unwrap_or_default();
    let bytes: usize = line.chars().take(column - 1).map(char::len_utf8).sum();
    let exact = placed
        .mutants
        .iter()
        .filter(|(_, span)| span.contains(&(begin + bytes)));
    let exact: Vec<At> = exact.map(|(at, _)| *at).collect();
    if !exact.is_empty() {
        return exact;
    }
    let end = begin + line.len();
    let near = placed
        .mutants
        .iter()
        .filter(|(_, span)| span.start < end && begin <= span.end);
    near.map(|(at, _)| *at).collect()
}
