//! `scr diff`: whether two datasets have the same fields with the same values.

use super::call::{Failure, Invocation};
use super::fields::compare::{Side, Tolerance, compare};
use super::{Command, CommandGroup, Outcome, RunCommand, dataset, place};
use scr_engine::fields::offline::SavedFields;
use scr_engine::format::Name;
use scr_engine::text::{counted, escaped};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command = Command::of::<Options>("diff", &[], CommandGroup::Datasets);

/// Compare the fields of two datasets
///
/// For each field that differs, prints how many elements do, the first of them with its values, and the
/// greatest difference: absolute, relative to the greater of the two values, and in ULP, the numbers of the
/// type that are between the two. Wholes are compared element by element, however many ranks wrote them
/// and in whichever parts; what each rank has of its own, rank by rank. Indices are those of the
/// program that wrote A: from 1, the fastest first, if it names dimensions as Fortran does, else from 0.
///
/// Without a tolerance, elements are the same if their bits are, those of NaN, too. With several, an element
/// may satisfy any of them.
///
/// Exit status: 0 all fields are the same, 1 some differ, or are in one dataset only, 2 they could not be
/// compared.
#[derive(clap::Args)]
struct Options {
    /// Name of the first dataset, or its number
    #[arg(value_name = "A")]
    a: OsString,
    /// The second one
    #[arg(value_name = "B")]
    b: OsString,
    /// Prefix directory, instead of the current directory
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
        let a = named(files.0, &prefix, &self.a)?;
        let b = named(files.1, &other, &self.b)?;
        let a = SavedFields::open(files.0, &prefix, &a)?;
        let b = SavedFields::open(files.1, &other, &b)?;
        let names = (self.names(&a)?, self.names(&b)?);
        let differ = self.compare(call, (&a, &b), &names)?;
        let in_a: HashSet<&String> = names.0.iter().collect();
        let all = names.0.len() + names.1.iter().filter(|name| !in_a.contains(name)).count();
        let fields = counted(all, "field");
        match differ {
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

    /// Prints the differences. Gives in how many fields there are some.
    fn compare(
        &self,
        call: &mut Invocation,
        (a, b): (&SavedFields<'_>, &SavedFields<'_>),
        names: &(Vec<String>, Vec<String>),
    ) -> Result<usize, Failure> {
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
        let mut differ = 0;
        let both: Vec<&String> = names.0.iter().filter(|name| in_b.contains(name)).collect();
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
                if let Some(difference) = compare(sides.0, sides.1, &tolerance)? {
                    differ += 1;
                    let line = format!("{}: {difference}", first.name);
                    writeln!(call.out, "{}", escaped(&line))?;
                }
            }
        }
        let only_in_a = names.0.iter().filter(|name| !in_b.contains(name));
        let only_in_b = names.1.iter().filter(|name| !in_a.contains(name));
        let only = only_in_a.map(|name| (name, "A"));
        for (name, side) in only.chain(only_in_b.map(|name| (name, "B"))) {
            differ += 1;
            let line = format!("{name}: only in {side}");
            writeln!(call.out, "{}", escaped(&line))?;
        }
        Ok(differ)
    }
}
