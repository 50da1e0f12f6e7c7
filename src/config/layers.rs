//! All sources of settings.

use super::expand::expand;
use super::file;
use super::layer::{ConfigItem, Items, Layer, Value};
use super::scan::quote;
use super::system_file::{ALLOWED_BASES, SITE_ONLY, chosen_file, installed_file};
use super::table::{self, Parameter};
use super::value::{Typed, ValueKind};
use crate::job::Environment;
use crate::messages::BAD_PARAMETER;
use crate::text::excerpt;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The source of a setting. An earlier source overrides a later one, and all of them override the
/// compiled default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigSource {
    /// Environment variable.
    Environment,
    /// User configuration file.
    User,
    /// `SCR_Config`.
    Call,
    /// System configuration file.
    System,
}

/// Parameters that each process takes from its own environment.
const LOCAL: [&str; 3] = ["SCR_NODE_NAME", "SCR_CACHE_BASE", "SCR_CNTL_BASE"];

/// All settings, by source. A multi-item parameter has all its items from the highest source that has
/// any.
///
/// Rank 0 calls [`Config::load`] and sends [`Config::to_message`] to the others.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub(super) env: Layer,
    pub(super) user: Layer,
    pub(super) call: Layer,
    pub(super) system: Layer,
    pub(super) environment: Environment,
    pub(super) cwd: PathBuf,
    pub(super) system_path: PathBuf,
    pub(super) frozen: bool,
    pub(super) loaded: bool,
    pub(super) problems: Vec<String>,
    pub(super) said: BTreeSet<String>,
    /// The variables that are not defined on rank 0, if the settings came from there.
    pub(super) undefined: Option<BTreeSet<String>>,
    /// True in a command, false in a program.
    pub(super) in_command: bool,
    /// The name of the session; `None` for that of MPI_COMM_WORLD.
    pub(super) session: Option<String>,
}

impl Config {
    /// An empty configuration.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty configuration of a command.
    pub fn of_command() -> Self {
        Config {
            in_command: true,
            ..Self::default()
        }
    }

    /// An empty configuration of a session with a name. Its prefix directory is a directory of that name below the
    /// job's, unless `SCR_Config` sets another one for the session.
    pub fn of_session(name: &str) -> Self {
        Config {
            session: Some(name.to_string()),
            ..Self::default()
        }
    }

    /// The name of the session; `None` for that of MPI_COMM_WORLD.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Reads environment and files again, and keeps the settings of `SCR_Config`. Local; for rank
    /// 0.
    ///
    /// `read_file` returns the content of a file, or `None` if it does not exist. It should refuse files
    /// larger than [`super::MAX_FILE`]. `cwd` is absolute; relative paths are relative to it. An empty
    /// environment variable counts as not set. Lines that cannot be used become warnings.
    ///
    /// # Errors
    /// A parameter in the environment is not UTF-8, or a file cannot be read. After these errors nothing has changed.
    pub fn load(
        &mut self,
        environment: Environment,
        cwd: &Path,
        read_file: &dyn Fn(&Path) -> Result<Option<Vec<u8>>>,
    ) -> Result<()> {
        environment.check_text(table::names())?;
        let mut next = Config {
            env: env_layer(&environment),
            call: self.call.clone(),
            environment,
            cwd: cwd.to_path_buf(),
            frozen: self.frozen,
            loaded: true,
            said: self.said.clone(),
            in_command: self.in_command,
            session: self.session.clone(),
            ..Config::default()
        };
        next.load_system(read_file)?;
        let user = next.user_file()?;
        let chosen = next.chosen_user_file().is_some();
        match read_file(&user)? {
            Some(bytes) => {
                let problems;
                (next.user, problems) = file::parse(&user, &bytes)?;
                next.problems.extend(problems);
            }
            None if chosen => next.problems.push(format!(
                "SCR_CONF_FILE: there is no file {}",
                user.display()
            )),
            None => {}
        }
        *self = next;
        Ok(())
    }

    /// Reads the system configuration file. The installed file cannot be replaced by
    /// SCR_SYSTEM_CONF if it limits the settings of users.
    fn load_system(&mut self, read_file: &dyn Fn(&Path) -> Result<Option<Vec<u8>>>) -> Result<()> {
        let read = |next: &mut Config, path: PathBuf| {
            let (layer, problems) = match read_file(&path)? {
                Some(bytes) => file::parse(&path, &bytes)?,
                None => Default::default(),
            };
            next.system = layer;
            next.system_path = path;
            Result::Ok(problems)
        };
        let installed = installed_file(&self.environment, self.in_command);
        let mut problems = read(self, installed)?;
        let chosen = chosen_file(&self.environment, &self.cwd);
        if let Some(chosen) = chosen.filter(|chosen| *chosen != self.system_path) {
            if self.has_limits() {
                problems.push(format!(
                    "environment: SCR_SYSTEM_CONF is ignored, as {} limits what users may set ({} \
                     or {})",
                    self.system_path.display(),
                    SITE_ONLY,
                    ALLOWED_BASES
                ))
            } else {
                problems = read(self, chosen)?
            }
        }
        self.problems.extend(problems);
        Ok(())
    }

    /// True before [`Config::load`], and after `SCR_Config` has changed which user file must be read.
    pub fn needs_load(&self) -> bool {
        !self.loaded
    }

    /// Forbids changes through `SCR_Config`. Called at the end of `SCR_Init`.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Allows changes again. Called at the end of `SCR_Finalize`.
    pub fn thaw(&mut self) {
        self.frozen = false;
    }

    /// The effective value as it was written, and its source; `None` if it was not set.
    pub fn find(&self, name: &str) -> Option<(ConfigSource, &Value)> {
        self.layers_for(name)
            .find_map(|(s, layer)| Some((s, layer.plain.get(name)?)))
    }

    /// The effective value with its variables replaced; `None` if it was not set.
    ///
    /// # Errors
    /// See [`Config::expand`].
    pub fn get(&self, name: &str) -> Result<Option<String>> {
        self.find(name)
            .map(|(_, value)| self.expand(name, value))
            .transpose()
    }

    /// The place where the effective value was set: "environment", "FILE:LINE", "SCR_Config" or
    /// "default".
    pub fn origin(&self, name: &str) -> String {
        self.find(name)
            .map_or_else(|| "default".to_string(), |(_, value)| value.place.clone())
    }

    /// Items of a multi-item parameter, sorted by key.
    pub fn items(&self, parent: &str) -> impl ExactSizeIterator<Item = &ConfigItem> {
        static NONE: Items = Items::new();
        let mut found = self
            .layers_for(parent)
            .filter_map(|(_, l)| l.items.get(parent));
        found.next().unwrap_or(&NONE).values()
    }

    /// The source of [`Config::items`]; `None` without items.
    pub(super) fn source_of_items(&self, parent: &str) -> Option<ConfigSource> {
        self.layers_for(parent)
            .find_map(|(source, layer)| layer.items.contains_key(parent).then_some(source))
    }

    /// Replaces the variables of a value. `name` is its name in messages.
    ///
    /// # Errors
    /// The value becomes too long, or a variable is not UTF-8.
    pub fn expand(&self, name: &str, value: &Value) -> Result<String> {
        let expanded = expand(&value.text, &self.environment);
        expanded
            .map(|e| e.text)
            .map_err(|what| Error::config(&value.place, format!("{name} {what}")))
    }

    /// The effective value or the compiled default, converted; `None` without either.
    pub fn typed(&self, parameter: &Parameter) -> Result<Option<Typed>> {
        let name = parameter.name;
        match self.find(name) {
            Some((_, value)) => self.convert(name, value, &parameter.kind).map(Some),
            None if parameter.default.is_empty() => Ok(None),
            None => Ok(parameter.kind.parse(parameter.default)),
        }
    }

    /// True if a parameter with the values 0 and 1 is 1, and can be read.
    pub fn is_on(&self, name: &str) -> bool {
        let typed = table::parameter(name).map(|parameter| self.typed(parameter));
        matches!(typed, Some(Ok(Some(Typed::Bool(true)))))
    }

    /// Converts a value. The error names the parameter, the place of its setting, the allowed
    /// values, and the remedy.
    pub fn convert(&self, name: &str, value: &Value, kind: &ValueKind) -> Result<Typed> {
        let text = if kind.has_variables() {
            self.expand(name, value)?
        } else {
            value.text.clone()
        };
        kind.parse(&text)
            .ok_or_else(|| malformed(name, value, &text, kind))
    }

    /// The prefix directory: absolute, with `.` and `..` folded as text.
    pub fn prefix(&self) -> Result<PathBuf> {
        const NAME: &str = "SCR_PREFIX";
        let Some(name) = &self.session else {
            return self.prefix_of_job();
        };
        // A setting of the program for one session counts more than the environment, which is for
        // all sessions.
        let own = self.call.plain.get(NAME).filter(|_| !self.is_of_site(NAME));
        match own {
            Some(own) => Ok(self.absolute(&self.expand(NAME, own)?)),
            None => Ok(self.prefix_of_job()?.join(name)),
        }
    }

    /// The prefix directory of the session of MPI_COMM_WORLD. Settings of sessions with a name are left out.
    pub fn prefix_of_job(&self) -> Result<PathBuf> {
        let mut layers = self.layers_for("SCR_PREFIX");
        let of_all = |source| self.session.is_none() || source != ConfigSource::Call;
        let given = layers
            .find_map(|(source, layer)| layer.plain.get("SCR_PREFIX").filter(|_| of_all(source)));
        let given = given
            .map(|value| self.expand("SCR_PREFIX", value))
            .transpose()?;
        if given.as_ref().is_some_and(String::is_empty) {
            return Err(Error::config(
                self.origin("SCR_PREFIX"),
                "SCR_PREFIX is empty after its variables were replaced",
            ));
        }
        Ok(self.absolute(given.as_deref().unwrap_or(".")))
    }

    /// `path` relative to the current directory of rank 0, with `.` and `..` folded.
    pub fn absolute(&self, path: &str) -> PathBuf {
        fold_dots(&self.cwd.join(path))
    }

    /// The path of the system configuration file, which may not exist; empty before [`Config::load`].
    pub fn system_file(&self) -> &Path {
        &self.system_path
    }

    /// The path of the user configuration file, which may not exist.
    ///
    /// # Errors
    /// The path depends on a parameter that is too long with its variables, or empty.
    pub fn user_file(&self) -> Result<PathBuf> {
        match self.chosen_user_file() {
            Some(value) => Ok(self.cwd.join(self.expand("SCR_CONF_FILE", value)?)),
            None => Ok(self.prefix_of_job()?.join(".scrconf")),
        }
    }

    /// The value of SCR_CONF_FILE, which no configuration file can set.
    fn chosen_user_file(&self) -> Option<&Value> {
        if self.is_of_site("SCR_CONF_FILE") {
            return None;
        }
        let layers = [&self.env, &self.call];
        layers.iter().find_map(|l| l.plain.get("SCR_CONF_FILE"))
    }

    /// The text of `<prefix>/.scr/app.conf`: the settings of `SCR_Config`, for commands that run later.
    /// The text is a configuration file. The text has no password, since other users may read it.
    pub fn app_conf(&self) -> String {
        let mut out = String::new();
        let is_shown = |(name, _): &(&String, &Value)| *name != table::SECRET;
        for (name, value) in self.call.plain.iter().filter(is_shown) {
            out.push_str(&format!("{name}={}\n", quote(&value.text)));
        }
        for (parent, items) in &self.call.items {
            for item in items.values() {
                out.push_str(&format!("{parent}={}", quote(&item.key)));
                for (child, value) in &item.children {
                    out.push_str(&format!(" {child}={}", quote(&value.text)));
                }
                out.push('\n');
            }
        }
        out
    }

    /// Puts this process's own values into settings that came from rank 0.
    pub(super) fn localise(&mut self, environment: Environment) -> Result<()> {
        environment.check_text(LOCAL)?;
        let own = env_layer(&environment);
        for p in table::PARAMETERS {
            let (mine, theirs) = (own.plain.get(p.name), self.env.plain.get(p.name));
            match mine {
                Some(value) if LOCAL.contains(&p.name) => {
                    self.env.plain.insert(p.name.into(), value.clone());
                }
                // The value itself is not shown: it may be a password.
                Some(_) if mine != theirs => self.problems.push(format!(
                    "environment: {} differs from that of rank 0, whose value counts",
                    p.name
                )),
                _ => {}
            }
        }
        // The node name of rank 0 would be wrong on other nodes.
        if !own.plain.contains_key("SCR_NODE_NAME") {
            self.env.plain.remove("SCR_NODE_NAME");
        }
        self.environment = environment;
        Ok(())
    }

    /// The sources that may set `name`, highest first.
    fn layers_for(&self, name: &str) -> impl Iterator<Item = (ConfigSource, &Layer)> {
        let only_site = self.is_of_site(name);
        let layers = self.layers().into_iter();
        layers.filter(move |(source, _)| !only_site || *source == ConfigSource::System)
    }

    /// All sources, highest first.
    pub(super) fn layers(&self) -> [(ConfigSource, &Layer); 4] {
        [
            (ConfigSource::Environment, &self.env),
            (ConfigSource::User, &self.user),
            (ConfigSource::Call, &self.call),
            (ConfigSource::System, &self.system),
        ]
    }
}

/// The error for a value that its parameter does not allow.
pub(super) fn malformed(name: &str, value: &Value, text: &str, kind: &ValueKind) -> Error {
    Error::config(
        &value.place,
        format!(
            "{name} is `{}` but must be {}; correct or remove it ({BAD_PARAMETER})",
            excerpt(text, 60),
            kind.allowed()
        ),
    )
}

fn env_layer(environment: &Environment) -> Layer {
    let mut layer = Layer::default();
    for p in table::PARAMETERS {
        if let Some(text) = environment.get(p.name).filter(|text| !text.is_empty()) {
            layer.set(p.name, text, "environment");
        }
    }
    layer
}

/// Folds `.`, `..` and repeated slashes of an absolute path, as text.
pub fn fold_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}
