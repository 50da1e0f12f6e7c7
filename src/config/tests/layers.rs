use super::super::layer::ConfigItem;
use super::super::system_file::installed_file;
use super::super::{Config, ConfigSource, MAX_FILE};
use super::{load, reload};
use crate::job::Environment;
use crate::{Error, Result};
use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

fn get(config: &Config, name: &str) -> Option<String> {
    config.get(name).unwrap()
}

#[test]
fn the_order_of_sources() {
    let system = "SCR_FLUSH=4\nSCR_DEBUG=4\nSCR_GROUP=d\nSCR_SET_SIZE=4";
    let mut config = load(&[("SCR_FLUSH", "1")], "SCR_FLUSH=2\nSCR_DEBUG=2", system);
    for text in ["SCR_FLUSH=3", "SCR_DEBUG=3", "SCR_GROUP=c"] {
        assert_eq!(config.call(text).unwrap(), None);
    }
    for (name, value, origin) in [
        ("SCR_FLUSH", "1", "environment"),
        ("SCR_DEBUG", "2", "/home/u/.scrconf:2"),
        ("SCR_GROUP", "c", "SCR_Config"),
        ("SCR_SET_SIZE", "4", "/etc/test.conf:4"),
    ] {
        assert_eq!(get(&config, name).as_deref(), Some(value), "{name}");
        assert_eq!(config.origin(name), origin);
    }
    assert_eq!(get(&config, "SCR_FETCH"), None);
    assert_eq!(config.origin("SCR_FETCH"), "default");
    assert_eq!(config.find("SCR_DEBUG").unwrap().0, ConfigSource::User);
}

#[test]
fn an_empty_variable_is_unset() {
    let config = load(&[("SCR_FLUSH", "")], "SCR_FLUSH=2", "");
    assert_eq!(get(&config, "SCR_FLUSH").as_deref(), Some("2"));
}

/// The paths that load asks for, with a user file that does not exist.
fn asked(config: &mut Config, env: &[(&str, &str)]) -> Vec<PathBuf> {
    let asked = RefCell::new(Vec::new());
    let env: Environment = env.iter().copied().collect();
    let read = |path: &Path| {
        asked.borrow_mut().push(path.to_path_buf());
        Ok(None)
    };
    config.load(env, Path::new("/cwd"), &read).unwrap();
    asked.into_inner()
}

#[test]
fn which_files_are_read() {
    let paths = |env: &[(&str, &str)]| asked(&mut Config::new(), env);
    let system = installed_file(&Environment::empty(), false);
    assert_eq!(paths(&[]), [&system, Path::new("/cwd/.scrconf")]);
    // The installed file is read too, since it may limit the settings of users.
    assert_eq!(
        paths(&[("SCR_PREFIX", "a/../b"), ("SCR_SYSTEM_CONF", "s")]),
        [&system, Path::new("/cwd/s"), Path::new("/cwd/b/.scrconf")]
    );
    let env = [("SCR_PREFIX", "/p"), ("SCR_CONF_FILE", "$D/c"), ("D", "/d")];
    assert_eq!(paths(&env)[1], Path::new("/d/c"));
}

#[test]
fn calls_say_which_user_file() {
    let mut config = Config::new();
    assert!(config.needs_load());
    asked(&mut config, &[]);
    assert!(!config.needs_load());
    config.call("SCR_PREFIX=/p").unwrap();
    assert!(config.needs_load());
    assert_eq!(asked(&mut config, &[])[1], Path::new("/p/.scrconf"));
    config.call("SCR_CONF_FILE=/c").unwrap();
    assert!(config.needs_load());
    assert_eq!(asked(&mut config, &[])[1], Path::new("/c"));
    assert_eq!(
        config.take_warnings(),
        ["SCR_CONF_FILE: there is no file /c"]
    );
}

/// A directory with bytes that are not UTF-8 is used as it is, or refused: never another one.
#[test]
fn a_prefix_directory_that_is_not_text_is_refused() {
    let bad = || OsString::from_vec(b"/p/\xff".to_vec());
    let cwd = PathBuf::from(bad());
    let load = |environment: Environment, user: &'static [u8]| {
        let mut config = Config::new();
        let read = |path: &Path| Ok(path.ends_with(".scrconf").then(|| user.to_vec()));
        config.load(environment, &cwd, &read).map(|()| config)
    };
    let mut config = load(Environment::default(), b"").unwrap();
    assert_eq!(config.prefix().unwrap(), cwd);
    let error = config.call("SCR_PREFIX=/p/\u{fffd}").unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");

    let set = [("SCR_PREFIX", bad())].into_iter().collect();
    let used = [("SCR_PREFIX", "/p/$DIR".into()), ("DIR", bad())];
    let refused = [
        load(set, b"").map(drop),
        load(used.into_iter().collect(), b"").map(drop),
        load(Environment::default(), b"# \xe9\nSCR_PREFIX=/p/\xff\n").map(drop),
    ];
    for result in refused {
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("SCR_PREFIX") && error.contains("not UTF-8"),
            "{error}"
        );
    }
    let cache = [("SCR_CACHE_BASE", bad())].into_iter().collect();
    let error = Config::from_message(&config.to_message().unwrap(), cache).unwrap_err();
    assert!(error.to_string().contains("SCR_CACHE_BASE"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_changes_nothing() {
    let mut config = load(&[("SCR_FLUSH", "1")], "SCR_DEBUG=1", "");
    let before = config.to_message().unwrap();
    let failed = config.load(Environment::default(), Path::new("/"), &|path| {
        Err(Error::io(
            "open",
            path,
            std::io::Error::from_raw_os_error(libc::EACCES),
        ))
    });
    assert!(failed.unwrap_err().to_string().contains("cannot open"));
    let failed = config.load(Environment::default(), Path::new("/"), &|_| {
        Ok(Some(vec![b'#'; MAX_FILE as usize + 1]))
    });
    assert!(failed.unwrap_err().to_string().contains("larger than"));
    assert_eq!(config.to_message().unwrap(), before);
}

#[test]
fn bad_lines_are_reported_and_spoil_nothing() {
    let user = "BADLINE\nSCR_FLUSH=7\nSCR_DEBUG=\nSCR_FETCH=0 SCR_GROUP=x\nSCR_CURRENT=\"a\n\
                CKPT=0 INTERVAL\nSCR_SET_SIZE=4\nSCR_FLUSH=8";
    let mut config = load(&[], user, "");
    assert_eq!(get(&config, "SCR_FLUSH").as_deref(), Some("8"));
    assert_eq!(get(&config, "SCR_SET_SIZE").as_deref(), Some("4"));
    assert_eq!(get(&config, "SCR_FETCH").as_deref(), Some("0"));
    for name in ["SCR_DEBUG", "SCR_GROUP", "SCR_CURRENT"] {
        assert_eq!(get(&config, name), None);
    }
    assert!(config.items("CKPT").len() == 0);
    let said = config.take_warnings();
    let at: Vec<&str> = said.iter().map(|text| &text[17..19]).collect();
    assert_eq!(at, ["1:", "3:", "4:", "5:", "6:"], "{said:?}");
    assert!(config.take_warnings().is_empty());
    reload(&mut config, &[], user, "").unwrap();
    assert!(config.take_warnings().is_empty(), "each is said once");
}

#[test]
fn long_lines_and_foreign_bytes() {
    let mut file = b"SCR_FLUSH=\xff\nSCR_DEBUG=1\r\nSCR_GROUP=".to_vec();
    file.extend(vec![b'x'; super::super::MAX_TEXT]);
    file.extend(b"\nSCR_SET_SIZE=3\0\nSCR_FETCH=0");
    let mut config = Config::new();
    let read = |path: &Path| -> Result<Option<Vec<u8>>> {
        Ok(path.ends_with(".scrconf").then(|| file.clone()))
    };
    config
        .load(Environment::default(), Path::new("/"), &read)
        .unwrap();
    assert_eq!(get(&config, "SCR_DEBUG").as_deref(), Some("1"));
    assert_eq!(get(&config, "SCR_FETCH").as_deref(), Some("0"));
    assert_eq!(config.take_warnings().len(), 3);
    for name in ["SCR_FLUSH", "SCR_GROUP", "SCR_SET_SIZE"] {
        assert_eq!(get(&config, name), None);
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let mut config = load(
        &[],
        "\u{feff}SCR_FLUSH=3\nSCR_DEBUG=1",
        "\u{feff}SCR_FETCH=0",
    );
    assert_eq!(get(&config, "SCR_FLUSH").as_deref(), Some("3"));
    assert_eq!(get(&config, "SCR_FETCH").as_deref(), Some("0"));
    assert_eq!(config.take_warnings(), Vec::<String>::new());
}

#[test]
fn items_add_up_and_children_are_replaced() {
    let user = "STORE=/a COUNT=1\nstore=/b count=2\nSTORE=/a COUNT=3 GROUP=WORLD\nSTORE=/a MKDIR=0";
    let config = load(&[], user, "STORE=/c");
    let items: Vec<&ConfigItem> = config.items("STORE").collect();
    assert_eq!(
        items.iter().map(|i| i.key.as_str()).collect::<Vec<_>>(),
        ["/a", "/b"]
    );
    let child = |item: &ConfigItem, name: &str| item.children.get(name).map(|v| v.text.clone());
    assert_eq!(child(items[0], "COUNT").as_deref(), Some("3"));
    assert_eq!(child(items[0], "GROUP").as_deref(), Some("WORLD"));
    assert_eq!(child(items[0], "MKDIR").as_deref(), Some("0"));
    assert_eq!(child(items[1], "COUNT").as_deref(), Some("2"));
    assert!(config.items("CKPT").len() == 0);
}

#[test]
fn warnings_about_names_and_effects() {
    let env = [("SCR_FLUHS", "1"), ("SCR_TOTALLY_ELSE", "1")];
    let user = "SCR_CACHE_SIZ=2\nSCR_WHATEVER_THIS_IS=1\nSCR_FLUSH_ASYNC=1\nSCR_AXL_MKDIR=1\n\
                CKPT=0 INTERVALL=1\nSCR_LOG_ENABLE=0\nSCR_JOB_NAME=$NOT_THERE\nSCR_CONF_FILE=/x\nCKTP=0 A=1\n\
                SCR_LOG_TXT_ENABLE=0\nSTORE=/a FLUSH=PTHREAD\nSTORE=/b FLUSH=sync";
    let said = load(&env, user, "").take_warnings();
    let has = |part: &str| said.iter().any(|text| text.contains(part));
    assert!(
        has("environment: no parameter SCR_FLUHS; did you mean SCR_FLUSH?"),
        "{said:#?}"
    );
    assert!(!has("SCR_TOTALLY_ELSE"));
    assert!(has(
        "scrconf:1: no parameter SCR_CACHE_SIZ; did you mean SCR_CACHE_SIZE?"
    ));
    assert!(has(
        "scrconf:2: no parameter SCR_WHATEVER_THIS_IS; it has no effect"
    ));
    assert!(has("scrconf:4: SCR_AXL_MKDIR has no effect: "));
    assert!(has(
        "scrconf:5: CKPT has no INTERVALL; did you mean INTERVAL?"
    ));
    assert!(!has("SCR_LOG_ENABLE"), "set to its default");
    assert!(has("scrconf:7: SCR_JOB_NAME: $NOT_THERE is not defined"));
    assert!(has("scrconf:8: SCR_CONF_FILE has no effect here"));
    assert!(has("scrconf:9: no parameter CKTP"));
    assert_eq!(said.len(), 8, "{said:#?}");
}

#[test]
fn other_ranks_take_over_all_but_what_is_theirs() {
    let env = [
        ("SCR_NODE_NAME", "n0"),
        ("SCR_CACHE_BASE", "/l/n0"),
        ("SCR_CNTL_BASE", "/c/n0"),
        ("SCR_FLUSH", "3"),
        ("TAG", "zero"),
    ];
    let mut config = load(
        &env,
        "SCR_JOB_NAME=\\$TAG\nSTORE=/s/$TAG COUNT=2",
        "SCR_DEBUG=1",
    );
    config.call("SCR_GROUP=NODE").unwrap();
    let own = [
        ("SCR_CACHE_BASE", "/l/n1"),
        ("SCR_FLUSH", "4"),
        ("SCR_DEBUG", "2"),
        ("TAG", "one"),
    ];
    let own: Environment = own.into_iter().collect();
    let mut other = Config::from_message(&config.to_message().unwrap(), own).unwrap();
    for (name, value) in [
        ("SCR_NODE_NAME", None),
        ("SCR_CACHE_BASE", Some("/l/n1")),
        ("SCR_CNTL_BASE", Some("/c/n0")),
        ("SCR_FLUSH", Some("3")),
        ("SCR_DEBUG", Some("1")),
        ("SCR_GROUP", Some("NODE")),
        ("SCR_JOB_NAME", Some("one")),
    ] {
        assert_eq!(get(&other, name).as_deref(), value, "{name}");
    }
    assert_eq!(
        other.items("STORE").collect::<Vec<_>>(),
        config.items("STORE").collect::<Vec<_>>()
    );
    assert_eq!(other.origin("SCR_DEBUG"), "/etc/test.conf:1");
    assert_eq!(other.prefix().unwrap(), Path::new("/home/u"));
    assert!(!other.needs_load());
    assert_eq!(
        other.take_warnings(),
        [
            "environment: SCR_DEBUG differs from that of rank 0, whose value counts",
            "environment: SCR_FLUSH differs from that of rank 0, whose value counts",
        ]
        .map(String::from)
    );
}

#[test]
fn prefix_is_absolute_and_folded() {
    let prefix = |env: &[(&str, &str)]| load(env, "", "").prefix().map(|p| p.display().to_string());
    assert_eq!(prefix(&[]).unwrap(), "/home/u");
    assert_eq!(
        prefix(&[("SCR_PREFIX", "run/./1/")]).unwrap(),
        "/home/u/run/1"
    );
    assert_eq!(prefix(&[("SCR_PREFIX", "../../../x//y")]).unwrap(), "/x/y");
    let mut config = Config::new();
    assert!(reload(&mut config, &[("SCR_PREFIX", "$NONE")], "", "").is_err());
}

#[test]
fn app_conf_reads_back() {
    let mut config = Config::new();
    let calls = [
        "SCR_FLUSH=5",
        "SCR_LOG_DB_PASS=secret",
        "SCR_PREFIX=\"/a b/=c\"",
        "SCR_CURRENT=back\\slash",
        "CKPT=1 TYPE=XOR SET_SIZE=4",
        "CKPT=0 TYPE=SINGLE",
        "STORE=/x",
    ];
    for text in calls {
        config.call(text).unwrap();
    }
    let text = config.app_conf();
    assert_eq!(
        text,
        "SCR_CURRENT=\"back\\\\slash\"\nSCR_FLUSH=5\nSCR_PREFIX=\"/a b/=c\"\n\
         CKPT=0 TYPE=SINGLE\nCKPT=1 SET_SIZE=4 TYPE=XOR\nSTORE=/x\n"
    );
    let mut again = load(&[], &text, "");
    assert_eq!(again.take_warnings(), Vec::<String>::new());
    for name in ["SCR_FLUSH", "SCR_PREFIX", "SCR_CURRENT"] {
        assert_eq!(get(&again, name), get(&config, name));
    }
    assert_eq!(again.items("CKPT").len(), 2);
    assert_eq!(Config::new().app_conf(), "");
}

#[test]
fn a_flood_of_warnings_is_bounded() {
    let lines: String = (0..20_000)
        .map(|n| format!("BAD{n}\nUNKNOWN_{n}=1\nU_{n}=1 A=2\n"))
        .collect();
    let mut config = load(&[], &lines, "");
    let mut rounds: Vec<String> = config.take_warnings();
    assert_eq!(rounds.len(), 100);
    rounds.extend(config.take_warnings());
    assert_eq!(
        rounds
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        200
    );
}

#[test]
fn undefined_variables_are_found_everywhere() {
    let user = "SCR_JOB_NAME=$A\nSTORE=/l/$B GROUP=$C\nSCR_GROUP=\\$D$HERE";
    let mut config = load(&[("HERE", "x")], user, "");
    config.call("CKPT=0 STORE=${E}").unwrap();
    let file = "/home/u/.scrconf";
    assert_eq!(
        config.take_warnings(),
        [
            format!("{file}:3: SCR_GROUP: $D is not defined and counts as empty"),
            format!("{file}:1: SCR_JOB_NAME: $A is not defined and counts as empty"),
            format!("{file}:2: STORE: $B is not defined and counts as empty"),
            format!("{file}:2: STORE=/l/$B GROUP: $C is not defined and counts as empty"),
            "SCR_Config: CKPT=0 STORE: $E is not defined and counts as empty".to_string(),
        ]
    );
}

#[test]
fn a_type_of_a_store_is_told_what_it_may_mean() {
    let mut config = load(&[], "STORE=/ssd TYPE=PTHREAD\n", "");
    let told = config.take_warnings().join("\n");
    for part in [
        ".scrconf:1: STORE has no TYPE; FLUSH says",
        "TYPE of a CKPT line",
    ] {
        assert!(told.contains(part), "{told}");
    }
}
