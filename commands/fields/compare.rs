//! `scr diff`: where a field of two datasets differs, and by how much.

use super::shape;
use super::value::{Distance, Parts, distance, text};
use crate::json::{ElementsJson, FirstJson, GreatestJson};
use scr_engine::Result;
use scr_engine::text::counted;
use scr_jobs::saved_fields::{Array, Bands, Owner, SavedField, SavedFields};
use std::fmt;

/// Elements that differ by no more than one of these count as the same.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    pub absolute: Option<f64>,
    pub relative: Option<f64>,
    pub ulp: Option<u128>,
}

impl Tolerance {
    /// True if elements that are so far apart are the same.
    pub(crate) fn allows(&self, found: &Distance) -> bool {
        self.absolute.is_some_and(|most| found.absolute <= most)
            || self.relative.is_some_and(|most| found.relative <= most)
            || matches!((self.ulp, found.ulp), (Some(most), Some(ulp)) if ulp <= most)
    }
}

/// A field of a dataset.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub saved: &'a SavedFields<'a>,
    pub field: &'a SavedField,
}

/// The difference of a field between two datasets.
#[derive(Debug)]
pub(crate) enum Difference {
    /// The types or extents differ, or the number of ranks that have their own: in words for each dataset.
    Shape(String, String),
    /// Elements differ.
    Elements(Elements),
}

/// The elements that differ.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    /// Number of elements that differ, and number of all elements.
    differ: u64,
    all: u64,
    first: Option<First>,
    /// The greatest distances, possibly of several elements; `None` if the elements are not numbers.
    greatest: Option<Distance>,
}

/// The first element that differs.
#[derive(Debug)]
struct First {
    /// The rank that owns the element, if it is not of a whole.
    rank: Option<usize>,
    /// The index of the element, as the program of A has it; empty for a scalar.
    index: Vec<i64>,
    /// The values of the element in A and B.
    values: (String, String),
}

impl Difference {
    /// The greatest distances; `None` if something else than numbers differs.
    pub(crate) fn greatest(&self) -> Option<Distance> {
        match self {
            Difference::Shape(..) => None,
            Difference::Elements(elements) => elements.greatest,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Shape(a, b) => write!(f, "{a} in A, {b} in B"),
            Difference::Elements(elements) => elements.fmt(f),
        }
    }
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.differ == 1 {
            "differs"
        } else {
            "differ"
        };
        let all = counted(self.all as usize, "element");
        write!(f, "{} of {all} {verb}", self.differ)?;
        if let Some(First {
            rank,
            index,
            values: (a, b),
        }) = &self.first
        {
            f.write_str(", first")?;
            if !index.is_empty() {
                write!(f, " {index:?}")?;
            }
            if let Some(rank) = rank {
                write!(f, " of rank {rank}")?;
            }
            write!(f, ": {a} and {b}")?;
        }
        if let Some(greatest) = self.greatest {
            let (absolute, relative) = (greatest.absolute, greatest.relative);
            write!(
                f,
                "; at most {absolute:?} absolute, {relative:.3e} relative"
            )?;
            if let Some(ulp) = greatest.ulp {
                write!(f, ", {ulp} ULP")?;
            }
        }
        Ok(())
    }
}

/// Compares a field of two datasets; `None` if it is the same in both.
pub(crate) fn compare(
    a: Side<'_>,
    b: Side<'_>,
    tolerance: &Tolerance,
) -> Result<Option<Difference>> {
    if a.field.owner == Owner::Index || b.field.owner == Owner::Index {
        return Ok(compare_lists(a.field, b.field));
    }
    let arrays = (a.field.arrays(), b.field.arrays());
    if arrays.0 != arrays.1 {
        let told = |count| match count {
            1 => "one array".to_string(),
            count => format!("an array of each of {count} ranks"),
        };
        return Ok(Some(Difference::Shape(told(arrays.0), told(arrays.1))));
    }
    let mut elements = Elements::default();
    for rank in 0..arrays.0 {
        let (first, second) = (a.field.array(rank), b.field.array(rank));
        let rank_of_own = (arrays.0 > 1).then_some(rank);
        if first.kind != second.kind || first.extents != second.extents {
            let of = rank_of_own.map_or(String::new(), |rank| format!(" of rank {rank}"));
            let told = |array| format!("{}{of}", shape(array));
            return Ok(Some(Difference::Shape(told(&first), told(&second))));
        }
        let bands = (a.saved.read(a.field, rank)?, b.saved.read(b.field, rank)?);
        elements.add(&first, rank_of_own, bands, tolerance)?;
    }
    Ok((elements.differ > 0).then_some(Difference::Elements(elements)))
}

/// Compares fields of which one is an index list at least. Which rank has which elements may differ, as it may of the
/// parts of a whole.
fn compare_lists(a: &SavedField, b: &SavedField) -> Option<Difference> {
    if let (Some(a), Some(b)) = (a.whole_of_indices(), b.whole_of_indices())
        && a == b
    {
        return None;
    }
    let told = |field: &SavedField| match field.whole_of_indices() {
        Some(whole) => format!("an index list of {}", counted(whole as usize, "element")),
        None => shape(&field.array(0)),
    };
    Some(Difference::Shape(told(a), told(b)))
}

impl Elements {
    /// For programs.
    pub(crate) fn json(self) -> ElementsJson {
        ElementsJson {
            differ: self.differ,
            all: self.all,
            first: self.first.map(|first| FirstJson {
                rank: first.rank.map(|rank| rank as u64),
                index: first.index,
                values: [first.values.0, first.values.1],
            }),
            greatest: self.greatest.map(|greatest| GreatestJson {
                absolute: greatest.absolute,
                relative: greatest.relative,
                ulp: greatest.ulp,
            }),
        }
    }

    /// Compares two arrays of the same kind and extents.
    fn add(
        &mut self,
        array: &Array,
        rank: Option<usize>,
        (mut a, mut b): (Bands<'_>, Bands<'_>),
        tolerance: &Tolerance,
    ) -> Result<()> {
        let size = array.kind.size() as usize;
        self.all += array.count();
        let mut before = 0;
        while let (Some(a), Some(b)) = (a.next_band()?, b.next_band()?) {
            if a != b {
                self.add_band(array, (rank, before), (a, b), tolerance);
            }
            before += (a.len() / size) as u64;
        }
        Ok(())
    }

    /// Compares a band, which begins with element `before`.
    fn add_band(
        &mut self,
        array: &Array,
        (rank, before): (Option<usize>, u64),
        (a, b): (&[u8], &[u8]),
        tolerance: &Tolerance,
    ) {
        let (kind, size) = (array.kind, array.kind.size() as usize);
        let parts = Parts::of(kind);
        let pairs = a.chunks_exact(size).zip(b.chunks_exact(size));
        for (number, (a, b)) in (before..).zip(pairs) {
            if a == b || parts.values(a).eq(parts.values(b)) {
                continue;
            }
            let found = distance(kind, a, b);
            if found.is_some_and(|found| tolerance.allows(&found)) {
                continue;
            }
            self.differ += 1;
            self.greatest = match (self.greatest, found) {
                (Some(before), Some(found)) => Some(before.max(found)),
                (before, found) => before.or(found),
            };
            self.first.get_or_insert_with(|| First {
                rank,
                index: array.index(number),
                values: (text(kind, a), text(kind, b)),
            });
        }
    }
}
