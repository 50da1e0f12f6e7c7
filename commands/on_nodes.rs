//! Commands of ours for the nodes of a job.

use super::call::Failure;
use super::job::Job;
use super::list_dir::{Which, bases};
use scr_engine::cache::layout::Layout;
use scr_engine::job::RemoteCommand;
use std::ffi::OsString;
use std::path::Path;

/// The command `scr WORDS` for the nodes of a job, with what it cannot find out there.
pub(super) fn command_on_nodes(
    job: &Job,
    control: Option<&Path>,
    words: &[&str],
) -> Result<RemoteCommand, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::said(format!("cannot find out where this program is: {error}"))
    })?;
    // User and job id are found out here for all nodes, because remote commands may not get the
    // environment. Base directories may differ between nodes.
    let control = match control {
        Some(dir) => dir.to_path_buf(),
        None => {
            let bases = bases(job, Which::Control)?;
            let base = bases.first().cloned().unwrap_or_default();
            Layout::new(&base, &job.user()?, &job.id()?).job()
        }
    };
    let mut command = vec![program.into_os_string()];
    command.extend(words.iter().map(OsString::from));
    command.extend(["--prefix".into(), job.prefix.root().into()]);
    command.extend(["--cntldir".into(), control.into_os_string()]);
    let own = ["SCR_NODE_NAME", "SCR_PREFIX"];
    let set = job
        .environment
        .variables()
        .filter(|(name, _)| name.starts_with("SCR_") && !own.contains(name))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    Ok(RemoteCommand { command, set })
}
