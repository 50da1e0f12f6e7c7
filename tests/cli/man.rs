//! The manual pages in `docs/man` are those of the commands.

use scr::cli::{COMMANDS, definition};
use std::collections::BTreeMap;
use std::path::Path;

/// Pages by file name.
fn pages() -> BTreeMap<String, String> {
    let page = |command: clap::Command| {
        let mut bytes = Vec::new();
        clap_mangen::Man::new(command).render(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    // The overview says the same as the page's own list of commands.
    let top = definition()
        .after_help(clap::builder::Resettable::Reset)
        .disable_help_subcommand(true);
    let mut pages = BTreeMap::from([("scr.1".to_string(), page(top))]);
    for command in COMMANDS {
        let file = format!("scr-{}.1", command.name);
        let named = command
            .definition(command.name)
            .display_name(format!("scr-{}", command.name))
            .bin_name(format!("scr {}", command.name));
        for classic in command.classic {
            pages.insert(format!("{classic}.1"), format!(".so man1/{file}\n"));
        }
        pages.insert(file, page(named));
    }
    pages
}

#[test]
fn the_committed_pages_are_current() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/man");
    if std::env::var_os("SCR_WRITE_DOCS").is_some() {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        for (name, text) in pages() {
            std::fs::write(dir.join(name), text).unwrap();
        }
    }
    let committed: BTreeMap<String, String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    assert!(
        committed == pages(),
        "stale: run SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli, and commit"
    );
}

#[test]
fn definitions_are_sound() {
    definition().debug_assert();
    for command in COMMANDS {
        for name in command.classic.iter().chain([&command.name]) {
            command.definition(name).debug_assert();
        }
    }
}

#[test]
fn each_name_belongs_to_one_command() {
    let mut names: Vec<&str> = COMMANDS
        .iter()
        .flat_map(|c| c.classic.iter().copied().chain([c.name]))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
