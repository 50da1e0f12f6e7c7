//! The fields of a dataset in a prefix directory, for commands: one process without a job, which reads a field
//! however many ranks wrote it, and needs little memory for it.

mod bands;
mod blocks;
mod by_index;
#[cfg(test)]
mod index_tests;
mod lists;
#[cfg(test)]
mod tests;

pub use bands::Bands;

use bands::From;
use blocks::Blocks;
use scr_engine::fields::agreement::wrong_place;
use scr_engine::fields::entry::{Entry, Link, Order, Role};
use scr_engine::fields::file::{Stored, Table, read_table};
use scr_engine::fields::kind::{Class, Kind};
use scr_engine::fields::region::{Grid, Region};
use scr_engine::fields::sources::file_of;
use scr_engine::format::{Dataset, Name};
use scr_engine::prefix::containers::ContainedFiles;
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::{Files, retry};
use scr_engine::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// The most parts that are looked up in one pass over the tables, unless one field has more.
const MOST_PARTS: u64 = 1 << 18;

/// The files of fields of one dataset.
pub struct SavedFields<'a> {
    files: ContainedFiles<'a>,
    dataset: (u64, Name),
    /// The file of each rank.
    paths: Vec<PathBuf>,
}

/// The owner of the values of a saved field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Each rank has values of its own.
    EachRank,
    /// Each rank has a part of the values of a whole.
    Whole,
    /// All ranks have the same values.
    All,
    /// Each rank has the indices of the elements that it has of a whole.
    Index,
}

/// One array that can be read: its elements, and the order of the program that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The type of the elements.
    pub kind: Kind,
    /// The order in which the program names the dimensions.
    pub order: Order,
    /// Slowest dimension first.
    pub extents: Vec<u64>,
    /// Of a whole whose elements go by an index list, the index of the first place of the slowest dimension.
    pub base: Option<i64>,
}

/// The entries for a field in the tables of all ranks, put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSummary {
    /// The name of the field, with the names of the lists that it is in.
    pub name: String,
    /// The owner of the values.
    pub owner: Owner,
    /// True for a number on which the list depends.
    pub is_count: bool,
    /// True for a bag: the array is the number of its elements on all ranks, and has no type and no bytes.
    pub is_bag: bool,
    /// The whole, or the value that all ranks have, or the array of rank 0.
    pub array: Array,
    /// True if the arrays of all ranks have the same extents, or are parts of one whole.
    pub same_extents: bool,
    /// Number of ranks that have elements of the field.
    pub ranks: u64,
    /// Number of bytes of the field. A value that all ranks have counts once.
    pub bytes: u64,
    /// What index lists have to do with it.
    pub index: Option<IndexSummary>,
    /// The bag whose elements it has.
    pub bag: Option<String>,
}

/// The index list that a field is, or by which its elements go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSummary {
    /// The name of the list; `None` if the field is the list.
    pub list: Option<String>,
    /// The index of the first element of the whole, as the program has it.
    pub first: i64,
    /// Number of indices of the whole.
    pub whole: u64,
    /// Several ranks may have an index, with equal copies of its elements.
    pub shared: bool,
}

/// A field, with the place of each rank's part.
#[derive(Debug, Clone)]
pub struct SavedField {
    /// The name of the field.
    pub name: String,
    /// The owner of the values.
    pub owner: Owner,
    /// The entry that rank 0 wrote.
    first: Entry,
    /// The parts, by rank. Of a field that is the same on all ranks, only rank 0's copy is read.
    parts: Vec<Stored>,
    /// The index lists of the parts, by rank.
    lists: Vec<Stored>,
}

impl Array {
    /// The extents in the order of the program.
    pub fn shape(&self) -> Vec<u64> {
        self.order.turned(&self.extents)
    }

    /// Number of its elements.
    pub fn count(&self) -> u64 {
        self.extents.iter().product()
    }

    /// The index of the element of this number, as the program has it.
    pub fn index(&self, number: u64) -> Vec<i64> {
        let mut left = number;
        let index = self.extents.iter().rev().map(|extent| {
            let place = left % extent.max(&1);
            left /= extent.max(&1);
            place
        });
        let mut index: Vec<u64> = index.collect();
        index.reverse();
        let first = self.order.first() as i64;
        let mut named: Vec<i64> = index.iter().map(|at| *at as i64 + first).collect();
        if let (Some(base), Some(at), Some(named)) = (self.base, index.first(), named.first_mut()) {
            *named = base.saturating_add(*at as i64);
        }
        self.order.turned(&named)
    }
}

impl SavedField {
    /// Number of arrays: one for each rank if each has its own, else one.
    pub fn arrays(&self) -> usize {
        match self.owner {
            Owner::EachRank | Owner::Index => self.parts.len(),
            Owner::Whole | Owner::All => 1,
        }
    }

    /// The bag whose elements it has. They have no order.
    pub fn bag(&self) -> Option<&str> {
        bag_of(&self.first)
    }

    /// Of an index list, the number of elements of the whole.
    pub fn whole_of_indices(&self) -> Option<u64> {
        self.first.of_index().map(|(whole, _)| whole)
    }

    /// The array of the whole, or of the value that all ranks have; if each rank has its own, the
    /// array of `rank`.
    pub fn array(&self, rank: usize) -> Array {
        let own = self.parts.get(rank).map_or(&self.first, |part| &part.entry);
        match self.owner {
            Owner::Whole if self.first.is_of_bag() => {
                let places = self
                    .parts
                    .iter()
                    .filter_map(|part| part.entry.extents.first());
                let rest = self.first.extents.get(1..).unwrap_or_default();
                array_of(&self.first, &[&[places.sum()], rest].concat())
            }
            Owner::Whole => Array {
                base: self.lists.first().and_then(|list| first_of(&list.entry)),
                ..array_of(&self.first, &self.first.whole)
            },
            Owner::All => array_of(&self.first, &self.first.extents),
            Owner::EachRank => array_of(&self.first, &own.extents),
            Owner::Index => array_of_indices(own.of_index().map_or(0, |(_, count)| count)),
        }
    }
}

/// The index of the first element of the whole of an index list, as the program has it.
fn first_of(list: &Entry) -> Option<i64> {
    match list.link {
        Link::List { first, .. } => Some(first),
        _ => None,
    }
}

/// The name of the bag whose elements a field has.
fn bag_of(entry: &Entry) -> Option<&str> {
    match &entry.link {
        Link::By(bag) if entry.is_of_bag() => Some(bag),
        _ => None,
    }
}

fn array_of_indices(count: u64) -> Array {
    Array {
        kind: Kind::new(Class::Integer, 8),
        order: Order::Row,
        extents: vec![count],
        base: None,
    }
}

fn array_of(entry: &Entry, extents: &[u64]) -> Array {
    Array {
        kind: entry.kind,
        order: entry.order,
        extents: extents.to_vec(),
        base: None,
    }
}

fn owner(entry: &Entry, table: &Table) -> Owner {
    match entry.role {
        Role::Part | Role::Indexed => Owner::Whole,
        Role::Index => Owner::Index,
        Role::Same => Owner::All,
        Role::Count if table.same_counts => Owner::All,
        Role::Count | Role::Own | Role::Bag => Owner::EachRank,
    }
}

impl<'a> SavedFields<'a> {
    /// Finds the files of fields of a complete dataset: plain ones, and ones in containers.
    ///
    /// # Errors
    /// The dataset has no files of fields, or the file of a rank is missing, or its records cannot be read.
    pub fn open(files: &'a dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<Self> {
        let dir = prefix.dataset(dataset.id);
        let view = ContainedFiles::new(files, prefix, dataset.id);
        let ranks = rank2file::ranks(files, &dir)?;
        let mut found = BTreeMap::new();
        rank2file::for_each(files, &dir, |rank, entry| {
            let name = Name::from(file_of(&dataset.name, rank).as_os_str());
            let Some(file) = entry.files.get(&name).filter(|_| rank < ranks) else {
                return Ok(());
            };
            let path = prefix.absolute(&name)?;
            if file.segments.is_some() {
                view.show_recorded(path.clone(), file.clone());
            }
            found.insert(rank, path);
            Ok(())
        })?;
        let fail = |what: String| Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
        if found.is_empty() {
            return fail("has no fields: the program wrote files of its own".to_string());
        }
        match (0..ranks).find(|rank| !found.contains_key(rank)) {
            Some(rank) => fail(format!("has no file of fields of rank {rank}")),
            None => Ok(SavedFields {
                files: view,
                dataset: (dataset.id, dataset.name.clone()),
                paths: found.into_values().collect(),
            }),
        }
    }

    /// Number of ranks that wrote the dataset.
    pub fn ranks(&self) -> usize {
        self.paths.len()
    }

    /// Calls `each` with the table of every rank, one after the other.
    fn for_each_table(&self, mut each: impl FnMut(usize, &Table) -> Result<()>) -> Result<()> {
        let mut list = None;
        for rank in 0..self.paths.len() {
            let table = self.read_table(rank, list)?;
            list = Some(table.list);
            each(rank, &table)?;
        }
        Ok(())
    }

    /// The table of a rank, which must have the fields of `list`.
    fn read_table(&self, rank: usize, list: Option<u64>) -> Result<Table> {
        let path = self.paths.get(rank).cloned().unwrap_or_default();
        let table = retry(|| read_table(&*self.files.open(&path)?, &path))?;
        if (table.rank, table.ranks) != (rank as u64, self.paths.len() as u64) {
            let what = format!("is the file of rank {} of {}", table.rank, table.ranks);
            return Err(Error::corrupt(path, what));
        }
        if list.is_some_and(|list| list != table.list) {
            let what = "has other fields than the file of rank 0";
            return Err(Error::corrupt(path, what));
        }
        Ok(table)
    }

    /// All fields, in the order of the program.
    ///
    /// # Errors
    /// A table cannot be read, or the files of two ranks do not belong together.
    pub fn list(&self) -> Result<Vec<FieldSummary>> {
        let mut all: Vec<FieldSummary> = Vec::new();
        self.for_each_table(|rank, table| {
            if rank == 0 {
                let fields = table.fields.iter();
                all.extend(fields.map(|field| first_summary(field, table)));
            }
            for (Stored { entry, .. }, summary) in table.fields.iter().zip(&mut all) {
                if let Some((_, count)) = entry.of_index() {
                    summary.add_places(count);
                } else if entry.is_of_bag() {
                    summary.add_places(entry.extents.first().copied().unwrap_or(0));
                } else {
                    let same = *extents_of(entry, summary.owner) == summary.array.extents;
                    summary.same_extents &= same;
                }
                if summary.ranks == 0 || summary.owner != Owner::All {
                    summary.bytes = summary.bytes.saturating_add(entry.bytes());
                }
                let elements = match entry.link {
                    Link::Bag { count } => count,
                    _ => entry.count(),
                };
                summary.ranks += u64::from(elements > 0);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Number of fields that [`SavedFields::find`] should look for at a time.
    pub fn fields_at_a_time(&self) -> usize {
        (MOST_PARTS / self.paths.len().max(1) as u64).max(1) as usize
    }

    /// The fields of these names, in one pass over the tables.
    ///
    /// # Errors
    /// The field does not exist, or the files of two ranks do not belong together.
    pub fn find<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<SavedField>> {
        let mut found: Vec<SavedField> = Vec::new();
        self.for_each_table(|rank, table| {
            let named = table.fields.iter().map(|field| (&*field.entry.name, field));
            let by_name: HashMap<&str, &Stored> = named.collect();
            for (place, name) in names.iter().map(AsRef::as_ref).enumerate() {
                let Some(field) = by_name.get(name) else {
                    return Err(self.has_no(name));
                };
                match found.get_mut(place) {
                    None => found.push(SavedField {
                        name: name.to_string(),
                        owner: owner(&field.entry, table),
                        first: field.entry.clone(),
                        parts: vec![(*field).clone()],
                        lists: Vec::new(),
                    }),
                    Some(before) => self.add_part(before, rank, field)?,
                }
                if let (Link::By(list), Some(found)) = (&field.entry.link, found.get_mut(place)) {
                    let list = by_name.get(&**list).map(|list| (*list).clone());
                    found.lists.extend(list);
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn add_part(&self, field: &mut SavedField, rank: usize, part: &Stored) -> Result<()> {
        let (first, entry) = (&field.first, &part.entry);
        let same = first.kind == entry.kind
            && first.role == entry.role
            && first.order == entry.order
            && first.whole == entry.whole
            && (entry.role != Role::Indexed || first.link == entry.link)
            && (field.owner != Owner::All || first.extents == entry.extents);
        if !same {
            let what = format!("has the field {entry}, and the file of rank 0 has {first}");
            let path = self.paths.get(rank).cloned();
            return Err(Error::corrupt(path.unwrap_or_default(), what));
        }
        if field.owner != Owner::All {
            field.parts.push(part.clone());
        }
        Ok(())
    }

    fn has_no(&self, name: &str) -> Error {
        self.error(format!(
            "has no field \"{name}\"; `scr inspect --fields` lists those that it has"
        ))
    }

    fn error(&self, what: String) -> Error {
        let (id, name) = &self.dataset;
        Error::dataset(*id, name.to_string(), what)
    }

    /// Reads the array [`SavedField::array`] of `rank`.
    ///
    /// # Errors
    /// The parts of a whole do not make it up.
    pub fn read(&self, field: &SavedField, rank: usize) -> Result<Bands<'_>> {
        let array = field.array(rank);
        match field.owner {
            Owner::Whole if field.first.is_of_bag() => {
                let (mut parts, mut at) = (Vec::new(), 0);
                for (rank, part) in field.parts.iter().cloned().enumerate() {
                    let mut region = Region::all(&part.entry.extents);
                    if let (Some(from), Some(count)) =
                        (region.at.first_mut(), region.extents.first())
                    {
                        *from = at;
                        at += *count;
                    }
                    parts.push((rank, region, part));
                }
                Ok(self.bands(array, From::Boxes(parts)))
            }
            Owner::Whole if field.first.role == Role::Indexed => {
                let lists = self.lists_of(field)?;
                Ok(self.bands(array, From::Lists(field.parts.clone(), lists)))
            }
            Owner::Whole => {
                self.check_cover(field)?;
                let parts = field.parts.iter().cloned().enumerate();
                let parts = parts.map(|(rank, part)| (rank, part.entry.region(), part));
                Ok(self.bands(array, From::Boxes(parts.collect())))
            }
            Owner::All => Ok(self.one(array, 0, field.parts.first())),
            Owner::EachRank => Ok(self.one(array, rank, field.parts.get(rank))),
            Owner::Index => self.indices(field, rank),
        }
    }

    /// Reads the part of a whole that `rank` wrote, or the value of a rank; `None` if the dataset has no
    /// such rank.
    ///
    /// # Errors
    /// An index list cannot be read, or is damaged.
    pub fn read_part(&self, field: &SavedField, rank: usize) -> Result<Option<Bands<'_>>> {
        let Some(part) = field.parts.get(rank) else {
            return Ok(None);
        };
        if field.owner == Owner::Index {
            return self.indices(field, rank).map(Some);
        }
        let array = array_of(&field.first, &part.entry.extents);
        Ok(Some(self.one(array, rank, Some(part))))
    }

    fn one(&self, array: Array, rank: usize, part: Option<&Stored>) -> Bands<'_> {
        let region = Region::all(&array.extents);
        let parts = part.map(|part| (rank, region, part.clone()));
        self.bands(array, From::Boxes(parts.into_iter().collect()))
    }

    fn bands(&self, array: Array, from: From) -> Bands<'_> {
        Bands::new(self.blocks(), array, from)
    }

    fn blocks(&self) -> Blocks<'_> {
        Blocks::new(&self.files, &self.paths)
    }

    /// Checks that the parts of a whole make it up once.
    fn check_cover(&self, field: &SavedField) -> Result<()> {
        let grid = Grid::new(&field.first.whole, field.parts.len());
        let mut boxes: BTreeMap<u64, Vec<(usize, Region)>> = BTreeMap::new();
        for (rank, part) in field.parts.iter().enumerate() {
            let region = part.entry.region();
            for cell in grid.cells_of(&region) {
                boxes.entry(cell).or_default().push((rank, region.clone()));
            }
        }
        let wrong = (0..grid.count()).filter_map(|cell| {
            let boxes = boxes.get(&cell).map_or(&[][..], Vec::as_slice);
            wrong_place(&field.first, &grid.cell(cell), boxes)
        });
        match wrong.min_by_key(|(number, _)| *number) {
            None => Ok(()),
            Some((_, Error::Usage { what, .. })) => Err(self.error(what)),
            Some((_, error)) => Err(error),
        }
    }
}

/// The extents of the array that is read.
fn extents_of(entry: &Entry, owner: Owner) -> &Vec<u64> {
    match owner {
        Owner::Whole => &entry.whole,
        Owner::EachRank | Owner::All | Owner::Index => &entry.extents,
    }
}

impl FieldSummary {
    /// Counts the indices of a rank, or its elements of a bag.
    fn add_places(&mut self, count: u64) {
        if let Some(all) = self.array.extents.first_mut() {
            *all = all.saturating_add(count);
        }
    }
}

fn first_summary(Stored { entry, .. }: &Stored, table: &Table) -> FieldSummary {
    let owner = owner(entry, table);
    let list = match &entry.link {
        Link::None | Link::Bag { .. } => None,
        Link::List { .. } => Some(entry),
        Link::By(list) => {
            let mut entries = table.fields.iter().map(|field| &field.entry);
            entries.find(|entry| entry.name == *list)
        }
    };
    let index = list.map(|list| IndexSummary {
        list: (owner != Owner::Index).then(|| list.name.clone()),
        first: first_of(list).unwrap_or(0),
        whole: list.of_index().map_or(0, |(whole, _)| whole),
        shared: list.is_shared(),
    });
    FieldSummary {
        name: entry.name.clone(),
        owner,
        is_count: entry.role == Role::Count,
        is_bag: entry.role == Role::Bag,
        array: match owner {
            Owner::Index => array_of_indices(0),
            _ if entry.role == Role::Bag => array_of_indices(0),
            _ => array_of(entry, extents_of(entry, owner)),
        },
        same_extents: true,
        ranks: 0,
        bytes: 0,
        index,
        bag: bag_of(entry).map(str::to_string),
    }
}
