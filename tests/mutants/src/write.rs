//! Writes the chosen mutants into the copy of the sources.

use crate::choose::{At, Choice};
use crate::find::{Form, Mutant};
use crate::{Result, Source};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Asks the environment once, for names that tests do not take for parameters of SCR. The module is written at the end
/// of the `lib.rs` of each package that has mutants.
const MODULE: &str = r#"
/// Which fault is active, and which ones a test can notice.
pub(crate) mod mutants {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static SEEN: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

    /// True if the environment names this fault.
    pub(crate) fn on(number: u32) -> bool {
        static ACTIVE: OnceLock<u32> = OnceLock::new();
        if let Some(seen) = SEEN.get(number as usize) {
            if !seen.load(Ordering::Relaxed) && !seen.swap(true, Ordering::Relaxed) {
                note(number);
            }
        }
        *ACTIVE.get_or_init(|| {
            let active = std::env::var("ACTIVE_MUTANT").unwrap_or_default();
            active.parse().unwrap_or(0)
        }) == number
    }

    /// Adds the number to the file that the environment names: the code of this fault has run.
    fn note(number: u32) {
        use std::io::Write;
        static REACHED: OnceLock<Option<std::fs::File>> = OnceLock::new();
        let reached = REACHED.get_or_init(|| {
            let path = std::env::var_os("REACHED_MUTANTS")?;
            let mut options = std::fs::OpenOptions::new();
            options.create(true).append(true).open(path).ok()
        });
        if let Some(mut file) = reached.as_ref() {
            let _ = file.write_all(format!("{number}\n").as_bytes());
        }
    }
}
"#;

/// The compiler may not refuse what is wrong on purpose.
const ALLOWED: &str = "#![allow(warnings, arithmetic_overflow, unconditional_panic)]\n";

/// What was written, by file: the mutants and where each one's code lies now.
pub struct Placed {
    pub name: String,
    pub text: String,
    pub mutants: Vec<(At, Range<usize>)>,
}

pub fn declare(tree: &Path) -> Result<()> {
    for package in ["src", "jobs"] {
        let path = tree.join(package).join("lib.rs");
        let wrong = |error| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(wrong)?;
        fs::write(&path, format!("{ALLOWED}{text}{MODULE}")).map_err(wrong)?;
    }
    Ok(())
}

pub fn write(tree: &Path, all: &[Vec<Source>], chosen: &Choice) -> Result<Vec<Placed>> {
    let mut by_file: BTreeMap<(usize, usize), Vec<(usize, At)>> = BTreeMap::new();
    for (number, at) in chosen.numbered() {
        let file = by_file.entry((at.module, at.source)).or_default();
        file.push((number, at));
    }
    let mut placed = Vec::new();
    for (module, sources) in all.iter().enumerate() {
        for (number, source) in sources.iter().enumerate() {
            let chosen = by_file.remove(&(module, number)).unwrap_or_default();
            let mut writer = Writer::new(source, &chosen);
            writer.copy(0..source.text.len());
            let path = tree.join(&source.name);
            // Only what changes, so that only this is compiled again.
            if fs::read_to_string(&path).ok().as_ref() != Some(&writer.text) {
                fs::write(&path, &writer.text)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
            placed.push(Placed {
                name: source.name.clone(),
                text: writer.text,
                mutants: writer.placed,
            });
        }
    }
    Ok(placed)
}

/// All mutants of one form at one place.
struct Group<'a> {
    span: Range<usize>,
    form: Form,
    members: Vec<(usize, At, &'a Mutant)>,
}

struct Writer<'a> {
    source: &'a str,
    /// By start; of those that start at the same byte, the outer one first.
    groups: Vec<Group<'a>>,
    /// How many groups have been written.
    next: usize,
    text: String,
    placed: Vec<(At, Range<usize>)>,
}

impl<'a> Writer<'a> {
    fn new(source: &'a Source, chosen: &[(usize, At)]) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (number, at) in chosen {
            let mutant = &source.mutants[at.mutant];
            let member = (*number, *at, mutant);
            let same = |group: &&mut Group| group.span == mutant.span && group.form == mutant.form;
            match groups.iter_mut().find(same) {
                Some(group) => group.members.push(member),
                None => groups.push(Group {
                    span: mutant.span.clone(),
                    form: mutant.form,
                    members: vec![member],
                }),
            }
        }
        groups.sort_by_key(|group| (group.span.start, usize::MAX - group.span.end));
        Writer {
            source: &source.text,
            groups,
            next: 0,
            text: String::new(),
            placed: Vec::new(),
        }
    }

    /// Copies a part of the source with the mutants in it.
    fn copy(&mut self, part: Range<usize>) {
        let mut done = part.start;
        while let Some(group) = self.groups.get(self.next) {
            if group.span.start > part.end || group.span.end > part.end {
                break;
            }
            let span = group.span.clone();
            self.text.push_str(&self.source[done..span.start]);
            self.next += 1;
            self.group(self.next - 1);
            done = span.end;
        }
        self.text.push_str(&self.source[done..part.end]);
    }

    fn group(&mut self, index: usize) {
        let span = self.groups[index].span.clone();
        let members = self.groups[index].members.clone();
        let form = self.groups[index].form;
        if matches!(form, Form::Replace | Form::Guard) {
            self.text.push('(');
        }
        for (number, at, mutant) in members {
            let begin = self.text.len();
            let on = format!("crate::mutants::on({number})");
            let changed = mutant.changed.as_str();
            let code = match form {
                Form::Return => format!(" if {on} {{ return {changed}; }}"),
                Form::Arm => format!(" if !{on}"),
                Form::Guard if changed == "true" => format!("{on} || "),
                Form::Guard => format!("!{on} && "),
                Form::Replace => format!("if {on} {{ {changed} }} else "),
            };
            self.text.push_str(&code);
            self.placed.push((at, begin..self.text.len()));
        }
        match form {
            Form::Return | Form::Arm => {}
            Form::Guard => {
                self.text.push('(');
                self.copy(span);
                self.text.push_str("))");
            }
            Form::Replace => {
                self.text.push_str("{ ");
                self.copy(span);
                self.text.push_str(" })");
            }
        }
    }
}
