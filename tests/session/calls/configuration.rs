//! Configuration files: variables that differ between processes, two stores in one directory, and
//! how often mistakes are reported.

use crate::site::{Site, nodes, of_run};

/// A site that is configured by lines, where rank 2 alone has other values of `$RB` (0 or 1),
/// `$RI` (1 or 2), `$RS` (1m or 2m) and `$RW` (a directory); `$ND` is each node's directory.
fn site(lines: &str) -> Site {
    let mut site = Site::new().set("SCR_FLUSH", "0");
    if lines.contains("CKPT") {
        site = site.set("SCR_COPY_TYPE", "FILE");
    }
    site.vars.retain(|(name, _)| name != "SCR_CACHE_BYPASS");
    for node in ["n0", "n1", "n2"] {
        let odd = node == "n2";
        let dir = site.node(node).display().to_string();
        for (name, value) in [
            ("RB", if odd { "1" } else { "0" }),
            ("RI", if odd { "2" } else { "1" }),
            ("RS", if odd { "2m" } else { "1m" }),
            ("RW", if odd { "b" } else { "a" }),
            ("ND", &dir),
        ] {
            site.of_node.push((node.into(), name.into(), value.into()));
        }
    }
    site.configure(lines);
    site
}

/// The error of `SCR_Init`, the same on all ranks.
fn refused(site: &Site) -> String {
    let told = site.start(&nodes(3), |started| started.err().map(|e| e.to_string()));
    assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
    told[0].clone().expect("SCR_Init fails")
}

#[test]
fn a_variable_that_differs_where_it_must_not_stops_the_start() {
    for (lines, named) in [
        (
            "SCR_CACHE_BYPASS=$RB",
            ":1: SCR_CACHE_BYPASS is `1` here but `0` on rank 0",
        ),
        ("SCR_FETCH=$RB", ":1: SCR_FETCH is"),
        ("SCR_PREFIX_SIZE=$RB", ":1: SCR_PREFIX_SIZE is"),
        ("SCR_DISTRIBUTE=$RB", ":1: SCR_DISTRIBUTE is"),
        ("SCR_CACHE_PURGE=$RB", ":1: SCR_CACHE_PURGE is"),
        ("SCR_GLOBAL_RESTART=$RB", ":1: SCR_GLOBAL_RESTART is"),
        (
            "SCR_MPI_BUF_SIZE=$RS",
            ":1: SCR_MPI_BUF_SIZE is `2097152` here but `1048576`",
        ),
        ("SCR_CACHE_SIZE=$RI", ":1: SCR_CACHE_SIZE is"),
        (
            "CKPT=0 BYPASS=$RB",
            ":1: CKPT BYPASS is `1` here but `0` on rank 0",
        ),
        ("CKPT=0\nCKPT=1 INTERVAL=4 OUTPUT=$RB", ":2: CKPT OUTPUT is"),
        (
            "CKPT=0\nCKPT=1 ENABLED=$RB INTERVAL=2",
            ":2: CKPT ENABLED is",
        ),
        (
            "STORE=$ND/b\nCKPT=0\nCKPT=1 INTERVAL=$RI STORE=$ND/b",
            ":3: CKPT INTERVAL is",
        ),
        ("STORE=$ND COUNT=$RI\nCKPT=0 STORE=$ND", ":1: STORE="),
        (
            "STORE=$ND\nSTORE=$ND/b ENABLED=$RB\nCKPT=0 STORE=$ND",
            "/b ENABLED is `1` here",
        ),
        (
            "STORE=$ND/a\nSTORE=$ND/b\nCKPT=0 STORE=$ND/$RW",
            ":3: other STORE or CKPT descriptors than on rank 0",
        ),
    ] {
        let site = site(lines);
        let text = refused(&site);
        for part in [
            "rank 2 on node n2: ",
            "scrconf",
            named,
            "on rank 0 on node n0",
        ] {
            assert!(text.contains(part), "{lines}: no {part} in {text}");
        }
    }
}

#[test]
fn what_is_each_process_s_own_and_what_only_rank_0_uses_may_differ() {
    let site = site(
        "GROUPS=$SCR_NODE_NAME POWER=$RW\nSTORE=$ND/$RW COUNT=2\nSCR_CNTL_BASE=$ND/cntl\n\
         CKPT=0 STORE=$ND/$RW GROUP=POWER BYPASS=0\nSCR_DEBUG=$RB",
    );
    site.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    let job = site.node("n2").join("b/user1/scr.1001");
    assert!(of_run(&job).join("scr.dataset.1").exists());
    site.expect_restart(&nodes(3), Some("ck.1"));
}

#[test]
fn stores_that_are_one_directory_by_a_link_are_refused_with_both_lines() {
    let site = site("STORE=$ND/lnk/b COUNT=2\nSTORE=$ND/real/b COUNT=2\nCKPT=0 STORE=$ND/lnk/b");
    for node in nodes(3) {
        std::fs::create_dir_all(site.node(node).join("real")).unwrap();
        std::os::unix::fs::symlink("real", site.node(node).join("lnk")).unwrap();
    }
    let text = refused(&site);
    for part in [
        "scrconf:2: ",
        "n0/real/b is the same directory as ",
        "n0/lnk/b (",
        "scrconf:1)",
        "keep one store",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    // As it says; and a store that is not used is none too many.
    for lines in [
        "STORE=$ND/real/b COUNT=2\nCKPT=0 STORE=$ND/real/b BYPASS=0",
        "STORE=$ND/lnk/b ENABLED=0\nSTORE=$ND/real/b COUNT=2\nCKPT=0 STORE=$ND/real/b BYPASS=0",
    ] {
        site.configure(lines);
        site.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
        site.expect_restart(&nodes(3), Some("ck.1"));
    }
    // So is the control directory, which is a store without datasets.
    site.configure("CKPT=0");
    let mut site = site;
    for node in nodes(3) {
        for (name, dir) in [("SCR_CACHE_BASE", "real/c"), ("SCR_CNTL_BASE", "lnk/c")] {
            let dir = site.node(node).join(dir).display().to_string();
            site.of_node.push((node.into(), name.into(), dir));
        }
    }
    let text = refused(&site);
    assert!(
        text.contains("n0/lnk/c is the same directory as "),
        "{text}"
    );
}

#[test]
fn each_mistake_is_told_once_and_by_one_rank() {
    let site = site(
        "SCR_NO_SUCH_NAME=1\nSCR_JOB_NAME=$NOWHERE\nSTORE=$ND COUNTS=2\n\
         CKPT=0 STORE=$ND BYPASS=0\nSTORE= COUNT=2\nLINE",
    );
    site.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    for part in [
        "scrconf:1: no parameter SCR_NO_SUCH_NAME",
        "scrconf:2: SCR_JOB_NAME: $NOWHERE is not defined",
        "scrconf:3: STORE has no COUNTS",
        "scrconf:5: STORE has no value",
        "scrconf:6: LINE has no `=`",
    ] {
        let heard = site.heard(part);
        assert_eq!(heard.len(), 1, "{part}: {:#?}", site.events.lines());
    }
    assert!(!site.prefix().join("COUNT=2").exists());
}

#[test]
fn a_variable_that_only_one_process_lacks_is_told_there() {
    let mut site = site("SCR_CNTL_BASE=$ND/x$SUB").set("SCR_CNTL_BASE", "");
    for node in ["n0", "n1"] {
        site.of_node.push((node.into(), "SUB".into(), "s".into()));
    }
    let started = site.start(&nodes(3), |started| started.is_ok());
    assert!(started.iter().all(|ok| *ok), "{:#?}", site.events.lines());
    let heard = site.heard("$SUB is not defined");
    assert_eq!(heard.len(), 1, "{:#?}", site.events.lines());
}

#[test]
fn a_store_that_cannot_be_made_is_told_with_its_line_and_a_remedy() {
    let site = site("STORE=$ND/b\nCKPT=0 STORE=$ND/b");
    std::fs::create_dir_all(site.node("n1")).unwrap();
    let store = site.node("n1").join("b");
    let damages: [&dyn Fn(); 2] = [
        &|| std::os::unix::fs::symlink("/nowhere/at/all", &store).unwrap(),
        &|| std::fs::write(&store, b"").unwrap(),
    ];
    for damage in damages {
        damage();
        let text = refused(&site);
        for part in ["rank 1 on node n1: ", "scrconf:1: ", "n1/b", "name"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        std::fs::remove_file(&store).unwrap();
    }
    let long = "x".repeat(300);
    site.configure(&format!("STORE=$ND/{long}\nCKPT=0 STORE=$ND/{long}"));
    let text = refused(&site);
    assert!(
        text.contains("scrconf:1: ") && text.contains("shorter path"),
        "{text}"
    );
}

/// What the site decides holds on each node, whatever a process has in its own environment.
#[test]
fn the_limits_of_the_site_hold_on_all_ranks() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let storage = site.node("x").parent().unwrap().display().to_string();
    let conf = site.dir.path().join("site.conf");
    let lines = [
        "SCR_JOB_ID=site7",
        "SCR_SITE_ONLY=SCR_JOB_ID,SCR_CACHE_SIZE",
        &format!("SCR_ALLOWED_BASES={storage}"),
    ];
    std::fs::write(&conf, lines.join("\n")).unwrap();
    let mut site = site
        .set("SCR_SYSTEM_CONF", conf.to_str().unwrap())
        .set("SCR_CACHE_SIZE", "9");
    site.run(&nodes(3), |rank| {
        for name in ["ck.1", "ck.2"] {
            rank.checkpoint(name).unwrap();
        }
    });
    // The user's job id and cache size are not used.
    for (name, counts) in [
        ("SCR_JOB_ID", "the value of"),
        ("SCR_CACHE_SIZE", "its default"),
    ] {
        let told = site.heard(&format!("environment: {name} is ignored"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("site.conf:2") && told[0].contains(counts),
            "{told:?}"
        );
    }
    let job = site.node("n0").join("user1/scr.site7");
    let cached = std::fs::read_dir(of_run(&job)).unwrap();
    let names = cached.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        names
            .filter(|name| name.starts_with("scr.dataset."))
            .count(),
        1
    );
    assert!(!site.job("n0").exists());

    // A link leads out of what is allowed, on one node.
    let out = site.dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&out, site.node("n1").join("link")).unwrap();
    let base = site.node("n1").join("link/below").display().to_string();
    site.of_node
        .push(("n1".into(), "SCR_CACHE_BASE".into(), base));
    let told = refused(&site);
    for part in [
        "link/below, which is ",
        "/out/below, but this site allows only",
        "site.conf:3",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(std::fs::read_dir(&out).unwrap().next().is_none());
}
