//! Rules for the sources that neither the compiler nor rustfmt knows: how long files and lines are, words that
//! readers stumble over, files that no module names, and a glossary that is true.

#![allow(clippy::expect_used)] // A test may stop at what it did not expect.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file of code; CONTRIBUTING.md says so.
const MOST_LINES: usize = 600;

/// The most lines of a file of tests, whose parts belong to one subject.
const MOST_LINES_OF_TESTS: usize = 850;

/// The most letters of a line of code. rustfmt does not break texts and comments.
const LONGEST_LINE: usize = 200;

/// The most letters of a line of a program in a page, so that it can be read in the site and in a terminal.
const LONGEST_SAMPLE: usize = 80;

/// The languages of such programs. A command and what it prints are as long as they are.
const LANGUAGES: &[&str] = &["c", "cpp", "fortran", "python", "cmake", "make", "rust"];

/// The folders with code in Rust.
const RUST: &[&str] = &[
    "src", "library", "jobs", "commands", "testing", "benches", "tests", "examples",
];

/// The folders with texts of any kind.
const TEXTS: &[&str] = &[
    "src", "library", "jobs", "commands", "testing", "benches", "tests", "examples", "fortran",
    "include", "cmake", "scripts", "docs", "python", "spack",
];

/// Words that say nothing to most readers, or that are left from work that is not done.
const RIDDLES: &[&str] = &[
    " anew ",
    " anew.",
    " anew,",
    "for want of",
    "comes about",
    "hitherto",
    "therein",
    "whosoever",
    "perforce",
    "FIXME",
    "XXX ",
    "TODO",
    "todo!(",
    "unimplemented!(",
    "dbg!(",
    "/work/",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

struct Source {
    /// From the root of the repository.
    path: PathBuf,
    text: String,
}

impl Source {
    fn has_ending(&self, endings: &[&str]) -> bool {
        let ending = self.path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| endings.contains(&ending))
    }
}

/// All text files of the folders. Fixtures are data: what SCR v3.1.0 or an older release has written.
fn sources(folders: &[&str]) -> Vec<Source> {
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default();
        if ["fixtures", "target", "images", "__pycache__"]
            .iter()
            .any(|skipped| name == *skipped)
        {
            continue;
        }
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder can be listed");
            open.extend(entries.map(|entry| entry.expect("a folder can be listed").path()));
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path
                .strip_prefix(root())
                .expect("below the root")
                .to_path_buf();
            found.push(Source { path, text });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn rust_sources() -> Vec<Source> {
    let mut all = sources(RUST);
    all.retain(|source| source.has_ending(&["rs"]));
    assert!(all.len() > 500, "{}", all.len());
    all
}

/// The places, each with its file and line, in which `is_wrong` holds for a line.
fn wrong_lines(sources: &[Source], mut is_wrong: impl FnMut(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources {
        for (at, line) in source.text.lines().enumerate() {
            if is_wrong(line) {
                wrong.push(format!(
                    "{}:{}: {}",
                    source.path.display(),
                    at + 1,
                    line.trim()
                ));
            }
        }
    }
    wrong
}

#[test]
fn no_file_is_too_long() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    assert!(text.contains(&format!(" {MOST_LINES} are the limit")));
    let is_test = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        path.starts_with("tests") || name.ends_with("tests")
    };
    for source in rust_sources() {
        let most = if is_test(&source.path) {
            MOST_LINES_OF_TESTS
        } else {
            MOST_LINES
        };
        let lines = source.text.lines().count();
        assert!(
            lines <= most,
            "{}: {lines} lines, {most} are the limit",
            source.path.display()
        );
    }
}

#[test]
fn no_line_is_too_long() {
    let wrong = wrong_lines(&rust_sources(), |line| line.chars().count() > LONGEST_LINE);
    // The table of parameters has a row for each, with its description.
    let wrong: Vec<String> = wrong
        .into_iter()
        .filter(|line| !line.starts_with("src/config/table"))
        .collect();
    assert!(
        wrong.is_empty(),
        "more than {LONGEST_LINE} letters: {wrong:#?}"
    );
}

/// Readers come to a comment from anywhere, and not from the one before it.
#[test]
fn programs_in_pages_are_narrow() {
    let mut pages = sources(&["docs"]);
    pages.retain(|page| page.has_ending(&["md"]));
    let readme = fs::read_to_string(root().join("README.md"));
    pages.push(Source {
        path: PathBuf::from("README.md"),
        text: readme.expect("README.md"),
    });
    let mut programs = 0;
    let mut language = None;
    let wrong = wrong_lines(&pages, |line| {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, language) {
            (Some(name), None) => {
                language = Some(LANGUAGES.contains(&name.trim()));
                programs += usize::from(language == Some(true));
            }
            (Some(_), Some(_)) => language = None,
            _ => {}
        }
        language == Some(true) && line.chars().count() > LONGEST_SAMPLE
    });
    assert!(programs > 20, "{programs} programs in pages");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_comment_begins_with_the_same() {
    let mut in_comment = false;
    let wrong = wrong_lines(&rust_sources(), |line| {
        let comment = line.trim_start().strip_prefix("//");
        let text = comment.map(|text| text.trim_start_matches(['/', '!']).trim_start());
        let begins = text.is_some() && !in_comment;
        in_comment = text.is_some();
        begins && text.is_some_and(|text| text.starts_with("The same"))
    });
    assert!(wrong.is_empty(), "say what it is: {wrong:#?}");
}

#[test]
fn no_riddle_is_written() {
    let mut texts = sources(TEXTS);
    texts.retain(|source| source.path != Path::new("tests/tidy.rs"));
    assert!(texts.len() > 700, "{}", texts.len());
    let wrong = wrong_lines(&texts, |line| {
        RIDDLES.iter().any(|riddle| line.contains(riddle))
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lines_end_with_a_letter_and_files_with_a_line() {
    let mut texts = sources(TEXTS);
    texts.retain(|source| {
        source.has_ending(&[
            "rs", "sh", "py", "md", "cmake", "f90", "F90", "c", "h", "hpp",
        ])
    });
    let wrong = wrong_lines(&texts, |line| line.ends_with([' ', '\t']));
    assert!(wrong.is_empty(), "{wrong:#?}");
    for source in texts {
        assert!(
            source.text.is_empty() || source.text.ends_with('\n'),
            "{}: no end of line at the end",
            source.path.display()
        );
    }
}

/// The name of a file's module, and the files that may declare it.
fn parents(path: &Path) -> (String, Vec<PathBuf>) {
    let name = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let mut dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut module = name(path).unwrap_or_default();
    if module == "mod" {
        module = name(&dir).unwrap_or_default();
        dir.pop();
    }
    let mut files: Vec<PathBuf> = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .map(|file| dir.join(file))
        .collect();
    files.push(dir.with_extension("rs"));
    (module, files)
}

/// A file that no module names is not compiled: nobody would notice that it died.
#[test]
fn each_file_belongs_to_a_program() {
    let sources = rust_sources();
    let declares = |text: &str, module: &str| {
        let declared = [
            format!("mod {module};"),
            format!("/{module}.rs\""),
            format!("\"{module}.rs\""),
        ];
        declared.iter().any(|words| text.contains(words))
    };
    let manifests = [
        "Cargo.toml",
        "src/Cargo.toml",
        "jobs/Cargo.toml",
        "commands/Cargo.toml",
    ];
    let manifests: String = manifests
        .iter()
        .map(|file| fs::read_to_string(root().join(file)).expect("a manifest"))
        .collect();
    let mut dead = Vec::new();
    for source in &sources {
        let (module, files) = parents(&source.path);
        let is_program = ["lib", "main", "build"].contains(&module.as_str())
            // Cargo finds these by itself.
            || source.path.parent().is_some_and(|dir| dir == Path::new("tests") || dir.ends_with("benches"))
            || source.path.starts_with("examples");
        let in_parent = sources
            .iter()
            .filter(|other| files.contains(&other.path))
            .any(|parent| declares(&parent.text, &module));
        let file = if source.path.ends_with("mod.rs") {
            format!("{module}/mod.rs\"")
        } else {
            format!("{module}.rs\"")
        };
        let by_path = || {
            let names = |line: &&str| line.contains(&file) && line.contains("path =");
            sources
                .iter()
                .any(|other| other.text.lines().any(|line| names(&line)))
                || manifests.contains(&file)
        };
        if !is_program && !in_parent && !by_path() {
            dead.push(source.path.display().to_string());
        }
    }
    assert!(dead.is_empty(), "no module names these files: {dead:#?}");
}

/// Each word of the glossary is used in the code, in its names or its comments.
#[test]
fn the_words_of_the_glossary_are_used() {
    let page = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let mut code = sources(&["src", "library", "jobs", "commands"]);
    code.retain(|source| source.has_ending(&["rs"]));
    let code: String = code
        .iter()
        .map(|source| source.text.to_lowercase())
        .collect();
    let words: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("**")?.split_once("**"))
        .map(|(word, _)| word)
        .collect();
    assert!(words.len() > 30, "{}", words.len());
    let sorts: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| code.matches(*word).count() < 3)
        .collect();
    assert!(
        sorts.is_empty(),
        "words that the code does not use: {sorts:?}"
    );
    let mut once = words.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), words.len(), "a word has one meaning");
}
