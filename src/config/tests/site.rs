use super::super::describe::descriptors;
use super::super::system_file::installed_file;
use super::super::{Config, Settings};
use super::load;
use crate::Result;
use crate::job::Environment;
use std::path::Path;

const LIMITS: &str = "SCR_FLUSH=4\nSCR_SITE_ONLY=SCR_FLUSH,scr_cache_size,STORE\n";

/// The error of settings and descriptors together.
fn refused(config: &Config) -> String {
    let settings = Settings::from(config);
    let made = settings.and_then(|settings| descriptors(config, &settings, "n1"));
    made.unwrap_err().to_string()
}

fn accepted(config: &Config) {
    let settings = Settings::from(config).unwrap();
    descriptors(config, &settings, "n1").unwrap();
}

#[test]
fn what_the_site_sets_alone_is_not_set_by_users() {
    let env = [("SCR_FLUSH", "1"), ("SCR_DEBUG", "1")];
    let user = "SCR_FLUSH=2\nSCR_CACHE_SIZE=9\nSTORE=/user COUNT=5\nSCR_SITE_ONLY=SCR_DEBUG\n";
    let mut config = load(&env, user, LIMITS);
    config.call("SCR_FLUSH=3").unwrap();
    assert_eq!(config.call("SCR_FLUSH").unwrap().as_deref(), Some("4"));
    assert_eq!(config.origin("SCR_FLUSH"), "/etc/test.conf:1");
    assert_eq!(config.get("SCR_CACHE_SIZE").unwrap(), None);
    assert_eq!(config.items("STORE").len(), 0);
    assert_eq!(config.get("SCR_DEBUG").unwrap().as_deref(), Some("1"));
    assert_eq!(config.site_only("STORE"), Some("/etc/test.conf:2"));
    assert_eq!(config.site_only("SCR_DEBUG"), None);
    let why = "as only the site sets it (SCR_SITE_ONLY, /etc/test.conf:2)";
    let flush =
        format!("SCR_FLUSH is ignored, {why}; the value of /etc/test.conf:1 counts (SCR-113)");
    let mut told = config.take_warnings();
    told.sort();
    assert_eq!(
        told,
        [
            format!("/home/u/.scrconf:1: {flush}"),
            format!(
                "/home/u/.scrconf:2: SCR_CACHE_SIZE is ignored, {why}; its default counts (SCR-113)"
            ),
            format!("/home/u/.scrconf:3: STORE is ignored, {why}; the lines there count (SCR-113)"),
            "/home/u/.scrconf:4: SCR_SITE_ONLY has no effect here; set it in the system \
             configuration file (SCR-117)"
                .to_string(),
            format!("SCR_Config: {flush}"),
            format!("environment: {flush}"),
        ]
    );
}

/// The other ranks have the same limits, also for the settings that each takes from its own
/// environment.
#[test]
fn the_limits_hold_on_all_ranks() {
    let system = "SCR_CACHE_BASE=/site\nSCR_SITE_ONLY=SCR_CACHE_BASE\nSCR_ALLOWED_BASES=/site:/n\n\
                  SCR_CNTL_BASE=$BASE\n";
    let message = load(&[("BASE", "/site/a")], "", system)
        .to_message()
        .unwrap();
    let rank = |env: &[(&str, &str)]| {
        let env = env.iter().copied().collect();
        Config::from_message(&message, env).unwrap()
    };
    let config = rank(&[("SCR_CACHE_BASE", "/mine"), ("BASE", "/n")]);
    let settings = Settings::from(&config).unwrap();
    assert_eq!(settings.cache_base, Path::new("/site"));
    let error = refused(&rank(&[("BASE", "/site/../elsewhere")]));
    assert!(
        error.contains("SCR_CNTL_BASE is /elsewhere, but"),
        "{error}"
    );
}

/// A value that is the site's own needs no warning.
#[test]
fn a_user_who_sets_the_value_of_the_site_is_not_warned() {
    let mut config = load(&[("SCR_FLUSH", "4")], "", LIMITS);
    assert_eq!(config.take_warnings(), [""; 0]);
}

/// A child of a line must not replace a value that the site has fixed.
#[test]
fn the_children_of_lines_keep_to_the_values_of_the_site() {
    let system = "SCR_CACHE_SIZE=2\nSCR_CACHE_BASE=/site\n\
                  SCR_SITE_ONLY=SCR_CACHE_SIZE,SCR_CACHE_BASE\n";
    let user = "SCR_COPY_TYPE=FILE\nSTORE=/site COUNT=9 MKDIR=0\nSTORE=/other\n\
                CKPT=0 TYPE=XOR STORE=/other\n";
    let mut config = load(&[], user, system);
    let settings = Settings::from(&config).unwrap();
    let made = descriptors(&config, &settings, "n1").unwrap();
    let used = &made.stores[made.schemes[0].store];
    assert_eq!((used.dir.as_path(), used.count), (Path::new("/site"), 2));
    assert!(!used.mkdir);
    let told = config.take_warnings().join("\n");
    for what in [
        ".scrconf:2: COUNT of STORE=/site is ignored",
        ".scrconf:4: STORE of CKPT=0 is ignored",
        "SCR_CACHE_BASE counts",
    ] {
        assert!(told.contains(what), "{told}");
    }
    // The site's own lines may differ from its defaults.
    let lines = "STORE=/site COUNT=9\n";
    let config = load(&[], "", &format!("{system}{lines}"));
    let settings = Settings::from(&config).unwrap();
    assert_eq!(
        descriptors(&config, &settings, "n1").unwrap().stores[0].count,
        9
    );
}

#[test]
fn a_name_that_is_no_parameter_is_told() {
    let mut config = load(&[], "", "SCR_SITE_ONLY=\"SCR_FLUHS, SCR_DEBUG\"\n");
    assert_eq!(
        config.take_warnings(),
        [
            "/etc/test.conf:1: SCR_SITE_ONLY has SCR_FLUHS, which is no parameter; did you mean \
          SCR_FLUSH?"
        ]
    );
}

#[test]
fn bases_outside_the_list_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (ssd, shm, out) = (at("ssd"), at("shm"), at("out"));
    for made in [&ssd, &out] {
        std::fs::create_dir(made).unwrap();
    }
    std::os::unix::fs::symlink(&out, at("ssd/link")).unwrap();
    std::os::unix::fs::symlink(&ssd, at("to_ssd")).unwrap();
    let system = format!("SCR_CNTL_BASE={shm}\nSCR_ALLOWED_BASES={ssd}/:{shm}\n");
    let with = |cache: &str| load(&[("SCR_CACHE_BASE", cache), ("IN", &ssd)], "", &system);
    for good in [
        ssd.clone(),
        format!("{ssd}/"),
        format!("{ssd}/x/../y/not/there"),
        "$IN/x".to_string(),
        shm.clone(),
        // A link to an allowed directory is as good as the directory.
        at("to_ssd/x"),
    ] {
        accepted(&with(&good));
    }
    for bad in [
        format!("{ssd}x"),
        format!("{ssd}/../out"),
        at("ssd/link"),
        at("ssd/link/below"),
        "$IN/../out".to_string(),
        dir.path().display().to_string(),
        "relative".to_string(),
    ] {
        let error = refused(&with(&bad));
        for part in [
            "environment: SCR_CACHE_BASE is ",
            &format!("only directories in {ssd}/, {shm} (SCR_ALLOWED_BASES, /etc/test.conf:2)"),
        ] {
            assert!(error.contains(part), "{bad}: {error}");
        }
    }
    let user = format!("STORE={out}\nSTORE={ssd}/off/../../out/x ENABLED=0\n");
    let config = load(&[("SCR_CACHE_BASE", &ssd)], &user, &system);
    let error = refused(&config);
    assert!(error.contains("/home/u/.scrconf:1: STORE is "), "{error}");
    assert!(!error.contains("out/x"), "{error}");
    // The compiled default is no exception.
    let error = refused(&load(&[], "", &system));
    assert!(error.contains("SCR_CACHE_BASE is /dev/shm"), "{error}");
}

/// A list that cannot be used must not allow everything.
#[test]
fn a_list_that_cannot_be_used_is_an_error() {
    for bad in ["ssd", "/ssd:", "/$USER", "/ssd/..", "/ssd:x"] {
        let error = refused(&load(&[], "", &format!("SCR_ALLOWED_BASES={bad}\n")));
        let what = format!("/etc/test.conf:1: SCR_ALLOWED_BASES is `{bad}`");
        assert!(error.contains(&what), "{error}");
    }
    for bad in [
        "SCR_ALLOWED_BASES=",
        "scr_allowed_bases /ssd",
        "SCR_ALLOWED_BASES=\"/ssd",
        "SCR_SITE_ONLY=SCR_FLUSH SCR_DEBUG",
        "SCR_SITE_ONLY = SCR_FLUSH, SCR_DEBUG",
    ] {
        let mut config = Config::new();
        let error = super::reload(&mut config, &[], "", bad).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("/etc/test.conf:1: the line with SCR_"),
            "{error}"
        );
    }
}

/// Another system file must not lift the limits of the installed one.
#[test]
fn the_environment_cannot_replace_a_system_file_with_limits() {
    let installed = installed_file(&Environment::empty(), false);
    let load = |text: &'static str| -> Result<Config> {
        let mut config = Config::new();
        let env = [("SCR_SYSTEM_CONF", "/mine"), ("SCR_FLUSH", "1")];
        let read = |path: &Path| {
            let mine = (path == Path::new("/mine")).then(|| b"SCR_FLUSH=9\nSCR_DEBUG=2\n".to_vec());
            Ok(mine.or_else(|| (path == installed).then(|| text.as_bytes().to_vec())))
        };
        config.load(env.into_iter().collect(), Path::new("/cwd"), &read)?;
        Ok(config)
    };
    let mut config = load(LIMITS).unwrap();
    assert_eq!(config.system_file(), installed);
    assert_eq!(config.get("SCR_FLUSH").unwrap().as_deref(), Some("4"));
    assert_eq!(config.get("SCR_DEBUG").unwrap(), None);
    let told = config.take_warnings().join("\n");
    assert!(told.contains("SCR_SYSTEM_CONF is ignored, as "), "{told}");
    let config = load("SCR_FLUSH=4\n").unwrap();
    assert_eq!(config.system_file(), Path::new("/mine"));
    assert_eq!(config.get("SCR_DEBUG").unwrap().as_deref(), Some("2"));
}

/// Some code looks into the environment before it asks for parameters.
#[test]
fn the_environment_is_without_what_the_site_sets() {
    let env = [
        ("SCR_JOB_ID", "7"),
        ("SCR_USER_NAME", "ann"),
        ("HOME", "/h"),
    ];
    let environment: Environment = env.into_iter().collect();
    let config = load(&env, "", "SCR_SITE_ONLY=SCR_JOB_ID\n");
    let permitted = config.permitted(environment.clone());
    assert_eq!(permitted.get("SCR_JOB_ID"), None);
    assert_eq!(permitted.get("SCR_USER_NAME"), Some("ann"));
    assert_eq!(permitted.get("HOME"), Some("/h"));
    assert_eq!(
        load(&env, "", "").permitted(environment.clone()),
        environment
    );
}
