//! `scr postrun` and `scr scavenge` over nodes that an ssh of our own reaches.

use crate::checkpoints::double_nodes;
use crate::sandbox::{Programs, Said, said};
use crate::site::{Rank, Site};
use scr::config::Config;
use std::process::Command;

/// A stand-in for ssh to nodes that are directories of `site`; nodes in `down` cannot be reached.
pub(crate) fn nodes_of(site: &Site, down: &str) -> Programs {
    let root = site.node("x");
    let root = root.parent().unwrap().display();
    Programs::new().add(
        "ssh",
        &format!(
            r#"
            while [ $# -gt 2 ]; do shift; done
            PATH=/usr/bin:/bin
            [ "$1" = "{down}" ] && {{ echo "ssh: connect to host $1: No route to host" >&2; exit 255; }}
            export SCR_NODE_NAME="$1" SCR_CACHE_BASE="{root}/$1" SCR_CNTL_BASE="{root}/$1"
            eval "$2""#
        ),
    )
}

fn call(site: &Site, programs: &Programs, args: &[&str]) -> Said {
    said(command(site, programs, args).output().unwrap())
}

/// `scr`, for the nodes `n[0-3]`.
pub(crate) fn command(site: &Site, programs: &Programs, args: &[&str]) -> Command {
    let mut command = crate::sandbox::outside("scr", args);
    command
        .current_dir(site.prefix())
        .env("PATH", programs.path());
    command.envs([
        ("SCR_NODELIST", "n[0-3]"),
        ("SCR_REMOTE", "ssh"),
        ("SCR_NODE_TESTS", "echo"),
        ("SCR_USER_NAME", "user1"),
        ("SCR_JOB_ID", "1001"),
        ("SCR_LOG_ENABLE", "1"),
        ("SCR_LOG_SYSLOG_ENABLE", "0"),
    ]);
    command
}

/// Two checkpoints that are only in the caches; then all processes are killed.
fn killed() -> Site {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    site.run(&double_nodes(4), |rank| {
        ["ck.1", "ck.2"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
    });
    site
}

fn restarts_from(site: &Site, name: &str) {
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&double_nodes(4), Some(name));
}

/// A session with a name has a prefix directory and caches of its own, which the job's command finds.
#[test]
fn sessions_with_a_name_are_saved_with_the_job() {
    let site = killed();
    let ocean = Config::of_session("ocean");
    let in_ocean = |rank: &mut Rank| rank.session.set_cwd(site.prefix().join("ocean"));
    site.run_as(&double_nodes(4), &ocean, |rank| {
        in_ocean(rank);
        rank.checkpoint("o.1").unwrap();
    });
    let programs = nodes_of(&site, "none");
    let said = call(&site, &programs, &["postrun"]).out();
    assert!(
        said.contains("Dataset 2 (`ck.2'), 8 ranks, is complete"),
        "{said}"
    );
    assert!(said.contains("/prefix/ocean:\n"), "{said}");
    assert!(
        said.contains("Dataset 1 (`o.1'), 8 ranks, is complete"),
        "{said}"
    );
    // Its own prefix directory counts more than the one of the environment, and is found, too.
    let mut ice = Config::of_session("ice");
    let elsewhere = site.outside();
    ice.call(&format!("SCR_PREFIX={}", elsewhere.display()))
        .unwrap();
    site.run_as(&double_nodes(4), &ice, |rank| {
        rank.session.set_cwd(elsewhere.clone());
        rank.checkpoint("i.1").unwrap();
    });
    let said = call(&site, &programs, &["postrun"]).out();
    assert!(
        said.contains("Dataset 1 (`i.1'), 8 ranks, is complete"),
        "{said}"
    );
    assert!(elsewhere.join(".scr/index.scr").exists());
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    let names = site.run_as(&double_nodes(4), &ocean, |rank| {
        in_ocean(rank);
        rank.restart()
    });
    assert!(
        names.iter().all(|name| name.as_deref() == Some("o.1")),
        "{names:?}"
    );
    site.expect_restart(&double_nodes(4), Some("ck.2"));
    call(&site, &programs, &["halt"]).out();
    let stop = site.run_as(&double_nodes(4), &ocean, |rank| {
        rank.session.should_exit().unwrap()
    });
    assert!(stop.iter().all(|stop| *stop));
}

#[test]
fn the_newest_checkpoint_is_saved_once() {
    let site = killed();
    let programs = nodes_of(&site, "none");
    let first = call(&site, &programs, &["postrun"]).out();
    assert_eq!(
        first,
        "Saving dataset 2 from the caches of n[0-3]\nDataset 2 (`ck.2'), 8 ranks, is complete and \
         in the index\n"
    );
    let again = call(&site, &programs, &["postrun"]).out();
    assert_eq!(
        again,
        "The newest checkpoint, dataset 2, is in the prefix directory\n"
    );
    let log = std::fs::read_to_string(site.prefix().join(".scr/log")).unwrap();
    for event in ["SCAVENGE_START, dset=2", "SCAVENGE_END, dset=2, secs="] {
        assert!(log.contains(event), "{log}");
    }
    restarts_from(&site, "ck.2");
}

/// Their ssh works for the test of nodes, and fails for the question what they hold.
#[test]
fn nodes_that_do_not_tell_what_they_hold_are_no_empty_nodes() {
    for silent in ["n2", "n*"] {
        let site = killed();
        let root = site.node("x");
        let root = root.parent().unwrap().display();
        let script = format!(
            r#"
            while [ $# -gt 2 ]; do shift; done
            PATH=/usr/bin:/bin
            case "$1:$2" in {silent}:*inspect*) exit 137;; esac
            export SCR_NODE_NAME="$1" SCR_CACHE_BASE="{root}/$1" SCR_CNTL_BASE="{root}/$1"
            eval "$2""#
        );
        let programs = Programs::new().add("ssh", &script);
        // The run was killed before the flush file knew its datasets.
        std::fs::remove_file(site.prefix().join(".scr/flush.scr")).unwrap();
        let said = call(&site, &programs, &["postrun"]);
        assert_eq!(said.code, 1, "{said:?}");
        let named = if silent == "n2" { "n2" } else { "n[0-3]" };
        let told = format!("what the caches of {named} hold is not known");
        assert!(said.err.contains(&told), "{said:?}");
        if silent == "n*" {
            let asked = call(&site, &programs, &["inspect", "--jobset", "n[0-3]"]).failed();
            assert!(asked.contains("hold is not known"), "{asked}");
        }
        let saved = site.prefix().join("ck.2/rank_5.dat").exists();
        assert_eq!(saved, silent == "n2", "{said:?}");
        assert_eq!(call(&site, &nodes_of(&site, "none"), &["postrun"]).code, 0);
        restarts_from(&site, "ck.2");
    }
}

#[test]
fn files_of_a_node_that_is_down_are_rebuilt() {
    for args in [&["postrun"][..], &["scavenge", "--id", "2"]] {
        let site = killed();
        let programs = nodes_of(&site, "n1");
        let said = call(&site, &programs, args);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            said.out.ends_with(
                "Saving dataset 2 from the caches of n[0,2-3], without n1\nRebuilt the files of \
                 ranks 2 and 3\nDataset 2 (`ck.2'), 8 ranks, is complete and in the index\n"
            ),
            "{said:?}"
        );
        restarts_from(&site, "ck.2");
    }
}

#[test]
fn a_job_is_saved_into_containers_with_and_without_a_lost_node() {
    for down in ["none", "n1"] {
        let site = killed();
        let programs = nodes_of(&site, down);
        let mut command = crate::sandbox::outside("scr", &["postrun"]);
        command
            .current_dir(site.prefix())
            .env("PATH", programs.path())
            .envs([
                ("SCR_NODELIST", "n[0-3]"),
                ("SCR_REMOTE", "ssh"),
                ("SCR_NODE_TESTS", "echo"),
                ("SCR_USER_NAME", "user1"),
                ("SCR_JOB_ID", "1001"),
                ("SCR_USE_CONTAINERS", "1"),
            ]);
        let said = said(command.output().unwrap());
        assert_eq!(said.code, 0, "{said:?}");
        let dir = site.prefix().join(".scr/scr.dataset.2");
        for (number, rebuilt) in [(0, false), (2, down == "n1"), (4, false), (6, false)] {
            let path = dir.join(format!("ctr.{number}.scr"));
            assert_eq!(path.exists(), !rebuilt, "{number}");
            let plain = site.prefix().join(format!("ck.2/rank_{number}.dat"));
            assert_eq!(plain.exists(), rebuilt, "{number}");
        }
        restarts_from(&site, "ck.2");
    }
}

#[test]
fn verbose_prints_each_step() {
    for args in [
        &["postrun", "-v"][..],
        &["scavenge", "--verbose", "--id", "2"],
    ] {
        let site = killed();
        let programs = nodes_of(&site, "n1");
        let said = call(&site, &programs, args);
        let name = format!("scr_{}: ", args[0]);
        let told: Vec<&str> = said
            .out
            .lines()
            .filter_map(|l| l.strip_prefix(&name))
            .collect();
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(
            told[..3],
            ["jobnodes:  n[0-3]", "downnodes: n1", "upnodes:   n[0,2-3]"]
        );
        for step in [
            "copying the files of all ranks of dataset 2",
            "copying the redundancy files that are needed of dataset 2",
            "n0: scr_copy: n0: Return code: 0",
            "n3: scr_copy: n3: Return code: 0",
            "checking the files of dataset 2",
        ] {
            assert!(told.contains(&step), "{step}: {said:?}");
        }
        let kinds = told.contains(&"dataset 2: checkpoint, in the caches only");
        assert_eq!(kinds, args[0] == "postrun", "{said:?}");
    }
    // So does SCR_DEBUG.
    let site = killed().set("SCR_DEBUG", "1");
    let programs = nodes_of(&site, "none");
    let mut command = crate::sandbox::outside("scr", &["prerun"]);
    command
        .current_dir(site.prefix())
        .env("PATH", programs.path());
    let said = said(command.env("SCR_DEBUG", "1").output().unwrap()).out();
    assert!(said.contains("removed "), "{said}");
}

#[test]
fn a_control_directory_names_user_and_job() {
    let site = killed();
    let programs = nodes_of(&site, "none");
    let scavenge = |from: &str| {
        let mut command = crate::sandbox::outside("scr_scavenge", &["-i", "2", "-f", from]);
        command
            .current_dir(site.prefix())
            .env("PATH", programs.path())
            .envs([("SCR_NODELIST", "n[0-3]"), ("SCR_REMOTE", "ssh")])
            .envs([("SCR_NODE_TESTS", "echo"), ("SCR_JOB_ID", "another")]);
        said(command.output().unwrap())
    };
    assert_eq!(scavenge("/nodes/user1/scr.another").code, 1);
    let wrong = scavenge("/nodes/somewhere");
    assert!(
        wrong.err.contains("is not a control directory"),
        "{wrong:?}"
    );
    let said = scavenge("/nodes/user1/scr.1001").out();
    assert!(said.ends_with("is complete and in the index\n"), "{said}");
    restarts_from(&site, "ck.2");
}

#[test]
fn a_dataset_that_cannot_be_saved_is_reported_and_an_older_one_is_tried() {
    let site = killed();
    // Two of four members have lost the newest checkpoint: more than XOR tolerates.
    for node in ["n1", "n2"] {
        std::fs::remove_dir_all(site.dataset(node, 2)).unwrap();
    }
    let programs = nodes_of(&site, "none");
    let said = call(&site, &programs, &["postrun", "--down", "n3"]);
    // Too much of the newest checkpoint is lost; of the other one, the files of one node.
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("dataset 2 (ck.2): the files of ranks "),
        "{said:?}"
    );
    assert!(
        said.out
            .ends_with("Dataset 1 (`ck.1'), 8 ranks, is complete and in the index\n"),
        "{said:?}"
    );
    restarts_from(&site, "ck.1");
}

/// `scr inspect` of several nodes tells what they hold together.
#[test]
fn nodes_that_are_named_are_inspected_together() {
    let site = killed();
    let programs = nodes_of(&site, "none");
    let inspect = |args: &[&str]| call(&site, &programs, &[&["inspect"], args].concat());
    let here = |said: &Said| -> Vec<String> {
        let lines = said.out.lines().skip(1);
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        lines
            .map(words)
            .map(|w| format!("{} {} {}", w[0], w[2], w[3]))
            .collect()
    };
    for (args, ranks) in [
        (&["--down", "n2"][..], 6),
        (&["--up", "n[0-1]"], 4),
        (&["--jobset", "n3"], 2),
        (&["--jobset", "n[0-3]", "--down", "n[1-3]"], 2),
        (&["--jobset", "n[0-1]", "--up", "n[1-3]"], 2),
        (&["--down", ""], 8),
    ] {
        let said = inspect(args);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(
            here(&said),
            [format!("2 {ranks} 8"), format!("1 {ranks} 8")],
            "{said:?}"
        );
    }
    assert_eq!(inspect(&["--up", "n[0-3]", "-q"]).out(), "2 1\n");
    let json = inspect(&["--down", "n[1-2]", "--json"]).out();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["node"], "n[0,3]");
    assert_eq!(json["datasets"][0]["name"], "ck.2");
    assert_eq!(
        json["datasets"][0]["ranks_here"],
        serde_json::json!([0, 1, 6, 7])
    );
    // A node that cannot be reached, and none that is left.
    let programs = nodes_of(&site, "n1");
    let said = call(&site, &programs, &["inspect", "--up", "n[0-1]"]);
    assert_eq!(here(&said), ["2 2 8", "1 2 8"], "{said:?}");
    assert!(said.err.contains("node n1: "), "{said:?}");
    let error = inspect(&["--down", "n[0-3]"]).failed();
    assert!(error.contains("no node is left to ask"), "{error}");
    for wrong in [
        &["--up", "n1", "--down", "n2"][..],
        &["--id", "1", "--up", "n1"],
    ] {
        assert_eq!(inspect(wrong).code, 2, "{wrong:?}");
    }
}
