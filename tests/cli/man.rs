//! The manual pages in `docs/man` are those of the commands.

use scr::cli::{COMMANDS, MANUALS, Manual, definition, manual};
use std::collections::BTreeMap;
use std::path::Path;

/// What `clap_mangen` writes before each section.
const QUOTES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// Text for roff: nothing in it is a command.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let guarded = text.starts_with(['.', '\'']);
    if guarded { format!("\\&{text}") } else { text }
}

/// An argument as in a synopsis: `-p, --prefix DIR`, with `...` if it may be repeated.
fn synopsis_of(arg: &clap::Arg) -> String {
    let short = arg.get_short().map(|letter| format!("\\fB\\-{letter}\\fR"));
    let long = arg
        .get_long()
        .map(|name| format!("\\fB{}\\fR", plain(&format!("--{name}"))));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes = arg.get_num_args().is_some_and(|range| range.takes_values());
    let values = arg.get_value_names().filter(|_| takes).unwrap_or_default();
    let values: Vec<String> = match values {
        [] if takes => vec![arg.get_id().as_str().to_uppercase()],
        values => values.iter().map(ToString::to_string).collect(),
    };
    let mut words = vec![names.join("|")];
    words.extend(
        values
            .iter()
            .map(|value| format!("\\fI{}\\fR", plain(value))),
    );
    words.retain(|word| !word.is_empty());
    let mut text = words.join(" ");
    if !arg.is_required_set() {
        text = format!("[{text}]");
    }
    let repeated = matches!(arg.get_action(), clap::ArgAction::Append)
        || arg
            .get_num_args()
            .is_some_and(|range| range.max_values() > 1);
    if repeated { text + "..." } else { text }
}

/// The synopsis with the values of options, which `clap_mangen` leaves out.
fn synopsis(command: &clap::Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut text = format!(".SH SYNOPSIS\n\\fB{}\\fR", plain(name));
    let shown = |arg: &&clap::Arg| !arg.is_hide_set();
    let options = command
        .get_arguments()
        .filter(shown)
        .filter(|arg| !arg.is_positional());
    let positionals = command.get_positionals().filter(shown);
    for arg in options.chain(positionals) {
        text.extend([" ", &synopsis_of(arg)]);
    }
    if command.has_subcommands() {
        text.push_str(" \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]...");
    }
    text + "\n"
}

/// Examples and related pages.
fn more(manual: &Manual) -> String {
    let mut text = String::from(".SH EXAMPLES\n");
    for (line, what) in manual.examples {
        text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", plain(line), plain(what)));
    }
    let pages = manual.see_also.iter().map(|name| format!("scr-{name}"));
    let pages = ["scr".to_string()].into_iter().chain(pages);
    let pages: Vec<String> = pages
        .map(|name| format!("\\fB{}\\fR(1)", plain(&name)))
        .collect();
    text + &format!(".SH \"SEE ALSO\"\n{}\n", pages.join(", "))
}

/// Pages by file name.
fn pages() -> BTreeMap<String, String> {
    let page = |mut command: clap::Command, manual: Option<&Manual>| {
        command.build();
        // Examples have a section of their own.
        let command = match manual {
            Some(_) => command.after_long_help(clap::builder::Resettable::Reset),
            None => command,
        };
        let (synopsis, options) = (synopsis(&command), command.get_arguments().count() > 0);
        let commands = command.has_subcommands();
        let man = clap_mangen::Man::new(command);
        let mut bytes = Vec::new();
        man.render_title(&mut bytes).unwrap();
        man.render_name_section(&mut bytes).unwrap();
        bytes.extend(synopsis.as_bytes());
        man.render_description_section(&mut bytes).unwrap();
        if options {
            man.render_options_section(&mut bytes).unwrap();
        }
        if commands {
            man.render_subcommands_section(&mut bytes).unwrap();
        }
        bytes.extend(manual.map(more).unwrap_or_default().as_bytes());
        man.render_version_section(&mut bytes).unwrap();
        // Each section comes with the definition of quotes, which one of them gives to all.
        let text = String::from_utf8(bytes).unwrap();
        QUOTES.to_string() + &text.replace(QUOTES, "")
    };
    // The overview says the same as the page's own list of commands.
    let top = definition()
        .after_help(clap::builder::Resettable::Reset)
        .disable_help_subcommand(true);
    let mut pages = BTreeMap::from([("scr.1".to_string(), page(top, None))]);
    for command in COMMANDS {
        let file = format!("scr-{}.1", command.name);
        let named = command
            .definition(command.name)
            .display_name(format!("scr-{}", command.name))
            .bin_name(format!("scr {}", command.name));
        for classic in command.classic {
            pages.insert(format!("{classic}.1"), format!(".so man1/{file}\n"));
        }
        pages.insert(file, page(named, manual(command.name)));
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
fn a_page_has_the_values_of_options() {
    let page = &pages()["scr-index.1"];
    assert!(
        page.contains("[\\fB\\-c\\fR|\\fB\\-\\-current\\fR \\fINAME\\fR]"),
        "{page}"
    );
    for part in [
        ".SH EXAMPLES",
        ".SH \"SEE ALSO\"",
        "\\fBscr\\-inspect\\fR(1)",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
