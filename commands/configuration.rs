//! The parameters of a command: those of a job that would start here.

use super::call::Failure;
use scr_engine::Error;
use scr_engine::config::{Config, MAX_FILE};
use scr_engine::job::Environment;
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::{Files, posix::Posix};
use std::path::{Path, PathBuf};

/// The configuration of a job in this environment and prefix directory, and the problems in `app.conf`,
/// the record of the program's own settings.
pub(super) fn load(prefix: Option<&Path>) -> Result<(Config, Vec<String>), Failure> {
    load_with(environment(prefix)?)
}

/// The environment of this process, with this prefix directory.
pub(super) fn environment(prefix: Option<&Path>) -> Result<Environment, Failure> {
    let cwd = absolute(Path::new(""))?;
    let mut environment = Environment::of_process();
    if let Some(dir) = prefix {
        let dir = cwd.join(dir);
        if dir.to_str().is_none() {
            let what = "is not UTF-8 text, which the name of a prefix directory must be";
            return Err(Failure::said(format!("{} {what}", dir.display())));
        }
        environment = environment.with("SCR_PREFIX", dir);
    }
    Ok(environment)
}

pub(super) fn load_with(environment: Environment) -> Result<(Config, Vec<String>), Failure> {
    let cwd = absolute(Path::new(""))?;
    let mut config = Config::of_command();
    config.load(environment.clone(), &cwd, &read)?;

    let path = Prefix::new(&config.prefix()?).file("app.conf");
    let mut problems = Vec::new();
    let lines = read(&path)?.unwrap_or_default();
    for (number, line) in (1..).zip(lines.split(|byte| *byte == b'\n')) {
        if let Err(error) = config.call(&String::from_utf8_lossy(line)) {
            problems.push(format!("{}:{number}: {error}", path.display()));
        }
    }
    if config.needs_load() {
        config.load(environment, &cwd, &read)?;
    }
    Ok((config, problems))
}

/// `path` as an absolute path, otherwise unchanged.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::said(format!("cannot find the current directory: {error}")))?;
    Ok(cwd.join(path))
}

/// A configuration file, if it is there.
pub(super) fn read(path: &Path) -> scr_engine::Result<Option<Vec<u8>>> {
    match Posix.read(path, MAX_FILE) {
        Err(error) if error.is_not_found() => Ok(None),
        Err(Error::Io { errno, .. }) if errno == Some(libc::ENOTDIR) => Ok(None),
        other => other.map(Some),
    }
}
