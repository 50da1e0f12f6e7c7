//! File systems that refuse one kind of call each time, in flushes, fetches and rebuilds: object stores, CIFS and FUSE do,
//! and quotas. What is optional fails nothing and is told once; content and its durability are not optional.

use crate::site::{Rank, Site};
use scr::format::Name;
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty, RESTORE};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

const NODES: [&str; 2] = ["n0", "n1"];

/// What the system may answer to any call.
const ERRNOS: [i32; 10] = [
    libc::EPERM,
    libc::EACCES,
    libc::EINVAL,
    libc::ENOSYS,
    libc::EOPNOTSUPP,
    libc::ENODEV,
    libc::EINTR,
    libc::EIO,
    libc::ENOSPC,
    libc::EDQUOT,
];

/// Large enough that space is reserved for it.
const DENSE: usize = (1 << 20) + 10;

/// A file with two holes, one of them at its end.
const SPARSE: u64 = 1 << 18;

fn dense_content(rank: usize) -> Vec<u8> {
    b"some bytes".repeat(DENSE / 10 + 1)[..DENSE - rank].to_vec()
}

fn write(rank: &mut Rank, name: &str) -> scr::Result<()> {
    rank.session
        .start_output(Some(Name::from(name)), true, false)?;
    let dense = rank.session.route(Path::new(&file(rank, name, "dense")))?;
    std::fs::write(dense, dense_content(rank.rank)).unwrap();
    let sparse = rank.session.route(Path::new(&file(rank, name, "sparse")))?;
    let sparse = std::fs::File::create(sparse).unwrap();
    sparse.set_len(SPARSE).unwrap();
    sparse.write_all_at(b"begin", 0).unwrap();
    sparse.write_all_at(b"middle", SPARSE / 2).unwrap();
    rank.session.complete_output(true)
}

fn file(rank: &Rank, name: &str, kind: &str) -> String {
    format!("{name}/{kind}_{}", rank.rank)
}

/// True if the file has the bytes that [`write`] has written.
fn is_whole(rank: usize, dense: &Path, sparse: &Path) -> bool {
    let mut wanted = vec![0; SPARSE as usize];
    wanted[..5].copy_from_slice(b"begin");
    let middle = SPARSE as usize / 2;
    wanted[middle..middle + 6].copy_from_slice(b"middle");
    std::fs::read(dense).unwrap() == dense_content(rank) && std::fs::read(sparse).unwrap() == wanted
}

/// Restarts from this checkpoint.
fn read(rank: &mut Rank, name: &str) -> scr::Result<()> {
    let offered = rank.session.have_restart()?.map(|name| name.to_string());
    assert_eq!(offered.as_deref(), Some(name));
    rank.session.start_restart()?;
    let dense = rank.session.route(Path::new(&file(rank, name, "dense")))?;
    let sparse = rank.session.route(Path::new(&file(rank, name, "sparse")))?;
    assert!(is_whole(rank.rank, &dense, &sparse));
    rank.session.complete_restart(true)
}

/// A site whose files can be refused, with a flush of each checkpoint.
fn site(more: &[(&str, &str)]) -> (Site, Faults) {
    let mut site = Site::in_memory()
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_FLUSH", "1")
        .set("SCR_CACHE_SIZE", "2");
    for (name, value) in more {
        site = site.set(name, value);
    }
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files);
    (site, faults)
}

fn in_prefix(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "prefix")
}

fn in_cache(path: &Path) -> bool {
    !in_prefix(path)
}

fn lose_all(site: &Site) {
    let there = NODES.into_iter().filter(|node| site.node(node).exists());
    there.for_each(|node| site.lose(node));
}

/// The kinds of calls that a copy can do without.
const OPTIONAL: [&str; 5] = [
    RESTORE,
    "set the size of",
    "allocate",
    "start to sync",
    "look at the space of",
];

/// No room is no refusal: a file must not be begun that cannot be written.
fn is_no_room(action: &str, errno: i32) -> bool {
    action == "allocate" && is_full(errno)
}

fn is_full(errno: i32) -> bool {
    [libc::ENOSPC, libc::EDQUOT].contains(&errno)
}

/// True if the loss of the holes of a file is told: if the disk is full, writing tells.
fn loses_holes(action: &str, errno: i32) -> bool {
    action == "set the size of" && !is_full(errno)
}

/// The warnings of what was not kept.
fn told(site: &Site) -> Vec<String> {
    site.heard("(SCR-321)")
}

/// A run of one checkpoint, while one kind of call is refused in the prefix directory.
fn flush_refused(way: &[(&str, &str)], action: &'static str, errno: i32) {
    let (site, faults) = site(way);
    site.run(&NODES, |rank| {
        if rank.rank == 0 {
            faults.refuse(action, errno, in_prefix);
        }
        rank.session.should_exit().unwrap();
        write(rank, "ck").unwrap();
        rank.finalize().unwrap();
    });
    let what = format!(
        "{way:?}, {action}, {errno}:\n{}",
        site.events.lines().join("\n")
    );
    faults.refuse_nothing();
    let contained = way.iter().any(|(name, _)| *name == "SCR_USE_CONTAINERS");
    // Containers have no attributes and no holes.
    let lost = action == RESTORE || loses_holes(action, errno);
    let warnings = usize::from(lost && !contained);
    assert_eq!(told(&site).len(), warnings, "{what}");
    for warning in told(&site) {
        let file = if action == RESTORE {
            "ck/"
        } else {
            "ck/sparse_"
        };
        let text = std::io::Error::from_raw_os_error(errno).to_string();
        assert!(
            warning.contains(action) && warning.contains(file) && warning.contains(&text),
            "{what}"
        );
    }
    lose_all(&site);
    if !contained {
        for rank in 0..NODES.len() {
            let path = |kind: &str| site.prefix().join(format!("ck/{kind}_{rank}"));
            assert!(is_whole(rank, &path("dense"), &path("sparse")), "{what}");
        }
    }
    site.run(&NODES, |rank| read(rank, "ck").unwrap());
}

#[test]
fn a_flush_does_without_what_a_file_system_refuses() {
    for action in OPTIONAL {
        for errno in ERRNOS {
            if !is_no_room(action, errno) {
                flush_refused(&[], action, errno);
            }
        }
    }
}

/// Each rank notes it of each checkpoint.
#[test]
fn what_is_not_kept_is_told_once_in_a_run() {
    let (site, faults) = site(&[]);
    faults.refuse(RESTORE, libc::EPERM, in_prefix);
    site.run(&NODES, |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            write(rank, name).unwrap();
        }
    });
    assert_eq!(told(&site).len(), 1, "{:?}", site.events.lines());
}

#[test]
fn so_does_a_flush_in_the_background_and_one_into_containers() {
    let background: &[(&str, &str)] = &[("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "0")];
    let containers: &[(&str, &str)] = &[("SCR_USE_CONTAINERS", "1")];
    let both = &[background, containers].concat()[..];
    for way in [background, containers, both] {
        for action in OPTIONAL {
            for errno in [libc::EPERM, libc::EDQUOT] {
                if !is_no_room(action, errno) {
                    flush_refused(way, action, errno);
                }
            }
        }
    }
}

/// What the caches must be able to do, and what not.
#[test]
fn so_do_a_fetch_and_a_rebuild() {
    for action in OPTIONAL {
        for errno in [libc::EPERM, libc::ENOSYS, libc::EINTR, libc::EDQUOT] {
            if is_no_room(action, errno) {
                continue;
            }
            let (site, faults) = site(&[("SCR_COPY_TYPE", "XOR")]);
            site.run(&NODES, |rank| write(rank, "ck").unwrap());
            // Files of rank 1 are rebuilt.
            site.lose("n1");
            faults.refuse(action, errno, in_cache);
            site.run(&NODES, |rank| read(rank, "ck").unwrap());
            let rebuilt = told(&site).len();
            assert_eq!(
                rebuilt,
                usize::from(action == RESTORE),
                "{action}, {errno}: {:?}",
                site.events.lines()
            );
            // All are fetched.
            lose_all(&site);
            site.run(&NODES, |rank| read(rank, "ck").unwrap());
            let lost = action == RESTORE || loses_holes(action, errno);
            assert_eq!(
                told(&site).len() - rebuilt,
                usize::from(lost),
                "{action}, {errno}"
            );
        }
    }
}

/// Without these a dataset is not whole, or not on stable storage.
const MANDATORY: [&str; 7] = [
    "create",
    "write",
    "sync",
    "sync directory",
    "make directory",
    "replace",
    "allocate",
];

/// A flush that fails says what has failed, where and why; it loses nothing, and is made again.
fn flush_fails(way: &[(&str, &str)], action: &'static str, errno: i32) {
    let (site, faults) = site(way);
    let name = Name::from("ck");
    let background = way.iter().any(|(name, _)| *name == "SCR_FLUSH_ASYNC");
    let failed = site.run(&NODES, |rank| {
        rank.session.should_exit().unwrap();
        faults.refuse(action, errno, in_prefix);
        rank.session.should_exit().unwrap();
        let done = write(rank, "ck").map_err(|error| error.to_string());
        if background {
            // Waits for the flush; what became of it is told.
            let _ = rank.session.current(&name);
        }
        rank.session.should_exit().unwrap();
        faults.refuse_nothing();
        rank.session.should_exit().unwrap();
        write(rank, "next").unwrap();
        rank.finalize().unwrap();
        done
    });
    let told = site.events.lines();
    let what = format!(
        "{way:?}, {action}, {errno}: {failed:?}\n{}",
        told.join("\n")
    );
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let names = |said: &String| {
        said.contains("could not be flushed")
            && said.contains(action)
            && said.contains("/prefix")
            && said.contains(&text)
    };
    if background {
        assert!(
            told.iter().any(names) || failed.iter().any(|f| f.as_ref().is_err_and(names)),
            "{what}"
        );
    } else {
        assert!(
            failed.iter().all(|f| f.as_ref().is_err_and(names)),
            "{what}"
        );
    }
    lose_all(&site);
    site.run(&NODES, |rank| read(rank, "next").unwrap());
    let contained = way.iter().any(|(name, _)| *name == "SCR_USE_CONTAINERS");
    for name in ["ck", "next"].into_iter().filter(|_| !contained) {
        let path = |kind: &str| site.prefix().join(format!("{name}/{kind}_0"));
        assert!(is_whole(0, &path("dense"), &path("sparse")), "{what}");
    }
}

#[test]
fn content_and_its_durability_are_not_optional() {
    let background: &[(&str, &str)] = &[("SCR_FLUSH_ASYNC", "1"), ("SCR_FLUSH_ASYNC_BW", "0")];
    let ways: [&[(&str, &str)]; 3] = [&[], background, &[("SCR_USE_CONTAINERS", "1")]];
    for way in ways {
        for action in MANDATORY {
            for errno in [libc::EPERM, libc::EIO, libc::ENOSPC, libc::EDQUOT] {
                let reserves = way.iter().all(|(name, _)| *name != "SCR_USE_CONTAINERS");
                if action != "allocate" || (reserves && is_no_room(action, errno)) {
                    flush_fails(way, action, errno);
                }
            }
        }
    }
}
