//! A field by one call of the program's list: its name, kind, extents, place in memory and place in the
//! whole; and the errors in these arguments.

use super::kind::Kind;
pub use super::options::Options;
use super::region::Region;
use super::walk::{Walk, row_major};
use crate::{Error, Result};
use std::fmt;

/// The most dimensions of a field.
pub const MAX_RANK: usize = 7;

/// The name of a field has fewer bytes.
pub const MAX_NAME: usize = 1024;

/// The call that errors of a field's arguments name.
const CALL: &str = "SCR_Field";

/// To whom the values of a field belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Each rank has elements of its own.
    Own = 0,
    /// Each rank has a part of the elements of a whole.
    Part = 1,
    /// All ranks have the same elements.
    Same = 2,
    /// A number on which the list depends.
    Count = 3,
    /// The numbers in the whole of the elements that this rank has in other fields.
    Index = 4,
    /// Each rank has the elements of a whole that an index list names, or some of a bag.
    Indexed = 5,
    /// The number of elements without an index that this rank has in other fields.
    Bag = 6,
}

impl Role {
    /// The role of this number in a file.
    pub fn of_code(code: u8) -> Option<Role> {
        let all = [
            Role::Own,
            Role::Part,
            Role::Same,
            Role::Count,
            Role::Index,
            Role::Indexed,
            Role::Bag,
        ];
        all.into_iter().find(|role| *role as u8 == code)
    }

    /// True if the elements of all ranks make up a whole.
    pub fn has_whole(self) -> bool {
        matches!(self, Role::Part | Role::Index | Role::Indexed | Role::Bag)
    }

    fn words(self) -> &'static str {
        match self {
            Role::Own => "of each rank's own",
            Role::Part => "of parts of a whole",
            Role::Same => "the same on all ranks",
            Role::Count => "a count",
            Role::Index => "an index list",
            Role::Indexed => "of elements by index",
            Role::Bag => "a bag",
        }
    }
}

/// The order in which the program names the dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The last index is the fastest, as in C.
    #[default]
    Row = 0,
    /// The first index is the fastest, as in Fortran.
    Column = 1,
}

impl Order {
    /// The order with this number in files.
    pub fn of_code(code: u8) -> Option<Order> {
        let all = [Order::Row, Order::Column];
        all.into_iter().find(|order| *order as u8 == code)
    }

    /// Numbers of dimensions in the program's order, from the file's order with the slowest first, or the
    /// other way round.
    pub fn turned<T: Clone>(self, numbers: &[T]) -> Vec<T> {
        let mut numbers = numbers.to_vec();
        if self == Order::Column {
            numbers.reverse();
        }
        numbers
    }

    /// The index of the first element: 1 in Fortran.
    pub fn first(self) -> u64 {
        match self {
            Order::Row => 0,
            Order::Column => 1,
        }
    }

    /// The index of an element as the program names it, from that with the slowest dimension first and from 0.
    pub fn index(self, index: &[u64]) -> Vec<u64> {
        let counted: Vec<u64> = index.iter().map(|at| at + self.first()).collect();
        self.turned(&counted)
    }

    /// [`Order::index`] for a message: "[4, 1]".
    pub fn place(self, index: &[u64]) -> String {
        list(&self.index(index))
    }
}

/// The arguments of a call, in the order of the program.
#[derive(Debug, Clone, Copy)]
pub struct Spec<'a> {
    /// The name of the field.
    pub name: &'a str,
    /// The kind of its elements.
    pub kind: Kind,
    /// The extents of this rank's array.
    pub extents: &'a [i64],
    /// Distance to the next element in each dimension, bytes. `None`: one follows the other.
    pub strides: Option<&'a [i64]>,
    /// The owner of the values.
    pub place: Place<'a>,
}

/// The owner of the values; for a part, its place.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// This rank's own.
    Own,
    /// All ranks have the same elements.
    Same,
    /// A part of an array of all ranks.
    Part {
        /// The extents of that array.
        whole: &'a [i64],
        /// The index, from 0 on, of this rank's first element in it.
        at: &'a [i64],
    },
    /// The elements of a whole that an index list names: the slowest dimension has one place for each index.
    Indexed {
        /// The list.
        list: &'a KnownIndex,
    },
}

/// An index list, or a bag, that the program has listed before its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownIndex {
    /// Its name, with the names of the lists that it is in.
    pub name: String,
    /// Number of indices of this rank.
    pub count: u64,
    /// Number of elements of the whole; of a bag 0.
    pub whole: u64,
}

/// What index lists have to do with a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Link {
    /// Nothing.
    #[default]
    None,
    /// The field is an index list.
    List {
        /// Number of indices.
        count: u64,
        /// The number that the program gives the first element of the whole.
        first: i64,
        /// Several ranks may list an index: their copies of its elements are equal.
        shared: bool,
    },
    /// The field is a bag.
    Bag {
        /// Number of elements of this rank.
        count: u64,
    },
    /// The name of the index list, or of the bag, that says which elements this rank has.
    By(String),
}

/// A field of one rank. Dimensions are slowest first, whatever the order of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the field, with the names of the lists that it is in.
    pub name: String,
    /// The type of the elements.
    pub kind: Kind,
    /// The owner of the elements.
    pub role: Role,
    /// The order of the program that wrote the field.
    pub order: Order,
    /// Extents of this rank's array.
    pub extents: Vec<u64>,
    /// Extents of the whole. Empty if the field has no whole.
    pub whole: Vec<u64>,
    /// Index of the first element in the whole; empty if the field is no part of a whole.
    pub at: Vec<u64>,
    /// What index lists have to do with it. Of an index list, `extents` is the number of its bytes, and `whole` the
    /// number of elements of the whole.
    pub link: Link,
}

/// A field that the program lists in a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The field.
    pub entry: Entry,
    /// The options of the field.
    pub options: Options,
}

/// `"density" (float64[4, 5] of [8, 5])`, in the order of the program.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" ({})", self.name, self.shape())
    }
}

impl Entry {
    /// `float64[4, 5] of [8, 5]`, in the order of the program.
    pub fn shape(&self) -> String {
        let turned = |extents: &[u64]| list(&self.order.turned(extents));
        let whole = match (self.role, &self.link) {
            (Role::Part, _) => format!(" of {}", turned(&self.whole)),
            (_, Link::By(list)) if self.is_of_bag() => format!(" of bag \"{list}\""),
            (_, Link::By(list)) => format!(" of {} by index \"{list}\"", turned(&self.whole)),
            (_, Link::Bag { count }) => return format!("{count} elements"),
            (_, Link::List { count, .. }) => {
                return format!("{count} indices of {}", turned(&self.whole));
            }
            _ => String::new(),
        };
        let extents = if self.extents.is_empty() {
            String::new()
        } else {
            turned(&self.extents)
        };
        format!("{}{extents}{whole}", self.kind)
    }

    /// True for an index list of which several ranks may list an index.
    pub fn is_shared(&self) -> bool {
        matches!(self.link, Link::List { shared: true, .. })
    }

    /// Number of elements of the field.
    pub fn count(&self) -> u64 {
        self.extents.iter().product()
    }

    /// Number of bytes of the field.
    pub fn bytes(&self) -> u64 {
        self.count() * self.kind.size()
    }

    /// True for a field of a bag, whose whole is not known before a restart.
    pub fn is_of_bag(&self) -> bool {
        self.role == Role::Indexed && self.whole.first() == Some(&0)
    }

    /// Elements for each place of the slowest dimension.
    pub fn row(&self) -> u64 {
        self.extents.iter().skip(1).product()
    }

    /// Bytes that are not cut in the middle by a block: an element, or all elements of an index.
    pub fn unit(&self) -> u64 {
        match self.role {
            Role::Indexed => self.row() * self.kind.size(),
            _ => self.kind.size(),
        }
    }

    /// The number of elements of the whole, and of indices, of an index list. A bag has no whole before a restart.
    pub fn of_index(&self) -> Option<(u64, u64)> {
        match (&self.whole[..], &self.link) {
            ([whole], Link::List { count, .. }) => Some((*whole, *count)),
            (_, Link::Bag { count }) => Some((0, *count)),
            _ => None,
        }
    }

    /// Number of bytes of a field whose entry was read; `None` if the numbers of the entry cannot be right.
    pub fn sane_bytes(&self) -> Option<u64> {
        for numbers in [&self.extents, &self.whole] {
            let mut nonzero = numbers.iter().filter(|n| **n > 0);
            let all = nonzero.try_fold(self.kind.size().max(1), |all, n| all.checked_mul(*n))?;
            i64::try_from(all).ok()?;
        }
        if matches!(self.role, Role::Index | Role::Bag) {
            return self.of_index().map(|_| self.bytes());
        }
        let mut dims = self.at.iter().zip(&self.extents).zip(&self.whole);
        let inside =
            dims.all(|((at, n), whole)| at.checked_add(*n).is_some_and(|end| end <= *whole));
        inside.then(|| self.bytes())
    }

    /// The place of the field in the whole. A field without a whole is its own whole.
    pub fn region(&self) -> Region {
        match self.role {
            Role::Part => Region {
                at: self.at.clone(),
                extents: self.extents.clone(),
            },
            _ => Region::all(&self.extents),
        }
    }

    /// The elements of a box of the whole as places in this rank's array, if its elements lie one after the
    /// other. The box lies in this rank's.
    pub fn walk(&self, region: &Region) -> Walk {
        self.walk_in(region, &row_major(&self.extents, self.kind.size()))
    }

    /// [`Entry::walk`] in an array with these strides.
    pub fn walk_in(&self, region: &Region, strides: &[i64]) -> Walk {
        let own = self.region();
        let starts = region.at.iter().zip(&own.at);
        let base = starts.zip(strides);
        let base = base
            .map(|((at, own), stride)| (at - own) as i64 * stride)
            .sum();
        Walk::new(&region.extents, strides, base, self.kind.size())
    }

    /// The difference between the program's list and the checkpoint, if both must be equal. Extents of
    /// parts may differ, unless it is the part of one old rank.
    pub fn difference(
        &self,
        stored: &Entry,
        convertible: bool,
        of_old_rank: bool,
    ) -> Option<String> {
        let any_box = self.role == Role::Part && !of_old_rank;
        let any_box = any_box || matches!(self.role, Role::Index | Role::Indexed | Role::Bag);
        let same_list = match (&self.link, &stored.link) {
            (Link::By(ours), Link::By(theirs)) => ours == theirs,
            _ => true,
        };
        let same = self.role == stored.role
            && same_list
            && (self.kind == stored.kind || convertible)
            && self.whole == stored.whole
            && self.extents.len() == stored.extents.len()
            && (any_box || self.extents == stored.extents);
        if same {
            return None;
        }
        let (mut ours, mut theirs) = (self.shape(), stored.shape());
        if self.role != stored.role {
            ours = format!("{ours}, {}", self.role.words());
            theirs = format!("{theirs}, {}", stored.role.words());
        }
        Some(format!(
            "field \"{}\": the program lists {ours}, and the checkpoint has {theirs}",
            self.name
        ))
    }
}

/// "[4, 5]".
pub fn list(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", texts.join(", "))
}

/// Checks the name of a field, or of a list of fields.
///
/// # Errors
/// The text is not a valid name.
pub fn check_name(name: &str) -> Result<()> {
    let what = match name {
        "" => "a field has an empty name; give it one".to_string(),
        _ if name.len() >= MAX_NAME => {
            let begin: String = name.chars().take(40).collect();
            let bytes = name.len();
            format!(
                "the name \"{begin}...\" has {bytes} bytes; at most {} are allowed",
                MAX_NAME - 1
            )
        }
        _ if name.chars().any(char::is_control) => {
            format!("the name \"{name}\" has a control character, such as a newline; leave it out")
        }
        _ => return Ok(()),
    };
    Err(Error::usage(CALL, what))
}

/// An error of the arguments of a field.
pub fn wrong(name: &str, what: impl fmt::Display) -> Error {
    Error::usage(CALL, format!("field \"{name}\": {what}"))
}

/// An error of an index list.
pub fn wrong_list(name: &str, what: impl fmt::Display) -> Error {
    Error::usage("SCR_Index", format!("index list \"{name}\": {what}"))
}

/// An error of a bag.
pub fn wrong_bag(name: &str, what: impl fmt::Display) -> Error {
    Error::usage("SCR_Bag", format!("bag \"{name}\": {what}"))
}

/// True if an array of these extents can be in memory.
fn fits(kind: Kind, extents: &[u64]) -> bool {
    let mut nonzero = extents.iter().filter(|extent| **extent > 0);
    let size = kind.size().max(1);
    let bytes = nonzero.try_fold(size, |bytes, extent| bytes.checked_mul(*extent));
    bytes.is_some_and(|bytes| i64::try_from(bytes).is_ok())
}

/// Makes an entry that of a part of a whole; `at` is the index of its first element in the whole.
fn part(mut entry: Entry, whole: &[i64], at: &[i64]) -> Result<Entry> {
    let (order, dims) = (entry.order, entry.extents.len());
    let fail = |what: String| Err(wrong(&entry.name, what));
    if whole.len() != dims || at.len() != dims {
        return fail("the whole must have as many dimensions as the part".to_string());
    }
    if dims == 0 {
        let what = "a scalar is no part of a whole; use SCR_Same if all ranks have it";
        return fail(what.to_string());
    }
    let whole = numbers(&entry.name, "extents of the whole", order.turned(whole))?;
    let at = numbers(&entry.name, "index in the whole", order.turned(at))?;
    if !fits(entry.kind, &whole) {
        return fail(format!("the whole {} is too large", list(&whole)));
    }
    let mut dims = at.iter().zip(&entry.extents).zip(&whole);
    if dims.any(|((at, extent), whole)| at.checked_add(*extent).is_none_or(|end| end > *whole)) {
        let turned = |numbers: &[u64]| list(&order.turned(numbers));
        return fail(format!(
            "the part of {} elements from index {} on is not inside the whole {}; indices begin with {}",
            turned(&entry.extents),
            order.place(&at),
            turned(&whole),
            order.first()
        ));
    }
    (entry.role, entry.whole, entry.at) = (Role::Part, whole, at);
    Ok(entry)
}

/// Makes an entry that of elements by index.
fn indexed(mut entry: Entry, list: &KnownIndex) -> Result<Entry> {
    let Some(places) = entry.extents.first().copied() else {
        let what = "a scalar has no elements by index; use SCR_Same if all ranks have it";
        return Err(wrong(&entry.name, what));
    };
    if places != list.count {
        let what = format!(
            "its {} dimension has {places} places, and \"{}\" has {} elements on this rank",
            match entry.order {
                Order::Row => "first",
                Order::Column => "last",
            },
            list.name,
            list.count
        );
        return Err(wrong(&entry.name, what));
    }
    entry.whole = entry.extents.clone();
    if let Some(whole) = entry.whole.first_mut() {
        *whole = list.whole;
    }
    if !fits(entry.kind, &entry.whole) {
        let what = format!("the whole {} is too large", self::list(&entry.whole));
        return Err(wrong(&entry.name, what));
    }
    entry.role = Role::Indexed;
    entry.link = Link::By(list.name.clone());
    Ok(entry)
}

/// Checks the arguments of a field whose full name is `name`, and gives its entry and the strides of its
/// memory, slowest dimension first.
///
/// # Errors
/// Any of them is wrong.
pub fn check(
    name: String,
    spec: &Spec<'_>,
    order: Order,
    has_memory: bool,
) -> Result<(Entry, Vec<i64>)> {
    check_name(&name)?;
    let fail = |what: String| Err(wrong(&name, what));
    if spec.extents.len() > MAX_RANK {
        return fail(format!(
            "{} dimensions; at most {MAX_RANK} are possible",
            spec.extents.len()
        ));
    }
    let extents = numbers(&name, "extents", order.turned(spec.extents))?;
    if !fits(spec.kind, &extents) {
        return fail(format!(
            "extents {} are too many bytes for any memory",
            list(&extents)
        ));
    }
    let mut entry = Entry {
        name,
        kind: spec.kind,
        role: Role::Own,
        order,
        extents,
        whole: Vec::new(),
        at: Vec::new(),
        link: Link::None,
    };
    match spec.place {
        Place::Own => {}
        Place::Same => entry.role = Role::Same,
        Place::Part { whole, at } => entry = part(entry, whole, at)?,
        Place::Indexed { list } => entry = indexed(entry, list)?,
    }
    if entry.bytes() > 0 && !has_memory {
        let what = format!(
            "the pointer is NULL, and there are {} elements",
            entry.count()
        );
        return Err(wrong(&entry.name, what));
    }
    let strides = strides(&entry, spec.strides)?;
    Ok((entry, strides))
}

fn numbers(name: &str, what: &str, given: Vec<i64>) -> Result<Vec<u64>> {
    let numbers: std::result::Result<_, _> = given.iter().map(|n| u64::try_from(*n)).collect();
    numbers.map_err(|_| wrong(name, format!("a negative number in the {what}")))
}

/// The strides of the memory, slowest dimension first.
fn strides(entry: &Entry, given: Option<&[i64]>) -> Result<Vec<i64>> {
    let size = entry.kind.size();
    let Some(given) = given else {
        return Ok(row_major(&entry.extents, size));
    };
    if given.len() != entry.extents.len() {
        return Err(wrong(
            &entry.name,
            "there must be as many strides as extents",
        ));
    }
    let strides = entry.order.turned(given);
    if entry.bytes() == 0 {
        return Ok(strides);
    }
    // Two elements cannot overlap if each dimension steps over all of the ones below it.
    let mut dims: Vec<(u64, u64)> = strides
        .iter()
        .map(|s| s.unsigned_abs())
        .zip(entry.extents.iter().copied())
        .collect();
    dims.retain(|(_, extent)| *extent > 1);
    dims.sort_unstable();
    let mut span = i128::from(size);
    for (stride, extent) in dims {
        let stride = i128::from(stride);
        if stride < span {
            let what = format!(
                "strides {given:?} let elements of {size} bytes overlap; strides are bytes, and each must step \
                 over the dimensions below it"
            );
            return Err(wrong(&entry.name, what));
        }
        span += stride * i128::from(extent - 1);
    }
    match i64::try_from(span) {
        Ok(_) => Ok(strides),
        Err(_) => Err(wrong(
            &entry.name,
            format!("strides {given:?} lead beyond any memory"),
        )),
    }
}
