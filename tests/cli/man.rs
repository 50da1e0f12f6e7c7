//! The manual pages, which `scr manual` makes, and what they are made from.

use crate::sandbox::Sandbox;
use scr::cli::{COMMANDS, MANUALS, definition, manual};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The pages of all commands, of their classic names and of the library's calls.
#[test]
fn a_directory_gets_all_pages() {
    let sandbox = Sandbox::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = |file: &str| root.join(file).to_str().unwrap().to_string();
    let (api, module) = (path("docs/c-api.md"), path("fortran/scrf.F90"));
    let dir = sandbox.path().join("man");
    let made = [
        "manual",
        "--dir",
        dir.to_str().unwrap(),
        "--calls",
        &api,
        &module,
    ];
    sandbox.run(&made).out();

    let names = |section: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(dir.join(section)).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let mut expected = BTreeSet::from(["scr.1".to_string()]);
    for command in COMMANDS {
        expected.insert(format!("scr-{}.1", command.name));
        expected.extend(command.classic.iter().map(|name| format!("{name}.1")));
    }
    assert_eq!(names("man1"), expected);
    let read = |page: &str| fs::read_to_string(dir.join(page)).unwrap();
    assert_eq!(read("man1/scr_index.1"), ".so man1/scr-index.1\n");

    let api = fs::read_to_string(api).unwrap();
    assert_eq!(names("man3").len(), api.matches("\n## SCR_").count());
    let page = read("man3/SCR_Init.3");
    assert!(page.contains(".B int SCR_Init(void);\n"), "{page}");
    assert!(page.contains(".B call scr_init(ierror)\n"), "{page}");
    assert!(page.contains(".SH RETURN VALUE\n"), "{page}");
    let page = read("man3/SCR_Field.3");
    let in_fortran = ".B call s%field(name, data, whole, at, missing, kind, index, where)\n";
    assert!(page.contains(in_fortran), "{page}");
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

#[test]
fn each_command_has_examples_that_it_takes_and_pages_that_exist() {
    for command in COMMANDS {
        let manual = manual(command.name).expect(command.name);
        assert!(!manual.examples.is_empty(), "{}", command.name);
        for (line, what) in manual.examples {
            let inner = line
                .strip_prefix("eval \"$(")
                .and_then(|line| line.strip_suffix(")\""));
            let words = shlex::split(inner.unwrap_or(line)).unwrap();
            let (found, options) = (words[1].as_str(), &words[2..]);
            assert_eq!((words[0].as_str(), found), ("scr", command.name), "{line}");
            let parser = command.definition(command.name).no_binary_name(true);
            let parsed = parser.try_get_matches_from(options);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            assert!(what.ends_with('.'), "{what}");
        }
        for page in manual.see_also {
            assert!(COMMANDS.iter().any(|c| c.name == *page), "{page}");
            assert_ne!(*page, command.name);
        }
    }
    for manual in MANUALS {
        assert!(
            COMMANDS.iter().any(|c| c.name == manual.command),
            "{}",
            manual.command
        );
    }
}

#[test]
fn a_page_has_the_values_of_options_and_a_title() {
    let sandbox = Sandbox::empty();
    let page = sandbox.run(&["manual", "index"]).out();
    for part in [
        "[\\fB\\-c\\fR|\\fB\\-\\-current\\fR \\fINAME\\fR]",
        ".SH EXAMPLES",
        ".SH \"SEE ALSO\"",
        "\\fBscr\\-inspect\\fR(1)",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(sandbox.run(&["manual", "scr_index"]).out(), page);
    let title = format!(".TH scr 1  \"scr {}", env!("CARGO_PKG_VERSION"));
    let top = sandbox.run(&["manual"]).out();
    assert!(top.contains(&title), "{top}");
    let error = sandbox.run(&["manual", "nothing"]).failed();
    assert!(error.contains("nothing: no such command"), "{error}");
}
