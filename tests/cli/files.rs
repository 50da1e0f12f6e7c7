//! `scr print`, `scr flush-file`, `scr nodes-file`, `scr crc32`

use crate::sandbox::{FIXTURES, Sandbox, fixture, program, said};

/// Each line of a dump after its parent lines, sorted: the same for any order of siblings.
fn paths(dump: &str) -> Vec<String> {
    let mut above: Vec<&str> = Vec::new();
    let mut paths = Vec::new();
    for line in dump.lines() {
        let text = line.trim_start();
        above.truncate((line.len() - text.len()) / 2 - 1);
        above.push(text);
        paths.push(above.join("/"));
    }
    paths.sort();
    paths
}

#[test]
fn every_file_of_the_fixtures_is_printed() {
    let mut count = 0;
    for name in FIXTURES {
        let sandbox = Sandbox::of(name);
        let text = std::fs::read_to_string(fixture(name).join("expected.md")).unwrap();
        for section in text.split("\n### ").skip(1) {
            let (file, rest) = section.split_once('\n').unwrap();
            let dump = rest.split("```\n").nth(1).unwrap();
            for command in ["scr_print", "scr_print_hash_file"] {
                let printed = sandbox.run_as(command, &[file]).out();
                assert_eq!(paths(&printed), paths(dump), "{name} {file}");
            }
            let tree = sandbox.run_as("kvtree_print", &[file]).out();
            assert!(!tree.contains(" = "), "{tree}");
            assert_eq!(tree, sandbox.run(&["print", "--mode=tree", file]).out());
            let keyval = sandbox.run(&["print", file]).out();
            assert_eq!(
                keyval,
                sandbox
                    .run_as("kvtree_print", &["-m", "keyval", file])
                    .out()
            );
            count += 1;
        }
    }
    assert!(count > 30, "{count} files");
}

#[test]
fn printed_trees_are_sorted() {
    let sandbox = Sandbox::of("basic");
    assert_eq!(
        sandbox.run(&["print", ".scr/nodes.scr"]).out(),
        "  NODES = 4\n"
    );
    assert_eq!(
        sandbox.run_as("kvtree_print", &[".scr/nodes.scr"]).out(),
        "  NODES\n    4\n"
    );
    assert_eq!(sandbox.run(&["print", ".scr/app.conf"]).out(), "");
    let index = sandbox.run(&["print", ".scr/index.scr"]).out();
    let keys: Vec<&str> = index.lines().filter(|l| !l.starts_with("   ")).collect();
    assert_eq!(
        keys,
        [
            "  CURRENT = timestep.3",
            "  DSET",
            "  NAME",
            "  VERSION = 2"
        ]
    );
}

#[test]
fn only_files_of_scr_are_printed() {
    let sandbox = Sandbox::of("basic");
    let data = "timestep.1/rank_0/state_0.dat";
    for file in [data, ".scr", "/dev/null", "missing"] {
        assert_eq!(sandbox.run(&["print", file]).code, 1, "{file}");
        sandbox.run_as("scr_print", &[file]).failed();
    }
    std::os::unix::fs::symlink("index.scr", sandbox.path().join(".scr/link")).unwrap();
    sandbox.run(&["print", ".scr/link"]).out();
}

#[test]
fn the_flush_file_answers() {
    let sandbox = Sandbox::of("output");
    let dir = sandbox.path().to_str().unwrap();
    let ask = |args: &[&str]| sandbox.run_as("scr_flush_file", &[&["--dir", dir], args].concat());
    assert_eq!(ask(&["--list-output"]).out(), "4\n");
    assert_eq!(ask(&["--list-ckpt"]).out(), "5\n");
    assert_eq!(ask(&["--list-ckpt", "--before", "0"]).out(), "5\n");
    assert_eq!(ask(&["--latest"]).out(), "5\n");
    assert_eq!(ask(&["--location", "5"]).out(), "PFS\n");
    assert_eq!(ask(&["--name", "4"]).out(), "größe_Δt.out-2\n");
    for nothing in [
        &["--list-ckpt", "--before", "5"][..],
        &["--need-flush", "5"],
        &["--need-flush", "77"],
        &["--location", "77"],
        &["--name", "77"],
    ] {
        let said = ask(nothing);
        assert_eq!(
            (said.code, said.out, said.err),
            (1, String::new(), String::new())
        );
    }
    // As in the SCR developer guide.
    assert_eq!(
        sandbox.run_as("scr_flush_file", &["--latest", dir]).out(),
        "5\n"
    );
    assert_eq!(
        sandbox
            .run_as("scr_flush_file", &["--location", "5", dir])
            .out(),
        "PFS\n"
    );
    assert_eq!(
        sandbox
            .run_as("scr_flush_file", &["--subdir", "4", dir])
            .out(),
        "größe_Δt.out-2\n"
    );
    let said = sandbox.run_as("scr_flush_file", &["--needflush", "5", dir]);
    assert_eq!(said.code, 1);
}

#[test]
fn a_cached_dataset_needs_a_flush_until_it_is_in_the_prefix() {
    use scr::format::{Dataset, flush_file::*};
    use scr::prefix::{paths::Prefix, records::write_flush_file};
    let sandbox = Sandbox::of("basic");
    let mut record = FlushFile::default();
    for id in [9, 10, 11] {
        let dataset = Dataset {
            id,
            name: format!("n{id}").into(),
            flag_ckpt: true,
            ..Dataset::default()
        };
        record.datasets.insert(id, FlushEntry::cached(dataset));
    }
    record
        .datasets
        .get_mut(&9)
        .unwrap()
        .locations
        .insert(PFS.into());
    record
        .datasets
        .get_mut(&10)
        .unwrap()
        .locations
        .insert(SYNC_FLUSHING.into());
    record.datasets.get_mut(&10).unwrap().name = None;
    let prefix = Prefix::new(&sandbox.path().canonicalize().unwrap());
    write_flush_file(&scr::store::posix::Posix, &prefix, &record).unwrap();

    let ask = |args: &[&str]| sandbox.run(&[&["flush-file"], args].concat());
    assert_eq!(ask(&["--list-ckpt"]).out(), "11 10 9\n");
    assert_eq!(ask(&["--list-ckpt", "--before=11"]).out(), "10 9\n");
    for (id, place, needed) in [
        ("9", "PFS", 1),
        ("10", "SYNC_FLUSHING", 0),
        ("11", "CACHE", 0),
    ] {
        assert_eq!(ask(&["--location", id]).out(), format!("{place}\n"));
        assert_eq!(ask(&["--need-flush", id]).code, needed);
        assert_eq!(ask(&["--name", id]).out(), format!("n{id}\n"));
    }
}

#[test]
fn the_short_options_of_scr_are_those_of_v3_1_0() {
    let sandbox = Sandbox::of("output");
    let (dir, elsewhere) = (sandbox.path().to_str().unwrap(), Sandbox::empty());
    let ask = |name: &str, args: &[&str]| elsewhere.run_as(name, &[&["-d", dir], args].concat());
    assert_eq!(ask("scr_nodes_file", &[]).out(), "4\n");
    assert_eq!(
        ask("scr_retries_halt", &[]).out(),
        "scr_retries_halt: HALT RUN: Reason: SCR_FINALIZE_CALLED.\n"
    );
    assert_eq!(ask("scr_flush_file", &["-o"]).out(), "4\n");
    assert_eq!(ask("scr_flush_file", &["-l"]).out(), "5\n");
    assert_eq!(ask("scr_flush_file", &["-L", "5"]).out(), "PFS\n");
    assert_eq!(
        ask("scr_flush_file", &["-s", "4"]).out(),
        "größe_Δt.out-2\n"
    );
    assert_eq!(ask("scr_flush_file", &["-n", "5"]).code, 1);
}

/// The fixture `basic` in the middle of a flush of its newest dataset.
fn under_way() -> Sandbox {
    use scr::format::flush_file::{FLUSHING, PFS};
    use scr::prefix::{paths::Prefix, records};
    let sandbox = Sandbox::of("basic");
    let prefix = Prefix::new(&sandbox.path().canonicalize().unwrap());
    records::update_flush_file(&scr::store::posix::Posix, &prefix, |record| {
        let places = &mut record.datasets.get_mut(&3).unwrap().locations;
        places.remove(&PFS.into());
        places.insert(FLUSHING.into());
    })
    .unwrap();
    std::fs::remove_file(prefix.dataset(3).join("summary.scr")).unwrap();
    sandbox
}

#[test]
fn a_dataset_copied_by_other_means_is_certified_if_all_files_are_there() {
    let original = Sandbox::of("basic");
    let print = |sandbox: &Sandbox| {
        let file = ".scr/scr.dataset.3/summary.scr";
        sandbox.run(&["print", file]).out()
    };
    let sandbox = under_way();
    let ask = |args: &[&str]| sandbox.run_as("scr_flush_file", args);
    assert_eq!(ask(&["--need-flush", "3"]).code, 0);
    assert_eq!(ask(&["--summary", "-s", "3"]).out(), "timestep.3\n");
    assert_eq!(print(&sandbox), print(&original));
    assert_eq!(ask(&["--need-flush", "3"]).code, 1);
    assert_eq!(ask(&["--location", "3"]).out(), "PFS\n");

    for gone in [
        "timestep.3/rank_2/state_2.dat",
        ".scr/scr.dataset.3/rank2file",
    ] {
        let sandbox = under_way();
        std::fs::remove_file(sandbox.path().join(gone)).unwrap();
        let error = sandbox
            .run_as("scr_flush_file", &["-S", "-s", "3"])
            .failed();
        assert!(
            error.contains(gone) && error.contains("scr postrun"),
            "{error}"
        );
        assert!(
            !sandbox
                .path()
                .join(".scr/scr.dataset.3/summary.scr")
                .exists()
        );
    }
    let error = under_way().run(&["flush-file", "-S", "-s", "7"]).failed();
    assert!(error.contains("does not describe dataset 7"), "{error}");
}

#[test]
fn a_resumed_flush_needs_one_that_has_begun() {
    let done = Sandbox::of("basic").run_as("scr_flush_file", &["-r", "-s", "3"]);
    assert_eq!(done.out(), "timestep.3\n");
    let said = under_way().run_as("scr_flush_file", &["-r", "-s", "3"]);
    let error = said.failed();
    assert!(
        error.contains("no flush of it has begun") && error.contains("scr postrun"),
        "{error}"
    );
    let error = under_way().run(&["flush-file", "-r", "-s", "7"]).failed();
    assert!(error.contains("does not describe dataset 7"), "{error}");
    assert_eq!(under_way().run(&["flush-file", "-r"]).code, 2);
}

/// A flush of dataset 1 that was killed before it had copied a file.
fn killed_flush(scheme: &str) -> crate::site::Site {
    use scr::format::flush_file::FLUSHING;
    use scr::prefix::{finish, paths::Prefix, records};
    let site = crate::site::Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_COPY_TYPE", scheme);
    site.run(&crate::checkpoints::double_nodes(3), |rank| {
        rank.checkpoint("ck.1").unwrap();
    });
    let (files, prefix) = (&scr::store::posix::Posix, Prefix::new(&site.prefix()));
    let record = records::read_flush_file(files, &prefix).unwrap();
    let dataset = record.datasets[&1].dataset.as_ref().unwrap();
    finish::announce(files, &prefix, dataset).unwrap();
    records::update_flush_file(files, &prefix, |record| {
        let entry = record.datasets.get_mut(&1).unwrap();
        entry.locations.insert(FLUSHING.into());
    })
    .unwrap();
    site
}

#[test]
fn a_killed_flush_is_resumed_node_by_node() {
    use crate::scavenge::on;
    let site = killed_flush("SINGLE");
    let resume = |node| on(&site, node, "scr_flush_file", &["--resume", "-s", "1"]);
    let index = || on(&site, "n0", "scr_index", &["--list"]).out();
    for (node, missing) in [
        ("n1", "ranks 0, 1, 4 and 5"),
        ("n1", "ranks 0, 1, 4 and 5"),
        ("n0", "ranks 4 and 5"),
    ] {
        let said = resume(node);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
        assert!(said.err.contains(missing), "{said:?}");
        assert!(index().contains("   1 NO "), "{}", index());
        assert_eq!(on(&site, node, "scr_flush_file", &["-n", "1"]).code, 0);
    }
    assert_eq!(resume("n2").out(), "ck.1\n");
    assert!(
        index().contains("   1 YES") && index().contains("* ck.1"),
        "{}",
        index()
    );
    assert_eq!(
        on(&site, "n2", "scr_flush_file", &["-L", "1"]).out(),
        "PFS\n"
    );
    // Each step may be repeated, and those that scr_poststage calls follow.
    assert_eq!(resume("n0").out(), "ck.1\n");
    assert_eq!(
        on(&site, "n0", "scr_flush_file", &["-S", "-s", "1"]).out(),
        "ck.1\n"
    );
    on(&site, "n0", "scr_index", &["--add", "ck.1"]).out();
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&crate::checkpoints::double_nodes(3), Some("ck.1"));
}

#[test]
fn a_resumed_flush_reports_damage_and_a_run_that_is_alive() {
    use crate::scavenge::on;
    let site = killed_flush("SINGLE");
    let resume = |node| on(&site, node, "scr_flush_file", &["--resume", "-s", "1"]);
    {
        let job = std::fs::File::open(site.job("n1")).unwrap();
        job.lock().unwrap();
        let said = resume("n1").failed();
        assert!(said.contains("a run of this job is alive"), "{said}");
    }
    let file = site.dataset("n1", 1).join("rank_3/ck.1/rank_3.dat");
    std::fs::write(&file, "short").unwrap();
    let said = resume("n1").failed();
    assert!(said.contains("rank_3.dat"), "{said}");
    // Nothing was recorded of this node.
    let names = std::fs::read_dir(site.prefix().join(".scr/scr.dataset.1")).unwrap();
    assert_eq!(names.count(), 1);
}

/// Both would record the same ranks, and the dataset could not be read.
#[test]
fn a_flush_is_not_resumed_beside_the_transfer_daemon() {
    use crate::scavenge::on;
    use scr::format::transfer::{DONE, Transfer, TransferDataset, TransferPart};
    use scr::store::{Durability, posix::Posix};
    let site = killed_flush("SINGLE");
    let summary = site.prefix().join(".scr/scr.dataset.1/summary.scr");
    let summary: scr::format::summary::Summary = scr::format::read(&Posix, &summary).unwrap();
    let given = |result: Option<&str>| {
        let part = TransferPart {
            dataset: summary.dataset.clone(),
            result: result.map(Into::into),
            ..TransferPart::default()
        };
        let mut file = Transfer::default();
        let parts = [(1, part)].into();
        file.datasets.insert(1, TransferDataset { parts });
        let path = site.job("n1").join("transfer.scrinfo");
        scr::format::write(&Posix, &path, &file, Durability::Atomic).unwrap();
        on(&site, "n1", "scr_flush_file", &["-r", "-s", "1"]).failed()
    };
    let error = given(None);
    assert!(error.contains("scr transfer --finish"), "{error}");
    // What the daemon has done is no obstacle; other nodes miss.
    let error = given(Some(DONE));
    assert!(error.contains("ranks 0, 1, 4 and 5"), "{error}");
}

#[test]
fn missing_records_are_errors() {
    let sandbox = Sandbox::of("basic");
    std::fs::remove_file(sandbox.path().join(".scr/flush.scr")).unwrap();
    std::fs::remove_file(sandbox.path().join(".scr/nodes.scr")).unwrap();
    assert!(
        sandbox
            .run(&["flush-file", "--latest"])
            .failed()
            .contains("flush.scr")
    );
    assert!(sandbox.run(&["nodes-file"]).failed().contains("nodes.scr"));
    let elsewhere = Sandbox::empty();
    for args in [
        &["flush-file", "--latest"][..],
        &["nodes-file"],
        &["index"],
        &["halt", "--list"],
        &["halt", "--unset-reason"],
    ] {
        assert!(
            elsewhere
                .run(args)
                .failed()
                .contains("is not a prefix directory")
        );
    }
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// A user works in his home directory, with SCR_PREFIX set as for the job.
#[test]
fn each_command_takes_the_prefix_directory_that_is_set() {
    let (job, home) = (Sandbox::of("basic"), Sandbox::empty());
    for args in [
        &["index"][..],
        &["index", "--long"],
        &["index", "--json"],
        &["halt", "--list"],
        &["halt", "--json"],
        &["nodes-file"],
        &["flush-file", "--latest"],
        &["retries-halt"],
        &["inspect"],
        &["extract", "no such dataset"],
        &["diff", "no such dataset", "another"],
    ] {
        let mut command = program("scr", args);
        command
            .current_dir(home.path())
            .env("SCR_PREFIX", job.path());
        assert_eq!(said(command.output().unwrap()), job.run(args), "{args:?}");
    }
    // What the command names counts more.
    let mut command = program("scr", &["index", "--prefix", "."]);
    command
        .current_dir(home.path())
        .env("SCR_PREFIX", job.path());
    let error = said(command.output().unwrap()).failed();
    assert!(error.contains("is not a prefix directory"), "{error}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn the_nodes_file_is_read() {
    for name in FIXTURES {
        let sandbox = Sandbox::of(name);
        let dir = sandbox.path().to_str().unwrap();
        assert_eq!(
            sandbox.run_as("scr_nodes_file", &["--dir", dir]).out(),
            "4\n"
        );
        assert_eq!(sandbox.run(&["nodes-file"]).out(), "4\n");
    }
}

#[test]
fn checksums_are_those_of_the_fixture() {
    let sandbox = Sandbox::of("failed");
    for (file, crc) in [
        ("data/dump_0001/p0.bin", "905be362"),
        ("data/dump_0002/aux/q0.bin", "ca5ac6e"),
    ] {
        assert_eq!(
            sandbox.run_as("scr_crc32", &[file]).out(),
            format!("{crc}\n")
        );
    }
    assert_eq!(sandbox.run(&["crc32", ".scr/app.conf"]).out(), "0\n");
    assert!(sandbox.run(&["crc32", "nope"]).failed().contains("nope"));
    assert!(
        sandbox
            .run(&["crc32", "data"])
            .failed()
            .contains("directory")
    );
}
