//! `docs/messages.md` has all messages of the library, collected from the source, and `docs/faq.md` quotes
//! them as they are.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const HEAD: &str = "\
# All messages

<!-- Made from src and library. After a change there:
SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli --test cli -- current -->

The texts of which messages of the library are made, by the part of it that they come from; `...` stands for names and
numbers. A message has the thing that failed, the place, the reason and the remedy, so it may be made of several texts here.
The [questions and answers](faq.md) say more of those that are met most often.
";

/// The parts with messages: heading, and what the messages are about.
const PARTS: [(&str, &str, &str); 17] = [
    (
        "capi",
        "Calls",
        "Arguments of a call, or its place in the program. See the [C interface](c-api.md) and the [Fortran \
         interface](fortran-api.md).",
    ),
    (
        "session",
        "Checkpoints, restarts, flushes, halts",
        "What happens to the datasets of a run. See [the life of a \
         checkpoint](user-guide.md#the-life-of-a-checkpoint) and [after a failure](after-a-failure.md).",
    ),
    (
        "config",
        "Parameters and configuration files",
        "Correct the line or variable that the message names. `scr params` shows what each parameter takes; see \
         [parameters](parameters.md).",
    ),
    (
        "redundancy",
        "Redundancy",
        "A dataset is protected, checked or rebuilt. See [redundancy in the \
         cache](user-guide.md#redundancy-in-the-cache).",
    ),
    (
        "cache",
        "Datasets in the nodes",
        "Records in the nodes, and whether a dataset can be made whole from them. See [restart](user-guide.md#restart).",
    ),
    (
        "prefix",
        "The prefix directory",
        "Index, flush, fetch, containers. See [flush and fetch](user-guide.md#flush-and-fetch).",
    ),
    (
        "transfer",
        "Copies",
        "A file was not as recorded when it was copied. See [the failure model](failure-model.md#flush).",
    ),
    (
        "daemon",
        "The transfer daemon",
        "See [by a daemon](user-guide.md#by-a-daemon).",
    ),
    (
        "scavenge",
        "Datasets of a killed job",
        "See [after the job](user-guide.md#after-the-job) and [rebuild by hand](user-guide.md#rebuild-by-hand).",
    ),
    (
        "policy",
        "Decisions",
        "Why a run is started again or not, and why it should stop. See [halting](halting.md) and [running \
         jobs](running-jobs.md).",
    ),
    (
        "job",
        "The job: user, nodes, resource manager",
        "See [nodes, schedulers and launchers](nodes.md).",
    ),
    (
        "comm",
        "MPI and other transports",
        "A call of MPI has failed, or SCR runs with another MPI than its own. See the [questions](faq.md).",
    ),
    (
        "store",
        "Files and directories",
        "The system has refused something, or a path is not safe. See [links and other \
         users](failure-model.md#links-and-other-users).",
    ),
    (
        "format",
        "Files of SCR",
        "A file of SCR is damaged, or none. See [the formats](formats/README.md).",
    ),
    (
        "log",
        "The event log",
        "A failure of the log never fails a run. See [the log](formats/log.md).",
    ),
    ("text", "Parts of messages", ""),
    (
        "error",
        "The frame of an error",
        "Into these the other texts are put.",
    ),
];

/// Texts that are no messages: of documents, tables of parameters, and of tests.
const OTHERS: [&str; 7] = [
    "config/docs.rs",
    "config/table.rs",
    "events/event.rs",
    "session/testing.rs",
    "store/faulty.rs",
    "store/faulty/file.rs",
    "log/database.rs",
];

/// Adds the string literals of code, without attributes (and so without comments) and tests.
fn collect(code: TokenStream, found: &mut Vec<String>) {
    let mut tokens = code.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                tokens.next_if(|next| next.to_string() == "!");
                let attribute = tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
                let tests = attribute.is_some_and(|a| {
                    a.to_string().contains("cfg (test)") || a.to_string().contains("cfg(test)")
                });
                // What the attribute stands before ends with a block or a semicolon.
                while tests && let Some(next) = tokens.next() {
                    let block = next.to_string().starts_with('{');
                    if block || next.to_string() == ";" {
                        break;
                    }
                }
            }
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Literal(literal) => {
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    found.push(text.value());
                }
            }
            _ => {}
        }
    }
}

/// The text with `...` in place of what is filled in.
fn template(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match (after.strip_prefix('{'), after.split_once('}')) {
            (Some(after), _) => {
                out.push('{');
                rest = after;
            }
            (None, Some((_, after))) => {
                out.push_str("...");
                rest = after;
            }
            (None, None) => rest = after,
        }
    }
    let text = out + rest;
    text.replace("}}", "}")
        .replace("......", "...")
        .replace('`', "'")
}

/// True for what a person reads as a message or the greater part of one.
fn is_message(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters >= 2 && !word.contains("::")
    });
    words.count() >= 3 && !text.trim().contains('\n')
}

/// Messages by the part that they are in, each once, in alphabetical order.
fn messages() -> BTreeMap<String, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open: Vec<_> = ["src", "library"]
        .map(|folder| (root.join(folder), root.join(folder)))
        .into();
    while let Some((source, path)) = open.pop() {
        let name = path.strip_prefix(&source).unwrap().to_string_lossy();
        let part = name.split(['/', '.']).next().unwrap().to_string();
        let tests = name.ends_with("tests.rs") || name.ends_with("/tests");
        if ["main", "lib", "version"].contains(&part.as_str()) || tests {
            continue;
        }
        if let Ok(entries) = fs::read_dir(&path) {
            open.extend(entries.map(|entry| (source.clone(), entry.unwrap().path())));
        } else if name.ends_with(".rs") && !OTHERS.contains(&name.as_ref()) {
            let code: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
            let mut found = Vec::new();
            collect(code, &mut found);
            let found = found.iter().map(|text| template(text));
            let found = found.map(|text| text.trim_matches([' ', ';', ',', ':']).to_string());
            all.entry(part)
                .or_default()
                .extend(found.filter(|text| is_message(text)));
        }
    }
    for found in all.values_mut() {
        found.sort_by_key(|text| {
            text.trim_start_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase()
        });
        found.dedup();
    }
    all.retain(|_, found| !found.is_empty());
    all
}

fn page() -> String {
    let mut all = messages();
    let mut page = HEAD.to_string();
    for (part, title, about) in PARTS {
        let Some(found) = all.remove(part) else {
            continue;
        };
        page.push_str(&format!("\n## {title}\n\n"));
        if !about.is_empty() {
            page.push_str(&format!("{about}\n\n"));
        }
        page.extend(found.iter().map(|text| format!("- `{text}`\n")));
    }
    // The simulator's, which is not installed.
    all.remove("system");
    assert!(all.is_empty(), "PARTS has no row for {:?}", all.keys());
    page
}

#[test]
fn the_committed_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/messages.md");
    let page = page();
    if std::env::var_os("SCR_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/messages.md is stale: run SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli \
         --test cli -- current, and commit"
    );
    for text in [
        "another run uses this prefix directory...; wait for its end, or give each run its own SCR_PREFIX",
        "... cannot be fetched now",
        "files of ... rebuilt with ...",
    ] {
        let fragments = text.split("...").all(|fragment| page.contains(fragment));
        assert!(fragments, "{text}");
    }
    assert!(
        !page.contains("the process has died (injected)"),
        "only for tests"
    );
}

#[test]
fn the_questions_quote_messages_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = messages().into_values().flatten().collect();
    for file in ["ScrLibclang", "ScrCargo", "ScrMpi"] {
        texts.push(fs::read_to_string(root.join(format!("cmake/{file}.cmake"))).unwrap());
    }
    let faq = fs::read_to_string(root.join("docs/faq.md")).unwrap();
    let (mut quoted, mut wrong) = (0, Vec::new());
    for section in faq.split("\n### ").skip(1) {
        let (title, body) = section.split_once("\n\n").unwrap();
        for part in ["**Cause.**", "**Remedy.**"] {
            assert!(body.contains(part), "{title}: no {part}");
        }
        let first = body.lines().next().unwrap();
        let Some(message) = first
            .strip_prefix('`')
            .and_then(|line| line.strip_suffix('`'))
        else {
            continue;
        };
        quoted += 1;
        for fragment in message
            .split("...")
            .map(|part| part.trim_matches([' ', ';', ',', ':']))
        {
            let known = fragment.len() < 6 || texts.iter().any(|text| text.contains(fragment));
            if !known {
                wrong.push(format!("{title}: no message has: {fragment}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(quoted > 30, "{quoted}");
}
