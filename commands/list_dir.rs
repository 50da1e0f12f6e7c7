//! `scr list-dir`: the cache and control directories on the nodes.

use super::call::{Failure, Invocation};
use super::job::{Job, key_path};
use super::{Outcome, RunCommand};
use scr_engine::cache::layout::Layout;
use scr_engine::config::describe::descriptors;
use scr_engine::config::{Config, Settings};
use scr_engine::job::{Environment, PrefixPlace, job_id, user_name};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the control or cache directories of the job, one per line
///
/// Control: below SCR_CNTL_BASE. Cache: below those that CACHE lines name, else below those in
/// which the configuration keeps datasets.
///
/// Exit status: 0 printed, 1 a parameter has a bad value.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Which directories
    which: Which,
    /// Only the base directories, without the levels of user and job
    #[arg(short, long)]
    base: bool,
    /// The user, instead of the caller
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// Id of the job, instead of this one's
    #[arg(short, long, value_name = "ID")]
    jobid: Option<String>,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// What is kept there.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Which {
    /// Records of a run.
    Control,
    /// Datasets.
    Cache,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        for base in bases(&job, self.which)? {
            let dir = if self.base {
                base
            } else {
                let user = user_of(&job, self.user.as_deref())?;
                Layout::new(&base, &user, &id_of(&job, self.jobid.as_deref())?).job()
            };
            call.out.write_all(dir.as_os_str().as_bytes())?;
            writeln!(call.out)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The user of an option, checked like one from the environment, else the user of the job.
pub(super) fn user_of(job: &Job, given: Option<&str>) -> Result<String, Failure> {
    match given {
        Some(user) => {
            let given = Environment::empty().with("SCR_USER_NAME", user);
            Ok(user_name(&given, &|_| None)?.value)
        }
        None => job.user(),
    }
}

/// The job id of an option, checked like one from the environment, else the id of the job.
pub(super) fn id_of(job: &Job, given: Option<&str>) -> Result<String, Failure> {
    match given {
        Some(id) => {
            let given = Environment::empty().with("SCR_JOB_ID", id);
            let path = job.prefix.real();
            let identity = None;
            Ok(job_id(&given, &|_| None, &PrefixPlace { path, identity })?.value)
        }
        None => job.id(),
    }
}

/// The base directories, as configured.
pub(super) fn bases(job: &Job, which: Which) -> Result<Vec<PathBuf>, Failure> {
    let config: &Config = &job.config;
    let settings = Settings::from(config)?;
    if let Which::Control = which {
        return Ok(vec![settings.cntl_base]);
    }
    let named = config.items("CACHE");
    if named.len() > 0 {
        let named = named.map(|item| key_path(config, "CACHE", item));
        return Ok(named.collect::<scr_engine::Result<_>>()?);
    }
    let node = scr_engine::job::node_name(&job.environment, &|name| job.get(name))?.value;
    let all = descriptors(config, &settings, &node)?;
    let mut dirs = Vec::new();
    for scheme in all.schemes.iter().filter(|scheme| scheme.enabled) {
        if let Some(store) = all.stores.get(scheme.store).filter(|store| store.enabled)
            && !dirs.contains(&store.dir)
        {
            dirs.push(store.dir.clone());
        }
    }
    Ok(dirs)
}
