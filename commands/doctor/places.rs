//! The directories on this node: file system, free space, and whether they can be used.

use super::report::DoctorReport;
use crate::call::Failure;
use crate::job::Job;
use crate::json::DirectoryJson;
use crate::place;
use crate::retries_halt::{halt_reasons, halt_seconds};
use rustix::fs::{Access, AtFlags, CWD, accessat, statfs};
use scr_engine::Error;
use scr_engine::cache::{dataset, layout::Layout};
use scr_engine::config::Settings;
use scr_engine::config::descriptors::{Descriptors, StoreDescriptor};
use scr_engine::job::clock;
use scr_engine::prefix::index;
use scr_engine::store::{Files, posix::Posix};
use scr_engine::text::bytes;
use scr_engine::text::{option, quoted};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Space for datasets.
pub(super) struct Places {
    /// Free in the prefix directory, bytes; `None` if not known.
    pub prefix: Option<u64>,
    /// Free in each store, together with the space that this job's datasets take there.
    pub stores: Vec<Option<u64>>,
}

/// The nodes that see the files of a file system.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// Memory of this node.
    Memory,
    /// Storage of this node, or an unknown file system.
    Node,
    /// Other nodes also see the place.
    Shared,
}

/// Reports the directories of the configuration.
pub(super) fn look(
    job: &Job,
    settings: &Settings,
    all: &Descriptors,
    nodes: usize,
    report: &mut DoctorReport,
) -> Places {
    report.section("Directories, as this node sees them");
    let (space, reach) = directory("prefix", &settings.prefix, true, report);
    // SCR_REMOTE=LOCAL: one machine emulates all nodes.
    let apart = nodes > 1 && job.get("SCR_REMOTE").is_none_or(|way| way != "LOCAL");
    if reach == Reach::Memory && apart {
        report.wrong(
            format!(
                "the prefix directory {} is in memory of this node: other nodes do not see it, \
                 and its files go with the node",
                settings.prefix.display()
            ),
            "set SCR_PREFIX to a directory that all nodes share",
        );
    }
    let owner = job.user().and_then(|user| Ok((user, job.id()?))).ok();
    let mut places = Places {
        prefix: space,
        stores: vec![None; all.stores.len()],
    };
    directory("control", &settings.cntl_base, true, report);
    for (store, place) in all.stores.iter().zip(&mut places.stores) {
        let mut schemes = all
            .schemes
            .iter()
            .filter(|s| s.enabled && s.store == store.index);
        if !store.enabled || schemes.clone().next().is_none() {
            continue;
        }
        let (space, reach) = directory("cache", &store.dir, store.mkdir, report);
        let private = !store.outlives_nodes() && schemes.any(|s| !s.bypass);
        if reach == Reach::Shared && private && apart {
            wrongly_private(store, report);
        }
        if let Some((user, id)) = &owner {
            let layout = Layout::new(&store.dir, user, id);
            if let Err(error) = Posix.check_private_dirs(&store.dir, layout.below()) {
                report.wrong(error, "");
            }
            let held = dataset::disk_usage(&Posix, &layout.job(), 4096).unwrap_or(0);
            *place = space.map(|free| free.saturating_add(held));
        }
    }
    places
}

fn wrongly_private(store: &StoreDescriptor, report: &mut DoctorReport) {
    let dir = store.dir.display();
    report.wrong(
        format!("{dir} is on a file system that nodes share, but counts as each node's own"),
        format!("use storage in the nodes, such as /dev/shm, or say STORE={dir} VIEW=GLOBAL"),
    );
}

/// Reports one directory. Returns its free space in bytes, and which nodes see it.
fn directory(
    what: &str,
    path: &Path,
    made: bool,
    report: &mut DoctorReport,
) -> (Option<u64>, Reach) {
    let (existing, flaw) = existing(path, made);
    let Some(existing) = existing else {
        report.fact(what, path.display());
        report.directory(DirectoryJson {
            role: what.to_string(),
            path: path.to_string_lossy().into_owned(),
            exists: false,
            file_system: None,
            free_bytes: None,
            total_bytes: None,
        });
        report.wrong(flaw.unwrap_or_default(), "");
        return (None, Reach::Node);
    };
    let (kind, reach) = file_system(&existing);
    let space = Posix.space(&existing).ok();
    let room = match space {
        Some(space) => format!("{} of {} free", bytes(space.free), bytes(space.total)),
        None => "free space is not known".to_string(),
    };
    report.directory(DirectoryJson {
        role: what.to_string(),
        path: path.to_string_lossy().into_owned(),
        exists: existing == path,
        file_system: Some(kind),
        free_bytes: space.map(|space| space.free),
        total_bytes: space.map(|space| space.total),
    });
    let missing = if existing == path { "" } else { ", to be made" };
    report.fact(
        what,
        format!("{} ({kind}, {room}{missing})", path.display()),
    );
    if let Some(flaw) = flaw.or_else(|| not_writable(&existing)) {
        report.wrong(
            flaw,
            format!("choose another {what} directory, or have this one made usable"),
        );
    }
    (space.map(|space| space.free), reach)
}

/// The directory, or the nearest existing one above it; and why it cannot be used.
fn existing(path: &Path, made: bool) -> (Option<PathBuf>, Option<String>) {
    for above in path.ancestors() {
        let wrong = |what: &str| Some(format!("{} {what}", above.display()));
        match std::fs::metadata(above) {
            Ok(meta) if !meta.is_dir() => return (None, wrong("is not a directory")),
            Ok(_) if above != path && !made => {
                let what = format!("{} does not exist, and MKDIR=0", path.display());
                return (Some(above.to_path_buf()), Some(what));
            }
            Ok(_) => return (Some(above.to_path_buf()), None),
            // The directory does not exist, or something above it is not a directory.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => {}
            Err(error) => return (None, wrong(&format!("cannot be looked at: {error}"))),
        }
    }
    (None, Some(format!("{} does not exist", path.display())))
}

fn not_writable(dir: &Path) -> Option<String> {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    let errno = accessat(CWD, dir, rights, AtFlags::EACCESS).err()?;
    let error: Error = Error::io("write to", dir, errno.into());
    Some(error.to_string())
}

/// The kind of file system that a directory is on.
fn file_system(dir: &Path) -> (&'static str, Reach) {
    // Numbers from statfs(2) and from the file systems' own sources.
    let magic = statfs(dir).map_or(0, |found| found.f_type as u64 & 0xffff_ffff);
    match magic {
        0x0102_1994 => ("tmpfs", Reach::Memory),
        0x8584_58f6 => ("ramfs", Reach::Memory),
        0xef53 => ("ext4", Reach::Node),
        0x5846_5342 => ("xfs", Reach::Node),
        0x9123_683e => ("btrfs", Reach::Node),
        0x2fc1_2fc1 => ("zfs", Reach::Node),
        0x794c_7630 => ("overlay", Reach::Node),
        0x6969 => ("nfs", Reach::Shared),
        0x0bd0_0bd0 => ("lustre", Reach::Shared),
        0x4750_4653 => ("gpfs", Reach::Shared),
        0x1983_0326 => ("beegfs", Reach::Shared),
        0x00c3_6400 => ("ceph", Reach::Shared),
        0xff53_4d42 | 0xfe53_4d42 => ("smb", Reach::Shared),
        0x6573_5546 => ("fuse", Reach::Node),
        _ => ("another file system", Reach::Node),
    }
}

/// Reports the datasets of the prefix directory, and the obstacles there to the start of a run.
pub(super) fn prefix(job: &Job, settings: &Settings, report: &mut DoctorReport) {
    report.section("Prefix directory");
    obstacles(job, report);
    if !job.prefix.meta().is_dir() {
        report.fact("datasets", "none: SCR has not used it yet");
        return;
    }
    let index = match index::read(&*place::files(&job.prefix), &job.prefix) {
        Ok(index) => index,
        Err(error) => {
            let dir = option("--prefix", settings.prefix.as_os_str().as_bytes());
            report.wrong(
                error,
                format!("move it away, and add each dataset: scr index {dir} --add NAME"),
            );
            return;
        }
    };
    let good = index.datasets().values().filter(|entry| entry.is_good());
    let current = index
        .current()
        .map_or("none".to_string(), ToString::to_string);
    let all = index.datasets().len();
    report.fact(
        "datasets",
        format!("{all}, {} complete and good", good.count()),
    );
    report.fact("current", current);
    match halting(job) {
        Ok(reasons) if reasons.is_empty() => report.fact("halt", "nothing asks for a halt"),
        Ok(reasons) => report.wrong(
            format!(
                "the next run stops as soon as it asks: {}",
                reasons.join(", ")
            ),
            format!(
                "run: scr halt --remove {}",
                quoted(settings.prefix.as_os_str().as_bytes())
            ),
        ),
        Err(failure) => report.wrong(failure, "run: scr halt --remove"),
    }
}

/// Reports directories in the prefix directory to which no dataset can be flushed: links, and those that this user may not
/// write to.
fn obstacles(job: &Job, report: &mut DoctorReport) {
    // A directory with very many entries is one of data.
    const MOST: usize = 1000;
    let files = place::files(&job.prefix);
    let names = files.list(job.prefix.root()).unwrap_or_default();
    for name in names.iter().take(MOST) {
        let path = job.prefix.root().join(name);
        let is_dir = std::fs::metadata(&path).is_ok_and(|meta| meta.is_dir());
        if let (true, Err(error)) = (is_dir, files.may_add(&path)) {
            let text = format!("no dataset with files in it can be flushed: {error}");
            report.fact("in the way", text);
        }
    }
}

/// The reasons that would stop a run now. A call of SCR_Finalize in the last run is not such a
/// reason.
fn halting(job: &Job) -> Result<Vec<String>, Failure> {
    // An unknown end is reported elsewhere.
    let end = || Ok(job.end().ok().flatten().filter(|end| *end > clock::now()));
    let seconds = halt_seconds(job).ok().flatten();
    let mut reasons = halt_reasons(&job.prefix, seconds, end)?;
    reasons.retain(|reason| reason != scr_engine::policy::halt::FINALIZED);
    Ok(reasons)
}
