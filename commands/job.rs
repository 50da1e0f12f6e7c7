//! The job that a command runs in: configuration, resource manager, user and job id.

use super::call::Failure;
use super::configuration::{environment, load, load_with, read};
use super::place;
use scr_engine::config::{self, Config, ConfigItem, LogSettings, Value};
use scr_engine::events::{Event, Severity};
use scr_engine::format;
use scr_engine::format::nodes::Nodes;
use scr_engine::job::{self, Environment, PrefixPlace};
use scr_engine::log::{Destinations, Origin, Record, Tell};
use scr_engine::prefix::identity;
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::posix::Posix;
use scr_engine::text::escaped;
use scr_jobs::launcher::Launcher;
use scr_jobs::manager::{self, Manager};
use scr_jobs::remote::Remote;
use std::cell::OnceCell;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The job, for commands that work with its nodes.
pub(super) struct Job {
    /// The parameters, also those that the program of the last run set.
    pub config: Config,
    /// The environment of this process.
    pub environment: Environment,
    /// The resource manager.
    pub manager: Box<dyn Manager>,
    /// The prefix directory, which may not exist yet.
    pub prefix: Prefix,
    /// The name of the session of the prefix directory, if it has one. Read once: later the file system may hang.
    session: Option<String>,
    /// The identity of the prefix directory, once it was read.
    identity: OnceCell<u64>,
    /// Problems in configuration files that can be ignored. `scr params` shows them too, so short
    /// answers need not.
    pub problems: Vec<String>,
}

impl Job {
    /// The job of this process. `prefix` replaces the configured prefix directory.
    pub fn here(prefix: Option<&Path>) -> Result<Job, Failure> {
        Job::of(load(prefix)?)
    }

    /// The job of this process. Parameters that its environment does not set are taken from the environment of the last
    /// run. Also gives the names of these parameters.
    pub fn of_last_run(prefix: Option<&Path>) -> Result<(Job, Vec<String>), Failure> {
        let job = Job::here(prefix)?;
        let path = job.prefix.file("env.conf");
        let text = read(&path)?.unwrap_or_default();
        let mut added = Vec::new();
        let mut environment = environment(prefix)?;
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            let known = config::table::parameter(name).is_some();
            if known && environment.get_os(name).is_none() {
                environment = environment.with(name, value);
                added.push(name.to_string());
            }
        }
        Ok((Job::of(load_with(environment)?)?, added))
    }

    fn of((mut config, mut problems): (Config, Vec<String>)) -> Result<Job, Failure> {
        problems.extend(config.take_warnings());
        let environment = config.permitted(Environment::of_process());
        let prefix = Prefix::new(&config.prefix()?);
        let session = read(&prefix.session_file())?;
        Ok(Job {
            prefix,
            session: session.and_then(|name| String::from_utf8(name).ok()),
            identity: OnceCell::new(),
            manager: manager::detect(&environment),
            environment,
            config,
            problems,
        })
    }

    /// The value of a parameter that is set. A value that is too long with its variables counts as not
    /// set.
    pub fn get(&self, name: &str) -> Option<String> {
        self.config.get(name).ok().flatten()
    }

    /// True for a parameter of the table that is switched on.
    pub fn is_on(&self, name: &str) -> Result<bool, Failure> {
        let parameter = config::table::parameter(name);
        let value = parameter
            .map(|p| self.config.typed(p))
            .transpose()?
            .flatten();
        Ok(value == Some(config::value::Typed::Bool(true)))
    }

    /// A parameter of the table that is a number.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        let parameter = config::table::parameter(name);
        match parameter
            .map(|p| self.config.typed(p))
            .transpose()?
            .flatten()
        {
            Some(config::value::Typed::Int(number)) => Ok(Some(number)),
            _ => Ok(None),
        }
    }

    /// True if SCR_DEBUG asks the commands to print their steps.
    pub fn debug(&self) -> bool {
        self.number("SCR_DEBUG").is_ok_and(|level| level > Some(0))
    }

    /// The user of the job.
    pub fn user(&self) -> Result<String, Failure> {
        Ok(job::user_name(&self.environment, &|name| self.get(name))?.value)
    }

    /// The id of the job, as it is in the names of cache and control directories.
    pub fn id(&self) -> Result<String, Failure> {
        let lookup = |name: &str| self.get(name);
        let prefix = || {
            Ok(PrefixPlace {
                path: self.prefix.real(),
                identity: self.identity()?,
            })
        };
        let session = self.session.as_deref();
        Ok(manager::job_id(
            &*self.manager,
            &self.environment,
            &lookup,
            &prefix,
            session,
        )?)
    }

    /// The identity of the prefix directory, if it has one. Read once: later the file system may hang.
    fn identity(&self) -> scr_engine::Result<Option<u64>> {
        if self.identity.get().is_none() {
            let known = identity::find(&*place::files(&self.prefix), &self.prefix)?;
            if let Some(number) = known.number {
                self.identity.get_or_init(|| number);
            }
        }
        Ok(self.identity.get().copied())
    }

    /// The nodes of the job.
    pub fn nodes(&self) -> Result<Vec<String>, Failure> {
        let lookup = |name: &str| self.get(name);
        Ok(manager::nodes(&*self.manager, &self.environment, &lookup)?)
    }

    /// The time at which the job must end, in seconds since the epoch.
    pub fn end(&self) -> Result<Option<i64>, Failure> {
        let lookup = |name: &str| self.get(name);
        Ok(job::manager::end(
            self.manager.kind(),
            &self.environment,
            &lookup,
        )?)
    }

    /// Number of nodes of its last run; `None` if it is not known.
    pub fn run_nodes(&self) -> Result<Option<u64>, Failure> {
        match format::read::<Nodes>(&*place::files(&self.prefix), &self.prefix.file("nodes.scr")) {
            Ok(record) => Ok(Some(record.nodes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs commands on its nodes.
    pub fn remote(&self, launcher: Option<&Launcher>) -> Result<Remote, Failure> {
        let lookup = |name: &str| self.get(name);
        let manager = &*self.manager;
        Ok(Remote::choose(
            manager,
            launcher,
            &self.environment,
            &lookup,
        )?)
    }

    /// The launcher that the user named, if any.
    pub fn launcher(&self, word: Option<&str>) -> Result<Option<Launcher>, Failure> {
        let launcher = word.map(|word| Launcher::named(word, &self.environment));
        Ok(launcher.transpose()?)
    }

    /// Logs an event of this job with the fields that `fill` sets, if events are logged.
    ///
    /// # Errors
    /// A parameter has a bad value, or the log cannot be written. Most callers ignore that, because
    /// the job does not need the log.
    pub fn note(&self, event: Event, fill: impl FnOnce(&mut Record)) -> Result<(), Failure> {
        let mut record = Record::now(event);
        fill(&mut record);
        self.enter(record)
    }

    /// Logs an event at the time of the record; see [`Job::note`].
    pub fn enter(&self, record: Record) -> Result<(), Failure> {
        match self.log()? {
            Some(mut log) => Ok(log.write(record)?),
            None => Ok(()),
        }
    }

    /// The destinations of its events; `None` if they are not logged.
    pub fn log(&self) -> Result<Option<Destinations>, Failure> {
        let Some(settings) = LogSettings::from(&self.config)? else {
            return Ok(None);
        };
        let origin = Origin {
            host: self.environment.host.clone(),
            job: self.id()?,
            user: self.user().unwrap_or_default(),
            prefix: self.prefix.root().to_path_buf(),
            file: self.prefix.file("log"),
        };
        let tell: Tell = Arc::new(|severity, text| {
            let line = format!("{}\n", escaped(&text));
            // An error of the console cannot be reported.
            let _ = match severity {
                Severity::Debug(_) => std::io::stdout().write_all(line.as_bytes()),
                _ => std::io::stderr().write_all(line.as_bytes()),
            };
        });
        Ok(Some(Destinations::open(&settings, &Posix, origin, &tell)))
    }
}

/// The directory that the key of an item names, variables replaced.
pub(super) fn key_path(
    config: &Config,
    parent: &str,
    item: &ConfigItem,
) -> scr_engine::Result<PathBuf> {
    let value = Value {
        text: item.key.clone(),
        place: item.place.clone(),
    };
    Ok(config.absolute(&config.expand(parent, &value)?))
}

/// A configuration file.
pub(super) struct ConfigurationFile {
    /// `user` or `system`.
    pub kind: &'static str,
    pub path: PathBuf,
    pub exists: bool,
}

impl ConfigurationFile {
    /// "user file".
    pub fn title(&self) -> String {
        format!("{} file", self.kind)
    }
}

impl fmt::Display for ConfigurationFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = if self.exists { "" } else { " (there is none)" };
        write!(f, "{}{none}", self.path.display())
    }
}

/// The configuration files, highest first.
///
/// # Errors
/// A file exists but cannot be read, or a path cannot be made of the parameters.
pub(super) fn configuration_files(config: &Config) -> scr_engine::Result<[ConfigurationFile; 2]> {
    let file = |kind, path: PathBuf| {
        scr_engine::Result::Ok(ConfigurationFile {
            kind,
            exists: read(&path)?.is_some(),
            path,
        })
    };
    Ok([
        file("user", config.user_file()?)?,
        file("system", config.system_file().to_path_buf())?,
    ])
}
