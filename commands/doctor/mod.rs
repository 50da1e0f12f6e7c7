//! `scr doctor`: reports the configuration, which losses are survived, and problems.
//!
//! It writes no files and asks no other node.

mod devices;
mod flushes;
mod places;
mod report;
mod surroundings;
mod survival;

use super::call::Invocation;
use super::job::{Job, configuration_files};
use super::json;
use super::{Outcome, RunCommand, params, status};
use report::DoctorReport;
use scr_engine::config::Settings;
use scr_engine::config::describe::descriptors;
use scr_engine::config::table::{MULTIS, PARAMETERS};
use scr_engine::config::value::{Typed, ValueKind};
use std::path::PathBuf;
use survival::RunShape;

/// Show what SCR finds here, which losses are survived, and what is wrong
///
/// Shows the resource manager, launchers, nodes, directories with their free space, and the
/// parameters that are set, here or in the environment of the last run; for each redundancy descriptor which losses its datasets survive; and
/// with --size whether they fit. Each problem comes with a remedy. Checks the directories of this
/// node only, and measures how fast memory of its devices is copied. Changes nothing.
///
/// Exit status: 0 no problem, 1 there are problems.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Number of nodes of the run, instead of those of the allocation
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 18))]
    nodes: Option<u32>,
    /// Ranks on each node, instead of the number from the resource manager, or 1
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 12))]
    ranks: Option<u32>,
    /// A program to compare with the launchers: whether both are of one MPI
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long)]
    json: bool,
    /// Check that datasets fit: bytes that each rank writes for one, such as 512m or 4g
    #[arg(short, long, value_parser = size)]
    size: Option<u64>,
}

fn size(text: &str) -> Result<u64, String> {
    let kind = ValueKind::Bytes(1, 1 << 60);
    match kind.parse(text) {
        Some(Typed::Bytes(bytes)) => Ok(bytes),
        _ => Err(format!("a size must be {}", kind.allowed())),
    }
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let (job, added) = Job::of_last_run(self.prefix.as_deref())?;
        let mut report = DoctorReport::default();
        let nodes = surroundings::look(&job, self.program.as_deref(), &mut report);
        devices::look(&mut report);
        report.section("Configuration files");
        for file in configuration_files(&job.config)? {
            report.fact(&file.title(), file.to_string());
        }
        parameters(&job, &added, &mut report);
        if let Some(settings) = settings(&job, &mut report) {
            let shape = RunShape::new(&job, nodes, self.nodes, self.ranks);
            self.examine(&job, &settings, &shape?, &mut report);
        }
        if self.json {
            json::print(call, "doctor", report.json())?
        } else {
            call.show(&report.lines())?
        }
        Ok(status(report.is_good()))
    }
}

impl Options {
    /// The parts that need a configuration without errors.
    fn examine(&self, job: &Job, settings: &Settings, shape: &RunShape, report: &mut DoctorReport) {
        let names = shape.names(&job.config);
        let of_nodes = names.iter().map(|n| descriptors(&job.config, settings, n));
        let of_nodes = match of_nodes.collect::<scr_engine::Result<Vec<_>>>() {
            Ok(of_nodes) => of_nodes,
            Err(error) => return report.wrong(error, ""),
        };
        let Some(first) = of_nodes.first() else {
            return;
        };
        for warning in &first.warnings {
            report.wrong(warning, "");
        }
        let places = places::look(job, settings, first, shape.nodes, report);
        let sets = survival::Sets::new(&of_nodes, shape);
        sets.losses(first, settings, shape, report);
        if let Some(size) = self.size {
            sets.fit(first, settings, (shape, size), &places, report);
        }
        places::prefix(job, settings, report);
        if job.prefix.meta().is_dir() {
            flushes::look(job, report);
        }
    }
}

/// Reports the parameters that are set, and bad values.
fn parameters(job: &Job, added: &[String], report: &mut DoctorReport) {
    report.section("Parameters that are set");
    let config = &job.config;
    for p in PARAMETERS {
        if let Some(value) = params::shown(config, p) {
            let origin = if added.iter().any(|name| name == p.name) {
                "environment of the last run".to_string()
            } else {
                config.origin(p.name).to_string()
            };
            report.line(format!("{} = {value} ({origin})", p.name));
        }
        if let Err(error) = config.typed(p) {
            report.wrong(error, "");
        }
    }
    for m in MULTIS {
        for item in config.items(m.name) {
            report.line(format!("{} ({})", params::line(m, item), item.place));
        }
    }
    for problem in &job.problems {
        report.wrong(problem, "");
    }
}

fn settings(job: &Job, report: &mut DoctorReport) -> Option<Settings> {
    match Settings::from(&job.config) {
        Ok(settings) => {
            if !settings.enable {
                report.wrong("SCR is switched off: SCR_ENABLE is 0", "set SCR_ENABLE=1");
            }
            Some(settings)
        }
        // Errors of single values are reported already.
        Err(_) if !report.is_good() => None,
        Err(error) => {
            report.wrong(error, "");
            None
        }
    }
}
