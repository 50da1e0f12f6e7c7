//! Compares the checkpoints of two runs that have the same name, field by field or file by file.

use super::super::call::Failure;
use super::super::diff::for_each_difference;
use super::super::fields::compare::Tolerance;
use super::super::{dataset, place};
use super::stage::{Launch, Stage};
use scr_engine::fields::sources::file_of;
use scr_engine::format::rank2file::FileEntry;
use scr_engine::format::{Dataset, Name};
use scr_engine::prefix::containers::ContainedFiles;
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::Files;
use scr_engine::text::escaped;
use scr_jobs::saved_fields::SavedFields;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Bytes of a file that are compared at a time.
const BUFFER: u64 = 1 << 20;

/// A field, or a file without the name of its checkpoint: the same in all checkpoints of a session.
pub(super) type Part = String;

/// The checkpoints that two runs have in common.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// Number of compared checkpoints.
    pub count: usize,
    /// Their parts.
    pub parts: BTreeSet<Part>,
    /// The parts that differ, the oldest checkpoint first.
    pub others: Vec<Other>,
}

/// A part of a checkpoint that differs.
pub(super) struct Other {
    /// The name of the checkpoint, with the name of its session.
    pub checkpoint: String,
    pub part: Part,
    /// The place of the difference, and its size.
    pub how: String,
}

impl Checkpoints {
    /// Compares the checkpoints that `launches` of the other run have written with the checkpoints of the
    /// undisturbed run. A checkpoint that is only in a cache, or was deleted, is left out.
    pub fn compare(
        undisturbed: &Stage,
        other: &Stage,
        launches: &[Launch],
    ) -> Result<Self, Failure> {
        let dirs: BTreeMap<String, _> = undisturbed.sessions().into_iter().collect();
        let mut found = Checkpoints::default();
        for (session, dir) in other.sessions() {
            let Some(first) = dirs.get(&session) else {
                continue;
            };
            let seen = launches
                .iter()
                .filter_map(|launch| launch.seen.of(&session));
            let mut names = Vec::new();
            for one in seen.flat_map(|seen| &seen.completed) {
                if !names.contains(&one.name) {
                    names.push(one.name.clone());
                }
            }
            let pair = Pair::of(&session, (first, &dir));
            for name in names {
                pair.compare(&name, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Removes the parts that also differ in `others`, and returns these parts.
    pub fn without(&mut self, others: &Checkpoints) -> BTreeSet<Part> {
        let differ: BTreeSet<&Part> = others.others.iter().map(|one| &one.part).collect();
        let common = self.others.iter().map(|one| &one.part);
        let common: BTreeSet<Part> = common
            .filter(|part| differ.contains(part))
            .cloned()
            .collect();
        self.others.retain(|one| !common.contains(&one.part));
        self.parts.retain(|part| !common.contains(part));
        common
    }
}

/// A session that both runs have, with the prefix directory of each run.
struct Pair<'a> {
    session: &'a str,
    prefixes: [Prefix; 2],
}

impl<'a> Pair<'a> {
    fn of(session: &'a str, dirs: (&Path, &Path)) -> Self {
        Pair {
            session,
            prefixes: [Prefix::new(dirs.0), Prefix::new(dirs.1)],
        }
    }

    fn compare(&self, name: &str, found: &mut Checkpoints) -> Result<(), Failure> {
        let [a, b] = &self.prefixes;
        let files = (place::files(a), place::files(b));
        let name = Name::from(name);
        // A checkpoint that was not flushed is missing in the prefix directory.
        let (Ok(first), Ok(second)) = (
            dataset::find(&*files.0, a, &name),
            dataset::find(&*files.1, b, &name),
        ) else {
            return Ok(());
        };
        found.count += 1;
        let session = match self.session {
            "" => String::new(),
            session => format!("{session}/"),
        };
        let mut parts = Parts {
            session: &session,
            checkpoint: format!("{session}{}", escaped(&name.to_string())),
            found,
        };
        let fields = (
            SavedFields::open(&*files.0, a, &first),
            SavedFields::open(&*files.1, b, &second),
        );
        let with_fields = match &fields {
            (Ok(a), Ok(b)) => {
                parts.fields(a, b)?;
                true
            }
            _ => false,
        };
        let one = Contents::of(&*files.0, a, &first, with_fields)?;
        let other = Contents::of(&*files.1, b, &second, with_fields)?;
        parts.files(&one, &other)
    }
}

/// The list to which the differences of one checkpoint are added.
struct Parts<'a> {
    session: &'a str,
    checkpoint: String,
    found: &'a mut Checkpoints,
}

impl Parts<'_> {
    fn add(&mut self, part: &str, how: Option<String>) {
        let part = format!("{}{}", self.session, escaped(part));
        self.found.parts.insert(part.clone());
        self.found.others.extend(how.map(|how| Other {
            checkpoint: self.checkpoint.clone(),
            part,
            how,
        }));
    }

    fn fields(&mut self, a: &SavedFields<'_>, b: &SavedFields<'_>) -> Result<(), Failure> {
        let names = |saved: &SavedFields<'_>| -> Result<Vec<String>, Failure> {
            Ok(saved.list()?.into_iter().map(|field| field.name).collect())
        };
        let names = (names(a)?, names(b)?);
        for name in names.0.iter().chain(&names.1) {
            self.add(name, None);
        }
        for_each_difference((a, b), &names, &Tolerance::default(), &mut |field| {
            let line = field.line();
            let how = line.strip_prefix(&format!("{}: ", field.name));
            self.add(&field.name, Some(escaped(how.unwrap_or(&line)).to_string()));
            Ok(())
        })
    }

    fn files(&mut self, a: &Contents<'_>, b: &Contents<'_>) -> Result<(), Failure> {
        let names: BTreeSet<&String> = a.files.keys().chain(b.files.keys()).collect();
        for name in names {
            let how = match (a.files.get(name), b.files.get(name)) {
                (Some(first), Some(second)) => a.difference(first, b, second)?,
                (None, _) => Some("only after the kill".to_string()),
                (_, None) => Some("only undisturbed".to_string()),
            };
            self.add(name, how);
        }
        Ok(())
    }
}

/// The files of a checkpoint, by their names without the name of the checkpoint.
struct Contents<'a> {
    view: ContainedFiles<'a>,
    prefix: &'a Prefix,
    files: BTreeMap<String, Name>,
}

impl<'a> Contents<'a> {
    /// Leaves out the files of fields if the fields were compared.
    fn of(
        files: &'a dyn Files,
        prefix: &'a Prefix,
        dataset: &Dataset,
        without_fields: bool,
    ) -> Result<Self, Failure> {
        let view = ContainedFiles::new(files, prefix, dataset.id);
        let mut all = BTreeMap::new();
        let own = dataset.name.to_string();
        rank2file::for_each(files, &prefix.dataset(dataset.id), |rank, entry| {
            let of_fields = file_of(&dataset.name, rank);
            for (name, file) in &entry.files {
                if without_fields && name.as_path() == of_fields {
                    continue;
                }
                show(&view, prefix, name, file)?;
                all.insert(name.to_string().replace(&own, "*"), name.clone());
            }
            Ok(())
        })?;
        Ok(Contents {
            view,
            prefix,
            files: all,
        })
    }

    /// The first difference between a file of this run and a file of the other run.
    fn difference(
        &self,
        name: &Name,
        other: &Self,
        other_name: &Name,
    ) -> Result<Option<String>, Failure> {
        let a = self.view.open(&self.prefix.absolute(name)?)?;
        let b = other.view.open(&other.prefix.absolute(other_name)?)?;
        let (size, other_size) = (a.size()?, b.size()?);
        let common = size.min(other_size);
        let (mut at, mut buffers) = (0, (Vec::new(), Vec::new()));
        while at < common {
            let length = (common - at).min(BUFFER) as usize;
            buffers.0.resize(length, 0);
            buffers.1.resize(length, 0);
            a.read_at(at, &mut buffers.0)?;
            b.read_at(at, &mut buffers.1)?;
            let mut pairs = buffers.0.iter().zip(&buffers.1);
            if let Some(place) = pairs.position(|(one, other)| one != other) {
                let byte = at + place as u64;
                return Ok(Some(format!(
                    "differs from byte {byte} on, of {size} undisturbed"
                )));
            }
            at += length as u64;
        }
        Ok((size != other_size).then(|| format!("has {other_size} bytes, and {size} undisturbed")))
    }
}

fn show(
    view: &ContainedFiles<'_>,
    prefix: &Prefix,
    name: &Name,
    file: &FileEntry,
) -> scr_engine::Result<()> {
    if file.segments.is_some() {
        view.show_recorded(prefix.absolute(name)?, file.clone());
    }
    Ok(())
}
