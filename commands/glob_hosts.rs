//! `scr glob-hosts`: counts, picks and combines hosts of host lists.

use super::call::{Failure, Invocation};
use super::{Command, CommandGroup, Outcome, RunCommand};
use scr_jobs::hostlist::{compress, expand, intersect, minus, nth};
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("glob-hosts", &["scr_glob_hosts"], CommandGroup::Nodes);

/// Count, pick, subtract and intersect hosts of a list
///
/// A list is written like "atlas[3,5-7,9-11]" or with commas. Without --count and --nth prints the
/// hosts in this form.
///
/// Exit status: 0 printed, 1 a list is malformed or has no such host.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").multiple(false))]
#[command(group = clap::ArgGroup::new("source").multiple(false).required(true))]
struct Options {
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

impl RunCommand for Options {
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
