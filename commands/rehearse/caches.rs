//! Brings checkpoints that are only in the caches of the emulated nodes to the prefix directory.

use super::super::call::Failure;
use super::super::{dataset, place};
use super::stage::{Launch, Stage, own_program};
use scr_engine::format::Name;
use scr_engine::job::program;
use scr_engine::prefix::paths::Prefix;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of a dataset is at most so deep in a cache.
const DEPTH: usize = 6;

/// Time that a copy may take.
const COPYING: Duration = Duration::from_secs(3600);

/// Brings the newest checkpoint of each name that `launches` have written, if it is in the caches and not in the prefix directory.
/// One of which too much is lost is left out.
pub(super) fn bring<'a>(
    stage: &Stage,
    launches: impl IntoIterator<Item = &'a Launch> + Clone,
) -> Result<(), Failure> {
    let nodes = stage.nodes();
    for (session, dir) in stage.sessions() {
        let prefix = Prefix::new(&dir);
        let files = place::files(&prefix);
        let mut newest = BTreeMap::new();
        for launch in launches.clone() {
            let seen = launch.seen.of(&session);
            for one in seen.into_iter().flat_map(|seen| &seen.completed) {
                newest.extend(one.id.map(|id| (one.name.as_str(), id)));
            }
        }
        for (name, id) in newest {
            let known = dataset::find(&*files, &prefix, &Name::from(name));
            if known.is_ok_and(|known| known.id == id) {
                continue;
            }
            let here = |node: &&(String, PathBuf)| is_in(&node.1.join("cache"), id, DEPTH);
            let nodes: Vec<_> = nodes.iter().filter(here).collect();
            if !nodes.is_empty() {
                copy(stage, &dir, id, &nodes)?;
            }
        }
    }
    Ok(())
}

/// True if a cache has a part of this dataset.
fn is_in(dir: &Path, id: u64, depth: usize) -> bool {
    if dir.join(format!("scr.dataset.{id}")).is_dir() {
        return true;
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    depth > 0
        && entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .any(|entry| is_in(&entry.path(), id, depth - 1))
}

/// What `scr scavenge` does on the nodes of a job. That a part is lost is no error: then the dataset is not completed.
fn copy(
    stage: &Stage,
    prefix: &Path,
    id: u64,
    nodes: &[&(String, PathBuf)],
) -> Result<(), Failure> {
    let own = own_program()?;
    let number = id.to_string();
    let words = |words: &[&str]| -> Vec<OsString> {
        let words = words.iter().map(OsString::from);
        words.chain(["--prefix".into(), prefix.into()]).collect()
    };
    for (node, dir) in nodes {
        let base = |name: &str| dir.join(name).to_string_lossy().into_owned();
        let set = [
            ("SCR_NODE_NAME", node.as_str()),
            ("SCR_CACHE_BASE", &base("cache")),
            ("SCR_CNTL_BASE", &base("control")),
            ("SCR_JOB_ID", stage.job()),
        ];
        let copy = words(&["copy", "--id", &number]);
        program::run(&own, &copy, &set, COPYING)?;
    }
    program::run(&own, &words(&["index", "--build", &number]), &[], COPYING)?;
    Ok(())
}
