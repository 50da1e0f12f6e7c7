//! `scr hostlist`: converts host lists between their long and short forms.

use super::call::{Failure, Invocation};
use super::glob_hosts::found;
use super::{Command, CommandGroup, Outcome, RunCommand};
use scr_jobs::hostlist::{compress, expand, intersect, minus, segment};
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("hostlist", &["scr_hostlist"], CommandGroup::Nodes);

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
struct Options {
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

impl RunCommand for Options {
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
