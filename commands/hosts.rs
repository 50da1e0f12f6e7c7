//! `scr glob-hosts`, `scr hostlist`: lists of hosts.

use super::call::{Failure, Invocation};
use super::{Outcome, RunCommand};
use scr_jobs::hostlist::{compress, expand, intersect, minus, nth, segment};
use std::io::Write;
use std::process::ExitCode;

/// Count, pick, subtract and intersect hosts of a list
///
/// A list is written like "atlas[3,5-7,9-11]" or with commas. Without --count and --nth prints the
/// hosts in this form.
///
/// Exit status: 0 printed, 1 a list is malformed or has no such host.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").multiple(false))]
#[command(group = clap::ArgGroup::new("source").multiple(false).required(true))]
pub(super) struct GlobHosts {
    /// Print the number of hosts
    #[arg(short, long, group = "what")]
    count: bool,
    /// Print the N-th host; -1 is the last
    #[arg(
        short,
        long,
        value_name = "N",
        group = "what",
        allow_negative_numbers = true
    )]
    nth: Option<i64>,
    /// Take the hosts of the first list that are not in the second
    #[arg(short, long, value_name = "LIST:LIST", group = "source")]
    minus: Option<String>,
    /// Take the hosts that are in both lists
    #[arg(short, long, value_name = "LIST:LIST", group = "source")]
    intersection: Option<String>,
    /// Another name of LIST
    #[arg(long, value_name = "LIST", group = "source")]
    hosts: Option<String>,
    /// Another name of LIST
    #[arg(short = 'C', long, value_name = "LIST", group = "source")]
    compress: Option<String>,
    /// Hosts
    #[arg(group = "source")]
    list: Option<String>,
}

impl RunCommand for GlobHosts {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let hosts = match (&self.minus, &self.intersection) {
            (Some(lists), _) => two(lists).map(|(one, other)| minus(&one, &other))?,
            (_, Some(lists)) => two(lists).map(|(one, other)| intersect(&one, &other))?,
            _ => {
                let given = [&self.list, &self.hosts, &self.compress];
                let text = given.into_iter().flatten().next();
                expand(text.map_or("", String::as_str))?
            }
        };
        match self.nth {
            Some(n) => writeln!(call.out, "{}", found(&hosts, n)?)?,
            None if self.count => writeln!(call.out, "{}", hosts.len())?,
            None => writeln!(call.out, "{}", compress(&hosts))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The N-th host.
pub(super) fn found(hosts: &[String], n: i64) -> Result<&String, Failure> {
    nth(hosts, n).ok_or_else(|| {
        let count = hosts.len();
        Failure::said(format!("there is no host {n} in a list of {count}"))
    })
}

fn two(lists: &str) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (one, other) = lists
        .split_once(':')
        .ok_or_else(|| Failure::said("two lists are needed, as in \"n[1-4]:n[2,3]\""))?;
    Ok((expand(one)?, expand(other)?))
}

/// Expand, shorten and combine host lists
///
/// Prints the hosts of all lists in the short form, "node[1-3,5]", unless an option says
/// otherwise.
///
/// Exit status: 0 printed, 1 a list is malformed or has no such host.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("combine").multiple(false))]
#[command(group = clap::ArgGroup::new("part").multiple(false))]
#[command(group = clap::ArgGroup::new("form").multiple(false))]
pub(super) struct HostList {
    /// Print the names in full, with commas between them
    #[arg(short, long, group = "form")]
    expand: bool,
    /// With --expand: print this text between the names
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = ",",
        requires = "expand"
    )]
    delimiter: String,
    /// Print the number of hosts
    #[arg(short, long, group = "form")]
    count: bool,
    /// Only the N-th host; -1 is the last
    #[arg(
        short,
        long,
        value_name = "N",
        group = "part",
        allow_negative_numbers = true
    )]
    nth: Option<i64>,
    /// Only the first N hosts; -N: the last N
    #[arg(
        short,
        long,
        visible_alias = "size",
        value_name = "N",
        group = "part",
        allow_negative_numbers = true
    )]
    segment: Option<i64>,
    /// Take the hosts of the first list that are in no other list
    #[arg(short, long, group = "combine")]
    minus: bool,
    /// Take the hosts that are in all lists
    #[arg(short, long, visible_alias = "intersection", group = "combine")]
    intersect: bool,
    /// Hosts
    #[arg(required = true)]
    list: Vec<String>,
}

impl RunCommand for HostList {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let lists: Result<Vec<Vec<String>>, Failure> =
            self.list.iter().map(|list| Ok(expand(list)?)).collect();
        let combined = lists?.into_iter().reduce(|one, other| {
            if self.minus {
                minus(&one, &other)
            } else if self.intersect {
                intersect(&one, &other)
            } else {
                [one, other].concat()
            }
        });
        let hosts = combined.unwrap_or_default();
        let part = match (self.nth, self.segment) {
            (Some(n), _) => std::slice::from_ref(found(&hosts, n)?),
            (_, Some(n)) => segment(&hosts, n),
            _ => &hosts,
        };
        if self.count {
            writeln!(call.out, "{}", part.len())?;
        } else if self.expand {
            writeln!(call.out, "{}", part.join(&self.delimiter))?;
        } else {
            writeln!(call.out, "{}", compress(part))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
