//! `scr check-node`: checks this node's directories.

use super::call::{Failure, Invocation};
use super::job::{Job, key_path};
use super::list_dir::{Which, bases};
use super::{Outcome, RunCommand};
use scr_engine::config::ConfigItem;
use scr_engine::config::value::{Typed, ValueKind};
use scr_engine::store::{Files, posix::Posix};
use scr_engine::system::process;
use scr_engine::system::time::SystemTime;
use scr_engine::system::time::UNIX_EPOCH;
use scr_engine::text::compared;
use scr_engine::{Error, Result};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check that control and cache directories of this node can be used
///
/// Makes each directory that is missing, writes a small file there and removes it. If a size is
/// given, the file system must be that large or, with --free, have that much free space. Several
/// DIR[:SIZE] are separated by commas; SIZE may end in k, m, g, t. Without --cntl and --cache the
/// base directories of the configuration are checked.
///
/// Prints "scr_check_node: PASS" or "scr_check_node: FAIL: " and the reason.
///
/// Exit status: 0 passed, 1 failed.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Ask for free space instead of the size of the file system
    #[arg(short, long)]
    free: bool,
    /// Control directories
    #[arg(long, value_name = "DIR[:SIZE]", value_delimiter = ',', value_parser = place)]
    cntl: Vec<SizedDir>,
    /// Cache directories
    #[arg(long, value_name = "DIR[:SIZE]", value_delimiter = ',', value_parser = place)]
    cache: Vec<SizedDir>,
}

/// A directory, and how many bytes are expected there.
#[derive(Clone)]
struct SizedDir {
    dir: PathBuf,
    bytes: Option<u64>,
}

fn place(text: &str) -> std::result::Result<SizedDir, String> {
    let size = |text: &str| match ValueKind::Bytes(0, u64::MAX).parse(text) {
        Some(Typed::Bytes(bytes)) => Some(bytes),
        _ => None,
    };
    let (dir, bytes) = match text.rsplit_once(':') {
        // A colon may be part of a name, but not before something that begins like a number.
        Some((dir, bytes)) if bytes.starts_with(|c: char| c.is_ascii_digit()) => {
            let bytes = size(bytes).ok_or_else(|| {
                format!("`{bytes}` is not a size; write bytes, or a number with k, m, g, t")
            })?;
            (dir, Some(bytes))
        }
        _ => (text, None),
    };
    if Path::new(dir).is_absolute() {
        Ok(SizedDir {
            dir: dir.into(),
            bytes,
        })
    } else {
        Err("a path that begins with / is needed".to_string())
    }
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let mut places = [self.cntl.as_slice(), &self.cache].concat();
        if places.is_empty() {
            let job = Job::here(None)?;
            for which in [Which::Control, Which::Cache] {
                let dirs = bases(&job, which)?;
                places.extend(dirs.into_iter().map(|dir| SizedDir { dir, bytes: None }));
            }
        }
        for place in &places {
            if let Err(error) = check(place, self.free) {
                writeln!(call.out, "scr_check_node: FAIL: {error}")?;
                return Ok(ExitCode::FAILURE);
            }
        }
        writeln!(call.out, "scr_check_node: PASS")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn check(place: &SizedDir, free: bool) -> Result<()> {
    Posix.make_dirs(&place.dir)?;
    if let Some(bytes) = place.bytes {
        let space = Posix.space(&place.dir)?;
        let (have, what) = if free {
            (space.free, "free")
        } else {
            (space.total, "in all")
        };
        if have < bytes {
            let [have, wanted] = compared([have, bytes]);
            return Err(Error::config(
                place.dir.display().to_string(),
                format!("{have} {what}, but {wanted} are expected"),
            ));
        }
    }
    write_there(&place.dir)
}

/// Writes a new file. Never opens an existing file, because others may also write to this directory.
fn write_there(dir: &Path) -> Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    let path = dir.join(format!(".scr_check_node.{}.{nanos}", process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| {
            file.write_all(&[0; 4096])?;
            file.sync_all()
        })
        .map_err(|error| Error::io("write", &path, error));
    let removed = Posix.remove_file(&path);
    written.and(removed)
}

/// The command line of these checks, for any node of the job: the directories of CNTLDIR and CACHEDIR
/// lines with their sizes, else the base directories.
pub(super) fn command(job: &Job, free: bool) -> std::result::Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::said(format!("cannot find out where this program is: {error}"))
    })?;
    let mut words = vec![program.into_os_string(), "check-node".into()];
    if free {
        words.push("--free".into());
    }
    for (option, parent, which) in [
        ("--cntl", "CNTLDIR", Which::Control),
        ("--cache", "CACHEDIR", Which::Cache),
    ] {
        let items = job.config.items(parent);
        let named = items.len() > 0;
        for item in items {
            words.extend([option.into(), sized(job, parent, item)?]);
        }
        if !named {
            for dir in bases(job, which)? {
                words.extend([option.into(), dir.into_os_string()]);
            }
        }
    }
    Ok(words)
}

fn sized(job: &Job, parent: &str, item: &ConfigItem) -> Result<OsString> {
    let mut word = key_path(&job.config, parent, item)?.into_os_string();
    if let Some(value) = item.children.get("BYTES") {
        let kind = ValueKind::Bytes(0, i64::MAX as u64);
        if let Typed::Bytes(bytes) = job.config.convert("BYTES", value, &kind)? {
            word.push(format!(":{bytes}"));
        }
    }
    Ok(word)
}
