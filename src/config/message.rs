//! The settings that rank 0 sends to all ranks.

use super::layer::Layer;
use super::layers::Config;
use crate::Result;
use crate::format::{Name, from_message, to_message};
use crate::job::Environment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct SharedConfig {
    cwd: Name,
    env: Layer,
    user: Layer,
    call: Layer,
    system: Layer,
    undefined: BTreeSet<String>,
    session: Option<String>,
}

impl Config {
    /// All settings, to be broadcast. Warnings are not part of them.
    pub fn to_message(&self) -> Result<Vec<u8>> {
        let undefined = self.undefined.clone();
        to_message(&SharedConfig {
            cwd: self.cwd.as_os_str().into(),
            env: self.env.clone(),
            user: self.user.clone(),
            call: self.call.clone(),
            system: self.system.clone(),
            undefined: undefined.unwrap_or_else(|| self.undefined_variables()),
            session: self.session.clone(),
        })
    }

    /// Settings as rank 0 sent them. SCR_NODE_NAME, SCR_CACHE_BASE and SCR_CNTL_BASE come from this
    /// process's `environment` if they are set there, and variables are replaced from it. Any other
    /// difference from rank 0's environment is a warning; rank 0 alone warns of settings that all
    /// ranks share. The result can be changed until [`Config::freeze`].
    pub fn from_message(message: &[u8], environment: Environment) -> Result<Self> {
        let message: SharedConfig = from_message(message)?;
        let mut config = Config {
            env: message.env,
            user: message.user,
            call: message.call,
            system: message.system,
            cwd: message.cwd.as_path().to_path_buf(),
            loaded: true,
            undefined: Some(message.undefined),
            session: message.session,
            ..Config::default()
        };
        config.localise(environment)?;
        Ok(config)
    }

    /// Replaces these settings by those of [`Config::from_message`]. Warnings that were given are
    /// not given again.
    pub fn take_over(&mut self, message: &[u8], environment: Environment) -> Result<()> {
        let next = Config::from_message(message, environment)?;
        let said = std::mem::take(&mut self.said);
        *self = Config { said, ..next };
        Ok(())
    }
}
