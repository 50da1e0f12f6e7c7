//! `docs/parameters.md` and `docs/scr.conf.sample` are made from the table of parameters.

use scr::Config;
use scr::config::table::{Effect, MULTIS, PARAMETERS, Parameter, ReadBy};
use scr::format::Scheme;
use scr::job::Environment;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Parameters that the user configuration file cannot set: the sample does not have them.
const NOT_IN_FILES: [&str; 4] = [
    "SCR_SITE_ONLY",
    "SCR_ALLOWED_BASES",
    "SCR_SYSTEM_CONF",
    "SCR_CONF_FILE",
];

/// Text of `docs/parameters.md`.
fn parameters() -> String {
    let mut out = String::from(HEAD);
    for p in PARAMETERS {
        let default = match p.default {
            "" => "none".to_string(),
            text => format!("`{text}`"),
        };
        let unit = if p.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", p.unit)
        };
        // Writing to a String does not fail.
        let _ = writeln!(
            out,
            "| {} | {default} | {}{unit} | {} | {}{} |",
            p.name,
            values(&p.kind.allowed()),
            reader(p.reader, p.effect),
            p.doc,
            effect(p.effect)
        );
    }
    out.push_str(MIDDLE);
    for m in MULTIS {
        let open = if m.open { " NAME=VALUE ..." } else { "" };
        let _ = writeln!(
            out,
            "\n### `{}={}{open}`\n\n{}{} Read by: {}.",
            m.name,
            m.key,
            m.doc,
            effect(m.effect),
            reader(m.reader, m.effect)
        );
        if !m.children.is_empty() {
            out.push_str("\n| child | default | values | meaning |\n|---|---|---|---|\n");
        }
        for c in m.children {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {}{} |",
                c.name,
                c.default,
                values(&c.kind.allowed()),
                c.doc,
                effect(c.effect)
            );
        }
    }
    out
}

/// The allowed values without the limits and forms that the head of the page tells for all parameters.
fn values(allowed: &str) -> String {
    let told = [
        " to 2147483647",
        " to 9223372036854775807",
        ", such as 512, 64k or 1.5m",
    ];
    told.iter()
        .fold(allowed.to_string(), |text, told| text.replace(told, ""))
}

/// Text of `docs/scr.conf.sample`: every parameter with its meaning and default, as a comment.
fn sample() -> String {
    let mut out = String::from(SAMPLE);
    for p in PARAMETERS.iter().filter(|p| is_for_files(p)) {
        out.push('\n');
        comment(&mut out, &format!("{}{}", p.doc, plain(effect(p.effect))));
        let unit = if p.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", p.unit)
        };
        comment(&mut out, &format!("Values: {}{unit}.", p.kind.allowed()));
        let _ = writeln!(out, "#{}={}", p.name, p.default);
    }
    for m in MULTIS {
        out.push('\n');
        comment(&mut out, &format!("{}{}", m.doc, plain(effect(m.effect))));
        let mut line = format!("#{}={}", m.name, m.key);
        for c in m.children {
            let text = format!("{}: {} Values: {}.", c.name, c.doc, c.kind.allowed());
            comment(&mut out, &text);
            let _ = write!(line, " {}={}", c.name, c.default);
        }
        if m.open {
            line.push_str(" NAME=VALUE");
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

fn is_for_files(p: &Parameter) -> bool {
    !NOT_IN_FILES.contains(&p.name)
}

/// Without the marks of a page.
fn plain(text: String) -> String {
    text.replace("**", "")
}

/// Adds text as comments of at most 80 columns.
fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() > 1 && line.len() + 1 + word.len() > 80 {
            let _ = writeln!(out, "{line}");
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

fn reader(reader: ReadBy, effect: Effect) -> &'static str {
    match reader {
        _ if matches!(effect, Effect::None(_)) => "neither",
        ReadBy::Library => "library",
        ReadBy::Commands => "commands",
        ReadBy::Both => "library, commands",
    }
}

fn effect(effect: Effect) -> String {
    match effect {
        Effect::Works => String::new(),
        Effect::None(why) => format!(" **No effect**: {why}."),
    }
}

const HEAD: &str = "\
# Parameters

<!-- Made from src/config/table.rs. After a change there: SCR_WRITE_DOCS=1 cargo test -->

A parameter can be set in several places; the first of these that has it counts:

1. the environment of rank 0 (SCR_NODE_NAME, SCR_CACHE_BASE and SCR_CNTL_BASE: of each
   process); a variable set to nothing counts as unset;
2. the user configuration file, SCR_CONF_FILE or else `.scrconf` in the prefix directory;
3. calls of `SCR_Config` before `SCR_Init`; the latest counts;
4. the system configuration file;
5. the default.

A value that does not fit is an error: `SCR_Init` fails and says which parameter, where, and
what would fit. A name that does not exist, a line that cannot be read and a parameter without
effect are each reported once.

\"Read by\" says whose work a parameter changes: that of the library in the program, of commands, of
both, or of neither. A parameter that only commands read does nothing in a program, and
the other way round, without a message, since both find it in the same places. `scr params` and `scr
doctor` show all of them.

## Configuration files

    # comment
    SCR_FLUSH = 5
    SCR_PREFIX=\"/p/my project\"      # quotes let a value hold blanks
    SCR_CACHE_BASE=/l/ssd/$USER
    STORE=/l/ssd GROUP=NODE COUNT=3
    CKPT=0 INTERVAL=1 STORE=/l/ssd TYPE=XOR SET_SIZE=16

- One parameter on a line. Those with several items go on with `CHILD=VALUE` on that line;
  lines with other keys (`STORE=/a`, `STORE=/b`) add up, the same key again replaces the
  children it names.
- Blanks may surround the first `=`; further `=` belong to the value. `#` where a name or a
  value would begin starts a comment. Names may be written in lower case. `STORE= COUNT=2` has no
  value for STORE: a word after a blank that begins with a known name and `=` is the next item.
- A value in double quotes ends at the next quote and may hold blanks; the quotes are not part
  of it. SCR v3.1.0 keeps the quotes.
- A backslash makes the next character plain; `\\a \\b \\f \\n \\r \\t \\v` are as in C.
- `$NAME` and `${NAME}` are replaced by environment variables of the process that reads the
  value, whether or not a backslash comes before them; an undefined one counts as empty and is
  reported. Processes may have other values of a variable where directories of the cache
  (SCR_CACHE_BASE, SCR_CNTL_BASE, STORE), SCR_NODE_NAME or GROUPS are made of it, and in SCR_ENABLE,
  SCR_DEBUG, SCR_USER_NAME and SCR_JOB_ID, for which rank 0's counts; anywhere else that is an
  error.
- Two STORE lines that are one directory, by way of a symbolic link too, are an error.
- A file has at most 1 MiB, a line at most 64 KiB, in UTF-8.
- Of a parameter with several items, only the first place in the list above that has any item
  counts, with all its items.

`SCR_Config` takes one such line without comments, escapes (except `\\\"` and `\\\\` in quotes) and
lower-case names. `NAME` and `CKPT=0 TYPE` are queries, `NAME=` and `CKPT=0 TYPE=` unset. A query
gives nothing for what is not set, but for SCR_ENABLE its default; a name that is no parameter is
looked up in the environment of the process first. In `STORE=/l/ssd COUNT` the directory is compared
with variables replaced on both sides.

## Parameters with one value

Without another limit an integer is at most 2147483647, a time and a size at most 9223372036854775807. A size is such as
512, 64k or 1.5m.

| name | default | values | read by | meaning |
|---|---|---|---|---|
";

const SAMPLE: &str = "\
# A configuration file of SCR, in which every line is a comment: all parameters with their defaults.
# `scr params` shows the path at which the system configuration file is looked for; the user
# configuration file is .scrconf in the prefix directory. The environment, the user file and
# SCR_Config override the system file. Write only the lines that you change. What users cannot
# set is named by SCR_SITE_ONLY and SCR_ALLOWED_BASES; see administrators.md in the documentation.
#
# Made from src/config/table.rs. After a change there: SCR_WRITE_DOCS=1 cargo test
";

const MIDDLE: &str = "
## Parameters with several items
";

#[test]
fn the_committed_files_of_parameters_are_current() {
    for (name, text) in [
        ("parameters.md", parameters()),
        ("scr.conf.sample", sample()),
    ] {
        let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("SCR_WRITE_DOCS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "{name} is stale: run SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli --test cli -- \
                 current, and commit"
        );
    }
}

/// What a system file with this text gives: the settings, and the warnings.
fn loaded(text: &str) -> (Config, Vec<String>) {
    let mut config = Config::new();
    let read = |path: &Path| Ok(path.ends_with("scr.conf").then(|| text.as_bytes().to_vec()));
    config
        .load(Environment::empty(), Path::new("/cwd"), &read)
        .unwrap();
    let warnings = config.take_warnings();
    (config, warnings)
}

#[test]
fn the_sample_sets_nothing_and_each_line_can_be_taken() {
    let (config, warnings) = loaded(&sample());
    assert_eq!(warnings, [""; 0]);
    let mut taken = 0;
    for p in PARAMETERS.iter().filter(|p| is_for_files(p)) {
        assert!(config.find(p.name).is_none(), "{}", p.name);
        let line = format!("\n#{}={}\n", p.name, p.default);
        assert!(sample().contains(&line), "{line}");
        let (config, _) = loaded(line.trim_start_matches(['\n', '#']));
        match p.default {
            "" => assert!(config.find(p.name).is_none(), "{line}"),
            _ => assert!(config.typed(p).unwrap().is_some(), "{line}"),
        }
        taken += 1;
    }
    assert!(taken > 50, "{taken}");
    assert!(MULTIS.iter().all(|m| config.items(m.name).len() == 0));
}

#[test]
fn the_page_of_parameters_lists_all_schemes() {
    let text = format!("Redundancy scheme: {}.", Scheme::list_words());
    assert!(parameters().contains(&text));
}
