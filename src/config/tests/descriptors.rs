use super::super::describe::descriptors;
use super::super::descriptors::choose;
use super::super::{Config, Descriptors, FlushType, Settings, View};
use super::load;
use crate::Result;
use crate::format::Scheme;
use std::path::Path;

fn make(config: &Config) -> Result<Descriptors> {
    descriptors(config, &Settings::from(config).unwrap(), "n1")
}

fn from_file(user: &str) -> Result<Descriptors> {
    make(&load(&[("SCR_COPY_TYPE", "FILE")], user, ""))
}

fn error(user: &str) -> String {
    from_file(user).unwrap_err().to_string()
}

#[test]
fn defaults() {
    let d = make(&Config::new()).unwrap();
    assert_eq!(
        d.groups
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect::<Vec<_>>(),
        [("NODE", "n1"), ("WORLD", "WORLD")]
    );
    let [store] = d.stores.as_slice() else {
        panic!("{:?}", d.stores)
    };
    assert_eq!(
        (store.dir.as_path(), store.count, d.control),
        (Path::new("/dev/shm"), 1, 0)
    );
    assert_eq!((store.group.as_str(), store.view), ("NODE", View::Private));
    let [s] = d.schemes.as_slice() else {
        panic!("{:?}", d.schemes)
    };
    assert_eq!(
        (s.scheme, s.interval, s.set_size, s.set_failures),
        (Scheme::Xor, 1, 8, 1)
    );
    assert!(s.enabled && s.bypass && !s.output && s.store == 0 && s.group == "NODE");
    assert!(d.warnings.is_empty());
}

#[test]
fn separate_control_base() {
    let d = make(&load(
        &[("SCR_CNTL_BASE", "/c"), ("SCR_CACHE_SIZE", "3")],
        "",
        "",
    ))
    .unwrap();
    assert_eq!((d.stores[0].count, d.stores[1].count, d.control), (3, 0, 1));
    assert_eq!(d.stores[1].dir, Path::new("/c"));
}

#[test]
fn everything_configured() {
    let user = "GROUPS=n0 SWITCH=a POWER=p\nGROUPS=n1 switch=b POWER=$P\n\
        STORE=/ssd/ GROUP=NODE COUNT=4 FLUSH=PTHREAD\nSTORE=/shared GROUP=WORLD VIEW=global MKDIR=0\n\
        CKPT=10 INTERVAL=8 STORE=/shared TYPE=RS SET_SIZE=6 SET_FAILURES=3 GROUP=power\n\
        CKPT=2 INTERVAL=4 STORE=/ssd/. TYPE=rs GROUP=switch BYPASS=0 SET_FAILURES=1\n\
        CKPT=0 INTERVAL=1 TYPE=SINGLE OUTPUT=1";
    let d = make(&load(&[("SCR_COPY_TYPE", "FILE"), ("P", "pp")], user, "")).unwrap();
    assert_eq!(d.groups["SWITCH"], "b");
    assert_eq!(d.groups["POWER"], "pp");
    assert_eq!(d.stores.len(), 3);
    assert_eq!(
        (d.stores[1].count, d.stores[1].flush),
        (4, FlushType::Background)
    );
    assert_eq!((d.stores[0].view, d.stores[0].mkdir), (View::Global, false));
    assert!(d.stores[0].outlives_nodes() && !d.stores[1].outlives_nodes());
    let kinds: Vec<_> = d
        .schemes
        .iter()
        .map(|s| (s.scheme, s.interval, s.store))
        .collect();
    assert_eq!(
        kinds,
        [
            (Scheme::Single, 1, 2),
            (Scheme::Xor, 4, 1),
            (Scheme::Rs, 8, 0)
        ]
    );
    assert_eq!(
        d.schemes.iter().map(|s| s.index).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!((d.schemes[2].set_size, d.schemes[2].set_failures), (6, 3));
    assert_eq!(d.schemes[1].group, "SWITCH");
    assert!(!d.schemes[1].bypass && d.schemes[2].bypass);
    assert_eq!(d.schemes[2].place, "/home/u/.scrconf:5");
}

#[test]
fn each_process_has_its_own_stores() {
    let user = "STORE=/l/$ME\nCKPT=0 STORE=/l/$ME TYPE=XOR";
    for me in ["a", "b"] {
        let env = [("SCR_COPY_TYPE", "FILE"), ("ME", me)];
        let d = make(&load(&env, user, "")).unwrap();
        assert_eq!(
            d.stores[d.schemes[0].store].dir,
            Path::new(&format!("/l/{me}"))
        );
    }
}

#[test]
fn errors_name_the_line() {
    let at = "/home/u/.scrconf:1: ";
    for (user, part) in [
        (
            "CKPT=0 GROUP=rack",
            "GROUP=RACK is not known on node n1, which has NODE, WORLD; add `GROUPS=n1 RACK=...`",
        ),
        (
            "CKPT=0 STORE=/nowhere",
            "CKPT=0 uses STORE=/nowhere, which is not configured",
        ),
        (
            "CKPT=0 STORE=/off\nSTORE=/off ENABLED=0",
            "which is not enabled",
        ),
        (
            "CKPT=0 TYPE=XORR",
            "CKPT=0 TYPE is `XORR` but must be one of SINGLE, PARTNER, XOR, RS",
        ),
        (
            "CKPT=0 INTERVAL=0",
            "CKPT=0 INTERVAL is `0` but must be an integer from 1",
        ),
        (
            "CKPT=0 SET_SIZE=1",
            "CKPT=0: XOR needs a set size of at least 2, not 1",
        ),
        (
            "CKPT=0 TYPE=RS SET_SIZE=200 SET_FAILURES=60",
            "CKPT=0: RS needs set size and failures of at most 256 together, not 200 and 60",
        ),
        (
            "CKPT=0 STORE=$NONE",
            "CKPT=0 STORE is `` but must be a path",
        ),
    ] {
        let text = error(user);
        assert!(
            text.starts_with(at) && text.contains(part),
            "{user}: {text}"
        );
    }
    assert!(
        error("STORE=/a\nSTORE=/a/\nCKPT=0").contains("scrconf:2: STORE=/a/ is configured twice")
    );
    assert!(
        error("STORE=/a GROUP=X\nCKPT=0").starts_with("/home/u/.scrconf:1: GROUP=X is not known")
    );
    let both = error("CKPT=0 TYPE=X\nCKPT=1 STORE=/y");
    assert!(
        both.contains("scrconf:1") && both.contains("scrconf:2"),
        "{both}"
    );
}

#[test]
fn one_scheme_must_take_every_checkpoint() {
    for user in [
        "",
        "CKPT=0 INTERVAL=2",
        "CKPT=0 INTERVAL=1 ENABLED=0\nCKPT=1 INTERVAL=3",
    ] {
        let text = error(user);
        assert!(
            text.starts_with("environment: ") && text.contains("INTERVAL=1"),
            "{text}"
        );
    }
}

#[test]
fn a_global_store_is_in_no_node_whatever_its_group() {
    for (children, group) in [
        ("VIEW=GLOBAL", "WORLD"),
        ("VIEW=GLOBAL GROUP=node", "WORLD"),
        ("VIEW=GLOBAL GROUP=RACK", "RACK"),
        ("VIEW=PRIVATE GROUP=WORLD", "WORLD"),
        ("VIEW=PRIVATE", "NODE"),
    ] {
        let d = from_file(&format!("GROUPS=n1 RACK=r\nSTORE=/s {children}\nCKPT=0")).unwrap();
        assert_eq!(d.stores[0].group, group, "{children}");
        assert_eq!(d.stores[0].outlives_nodes(), group != "NODE");
    }
}

#[test]
fn a_scheme_that_cannot_be_built_is_told_with_its_reason() {
    let text = error("CKPT=0 TYPE=RS SET_SIZE=4 SET_FAILURES=5");
    assert!(
        text.contains("none that is enabled has INTERVAL=1"),
        "{text}"
    );
    assert!(
        text.contains("scrconf:1: CKPT=0 is not used: RS needs SET_FAILURES from 1"),
        "{text}"
    );
    for scheme in ["RS", "PARTNER"] {
        let set = [("SCR_COPY_TYPE", scheme), ("SCR_SET_FAILURES", "9")];
        let text = make(&load(&set, "", "")).unwrap_err().to_string();
        assert!(text.starts_with("environment: SCR_COPY_TYPE="), "{text}");
        assert!(text.contains("to the set size, 8, not 9"), "{text}");
        assert!(!text.contains("CKPT"), "{text}");
    }
}

#[test]
fn failures_out_of_range_disable() {
    let d =
        from_file("CKPT=0 TYPE=XOR\nCKPT=1 INTERVAL=2 TYPE=RS SET_SIZE=4 SET_FAILURES=5").unwrap();
    assert!(d.schemes[0].enabled && !d.schemes[1].enabled);
    assert!(
        d.warnings[0].contains("scrconf:2: CKPT=1 is not used: RS needs SET_FAILURES from 1"),
        "{:?}",
        d.warnings
    );
    // Schemes that do not read it do not mind.
    assert!(
        from_file("CKPT=0 TYPE=XOR SET_SIZE=2 SET_FAILURES=5")
            .unwrap()
            .schemes[0]
            .enabled
    );
}

#[test]
fn unused_lines_are_reported_but_not_judged() {
    let d = make(&load(&[], "CKPT=0 STORE=/nowhere", "")).unwrap();
    assert!(d.warnings[0].contains("set SCR_COPY_TYPE=FILE to use them"));
    assert!(from_file("CKPT=0\nCKPT=1 ENABLED=0 STORE=/nowhere").is_ok());
}

#[test]
fn partner_keeps_one_copy_unless_told_otherwise() {
    let failures = |lines: &str, environment: &[(&str, &str)]| {
        let mut all = vec![("SCR_COPY_TYPE", "FILE")];
        all.extend(environment);
        make(&load(&all, lines, "")).unwrap().schemes[0].set_failures
    };
    assert_eq!(failures("CKPT=0 TYPE=PARTNER", &[]), 1);
    assert_eq!(failures("CKPT=0 TYPE=PARTNER SET_FAILURES=3", &[]), 3);
    let set = [("SCR_SET_FAILURES", "2")];
    assert_eq!(failures("CKPT=0 TYPE=PARTNER", &set), 2);
    assert_eq!(failures("CKPT=0 TYPE=RS", &[]), 2);
}

#[test]
fn words_are_those_of_the_parameters() {
    for scheme in [Scheme::Single, Scheme::Partner, Scheme::Xor, Scheme::Rs] {
        assert_eq!(
            Scheme::from_word(&scheme.word().to_lowercase()),
            Some(scheme)
        );
    }
}

#[test]
fn choice_of_scheme() {
    let user = "CKPT=0 INTERVAL=1\nCKPT=1 INTERVAL=4\nCKPT=2 INTERVAL=8\nCKPT=3 INTERVAL=8\n\
                CKPT=4 INTERVAL=16 ENABLED=0";
    let mut d = from_file(user).unwrap();
    let index = |d: &Descriptors, id, output| choose(&d.schemes, id, output).unwrap().index;
    for (id, expected) in [(1, 0), (3, 0), (4, 1), (8, 2), (12, 1), (16, 2), (24, 2)] {
        assert_eq!(index(&d, Some(id), false), expected, "checkpoint {id}");
        assert_eq!(
            index(&d, Some(id), true),
            expected,
            "no scheme is for output"
        );
    }
    assert_eq!(index(&d, None, true), 0);
    assert_eq!(index(&d, None, false), 0);
    d.schemes[1].output = true;
    assert_eq!(index(&d, Some(8), true), 1);
    assert_eq!(index(&d, None, true), 1);
    assert_eq!(index(&d, Some(8), false), 2);
    d.schemes[1].enabled = false;
    assert_eq!(index(&d, Some(8), true), 2);
    assert_eq!(choose(&[], Some(1), true), None);
}

#[test]
fn a_store_in_use_keeps_a_dataset() {
    let d = make(&load(
        &[("SCR_CACHE_SIZE", "0"), ("SCR_CNTL_BASE", "/c")],
        "",
        "",
    ))
    .unwrap();
    assert_eq!(d.stores.iter().map(|s| s.count).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(d.warnings.len(), 1);
    assert!(
        d.warnings[0].contains("STORE=/dev/shm is to keep no dataset"),
        "{:?}",
        d.warnings
    );
}

#[test]
fn defaults_that_cannot_be_met_are_named() {
    let text = make(&load(&[("SCR_SET_SIZE", "1")], "", ""))
        .unwrap_err()
        .to_string();
    assert_eq!(
        text,
        "default: SCR_COPY_TYPE: XOR needs a set size of at least 2, not 1"
    );
}

#[test]
fn built_in_groups_stay() {
    let d = make(&load(&[], "GROUPS=n1 NODE=other RACK=r", "")).unwrap();
    assert_eq!(
        (d.groups["NODE"].as_str(), d.groups["RACK"].as_str()),
        ("n1", "r")
    );
    assert_eq!(
        d.warnings,
        ["GROUPS=n1: NODE is built in; its value is ignored"]
    );
}

#[test]
fn the_number_of_lines_is_bounded() {
    let lines: String = (0..300).map(|n| format!("STORE=/s{n}\n")).collect();
    assert!(error(&(lines + "CKPT=0")).contains("more than 256 STORE lines"));
}
