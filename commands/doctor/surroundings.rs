//! The resource manager, the nodes, the launchers, and how other nodes are reached.

use super::report::DoctorReport;
use crate::job::Job;
use crate::{failed_nodes, mpi};
use scr_engine::job::program::find;
use scr_engine::job::{self, clock};
use scr_engine::system::time::UNIX_EPOCH;
use scr_engine::version;
use scr_jobs::hostlist;
use scr_jobs::launcher::{self, Launcher, MpiProgram};
use std::path::Path;
use std::time::Duration;

/// Reports them. Returns the names of the nodes; empty if they are not known.
pub(super) fn look(job: &Job, program: Option<&Path>, report: &mut DoctorReport) -> Vec<String> {
    report.section(format!(
        "scr-rs {}, SCR interface {}",
        version::RELEASE,
        version::INTERFACE
    ));
    report.section("Job");
    manager(job, report);
    let nodes = nodes(job, report);
    end(job, report);
    let program = program.and_then(|program| mpi_of(job, program, report));
    let launchers = launchers(job, program.as_ref(), report);
    reach(job, &nodes, launchers.first(), report);
    nodes
}

fn manager(job: &Job, report: &mut DoctorReport) {
    let name = job.manager.name();
    match name {
        "NONE" => report.fact("manager", "none: this is not a job of a resource manager"),
        _ => report.fact("manager", name),
    }
    for program in job.manager.programs() {
        if find(&job.environment, program).is_none() {
            report.wrong(
                format!("there is no {program} on PATH, which {name} needs"),
                format!("add the directory of {name}'s programs to PATH"),
            );
        }
    }
    for (what, known) in [("job id", job.id()), ("user", job.user())] {
        match known {
            Ok(value) => report.fact(what, value),
            Err(failure) => report.wrong(failure, ""),
        }
    }
}

fn nodes(job: &Job, report: &mut DoctorReport) -> Vec<String> {
    match job::node_name(&job.environment, &|name| job.get(name)) {
        Ok(known) => report.fact("this node", format!("{} ({})", known.value, known.source)),
        Err(error) => report.wrong(error, ""),
    }
    match job.nodes() {
        Ok(nodes) => {
            let list = hostlist::compress(&nodes);
            report.fact("nodes", format!("{}: {list}", nodes.len()));
            failed_often(job, &nodes, report);
            nodes
        }
        Err(failure) => {
            report.wrong(
                format!("the nodes of the job are not known: {failure}"),
                "set SCR_NODELIST",
            );
            Vec::new()
        }
    }
}

/// Reports the nodes that launches leave out as long as other nodes are there.
fn failed_often(job: &Job, nodes: &[String], report: &mut DoctorReport) {
    // A bad parameter is reported with the others.
    let often = failed_nodes::often(job).unwrap_or_default();
    for one in often.iter().filter(|one| nodes.contains(&one.node)) {
        report.fact(
            "failed often",
            format!("{}: {}", one.node, failed_nodes::reason(one)),
        );
    }
}

fn end(job: &Job, report: &mut DoctorReport) {
    let wanted = job.number("SCR_HALT_SECONDS").is_ok_and(|s| s > Some(0));
    let unknown = match job.end() {
        Ok(Some(end)) => {
            let since = Duration::from_secs(u64::try_from(end).unwrap_or(0));
            let at = UNIX_EPOCH.checked_add(since).map(clock::local_time);
            report.fact("end", at.unwrap_or_default());
            if end > clock::now() {
                return;
            } else {
                "is past".to_string()
            }
        }
        Ok(None) => {
            report.fact("end", "not known");
            "is not known".to_string()
        }
        Err(failure) => {
            report.fact("end", "not known");
            format!("is not known: {failure}")
        }
    };
    if wanted {
        report.wrong(
            format!("SCR_HALT_SECONDS has no effect: the end of the allocation {unknown}"),
            "set SCR_END_TIME to the end of the job, in seconds since 1970",
        );
    }
}

/// The program, if it names its MPI.
fn mpi_of(job: &Job, program: &Path, report: &mut DoctorReport) -> Option<MpiProgram> {
    let word = program.as_os_str();
    if find(&job.environment, &word.to_string_lossy()).is_none() {
        report.wrong(
            format!("{} is no program", program.display()),
            "name a file that can be executed",
        );
        return None;
    }
    let named = MpiProgram::named(word, &job.environment);
    let shown = named.as_ref().map_or_else(
        || {
            "its file names none that is known (it may be inside, or in another library)"
                .to_string()
        },
        |named| format!("{} ({})", named.family.name(), named.library),
    );
    report.fact("MPI of program", format!("{}: {shown}", program.display()));
    if let Some(difference) = named.as_ref().and_then(mpi::other_library) {
        report.wrong(difference, "");
    }
    named
}

/// All launchers on PATH.
fn launchers(job: &Job, program: Option<&MpiProgram>, report: &mut DoctorReport) -> Vec<Launcher> {
    let mut found = Vec::new();
    let mut of_other_mpi = Vec::new();
    if let Some(mpi) = mpi::of_library() {
        report.fact("MPI of SCR", mpi);
    }
    for word in launcher::WORDS.split(", ") {
        let Some(path) = find(&job.environment, word) else {
            continue;
        };
        match Launcher::named(word, &job.environment) {
            Ok(launcher) => {
                let title = launcher.title();
                report.fact(
                    "launcher",
                    format!("{word} of {title} ({})", path.display()),
                );
                of_other_mpi.extend(mpi::difference(&launcher, program));
                found.push(launcher);
            }
            Err(error) => report.fact("launcher", format!("{word} cannot be used: {error}")),
        }
    }
    if of_other_mpi.len() < found.len() {
        // Another one can launch programs.
        for difference in of_other_mpi {
            report.fact("launcher", difference);
        }
    } else {
        for difference in of_other_mpi {
            report.wrong(
                difference,
                "load the module of that MPI, or add its directory to PATH",
            );
        }
    }
    if found.is_empty() {
        report.wrong(
            format!(
                "no launcher that scr_run knows is on PATH ({})",
                launcher::WORDS
            ),
            "load the module of your MPI, or add its directory to PATH",
        );
    }
    found
}

fn reach(job: &Job, nodes: &[String], launcher: Option<&Launcher>, report: &mut DoctorReport) {
    match job.remote(launcher) {
        Ok(remote) if remote.reaches() => report.fact("reached by", remote.name()),
        Ok(_) if nodes.len() > 1 => report.wrong(
            "no command can run on other nodes, so datasets of a killed run cannot be saved",
            "install pdsh, clush or ssh, or set SCR_REMOTE",
        ),
        Ok(_) => {}
        Err(failure) => report.wrong(failure, ""),
    }
}
