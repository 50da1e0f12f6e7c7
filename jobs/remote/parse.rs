//! The results of nodes, from the output of a remote shell.

use super::{Finished, NodeResult, lost};
use crate::manager::same_host;
use scr_engine::text::excerpt;
use std::collections::BTreeMap;

const NODE: &str = "scr-node ";
const EXIT: &str = "scr-exit ";

/// The first line of a text that is not empty, shortened.
pub(super) fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(excerpt(line, 200))
}

/// The result of a single node.
pub(super) fn single(node: &str, finished: &Finished) -> NodeResult {
    let said = Said::from(finished.out.lines());
    let mut answer = said.answer(node, finished.err.clone());
    explain(&mut answer, finished);
    answer
}

/// The answers of several nodes. Each line begins with the label of its node. The label may be the
/// index of the node in `names`. It may be any other text if the node itself tells its name.
/// Otherwise the label is the name of the node.
pub(super) fn labelled(nodes: &[String], names: &[String], finished: &Finished) -> Vec<NodeResult> {
    let (out, err) = (by_label(&finished.out), by_label(&finished.err));
    let mut found: BTreeMap<&String, NodeResult> = BTreeMap::new();
    for (label, lines) in &out {
        let said = Said::from(lines.iter().copied());
        let rank = label.parse().ok().and_then(|rank: usize| names.get(rank));
        let name = rank.map(String::as_str).or(said.node).unwrap_or(label);
        let node = nodes.iter().find(|node| *node == name);
        let Some(node) = node.or_else(|| nodes.iter().find(|node| same_host(node, name))) else {
            continue;
        };
        let lines = err
            .get(label)
            .map(|lines| lines.join("\n"))
            .unwrap_or_default();
        found.insert(node, said.answer(node, lines));
    }
    let answers = nodes.iter().map(|node| {
        let mut answer = found.remove(node).unwrap_or_else(|| {
            // A message about a node that cannot be reached begins with the node's name.
            let of_node = err.iter().filter(|(label, _)| same_host(label, node));
            let lines: Vec<&str> = of_node.flat_map(|(_, lines)| lines.clone()).collect();
            let mut answer = lost(node);
            answer.err = if lines.is_empty() {
                finished.err.clone()
            } else {
                lines.join("\n")
            };
            answer
        });
        explain(&mut answer, finished);
        answer
    });
    answers.collect()
}

/// Adds the reason why an answer is missing, if the node printed no error.
fn explain(answer: &mut NodeResult, finished: &Finished) {
    if answer.code.is_none() && first_line(&answer.err).is_none() {
        answer.err = finished.why();
    }
}

/// The lines of a text, by their labels.
fn by_label(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut found = BTreeMap::<&str, Vec<&str>>::new();
    for (label, said) in text.lines().filter_map(|line| line.split_once(':')) {
        let said = said.strip_prefix(' ').unwrap_or(said);
        found.entry(label.trim()).or_default().push(said);
    }
    found
}

/// The standard output of one node.
struct Said<'a> {
    node: Option<&'a str>,
    code: Option<i32>,
    out: String,
}

impl<'a> Said<'a> {
    fn from(lines: impl Iterator<Item = &'a str>) -> Self {
        let (mut node, mut code, mut kept) = (None, None, Vec::new());
        for line in lines {
            if let (None, [], Some(name)) = (node, kept.as_slice(), line.strip_prefix(NODE)) {
                node = Some(name);
            } else if let Some(number) = line.strip_prefix(EXIT) {
                code = number.trim().parse().ok();
            } else {
                kept.push(line);
            }
        }
        // The script began a new line, whether or not the command had ended its last line.
        if kept.last() == Some(&"") && code.is_some() {
            kept.pop();
        }
        let mut out = kept.join("\n");
        if !out.is_empty() {
            out.push('\n');
        }
        Said {
            node: node.filter(|name| !name.is_empty()),
            code,
            out,
        }
    }

    fn answer(self, node: &str, err: String) -> NodeResult {
        NodeResult {
            node: node.to_string(),
            code: self.code,
            out: self.out,
            err,
        }
    }
}
