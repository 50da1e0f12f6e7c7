//! Messages with hostile names and files: they do not control a terminal, they name the file, and
//! the commands in them can be typed as they are.

use crate::site::Site;
use scr::Error;
use scr::events::{Message, Severity};
use scr::format::{Name, Tree, encode};
use std::path::Path;

const NODES: [&str; 2] = ["n0", "n1"];

/// What no message may have.
fn hidden(text: &str) -> bool {
    text.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
}

fn heard(site: &Site) -> String {
    let lines = site.events.lines();
    lines
        .iter()
        .for_each(|line| assert!(!hidden(line), "{line:?}"));
    lines.join("\n")
}

/// A leaf with one file for each of two ranks.
fn leaf(names: [&str; 2]) -> Tree {
    let mut ranks = Tree::new();
    for (rank, name) in names.iter().enumerate() {
        let (mut list, mut entry) = (Tree::new(), Tree::new());
        list.set(*name, Tree::new());
        entry.set("FILE", list);
        ranks.set(rank.to_string(), entry);
    }
    let mut leaf = Tree::new();
    leaf.set_value("LEVEL", "0").set_value("RANKS", "2");
    leaf.set("RANK", ranks);
    leaf
}

#[test]
fn every_error_and_event_is_one_line_without_control_characters() {
    let evil = "a\x1b[2Jb\nERROR: forged\r\u{202e}";
    let path = Path::new(evil).to_path_buf();
    let (text, what) = (evil.to_string(), evil.to_string());
    let errors = [
        Error::io("open", &path, std::io::Error::from_raw_os_error(2)),
        Error::format(3, evil).in_file(&path),
        Error::format(0, evil),
        Error::usage("SCR_Route_file", evil),
        Error::dataset(1, evil, evil),
        Error::Corrupt { path, what },
        Error::Config {
            place: text.clone(),
            what: text.clone(),
        },
        Error::Comm {
            call: text.clone(),
            what: text.clone(),
        },
        Error::Remote {
            rank: 1,
            node: text.clone(),
            count: 2,
            error: text.clone(),
        },
    ];
    for error in errors {
        let shown = error.to_string();
        assert!(!hidden(&shown), "{shown:?}");
        assert!(
            shown.contains("a\\x1b[2Jb\\x0aERROR: forged\\x0d\\xe2\\x80\\xae"),
            "{shown}"
        );
        // Said again in an event, it stays as it is.
        assert_eq!(Message::new(Severity::Error, &shown).to_string(), shown);
    }
    assert!(!hidden(&Message::new(Severity::Note, evil).to_string()));
}

#[test]
fn names_from_the_prefix_directory_are_escaped_and_their_file_is_named() {
    let evil = "ck.2/\x1b[2Jrank";
    for (names, told) in [
        ([evil, "ck.2/b"], "\\x1b[2Jrank"),
        (["../\x1b]0;x\x07", "ck.2/b"], "rank2file"),
        ([".scr/index.scr", "ck.2/b"], "rank2file"),
    ] {
        let site = Site::new().set("SCR_FLUSH", "1");
        site.run(&NODES, |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.checkpoint("ck.2").unwrap();
        });
        NODES.iter().for_each(|node| site.lose(node));
        let path = site.prefix().join(".scr/scr.dataset.2/rank2file.0.0");
        std::fs::write(path, encode(&leaf(names))).unwrap();
        site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap();
            let error = rank.session.delete(&Name::from("ck.2")).map(drop);
            let error = error.map_or_else(|error| error.to_string(), |()| String::new());
            assert!(!hidden(&error), "{error:?}");
            assert!(error.is_empty() || error.contains("rank2file"), "{error}");
        });
        let heard = heard(&site);
        let line = heard
            .lines()
            .find(|line| line.contains("cannot fetch"))
            .unwrap();
        assert!(line.contains(told) && !line.contains("byte 0"), "{line}");
    }
}

#[test]
fn advice_with_a_name_is_quoted_for_a_shell() {
    let site = Site::new().set("SCR_FLUSH", "1");
    let name = "-a $(touch x)\x1b[2J'";
    site.run(&NODES, |rank| {
        let session = &mut rank.session;
        session
            .start_output(Some(Name::from(name)), true, false)
            .unwrap();
        let file = format!("ck/rank_{}", rank.rank);
        let path = session.route(Path::new(&file)).unwrap();
        std::fs::write(path, "data").unwrap();
        session.complete_output(true).unwrap();
    });
    let path = site.prefix().join(".scr/scr.dataset.1/rank2file");
    std::fs::write(path, "damaged").unwrap();
    for error in site.run(&NODES, |rank| rank.session.delete(&Name::from(name))) {
        let error = error.unwrap_err().to_string();
        assert!(!hidden(&error), "{error:?}");
        let quoted = "`scr index --drop=$'-a $(touch x)\\x1b[2J\\\''`";
        assert!(error.contains(quoted), "{error}");
        assert!(error.contains("rank2file"), "{error}");
    }
    heard(&site);
}
