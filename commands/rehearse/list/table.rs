//! The variables of all ranks.

use super::files::InFile;
use scr_jobs::variables::{Leaf, Share};
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Elements on one rank.
pub(super) struct Seen<'a> {
    pub leaf: &'a Leaf,
    pub share: Share,
    /// The fields that have some of them.
    pub fields: Vec<String>,
    pub in_file: InFile,
}

/// A variable, or a member of records, on all ranks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Variable {
    pub name: String,
    /// The file and line of its declaration; "" if these are not known.
    pub declared: String,
    pub type_name: String,
    /// Of the greatest part: in the order of the language, and as it is shown.
    pub shape: Vec<u64>,
    /// Number of parts in memory, on the rank with most: nodes of a list have one each.
    pub parts: usize,
    pub bytes: u64,
    /// Those of them that are listed, and the names of the fields.
    pub listed: u64,
    pub fields: BTreeSet<String>,
    /// Those of them that were found in files, and the names of these; and files that have something of them.
    pub in_files: u64,
    pub files: BTreeSet<String>,
    pub ranks: BTreeSet<usize>,
    /// What no field has of it changes; where fields have all, whether it changes. `None` if that was not seen.
    pub changes: Option<bool>,
    /// A single number or text.
    pub single: bool,
    greatest: u64,
    parts_here: (usize, usize),
}

/// Where a variable is in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Listed,
    /// Some of its bytes are.
    PartlyListed,
    InFile,
    PartlyInFile,
    /// The program lists its state, but not this variable.
    Missing,
    /// The program writes files, in which it was not found.
    Unknown,
}

impl Variable {
    /// `lists`: the program has listed its state.
    pub fn state(&self, lists: bool) -> State {
        match () {
            () if self.listed >= self.bytes => State::Listed,
            () if self.listed > 0 => State::PartlyListed,
            () if self.in_files >= self.bytes => State::InFile,
            () if !self.files.is_empty() => State::PartlyInFile,
            () if lists => State::Missing,
            () => State::Unknown,
        }
    }

    /// True if it changes, and no checkpoint has any of it as far as is known.
    pub fn is_suspicious(&self, lists: bool) -> bool {
        self.changes == Some(true) && matches!(self.state(lists), State::Missing | State::Unknown)
    }

    /// Where it stands in the table. What a field leaves out of a variable, such as halos, is often set again.
    fn place(&self, lists: bool) -> usize {
        match (self.changes, self.state(lists)) {
            (Some(true), State::Missing | State::Unknown) => 0,
            (Some(true), State::PartlyListed | State::PartlyInFile) => 1,
            _ => 2,
        }
    }
}

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Variable>,
    numbers: HashMap<(String, String, String), usize>,
    /// The row and the sum of each leaf that was seen first, by rank and key.
    sums: HashMap<(usize, u64), (usize, u64)>,
}

impl Table {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn add(&mut self, rank: usize, seen: &Seen<'_>) {
        let row = self.put(rank, seen);
        self.sums
            .insert((rank, key(seen.leaf)), (row, seen.share.sum));
    }

    /// At the second moment: what is another value then.
    pub fn compare(&mut self, rank: usize, seen: &Seen<'_>) {
        let (row, changes) = match self.sums.remove(&(rank, key(seen.leaf))) {
            Some((row, sum)) => (row, sum != seen.share.sum),
            None => (self.put(rank, seen), true),
        };
        if let Some(row) = self.rows.get_mut(row) {
            row.changes = Some(changes || row.changes == Some(true));
        }
    }

    /// What was compared is all that is there at the second moment.
    pub fn settle(&mut self) {
        for (row, _) in std::mem::take(&mut self.sums).into_values() {
            if let Some(row) = self.rows.get_mut(row) {
                row.changes = Some(true);
            }
        }
    }

    fn put(&mut self, rank: usize, seen: &Seen<'_>) -> usize {
        let leaf = seen.leaf;
        let name = without_repeats(&leaf.shown);
        let same = (name.clone(), leaf.place.clone(), leaf.type_name.clone());
        let number = *self.numbers.entry(same).or_insert(self.rows.len());
        if number == self.rows.len() {
            self.rows.push(Variable {
                name,
                declared: leaf.place.clone(),
                type_name: leaf.type_name.clone(),
                single: true,
                ..Variable::default()
            });
        }
        if let Some(row) = self.rows.get_mut(number) {
            row.add(rank, seen);
        }
        number
    }

    /// The variables: first those that change and are not saved, then those that are saved in part, then the greatest ones.
    pub fn sorted(&self, lists: bool) -> Vec<&Variable> {
        let mut all: Vec<&Variable> = self.rows.iter().collect();
        all.sort_by_key(|one| (one.place(lists), u64::MAX - one.bytes));
        all
    }
}

impl Variable {
    fn add(&mut self, rank: usize, seen: &Seen<'_>) {
        let (leaf, share) = (seen.leaf, seen.share);
        self.bytes = self.bytes.saturating_add(share.bytes);
        self.listed += share.listed;
        self.fields.extend(seen.fields.iter().cloned());
        if let InFile::Whole(name) = &seen.in_file {
            self.in_files += share.bytes;
            self.files.insert(name.clone());
        } else if let InFile::Partly(name) = &seen.in_file {
            self.files.insert(name.clone());
        }
        self.ranks.insert(rank);
        self.single &= leaf.count() == 1;
        self.parts_here = match self.parts_here {
            (here, parts) if here == rank => (rank, parts + 1),
            _ => (rank, 1),
        };
        self.parts = self.parts.max(self.parts_here.1);
        if share.bytes > self.greatest {
            self.greatest = share.bytes;
            let counts = leaf.dims.iter().map(|(count, _)| *count);
            self.shape = counts.collect();
            if leaf.by_column {
                self.shape.reverse();
            }
        }
    }
}

fn key(leaf: &Leaf) -> u64 {
    let mut hasher = DefaultHasher::new();
    leaf.key.hash(&mut hasher);
    hasher.finish()
}

/// The nodes of a linked list are one variable: `first%next%next%x` is `first%next%x`.
fn without_repeats(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split_inclusive(['%', '.']) {
        // A part ends with the mark before the next one.
        let repeats = parts.len() > 1 && parts.last() == Some(&part);
        if !repeats {
            parts.push(part);
        }
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_jobs::variables::Kind;

    fn leaf(name: &str, count: u64) -> Leaf {
        Leaf {
            key: name.into(),
            shown: name.into(),
            place: "a.f90:1".into(),
            type_name: "real(8)".into(),
            kind: Kind::Real,
            size: 8,
            address: 0x1000,
            dims: vec![(count, 8)],
            by_column: true,
            value: None,
            bits: None,
            slack: 0,
            local: false,
        }
    }

    fn seen(leaf: &Leaf, listed: u64, sum: u64) -> Seen<'_> {
        let bytes = leaf.bytes();
        Seen {
            leaf,
            share: Share { bytes, listed, sum },
            fields: Vec::new(),
            in_file: InFile::No,
        }
    }

    #[test]
    fn what_changes_and_is_not_listed_comes_first() {
        let (big, listed, work) = (leaf("big", 100), leaf("u", 50), leaf("work", 10));
        let (new, gone, halo) = (leaf("new", 1), leaf("gone", 2), leaf("halo", 60));
        let mut table = Table::default();
        for rank in 0..2 {
            table.add(rank, &seen(&big, 0, 1));
            table.add(rank, &seen(&listed, 400, 1));
            table.add(rank, &seen(&work, 0, 1));
        }
        table.add(0, &seen(&gone, 0, 1));
        table.add(0, &seen(&halo, 400, 1));
        assert_eq!(table.sorted(true)[0].name, "big");
        for rank in 0..2 {
            table.compare(rank, &seen(&big, 0, 1));
            table.compare(rank, &seen(&listed, 400, 2));
            // It changes on one rank.
            table.compare(rank, &seen(&work, 0, 1 + (1 - rank as u64)));
        }
        table.compare(0, &seen(&new, 0, 1));
        table.compare(0, &seen(&halo, 400, 2));
        table.settle();
        let rows = table.sorted(true);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.bytes, row.changes, row.state(true)))
            .collect();
        assert_eq!(
            told,
            [
                ("work", 160, Some(true), State::Missing),
                ("gone", 16, Some(true), State::Missing),
                ("new", 8, Some(true), State::Missing),
                ("halo", 480, Some(true), State::PartlyListed),
                ("big", 1600, Some(false), State::Missing),
                ("u", 800, Some(true), State::Listed),
            ]
        );
        assert_eq!(rows[4].state(false), State::Unknown);
    }

    #[test]
    fn nodes_of_a_list_are_one_variable() {
        assert_eq!(without_repeats("first%next%next%next%x"), "first%next%x");
        assert_eq!(without_repeats("a.a.b"), "a.a.b");
        assert_eq!(without_repeats("model.next.salt"), "model.next.salt");
        let mut table = Table::default();
        let names = ["first%next%x", "first%next%next%x", "first%x"];
        for (rank, name) in [0, 0, 1, 1, 1].into_iter().zip(names.iter().cycle()) {
            table.add(rank, &seen(&leaf(name, 3), 0, 1));
        }
        let rows = table.sorted(true);
        assert_eq!((rows[0].name.as_str(), rows[0].parts), ("first%next%x", 2));
        assert_eq!((rows.len(), rows[0].bytes, rows[0].ranks.len()), (2, 96, 2));
    }
}
