//! Few files may be open: checkpoints of many files, their rebuild and the restart on fewer ranks go on with less.

use crate::fields_on_ranks::{elements, list_part, save};
use crate::site::{Rank, Site, content, nodes};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use scr::fields::{List, restore};
use scr::session::Session;
use std::path::Path;
use std::process::Command;

/// In the child process: its work is to be done.
const LIMITED: &str = "SCR_TEST_OPEN_FILES";

/// Files of each rank.
const FILES: usize = 40;

/// Ranks of a node whose parts one rank has.
const MOVED: usize = 12;

/// The limit is that of the whole process, so that the ranks, and only they, are in a process of their own: this test, `name`,
/// again.
fn with_limits(name: &str, limits: &[&str], limited: fn(u64)) {
    if let Ok(most) = std::env::var(LIMITED) {
        return limited(most.parse().unwrap());
    }
    for most in limits {
        let child = Command::new(std::env::current_exe().unwrap())
            .arg("--exact")
            .arg(format!("redundancy::open_files::{name}"))
            .args(["--test-threads", "1", "--nocapture"])
            .env(LIMITED, most)
            .output()
            .unwrap();
        let said = [child.stdout, child.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(said[0].contains("1 passed"), "{most}: {said:?}");
    }
}

#[test]
fn many_files_are_written_rebuilt_and_read_with_few_open() {
    let name = "many_files_are_written_rebuilt_and_read_with_few_open";
    with_limits(name, &["40", "64"], limited);
}

/// Ranks of a node that is gone, and some of one that is here: one rank each sends their files to another node.
#[test]
fn a_rank_sends_the_parts_of_many_with_few_files_open() {
    with_limits(
        "a_rank_sends_the_parts_of_many_with_few_files_open",
        &["128"],
        |most| {
            let before = getrlimit(Resource::Nofile).current.unwrap_or(1024);
            for scheme in ["XOR", "PARTNER", "SINGLE"] {
                set_limit(before);
                let site = Site::in_memory().set("SCR_COPY_TYPE", scheme);
                let site = site.set("SCR_FLUSH", "0");
                let ranks = 2 * MOVED;
                let old: Vec<&str> = (0..ranks).map(|rank| ["n0", "n1"][rank % 2]).collect();
                site.run(&old, |rank| write(rank, "ck.1"));
                set_limit(most);
                let new = |rank| if rank < 2 { old[rank] } else { "n2" };
                let new: Vec<&str> = (0..ranks).map(new).collect();
                site.run(&new, read);
                set_limit(before);
            }
        },
    );
}

/// The job ended, and the next run has one rank.
#[test]
fn one_rank_takes_the_parts_of_many_over_with_few_files_open() {
    with_limits(
        "one_rank_takes_the_parts_of_many_over_with_few_files_open",
        &["40", "64"],
        |most| {
            let before = getrlimit(Resource::Nofile).current.unwrap_or(1024);
            for scheme in ["XOR", "PARTNER"] {
                set_limit(before);
                let site = Site::in_memory().set("SCR_COPY_TYPE", scheme);
                let site = site.set("SCR_FLUSH", "0");
                let ranks = 2 * MOVED;
                let old: Vec<&str> = (0..ranks).map(|rank| ["n0", "n1"][rank % 2]).collect();
                site.run(&old, |rank| write(rank, "ck.1"));
                site.lose("n1");
                set_limit(most);
                site.run(&["n0"], |rank| {
                    let session = &mut rank.session;
                    session.allow_other_ranks(true).unwrap();
                    assert!(session.have_restart().unwrap().is_some());
                    session.start_restart().unwrap();
                    (0..ranks).for_each(|of| is_read(session, of));
                    session.complete_restart(true).unwrap();
                });
                set_limit(before);
            }
        },
    );
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
        // Not all of them opened here: the thread that deletes files could close one of its own after that.
        set_limit(0);
        let error = rank.session.start_output(Some("ck.2".into()), true, false);
        set_limit(most);
        let error = error.unwrap_err().to_string();
        let limit = "may have 0 of them (ulimit -n)";
        assert!(
            error.contains(limit) && error.contains("SCR-330"),
            "{error}"
        );
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
    is_read(session, rank.rank);
    session.complete_restart(true).unwrap();
}

/// The files that a rank has written have their content.
fn is_read(session: &mut Session, rank: usize) {
    for file in 0..FILES {
        let path = session.route(Path::new(&name(rank, file))).unwrap();
        assert!(std::fs::read(path).unwrap() == content("ck.1", rank, 100 + file));
    }
}
