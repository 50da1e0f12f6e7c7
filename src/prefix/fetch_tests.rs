//! Fetches in bypass on a real directory, and the effect of a failure on the dataset.

use super::access::PrefixAccess;
use super::fetch::{FetchRequest, Fetched, RefusalReason, Refused, fetch};
use super::finish::seal;
use super::paths::Prefix;
use super::rank2file::{entry, write_all};
use crate::format::Dataset;
use crate::format::rank2file::RankEntry;
use crate::store::Unkept;
use crate::store::posix::Posix;
use crate::threads;
use crate::{Error, Result};
use std::fs;
use std::io;
use std::path::Path;

const RANKS: usize = 3;

/// A prefix directory with checkpoint 1, in which each rank has the file `data/<rank>`.
fn prefix(change: impl Fn(&mut RankEntry)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(dir.path());
    fs::create_dir_all(prefix.dataset(1)).unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    let of_rank = |rank: usize| {
        let name = format!("data/{rank}");
        fs::write(dir.path().join(&name), "four").unwrap();
        let mut entry = entry([(name.into(), 4, None)]);
        change(&mut entry);
        entry
    };
    let entries = (0..RANKS).map(of_rank).collect();
    write_all(&Posix, &prefix.dataset(1), entries).unwrap();
    let dataset = Dataset {
        id: 1,
        name: "ck".into(),
        flag_ckpt: true,
        ..Dataset::default()
    };
    seal(&Posix, &prefix, &dataset).unwrap();
    dir
}

fn fetched(dir: &Path) -> Vec<std::result::Result<Fetched, Refused>> {
    let prefix = Prefix::new(dir);
    let files = prefix.confine(&Posix, []);
    threads::run(RANKS, |comm| {
        let access = PrefixAccess {
            comm: &*comm,
            files: &*files,
            prefix: &prefix,
            node: "n0",
            first_of_node: comm.rank() == 0,
            width: RANKS,
            buffer: 1024,
            metadata: false,
            unkept: &Unkept::default(),
            watch: &(),
        };
        let wanted = FetchRequest {
            id: 1,
            name: &"ck".into(),
            checksums: true,
            in_place: true,
            ranks: RANKS as u64,
        };
        fetch(&access, &wanted, None).unwrap()
    })
}

#[test]
fn a_rank_has_as_many_files_as_were_counted() {
    let dir = prefix(|entry| entry.count = Some(1));
    for fetched in fetched(dir.path()) {
        assert_eq!(fetched.unwrap().files.files.len(), 1);
    }
    let dir = prefix(|entry| entry.count = Some(2));
    for fetched in fetched(dir.path()) {
        let refused = fetched.unwrap_err();
        let text = refused.error.to_string();
        assert!(
            text.contains("lists 1 files of rank 0, 2 expected"),
            "{text}"
        );
        assert_eq!(refused.why, RefusalReason::Bad);
    }
}

#[test]
fn the_lowest_rank_that_found_a_link_tells_of_it() {
    let dir = prefix(|_| ());
    let (data, away) = (dir.path().join("data"), dir.path().join("away"));
    fs::rename(&data, &away).unwrap();
    std::os::unix::fs::symlink(&away, &data).unwrap();
    let mut fetched = fetched(dir.path()).into_iter().map(|f| f.unwrap());
    let first = fetched.next().unwrap();
    let said = first.link_note().unwrap();
    assert!(said.contains(&format!("{} is a symbolic link", data.display())));
    assert_eq!(first.link, Some(data));
    for other in fetched {
        assert_eq!((other.link_note(), other.link), (None, None));
    }
}

#[test]
fn a_directory_in_place_of_a_file_is_bad() {
    let dir = prefix(|_| ());
    let file = dir.path().join("data/1");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    for fetched in fetched(dir.path()) {
        let refused = fetched.unwrap_err();
        let text = refused.error.to_string();
        assert!(text.contains("is not a regular file"), "{text}");
        assert_eq!(refused.why, RefusalReason::Bad);
    }
}

#[test]
fn what_is_missing_below_the_prefix_is_bad_and_other_trouble_says_nothing() {
    let why = |error: io::Error, path: &str| {
        RefusalReason::of(&Error::io("read", path, error), Path::new("/p"))
    };
    let missing = || io::Error::from_raw_os_error(libc::ENOENT);
    let broken = || io::Error::from_raw_os_error(libc::EIO);
    assert_eq!(why(missing(), "/p/a"), RefusalReason::Bad);
    assert_eq!(why(missing(), "/cache/a"), RefusalReason::Trouble);
    assert_eq!(why(broken(), "/p/a"), RefusalReason::Trouble);
    assert_eq!(why(broken(), "/cache/a"), RefusalReason::Trouble);
    assert_eq!(why(io::Error::other("x"), "/p/a"), RefusalReason::Trouble);
    let link = io::Error::from_raw_os_error(libc::ELOOP);
    assert_eq!(why(link, "/p/a"), RefusalReason::Link);
    let of = |error: Result<()>| RefusalReason::of(&error.unwrap_err(), Path::new("/p"));
    assert_eq!(of(Err(Error::corrupt("/p/a", "x"))), RefusalReason::Bad);
    assert_eq!(of(Err(Error::format(0, "x"))), RefusalReason::Bad);
    assert_eq!(of(Err(Error::dataset(1, "ck", "x"))), RefusalReason::Unfit);
    assert_eq!(of(Err(Error::comm("x", "x"))), RefusalReason::Trouble);
}
