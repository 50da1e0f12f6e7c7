//! `docs/commands.md` has all commands as they describe themselves.

use scr::cli::{COMMANDS, Command, CommandGroup};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Commands

<!-- Made from commands. After a change there:
SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli --test cli -- current -->

One program without MPI, `scr`, for login nodes, job scripts and epilogs. Each command is also installed under its
names in SCR v3.1.0. The text below is from `scr COMMAND --help`. That, and the manual page (`man scr-index`,
`man scr_index`), also has examples, and the options of commands for job scripts and nodes. Each command takes `-h`, `--help`,
`-V` and `--version`, and where it uses a prefix directory `-p DIR`, `--prefix DIR` (default: `SCR_PREFIX`, else the current
directory).
";

/// The option that the head of the page tells for all commands.
const PREFIX: &str = "
  -p, --prefix <DIR>
          Prefix directory, instead of SCR_PREFIX or the current directory
";

/// The name by which a command is called, with the other names it has.
fn row(command: &Command) -> String {
    let classic: Vec<String> = command
        .classic
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let definition = command.definition(command.name);
    let about = definition.get_about().unwrap().to_string();
    let about = about.replace('|', "\\|").replace('<', "&lt;");
    let (name, classic) = (command.name, classic.join(", "));
    format!("| [`scr {name}`](#scr-{name}) | {classic} | {about} |\n")
}

/// The help without what the page tells elsewhere, which are the first line and the common option, and without
/// examples. A command for scripts or nodes has no options on the page.
fn shortened(command: &Command, help: &str) -> String {
    let (_, help) = help.split_once("\n\n").unwrap();
    let help = help.replace(PREFIX, "");
    let help = help.split("\nExamples:").next().unwrap_or_default();
    let help = help.trim_end().trim_end_matches("\nOptions:").trim_end();
    if ![CommandGroup::Scripts, CommandGroup::Nodes].contains(&command.group) {
        return help.to_string();
    }
    let end = help.find("\nArguments:").or(help.find("\nOptions:"));
    let help = help[..end.unwrap_or(help.len())].trim_end();
    // This usage says nothing.
    let usage = format!("\n\nUsage: scr {} [OPTIONS]", command.name);
    help.strip_suffix(&usage).unwrap_or(help).to_string()
}

fn page() -> String {
    let mut page = HEAD.to_string();
    page.push_str("\n| command | also | does |\n|---|---|---|\n");
    page.extend(COMMANDS.iter().map(row));
    for command in COMMANDS {
        let name = command.name;
        let mut definition = command
            .definition(name)
            .bin_name(format!("scr {name}"))
            .disable_help_flag(true)
            .disable_version_flag(true)
            .term_width(100);
        let help = definition.render_long_help().to_string();
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let help = shortened(command, &lines.join("\n"));
        let _ = writeln!(page, "\n## scr {name}\n\n```text\n{help}\n```");
    }
    page
}

#[test]
fn the_committed_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands.md");
    let page = page();
    if std::env::var_os("SCR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/commands.md is stale: run SCR_WRITE_DOCS=1 cargo test --no-default-features --features \
         cli --test cli -- current, and commit"
    );
    assert!(page.contains("| [`scr index`](#scr-index) | `scr_index` |"));
}
