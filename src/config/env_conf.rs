//! `.scr/env.conf`: the parameters in the environment of a run, for commands that look at the prefix
//! directory later.

use super::layers::Config;
use super::table;

/// Parameters that say where and in which job a process is.
const OF_JOB: [&str; 6] = [
    "SCR_PREFIX",
    "SCR_NODE_NAME",
    "SCR_NODELIST",
    "SCR_JOB_ID",
    "SCR_JOB_NAME",
    "SCR_END_TIME",
];

impl Config {
    /// The text of `<prefix>/.scr/env.conf`: the parameters that the environment of the run has set, for `scr
    /// doctor`. The file has no password, and no value that belongs to this job or this node only.
    pub fn env_conf(&self) -> String {
        let is_shown = |name: &str| name != table::SECRET && !OF_JOB.contains(&name);
        self.env
            .plain
            .iter()
            .filter(|(name, _)| table::parameter(name).is_some() && is_shown(name))
            .filter(|(_, value)| !value.text.contains('\n'))
            .map(|(name, value)| format!("{name}={}\n", value.text))
            .collect()
    }
}
