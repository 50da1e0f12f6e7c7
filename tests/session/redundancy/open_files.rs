//! Few files may be open: checkpoints of many files, their rebuild and the restart on fewer ranks go on with less.

use crate::fields_on_ranks::{elements, list_part, save};
use crate::site::{Rank, Site, content, nodes};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use scr::fields::{List, restore};
use std::path::Path;
use std::process::Command;

/// In the child process: its work is to be done.
const LIMITED: &str = "SCR_TEST_OPEN_FILES";

/// Files of each rank.
const FILES: usize = 40;

/// The limit is that of the whole process, so that the ranks, and only they, are in a process of their own.
#[test]
fn many_files_are_written_rebuilt_and_read_with_few_open() {
    if let Ok(most) = std::env::var(LIMITED) {
        return limited(most.parse().unwrap());
    }
    for most in ["40", "64"] {
        let child = Command::new(std::env::current_exe().unwrap())
            .arg("--exact")
            .arg("redundancy::open_files::many_files_are_written_rebuilt_and_read_with_few_open")
            .args(["--test-threads", "1", "--nocapture"])
            .env(LIMITED, most)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{most}: {said}");
    }
}

fn set_limit(most: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(most);
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

fn limited(most: u64) {
    let before = getrlimit(Resource::Nofile).current.unwrap_or(1024);
    for scheme in ["XOR", "PARTNER", "SINGLE"] {
        set_limit(most);
        let site = Site::in_memory().set("SCR_COPY_TYPE", scheme);
        let site = site.set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "2");
        site.run(&nodes(3), |rank| write(rank, "ck.1"));
        site.lose("n1");
        site.run(&["n0", "s1", "n2"], read);
        ["n0", "s1", "n2"].iter().for_each(|node| site.lose(node));
        site.run(&nodes(3), read);
    }
    // One rank reads what many have written.
    set_limit(before);
    let site = Site::in_memory().set("SCR_FLUSH", "1");
    let whole = [FILES as i64];
    site.run(&["n0"; FILES], |rank| {
        let part = (vec![rank.rank as i64], vec![1]);
        let mut data = elements(&whole, &part, 0.5);
        save(rank, "ck.1", |list| {
            list_part(list, "x", &whole, &part, &mut data)
        })
        .unwrap();
    });
    set_limit(most);
    site.run(&nodes(1), |rank| {
        let part = (vec![0], whole.to_vec());
        let mut data = vec![0.0; FILES];
        let found = restore(&mut rank.session, &mut |list: &mut List<'_>| {
            list_part(list, "x", &whole, &part, &mut data)
        });
        assert!(found.unwrap().is_some());
        assert_eq!(data, elements(&whole, &part, 0.5));
    });
}

fn name(rank: usize, file: usize) -> String {
    format!("ck.1/rank_{rank}.{file}")
}

fn write(rank: &mut Rank, dataset: &str) {
    let session = &mut rank.session;
    session
        .start_output(Some(dataset.into()), true, false)
        .unwrap();
    for file in 0..FILES {
        let path = session.route(Path::new(&name(rank.rank, file))).unwrap();
        std::fs::write(path, content(dataset, rank.rank, 100 + file)).unwrap();
    }
    session.complete_output(true).unwrap();
    session.finish_background().unwrap();
}

fn read(rank: &mut Rank) {
    let session = &mut rank.session;
    assert!(session.have_restart().unwrap().is_some());
    session.start_restart().unwrap();
    for file in 0..FILES {
        let path = session.route(Path::new(&name(rank.rank, file))).unwrap();
        assert!(std::fs::read(path).unwrap() == content("ck.1", rank.rank, 100 + file));
    }
    session.complete_restart(true).unwrap();
}
