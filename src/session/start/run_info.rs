//! The facts that rank 0 finds out in `SCR_Init` for all ranks: parameters, user, job, and the
//! state of the prefix directory.

use crate::config::{Config, MAX_FILE, Settings};
use crate::events::{Message, Severity, Sink, Speaker};
use crate::format::dataset::HIGHEST;
use crate::format::identity::OwnPrefix;
use crate::format::index::Index;
use crate::format::{Dataset, Name, from_tree, to_message, unpack};
use crate::job::launch::{Launch, launch};
use crate::job::{self, Environment, PrefixPlace};
use crate::messages::ALONE_IN_THE_WORLD;
use crate::prefix::identity::{self, Note};
use crate::prefix::index;
use crate::prefix::paths::Prefix;
use crate::prefix::records;
use crate::session::datasets::other_ranks::KnownNames;
use crate::session::flush::finish::finish_flushes;
use crate::session::locks::lock_prefix;
use crate::session::run::record_not_written;
use crate::store::{Files, Lock, retry};
use crate::system::process;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Rank 0's message to all ranks; the settings follow it.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct RunInfo {
    pub user: Name,
    pub job: Name,
    /// The highest id of a dataset in the index, or with a directory in `.scr`.
    pub dataset: u64,
    /// The highest number of a checkpoint in the index.
    pub checkpoint: u64,
    /// A random number that identifies this run. Its directory in each store is named after it.
    pub run: u64,
    /// The names of the prefix directory in records.
    pub prefix: OwnPrefix,
}

/// The facts that rank 0 keeps for itself.
pub(in crate::session) struct RootState {
    /// The lock on the prefix directory, if its file system has locks.
    pub lock: Option<Box<dyn Lock>>,
    pub names: KnownNames,
    /// The newest dataset in the index, if it is not complete.
    pub unfinished: Option<Dataset>,
}

/// The things that rank 0 looks at, and the listener for its messages.
pub(in crate::session) struct RootSetup<'a> {
    pub files: &'a dyn Files,
    pub sink: &'a dyn Sink,
    pub speaker: &'a Speaker,
    pub environment: &'a Environment,
    pub lock_timeout: Duration,
    /// True in the first run of a session; in a repair, the settings are those of a survivor.
    pub is_first: bool,
    /// The MPI in which this process is alone.
    pub alone_in: Option<String>,
}

impl RootSetup<'_> {
    /// Rank 0: reads the parameters, locks the prefix directory and reads its index. Gives also the
    /// message that [`receive`] takes; `None` if SCR is disabled. `held` is the lock, if this process has it already.
    /// Local.
    pub fn find(
        &self,
        held: Option<Box<dyn Lock>>,
        config: &mut Config,
    ) -> Result<Option<(RootState, Vec<u8>)>> {
        if self.is_first {
            load(self.files, self.environment, config)?;
        }
        let settings = Settings::from(config);
        for warning in config.take_warnings() {
            self.tell(Severity::Warning, warning);
        }
        let settings = settings?;
        if !settings.enable {
            return Ok(None);
        }
        self.sink.set_debug(settings.debug);
        if !settings.serial {
            self.require_all()?;
        }
        let prefix = Prefix::new(&settings.prefix);
        prefix.confine(self.files, []).make_dirs(&prefix.meta())?;
        // Only now that the directory exists can symbolic links in its path be resolved.
        let prefix = Prefix::new(&settings.prefix);
        let files = &*prefix.confine(self.files, []);
        let lock = match held {
            Some(lock) => Some(lock),
            None => lock_prefix(files, &prefix, self.lock_timeout)?,
        };
        // Certified files below `.scr` count only if `.scr` itself is still there after a power loss.
        // No flush into containers syncs the directory in which it stands.
        if let Err(error) = files.sync_dir(prefix.root()) {
            self.tell(
                Severity::Warning,
                format!("{error}; a power loss may take the saved datasets away"),
            );
        }
        let environment = &config.permitted(self.environment.clone());
        let user = job::user_name(environment, &|_| settings.user_name.clone())?;
        let named = identity::establish(files, &prefix)?;
        if let Some(Note { is_warning, text }) = named.note {
            let severity = if is_warning {
                Severity::Warning
            } else {
                Severity::Note
            };
            self.tell(severity, text);
        }
        let place = PrefixPlace {
            path: prefix.real(),
            identity: named.number,
        };
        let job = job::job_id(environment, &|_| settings.job_id.clone(), &place)?;
        for (what, found) in [("user", &user), ("job", &job)] {
            let text = format!("{what} {} ({})", found.value, found.source);
            self.tell(Severity::Debug(2), text);
        }
        let set = [
            ("app.conf", config.app_conf()),
            ("env.conf", config.env_conf()),
        ];
        for (name, text) in set {
            if let Err(error) = records::put(files, &prefix.file(name), text.as_bytes()) {
                self.tell(Severity::Warning, record_not_written(&error));
            }
        }
        match config.session() {
            Some(name) => self.enter_session(name, &prefix, &config.prefix_of_job()?),
            // A session with a name may have used this directory before.
            None if matches!(files.stat(&prefix.session_file()), Ok(Some(_))) => {
                files.remove_file(&prefix.session_file())?;
            }
            None => {}
        }
        for (severity, text) in finish_flushes(files, &prefix)? {
            self.tell(severity, text);
        }
        let index = index::read(files, &prefix)?;
        // An index that was lost and begun again does not know all of them.
        let ids = retry(|| prefix.ids(files))?;
        let known = ids.into_iter().filter(|id| *id <= HIGHEST).max();
        let info = RunInfo {
            user: user.value.as_str().into(),
            job: job::of_session(job, config.session()).as_str().into(),
            dataset: index.max_dataset().max(known.unwrap_or(0)),
            checkpoint: index.max_checkpoint(),
            run: process::random(),
            prefix: named.own,
        };
        let message = [to_message(&info)?, config.to_message()?].concat();
        let root = RootState {
            lock,
            names: KnownNames::new(&index),
            unfinished: unfinished(&index),
        };
        Ok(Some((root, message)))
    }

    /// Fails if this process is alone, but its launcher has started several processes. Each of them would be a run of its
    /// own, on the checkpoints of the run before it. Local.
    fn require_all(&self) -> Result<()> {
        let Some(mpi) = &self.alone_in else {
            return Ok(());
        };
        let Some(Launch {
            variable,
            processes,
        }) = launch(self.environment)
        else {
            return Ok(());
        };
        Err(Error::usage(
            "SCR_Init",
            format!(
                "{processes} processes were launched ({variable}), and each is alone in its MPI_COMM_WORLD: the program \
                 runs with {mpi}, but the launcher is of another MPI; launch it with the mpiexec of that MPI, or the \
                 option of srun for it. If each is to be a job of its own, set SCR_SERIAL=1 ({ALONE_IN_THE_WORLD})"
            ),
        ))
    }

    /// Records the name of the session in its prefix directory, and the session in the prefix directory of the job.
    /// Commands need it. Local.
    fn enter_session(&self, name: &str, prefix: &Prefix, of_job: &Path) {
        let of_job = Prefix::new(of_job);
        let enter = || {
            let files = &*prefix.confine(self.files, []);
            records::put(files, &prefix.session_file(), name.as_bytes())?;
            let files = &*of_job.confine(self.files, []);
            files.make_dirs(&of_job.sessions())?;
            let path = prefix.real().as_os_str().as_bytes();
            records::put(files, &of_job.sessions().join(name), path)
        };
        if let Err(error) = enter() {
            self.tell(Severity::Warning, record_not_written(&error));
        }
    }

    fn tell(&self, severity: Severity, text: String) {
        self.sink
            .take(self.speaker, &Message::of_run(severity, text));
    }
}

/// The newest dataset in the index if it is not complete.
fn unfinished(index: &Index) -> Option<Dataset> {
    let (_, newest) = index.datasets().last_key_value()?;
    newest.dataset.clone().filter(|_| !newest.complete)
}

/// Takes rank 0's message, and its settings into `config`. Local.
pub(in crate::session) fn receive(
    message: &[u8],
    environment: &Environment,
    config: &mut Config,
) -> Result<RunInfo> {
    let (tree, used) = unpack(message)?;
    let settings = message.get(used..).unwrap_or_default();
    config.take_over(settings, environment.clone())?;
    from_tree(&tree)
}

/// Reads environment variables and configuration files into `config`. Local.
pub fn load(files: &dyn Files, environment: &Environment, config: &mut Config) -> Result<()> {
    let read_file = |path: &Path| match files.read(path, MAX_FILE) {
        Err(error) if error.is_not_found() => Ok(None),
        other => other.map(Some),
    };
    config.load(environment.clone(), &environment.cwd, &read_file)
}
