//! The manual page of the parameters, from the table.

use super::table::{Effect, MULTIS, PARAMETERS, ReadBy};
use std::fmt::Write;

/// Text of `docs/parameters.md`.
pub fn parameters() -> String {
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
            p.kind.allowed(),
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
                c.kind.allowed(),
                c.doc,
                effect(c.effect)
            );
        }
    }
    out
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

| name | default | values | read by | meaning |
|---|---|---|---|---|
";

const MIDDLE: &str = "
## Parameters with several items
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/parameters.md");
        if std::env::var_os("SCR_WRITE_DOCS").is_some() {
            std::fs::write(path, parameters()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(
            committed == parameters(),
            "stale: run SCR_WRITE_DOCS=1 cargo test, and commit"
        );
    }
}
