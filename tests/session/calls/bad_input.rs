//! Wrong names, wrong directories, full disks: the error is clear, and the previous checkpoint is
//! intact.

use crate::site::{Rank, Site, content};
use scr::config::Config;
use scr::format::Name;
use scr::format::index::Index;
use scr::job::Environment;
use scr::session::state::State;
use scr::session::{Session, Setup};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use scr_testing::threads;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const NODES: [&str; 2] = ["n0", "n1"];

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap_or_default()
}

/// The error of `SCR_Init`, the same on all ranks.
fn refused(site: &Site) -> String {
    let told = site.start(&NODES, |started| started.err().map(|e| e.to_string()));
    assert_eq!(told[0], told[1]);
    told[0].clone().expect("SCR_Init fails")
}

/// Writes a dataset of the given files, the same on each rank, and completes it.
fn dataset(rank: &mut Rank, name: &str, files: &[&str]) -> scr::Result<()> {
    rank.session
        .start_output(Some(Name::from(name)), true, false)?;
    for file in files {
        let path = rank.session.route(Path::new(file)).unwrap();
        std::fs::write(path, content(file, 0, 100)).unwrap();
    }
    rank.session.complete_output(true)
}

#[test]
fn a_name_that_cannot_be_routed_is_refused_and_does_no_harm() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "1");
        let long = "x/".repeat(600);
        site.run(&NODES, |rank| {
            rank.session
                .start_output(Some(Name::from("ck")), true, false)
                .unwrap();
            for (name, why) in [
                ("", "the name is empty"),
                ("/etc/passwd", "not below the prefix directory"),
                ("../beside", "not below the prefix directory"),
                (".", "not below the prefix directory"),
                (".scr/index.scr", "SCR's own directory"),
                ("a/../.scr/x", "SCR's own directory"),
                (&long, "at most 1023 fit"),
            ] {
                let text = rank.session.route(Path::new(name)).unwrap_err().to_string();
                assert!(
                    text.starts_with("SCR_Route_file") && text.contains(why),
                    "{text}"
                );
                assert_eq!(rank.session.state(), State::Output);
            }
            let file = format!("ck/rank_{}.dat", rank.rank);
            let path = rank.session.route(Path::new(&file)).unwrap();
            assert_eq!(
                path,
                rank.session.route(Path::new(&file)).unwrap(),
                "twice is once"
            );
            std::fs::write(path, content("ck", rank.rank, 1000 + 7 * rank.rank)).unwrap();
            rank.session.complete_output(true).unwrap();
            assert_eq!(rank.restart().as_deref(), Some("ck"));
        });
        assert_eq!(
            index(&site).get(1).unwrap().dataset.as_ref().unwrap().files,
            Some(2)
        );
    }
}

#[test]
fn relative_names_start_where_the_program_is() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "1");
        site.run(&NODES, |rank| {
            rank.session
                .start_output(Some(Name::from("ck")), true, false)
                .unwrap();
            rank.session.set_cwd(site.prefix().join("sub/dir"));
            let file = format!("../rank_{}.dat", rank.rank);
            let path = rank.session.route(Path::new(&file)).unwrap();
            std::fs::write(path, b"here").unwrap();
            rank.session.complete_output(true).unwrap();
        });
        assert_eq!(
            std::fs::read(site.prefix().join("sub/rank_1.dat")).unwrap(),
            b"here"
        );
    }
}

#[test]
fn a_prefix_may_be_named_by_a_symbolic_link() {
    for bypass in ["0", "1"] {
        let site = Site::new();
        let link = site.prefix().with_file_name("link");
        std::os::unix::fs::symlink(site.prefix(), &link).unwrap();
        let site = site
            .set("SCR_PREFIX", link.to_str().unwrap())
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_FLUSH", "1");
        site.run(&NODES, |rank| {
            rank.session
                .start_output(Some(Name::from("ck")), true, false)
                .unwrap();
            for root in [&link, &site.prefix()] {
                let file = root.join(format!("ck/rank_{}.dat", rank.rank));
                let path = rank.session.route(&file).unwrap();
                std::fs::write(path, content("ck", rank.rank, 1000 + 7 * rank.rank)).unwrap();
            }
            rank.session.complete_output(true).unwrap();
        });
        assert_eq!(
            index(&site).get(1).unwrap().dataset.as_ref().unwrap().files,
            Some(2)
        );
        NODES.iter().for_each(|node| site.lose(node));
        let names = site.run(&NODES, |rank| rank.restart());
        assert_eq!(names[1].as_deref(), Some("ck"));
    }
}

#[test]
fn a_file_that_was_not_written_fails_the_dataset_only() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", "2")
            .set("SCR_FLUSH", "1");
        site.run(&NODES, |rank| {
            rank.checkpoint("good").unwrap();
            for (name, make) in [("missing", false), ("directory", true)] {
                rank.session
                    .start_output(Some(Name::from(name)), true, false)
                    .unwrap();
                let path = rank
                    .session
                    .route(Path::new(&format!("{name}/{}", rank.rank)));
                let path = path.unwrap();
                if rank.rank == 0 {
                    std::fs::write(path, b"x").unwrap();
                } else if make {
                    std::fs::create_dir(path).unwrap();
                }
                let text = rank.session.complete_output(true).unwrap_err().to_string();
                let why = if make {
                    "is a directory, and only files can be routed; route each file in it"
                } else {
                    "was routed but not written"
                };
                assert!(
                    text.contains(why) && text.contains("rank 1 on node n1"),
                    "{text}"
                );
                assert_eq!(rank.session.state(), State::Idle);
            }
        });
        let names = site.run(&NODES, |rank| rank.restart());
        assert_eq!(names[0].as_deref(), Some("good"), "bypass {bypass}");
    }
}

#[test]
fn a_shared_file_belongs_to_the_lowest_rank_with_bypass_only() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&NODES, |rank| dataset(rank, "ck", &["ck/shared"]).unwrap());
    let dataset_of = index(&site).get(1).unwrap().dataset.clone().unwrap();
    assert_eq!((dataset_of.files, dataset_of.size), (Some(1), Some(100)));
    site.run(&NODES, |rank| {
        rank.session.have_restart().unwrap().unwrap();
        rank.session.start_restart().unwrap();
        let path = rank.session.route(Path::new("ck/shared")).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), content("ck/shared", 0, 100));
        rank.session.complete_restart(true).unwrap();
    });

    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        let text = dataset(rank, "ck", &["ck/shared"]).unwrap_err().to_string();
        assert!(text.contains("rank 0 has routed ck/shared too"), "{text}");
        assert!(text.contains("SCR_CACHE_BYPASS=1"), "{text}");
    });
    assert!(!site.prefix().join("ck").exists());
}

#[test]
fn a_name_of_a_dataset_that_is_too_long_is_refused() {
    for bypass in ["0", "1"] {
        let site = Site::new().set("SCR_CACHE_BYPASS", bypass);
        site.run(&NODES, |rank| {
            let name = Name::from("n".repeat(1024).as_str());
            let text = rank
                .session
                .start_output(Some(name), true, false)
                .unwrap_err();
            assert!(text.to_string().contains("1024 bytes or more"), "{text}");
            assert_eq!(rank.session.state(), State::FailedOutput);
            rank.checkpoint("ck").unwrap();
        });
    }
}

#[test]
fn a_full_prefix_fails_the_flush_and_nothing_before_it() {
    for room in [0, 500, 1500, 2600, 3200] {
        // Cache and prefix are one disk here, and the cache is not to notice first.
        let mut site = Site::new()
            .set("SCR_FLUSH", "1")
            .set("SCR_CACHE_SIZE", "3")
            .set("SCR_CACHE_CHECK", "0");
        site.run(&NODES, |rank| rank.checkpoint("old").unwrap());
        let full = Faulty::new(Posix);
        let faults = full.faults();
        site.files = Arc::new(full);
        site.run(&NODES, |rank| {
            assert_eq!(rank.restart().as_deref(), Some("old"));
            if rank.rank == 0 {
                // Parity of the cache takes its part of this, too.
                faults.limit_space(Some(room));
            }
            // A round that writes nothing: now the disk is full for all.
            assert!(!rank.session.should_exit().unwrap());
            rank.session
                .start_output(Some(Name::from("new")), true, false)
                .unwrap();
            let file = format!("new/rank_{}.dat", rank.rank);
            let path = rank.session.route(Path::new(&file)).unwrap();
            std::fs::write(path, content("new", rank.rank, 1000 + 7 * rank.rank)).unwrap();
            let text = rank.session.complete_output(true).unwrap_err().to_string();
            assert!(text.contains("free space there"), "room {room}: {text}");
        });
        site.files = Arc::new(Posix);
        NODES.iter().for_each(|node| site.lose(node));
        let names = site.run(&NODES, |rank| rank.restart());
        assert_eq!(names[0].as_deref(), Some("old"), "room {room}");
    }
}

#[test]
fn a_prefix_that_cannot_be_used_stops_the_start() {
    let site = Site::new();
    let file = site.prefix().join("file");
    std::fs::write(&file, b"").unwrap();
    let site = site.set("SCR_PREFIX", file.to_str().unwrap());
    assert!(refused(&site).contains("file"), "{}", refused(&site));
    // A file system that takes no writes: each fails with EROFS.
    let mut site = Site::new();
    let files = Faulty::new(Posix);
    files.faults().fail_at(1, libc::EROFS);
    site.by_rank = vec![Some(Arc::new(files) as Arc<dyn Files>)];
    let text = refused(&site);
    assert!(
        text.contains("Read-only") && text.contains("rank 0 on node n0"),
        "{text}"
    );
}

#[test]
fn a_cache_base_that_is_not_ours_stops_the_start() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 3] = [
        ("file", |user| std::fs::write(user, b"").unwrap()),
        ("link", |user| {
            let target = user.with_file_name("elsewhere");
            std::fs::create_dir(&target).unwrap();
            std::os::unix::fs::symlink(target, user).unwrap();
        }),
        ("open", |user| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::create_dir(user).unwrap();
            std::fs::set_permissions(user, PermissionsExt::from_mode(0o777)).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let site = Site::new();
        std::fs::create_dir_all(site.node("n1")).unwrap();
        damage(&site.node("n1").join("user1"));
        let text = refused(&site);
        assert!(
            text.contains("n1/user1") && text.contains("rank 1"),
            "{what}: {text}"
        );
    }
    // The base itself: a link could lead anywhere by the time it is used.
    let site = Site::new();
    std::fs::create_dir_all(site.node("elsewhere")).unwrap();
    std::os::unix::fs::symlink(site.node("elsewhere"), site.node("n1")).unwrap();
    let text = refused(&site);
    assert!(
        text.contains("n1") && text.contains("symbolic link"),
        "{text}"
    );

    let site = Site::new();
    std::fs::create_dir_all(site.node("n0")).unwrap();
    let user = site.node("n0").join("user1");
    std::fs::create_dir(&user).unwrap();
    // Only root can give a directory away.
    if std::os::unix::fs::chown(&user, Some(4321), None).is_ok() {
        let text = refused(&site);
        assert!(text.contains("n0/user1"), "{text}");
    }
    let site = Site::new();
    std::fs::create_dir_all(site.node("x")).unwrap();
    let file = site.node("x").join("file");
    std::fs::write(&file, b"").unwrap();
    let site = site.set("SCR_CACHE_BASE", file.to_str().unwrap());
    assert!(refused(&site).contains("x/file"), "{}", refused(&site));
}

#[test]
fn a_cache_base_that_is_missing_is_made() {
    let site = Site::new();
    let base = site.node("deep").join("down/here");
    let site = site.set("SCR_CACHE_BASE", base.to_str().unwrap());
    site.run(&NODES, |rank| rank.checkpoint("ck").unwrap());
    assert!(base.join("user1").is_dir());
}

#[test]
fn another_live_run_on_the_prefix_stops_the_start() {
    let site = Site::new();
    site.run(&NODES, |rank| {
        if rank.rank == 0 {
            assert!(refused(&site).contains("another run uses this prefix directory"));
        }
        rank.checkpoint("ck").unwrap();
    });
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck"))
    });
}

/// Starts with environments made up for each rank.
fn start(site: &Site, environment: impl Fn(usize) -> Environment + Sync) -> Vec<scr::Result<()>> {
    threads::run(NODES.len(), |comm| {
        let environment = environment(comm.rank());
        let setup = Setup {
            comm,
            files: site.files.clone(),
            sink: site.events.clone(),
            environment,
            lock_timeout: Duration::from_secs(10),
        };
        Session::init(setup, &mut Config::new()).map(|session| assert!(session.is_some()))
    })
}

#[test]
fn no_user_home_job_or_scheduler_is_needed() {
    let mut jobs = Vec::new();
    let base = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let site = Site::new();
        let prefix = site.prefix();
        let told = start(&site, |rank| {
            Environment::empty()
                .with_host(NODES[rank])
                .with_user(rustix::process::geteuid().as_raw(), None)
                .with("SCR_PREFIX", prefix.to_str().unwrap())
                .with("SCR_CACHE_BASE", base.path().to_str().unwrap())
                .with("SCR_CNTL_BASE", base.path().to_str().unwrap())
        });
        assert!(told.iter().all(Result::is_ok), "{told:?}");
        jobs.extend(std::fs::read_dir(base.path()).unwrap().flat_map(|user| {
            let jobs = std::fs::read_dir(user.unwrap().path()).unwrap();
            jobs.map(|job| job.unwrap().file_name()).collect::<Vec<_>>()
        }));
    }
    jobs.sort();
    jobs.dedup();
    assert_eq!(
        jobs.len(),
        2,
        "two prefix directories never share a job id: {jobs:?}"
    );
}

/// No other directory may be used in its place.
#[test]
fn a_prefix_directory_that_is_not_text_is_refused_by_all_ranks() {
    let site = Site::new();
    let bad = OsString::from_vec(b"/p/\xff".to_vec());
    let told = start(&site, |rank| {
        site.environment(NODES[rank])
            .with("SCR_PREFIX", bad.clone())
    });
    for result in told {
        let text = result.unwrap_err().to_string();
        assert!(text.contains("SCR_PREFIX is not UTF-8 text"), "{text}");
    }
}

#[test]
fn the_environment_of_rank_0_rules() {
    let site = Site::new();
    let told = start(&site, |rank| {
        let job = if rank == 0 { "one" } else { "two" };
        let end = if rank == 0 { "0" } else { "soon" };
        let environment = site.environment(NODES[rank]).with("SCR_JOB_ID", job);
        environment
            .with("SCR_FLUSH", if rank == 0 { "3" } else { "x" })
            .with("SCR_END_TIME", end)
    });
    // What is each process's own is read on each, and a bad value is heard by all.
    let texts: Vec<String> = told.iter().map(|t| format!("{t:?}")).collect();
    assert_eq!(texts[0], texts[1], "{texts:?}");
    let told = start(&site, |rank| {
        let job = if rank == 0 { "one" } else { "two" };
        site.environment(NODES[rank]).with("SCR_JOB_ID", job)
    });
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    assert!(
        !site
            .heard("SCR_JOB_ID differs from that of rank 0")
            .is_empty()
    );
    for node in NODES {
        assert!(site.node(node).join("user1/scr.one").is_dir());
        assert!(!site.node(node).join("user1/scr.two").exists());
    }
}

#[test]
fn descriptors_that_cannot_be_used_stop_the_start_with_their_line() {
    for (lines, parts) in [
        (
            "CKPT=0 TYPE=XOR\nCKPT=1 INTERVAL=4 GROUP=POWER",
            [
                "scrconf:2: GROUP=POWER is not known on node n0",
                "add `GROUPS=n0 POWER=...`",
            ],
        ),
        (
            "GROUPS=n0 POWER=a\nCKPT=0 GROUP=POWER",
            [
                "rank 1 on node n1: ",
                "scrconf:2: GROUP=POWER is not known on node n1",
            ],
        ),
        (
            "CKPT=0\nCKPT=1 INTERVAL=2 STORE=/nowhere",
            [
                "scrconf:2: CKPT=1 uses STORE=/nowhere, which is not configured",
                "add a line",
            ],
        ),
        (
            "CKPT=0 INTERVAL=2\nCKPT=1 INTERVAL=4",
            [
                "none that is enabled has INTERVAL=1",
                "or add a line such as `CKPT=0 INTERVAL=1 TYPE=XOR`",
            ],
        ),
        (
            "CKPT=0 TYPE=XOR SET_SIZE=1",
            [
                "scrconf:1: CKPT=0: XOR needs a set size of at least 2, not 1",
                "rank 0 on node n0",
            ],
        ),
        (
            "CKPT=0 TYPE=RS SET_SIZE=4 SET_FAILURES=5",
            [
                "CKPT=0 is not used: RS needs SET_FAILURES from 1 to the set size, 4, not 5",
                "INTERVAL=1",
            ],
        ),
        (
            "CKPT=0 TYPE=RAID",
            [
                "scrconf:1: CKPT=0 TYPE is `RAID`",
                "must be one of SINGLE, PARTNER, XOR, RS",
            ],
        ),
    ] {
        let site = Site::new().set("SCR_COPY_TYPE", "FILE");
        site.configure(lines);
        let text = refused(&site);
        for part in parts {
            assert!(text.contains(part), "{lines}: {text}");
        }
    }
}

#[test]
fn what_can_be_done_instead_is_done_and_said() {
    let kept = |site: &Site| {
        site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
        let meta = std::fs::read_dir(site.dataset("n0", 1).join(".scr")).unwrap();
        let names = meta.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let redundancy = names.filter(|name| !name.starts_with("filemap"));
        redundancy.collect::<Vec<_>>().join(" ")
    };
    // Another line takes what one cannot.
    let site = Site::new().set("SCR_COPY_TYPE", "FILE");
    site.configure("CKPT=0 TYPE=XOR\nCKPT=1 TYPE=RS SET_SIZE=4 SET_FAILURES=9");
    assert_eq!(kept(&site), "1_of_2_in_0.xor");
    assert_eq!(
        site.heard("scrconf:2: CKPT=1 is not used: RS needs SET_FAILURES")
            .len(),
        1
    );
    // As many failures as the set has members: as many as it can stand.
    let site = Site::new()
        .set("SCR_COPY_TYPE", "RS")
        .set("SCR_SET_SIZE", "2");
    assert_eq!(kept(&site), "1_of_2_in_0.rs");
    assert_eq!(site.heard("the loss of any 1 node, not of 2").len(), 1);
    // RS for one failure is XOR.
    let site = Site::new()
        .set("SCR_COPY_TYPE", "RS")
        .set("SCR_SET_FAILURES", "1");
    assert_eq!(kept(&site), "1_of_2_in_0.xor");
    // All on one node, by name or by what the user says fails together.
    let site = Site::new().set("SCR_GROUP", "WORLD");
    assert_eq!(kept(&site), "");
    assert_eq!(site.heard("all ranks are in one failure group").len(), 1);
}

/// The files of a library that makes a directory of them: those that it has made are routed when their names are known.
#[test]
fn files_in_a_directory_are_routed_after_the_library_has_written_them() {
    for bypass in ["0", "1"] {
        let site = Site::new().set("SCR_CACHE_BYPASS", bypass);
        site.run(&NODES, |rank| {
            let (me, session) = (rank.rank, &mut rank.session);
            session
                .start_output(Some("ck".into()), true, false)
                .unwrap();
            let name = |file: &str| format!("ck/{me}.bp/{file}");
            let first = session.route(Path::new(&name("data.0"))).unwrap();
            for file in ["data.0", "md.idx"] {
                std::fs::write(first.with_file_name(file), file).unwrap();
            }
            let second = session.route(Path::new(&name("md.idx"))).unwrap();
            assert_eq!(std::fs::read(second).unwrap(), b"md.idx");
            session.complete_output(true).unwrap();
        });
        site.run(&NODES, |rank| {
            let (me, session) = (rank.rank, &mut rank.session);
            assert!(session.have_restart().unwrap().is_some());
            session.start_restart().unwrap();
            let path = session
                .route(Path::new(&format!("ck/{me}.bp/md.idx")))
                .unwrap();
            assert_eq!(std::fs::read(path).unwrap(), b"md.idx");
            session.complete_restart(true).unwrap();
        });
    }
}
