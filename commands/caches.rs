//! The caches of a job on this node.

use super::call::Failure;
use super::job::Job;
use super::place::absolute;
use scr_engine::cache::layout::Layout;
use scr_engine::config::Settings;
use scr_engine::config::describe::descriptors;
use scr_engine::format::Dataset;
use scr_engine::format::print::escaped;
use scr_engine::job::node_name;
use scr_engine::store::Files;
use scr_engine::store::posix::Posix;
use scr_engine::text::counted;
use std::path::{Path, PathBuf};
use std::sync::Arc;

// No doc comment: clap would take it for the help of the command.
#[derive(clap::Args)]
pub(super) struct Caches {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, short_alias = 'd', value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Control directory of the job, BASE/USER/scr.JOBID: user and job id are taken from it, instead
    /// of from parameters and environment
    #[arg(short, long, alias = "from", value_name = "DIR")]
    cntldir: Option<PathBuf>,
    /// Base directory of a cache, instead of those that the parameters name; may be repeated
    #[arg(long, value_name = "BASE")]
    cache: Vec<PathBuf>,
}

/// The places of a job's datasets on this node.
pub(super) struct Here {
    pub job: Job,
    pub node: String,
    pub caches: Vec<Layout>,
}

impl Here {
    /// Reads and writes the caches and the prefix directory. Follows no link below them.
    pub fn files(&self) -> Arc<dyn Files> {
        let jobs = self.caches.iter().map(Layout::job);
        self.job.prefix.confine(&Posix, jobs)
    }
}

impl Caches {
    /// The job alone.
    pub fn job(&self) -> Result<Job, Failure> {
        Job::here(self.prefix.as_deref())
    }

    /// The control directory that was named.
    pub fn control(&self) -> Option<&Path> {
        self.cntldir.as_deref()
    }

    /// The base directories that were named, as text for a command.
    pub fn bases(&self) -> Result<Vec<String>, Failure> {
        let text = |base: &PathBuf| {
            let base = absolute(base)?;
            let text = base.to_str().map(str::to_string);
            text.ok_or_else(|| Failure::said(format!("{} is not UTF-8 text", base.display())))
        };
        self.cache.iter().map(text).collect()
    }

    /// The job and its caches. Does not report problems of the configuration, since this runs on every
    /// node; `scr params` shows them.
    pub fn find(&self) -> Result<Here, Failure> {
        find(self.prefix.as_deref(), self.cntldir.as_deref(), &self.cache)
    }
}

/// The job that uses a prefix directory, and its caches.
pub(super) fn of_prefix(prefix: &Path) -> Result<Here, Failure> {
    find(Some(prefix), None, &[])
}

fn find(prefix: Option<&Path>, cntldir: Option<&Path>, bases: &[PathBuf]) -> Result<Here, Failure> {
    let job = Job::here(prefix)?;
    let node = node_name(&job.environment, &|name| job.get(name))?.value;
    let (user, id) = match cntldir {
        Some(dir) => of_control(dir)?,
        None => (job.user()?, job.id()?),
    };
    let bases: Vec<PathBuf> = match bases {
        // All stores, because a dataset stays where it was written.
        [] => {
            let settings = Settings::from(&job.config)?;
            let stores = descriptors(&job.config, &settings, &node)?.stores;
            stores.into_iter().map(|store| store.dir).collect()
        }
        given => given
            .iter()
            .map(|base| absolute(base))
            .collect::<Result<_, _>>()?,
    };
    let caches = bases.iter().map(|base| Layout::new(base, &user, &id));
    Ok(Here {
        caches: caches.collect(),
        job,
        node,
    })
}

/// User and job of a control directory.
pub(super) fn of_control(dir: &Path) -> Result<(String, String), Failure> {
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_string());
    let job = name(dir).and_then(|job| Some(job.strip_prefix("scr.")?.to_string()));
    let user = dir.parent().and_then(name);
    user.zip(job).ok_or_else(|| {
        Failure::said(format!(
            "{} is not a control directory: its name must be like BASE/USER/scr.JOBID",
            dir.display()
        ))
    })
}

/// A dataset in messages: id, name and number of ranks.
pub(super) fn title(dataset: &Dataset, ranks: u64) -> String {
    let (name, ranks) = (escaped(&dataset.name), counted(ranks as usize, "rank"));
    format!("dataset {} ({name}), {ranks}", dataset.id)
}
