use super::super::{Config, FlushType, IntervalSetting, Settings};
use super::load;
use std::path::Path;

fn settings(env: &[(&str, &str)]) -> Settings {
    Settings::from(&load(env, "", "")).unwrap()
}

#[test]
fn defaults_are_those_of_v3_1_0() {
    let s = settings(&[]);
    assert!(s.enable && s.cache_bypass && s.distribute && s.fetch && s.copy_metadata);
    assert!(!s.fetch_bypass && !s.flush_async && !s.global_restart && !s.flush_on_restart);
    assert!(!s.cache_purge && !s.prefix_purge && !s.halt_exit && !s.require_restart);
    assert_eq!(
        (s.debug, s.cache_size, s.set_size, s.set_failures),
        (0, 1, 8, 2)
    );
    assert_eq!((s.mpi_buf_size, s.file_buf_size), (1 << 20, 32 << 20));
    assert_eq!((s.flush, s.prefix_size, s.halt_seconds), (10, 0, None));
    assert_eq!((s.flush_width, s.fetch_width), (256, 256));
    assert_eq!((s.copy_type.as_str(), s.group.as_str()), ("XOR", "NODE"));
    assert_eq!(s.flush_type, FlushType::Sync);
    assert_eq!(s.prefix, Path::new("/home/u"));
    assert_eq!(
        (s.cache_base.as_path(), s.cntl_base.as_path()),
        (Path::new("/dev/shm"), Path::new("/dev/shm"))
    );
    assert_eq!(
        (s.user_name, s.job_id, s.current, s.end_time),
        (None, None, None, None)
    );
    assert_eq!(
        (
            s.checkpoint_interval,
            s.checkpoint_seconds,
            s.checkpoint_overhead
        ),
        (IntervalSetting::Calls(0), 0, 0.0)
    );
    assert_eq!(s.mean_time_to_failure, 24 * 60 * 60);
}

#[test]
fn the_interval_is_a_count_or_auto() {
    let interval = |text| settings(&[("SCR_CHECKPOINT_INTERVAL", text)]).checkpoint_interval;
    assert_eq!(interval("5"), IntervalSetting::Calls(5));
    assert_eq!(interval("Auto"), IntervalSetting::Auto);
    for (name, bad) in [
        ("SCR_CHECKPOINT_INTERVAL", "often"),
        ("SCR_CHECKPOINT_INTERVAL", "-1"),
        ("SCR_MEAN_TIME_TO_FAILURE", "0"),
        ("SCR_MEAN_TIME_TO_FAILURE", "7.5"),
        ("SCR_MEAN_TIME_TO_FAILURE", "auto"),
    ] {
        let env = [(name, bad), ("SCR_PREFIX", "/p")];
        let error = Settings::from(&load(&env, "", "")).unwrap_err().to_string();
        assert!(error.contains(&format!("{name} is `{bad}`")), "{error}");
        assert_eq!(error.matches(name).count(), 1, "{error}");
    }
}

#[test]
fn values_are_converted() {
    let s = settings(&[
        ("SCR_ENABLE", "no"),
        ("SCR_MPI_BUF_SIZE", "1.5k"),
        ("SCR_FLUSH_TYPE", "pthread"),
        ("SCR_CHECKPOINT_OVERHEAD", "2.5"),
        ("SCR_CACHE_BASE", "cache"),
        ("SCR_END_TIME", "1795221727"),
        ("SCR_JOB_ID", "17.x"),
    ]);
    assert!(!s.enable);
    assert_eq!(s.mpi_buf_size, 1536);
    assert_eq!(s.flush_type, FlushType::Background);
    assert_eq!(s.checkpoint_overhead, 2.5);
    assert_eq!(s.cache_base, Path::new("/home/u/cache"));
    assert_eq!(s.end_time, Some(1_795_221_727));
    assert_eq!(s.job_id.as_deref(), Some("17.x"));
}

#[test]
fn settings_that_follow_from_others() {
    let s = settings(&[("SCR_GLOBAL_RESTART", "1")]);
    assert!(s.flush_on_restart && s.fetch_bypass);
}

#[test]
fn all_errors_in_one_message() {
    let env = [
        ("SCR_FLUSH", "often"),
        ("SCR_USER_NAME", "../root"),
        ("SCR_PREFIX", "/p"),
    ];
    let mut config = load(&env, "", "SCR_SET_SIZE=0\nSCR_CACHE_BASE=$NONE");
    let text = Settings::from(&config).unwrap_err().to_string();
    for part in [
        "environment: SCR_FLUSH is `often` but must be an integer",
        "environment: SCR_USER_NAME is `../root` but must be a name",
        "/etc/test.conf:1: SCR_SET_SIZE is `0` but must be an integer from 1",
        "/etc/test.conf:2: SCR_CACHE_BASE is `` but must be a path",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    assert_eq!(text.lines().count(), 1);
    assert_eq!(config.take_warnings().len(), 1);
}

#[test]
fn shown_values_are_short_and_printable() {
    let long = format!("\x1b[2J{}", "x".repeat(5000));
    let config = load(&[("SCR_FLUSH", &long)], "", "");
    let text = Settings::from(&config).unwrap_err().to_string();
    assert!(text.len() < 300 && !text.contains('\x1b'), "{text}");
}

#[test]
fn commands_parameters_do_not_stop_the_library() {
    assert!(settings(&[("SCR_RUNS", "many")]).enable);
}

#[test]
fn an_empty_configuration_has_settings() {
    assert!(Settings::from(&Config::new()).is_ok());
}
