//! `docs/faq.md` is made from the table of messages, and the sources print what that table quotes.

use crate::sandbox::Sandbox;
use proc_macro2::{TokenStream, TokenTree};
use scr_engine::messages::{Explanation, SECTIONS, all};
use std::fs;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Questions and answers

<!-- Made from src/messages. After a change there:
SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli --test cli -- current -->

By what you see: the message, its cause, and the remedy. In the messages here `...` stands for names and numbers. Messages
have their code in parentheses, such as `(SCR-105)`; `scr explain SCR-105` prints what this page says of it.
[After a failure](after-a-failure.md) goes through a lost run step by step.

Messages go to standard error and begin with `SCR v3.1.0 ERROR:`, `SCR v3.1.0 WARNING:`, or `SCR v3.1.0:` for a note. Each has
the thing that failed, the place, the reason and the remedy. For more of them set `SCR_DEBUG=1`.
";

/// The width of a line of text.
const WIDTH: usize = 118;

fn page() -> String {
    let mut page = HEAD.to_string();
    for section in SECTIONS {
        page += &format!("\n## {}\n", section.title);
        for row in section.rows {
            page += &format!("\n### {}\n\n", row.title);
            page += &match row.text {
                "" => format!("{}\n", row.code),
                text => format!("{}: `{text}`\n", row.code),
            };
            for (word, text) in [("Cause", row.cause), ("Remedy", row.remedy)] {
                page += &format!("\n{}\n", filled(&format!("**{word}.** {text}")));
            }
        }
    }
    page
}

/// The text in lines. No line breaks within `code`.
fn filled(text: &str) -> String {
    let (mut out, mut length, mut in_code) = (String::new(), 0, false);
    for word in text.split(' ') {
        let break_here = length + 1 + word.len() > WIDTH && !in_code;
        if length > 0 {
            out.push(if break_here { '\n' } else { ' ' });
        }
        length = if break_here { 0 } else { length + 1 } + word.len();
        out.push_str(word);
        in_code ^= word.matches('`').count() % 2 == 1;
    }
    out
}

#[test]
fn the_committed_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/faq.md");
    let page = page();
    if std::env::var_os("SCR_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/faq.md is stale: run SCR_WRITE_DOCS=1 cargo test --no-default-features --features cli \
         --test cli -- current, and commit"
    );
}

/// Adds the string literals of code, without attributes, and so without comments.
fn collect(code: TokenStream, found: &mut Vec<String>) {
    let mut tokens = code.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                tokens.next_if(|next| next.to_string() == "!");
                tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
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

/// All string literals of the library, but for the table of messages itself, and the texts of the build.
fn literals() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    let mut open: Vec<PathBuf> = ["src", "library", "jobs"]
        .map(|folder| root.join(folder))
        .into();
    while let Some(path) = open.pop() {
        if path == root.join("src/messages") {
            continue;
        }
        if let Ok(entries) = fs::read_dir(&path) {
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let code: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
            collect(code, &mut all);
        }
    }
    for file in ["ScrCargo", "ScrMpi"] {
        let path = root.join(format!("cmake/{file}.cmake"));
        let text = fs::read_to_string(path).unwrap();
        // One literal for each call of message().
        all.extend(text.split("message(").map(str::to_string));
    }
    all
}

/// True if a message that has this code has all words that the table quotes.
fn is_printed(row: &Explanation, literals: &[String]) -> bool {
    let (name, code) = (format!("({{{}}})", row.name), format!("({})", row.code));
    let has_code = |text: &&String| text.contains(&name) || text.contains(&code);
    let words: Vec<&str> = row.text.split("...").map(str::trim).collect();
    let has_words = |text: &String| {
        let quoted = words.iter().filter(|part| part.len() > 5);
        let mut missing = quoted.filter(|part| !text.contains(part.trim_matches([';', ':', ' '])));
        missing.next().is_none()
    };
    literals.iter().filter(has_code).any(has_words)
}

#[test]
fn messages_are_printed_as_they_are_quoted_and_with_their_code() {
    let literals = literals();
    // The words of a state come from a table of states.
    let elsewhere = ["CALL_ORDER"];
    let quoted = all().filter(|row| !row.text.is_empty() && !elsewhere.contains(&row.name));
    let wrong: Vec<&str> = quoted
        .filter(|row| !is_printed(row, &literals))
        .map(|row| row.name)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for name in elsewhere {
        let code = format!("({{{name}}})");
        assert!(literals.iter().any(|text| text.contains(&code)), "{name}");
    }
}

#[test]
fn explain_prints_cause_and_remedy_of_each_code() {
    let sandbox = Sandbox::empty();
    let list = sandbox.run(&["explain"]).out();
    for row in all() {
        let code = row.code.to_string();
        assert!(list.contains(&format!("{code}  {}", row.title)), "{code}");
        let told = sandbox.run(&["explain", &code]).out();
        for text in [row.title, row.text, "Cause: ", "Remedy: "] {
            assert!(told.contains(text), "{code}: {told}");
        }
        assert!(!told.contains("]("), "{code}: {told}");
    }
    let told = sandbox.run(&["explain", "105"]).out();
    assert!(told.contains("SCR-105: Another run uses the prefix directory\n"));
    let error = sandbox.run(&["explain", "SCR-9"]).failed();
    let text = "SCR-9: no message has this code; `scr explain` lists all codes";
    assert!(error.contains(text), "{error}");
}
