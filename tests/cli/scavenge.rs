//! `scr copy`, `scr inspect` and `scr index --build`: the end of a job that was killed.

use crate::checkpoints::double_nodes;
use crate::sandbox::{Said, Sandbox, program, said};
use crate::site::Site;

fn killed(names: &[&str]) -> Site {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    site.run(&double_nodes(4), |rank| {
        names.iter().for_each(|name| rank.checkpoint(name).unwrap());
    });
    site
}

/// Runs a command as on a node, with the parameters in the environment.
pub(crate) fn on(site: &Site, node: &str, name: &str, args: &[&str]) -> Said {
    let base = site.node(node);
    std::fs::create_dir_all(&base).unwrap();
    let mut command = program(name, args);
    command
        .current_dir(site.prefix())
        .env("SCR_NODE_NAME", node)
        .env("SCR_CACHE_BASE", &base)
        .env("SCR_CNTL_BASE", &base);
    for (name, value) in &site.vars {
        command.env(name, value);
    }
    said(command.output().unwrap())
}

#[test]
fn a_killed_job_is_saved_node_by_node() {
    let site = killed(&["ck.1", "ck.2"]);
    let inspected = on(&site, "n1", "scr_inspect", &[]).out();
    assert_eq!(
        inspected,
        "DSET TYPE HERE RANKS FILES    SIZE SECONDS RATE CHECKSUMS NAME\n   2 CKPT    2     8     8 \
         8.0 KiB       -    - all       ck.2\n   1 CKPT    2     8     8 8.0 KiB       -    - all       \
         ck.1\n"
    );
    assert_eq!(on(&site, "n1", "scr", &["inspect", "-q"]).out(), "2 1\n");
    // Of files of the program, and of redundancy.
    let bytes = || -> u64 {
        let dirs = [
            site.prefix().join("ck.2"),
            site.prefix().join(".scr/scr.dataset.2"),
        ];
        let entries = dirs
            .iter()
            .filter_map(|dir| std::fs::read_dir(dir).ok())
            .flatten();
        let entries = entries.map(Result::unwrap);
        let copied = entries.filter(|e| !e.file_name().to_string_lossy().starts_with("filemap"));
        copied.map(|entry| entry.metadata().unwrap().len()).sum()
    };
    let mut before = 0;
    for node in ["n0", "n1", "n3"] {
        let out = on(&site, node, "scr_copy", &["--id", "2"]).out();
        assert_eq!(
            out.lines().last(),
            Some(format!("scr_copy: {node}: Return code: 0").as_str())
        );
        assert!(
            out.contains("dataset 2 (ck.2): 2 ranks of this node saved"),
            "{out}"
        );
        let after = bytes();
        let told = format!(", 4 files copied, {} bytes\n", after - before);
        assert!(out.contains(&told), "{told}: {out}");
        before = after;
    }
    let state = on(&site, "n0", "scr", &["inspect", "--id", "2"]);
    assert_eq!(state.code, 0, "{state:?}");
    assert!(
        state
            .out
            .ends_with("files of ranks 4 and 5 can be rebuilt\n"),
        "{state:?}"
    );
    let done = on(&site, "n0", "scr_index", &["--build", "2"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(
        done.out,
        "Rebuilt the files of ranks 4 and 5\nDataset 2 (`ck.2'), 8 ranks, is complete and in the \
         index\n"
    );
    let again = on(&site, "n0", "scr_index", &["--build=2"]).out();
    assert!(again.ends_with("is complete and in the index\n"), "{again}");
    let list = on(&site, "n0", "scr_index", &["--list"]).out();
    assert!(
        list.contains("   2 YES ") && list.contains(" * ck.2"),
        "{list}"
    );
    let state = on(&site, "n0", "scr", &["inspect", "--id", "2"]).out();
    assert_eq!(state, "dataset 2 (ck.2), 8 ranks: complete\n");
    // Also with empty caches.
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&double_nodes(4), Some("ck.2"));
}

#[test]
fn the_job_may_be_named_by_its_control_directory() {
    let site = killed(&["ck.1"]);
    let (elsewhere, prefix) = (Sandbox::empty(), site.prefix());
    let control = site.node("n2").join("user1/scr.1001");
    let [prefix, control, base] =
        [prefix, control, site.node("n2")].map(|path| path.to_string_lossy().into_owned());
    let args = |id| {
        vec![
            "--cntldir",
            &control,
            "--id",
            id,
            "--prefix",
            &prefix,
            "--cache",
            &base,
            "--buf",
            "64k",
            "--crc",
            "--redundancy",
            "none",
        ]
    };
    let out = elsewhere.run_as("scr_copy", &args("1")).out();
    assert!(
        out.contains("2 ranks of this node saved, 2 files copied"),
        "{out}"
    );
    let out = elsewhere.run_as("scr_copy", &args("1")).out();
    assert!(
        out.contains("2 ranks of this node saved, 0 files copied"),
        "{out}"
    );
    let said = elsewhere.run_as("scr_copy", &args("7"));
    assert_eq!(said.code, 1);
    assert!(said.out.ends_with(": Return code: 1\n"), "{said:?}");
    assert!(
        said.err.contains("there is nothing of dataset 7 in"),
        "{said:?}"
    );
    assert!(said.err.contains(&control), "{said:?}");
}

#[test]
fn datasets_that_cannot_be_saved_are_reported() {
    let site = killed(&["ck.1"]);
    for node in ["n0", "n1"] {
        assert_eq!(on(&site, node, "scr_copy", &["-i1"]).code, 0);
    }
    for args in [&["inspect", "-i1"][..], &["index", "-b1"]] {
        let said = on(&site, "n0", "scr", args);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
        assert!(
            said.err
                .contains("dataset 1 (ck.1): the files of ranks 4 and 6 "),
            "{said:?}"
        );
    }
    let said = on(&site, "n0", "scr_index", &["--build", "5"]);
    assert!(
        said.failed()
            .contains("dataset 5: there is nothing of it in")
    );
    assert_eq!(on(&site, "n0", "scr_index", &["--build", "x"]).code, 2);
    let nothing = on(&site, "n9", "scr_inspect", &[]).failed();
    let job = "/n9/user1/scr.1001 does not exist; set user, job id and stores";
    assert!(nothing.contains(": no dataset on node n9: "), "{nothing}");
    assert!(nothing.contains(job), "{nothing}");
    assert_eq!(on(&site, "n0", "scr_copy", &[]).code, 2);
    assert_eq!(on(&site, "n0", "scr_copy", &["-i1", "--buf", "0"]).code, 2);
    let error = on(&site, "n0", "scr_copy", &["-i1", "--cntldir", "/tmp"]);
    assert_eq!(error.code, 1);
    assert!(
        error.err.contains("/tmp is not a control directory"),
        "{error:?}"
    );
    assert!(error.out.contains(": Return code: 1\n"), "{error:?}");
    let error = on(&site, "n0", "scr_copy", &["-i1", "--prefix", "nowhere"]);
    assert!(
        error
            .err
            .contains("nowhere is not a prefix directory of SCR"),
        "{error:?}"
    );
    assert!(error.code == 1 && !site.prefix().join("nowhere").exists());
}

#[test]
fn copied_parts_can_be_rebuilt_by_hand() {
    let site = killed(&["ck.1"]);
    for node in ["n0", "n1", "n2"] {
        assert_eq!(on(&site, node, "scr_copy", &["-i1"]).code, 0);
    }
    let dir = site.prefix().join(".scr/scr.dataset.1");
    let mut command = program("scr_rebuild_xor", &["xor"]);
    let rebuilt = said(command.current_dir(&dir).output().unwrap());
    assert_eq!(rebuilt.code, 0, "{rebuilt:?}");
    assert!(
        rebuilt.out.contains("files of ranks 6 and 7"),
        "{rebuilt:?}"
    );
    assert!(site.prefix().join("ck.1/rank_7.dat").exists());
    let out = on(&site, "n0", "scr_index", &["-b1"]).out();
    assert_eq!(
        out,
        "Dataset 1 (`ck.1'), 8 ranks, is complete and in the index\n"
    );
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&double_nodes(4), Some("ck.1"));
}

#[test]
fn a_node_that_is_down_is_rebuilt_from_what_others_keep_for_it() {
    let site = killed(&["ck.1"]);
    for node in ["n0", "n1", "n2"] {
        on(&site, node, "scr_copy", &["-i1", "--redundancy", "none"]).out();
    }
    let dir = site.prefix().join(".scr/scr.dataset.1");
    let redundancy = || {
        let names = std::fs::read_dir(&dir).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".xor")).count()
    };
    assert_eq!(redundancy(), 0);
    // The second round copies no data, so it does not need any.
    std::fs::remove_dir_all(site.dataset("n0", 1).join("rank_0")).unwrap();
    for node in ["n0", "n1", "n2"] {
        let out = on(
            &site,
            node,
            "scr_copy",
            &["-i1", "--partner", "n[3-4],n7", "n9"],
        )
        .out();
        assert!(out.contains("dataset 1 (ck.1): 2 files copied"), "{out}");
    }
    assert_eq!(redundancy(), 6);
    let built = on(&site, "n0", "scr_index", &["-b1"]);
    assert!(built.out.contains("ranks 6 and 7"), "{built:?}");

    // Where all nodes have brought their files, nothing is needed, unless one of them is down now.
    let site = killed(&["ck.1"]);
    for node in ["n0", "n1", "n2", "n3"] {
        on(&site, node, "scr_copy", &["-i1", "--redundancy", "none"]).out();
    }
    for (down, files) in [("n9", 0), ("n3", 2)] {
        let out = on(&site, "n0", "scr_copy", &["-i1", "--partner", down]).out();
        assert!(out.contains(&format!("): {files} files copied")), "{out}");
    }
    for args in [&["--partner", "--redundancy", "none"][..], &["n[3-"]] {
        let said = on(&site, "n0", "scr_copy", &[&["-i1"], args].concat());
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.out.ends_with(": Return code: 1\n"), "{said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
    }
}

#[test]
fn parameters_of_containers_and_checksums_have_effect() {
    let mut site = killed(&["ck.1", "ck.2"]);
    let container = |site: &Site, id: u64, n: u64| {
        let dir = site.prefix().join(format!(".scr/scr.dataset.{id}"));
        dir.join(format!("ctr.{n}.scr")).exists()
    };
    on(&site, "n0", "scr_copy", &["-i1", "--containers"]).out();
    assert!(container(&site, 1, 0) && !site.prefix().join("ck.1").exists());
    site = site
        .set("SCR_USE_CONTAINERS", "1")
        .set("SCR_CONTAINER_SIZE", "1500");
    for node in ["n0", "n1", "n3"] {
        on(&site, node, "scr_copy", &["-i2"]).out();
    }
    assert!(container(&site, 2, 0) && container(&site, 2, 8) && container(&site, 2, 2));
    let state = on(&site, "n0", "scr", &["inspect", "--id", "2"]);
    assert!(
        state
            .out
            .ends_with("files of ranks 4 and 5 can be rebuilt\n"),
        "{state:?}"
    );
    site = site.set("SCR_CRC_ON_FLUSH", "0");
    let built = on(&site, "n0", "scr_index", &["--build", "2"]);
    assert!(built.out.contains("ranks 4 and 5"), "{built:?}");
    let leaf = site.prefix().join(".scr/scr.dataset.2/rank2file.0.0");
    let leaf = on(&site, "n0", "scr", &["print", leaf.to_str().unwrap()]).out();
    assert!(
        leaf.contains("SEG") && leaf.contains("SIZE") && !leaf.contains("CRC"),
        "{leaf}"
    );
    let out = on(&site, "n0", "scr", &["extract", "ck.2"]).out();
    assert!(
        out.contains(": 6 files") && out.contains("2 there already"),
        "{out}"
    );
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&double_nodes(4), Some("ck.2"));
    // A bad value does not keep the files from being saved.
    let site = killed(&["ck.1"]);
    let site = site
        .set("SCR_CONTAINER_SIZE", "many")
        .set("SCR_USE_CONTAINERS", "perhaps");
    let said = on(
        &site,
        "n0",
        "scr_copy",
        &["-i1", "--cache", site.node("n0").to_str().unwrap()],
    );
    assert!(said.out.contains("2 ranks of this node saved"), "{said:?}");
}

#[test]
fn lost_files_in_containers_are_rebuilt_by_hand_and_inspected() {
    let site = killed(&["ck.1"]).set("SCR_USE_CONTAINERS", "1");
    for node in ["n0", "n1", "n2"] {
        on(&site, node, "scr_copy", &["-i1"]).out();
    }
    let dir = site.prefix().join(".scr/scr.dataset.1");
    let rebuilt = on(
        &site,
        "n0",
        "scr",
        &["rebuild", "--dir", dir.to_str().unwrap()],
    );
    assert!(
        rebuilt.out.contains("files of ranks 6 and 7"),
        "{rebuilt:?}"
    );
    assert!(site.prefix().join("ck.1/rank_7.dat").exists());
    assert!(!site.prefix().join("ck.1/rank_1.dat").exists());
    on(&site, "n0", "scr_index", &["-b1"]).out();
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&double_nodes(4), Some("ck.1"));
}

/// `scr index --add` of datasets without a summary.
#[test]
fn add_completes_what_was_scavenged() {
    let add = |site: &Site, named: &str| on(site, "n0", "scr_index", &["--add", named]);
    let site = killed(&["ck.1"]);
    for node in ["n0", "n1", "n2"] {
        on(&site, node, "scr_copy", &["-i1"]).out();
    }
    // Its directory, with lost files, which are rebuilt.
    let said = add(&site, "./ck.1/");
    assert_eq!(said.code, 0, "{said:?}");
    for text in [
        "Found `ck.1' as dataset 1 at ",
        "Rebuilt the files of ranks 6 and 7",
        "is complete and in the index",
    ] {
        assert!(said.out.contains(text), "{said:?}");
    }
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&double_nodes(4), Some("ck.1"));

    // Too much is lost.
    let site = killed(&["ck.1"]);
    for node in ["n0", "n1"] {
        on(&site, node, "scr_copy", &["-i1"]).out();
    }
    let index = site.prefix().join(".scr/index.scr");
    let before = std::fs::read(&index).unwrap();
    let said = add(&site, "ck.1");
    assert_eq!(said.code, 1, "{said:?}");
    for text in [
        "`ck.1' (dataset 1) is not complete",
        "is not entered",
        "scr postrun",
    ] {
        assert!(said.err.contains(text), "{said:?}");
    }
    assert_eq!(std::fs::read(&index).unwrap(), before);
}

/// `ulimit -n`: of a set of many ranks, no more files are open at a time.
#[test]
fn a_large_set_is_rebuilt_with_few_files_open() {
    let names: Vec<String> = (0..24).map(|node| format!("n{node}")).collect();
    let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_SET_SIZE", "24");
    site.run(&nodes, |rank| rank.checkpoint("ck.1").unwrap());
    for node in &nodes[1..] {
        on(&site, node, "scr_copy", &["-i1"]).out();
    }
    let mut limited = std::process::Command::new("/bin/sh");
    limited.args(["-c", "ulimit -n 40; exec \"$@\"", "sh"]);
    limited
        .arg(env!("CARGO_BIN_EXE_scr"))
        .args(["index", "--build", "1"]);
    limited.current_dir(site.prefix());
    let built = said(limited.output().unwrap());
    assert_eq!(built.code, 0, "{built:?}");
    assert!(
        built.out.contains("Rebuilt the files of rank 0"),
        "{built:?}"
    );
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
    site.expect_restart(&nodes, Some("ck.1"));
}
