//! Node tests: which nodes must not be used, and why.
//!
//! The tests run in this order until one excludes the node: known to be down, excluded by the user, down according to
//! the resource manager, then the tests of SCR_NODE_TESTS: `ping`, `echo` (a command runs there), `dir_capacity` (`scr
//! check-node` accepts its directories), and commands of the site. A test that cannot run on any node excludes no node
//! and gives a note, and so does a command of the site that fails on all of them. A missing ping gives no note, because
//! many machines lack it.

use crate::hostlist;
use crate::manager::{Manager, list};
use crate::remote::{NodeResult, Remote, RemoteCommand};
use scr_engine::job::identity::parameter;
use scr_engine::job::program::{find, run};
use scr_engine::job::{Environment, Lookup};
use scr_engine::system::thread;
use scr_engine::text::excerpt;
use scr_engine::{Error, Result};
use serde::Serialize;
use std::ffi::OsString;
use std::time::Duration;

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most pings at a time.
const AT_A_TIME: usize = 64;

/// A test of SCR_NODE_TESTS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// The node answers on the network.
    Ping,
    /// A command runs on the node.
    Echo,
    /// The directories of the node can be used.
    DirCapacity,
    /// A command of the site, by its path, ends with exit code 0.
    Site(String),
}

/// The tests in SCR_NODE_TESTS, or `default` if it is not set. NONE means no tests. A word with a slash is a command.
///
/// # Errors
/// A word in the text is not a test.
pub fn tests(environment: &Environment, lookup: Lookup, default: &str) -> Result<Vec<Test>> {
    const NAME: &str = "SCR_NODE_TESTS";
    let text = parameter(NAME, environment, lookup);
    let words = text.as_deref().unwrap_or(default).split([',', ' ', '\t']);
    let words = words.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("none"));
    let test = |word: &str| match word.to_ascii_lowercase().as_str() {
        _ if word.starts_with('/') => Ok(Test::Site(word.to_string())),
        "ping" => Ok(Test::Ping),
        // The second name is the one of earlier releases.
        "echo" | "pdsh_echo" => Ok(Test::Echo),
        "dir_capacity" => Ok(Test::DirCapacity),
        _ => Err(Error::config(
            NAME,
            format!(
                "'{}' is no node test; use ping, echo, dir_capacity, none, or the whole path of a command",
                excerpt(word, 80)
            ),
        )),
    };
    words.map(test).collect()
}

/// The reason of a node that the caller knows to be down.
pub const GIVEN: &str = "Specified as down";

/// The reason of a node that the user leaves out.
pub const EXCLUDED: &str = "User excluded via SCR_EXCLUDE_NODES";

/// A node that must not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Down {
    /// The name of the node.
    pub node: String,
    /// The reason why the node must not be used, for people to read.
    pub reason: String,
}

/// The results of the tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// Nodes that must not be used, in the order of the tests.
    pub down: Vec<Down>,
    /// Tests that could not be made, one line each.
    pub notes: Vec<String>,
}

impl HealthReport {
    /// Names of the nodes that must not be used.
    pub fn nodes(&self) -> Vec<String> {
        self.down.iter().map(|down| down.node.clone()).collect()
    }
}

/// The settings and tools of the node tests.
pub struct NodeTests<'a> {
    /// Tells which nodes are down.
    pub manager: &'a dyn Manager,
    /// Runs commands on nodes.
    pub remote: &'a Remote,
    /// The source of SCR_EXCLUDE_NODES, and of the path on which `ping` is found.
    pub environment: &'a Environment,
    /// The configuration.
    pub lookup: Lookup<'a>,
    /// The tests to make, in this order.
    pub tests: &'a [Test],
    /// The command that tests directories, in the form in which each node runs it: it prints
    /// `scr_check_node: FAIL: REASON` if they are not in order.
    pub check_node: &'a [OsString],
    /// Time that a command of the site may take.
    pub site_patience: Duration,
}

impl NodeTests<'_> {
    /// Tests `nodes`. Nodes in `known` count as down without a test. Local; takes as long as the
    /// slowest node, at most some minutes.
    ///
    /// # Errors
    /// SCR_EXCLUDE_NODES is not a host list.
    pub fn report(&self, nodes: &[String], known: &[String]) -> Result<HealthReport> {
        let mut report = HealthReport::default();
        let mut up = nodes.to_vec();
        rule_out(&mut up, &mut report, known, GIVEN);
        let excluded = list("SCR_EXCLUDE_NODES", self.environment, self.lookup)?;
        let reason = EXCLUDED;
        rule_out(&mut up, &mut report, &excluded, reason);
        if !up.is_empty() {
            let reason = "Reported down by resource manager";
            match self.manager.down(&up) {
                Ok(down) => rule_out(&mut up, &mut report, &down, reason),
                Err(error) => report.notes.push(format!(
                    "the resource manager was not asked for nodes that are down: {error}"
                )),
            }
        }
        for test in self.tests {
            if up.is_empty() {
                break;
            }
            let found = match test {
                Test::Ping => self.ping(&up, &mut report.notes),
                Test::Echo => self.echo(&up),
                Test::DirCapacity => self.dir_capacity(&up, &mut report.notes),
                Test::Site(command) => self.site(command, &up, &mut report.notes),
            };
            up.retain(|node| !found.iter().any(|down| down.node == *node));
            report.down.extend(found);
        }
        Ok(report)
    }

    fn ping(&self, nodes: &[String], notes: &mut Vec<String>) -> Vec<Down> {
        let Some(program) = find(self.environment, "ping") else {
            return Vec::new();
        };
        let one = |node: &String| {
            let answers = || {
                let arguments = ["-c", "1", "-w", "2", node].map(OsString::from);
                run(&program, &arguments, &[], PATIENCE).is_ok_and(|said| said.good())
            };
            // Two tries.
            answers() || answers()
        };
        let mut silent = Vec::new();
        for some in nodes.chunks(AT_A_TIME) {
            let answers: Vec<bool> = thread::scope(|scope| {
                let asked: Vec<_> = some.iter().map(|node| scope.spawn(|| one(node))).collect();
                let joined = asked.into_iter().map(|thread| thread.join());
                joined.map(|answer| answer.unwrap_or(false)).collect()
            });
            let quiet = some.iter().zip(answers).filter(|(_, answers)| !answers);
            silent.extend(quiet.map(|(node, _)| node.clone()));
        }
        if silent.len() == nodes.len() {
            let what = "no node answers, so it may be forbidden here";
            notes.push(format!("test ping is left out: {what}"));
            return Vec::new();
        }
        let down = |node| Down {
            node,
            reason: "Failed to ping".to_string(),
        };
        silent.into_iter().map(down).collect()
    }

    fn echo(&self, nodes: &[String]) -> Vec<Down> {
        let task = RemoteCommand {
            command: ["echo", "UP"].map(OsString::from).to_vec(),
            ..RemoteCommand::default()
        };
        let answers = self.remote.run(nodes, &task, PATIENCE);
        let bad = answers
            .into_iter()
            .filter(|answer| !(answer.good() && answer.out.lines().any(|line| line == "UP")));
        bad.map(|answer| Down {
            reason: format!("Failed to echo UP: {}", answer.why()),
            node: answer.node,
        })
        .collect()
    }

    fn dir_capacity(&self, nodes: &[String], notes: &mut Vec<String>) -> Vec<Down> {
        let task = RemoteCommand {
            command: self.check_node.to_vec(),
            ..RemoteCommand::default()
        };
        let answers = self.remote.run(nodes, &task, PATIENCE);
        let verdicts: Vec<(NodeResult, Option<String>)> = answers
            .into_iter()
            .map(|answer| {
                let reason = verdict(&answer);
                (answer, reason)
            })
            .collect();
        // The command is the same for all nodes, so if no node has it, no node is faulty.
        if verdicts.iter().all(|(answer, _)| is_missing(answer)) {
            let program = self.check_node.first().map(|word| word.to_string_lossy());
            notes.push(format!(
                "test dir_capacity is left out: no node can run {}",
                program.unwrap_or_default()
            ));
            return Vec::new();
        }
        let down = verdicts.into_iter().filter_map(|(answer, reason)| {
            let (node, reason) = (answer.node, reason?);
            Some(Down { node, reason })
        });
        down.collect()
    }

    fn site(&self, command: &str, nodes: &[String], notes: &mut Vec<String>) -> Vec<Down> {
        let task = RemoteCommand {
            command: vec![OsString::from(command)],
            ..RemoteCommand::default()
        };
        let answers = self.remote.run(nodes, &task, self.site_patience);
        let failed: Vec<NodeResult> = answers.into_iter().filter(|one| !one.good()).collect();
        let reason = |answer: &NodeResult| {
            let mut lines = answer.out.lines().rev().map(str::trim);
            let last = lines.find(|line| !line.is_empty());
            last.map_or_else(|| answer.why(), |line| excerpt(line, 300))
        };
        if failed.len() == nodes.len() && (nodes.len() > 1 || is_missing(&failed[0])) {
            notes.push(format!(
                "test {command} is left out: it fails on all nodes: {}",
                reason(&failed[0])
            ));
            return Vec::new();
        }
        let down = failed.into_iter().map(|answer| Down {
            reason: format!("Failed {command}: {}", reason(&answer)),
            node: answer.node,
        });
        down.collect()
    }
}

/// True if the node could not run the command.
fn is_missing(answer: &NodeResult) -> bool {
    matches!(answer.code, Some(126 | 127))
}

/// The reason why a node's directories cannot be used, if they cannot.
fn verdict(answer: &NodeResult) -> Option<String> {
    if answer.good() {
        return None;
    }
    let fail = answer
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("scr_check_node: FAIL: "));
    Some(match fail {
        Some(words) => excerpt(words, 300),
        None => format!("Failed to check its directories: {}", answer.why()),
    })
}

/// Moves those nodes of `up` that are in `hosts` to the report.
fn rule_out(up: &mut Vec<String>, report: &mut HealthReport, hosts: &[String], reason: &str) {
    let down = hostlist::intersect(up, hosts);
    *up = hostlist::minus(up, &down);
    let down = down.into_iter().map(|node| Down {
        node,
        reason: reason.to_string(),
    });
    report.down.extend(down);
}

#[cfg(test)]
mod tests;
