//! `scr params`

use crate::sandbox::{Sandbox, program, said};
use scr::config::table::names;

#[test]
fn every_parameter_is_listed_once() {
    let sandbox = Sandbox::of("basic");
    let out = sandbox.run(&["params"]).out();
    for name in names() {
        let lines = out
            .lines()
            .filter(|line| line.split([' ', '=']).next() == Some(name));
        assert_eq!(lines.count(), 1, "{name}");
    }
    let one = sandbox.run(&["params", "scr_flush"]).out();
    assert!(one.starts_with("SCR_FLUSH = 10\n    default: 10;"), "{one}");
}

#[test]
fn values_come_with_their_origin() {
    let sandbox = Sandbox::of("basic");
    let root = sandbox.path();
    std::fs::write(
        root.join(".scrconf"),
        "\nSCR_FLUSH=4\nSTORE=/l/ssd COUNT=3\n",
    )
    .unwrap();
    std::fs::write(
        root.join(".scr/app.conf"),
        "SCR_CACHE_SIZE=7\nSCR_FLUSH=5\nbad line\n",
    )
    .unwrap();
    let elsewhere = Sandbox::empty();
    let output = program("scr", &["params", "-s", "-p", root.to_str().unwrap()])
        .current_dir(elsewhere.path())
        .env("SCR_DEBUG", "1")
        .env("SCR_LOG_DB_PASS", "geheim")
        .output()
        .unwrap();
    let said = said(output);
    assert_eq!(said.code, 0, "{}", said.err);
    let conf = root.join(".scrconf");
    for expected in [
        "SCR_DEBUG = 1\n    set in: environment; default: 0;".to_string(),
        format!("SCR_FLUSH = 4\n    set in: {}:2;", conf.display()),
        "SCR_CACHE_SIZE = 7\n    set in: SCR_Config;".to_string(),
        format!("STORE=/l/ssd COUNT=3\n    set in: {}:3\n", conf.display()),
        format!("SCR_PREFIX = {}\n    set in: command line;", root.display()),
    ] {
        assert!(said.out.contains(&expected), "{expected}\n{}", said.out);
    }
    assert!(!said.out.contains("SCR_FETCH ="), "{}", said.out);
    assert!(!said.out.contains("geheim"), "{}", said.out);
    assert!(said.err.contains("app.conf:3: "), "{}", said.err);
}

#[test]
fn configuration_files_are_named() {
    let sandbox = Sandbox::empty();
    let root = sandbox.path();
    std::fs::write(root.join("site.conf"), "SCR_FLUSH=3\n").unwrap();
    let params = |args: &[&str], system: &str| {
        let mut program = program("scr", args);
        program.current_dir(root).env("SCR_SYSTEM_CONF", system);
        said(program.output().unwrap()).out()
    };
    let user = root.join(".scrconf");
    for (system, is_there) in [("site.conf", ""), ("none.conf", " (there is none)")] {
        let expected = format!(
            "user file: {} (there is none)\nsystem file: {}{is_there}\n",
            user.display(),
            root.join(system).display()
        );
        for args in [&["params"][..], &["params", "--set"]] {
            let out = params(args, system);
            assert!(out.starts_with(&expected), "{expected}\n{out}");
        }
        assert!(params(&["params", "SCR_FLUSH"], system).starts_with("SCR_FLUSH"));
    }
}

/// What the site sets alone is shown as such, and commands keep to it.
#[test]
fn parameters_of_the_site_are_shown() {
    let sandbox = Sandbox::empty();
    let root = sandbox.path();
    let system = format!(
        "SCR_FLUSH=3\nSCR_SITE_ONLY=SCR_FLUSH,STORE,SCR_JOB_ID\nSCR_ALLOWED_BASES={}\n",
        root.display()
    );
    std::fs::write(root.join("site.conf"), system).unwrap();
    std::fs::write(root.join(".scrconf"), "SCR_FLUSH=4\nSTORE=/l/ssd\n").unwrap();
    let run = |args: &[&str], set: &[(&str, &str)]| {
        let mut program = program("scr", args);
        program
            .current_dir(root)
            .env("SCR_SYSTEM_CONF", "site.conf");
        program.env("SCR_CNTL_BASE", root);
        program.envs(set.iter().copied());
        said(program.output().unwrap())
    };
    let site = root.join("site.conf:2");
    let told = run(&["params"], &[]);
    let flush = told
        .out
        .split("\nSCR_FLUSH = 3\n")
        .nth(1)
        .expect("the site's value");
    let flush = flush.lines().take(3).collect::<Vec<_>>().join("\n");
    let only = format!("    Only the site sets it: {}.", site.display());
    assert!(flush.contains(&only), "{flush}");
    assert_eq!(
        told.out.matches("Only the site sets it").count(),
        5,
        "{}",
        told.out
    );
    assert!(
        told.out.contains("STORE=<directory> (not set)"),
        "{}",
        told.out
    );
    for place in [
        ".scrconf:1: SCR_FLUSH is ignored",
        ".scrconf:2: STORE is ignored",
    ] {
        assert!(told.err.contains(place), "{}", told.err);
    }
    let json = run(
        &["params", "--json", "scr_flush", "store", "scr_debug"],
        &[],
    )
    .out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let site = site.to_str().unwrap();
    assert_eq!(json["parameters"][0]["name"], "SCR_DEBUG");
    assert_eq!(json["parameters"][0]["site_only"], serde_json::Value::Null);
    assert_eq!(json["parameters"][1]["site_only"], site);
    assert_eq!(json["lines"][0]["site_only"], site);
    // Commands look into the same directories as the library.
    let cache = [("SCR_CACHE_BASE", "/elsewhere")];
    let error = run(&["list-dir", "cache"], &cache).failed();
    assert!(
        error.contains("SCR_CACHE_BASE is /elsewhere, but this site allows"),
        "{error}"
    );
    let own = [
        ("SCR_CACHE_BASE", root.to_str().unwrap()),
        ("SCR_JOB_ID", "77"),
    ];
    let dirs = run(&["list-dir", "cache"], &own);
    assert_eq!(dirs.code, 0, "{}", dirs.err);
    let dirs = dirs.out;
    assert!(dirs.contains("scr."), "{dirs}");
    assert!(!dirs.contains("scr.77"), "{dirs}");
}

#[test]
fn bad_values_and_names_are_errors() {
    let sandbox = Sandbox::empty();
    let output = program("scr", &["params", "SCR_FLUSH"])
        .current_dir(sandbox.path())
        .env("SCR_FLUSH", "often")
        .output()
        .unwrap();
    let said = said(output);
    assert_eq!(said.code, 1);
    assert!(said.out.starts_with("SCR_FLUSH = often\n"), "{}", said.out);
    assert!(said.err.contains("SCR_FLUSH is `often`"), "{}", said.err);
    let error = sandbox.run(&["params", "SCR_FLSH"]).failed();
    assert!(error.contains("did you mean SCR_FLUSH"), "{error}");
    sandbox.run(&["params", "\x1b[31m"]).failed();
}

/// A bad configuration file, as each command that needs it reports it: place, cause and remedy.
#[test]
fn a_bad_configuration_is_reported_in_one_line() {
    let sandbox = Sandbox::of("basic");
    for (line, cause, remedy) in [
        (
            "SCR_COPY_TYPE=XORR",
            "is not SINGLE, PARTNER, XOR or RS",
            "set one of these",
        ),
        (
            "SCR_FLUSH=often",
            "must be an integer",
            "correct or remove it",
        ),
        (
            "SCR_FLUSH_WIDTH=0",
            "must be an integer from 1",
            "correct or",
        ),
        (
            "SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=XOR STORE=/none",
            "STORE=/none, which is not configured",
            "add a line",
        ),
    ] {
        std::fs::write(sandbox.path().join(".scrconf"), format!("{line}\n")).unwrap();
        for args in [
            &["list-dir", "cache"][..],
            &["inspect"],
            &["copy", "--id", "1"],
        ] {
            let said = sandbox.run(args);
            assert_eq!((said.code, said.err.lines().count()), (1, 1), "{said:?}");
            for part in [".scrconf:", cause, remedy] {
                assert!(said.err.contains(part), "{part}: {said:?}");
            }
        }
    }
}
