//! Limits of memory and of space that are met while files are stored to.

use super::{COUNT, Program, read, site, write};
use crate::site::{Rank, Site, nodes};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, set_capabilities, unshare_unsafe};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A group of processes whose memory is limited.
struct Group {
    dir: PathBuf,
    /// The names of its files with the limit, and with the most that was used.
    limit: &'static str,
    peak: &'static str,
}

impl Group {
    /// Without a limit so far. `None`, with a line, where no such group can be made.
    fn new() -> Option<Group> {
        let name = format!("scr-test-{}", std::process::id());
        let of_versions = [
            (
                "memory",
                "memory.limit_in_bytes",
                "memory.max_usage_in_bytes",
            ),
            ("", "memory.max", "memory.peak"),
        ];
        for (controller, limit, peak) in of_versions {
            let dir = Path::new("/sys/fs/cgroup").join(controller).join(&name);
            if dir
                .parent()
                .is_some_and(|parent| parent.join("cgroup.procs").exists())
                && std::fs::create_dir(&dir).is_ok()
            {
                let group = Group { dir, limit, peak };
                if [limit, peak]
                    .iter()
                    .all(|file| group.dir.join(file).exists())
                {
                    return Some(group);
                }
            }
        }
        println!("SKIPPED: no group of processes with a limit of memory can be made here");
        None
    }

    /// The command by which a shell enters it.
    fn enter(&self) -> String {
        format!("echo $$ > {}", self.dir.join("cgroup.procs").display())
    }

    fn limit(&self, bytes: u64) {
        std::fs::write(self.dir.join(self.limit), bytes.to_string()).unwrap();
    }

    fn peak(&self) -> u64 {
        let text = std::fs::read_to_string(self.dir.join(self.peak));
        text.unwrap().trim().parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process may be on its way out.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Pages that are kept are not allocated once more. Where more are needed, the system ends the program by SIGKILL, or a call
/// fails.
#[test]
fn a_limit_of_memory_is_no_matter_until_more_is_needed() {
    let Some(site) = site("XOR") else { return };
    let Some(group) = Group::new() else { return };
    let mut program = Program::start(&site, &nodes(3), Some(&group.enter()));
    assert_eq!(program.restored(), 0);
    program.go(4, COUNT);
    program.complete(4);
    group.limit(group.peak() + (2 << 20));
    program.go(6, COUNT);
    let last = program.complete(6);
    program.go(2, 8 * COUNT);
    let (told, signal) = program.end();
    assert!(
        matches!(signal, None | Some(libc::SIGKILL)),
        "{signal:?}, {told:?}"
    );
    if signal.is_none() && told.iter().all(|line| line.starts_with("complete ")) {
        println!("SKIPPED: the limit of memory does not hold here");
    }
    let complete = told
        .iter()
        .filter(|line| line.starts_with("complete "))
        .count();
    let restored = site.run(&nodes(3), |rank| read(rank).unwrap());
    assert!(
        restored.iter().all(|step| *step >= last + complete as i64),
        "{restored:?}"
    );
}

/// What limits the space of a store.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    /// The size of the file system.
    Size,
    /// A quota of the user, of which the size of the file system tells nothing.
    Quota,
}

/// How many bytes a store of the tests has: about three datasets.
const ROOM: u64 = 24 << 20;

/// True if that was mounted.
fn mount(what: Option<&CStr>, place: &CStr, flags: libc::c_ulong, options: Option<&CStr>) -> bool {
    let or_null = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    let (kind, options) = (or_null(what), or_null(options).cast());
    // SAFETY: all texts end with 0, and live longer than the call.
    unsafe { libc::mount(kind, place.as_ptr(), kind, flags, options) == 0 }
}

/// Calls `body` with a directory on a tmpfs that has this limit, and ends with it. Says so where that may not be mounted.
fn with_small_store(limit: Limit, body: impl Fn(Site) + Sync) {
    let dir = tempfile::tempdir().unwrap();
    let options = match limit {
        Limit::Size => format!("size={ROOM}"),
        Limit::Quota => format!("usrquota,usrquota_block_hardlimit={ROOM}"),
    };
    let options = CString::new(options).unwrap();
    let in_a_thread = || {
        // SAFETY: only this thread, and those that it starts, get other mounts.
        let alone = unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok();
        let place = CString::new(dir.path().as_os_str().as_bytes()).unwrap();
        let private = libc::MS_REC | libc::MS_PRIVATE;
        if !alone
            || !mount(None, c"/", private, None)
            || !mount(Some(c"tmpfs"), &place, 0, Some(&options))
        {
            println!("SKIPPED: no tmpfs with {options:?} may be mounted here");
            return;
        }
        // Who has this is above quotas.
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::SYS_RESOURCE);
        set_capabilities(None, sets).unwrap();
        body(Site::at(tempfile::tempdir_in(dir.path()).unwrap()));
    };
    std::thread::scope(|scope| scope.spawn(in_a_thread).join()).unwrap();
}

/// Fills the store until so many bytes are left of it, or as far as that goes.
fn fill(site: &Site, left: u64) {
    use std::io::Write;
    let path = site.dir.path().join("filler");
    let mut file = std::fs::File::create(path).unwrap();
    let block = vec![1; 64 << 10];
    while file.write_all(&block).is_ok() {}
    let all = file.metadata().unwrap().len();
    file.set_len(all.saturating_sub(left)).unwrap();
}

fn empty(site: &Site) {
    std::fs::remove_file(site.dir.path().join("filler")).unwrap();
}

/// A store that is full in the middle of a file that is longer than the one whose place it takes, of a redundancy file, of a
/// record, or at the begin. What was complete stays, and the next checkpoint for which there is room is complete.
#[test]
fn a_store_that_is_full_in_the_middle_ends_nothing_and_costs_no_complete_checkpoint() {
    for limit in [Limit::Size, Limit::Quota] {
        with_small_store(limit, |site| {
            let site = site
                .set("SCR_CACHE_SIZE", "2")
                .set("SCR_FLUSH", "0")
                .set("SCR_COPY_TYPE", "XOR");
            let mut last = 0;
            let mut full = 0;
            for left in [0, 4, 100, 800, 1300, 2000, 2600, 3500, 4500, 5500] {
                let steps = site.run(&nodes(3), |rank| {
                    let mut step = read(rank).unwrap();
                    assert!(step >= last, "{step}, not {last}");
                    let mut refused = 0;
                    let mut next = |rank: &mut Rank, count| {
                        step += 1;
                        let done = write(rank, step, count);
                        refused += u64::from(done.is_err());
                        done.map(|()| step)
                    };
                    (0..4).for_each(|_| assert!(next(rank, COUNT).is_ok()));
                    let alone = |rank: &mut Rank, work: &dyn Fn()| {
                        rank.session.should_exit().unwrap();
                        if rank.rank == 0 {
                            work();
                        }
                        rank.session.should_exit().unwrap();
                    };
                    alone(rank, &|| fill(&site, left << 10));
                    let _ = next(rank, COUNT * 5 / 4);
                    let _ = next(rank, COUNT);
                    alone(rank, &|| empty(&site));
                    (0..2).for_each(|_| assert!(next(rank, COUNT).is_ok()));
                    let _ = next(rank, COUNT * 5 / 4);
                    let last = next(rank, COUNT).unwrap();
                    (last, refused)
                });
                last = steps[0].0;
                full += steps[0].1;
            }
            assert!(full > 5, "the store was hardly full: {full}");
            let restored = site.run(&nodes(3), |rank| read(rank).unwrap());
            assert_eq!(restored, [last; 3]);
        });
    }
}
