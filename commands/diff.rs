//! `scr diff`: whether two datasets have the same fields with the same values.

use super::call::{Failure, Invocation};
use super::fields::bags::Bags;
use super::fields::compare::{Difference, Side, Tolerance, compare};
use super::fields::value::Distance;
use super::json::{self, DiffJson, DiffSideJson, FieldDiffJson};
use super::{Outcome, RunCommand, dataset, place};
use scr_engine::format::{Dataset, Name};
use scr_engine::prefix::paths::Prefix;
use scr_engine::text::{counted, escaped};
use scr_jobs::saved_fields::SavedFields;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare the fields of two datasets
///
/// For each field that differs, prints how many elements do, the first of them with its values, and the
/// greatest difference: absolute, relative to the greater of the two values, and in ULP, the numbers of the
/// type that are between the two. Wholes are compared element by element, however many ranks wrote them
/// and in whichever parts or by whichever index lists; what each rank has of its own, rank by rank. Indices
/// are those of the program that wrote A: those of its list, or from 1, the fastest first, if it names
/// dimensions as Fortran does, else from 0. Index lists are the same if their wholes are. The elements of a
/// bag have no order: a bag is the same if it has the same elements, of all fields that are compared.
///
/// Without a tolerance, elements are the same if their bits are, those of NaN, too. With several, an element
/// may satisfy any of them.
///
/// Exit status: 0 all fields are the same, 1 some differ, or are in one dataset only, 2 they could not be
/// compared.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Name of the first dataset, or its number
    #[arg(value_name = "A")]
    a: OsString,
    /// The second one
    #[arg(value_name = "B")]
    b: OsString,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Prefix directory of B, if it is another one
    #[arg(long, value_name = "DIR")]
    other_prefix: Option<PathBuf>,
    /// Compare this field only; may be repeated
    #[arg(long, value_name = "FIELD")]
    field: Vec<String>,
    /// Numbers whose difference is at most this are the same
    #[arg(long, value_name = "X", value_parser = tolerance)]
    absolute: Option<f64>,
    /// Numbers whose relative difference is at most this are the same
    #[arg(long, value_name = "X", value_parser = tolerance)]
    relative: Option<f64>,
    /// Real and complex numbers that are at most so many ULP apart are the same
    #[arg(long, value_name = "N")]
    ulp: Option<u128>,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long)]
    json: bool,
}

/// A field that is not the same in both datasets.
pub(super) struct Differing {
    pub name: String,
    how: How,
}

enum How {
    /// The field is in one of them only: `A` or `B`.
    OnlyIn(&'static str),
    Differs(Difference),
}

/// A number that is not negative.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| "give a number that is not negative, such as 1e-12".to_string())
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        match self.diff(call) {
            // 1 says that they differ.
            Err(Failure::Said(text)) => {
                call.error(&text);
                Ok(ExitCode::from(2))
            }
            other => other,
        }
    }
}

impl Options {
    fn diff(&self, call: &mut Invocation) -> Outcome {
        let prefix = place::used(self.prefix.as_deref())?;
        let other = match &self.other_prefix {
            Some(dir) => place::used(Some(dir))?,
            None => prefix.clone(),
        };
        let files = (&*place::files(&prefix), &*place::files(&other));
        let named = |files, prefix, name: &OsString| {
            dataset::find(files, prefix, &Name::from(name.as_os_str()))
        };
        let datasets = (
            named(files.0, &prefix, &self.a)?,
            named(files.1, &other, &self.b)?,
        );
        let a = SavedFields::open(files.0, &prefix, &datasets.0)?;
        let b = SavedFields::open(files.1, &other, &datasets.1)?;
        let names = (self.names(&a)?, self.names(&b)?);
        let in_a: HashSet<&String> = names.0.iter().collect();
        let all = names.0.len() + names.1.iter().filter(|name| !in_a.contains(name)).count();
        let mut found = Vec::new();
        self.compare((&a, &b), &names, |field| {
            if !self.json {
                writeln!(call.out, "{}", escaped(&field.line()))?;
            }
            found.push(field);
            Ok(())
        })?;
        let differ = found.len();
        let fields = counted(all, "field");
        match differ {
            _ if self.json => {
                let document = DiffJson {
                    a: side(&prefix, &datasets.0),
                    b: side(&other, &datasets.1),
                    compared: all as u64,
                    fields: found.into_iter().map(Differing::json).collect(),
                };
                json::print(call, "diff", document)?;
            }
            0 => writeln!(call.out, "{fields} compared: no difference")?,
            _ => writeln!(call.out, "{fields} compared: {differ} with a difference")?,
        }
        Ok(ExitCode::from(u8::from(differ > 0)))
    }

    /// The fields of a dataset that are to be compared, in its order.
    fn names(&self, saved: &SavedFields<'_>) -> Result<Vec<String>, Failure> {
        let mut names: Vec<String> = saved.list()?.into_iter().map(|field| field.name).collect();
        if !self.field.is_empty() {
            names.retain(|name| self.field.contains(name));
        }
        Ok(names)
    }

    /// Calls `each` with the fields that differ, as they are found.
    fn compare(
        &self,
        (a, b): (&SavedFields<'_>, &SavedFields<'_>),
        names: &(Vec<String>, Vec<String>),
        mut each: impl FnMut(Differing) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let in_a: HashSet<&String> = names.0.iter().collect();
        let in_b: HashSet<&String> = names.1.iter().collect();
        let found = |name: &&String| in_a.contains(name) || in_b.contains(name);
        if let Some(name) = self.field.iter().find(|name| !found(name)) {
            let what = format!("neither dataset has a field \"{name}\"");
            return Err(Failure::said(what));
        }
        let tolerance = Tolerance {
            absolute: self.absolute,
            relative: self.relative,
            ulp: self.ulp,
        };
        for_each_difference((a, b), names, &tolerance, &mut each)
    }
}

/// Calls `each` with the fields that differ, as they are found. `names`: those that are compared.
pub(super) fn for_each_difference(
    (a, b): (&SavedFields<'_>, &SavedFields<'_>),
    names: &(Vec<String>, Vec<String>),
    tolerance: &Tolerance,
    each: &mut dyn FnMut(Differing) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let in_a: HashSet<&String> = names.0.iter().collect();
    let in_b: HashSet<&String> = names.1.iter().collect();
    let both: Vec<&String> = names.0.iter().filter(|name| in_b.contains(name)).collect();
    let mut bags = Bags::new((a, b), names);
    for names in both.chunks(a.fields_at_a_time().min(b.fields_at_a_time())) {
        let fields = (a.find(names)?, b.find(names)?);
        for (first, second) in fields.0.iter().zip(&fields.1) {
            let sides = (
                Side {
                    saved: a,
                    field: first,
                },
                Side {
                    saved: b,
                    field: second,
                },
            );
            let found = compare(sides.0, sides.1, tolerance)?;
            let bag = first.bag().filter(|bag| second.bag() == Some(*bag));
            if let Some(difference) = found
                && !bag.map_or(Ok(false), |bag| bags.are_alike(bag))?
            {
                each(Differing {
                    name: first.name.clone(),
                    how: How::Differs(difference),
                })?;
            }
        }
    }
    let only_in_a = names.0.iter().filter(|name| !in_b.contains(name));
    let only_in_b = names.1.iter().filter(|name| !in_a.contains(name));
    let only = only_in_a.map(|name| (name, "A"));
    for (name, side) in only.chain(only_in_b.map(|name| (name, "B"))) {
        each(Differing {
            name: name.clone(),
            how: How::OnlyIn(side),
        })?;
    }
    Ok(())
}

impl Differing {
    /// The greatest distances, if it is in both datasets and has numbers.
    pub fn greatest(&self) -> Option<Distance> {
        match &self.how {
            How::OnlyIn(_) => None,
            How::Differs(difference) => difference.greatest(),
        }
    }

    /// For people.
    pub fn line(&self) -> String {
        match &self.how {
            How::OnlyIn(side) => format!("{}: only in {side}", self.name),
            How::Differs(difference) => format!("{}: {difference}", self.name),
        }
    }

    /// For programs.
    fn json(self) -> FieldDiffJson {
        let mut json = FieldDiffJson {
            name: self.name,
            ..FieldDiffJson::default()
        };
        match self.how {
            How::OnlyIn(side) => json.only_in = Some(side),
            How::Differs(Difference::Shape(a, b)) => json.shapes = Some([a, b]),
            How::Differs(Difference::Elements(elements)) => json.elements = Some(elements.json()),
        }
        json
    }
}

/// One side of a comparison, for programs.
fn side(prefix: &Prefix, dataset: &Dataset) -> DiffSideJson {
    let name = dataset.name.as_bytes();
    DiffSideJson {
        prefix: prefix.root().to_string_lossy().into_owned(),
        id: dataset.id,
        name: json::text(name),
        name_hex: json::hex(name),
    }
}
