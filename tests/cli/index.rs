//! `scr index`

use crate::sandbox::{FIXTURES, Sandbox, fixture};

/// The table in the description of a fixture.
fn expected(name: &str) -> String {
    let text = std::fs::read_to_string(fixture(name).join("expected.md")).unwrap();
    let start = text.find("DSET VALID").unwrap();
    let end = text[start..].find("```").unwrap();
    text[start..start + end].to_string()
}

fn list(sandbox: &Sandbox) -> String {
    sandbox.run(&["index"]).out()
}

#[test]
fn every_fixture_is_listed_as_by_scr() {
    for name in FIXTURES {
        let sandbox = Sandbox::of(name);
        let table = expected(name);
        assert_eq!(sandbox.run(&["index", "--list"]).out(), table);
        assert_eq!(sandbox.run_as("scr_index", &[]).out(), table);
        assert_eq!(sandbox.run_as("scr_index", &["-l"]).out(), table);
        let prefix = format!("--prefix={}", sandbox.path().display());
        let elsewhere = Sandbox::empty();
        assert_eq!(elsewhere.run(&["index", &prefix]).out(), table);
    }
}

/// A line of the event log about dataset `id`.
fn transfer(id: u64, (job, name): (u64, &str), (kind, from): (&str, &str), seconds: f64) -> String {
    format!(
        "2026-11-21T00:42:06: host=n1, jobid={job}, xfer={kind}, from={from}, to=/p, dset={id}, \
         name=\"{name}\", secs={seconds:.6}, bytes=3296.000000, files=7\n"
    )
}

#[test]
fn the_long_list_has_size_time_and_checksums_of_all_datasets() {
    let sandbox = Sandbox::of("output");
    let expected = |seconds: [&str; 5]| {
        let rows = [
            "5 YES 2026-11-21T00:38:21 * CKPT 4 7 3.2 KiB % none перезапуск-3.0",
            "4 YES 2026-11-21T00:38:20 OUTPUT 4 3 123 B % none größe_Δt.out-2",
            "3 YES 2026-11-21T00:38:19 CKPT,OUTPUT 4 7 3.2 KiB % none ckpt-2.0+β",
            "2 YES 2026-11-21T00:38:18 OUTPUT 4 7 3.2 KiB % none plot.vis-0.5+été",
            "1 YES 2026-11-21T00:38:18 CKPT,OUTPUT 4 7 3.2 KiB % none ckpt-1.0+α",
        ];
        let rows = rows.iter().zip(seconds);
        rows.map(|(row, seconds)| row.replace('%', seconds))
            .collect::<Vec<_>>()
    };
    let rows = |table: &str| {
        let lines = table.lines().skip(1);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.map(words).collect::<Vec<_>>()
    };
    let table = sandbox.run(&["index", "--long"]).out();
    assert_eq!(rows(&table), expected(["- -"; 5]));
    let heading = "DSET VALID FLUSHED CUR TYPE RANKS FILES SIZE SECONDS RATE CHECKSUMS NAME";
    let first: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first.join(" "), heading);

    let (flush, cache) = (("FLUSH_SYNC", "/cache"), ("CHECKPOINT", "/cache"));
    let log = [
        transfer(5, (1002, "перезапуск-3.0"), flush, 9.0),
        transfer(5, (1002, "перезапуск-3.0"), ("FLUSH_ASYNC", "/cache"), 0.5),
        // A dataset of another job, one of another name, and one that was written to the cache.
        transfer(4, (7, "größe_Δt.out-2"), flush, 1.0),
        transfer(3, (1002, "ckpt"), flush, 1.0),
        transfer(1, (1002, "ckpt-1.0+α"), cache, 1.0),
        // In bypass nothing is copied.
        transfer(2, (1002, "plot.vis-0.5+été"), ("OUTPUT", "/p"), 2.0),
    ];
    let file = sandbox.path().join(".scr/log");
    std::fs::write(&file, log.concat()).unwrap();
    let timed = expected(["0.500 6.4 KiB/s", "- -", "- -", "2.000 1.6 KiB/s", "- -"]);
    let table = sandbox.run(&["index", "--long"]).out();
    assert_eq!(rows(&table), timed);
    // It also follows a change, and changes nothing of the short list.
    let after = sandbox
        .run(&["index", "--long", "--current=ckpt-2.0+β"])
        .out();
    assert!(after.contains(" * CKPT,OUTPUT "), "{after}");
    assert_eq!(list(&sandbox).lines().count(), 4);

    // A damaged log is told. One that cannot be read hides only the times.
    std::fs::write(&file, log.concat() + "noise\n").unwrap();
    let said = sandbox.run(&["index", "--long"]);
    assert_eq!(rows(&said.out).len(), 5);
    assert!(
        said.code == 0 && said.err.contains("line 7 is no record"),
        "{said:?}"
    );
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let said = sandbox.run(&["index", "--long"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("how long datasets took is not known"),
        "{said:?}"
    );
}

#[test]
fn drop_and_remove_take_entries_out_and_leave_files() {
    for option in ["--drop=timestep.3", "--remove=timestep.3", "-dtimestep.3"] {
        let sandbox = Sandbox::of("basic");
        assert_eq!(sandbox.run_as("scr_index", &[option]).out(), "");
        let table = list(&sandbox);
        assert!(!table.contains("timestep.3"), "{table}");
        assert!(table.contains("* timestep.2"), "{table}");
        let dir = sandbox.path();
        assert!(dir.join(".scr/scr.dataset.3/summary.scr").exists());
        for rank in 0..4 {
            let file = format!("timestep.3/rank_{rank}/state_{rank}.dat");
            assert!(dir.join(file).exists());
        }
    }

    let sandbox = Sandbox::of("failed");
    sandbox.run(&["index", "--drop-after", "dump_0002"]).out();
    let table = list(&sandbox);
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.contains("* dump_0002"), "{table}");
}

#[test]
fn current_chooses_a_checkpoint() {
    for option in ["--current", "-c"] {
        let sandbox = Sandbox::of("output");
        sandbox.run(&["index", option, "ckpt-1.0+α"]).out();
        assert!(list(&sandbox).contains("* ckpt-1.0+α"));
        let before = list(&sandbox);
        let said = sandbox.run_as("scr_index", &[option, "größe_Δt.out-2"]);
        assert!(said.failed().contains("is not a checkpoint"));
        assert_eq!(list(&sandbox), before);
    }
}

/// No run tries a checkpoint that is newer than the chosen one, so it could begin from the beginning.
#[test]
fn a_checkpoint_that_is_not_good_is_chosen_with_a_warning() {
    let sandbox = Sandbox::of("failed");
    let rows = list(&sandbox);
    let bad = rows.lines().find(|row| row.contains(" NO ")).unwrap();
    let name = bad.split_whitespace().last().unwrap();
    let said = sandbox.run(&["index", "--current", name]);
    assert_eq!(said.code, 0, "{said:?}");
    let warning =
        format!("scr index: warning: `{name}' is not complete, or a restart from it has failed");
    assert!(said.err.starts_with(&warning), "{said:?}");
}

#[test]
fn a_change_may_be_followed_by_the_list() {
    for (option, line) in [
        ("--current=timestep.1", "* timestep.1\n"),
        ("--drop=timestep.3", "* timestep.2\n"),
        ("--drop-after=timestep.1", "* timestep.1\n"),
        ("--add=timestep.1", "  timestep.1\n"),
        ("--build=1", "  timestep.1\n"),
        ("--delete=timestep.1", "  timestep.2\n"),
    ] {
        for args in [["--list", option], [option, "-l"]] {
            let sandbox = Sandbox::of("basic");
            let out = sandbox.run_as("scr_index", &args).out();
            assert!(out.ends_with(&list(&sandbox)), "{option}: {out}");
            assert!(out.contains(line), "{option}: {out}");
        }
    }
    let sandbox = Sandbox::of("basic");
    sandbox.run(&["index", "--list", "--current=nope"]).failed();
}

#[test]
fn a_name_that_is_unknown_is_an_error_and_changes_nothing() {
    for option in [
        "--drop",
        "-d",
        "--drop-after",
        "--current",
        "-c",
        "--remove",
        "--delete",
        "--add",
        "-a",
    ] {
        let sandbox = Sandbox::of("basic");
        let index = sandbox.path().join(".scr/index.scr");
        let before = std::fs::read(&index).unwrap();
        for name in ["nope", "", "timestep.1\nx", "\x1b[31m"] {
            let error = sandbox.run(&["index", option, name]).failed();
            assert!(!error.contains('\x1b'), "{error:?}");
            assert_eq!(error.lines().count(), 1, "{error:?}");
        }
        assert_eq!(std::fs::read(&index).unwrap(), before);
    }
}

#[test]
fn add_enters_what_was_dropped() {
    let sandbox = Sandbox::of("basic");
    sandbox.run(&["index", "--drop-after=timestep.1"]).out();
    let dir = sandbox.path().canonicalize().unwrap().join(".scr");
    let said = sandbox.run_as("scr_index", &["--add", "timestep.3"]).out();
    // The directory as the program sees it: without symbolic links.
    assert_eq!(
        said,
        format!(
            "Found `timestep.3' as dataset 3 at {}\nAdding `timestep.3' to index\n",
            dir.join("scr.dataset.3").display()
        )
    );
    let table = list(&sandbox);
    let line = table.lines().nth(1).unwrap();
    assert!(line.starts_with("   3 YES   20"), "{table}");
    assert!(line.ends_with("     timestep.3"), "{table}");
    assert_eq!(table.lines().count(), 3);
}

#[test]
fn add_works_without_an_index_and_beside_damaged_summaries() {
    let sandbox = Sandbox::of("failed");
    let meta = sandbox.path().join(".scr");
    std::fs::remove_file(meta.join("index.scr")).unwrap();
    std::fs::write(meta.join("scr.dataset.1/summary.scr"), b"garbage").unwrap();
    std::fs::create_dir(meta.join("scr.dataset.77")).unwrap();
    std::fs::create_dir(meta.join("scr.dataset.x")).unwrap();
    std::fs::rename(meta.join("scr.dataset.4"), meta.join("scr.dataset.9")).unwrap();

    let said = sandbox.run(&["index", "--add", "dump_0006"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.err.contains("scr.dataset.1/summary.scr"),
        "{}",
        said.err
    );
    assert!(list(&sandbox).contains("   6 YES"));

    let said = sandbox.run(&["index", "--add", "dump_0004"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("describes dataset 4"), "{}", said.err);
}

#[test]
fn add_forgets_a_failure() {
    let sandbox = Sandbox::of("failed");
    sandbox.run(&["index", "--add", "dump_0006"]).out();
    assert!(list(&sandbox).contains("   6 YES"));
}

/// A dataset may be named by a directory with its files, and needs no summary.
#[test]
fn add_takes_directories_and_writes_a_missing_summary() {
    let dropped = || {
        let sandbox = Sandbox::of("basic");
        sandbox.run(&["index", "--drop=timestep.3"]).out();
        sandbox
    };
    for named in [
        "timestep.3",
        "./timestep.3/",
        "timestep.3/../timestep.3",
        ".scr/scr.dataset.3",
    ] {
        let sandbox = dropped();
        let out = sandbox.run(&["index", "--add", named]).out();
        assert!(
            out.contains("Found `timestep.3' as dataset 3"),
            "{named}: {out}"
        );
        assert!(list(&sandbox).contains("   3 YES"));
    }
    // From elsewhere, and by an absolute path.
    let sandbox = dropped();
    let prefix = format!("--prefix={}", sandbox.path().display());
    let absolute = sandbox.path().join("timestep.3");
    let elsewhere = Sandbox::empty();
    elsewhere
        .run(&["index", &prefix, "--add", "timestep.3"])
        .out();
    sandbox.run(&["index", "--drop=timestep.3"]).out();
    elsewhere
        .run(&["index", &prefix, "--add", absolute.to_str().unwrap()])
        .out();
    assert!(list(&sandbox).contains("   3 YES"));
    // Without its summary: what the last run has told is enough, if all files are there.
    let summary = sandbox.path().join(".scr/scr.dataset.3/summary.scr");
    let add = |sandbox: &Sandbox| {
        sandbox.run(&["index", "--drop=timestep.3"]).out();
        std::fs::remove_file(sandbox.path().join(".scr/scr.dataset.3/summary.scr")).unwrap();
        sandbox.run(&["index", "--add", "timestep.3"])
    };
    let out = add(&sandbox).out();
    assert!(out.contains("wrote its summary"), "{out}");
    assert!(summary.exists() && list(&sandbox).contains("   3 YES"));
    for gone in [
        "timestep.3/rank_2/state_2.dat",
        ".scr/scr.dataset.3/rank2file",
        ".scr/flush.scr",
    ] {
        let sandbox = Sandbox::of("basic");
        std::fs::remove_file(sandbox.path().join(gone)).unwrap();
        let said = add(&sandbox);
        assert_eq!(said.code, 1, "{gone}: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
        assert!(!list(&sandbox).contains("timestep.3"));
    }
}

#[test]
fn add_refuses_what_is_no_dataset_or_another_one() {
    let sandbox = Sandbox::of("basic");
    let index = sandbox.path().join(".scr/index.scr");
    let before = std::fs::read(&index).unwrap();
    std::fs::create_dir_all(sandbox.path().join("mine/deep")).unwrap();
    let elsewhere = Sandbox::empty();
    for (named, why) in [
        ("mine", "no dataset that SCR has recorded"),
        ("mine/deep", "no dataset that SCR has recorded"),
        (
            elsewhere.path().to_str().unwrap(),
            "is not below the prefix directory",
        ),
        (".", "describes a dataset `.'"),
        ("/", "is not below the prefix directory"),
        ("..", "describes a dataset `..'"),
        ("timestep.9", "describes a dataset `timestep.9'"),
        (".scr/scr.dataset.9", "describes a dataset"),
        (".scr", "no dataset that SCR has recorded"),
    ] {
        let error = sandbox.run(&["index", "--add", named]).failed();
        assert!(error.contains(why), "{named}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(std::fs::read(&index).unwrap(), before);
    // The directory of a dataset from another prefix directory, in the place of ours.
    let other = Sandbox::of("failed");
    let (from, to) = (other.path(), sandbox.path());
    std::fs::remove_dir_all(to.join(".scr/scr.dataset.2")).unwrap();
    std::fs::rename(
        from.join(".scr/scr.dataset.2"),
        to.join(".scr/scr.dataset.2"),
    )
    .unwrap();
    let error = sandbox.run(&["index", "--add", "dump_0002"]).failed();
    assert!(
        error.contains("another dataset of that number, `timestep.2'") && error.contains("--drop"),
        "{error}"
    );
    assert_eq!(std::fs::read(&index).unwrap(), before);
}

/// A flush that was killed, in its directory only.
#[test]
fn add_refuses_half_a_flush_and_finishes_a_whole_one() {
    use scr::format::{Dataset, summary::Summary};
    use scr::store::{Durability, posix::Posix};
    let sandbox = Sandbox::of("basic");
    sandbox.run(&["index", "--drop=timestep.3"]).out();
    let path = sandbox.path().join(".scr/scr.dataset.3/summary.scr");
    let whole: Summary = scr::format::read(&Posix, &path).unwrap();
    let unfinished = |dataset: Dataset| {
        let summary = Summary::unfinished(dataset);
        scr::format::write(&Posix, &path, &summary, Durability::Atomic).unwrap();
    };
    // Its rank2file has no sizes, so it does not certify what is there.
    unfinished(whole.dataset.clone());
    let error = sandbox.run(&["index", "--add=timestep.3"]);
    assert_eq!(error.code, 1, "{error:?}");
    assert!(
        error
            .err
            .contains("is not complete in the prefix directory"),
        "{error:?}"
    );
    assert!(!list(&sandbox).contains("timestep.3"));

    let site = crate::site::Site::new().set("SCR_FLUSH", "1");
    site.run(&crate::site::nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap()
    });
    let index = |args: &[&str]| {
        let mut command = crate::sandbox::program("scr_index", args);
        crate::sandbox::said(command.current_dir(site.prefix()).output().unwrap())
    };
    index(&["--drop=ck.1"]).out();
    let path = site.prefix().join(".scr/scr.dataset.1/summary.scr");
    let whole: Summary = scr::format::read(&Posix, &path).unwrap();
    let summary = Summary::unfinished(whole.dataset);
    scr::format::write(&Posix, &path, &summary, Durability::Atomic).unwrap();
    let out = index(&["--add=ck.1"]).out();
    assert!(out.contains("All its files are there"), "{out}");
    assert!(index(&[]).out().contains("   1 YES"));
}

#[test]
fn delete_removes_files_and_leaves_others() {
    let sandbox = Sandbox::of("basic");
    let other = sandbox.path().join("timestep.1/notes.txt");
    std::fs::write(&other, "mine").unwrap();
    let said = sandbox.run(&["index", "--delete", "timestep.1"]).out();
    assert!(said.contains("timestep.1 is not empty and stays"), "{said}");
    assert!(other.exists());
    assert!(!sandbox.path().join("timestep.1/rank_0").exists());
    assert!(!sandbox.path().join(".scr/scr.dataset.1").exists());
    sandbox.run(&["index", "--delete=timestep.2"]).out();
    assert!(!sandbox.path().join("timestep.2").exists());
    assert_eq!(list(&sandbox).lines().count(), 2);
    assert!(sandbox.path().join("timestep.3/rank_0").exists());
}

#[test]
fn delete_leaves_files_that_another_dataset_lists() {
    let sandbox = Sandbox::of("basic");
    let map = sandbox.path().join(".scr/scr.dataset.1/rank2file.0.0");
    let mut tree = scr::format::read_tree(&scr::store::posix::Posix, &map).unwrap();
    let mut files = scr::format::Tree::new();
    files.set("timestep.2/./rank_0//state_0.dat", scr::format::Tree::new());
    let mut rank = scr::format::Tree::new();
    rank.set("FILE", files);
    let mut ranks = tree.remove("RANK").unwrap();
    ranks.set("0", rank);
    tree.set("RANK", ranks);
    std::fs::write(&map, scr::format::encode(&tree)).unwrap();
    let said = sandbox.run(&["index", "--delete", "timestep.1"]).out();
    assert!(
        said.contains("because other datasets have them, too: 1"),
        "{said}"
    );
    assert!(
        sandbox
            .path()
            .join("timestep.2/rank_0/state_0.dat")
            .exists()
    );
    assert!(!sandbox.path().join(".scr/scr.dataset.1").exists());
}

#[test]
fn a_hostile_map_does_not_lead_out_of_the_prefix() {
    let outside = Sandbox::empty();
    let victim = outside.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let sandbox = Sandbox::of("basic");
    let map = sandbox.path().join(".scr/scr.dataset.1/rank2file.0.0");
    let tree = scr::format::read_tree(&scr::store::posix::Posix, &map).unwrap();
    // The first file of rank 0 becomes one outside, by an absolute path and by `..`.
    let name = victim.to_str().unwrap();
    for hostile in [name.to_string(), format!("../../../../../../../..{name}")] {
        let mut files = scr::format::Tree::new();
        files.set(hostile.as_str(), scr::format::Tree::new());
        let mut rank = scr::format::Tree::new();
        rank.set("FILE", files);
        let mut tree = tree.clone();
        let mut ranks = tree.remove("RANK").unwrap();
        ranks.set("0", rank);
        tree.set("RANK", ranks);
        std::fs::write(&map, scr::format::encode(&tree)).unwrap();
        assert_eq!(sandbox.run(&["index", "--delete=timestep.1"]).code, 1);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(sandbox.run(&["index", "--add=timestep.1"]).code, 1);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}

#[test]
fn a_missing_index_and_an_index_of_another_version_are_errors() {
    let sandbox = Sandbox::of("basic");
    let index = sandbox.path().join(".scr/index.scr");
    let mut tree = scr::format::Tree::new();
    tree.set_value("VERSION", "99");
    let bytes = scr::format::encode(&tree);
    std::fs::write(&index, &bytes).unwrap();
    assert!(sandbox.run(&["index"]).failed().contains("version 99"));
    let said = sandbox.run(&["index", "--add=timestep.1"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(std::fs::read(&index).unwrap(), bytes);

    std::fs::remove_file(&index).unwrap();
    assert_eq!(sandbox.run(&["index", "--list"]).code, 1);
    let error = sandbox.run_as("scr_index", &[]).failed();
    assert!(error.starts_with("SCR v3.1.0 ERROR: "), "{error}");
    assert!(error.contains("index.scr"), "{error}");
    assert!(sandbox.run(&["index", "--drop=timestep.1"]).code == 1);
}

#[test]
fn a_flushed_dataset_is_complete_without_a_rebuild() {
    let sandbox = Sandbox::of("basic");
    let index = std::fs::read(sandbox.path().join(".scr/index.scr")).unwrap();
    for args in [["index", "--build=1"], ["index", "-b1"]] {
        let out = sandbox.run(&args).out();
        assert_eq!(
            out,
            "Dataset 1 (`timestep.1'), 4 ranks, is complete and in the index\n"
        );
    }
    let after = std::fs::read(sandbox.path().join(".scr/index.scr")).unwrap();
    assert_eq!(after, index);
}

#[test]
fn a_dataset_that_lost_a_file_is_not_complete() {
    let sandbox = Sandbox::of("basic");
    let file = sandbox.path().join("timestep.1");
    std::fs::remove_dir_all(file).unwrap();
    let error = sandbox.run(&["index", "--build=1"]).failed();
    assert!(
        error.contains("timestep.1/") && error.contains("is missing"),
        "{error}"
    );
}

/// The last run had a newer dataset under this id in its cache, which was not flushed.
#[test]
fn an_older_dataset_of_the_same_id_does_not_count_as_complete() {
    use scr::format::flush_file::{FlushEntry, FlushFile};
    use scr::prefix::{paths::Prefix, records};
    let sandbox = Sandbox::of("basic");
    let mut record = FlushFile::default();
    let newer = scr::format::Dataset {
        id: 1,
        name: "timestep.1".into(),
        created: 1 << 60,
        flag_ckpt: true,
        ckpt: Some(1),
        ..Default::default()
    };
    record.datasets.insert(1, FlushEntry::cached(newer));
    let prefix = Prefix::new(sandbox.path());
    records::write_flush_file(&scr::store::posix::Posix, &prefix, &record).unwrap();
    let error = sandbox.run(&["index", "--build=1"]).failed();
    assert!(!error.contains("is complete"), "{error}");
}

/// A run that is killed before its first flush has an empty prefix directory and full caches.
#[test]
fn without_an_index_the_datasets_in_the_caches_are_listed() {
    use crate::checkpoints::double_nodes;
    use crate::site::Site;
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    let index = |args: &[&str]| {
        let mut command = crate::sandbox::program("scr_index", args);
        crate::sandbox::said(command.current_dir(site.prefix()).output().unwrap()).failed()
    };
    site.run(&double_nodes(2), |_| ());
    let error = index(&[]);
    assert!(error.contains("nothing was flushed"), "{error}");
    assert!(error.contains("no run has recorded a dataset"), "{error}");
    site.run(&double_nodes(2), |rank| {
        ["ck.1", "ck\u{7}2"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
    });
    for args in [&[][..], &["--list"]] {
        let error = index(args);
        assert!(error.contains("nothing was flushed to"), "{error}");
        let held = "in the caches of its nodes: dataset 2 (`ck\\x072'), dataset 1 (`ck.1');";
        assert!(error.contains(held), "{error}");
        assert!(error.contains("scr postrun"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
    std::fs::write(site.prefix().join(".scr/flush.scr"), "garbage").unwrap();
    let error = index(&[]);
    assert!(
        error.contains("what the caches hold is not known"),
        "{error}"
    );
    assert!(
        error.contains("nothing was flushed") && error.contains("flush.scr"),
        "{error}"
    );
}
