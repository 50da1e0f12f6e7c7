//! The resource manager that set up the environment, and when it ends the allocation.

use super::identity::{parameter, scheduler_job, variable};
use super::program::ask;
use super::{Environment, Lookup, clock, end_time};
use crate::Result;

/// A resource manager, seen from inside one of its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagerKind {
    /// Flux.
    Flux,
    /// Slurm.
    Slurm,
    /// IBM Spectrum LSF.
    Lsf,
    /// PBS Professional, OpenPBS and Torque.
    Pbs,
    /// A PMIx server without one of the other managers.
    Pmix,
    /// No resource manager: the job has this machine alone.
    Nobody,
}

/// The variables that each manager sets in its jobs.
const SIGNS: [(ManagerKind, &[&str]); 5] = [
    (ManagerKind::Flux, &["FLUX_URI", "FLUX_JOB_ID"]),
    (ManagerKind::Slurm, &["SLURM_JOB_ID", "SLURM_JOBID"]),
    (ManagerKind::Lsf, &["LSB_JOBID"]),
    (ManagerKind::Pbs, &["PBS_JOBID"]),
    (ManagerKind::Pmix, &["PMIX_NAMESPACE"]),
];

impl ManagerKind {
    /// The manager that set up the environment. Flux comes first, because its instances run inside
    /// jobs of others.
    pub fn detect(environment: &Environment) -> Self {
        let is_set = |name: &&'static str| variable(name, environment).is_some();
        let mut all = SIGNS.iter();
        let found = all.find(|(_, names)| names.iter().any(is_set));
        found.map_or(ManagerKind::Nobody, |(kind, _)| *kind)
    }

    /// The variables by which a manager is detected.
    pub fn signs() -> impl Iterator<Item = &'static str> {
        SIGNS.iter().flat_map(|(_, names)| names.iter().copied())
    }

    /// The name of the resource manager: "SLURM", "FLUX", "LSF", "PBS", "PMIX" or "NONE".
    pub fn name(self) -> &'static str {
        match self {
            ManagerKind::Flux => "FLUX",
            ManagerKind::Slurm => "SLURM",
            ManagerKind::Lsf => "LSF",
            ManagerKind::Pbs => "PBS",
            ManagerKind::Pmix => "PMIX",
            ManagerKind::Nobody => "NONE",
        }
    }

    /// The time at which it ends the allocation, in seconds since the epoch; `None` without an end. May run a
    /// program of the manager, at most for [`PATIENCE`](super::program::PATIENCE). Local.
    ///
    /// # Errors
    /// The program does not exist, or it fails.
    pub fn end(self, environment: &Environment) -> Result<Option<i64>> {
        if self == ManagerKind::Slurm {
            let end = job_of_slurm(environment, "%e")?;
            // "N/A", "NONE" or "Unknown" without a limit.
            return Ok(end.parse().ok().or_else(|| clock::parse(&end).ok()));
        }
        let left = match self {
            ManagerKind::Flux => left_in_flux(environment)?,
            ManagerKind::Lsf => left_in_lsf(environment)?,
            ManagerKind::Pbs => left_in_pbs(environment)?,
            _ => None,
        };
        Ok(left.map(|left| clock::now().saturating_add(left)))
    }
}

/// The end of the allocation, in seconds since the epoch: SCR_END_TIME, else the answer of the
/// environment or the manager; `None` if the end is not known, or without an end.
///
/// # Errors
/// SCR_END_TIME is not a time, or the manager cannot be asked.
pub fn end(manager: ManagerKind, environment: &Environment, lookup: Lookup) -> Result<Option<i64>> {
    match end_time(environment, lookup)? {
        Some(known) => Ok(Some(known.value)),
        // 0 if an earlier command could not find it out.
        None if parameter("SCR_END_TIME", environment, lookup).is_some() => Ok(None),
        None => manager.end(environment),
    }
}

/// The id that the environment has.
fn id(environment: &Environment) -> String {
    scheduler_job(environment)
        .map(|known| known.value)
        .unwrap_or_default()
}

/// One field of the job, as Slurm's `squeue` prints it.
///
/// # Errors
/// `squeue` does not exist, or it fails.
pub fn job_of_slurm(environment: &Environment, format: &str) -> Result<String> {
    let job = format!("--jobs={}", id(environment));
    let format = format!("--format={format}");
    let arguments = ["--noheader", &job, &format];
    // Times in seconds since the epoch, also if the user prefers another form.
    let times = [("SLURM_TIME_FORMAT", "%s")];
    let out = ask(environment, "squeue", &arguments, &times)?;
    Ok(out.trim().to_string())
}

fn left_in_flux(environment: &Environment) -> Result<Option<i64>> {
    let left = ask(environment, "flux", &["job", "timeleft"], &[])?;
    // "infinity" without a limit.
    Ok(left.trim().parse().ok())
}

/// LSF tells the time that is left in minutes: `0:12 L`, or `-` for no limit.
fn left_in_lsf(environment: &Environment) -> Result<Option<i64>> {
    let job = id(environment);
    let arguments = ["-noheader", "-o", "time_left", &job];
    let answer = ask(environment, "bjobs", &arguments, &[])?;
    let left = answer.split_whitespace().next();
    Ok(left.and_then(|left| duration(left, true)))
}

fn left_in_pbs(environment: &Environment) -> Result<Option<i64>> {
    let answer = ask(environment, "qstat", &["-f", &id(environment)], &[])?;
    let field = |name: &str| {
        let rows = answer.lines().filter_map(|line| line.split_once('='));
        let mut values = rows.filter(|(key, _)| key.trim() == name);
        values.next().map(|(_, value)| value.trim())
    };
    // Torque counts the seconds that are left itself.
    if let Some(left) = field("Walltime.Remaining") {
        return Ok(left.parse().ok());
    }
    let limit = field("Resource_List.walltime").and_then(|t| duration(t, false));
    let used = field("resources_used.walltime").and_then(|t| duration(t, false));
    Ok(limit.map(|limit| limit.saturating_sub(used.unwrap_or(0))))
}

/// `[[DD-]HH:]MM:SS` or, with `minutes`, `HH:MM`, in seconds.
fn duration(text: &str, minutes: bool) -> Option<i64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse().ok()?, clock),
        None => (0i64, text),
    };
    let mut sum = 0i64;
    for part in clock.split(':') {
        let part: i64 = part.parse().ok().filter(|part| *part >= 0)?;
        sum = sum.checked_mul(60)?.checked_add(part)?;
    }
    let sum = if minutes { sum.checked_mul(60)? } else { sum };
    days.checked_mul(86_400)?.checked_add(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Programs;

    /// Seconds that are left, with room for a slow machine.
    fn left(manager: ManagerKind, environment: &Environment) -> i64 {
        manager.end(environment).unwrap().unwrap() - clock::now()
    }

    #[test]
    fn each_manager_is_known_by_its_variables() {
        for (name, expected) in [
            ("SLURM_JOB_ID", "SLURM"),
            ("SLURM_JOBID", "SLURM"),
            ("LSB_JOBID", "LSF"),
            ("PBS_JOBID", "PBS"),
            ("FLUX_URI", "FLUX"),
            ("FLUX_JOB_ID", "FLUX"),
            ("PMIX_NAMESPACE", "PMIX"),
            ("SOMETHING", "NONE"),
        ] {
            let found = ManagerKind::detect(&Environment::empty().with(name, "77"));
            assert_eq!(found.name(), expected);
            let none = ManagerKind::detect(&Environment::empty().with(name, ""));
            assert_eq!(none.name(), "NONE");
        }
        // An instance of Flux in a job of Slurm.
        let both = Environment::empty().with("SLURM_JOB_ID", "1");
        assert_eq!(
            ManagerKind::detect(&both.with("FLUX_URI", "x")).name(),
            "FLUX"
        );
    }

    #[test]
    fn slurm_tells_the_end() {
        let programs = Programs::new();
        programs.add(
            "squeue",
            r#"
        [ "$2" = "--jobs=77" ] || exit 9
        [ "$SLURM_TIME_FORMAT$3" = %s--format=%e ] && echo ' 1795221727 '"#,
        );
        let environment = programs.environment().with("SLURM_JOB_ID", "77");
        let end = || ManagerKind::Slurm.end(&environment);
        assert_eq!(end().unwrap(), Some(1_795_221_727));
        programs.add("squeue", "echo N/A");
        assert_eq!(end().unwrap(), None);
        programs.add("squeue", "echo 2026-11-21T06:30:00");
        assert!(end().unwrap().is_some());
        programs.add(
            "squeue",
            "echo slurm_load_jobs error: Invalid job id >&2; exit 1",
        );
        let error = end().unwrap_err().to_string();
        assert!(
            error.contains("squeue") && error.contains("Invalid job id"),
            "{error}"
        );
    }

    #[test]
    fn flux_and_lsf_tell_the_time_that_is_left() {
        let programs = Programs::new();
        programs.add("flux", r#"[ "$*" = 'job timeleft' ] && echo 3600"#);
        programs.add("bjobs", r#"[ "$4" = 77 ] && echo '0:12 L'"#);
        let environment = programs.environment().with("LSB_JOBID", "77");
        assert!((3600..7200).contains(&left(ManagerKind::Flux, &environment)));
        assert!((720..4000).contains(&left(ManagerKind::Lsf, &environment)));
        programs.add("flux", "echo infinity");
        programs.add("bjobs", "echo -");
        assert_eq!(ManagerKind::Flux.end(&environment).unwrap(), None);
        assert_eq!(ManagerKind::Lsf.end(&environment).unwrap(), None);
    }

    #[test]
    fn pbs_tells_the_limit_and_what_was_used_of_it() {
        let programs = Programs::new();
        programs.add(
            "qstat",
            r#"
        [ "$*" = '-f 12.srv' ] || exit 9
        printf 'Job Id: 12.srv\n    Resource_List.walltime = 02:00:00\n'
        printf '    resources_used.walltime = 00:30:00\n'"#,
        );
        let environment = programs.environment().with("PBS_JOBID", "12.srv");
        assert!((5400..7200).contains(&left(ManagerKind::Pbs, &environment)));
        programs.add("qstat", "echo '  Walltime.Remaining = 60'");
        assert!((60..3600).contains(&left(ManagerKind::Pbs, &environment)));
        programs.add("qstat", "echo nothing of use");
        assert_eq!(ManagerKind::Pbs.end(&environment).unwrap(), None);
        // Nobody is asked.
        let nobody = Environment::empty();
        assert_eq!(ManagerKind::Pmix.end(&nobody).unwrap(), None);
        assert_eq!(ManagerKind::Nobody.end(&nobody).unwrap(), None);
    }

    #[test]
    fn the_end_that_is_given_comes_first() {
        let programs = Programs::new();
        programs.add("squeue", "echo 1800000000");
        let environment = programs.environment().with("SLURM_JOB_ID", "7");
        let told =
            |environment: &Environment| end(ManagerKind::Slurm, environment, &|_| None).unwrap();
        assert_eq!(told(&environment), Some(1_800_000_000));
        assert_eq!(
            told(&environment.clone().with("SCR_END_TIME", "5")),
            Some(5)
        );
        assert_eq!(told(&environment.with("SCR_END_TIME", "0")), None);
    }

    #[test]
    fn durations() {
        assert_eq!(duration("1-02:03:04", false), Some(93_784));
        assert_eq!(duration("02:00", true), Some(7200));
        for bad in [
            "",
            "x",
            "1:x",
            "-",
            "-1:00",
            "1:-1",
            "9999999999999999999:00:00",
        ] {
            assert_eq!(duration(bad, false), None, "{bad}");
        }
    }
}
