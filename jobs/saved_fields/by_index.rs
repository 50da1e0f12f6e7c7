//! The index lists of fields: read, checked, and joined with the fields that go by them.

use super::bands::From;
use super::blocks::Blocks;
use super::lists::{Lists, WrongIndex};
use super::{Bands, SavedField, SavedFields, first_of};
use scr_engine::fields::file::Stored;
use scr_engine::fields::index::ids::Ids;
use scr_engine::{Error, Result};

impl SavedFields<'_> {
    /// The index list of a rank.
    pub(super) fn indices(&self, field: &SavedField, rank: usize) -> Result<Bands<'_>> {
        let array = field.array(rank);
        let Some(list) = field.parts.get(rank) else {
            return Ok(self.one(array, rank, None));
        };
        let whole = field.whole_of_indices().unwrap_or(0);
        let first = first_of(&list.entry).unwrap_or(0);
        let ids = self.ids(&mut self.blocks(), rank, list)?;
        Ok(self.bands(array, From::Indices(ids, whole, first)))
    }

    /// The index lists of a field by index, which have each index of the whole once; shared ones at least once.
    pub(super) fn lists_of(&self, field: &SavedField) -> Result<Lists> {
        let whole = field.first.whole.first().copied().unwrap_or(0);
        let (mut all, mut blocks) = (Vec::new(), self.blocks());
        for (rank, (part, list)) in field.parts.iter().zip(&field.lists).enumerate() {
            let ids = self.ids(&mut blocks, rank, list)?;
            let places = part.entry.extents.first().copied();
            if list.entry.whole != [whole] || places != Some(ids.count) {
                let what = format!("has another index list than the field {} needs", part.entry);
                return Err(self.corrupt(rank, what));
            }
            all.push(ids);
        }
        let shared = field
            .lists
            .first()
            .is_some_and(|list| list.entry.is_shared());
        let lists = Lists::new(whole, all, shared);
        // Without elements, nothing can be in a wrong place.
        if field.first.unit() == 0 {
            return Ok(lists);
        }
        match lists.first_wrong()? {
            None => Ok(lists),
            Some(wrong) => Err(self.wrong_index(field, whole, &wrong)),
        }
    }

    /// The index list of a rank, read from its file.
    fn ids(&self, blocks: &mut Blocks<'_>, rank: usize, list: &Stored) -> Result<Ids> {
        let entry = &list.entry;
        let Some((whole, count)) = entry.of_index() else {
            let what = format!("has no index list \"{}\"", entry.name);
            return Err(self.corrupt(rank, what));
        };
        let bytes = blocks.all((rank, list))?;
        Ids::read(bytes, count, whole).map_err(|error| match error {
            Error::Format { what, .. } => {
                self.corrupt(rank, format!("index list \"{}\": {what}", entry.name))
            }
            other => other,
        })
    }

    fn corrupt(&self, rank: usize, what: String) -> Error {
        let path = self.paths.get(rank).cloned();
        Error::corrupt(path.unwrap_or_default(), what)
    }

    fn wrong_index(&self, field: &SavedField, whole: u64, wrong: &WrongIndex) -> Error {
        let list = field.lists.first().map(|list| &list.entry);
        let first = list.and_then(first_of).unwrap_or(0);
        let index = first.saturating_add(wrong.id as i64);
        let who = match &wrong.ranks[..] {
            [a, b, ..] if a == b => format!("rank {a} has the index {index} twice"),
            [a, b, ..] => format!("ranks {a} and {b} both have the index {index}"),
            _ => format!(
                "no rank has the index {index} of the whole of {whole} elements, which begins with {first}"
            ),
        };
        let name = list.map_or("", |list| &list.name);
        self.error(format!(
            "field \"{}\", index list \"{name}\": {who}",
            field.name
        ))
    }
}
