use super::super::Config;
use super::load;
use crate::Error;

/// Runs calls in order; each must return the value beside it.
fn transcript(config: &mut Config, calls: &[(&str, Option<&str>)]) {
    for (text, expected) in calls {
        let got = config
            .call(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(got.as_deref(), *expected, "{text}");
    }
}

#[test]
fn as_v3_1_0_where_that_is_right() {
    transcript(
        &mut Config::new(),
        &[
            ("", None),
            ("SCR_FLUSH", None),
            ("SCR_FLUSH=10", None),
            ("SCR_FLUSH", Some("10")),
            ("SCR_FLUSH = 12", None),
            ("SCR_FLUSH  ", Some("12")),
            ("SCR_FLUSH=", None),
            ("SCR_FLUSH", None),
            ("CKPT", None),
            ("CKPT=0 TYPE=XOR SET_SIZE=16", None),
            ("CKPT=0 TYPE", Some("XOR")),
            ("CKPT", Some("0")),
            ("CKPT=7 TYPE", None),
            ("CKPT=0 NOPE", None),
        ],
    );
}

#[test]
fn as_the_guide_says_where_v3_1_0_is_wrong() {
    transcript(
        &mut Config::new(),
        &[
            ("SCR_PREFIX=\"/my/dir/with/=/sign\"", None),
            ("SCR_PREFIX", Some("/my/dir/with/=/sign")),
            ("SCR_PREFIX=/other/=/x", None),
            ("SCR_PREFIX", Some("/other/=/x")),
            ("CKPT=0 TYPE=XOR SET_SIZE=16", None),
            ("CKPT=0 TYPE=SINGLE", None),
            ("CKPT=0 TYPE", Some("SINGLE")),
            ("CKPT=0 SET_SIZE", Some("16")),
            ("CKPT=0 TYPE=", None),
            ("CKPT=0 TYPE", None),
            ("CKPT=0 SET_SIZE", Some("16")),
            ("CKPT=0 SET_SIZE= ", None),
            ("CKPT=1 TYPE=", None),
            ("CKPT", Some("0")),
            ("CKPT=", None),
            ("CKPT", None),
        ],
    );
}

#[test]
fn queries_see_all_sources() {
    let mut config = load(
        &[("SCR_FLUSH", "1"), ("ME", "ann")],
        "SCR_DEBUG=2\nCKPT=3 TYPE=XOR",
        "",
    );
    transcript(
        &mut config,
        &[
            ("SCR_FLUSH=9", None),
            ("SCR_FLUSH", Some("1")),
            ("SCR_DEBUG", Some("2")),
            ("CKPT=3 TYPE", Some("XOR")),
            ("SCR_JOB_NAME=${ME}_$NONE", None),
            ("SCR_JOB_NAME", Some("ann_")),
            ("SCR_DEBUG=", None),
            ("SCR_DEBUG", Some("2")),
        ],
    );
}

#[test]
fn what_is_refused_sets_nothing() {
    let mut config = Config::new();
    transcript(
        &mut config,
        &[("CKPT=0 TYPE=XOR", None), ("CKPT=1 TYPE=XOR", None)],
    );
    let before = config.to_message().unwrap();
    for bad in [
        " ",
        "=5",
        "A B",
        "CKPT",
        "CKPT=0 TYPE=SINGLE SET_SIZE",
        "CKPT=0 TYPE=NONSENSE",
        "CKPT=0 SET_SIZE=0",
        "SCR_FLUSH=10 EXTRA",
        "SCR_FLUSH=10 SCR_DEBUG=1",
        "SCR_FLUSH=ten",
        "SCR_FLUSH=-1",
        "SCR_ENABLE=2",
        "SCR_PREFIX=\"/a",
        "SCR_PREFIX=/a b",
    ] {
        assert!(config.call(bad).is_err(), "{bad}");
        assert_eq!(config.to_message().unwrap(), before, "{bad}");
    }
    assert!(
        config
            .call(&"x".repeat(super::super::MAX_TEXT + 1))
            .is_err()
    );
}

#[test]
fn messages_name_everything() {
    let mut config = Config::new();
    let said = |config: &mut Config, text: &str| config.call(text).unwrap_err().to_string();
    assert_eq!(
        said(&mut config, "SCR_FLUSH=ten"),
        "SCR_Config: SCR_FLUSH is `ten` but must be an integer from 0 to 2147483647; correct or remove it \
         (SCR-103)"
    );
    assert!(said(&mut config, "CKPT=0 TYPE=XO").contains("CKPT=0 TYPE is `XO` but must be one of"));
}

#[test]
fn variables_are_judged_when_read() {
    let mut config = load(&[("N", "5")], "", "");
    transcript(
        &mut config,
        &[("SCR_FLUSH=$N", None), ("SCR_FLUSH", Some("5"))],
    );
}

#[test]
fn after_init_only_queries() {
    let mut config = Config::new();
    transcript(&mut config, &[("SCR_FLUSH=3", None)]);
    config.freeze();
    for bad in [
        "SCR_FLUSH=4",
        "SCR_FLUSH=",
        "CKPT=0 TYPE=XOR",
        "CKPT=0 TYPE=",
    ] {
        assert!(
            matches!(config.call(bad), Err(Error::State { .. })),
            "{bad}"
        );
    }
    transcript(&mut config, &[("SCR_FLUSH", Some("3")), ("CKPT", None)]);
    config.thaw();
    transcript(
        &mut config,
        &[("SCR_FLUSH=4", None), ("SCR_FLUSH", Some("4"))],
    );
}

#[test]
fn a_name_that_is_no_parameter_is_looked_up_in_the_environment() {
    let mut config = load(
        &[
            ("MY_DIR", "/from/environment"),
            ("EMPTY", ""),
            ("CKPT", "no item"),
            ("HOME", "/h"),
        ],
        "MY_DIR=/from/file\nOTHER=$HOME/x\nEMPTY=filled",
        "",
    );
    transcript(
        &mut config,
        &[
            ("MY_DIR", Some("/from/environment")),
            ("HOME", Some("/h")),
            ("OTHER", Some("/h/x")),
            ("EMPTY", Some("filled")),
            ("MY_DIR=/from/call", None),
            ("MY_DIR", Some("/from/environment")),
            ("CKPT", None),
            ("NOT_SET_ANYWHERE", None),
        ],
    );
}

#[test]
fn keys_are_compared_with_their_variables_replaced() {
    let mut config = load(
        &[("BASE", "/l")],
        "STORE=$BASE/x COUNT=3\nSTORE=/m COUNT=4",
        "",
    );
    transcript(
        &mut config,
        &[
            ("STORE=$BASE/x COUNT", Some("3")),
            ("STORE=${BASE}/x COUNT", Some("3")),
            ("STORE=/l/x COUNT", Some("3")),
            ("STORE=/m COUNT", Some("4")),
            ("STORE=/l COUNT", None),
        ],
    );
}

#[test]
fn whether_scr_is_enabled_is_always_answered() {
    for (variables, lines, expected) in [
        (&[][..], "", "1"),
        (&[("SCR_ENABLE", "0")][..], "", "0"),
        (&[("SCR_ENABLE", "1")][..], "SCR_ENABLE=0", "1"),
        (&[][..], "SCR_ENABLE=0", "0"),
    ] {
        let mut config = load(variables, lines, "");
        assert_eq!(
            config.call("SCR_ENABLE").unwrap().as_deref(),
            Some(expected)
        );
        config.freeze();
        assert_eq!(
            config.ask(" SCR_ENABLE").unwrap().as_deref(),
            Some(expected)
        );
    }
}

#[test]
fn asking_changes_nothing_and_complains_of_nothing() {
    let mut config = load(&[], "SCR_FLUSH=3\nCKPT=0 TYPE=XOR", "");
    config.freeze();
    let before = config.to_message().unwrap();
    for (text, expected) in [
        ("SCR_FLUSH", Some("3")),
        ("CKPT=0 TYPE", Some("XOR")),
        ("SCR_FLUSH=4", None),
        ("SCR_FLUSH=", None),
        ("SCR_FLUSH=ten", None),
        ("A B", None),
        ("SCR_PREFIX=\"/a", None),
        ("", None),
    ] {
        assert_eq!(config.ask(text).unwrap().as_deref(), expected, "{text}");
    }
    assert_eq!(config.to_message().unwrap(), before);
}
