//! Node, user and job id, each from the first source that has it.
//!
//! These names are components of paths in cache and control directories, so a value that is not a plain name
//! is refused.

use super::Environment;
use crate::text::{excerpt, fnv1a};
use crate::{Error, Result};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longest host name, bytes.
pub const MAX_NAME: usize = 255;

/// Gives the value of a parameter, from whatever layer of the configuration has it.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSource {
    /// A parameter of SCR: in the environment or any configuration layer.
    Parameter(&'static str),
    /// An environment variable of the system or the resource manager.
    Variable(&'static str),
    /// The name of this host.
    HostName,
    /// The password database.
    PasswordDatabase,
    /// The number of this user.
    UserId,
    /// Derived from the prefix directory.
    Prefix,
}

impl ValueSource {
    /// True if the value was not given but derived, which deserves a note.
    pub fn is_derived(self) -> bool {
        matches!(
            self,
            ValueSource::PasswordDatabase | ValueSource::UserId | ValueSource::Prefix
        )
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueSource::Parameter(name) | ValueSource::Variable(name) => name,
            ValueSource::HostName => "the host name",
            ValueSource::PasswordDatabase => "the password database",
            ValueSource::UserId => "the numeric user id",
            ValueSource::Prefix => "the prefix directory",
        })
    }
}

/// A value, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The source of the value.
    pub source: ValueSource,
}

/// Variables of resource managers with the job's id, in order.
const JOB_VARIABLES: [&str; 5] = [
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "LSB_JOBID",
    "PBS_JOBID",
    "FLUX_JOB_ID",
];

/// The name of this node: SCR_NODE_NAME, else the host name. SCR_NODE_NAME of this process's
/// environment overrides `lookup`, because the configuration comes from rank 0. Local.
pub fn node_name(environment: &Environment, lookup: Lookup) -> Result<Sourced<String>> {
    const NAME: &str = "SCR_NODE_NAME";
    let given = environment
        .get(NAME)
        .filter(|value| !value.is_empty())
        .map(str::to_string)
        .or_else(|| lookup(NAME));
    match given {
        // The name is in no path of SCR's own, only in those of the configuration (%h).
        Some(value) => plain_name(value, ValueSource::Parameter(NAME), MAX_NAME),
        None => plain_name(environment.host.clone(), ValueSource::HostName, MAX_NAME),
    }
}

/// The user of the job: SCR_USER_NAME, else USER, else the name in the password database, else the
/// user id. Local.
pub fn user_name(environment: &Environment, lookup: Lookup) -> Result<Sourced<String>> {
    if let Some(value) = parameter("SCR_USER_NAME", environment, lookup) {
        return component(value, ValueSource::Parameter("SCR_USER_NAME"));
    }
    if let Some(value) = variable("USER", environment) {
        return component(value, ValueSource::Variable("USER"));
    }
    match &environment.user_from_db {
        Some(name) if !name.is_empty() => component(name.clone(), ValueSource::PasswordDatabase),
        _ => component(environment.uid.to_string(), ValueSource::UserId),
    }
}

/// The facts by which a prefix directory is named where no resource manager names the job.
#[derive(Debug, Clone, Copy)]
pub struct PrefixPlace<'a> {
    /// The path of the prefix directory, which must be canonical.
    pub path: &'a Path,
    /// The identity of the prefix directory, if it has one; else the hash of its path takes its place. That hash must
    /// never change, because the next run must derive the same id.
    pub identity: Option<u64>,
}

/// The job id: SCR_JOB_ID, else the id of Slurm, LSF, PBS or Flux, else one derived from the prefix directory. So the
/// next run finds the cache of this one, and two prefix directories never share a cache. Local.
pub fn job_id(
    environment: &Environment,
    lookup: Lookup,
    prefix: &PrefixPlace,
) -> Result<Sourced<String>> {
    if let Some(value) = parameter("SCR_JOB_ID", environment, lookup) {
        return component(value, ValueSource::Parameter("SCR_JOB_ID"));
    }
    if let Some(known) = scheduler_job(environment) {
        return component(known.value, known.source);
    }
    let number = prefix.identity;
    let number = number.unwrap_or_else(|| fnv1a(prefix.path.as_os_str().as_bytes()));
    let value = format!("prefix-{number:016x}");
    Ok(Sourced {
        value,
        source: ValueSource::Prefix,
    })
}

/// The job's id as a resource manager set it in the environment, unchecked; `None` without one.
pub fn scheduler_job(environment: &Environment) -> Option<Sourced<String>> {
    JOB_VARIABLES.into_iter().find_map(|name| {
        let value = variable(name, environment)?;
        let source = ValueSource::Variable(name);
        Some(Sourced { value, source })
    })
}

/// The end of the allocation in seconds since the epoch: SCR_END_TIME, else SLURM_JOB_END_TIME; `None`
/// if it is not known. The run scripts export 0 for an end that is not known. Local.
pub fn end_time(environment: &Environment, lookup: Lookup) -> Result<Option<Sourced<i64>>> {
    let text = parameter("SCR_END_TIME", environment, lookup);
    let (text, source) = match text {
        Some(text) => (text, ValueSource::Parameter("SCR_END_TIME")),
        None => match variable("SLURM_JOB_END_TIME", environment) {
            Some(text) => (text, ValueSource::Variable("SLURM_JOB_END_TIME")),
            None => return Ok(None),
        },
    };
    match text.trim().parse::<i64>() {
        Ok(0) => Ok(None),
        Ok(value) if value > 0 => Ok(Some(Sourced { value, source })),
        _ => Err(Error::config(
            source.to_string(),
            format!("'{}' is no time in seconds since 1970", excerpt(&text, 80)),
        )),
    }
}

/// A parameter as configured, or as in the own environment if the configuration was read
/// without it.
pub fn parameter(name: &str, environment: &Environment, lookup: Lookup) -> Option<String> {
    lookup(name).or_else(|| variable(name, environment))
}

/// A variable counts as not set when it is empty.
pub fn variable(name: &str, environment: &Environment) -> Option<String> {
    environment
        .get(name)
        .filter(|value| !value.is_empty())
        .map(str::to_string)
}

/// Longest name of a directory on Linux, bytes (NAME_MAX), less room for SCR's own text before it.
const LONGEST: usize = 200;

/// Checks that a value can be one component of a path, with SCR's own text before and after it.
fn component(value: String, source: ValueSource) -> Result<Sourced<String>> {
    plain_name(value, source, LONGEST)
}

fn plain_name(value: String, source: ValueSource, longest: usize) -> Result<Sourced<String>> {
    let flaw = match value.as_str() {
        "" => "is empty".to_string(),
        "." | ".." => "is not a name".to_string(),
        name if name.contains('/') => "contains '/'".to_string(),
        name if name.contains('\0') => "contains a NUL byte".to_string(),
        name if name.len() > longest => format!("is longer than {longest} bytes"),
        _ => return Ok(Sourced { value, source }),
    };
    let what = format!(
        "'{}' {flaw}; it names a directory, so give it one plain name",
        excerpt(&value, 80)
    );
    Err(Error::config(source.to_string(), what))
}

/// Checks the name of a session: it is part of paths.
///
/// # Errors
/// The name is not a word of letters, digits, `-`, `_` and `.`, begins with a dot, or is longer than
/// 64 bytes.
pub fn session_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let flaw = match name {
        "" => "is empty",
        name if name.len() > 64 => "is longer than 64 bytes",
        name if name.starts_with('.') => "begins with a dot",
        name if !name.chars().all(is_plain) => {
            "has other characters than letters, digits, '-', '_' and '.'"
        }
        _ => return Ok(()),
    };
    let what = format!(
        "the name '{}' of the session {flaw}; it names directories, so give it one plain word",
        excerpt(name, 80)
    );
    Err(Error::usage("SCR_Session_create", what))
}

/// The id by which the caches of a named session are found: the id of the job with the name added. An id that is
/// derived from the prefix directory names one session only.
pub fn of_session(job: Sourced<String>, session: Option<&str>) -> String {
    match session {
        Some(name) if job.source != ValueSource::Prefix => format!("{}@{name}", job.value),
        _ => job.value,
    }
}

/// True for the id of a job, and for the ids of its sessions; see [`of_session`].
pub fn is_of_job(id: &str, job: &str) -> bool {
    id.strip_prefix(job)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    /// A lookup that has one parameter.
    fn only(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
        move |asked| (asked == name).then(|| value.to_string())
    }

    fn known<T>(result: Result<Sourced<T>>) -> (T, ValueSource) {
        let known = result.unwrap();
        (known.value, known.source)
    }

    #[test]
    fn a_node_is_called_as_its_process_says() {
        let env = Environment::empty().with_host("host7");
        assert_eq!(
            known(node_name(&env, &nothing)),
            ("host7".into(), ValueSource::HostName)
        );
        let source = ValueSource::Parameter("SCR_NODE_NAME");
        let lookup = only("SCR_NODE_NAME", "of-rank-0");
        assert_eq!(
            known(node_name(&env, &lookup)),
            ("of-rank-0".into(), source)
        );
        let env = env.with("SCR_NODE_NAME", "mine");
        assert_eq!(known(node_name(&env, &lookup)), ("mine".into(), source));
        let named = |length| {
            node_name(
                &env.clone().with("SCR_NODE_NAME", "n".repeat(length)),
                &lookup,
            )
        };
        assert_eq!(known(named(255)).0.len(), 255);
        let error = named(256).unwrap_err().to_string();
        assert!(error.contains("longer than 255 bytes"), "{error}");
    }

    #[test]
    fn each_source_of_a_user_name_in_turn() {
        let env = Environment::empty().with_user(1234, None);
        assert_eq!(
            known(user_name(&env, &nothing)),
            ("1234".into(), ValueSource::UserId)
        );
        let env = env.with_user(1234, Some("db"));
        assert_eq!(
            known(user_name(&env, &nothing)),
            ("db".into(), ValueSource::PasswordDatabase)
        );
        let env = env.with("USER", "");
        assert_eq!(
            known(user_name(&env, &nothing)),
            ("db".into(), ValueSource::PasswordDatabase)
        );
        let env = env.with("USER", "shell");
        assert_eq!(
            known(user_name(&env, &nothing)),
            ("shell".into(), ValueSource::Variable("USER"))
        );
        let lookup = only("SCR_USER_NAME", "given");
        let source = ValueSource::Parameter("SCR_USER_NAME");
        assert_eq!(known(user_name(&env, &lookup)), ("given".into(), source));
    }

    #[test]
    fn each_source_of_a_job_id_in_turn() {
        let place = |path: &'static str| PrefixPlace {
            path: Path::new(path),
            identity: None,
        };
        let prefix = &place("/p/run");
        let mut env = Environment::empty();
        let (derived, source) = known(job_id(&env, &nothing, prefix));
        assert_eq!(source, ValueSource::Prefix);
        assert_eq!(known(job_id(&env, &nothing, prefix)).0, derived);
        assert_ne!(known(job_id(&env, &nothing, &place("/p/run2"))).0, derived);
        for name in JOB_VARIABLES.into_iter().rev() {
            env = env.with(name, format!("id of {name}"));
            let expected = (format!("id of {name}"), ValueSource::Variable(name));
            assert_eq!(known(job_id(&env, &nothing, prefix)), expected);
        }
        let env = env.with("SCR_JOB_ID", "77");
        let source = ValueSource::Parameter("SCR_JOB_ID");
        assert_eq!(known(job_id(&env, &nothing, prefix)), ("77".into(), source));
        let lookup = only("SCR_JOB_ID", "78");
        assert_eq!(known(job_id(&env, &lookup, prefix)), ("78".into(), source));
    }

    /// The id is the name of a directory of the previous run, so it may never change.
    #[test]
    fn the_derived_id_is_fixed() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        let id = |identity| {
            let path = Path::new("foobar");
            let place = PrefixPlace { path, identity };
            known(job_id(&Environment::empty(), &nothing, &place)).0
        };
        assert_eq!(id(None), "prefix-85944171f73967e8");
        assert_eq!(id(Some(0xab)), "prefix-00000000000000ab");
    }

    #[test]
    fn what_is_no_directory_name_is_refused_by_name() {
        let long = "x".repeat(201);
        for value in [".", "..", "a/b", "/", "a\0b", &long] {
            let env = Environment::empty().with("SCR_JOB_ID", value);
            let place = PrefixPlace {
                path: Path::new("/p"),
                identity: None,
            };
            let error = job_id(&env, &nothing, &place).unwrap_err();
            assert!(matches!(&error, Error::Config { place, .. } if place == "SCR_JOB_ID"));
            let text = error.to_string();
            assert!(
                text.contains(&excerpt(value, 80)) && !text.contains('\0'),
                "{text}"
            );
        }
        let env = Environment::empty().with("USER", "../x").with_host("");
        assert!(
            user_name(&env, &nothing)
                .unwrap_err()
                .to_string()
                .starts_with("USER: '../x'")
        );
        let error = node_name(&env, &nothing).unwrap_err().to_string();
        assert!(error.starts_with("the host name: ''"), "{error}");
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let env = Environment::empty()
            .with_host("n7")
            .with("SCR_NODE_NAME", "")
            .with("SCR_END_TIME", "");
        assert_eq!(
            known(node_name(&env, &nothing)),
            ("n7".to_string(), ValueSource::HostName)
        );
        assert_eq!(end_time(&env, &nothing), Ok(None));
    }

    #[test]
    fn the_end_of_the_job() {
        let env = Environment::empty();
        assert_eq!(end_time(&env, &nothing), Ok(None));
        let env = env.with("SLURM_JOB_END_TIME", "1700000000");
        let found = end_time(&env, &nothing).unwrap().unwrap();
        assert_eq!(
            (found.value, found.source),
            (1_700_000_000, ValueSource::Variable("SLURM_JOB_END_TIME"))
        );
        let env = env.with("SCR_END_TIME", "1800000000");
        assert_eq!(
            end_time(&env, &nothing).unwrap().unwrap().value,
            1_800_000_000
        );
        assert_eq!(
            end_time(&env.clone().with("SCR_END_TIME", "0"), &nothing),
            Ok(None)
        );
        for bad in ["soon", "-5", "1e9", "99999999999999999999"] {
            let error = end_time(&env.clone().with("SCR_END_TIME", bad), &nothing).unwrap_err();
            assert!(error.to_string().starts_with("SCR_END_TIME: "), "{error}");
        }
    }
}
