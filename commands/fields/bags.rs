//! Whether the bags of two datasets have the same elements: a bag has no order.

use scr_engine::Result;
use scr_jobs::saved_fields::SavedFields;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

/// The bags of two datasets.
pub(crate) struct Bags<'a> {
    saved: (&'a SavedFields<'a>, &'a SavedFields<'a>),
    /// The fields that are compared.
    names: &'a (Vec<String>, Vec<String>),
    /// The bags that were compared, and whether they have the same elements.
    known: BTreeMap<String, bool>,
}

impl<'a> Bags<'a> {
    /// `names`: the fields that are compared.
    pub(crate) fn new(
        saved: (&'a SavedFields<'a>, &'a SavedFields<'a>),
        names: &'a (Vec<String>, Vec<String>),
    ) -> Self {
        Bags {
            saved,
            names,
            known: BTreeMap::new(),
        }
    }

    /// True if a bag has the same elements in both datasets, in whatever order. An element is the values of all fields of the
    /// bag that are compared.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub(crate) fn are_alike(&mut self, bag: &str) -> Result<bool> {
        if let Some(known) = self.known.get(bag) {
            return Ok(*known);
        }
        let first = fields_of(self.saved.0, bag, &self.names.0)?;
        let second = fields_of(self.saved.1, bag, &self.names.1)?;
        let alike =
            first == second && elements(self.saved.0, &first)? == elements(self.saved.1, &second)?;
        self.known.insert(bag.to_string(), alike);
        Ok(alike)
    }
}

/// The fields of a bag, in the order of their names.
fn fields_of(saved: &SavedFields<'_>, bag: &str, names: &[String]) -> Result<Vec<String>> {
    let mut all = saved.list()?;
    all.retain(|field| field.bag.as_deref() == Some(bag) && names.contains(&field.name));
    let mut fields: Vec<String> = all.into_iter().map(|field| field.name).collect();
    fields.sort();
    Ok(fields)
}

/// A number of 64 bits for each element, sorted.
fn elements(saved: &SavedFields<'_>, names: &[String]) -> Result<Vec<u64>> {
    let mut all: Vec<u64> = Vec::new();
    for field in saved.find(names)? {
        let array = field.array(0);
        let count = array.extents.first().copied().unwrap_or(0) as usize;
        all.resize(count, 0);
        let row = array.extents.iter().skip(1).product::<u64>() as usize;
        if row == 0 {
            continue;
        }
        let size = array.kind.size() as usize;
        let mut bands = saved.read(&field, 0)?;
        let mut values = 0;
        // A band may end within an element.
        while let Some(band) = bands.next_band()? {
            for value in band.chunks_exact(size) {
                if let Some(element) = all.get_mut(values / row) {
                    let mut hasher = DefaultHasher::new();
                    hasher.write_u64(*element);
                    hasher.write(value);
                    *element = hasher.finish();
                }
                values += 1;
            }
        }
    }
    all.sort_unstable();
    Ok(all)
}
