//! Files that a program writes in its checkpoints, but not where SCR_Route_file says.

use super::super::call::Failure;
use super::super::place;
use super::seen::Sessions;
use super::stage::Stage;
use scr_engine::Error;
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::{index, rank2file};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files in the current directory of the undisturbed run that were last written in one of its checkpoints, and belong to no
/// dataset. Files of `results` do not count.
pub(super) fn find(
    stage: &Stage,
    seen: &Sessions,
    results: &[PathBuf],
) -> Result<Vec<PathBuf>, Failure> {
    let mut known = BTreeSet::new();
    let mut metas = BTreeSet::new();
    for (_, root) in stage.sessions() {
        // A session may have a prefix directory elsewhere.
        if let Ok(below) = root.strip_prefix(stage.dir()) {
            known.extend(routed(&root)?.into_iter().map(|file| below.join(file)));
            metas.insert(below.join(".scr"));
        }
    }
    let mut found = Vec::new();
    let mut queue = vec![PathBuf::new()];
    while let Some(below) = queue.pop() {
        let dir = stage.dir().join(&below);
        let entries = std::fs::read_dir(&dir).map_err(|error| Error::io("read", &dir, error))?;
        for entry in entries.flatten() {
            let path = below.join(entry.file_name());
            // A file may go meanwhile.
            let Ok(stat) = entry.metadata() else { continue };
            if stat.is_dir() && !metas.contains(&path) {
                queue.push(path);
            } else if stat.is_file() && !known.contains(&path) && !results.contains(&path) {
                let written = stat.mtime() as f64 + stat.mtime_nsec() as f64 / 1e9;
                if seen
                    .completed()
                    .any(|one| (one.begun..=one.at).contains(&written))
                {
                    found.push(path);
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The files of all datasets in the index, relative to the prefix directory.
fn routed(root: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let prefix = Prefix::new(root);
    let mut files = BTreeSet::new();
    if !prefix.meta().exists() {
        return Ok(files);
    }
    let store = place::files(&prefix);
    for id in index::read(&*store, &prefix)?.datasets().keys() {
        // A dataset that is not complete has no list.
        let _ = rank2file::for_each(&*store, &prefix.dataset(*id), |_, entry| {
            files.extend(entry.files.keys().map(|name| name.as_path().to_path_buf()));
            Ok(())
        });
    }
    Ok(files)
}
