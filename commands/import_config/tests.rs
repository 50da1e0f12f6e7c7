use super::*;

/// The lines for SCR, without comments; or the message.
fn lines(text: &str) -> Result<Vec<String>, String> {
    let page =
        import(Path::new("/run/here/config"), text).map_err(|failure| failure.to_string())?;
    let page = page.to_string();
    let lines = page
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_string).collect())
}

fn fti(settings: &str) -> Result<Vec<String>, String> {
    lines(&format!(
        "[basic]\nckpt_dir = /l\nglbl_dir = /g\n{settings}\n"
    ))
}

/// The lines about levels.
fn levels(l1: u32, l2: u32, l3: u32, l4: u32) -> Vec<String> {
    let text = format!("Ckpt_L1={l1}\nCkpt_L2={l2}\nCkpt_L3={l3}\nCkpt_L4={l4}\nGroup_size=8");
    let about = ["SCR_CACHE_BYPASS", "SCR_CHECKPOINT", "CKPT", "SCR_FLUSH ="];
    let lines = fti(&text).unwrap();
    let mine = lines.into_iter();
    mine.filter(|line| about.iter().any(|name| line.starts_with(name)))
        .collect()
}

#[test]
fn minutes_of_levels_become_counts_of_checkpoints() {
    assert_eq!(
        levels(3, 6, 12, 30),
        [
            "SCR_CACHE_BYPASS = 0",
            "SCR_CHECKPOINT_SECONDS = 180",
            "CKPT=0 INTERVAL=1 TYPE=SINGLE",
            "CKPT=1 INTERVAL=2 TYPE=PARTNER SET_SIZE=8",
            "CKPT=2 INTERVAL=4 TYPE=RS SET_SIZE=8 SET_FAILURES=4",
            "SCR_FLUSH = 10",
        ]
    );
}

#[test]
fn of_two_levels_at_one_interval_the_higher_counts() {
    let lines = levels(5, 5, 6, 5);
    assert_eq!(
        lines[2..],
        [
            "CKPT=0 INTERVAL=1 TYPE=RS SET_SIZE=8 SET_FAILURES=4",
            "SCR_FLUSH = 1"
        ]
    );
}

#[test]
fn one_scheme_always_has_interval_1() {
    // Level 4 is the most frequent.
    let lines = levels(0, 20, 40, 10);
    assert_eq!(
        lines[1..],
        [
            "SCR_CHECKPOINT_SECONDS = 600",
            "CKPT=0 INTERVAL=1 TYPE=PARTNER SET_SIZE=8",
            "CKPT=1 INTERVAL=4 TYPE=RS SET_SIZE=8 SET_FAILURES=4",
            "SCR_FLUSH = 1",
        ]
    );
}

#[test]
fn without_levels_in_the_nodes_checkpoints_bypass_them() {
    assert_eq!(
        levels(0, 0, 0, 10),
        [
            "SCR_CACHE_BYPASS = 1",
            "SCR_CHECKPOINT_SECONDS = 600",
            "SCR_FLUSH = 1"
        ]
    );
    assert_eq!(levels(0, 0, 0, 0), ["SCR_CACHE_BYPASS = 1"]);
}

#[test]
fn directories_are_absolute_and_quoted() {
    let found = lines("[Basic]\nCkpt_dir = ./a b/../c\t# comment\nGlbl_dir=/g\n").unwrap();
    assert_eq!(found[1], "SCR_CACHE_BASE = \"/run/here/a b/../c\"");
    for bad in ["/l/$USER", "/a\"b", ""] {
        let message = lines(&format!("[basic]\nckpt_dir = {bad}\nglbl_dir = /g\n")).unwrap_err();
        assert!(
            message.contains("ckpt_dir is `") && message.contains("no path"),
            "{message}"
        );
    }
}

#[test]
fn every_setting_is_in_a_comment() {
    let text = "scratch=/s\npersistent=/p\nmode=sync\nnovel = 1\naxl_type = x\n[more]\nmode = y\n";
    let page = import(Path::new("/f"), text)
        .map_err(|f| f.to_string())
        .unwrap()
        .to_string();
    for setting in [
        "# scratch = /s",
        "# persistent = /p",
        "# mode = sync",
        "# novel = 1\n#   This setting is not known",
        "# axl_type = x",
        "# mode = y\n#   This",
    ] {
        assert!(page.contains(setting), "{setting} in {page}");
    }
}

#[test]
fn veloc_intervals_keep_what_is_protected() {
    let with =
        |text: &str| lines(&format!("scratch=/s\npersistent=/p\nmode=async\n{text}\n")).unwrap();
    let lines = with("");
    assert_eq!(
        lines,
        [
            "SCR_CACHE_BYPASS = 0",
            "SCR_CACHE_BASE = /s",
            "SCR_FLUSH_ASYNC = 1",
            "SCR_COPY_TYPE = XOR",
            "SCR_FLUSH = 1",
            "SCR_CACHE_SIZE = 2",
            "SCR_PREFIX_SIZE = 0",
        ]
    );
    assert_eq!(with("ec_interval=600\npersistent_interval = 60 ; s"), lines);
    let without = with("ec_interval=-1\npersistent_interval=-5\nmax_versions=3");
    assert_eq!(
        without[3..],
        [
            "SCR_COPY_TYPE = SINGLE",
            "SCR_FLUSH = 0",
            "SCR_CACHE_SIZE = 3",
            "SCR_PREFIX_SIZE = 3"
        ]
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (text, words) in [
        ("", "is neither a configuration of FTI"),
        ("[other]\na=1\n", "is neither a configuration of FTI"),
        (
            "[basic]\nglbl_dir=/g\n",
            "/run/here/config: [basic] ckpt_dir is missing",
        ),
        (
            "scratch=/s\nmode=sync\n",
            "/run/here/config: persistent is missing",
        ),
        (
            "scratch=/s\npersistent=/p\nmode=fast\n",
            "mode is `fast`, and must be sync or async",
        ),
        ("[basic\n", "/run/here/config:"),
        (
            "[basic]\nno value\n",
            "is not a line of a configuration file",
        ),
    ] {
        let message = lines(text).unwrap_err();
        assert!(message.contains(words), "{text:?}: {message}");
    }
    for bad in [
        "Ckpt_L1 = often",
        "Ckpt_L1 = -1",
        "Ckpt_L4 = 99999999999999999999",
        "Group_size = 1",
        "Verbosity =",
    ] {
        let message = fti(bad).unwrap_err();
        let name = bad.split(' ').next().unwrap();
        assert!(
            message.contains(&format!("config: {name} is `")),
            "{message}"
        );
        assert!(message.contains("must be an integer from"), "{message}");
    }
}
