//! Compares the checkpoints of two runs that have the same name, field by field or file by file.

use super::super::call::Failure;
use super::super::diff::for_each_difference;
use super::super::fields::compare::Tolerance;
use super::super::fields::value::Distance;
use super::super::{dataset, place};
use super::spread::Spread;
use super::stage::{Launch, Stage};
use scr_engine::fields::sources::file_of;
use scr_engine::format::rank2file::FileEntry;
use scr_engine::format::{Dataset, Name};
use scr_engine::prefix::containers::ContainedFiles;
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::Files;
use scr_engine::text::escaped;
use scr_jobs::saved_fields::{Owner, SavedFields};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Bytes of a file that are compared at a time.
const BUFFER: u64 = 1 << 20;

/// A field, or a file without the name of its checkpoint: the same in all checkpoints of a session.
pub(super) type Part = String;

/// The checkpoints that two runs have in common.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// For each that was compared, the launch that wrote it last, from 0 on.
    pub compared: Vec<usize>,
    /// Their parts.
    pub parts: BTreeSet<Part>,
    /// The parts that differ, the oldest checkpoint first.
    pub others: Vec<Other>,
}

/// A part of a checkpoint that differs.
#[derive(Clone)]
pub(super) struct Other {
    /// The name of the checkpoint, with the name of its session.
    pub checkpoint: String,
    pub part: Part,
    /// The launch that wrote it, from 0 on.
    pub launch: usize,
    /// The place of the difference, and its size.
    pub how: String,
    /// The greatest distances, if numbers differ.
    pub greatest: Option<Distance>,
}

/// What is compared in which way.
pub(super) struct How<'a> {
    /// The tolerance that the user gave.
    pub given: &'a Tolerance,
    /// The number of ranks is the same in both runs.
    pub same_ranks: bool,
}

impl Checkpoints {
    /// Compares the checkpoints that `launches` of the other run, after the first `skip`, have written with the checkpoints of
    /// the undisturbed run. A checkpoint that was deleted is left out.
    pub fn compare(
        (undisturbed, other): (&Stage, &Stage),
        launches: &[Launch],
        skip: usize,
        how: &How<'_>,
    ) -> Result<Self, Failure> {
        let dirs: BTreeMap<String, _> = undisturbed.sessions().into_iter().collect();
        let mut found = Checkpoints::default();
        for (session, dir) in other.sessions() {
            let Some(first) = dirs.get(&session) else {
                continue;
            };
            let mut names: Vec<(String, usize)> = Vec::new();
            for (number, launch) in launches.iter().enumerate().skip(skip) {
                let seen = launch.seen.of(&session);
                for one in seen.into_iter().flat_map(|seen| &seen.completed) {
                    names.retain(|(name, _)| *name != one.name);
                    names.push((one.name.clone(), number));
                }
            }
            let pair = Pair::of(&session, (first, &dir), how);
            for (name, launch) in names {
                pair.compare(&name, launch, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Takes the parts out that differ no more than between two undisturbed runs, `others`. Returns the tolerances that were
    /// used, and the parts that cannot be compared: these are all if a tolerance is given, and they exceed it.
    pub fn within(
        &mut self,
        others: &Checkpoints,
        is_given: bool,
    ) -> (BTreeMap<Part, Distance>, BTreeSet<Part>) {
        let mut spreads: BTreeMap<Part, Spread> = BTreeMap::new();
        for one in &others.others {
            let greatest = one.greatest.filter(|_| !is_given);
            let spread = Spread::of(greatest);
            let known = spreads.remove(&one.part);
            let spread = known.map_or(spread, |known| known.and(spread));
            spreads.insert(one.part.clone(), spread);
        }
        let (mut tolerances, mut unsteady) = (BTreeMap::new(), BTreeSet::new());
        let mut left = Vec::new();
        for mut one in std::mem::take(&mut self.others) {
            match spreads.get(&one.part) {
                None => left.push(one),
                Some(Spread::Unlike) => {
                    unsteady.insert(one.part);
                }
                Some(spread @ Spread::Numbers(distance)) => {
                    tolerances.insert(one.part.clone(), *distance);
                    if !spread.allows(one.greatest) {
                        one.how = format!("{}; {spread}", one.how);
                        left.push(one);
                    }
                }
            }
        }
        self.others = left;
        self.parts.retain(|part| !unsteady.contains(part));
        (tolerances, unsteady)
    }
}

/// A session that both runs have, with the prefix directory of each run.
struct Pair<'a> {
    session: &'a str,
    how: &'a How<'a>,
    prefixes: [Prefix; 2],
}

impl<'a> Pair<'a> {
    fn of(session: &'a str, dirs: (&Path, &Path), how: &'a How<'a>) -> Self {
        Pair {
            session,
            how,
            prefixes: [Prefix::new(dirs.0), Prefix::new(dirs.1)],
        }
    }

    fn compare(&self, name: &str, launch: usize, found: &mut Checkpoints) -> Result<(), Failure> {
        let [a, b] = &self.prefixes;
        let files = (place::files(a), place::files(b));
        let name = Name::from(name);
        // One that was deleted in the cache, and was not flushed, is missing in the prefix directory.
        let (Ok(first), Ok(second)) = (
            dataset::find(&*files.0, a, &name),
            dataset::find(&*files.1, b, &name),
        ) else {
            return Ok(());
        };
        let session = match self.session {
            "" => String::new(),
            session => format!("{session}/"),
        };
        let mut parts = Parts {
            session: &session,
            checkpoint: format!("{session}{}", escaped(&name.to_string())),
            launch,
            how: self.how,
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
        if self.how.same_ranks || with_fields && !parts.found.parts.is_empty() {
            parts.found.compared.push(launch);
        }
        // Other ranks have other files.
        if !self.how.same_ranks {
            return Ok(());
        }
        let one = Contents::of(&*files.0, a, &first, with_fields)?;
        let other = Contents::of(&*files.1, b, &second, with_fields)?;
        parts.files(&one, &other)
    }
}

/// The list to which the differences of one checkpoint are added.
struct Parts<'a> {
    session: &'a str,
    checkpoint: String,
    launch: usize,
    how: &'a How<'a>,
    found: &'a mut Checkpoints,
}

impl Parts<'_> {
    fn add(&mut self, part: &str, how: Option<(String, Option<Distance>)>) {
        let part = format!("{}{}", self.session, escaped(part));
        self.found.parts.insert(part.clone());
        self.found.others.extend(how.map(|(how, greatest)| Other {
            checkpoint: self.checkpoint.clone(),
            part,
            launch: self.launch,
            how,
            greatest,
        }));
    }

    fn fields(&mut self, a: &SavedFields<'_>, b: &SavedFields<'_>) -> Result<(), Failure> {
        let same_ranks = self.how.same_ranks;
        let names = |saved: &SavedFields<'_>| -> Result<Vec<String>, Failure> {
            let all = saved.list()?.into_iter();
            // Other ranks have other fields of their own.
            let alike = all.filter(|field| same_ranks || field.owner != Owner::EachRank);
            Ok(alike.map(|field| field.name).collect())
        };
        let names = (names(a)?, names(b)?);
        for name in names.0.iter().chain(&names.1) {
            self.add(name, None);
        }
        let given = self.how.given;
        for_each_difference((a, b), &names, given, &mut |field| {
            let line = field.line();
            let how = line.strip_prefix(&format!("{}: ", field.name));
            let how = escaped(how.unwrap_or(&line)).to_string();
            self.add(&field.name, Some((how, field.greatest())));
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
            self.add(name, how.map(|how| (how, None)));
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

#[cfg(test)]
mod tests {
    use super::super::super::fields::value::distance_of_numbers;
    use super::*;
    use scr_engine::store::posix::Posix;
    use scr_testing::by_index::{Whole, write};

    fn found(parts: &[(&str, Option<(f64, f64)>)]) -> Checkpoints {
        let other = |(part, numbers): &(&str, Option<(f64, f64)>)| Other {
            checkpoint: "ck.1".into(),
            part: part.to_string(),
            launch: 1,
            how: "differs".into(),
            greatest: numbers.map(|(a, b)| distance_of_numbers(a, b)),
        };
        Checkpoints {
            compared: vec![1],
            parts: parts.iter().map(|(part, _)| part.to_string()).collect(),
            others: parts.iter().map(other).collect(),
        }
    }

    /// Another number of ranks has other lists, and the same elements.
    #[test]
    fn fields_by_index_are_compared_in_the_order_of_their_indices() {
        let whole = Whole {
            first: 1,
            count: 5,
            row: 2,
        };
        let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let two = [vec![2, 3, 5], vec![4, 1]];
        let three = [vec![5], vec![], vec![3, 1, 4, 2]];
        let compared = |other: i32| {
            let value = |index: i64, place: u64| index as i32 * 10 + place as i32;
            let changed = |index, place| match (index, place) {
                (3, 1) => other,
                _ => value(index, place),
            };
            let a = write(dirs[0].path(), &two, whole, value).unwrap();
            let b = write(dirs[1].path(), &three, whole, changed).unwrap();
            let prefixes = [&dirs[0], &dirs[1]].map(|dir| Prefix::new(dir.path()));
            let open = |prefix, dataset| SavedFields::open(&Posix, prefix, dataset).unwrap();
            let (a, b) = (open(&prefixes[0], &a), open(&prefixes[1], &b));
            let mut found = Checkpoints::default();
            let mut parts = Parts {
                session: "",
                checkpoint: "ck".to_string(),
                launch: 1,
                how: &How {
                    given: &Tolerance::default(),
                    same_ranks: false,
                },
                found: &mut found,
            };
            assert!(parts.fields(&a, &b).is_ok());
            assert!(found.parts.iter().eq(["nodes", "x"]));
            found.others
        };
        assert!(compared(31).is_empty());
        let others = compared(32);
        let how = "1 of 10 elements differs, first [2, 3]: 31 and 32; ";
        assert_eq!((others.len(), &*others[0].part), (1, "x"));
        assert!(others[0].how.starts_with(how), "{}", others[0].how);
    }

    #[test]
    fn what_differs_in_undisturbed_runs_is_the_tolerance() {
        let near = 1.0 + 1e-9;
        let struck = [
            ("sum", Some((1.0, near))),
            ("mean", Some((1.0, 1.1))),
            ("step", Some((1.0, near))),
            ("date", None),
        ];
        let again = [
            ("sum", Some((1.0, near))),
            ("mean", Some((1.0, near))),
            ("date", None),
        ];
        let left = |found: &Checkpoints| -> Vec<String> {
            found.others.iter().map(|one| one.part.clone()).collect()
        };
        let mut all = found(&struck);
        let (tolerances, unsteady) = all.within(&found(&again), false);
        assert_eq!(left(&all), ["mean", "step"]);
        assert!(
            all.others[0]
                .how
                .contains("two undisturbed runs differ by at most 1.000e-9")
        );
        assert_eq!(tolerances.keys().collect::<Vec<_>>(), ["mean", "sum"]);
        assert_eq!(unsteady, BTreeSet::from(["date".to_string()]));
        assert!(!all.parts.contains("date") && all.parts.contains("sum"));
        // What exceeds a tolerance that is given has no other one.
        let mut all = found(&struck);
        let (tolerances, unsteady) = all.within(&found(&again), true);
        assert_eq!(
            (left(&all), tolerances.len()),
            (vec!["step".to_string()], 0)
        );
        assert_eq!(unsteady.len(), 3);
    }
}
