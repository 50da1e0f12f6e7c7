//! `scr doctor`

use crate::sandbox::{Programs, Said, Sandbox};
use crate::site::{Site, nodes};
use scr::format::Dataset;
use scr::format::flush_file::{FLUSH_FAILED, FlushEntry, FlushFile};
use scr::prefix::paths::Prefix;
use scr::prefix::records::write_flush_file;
use scr::store::posix::Posix;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A job of Slurm on four nodes, with all programs of Slurm.
fn slurm() -> Programs {
    ["sinfo", "scontrol", "scancel", "srun"]
        .iter()
        .fold(Programs::new(), |programs, name| programs.add(name, ""))
        .add("squeue", "echo NONE")
}

const SLURM: [(&str, &str); 3] = [
    ("SLURM_JOB_ID", "77"),
    ("SLURM_JOB_NODELIST", "n[1-4]"),
    ("SLURM_NTASKS_PER_NODE", "2"),
];

/// `scr doctor` in a job of Slurm with a cache in the sandbox.
fn doctor(sandbox: &Sandbox, set: &[(&str, &str)], args: &[&str]) -> Said {
    let cache = sandbox.path().join("cache");
    std::fs::create_dir_all(&cache).unwrap();
    let cache = cache.to_str().unwrap();
    let mut all = SLURM.to_vec();
    all.extend([("SCR_CACHE_BASE", cache), ("SCR_CNTL_BASE", cache)]);
    all.extend([("SCR_CACHE_BYPASS", "0"), ("USER", "someone")]);
    // The sandbox may be in memory, which would be a problem for the prefix directory of several nodes.
    all.push(("SCR_REMOTE", "LOCAL"));
    all.extend(set);
    slurm().run(sandbox, &all, &[&["doctor"], args].concat())
}

/// The facts of a call that must have found no problem.
fn good(said: Said) -> String {
    let out = said.out();
    assert!(out.ends_with("\nNothing is wrong.\n"), "{out}");
    out
}

/// The problems of a call that must have found some.
fn problems(said: Said) -> String {
    assert_eq!((said.code, said.err.as_str()), (1, ""), "{}", said.out);
    let (_, problems) = said.out.split_once("\nProblems\n").expect(&said.out);
    problems.to_string()
}

#[test]
fn a_link_in_the_way_of_datasets_is_shown() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.path().join("input")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(scratch.path(), sandbox.path().join("output")).unwrap();
    let out = good(doctor(&sandbox, &[], &[]));
    let target = scratch.path().display();
    let lines = [
        "no dataset with files in it can be flushed: ",
        &format!("output is a symbolic link to {target}"),
    ];
    has(&out, &lines);
    assert!(!out.contains("input"), "{out}");
}

fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "there is no `{line}` in\n{text}");
    }
}

#[test]
fn a_job_without_problems() {
    let sandbox = Sandbox::of("basic");
    let out = good(doctor(&sandbox, &[], &[]));
    has(
        &out,
        &[
            "  manager      SLURM\n",
            "  job id       77\n",
            "  user         someone\n",
            "  nodes        4: n[1-4]\n",
            "  end          not known\n",
            "  launcher     srun of Slurm (",
            "  reached by   this machine\n",
            "Configuration files\n  user file    ",
            "\n  system file  ",
            "  SCR_CACHE_BYPASS = 0 (environment)\n",
            "What is survived, with 4 nodes of 2 ranks (nodes: the allocation; ranks: \
             SLURM_NTASKS_PER_NODE)\n",
            ": the loss of any 1 node, not of 2\n",
            "  datasets     ",
            "  halt         nothing asks for a halt\n",
        ],
    );
    assert!(!out.contains("SCR_FLUSH"), "it is not set\n{out}");
    let cache = sandbox.path().join("cache");
    let line = format!("  cache        {} (", cache.display());
    has(&out, &[&line, "free)\n"]);
    assert_eq!(
        std::fs::read_dir(&cache).unwrap().count(),
        0,
        "it made something"
    );
}

#[test]
fn losses_are_those_that_a_run_would_survive() {
    let sandbox = Sandbox::empty();
    for (set, args, expected) in [
        (
            "XOR",
            &["--nodes", "16"][..],
            "sets of 8 ranks: the loss of any 1 node, not of 2",
        ),
        (
            "RS",
            &["--nodes", "16"],
            "sets of 8 ranks: the loss of any 2 nodes, not of 3",
        ),
        (
            "RS",
            &["-n", "10", "-r", "1"],
            "sets of 10 ranks: the loss of any 2 nodes, not of 3",
        ),
        ("PARTNER", &["-n", "3"], "the loss of any 1 node, not of 2"),
        (
            "SINGLE",
            &["-n", "3"],
            "each rank for itself: a failure of processes, but not the loss of a node",
        ),
    ] {
        let out = good(doctor(&sandbox, &[("SCR_COPY_TYPE", set)], args));
        has(&out, &[set, expected]);
    }
    // By default datasets are in bypass.
    let out = good(doctor(&sandbox, &[("SCR_CACHE_BYPASS", "1")], &[]));
    has(
        &out,
        &[
            "checkpoints  not in the cache (BYPASS) but in ",
            ": the loss of all nodes",
        ],
    );
    let alone = problems(doctor(&sandbox, &[], &["--nodes", "1"]));
    has(
        &alone,
        &["all ranks are in one failure group, so XOR could not survive its loss"],
    );
    let few = problems(doctor(&sandbox, &[("SCR_COPY_TYPE", "RS")], &["--nodes=2"]));
    has(
        &few,
        &["RS is to survive 2 losses, but with these ranks and nodes you survive"],
    );
}

#[test]
fn each_descriptor_is_reported() {
    let sandbox = Sandbox::empty();
    let fast = sandbox.path().join("fast");
    std::fs::create_dir(&fast).unwrap();
    let fast = fast.display();
    let mut lines = format!(
        "SCR_COPY_TYPE=FILE\nSTORE={fast} COUNT=2\nCKPT=0 INTERVAL=1 TYPE=SINGLE\n\
         CKPT=1 INTERVAL=4 TYPE=XOR STORE={fast}\nCKPT=2 OUTPUT=1 BYPASS=1\n\
         CKPT=3 INTERVAL=8 TYPE=PARTNER GROUP=RACK\n"
    );
    for (node, rack) in [("n1", 1), ("n2", 1), ("n3", 2), ("n4", 2)] {
        lines.push_str(&format!("GROUPS={node} RACK={rack}\n"));
    }
    std::fs::write(sandbox.path().join(".scrconf"), lines).unwrap();
    let out = good(doctor(&sandbox, &[], &[]));
    has(
        &out,
        &[
            "  checkpoints  SINGLE in ",
            &format!(
                "  1 of 4       XOR in {fast}, sets of 4 ranks: the loss of any 1 node, not of 2\n"
            ),
            "  output       not in the cache (BYPASS)",
            "  1 of 8       PARTNER in ",
            "the loss of any 1 group of RACK, not of 2\n",
            &format!("  STORE={fast} COUNT=2 ("),
        ],
    );
    // No GROUPS line names the rack of the fifth node.
    let fifth = problems(doctor(&sandbox, &[], &["--nodes", "5"]));
    has(&fifth, &["GROUP=RACK is not known on node another-node-1"]);
}

#[test]
fn sizes_are_compared_with_the_free_space() {
    let sandbox = Sandbox::empty();
    let out = good(doctor(&sandbox, &[], &["--size", "4k"]));
    has(
        &out,
        &[
            // 2 ranks on a node, each with a third more for parity.
            "  cache        ",
            ": 10.7 KiB for a dataset with redundancy, 10.7 KiB for the 1 that are kept\n",
            ": 32.0 KiB for a dataset\n",
        ],
    );
    let text = problems(doctor(&sandbox, &[], &["--size", "900p"]));
    has(
        &text,
        &[
            "but needs 2.3 EiB for a dataset with redundancy",
            "     use another store, a scheme with less redundancy, fewer ranks on a node, or",
            "free, but one dataset takes 7.0 EiB\n     make room, or set SCR_PREFIX",
        ],
    );
    // One dataset fits, but not as many as the cache keeps.
    let many = [("SCR_CACHE_SIZE", "2000000000")];
    let text = problems(doctor(&sandbox, &many, &["--size", "1m", "-n2"]));
    has(&text, &["     keep only "]);
    assert!(!text.contains("SCR_PREFIX"), "{text}");
}

#[test]
fn each_problem_comes_with_a_remedy() {
    let sandbox = Sandbox::of("basic");
    std::fs::write(sandbox.path().join(".scrconf"), "SCR_FLUHS=3\nno sense\n").unwrap();
    let text = problems(doctor(
        &sandbox,
        &[("SCR_ENABLE", "0"), ("SCR_HALT_SECONDS", "60")],
        &[],
    ));
    has(
        &text,
        &[
            "no parameter SCR_FLUHS; did you mean SCR_FLUSH?",
            ".scrconf:2: ",
            "SCR_ENABLE is 0\n     set SCR_ENABLE=1\n",
            "SCR_HALT_SECONDS has no effect: the end of the allocation is not known\n     set \
             SCR_END_TIME",
        ],
    );
    let text = problems(doctor(&sandbox, &[("SCR_FLUSH", "often")], &[]));
    has(&text, &["environment: SCR_FLUSH is `often` but must be"]);

    // A job without a launcher, whose nodes cannot be reached.
    let said = Programs::new().run(&Sandbox::empty(), &SLURM, &["doctor"]);
    has(
        &problems(said),
        &[
            "there is no squeue on PATH, which SLURM needs\n     add the directory",
            "no launcher that scr_run knows is on PATH",
            "no command can run on other nodes",
        ],
    );
}

#[test]
fn unusable_directories_are_reported() {
    let sandbox = Sandbox::empty();
    let at = |name: &str| sandbox.path().join(name);
    let text = |path: &Path| path.to_str().unwrap().to_string();
    std::fs::write(at("file"), "").unwrap();
    let file = text(&at("file"));
    let below = text(&at("file/below"));
    for base in [&file, &below] {
        let told = problems(doctor(&sandbox, &[("SCR_CACHE_BASE", base)], &[]));
        has(&told, &[&format!("{file} is not a directory")]);
    }
    // A missing directory is made, unless MKDIR=0.
    let missing = text(&at("not/yet"));
    let out = good(doctor(&sandbox, &[("SCR_CACHE_BASE", &missing)], &[]));
    has(&out, &[&format!("{missing} ("), ", to be made)"]);
    let conf = at(".scrconf");
    std::fs::write(&conf, format!("STORE={missing} MKDIR=0\n")).unwrap();
    let told = problems(doctor(&sandbox, &[("SCR_CACHE_BASE", &missing)], &[]));
    has(&told, &[&format!("{missing} does not exist, and MKDIR=0")]);
    std::fs::remove_file(conf).unwrap();
    // Other users could write there.
    let open = at("open/someone");
    std::fs::create_dir_all(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let base = text(&at("open"));
    let told = problems(doctor(&sandbox, &[("SCR_CACHE_BASE", &base)], &[]));
    has(&told, &["others may write to it (mode 777)"]);
}

#[test]
fn the_content_of_the_prefix_directory_is_reported() {
    let sandbox = Sandbox::of("basic");
    let dir = sandbox.path().to_str().unwrap();
    sandbox.run(&["halt", "-c", "0"]).out();
    let text = problems(doctor(&sandbox, &[], &["--prefix", dir]));
    has(
        &text,
        &[
            "the next run stops as soon as it asks: JOB_HALTED\n",
            &format!("     run: scr halt --remove {dir}\n"),
        ],
    );
    sandbox.run(&["halt", "--remove"]).out();
    good(doctor(&sandbox, &[], &[]));
    std::fs::write(sandbox.path().join(".scr/index.scr"), "damaged").unwrap();
    let text = problems(doctor(&sandbox, &[], &[]));
    has(&text, &["index.scr", "scr index --prefix "]);
    has(
        &good(doctor(&Sandbox::empty(), &[], &[])),
        &["SCR has not used it yet"],
    );
}

#[test]
fn it_looks_with_the_parameters_of_the_last_run() {
    let site = Site::new().set("SCR_CACHE_SIZE", "3").set("SCR_DEBUG", "1");
    site.run(&nodes(1), |rank| rank.checkpoint("a").unwrap());
    let env = std::fs::read_to_string(site.prefix().join(".scr/env.conf")).unwrap();
    assert!(env.contains("SCR_CACHE_SIZE=3\n"), "{env}");
    assert!(
        !env.contains("SCR_PREFIX") && !env.contains("SCR_JOB_ID"),
        "{env}"
    );
    let sandbox = Sandbox::of("basic");
    let conf = sandbox.path().join(".scr/env.conf");
    let text = "SCR_CACHE_SIZE=3\nSCR_CACHE_BASE=/a b\nnoise\nSCR_NONE=1\nSCR_FLUSH=none\n";
    std::fs::write(conf, text).unwrap();
    let said = doctor(&sandbox, &[("SCR_DEBUG", "1")], &[]);
    has(
        &said.out,
        &[
            "SCR_CACHE_SIZE = 3 (environment of the last run)\n",
            "SCR_DEBUG = 1 (environment)\n",
            "SCR_FLUSH is `none`",
        ],
    );
    assert!(
        !said.out.contains("/a b"),
        "this environment counts: {}",
        said.out
    );
}

#[test]
fn flushes_that_failed_are_a_problem() {
    let sandbox = Sandbox::of("basic");
    let log = sandbox.path().join(".scr/log");
    let event = |rest: &str| format!("2026-11-21T00:42:08: host=n, jobid=7, event={rest}\n");
    let good_run = event("START") + &event("FLUSH_SUCCESS, dset=8, name=\"ck.8\"");
    std::fs::write(&log, &good_run).unwrap();
    let text = good(doctor(&sandbox, &[], &[]));
    has(&text, &["flushes      1 in the last run, none failed\n"]);

    let failed = event("START")
        + &event("FLUSH_FAIL, note=\"/p is full\", dset=9, name=\"ck.9\"")
        + &event("END, secs=1.0");
    std::fs::write(&log, good_run + &failed).unwrap();
    let text = problems(doctor(&sandbox, &[], &[]));
    has(
        &text,
        &["no flush of the last run has succeeded: /p is full\n"],
    );

    let prefix = Prefix::new(sandbox.path());
    let dataset = Dataset {
        id: 9,
        name: "ck.9".into(),
        ..Dataset::default()
    };
    let mut record = FlushFile::default();
    let mut entry = FlushEntry::cached(dataset);
    entry.set_flush(Some(FLUSH_FAILED));
    record.datasets.insert(9, entry);
    write_flush_file(&Posix, &prefix, &record).unwrap();
    let only = "dataset 9 (ck.9) is only in the cache, since its flush has failed";
    let text = problems(doctor(&sandbox, &[], &[]));
    has(&text, &[&format!("{only}: /p is full\n")]);
    // Without a log the reason is not known.
    std::fs::remove_file(&log).unwrap();
    has(
        &problems(doctor(&sandbox, &[], &[])),
        &[&format!("{only}\n")],
    );
}

#[test]
fn a_prefix_directory_that_other_nodes_do_not_see_is_a_problem() {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    if !mounts.contains(" /dev/shm tmpfs ") {
        println!("SKIPPED: there is no tmpfs at /dev/shm");
        return;
    }
    let args = ["--prefix", "/dev/shm/scr-doctor-has-made-nothing"];
    let set = [("SCR_REMOTE", "AUTO")];
    let text = problems(doctor(&Sandbox::empty(), &set, &args));
    let remedy = "     set SCR_PREFIX to a directory that all nodes share";
    has(&text, &["is in memory of this node", remedy]);
    assert!(!Path::new(args[1]).exists());
}

#[test]
fn wrong_numbers_are_wrong_options() {
    let sandbox = Sandbox::empty();
    for args in [
        &["--nodes", "0"][..],
        &["--ranks", "many"],
        &["--size", "0"],
        &["--size", "4 quarts"],
        &["--nodes", "200000", "--ranks", "4000"],
        &["elsewhere"],
    ] {
        let said = doctor(&sandbox, &[], args);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
        has(&said.err, &["Usage: scr doctor"]);
    }
}

/// The lines of the section on devices. The libraries are those of `tests/device`, which answer without a device.
#[test]
fn devices_are_counted_and_their_bus_is_measured() {
    let sandbox = Sandbox::empty();
    let libraries = tempfile::tempdir().unwrap();
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device/build.sh");
    let mut build = std::process::Command::new(build);
    let built = build.arg(libraries.path()).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let libraries = libraries.path().to_str().unwrap();
    let said = |setting| {
        let set = [("LD_LIBRARY_PATH", libraries), setting];
        let out = good(doctor(&sandbox, &set, &["--nodes", "4"]));
        let (_, section) = out.split_once("\nDevices\n").expect(&out);
        section.split("\n\n").next().unwrap_or_default().to_string()
    };
    let usual = said(("FAKE_DEVICES", "2"));
    assert!(
        usual.contains("CUDA         2 devices, Fake device 0: "),
        "{usual}"
    );
    assert!(usual.contains(" GB/s to registered memory"), "{usual}");
    assert!(
        usual.contains("HIP          libamdhip64.so.6, not measured"),
        "{usual}"
    );
    assert!(usual.contains("locked       "), "{usual}");
    let refused = said(("FAKE_REGISTER_REFUSED", "1"));
    assert!(
        refused.contains(" GB/s to ordinary (registering is refused) memory"),
        "{refused}"
    );
    let none = said(("FAKE_DEVICES", "0"));
    assert!(
        none.contains("CUDA         not used: CUDA: cannot start: error 100"),
        "{none}"
    );
    let failed = said(("FAKE_FAIL", "cuMemcpyDtoHAsync_v2:1:214"));
    assert!(failed.contains("CUDA_ERROR_ECC_UNCORRECTABLE"), "{failed}");
}
