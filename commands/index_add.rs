//! `scr index --add`: enters datasets that are in the prefix directory, and completes them first if they
//! need it.

use super::call::{Failure, Invocation};
use super::complete::complete;
use super::place;
use scr_engine::config::fold_dots;
use scr_engine::format::Name;
use scr_engine::format::print::escaped;
use scr_engine::job::clock::local_time;
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::FileKind;
use scr_engine::system::time::{SystemTime, UNIX_EPOCH};
use scr_jobs::datasets::add::{self, State};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Enters the dataset that `named` names: by its name, or by a directory that has all of its files, or by its
/// directory in `.scr`. These are relative to the current directory or to the prefix directory.
pub(super) fn add(
    call: &mut Invocation,
    prefix: &Prefix,
    named: &OsStr,
) -> std::result::Result<(), Failure> {
    let files = &*place::files(prefix);
    let all = add::datasets(files, prefix, &mut |text| call.warn(&text))?;
    let dirs = directories(prefix, named)?;
    let Some(found) = add::choose(files, prefix, all, named, &dirs) else {
        return Err(unknown(prefix, named)?);
    };
    add::check_number(files, prefix, &found.dataset)?;
    let (id, name) = (found.id, escaped(&found.dataset.name));
    writeln!(
        call.out,
        "Found `{name}' as dataset {id} at {}",
        prefix.dataset(id).display()
    )?;
    if add::enter(files, prefix, &found, &time_of)?.is_none() {
        // The scavenged files may be enough for it.
        return complete(call, prefix, id).map_err(|failure| half_written(&name, id, failure));
    }
    if found.state != State::Complete {
        writeln!(call.out, "All its files are there: wrote its summary")?;
    }
    writeln!(call.out, "Adding `{name}' to index")?;
    Ok(())
}

/// A time in seconds since 1970, or now.
fn time_of(seconds: Option<u64>) -> String {
    let time = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    local_time(time.unwrap_or_else(SystemTime::now))
}

/// The directories below the prefix directory that a path may mean.
fn directories(prefix: &Prefix, named: &OsStr) -> std::result::Result<Vec<PathBuf>, Failure> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let path = Path::new(named);
    let from_here = fold_dots(&place::absolute(path)?);
    let from_prefix = fold_dots(&prefix.root().join(path));
    let mut dirs = Vec::new();
    for dir in [from_here, from_prefix] {
        let below = dir
            .strip_prefix(prefix.root())
            .or_else(|_| dir.strip_prefix(prefix.real()));
        if let Ok(below) = below
            && !below.as_os_str().is_empty()
        {
            dirs.push(prefix.root().join(below));
        }
    }
    Ok(dirs)
}

/// The message for a dataset that is not complete.
fn half_written(name: &str, id: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Said(why) => Failure::said(format!(
            "`{name}' (dataset {id}) is not complete in the prefix directory, and is not entered: {why}; \
             `scr postrun` saves it if caches still have it"
        )),
        other => other,
    }
}

/// The message for a name that no dataset has.
fn unknown(prefix: &Prefix, named: &OsStr) -> std::result::Result<Failure, Failure> {
    let shown = escaped(&Name::from(named));
    let text = format!(
        "no summary in {} describes a dataset `{shown}'",
        prefix.meta().display()
    );
    let path = place::absolute(Path::new(named))?;
    let is_dir = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let dirs = directories(prefix, named)?;
    let files = place::files(prefix);
    let there = |dir: &PathBuf| {
        let stat = files.stat(dir).ok().flatten();
        stat.is_some_and(|stat| stat.kind == FileKind::Directory)
    };
    Ok(Failure::said(if dirs.iter().any(there) {
        format!(
            "{text}; there is such a directory, but no dataset that SCR has recorded there has all of its \
             files in it"
        )
    } else if dirs.is_empty() && is_dir(&path) {
        format!(
            "{text}; that directory is not below the prefix directory {}, which --prefix names",
            prefix.root().display()
        )
    } else {
        text
    }))
}
