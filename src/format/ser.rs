//! From serde structs to packed trees, without a tree between: a rank may have many thousands of
//! files. Fields that are declared in the order of their names need no sorting.
//!
//! | Rust | tree |
//! |---|---|
//! | struct | its fields, each under its name |
//! | map | its entries, each under its key |
//! | number, text, [`Name`](super::Name), `char` | one value: `{7: {}}`; `bool` as 0 or 1 |
//! | `None` | as a field: no element; elsewhere: the empty tree |
//! | list, tuple | elements under 0, 1, 2, ..., so order and repetition are kept |
//! | `()` | the empty tree |
//! | enum | the variant's name, with the tree of its content |
//!
//! Texts and bytes must not hold a NUL. `#[serde(flatten)]` does not work: values in a tree
//! do not say of which type they are.
//!
//! [`with`](super::with) has the other forms that SCR's files use.

use super::tree::order;
use super::{Tree, packed};
use crate::{Error, Result};
use serde::Serialize;
use serde::ser;
use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::io::Write;
use std::ops::Range;

/// The tree of a record. Fails only on what no record of ours holds: a text with a NUL, a
/// map key that is no scalar.
pub fn to_tree<T: Serialize + ?Sized>(record: &T) -> Result<Tree> {
    Ok(packed::unpack(&to_message(record)?)?.0)
}

/// A record as bytes to send to another rank; [`from_message`](super::from_message) reads it.
pub fn to_message<T: Serialize + ?Sized>(record: &T) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    write(record, &mut out)?;
    Ok(out)
}

/// Adds the packed tree of a record to `out`.
pub(super) fn write<T: Serialize + ?Sized>(record: &T, out: &mut Vec<u8>) -> Result<()> {
    match record.serialize(Serializer { out }) {
        Ok(true) => {}
        Ok(false) => out.extend_from_slice(&EMPTY),
        Err(SerializeError(what)) => return Err(Error::format(0, what)),
    }
    Ok(())
}

/// The packed form of the empty tree; also the room for a count of elements.
const EMPTY: [u8; 4] = [0; 4];

/// Why a value has no form as a tree.
#[derive(Debug)]
struct SerializeError(String);

impl Display for SerializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SerializeError {}

impl ser::Error for SerializeError {
    fn custom<T: Display>(what: T) -> Self {
        SerializeError(what.to_string())
    }
}

/// Whether there is a value; if not, nothing was written.
type Outcome = std::result::Result<bool, SerializeError>;

struct Serializer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Serializer<'a> {
    /// One value: a name with an empty tree.
    fn value(mut self, bytes: &[u8]) -> Outcome {
        if bytes.contains(&0) {
            let text = String::from_utf8_lossy(bytes);
            return Err(SerializeError(format!("`{text}` holds a NUL")));
        }
        self.begin(bytes);
        self.out.extend_from_slice(&EMPTY);
        Ok(true)
    }

    /// A tree of one element, up to that one's tree.
    fn begin(&mut self, name: &[u8]) {
        self.out.extend_from_slice(&1u32.to_be_bytes());
        self.out.extend_from_slice(name);
        self.out.push(0);
    }

    fn children(mut self, variant: Option<&'static str>) -> ChildSerializer<'a> {
        if let Some(variant) = variant {
            self.begin(variant.as_bytes());
        }
        let start = self.out.len();
        self.out.extend_from_slice(&EMPTY);
        ChildSerializer {
            out: self.out,
            start,
            count: 0,
            last: None,
            sorted: true,
        }
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, v: $type) -> Outcome {
            self.collect_str(&v)
        }
    )*};
}

impl<'a> ser::Serializer for Serializer<'a> {
    type Ok = bool;
    type Error = SerializeError;
    type SerializeSeq = ChildSerializer<'a>;
    type SerializeTuple = ChildSerializer<'a>;
    type SerializeTupleStruct = ChildSerializer<'a>;
    type SerializeTupleVariant = ChildSerializer<'a>;
    type SerializeMap = ChildSerializer<'a>;
    type SerializeStruct = ChildSerializer<'a>;
    type SerializeStructVariant = ChildSerializer<'a>;

    plain! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_i128: i128, serialize_u128: u128, serialize_f32: f32, serialize_f64: f64,
        serialize_char: char,
    }

    fn collect_str<T: Display + ?Sized>(self, v: &T) -> Outcome {
        let start = self.out.len();
        self.out.extend_from_slice(&1u32.to_be_bytes());
        write!(self.out, "{v}").map_err(|e| SerializeError(e.to_string()))?;
        let text = self.out.get(start + EMPTY.len()..).unwrap_or_default();
        if text.contains(&0) {
            return Err(SerializeError(format!("`{v}` holds a NUL")));
        }
        self.out.push(0);
        self.out.extend_from_slice(&EMPTY);
        Ok(true)
    }

    fn serialize_bool(self, v: bool) -> Outcome {
        self.value(if v { b"1" } else { b"0" })
    }

    fn serialize_str(self, v: &str) -> Outcome {
        self.value(v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Outcome {
        self.value(v)
    }

    fn serialize_none(self) -> Outcome {
        Ok(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Outcome {
        v.serialize(self)
    }

    fn serialize_unit(self) -> Outcome {
        self.out.extend_from_slice(&EMPTY);
        Ok(true)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Outcome {
        self.value(variant.as_bytes())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Outcome {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Outcome {
        self.begin(variant.as_bytes());
        whole(self.out, v)?;
        Ok(true)
    }

    fn serialize_seq(
        self,
        _: Option<usize>,
    ) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(None))
    }

    fn serialize_tuple(self, _: usize) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(None))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(Some(variant)))
    }

    fn serialize_map(
        self,
        _: Option<usize>,
    ) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(None))
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> std::result::Result<ChildSerializer<'a>, SerializeError> {
        Ok(self.children(Some(variant)))
    }
}

/// A value, or the empty tree if it is absent.
fn whole<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    v: &T,
) -> std::result::Result<(), SerializeError> {
    if !v.serialize(Serializer { out })? {
        out.extend_from_slice(&EMPTY);
    }
    Ok(())
}

/// A tree that is being filled: by index, by key or by field.
struct ChildSerializer<'a> {
    out: &'a mut Vec<u8>,
    /// Where its count of elements stands.
    start: usize,
    count: u32,
    /// The name of the last element.
    last: Option<Range<usize>>,
    /// Whether the names ascend so far.
    sorted: bool,
}

impl ChildSerializer<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, v: &T) -> std::result::Result<(), SerializeError> {
        write!(self.out, "{}\0", self.count).map_err(|e| SerializeError(e.to_string()))?;
        self.count += 1;
        whole(self.out, v)
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        v: &T,
    ) -> std::result::Result<(), SerializeError> {
        let before = self.out.len();
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(0);
        if v.serialize(Serializer { out: self.out })? {
            self.named(before..before + key.len());
        } else {
            self.out.truncate(before);
        }
        Ok(())
    }

    /// Counts the element whose name is there.
    fn named(&mut self, name: Range<usize>) {
        let bytes = |range: &Range<usize>| self.out.get(range.clone()).unwrap_or_default();
        if let Some(last) = &self.last {
            self.sorted &= order(bytes(last), bytes(&name)) == Ordering::Less;
        }
        self.last = Some(name);
        self.count += 1;
    }

    fn end(self) -> Outcome {
        let count = self.count.to_be_bytes();
        if let Some(place) = self.out.get_mut(self.start..self.start + count.len()) {
            place.copy_from_slice(&count);
        }
        if !self.sorted {
            // A tree sorts itself; of several elements of one name the last counts.
            let packed = self.out.get(self.start..).unwrap_or_default();
            let (tree, _) = packed::unpack(packed).map_err(|e| SerializeError(e.to_string()))?;
            self.out.truncate(self.start);
            packed::pack_into(self.out, &tree);
        }
        Ok(true)
    }
}

impl ser::SerializeMap for ChildSerializer<'_> {
    type Ok = bool;
    type Error = SerializeError;

    fn serialize_key<T: Serialize + ?Sized>(
        &mut self,
        key: &T,
    ) -> std::result::Result<(), SerializeError> {
        // One value is a count of 1, the name with its NUL, and an empty tree.
        let start = self.out.len();
        let there = key.serialize(Serializer { out: self.out })?;
        let packed = self.out.get(start..).unwrap_or_default();
        let name = packed.strip_prefix(&1u32.to_be_bytes());
        let name = name.and_then(|rest| rest.strip_suffix(&EMPTY)?.strip_suffix(&[0]));
        let length = name
            .filter(|name| there && !name.contains(&0))
            .map(<[u8]>::len);
        let length = length.ok_or_else(|| SerializeError("a key must be one value".into()))?;
        self.out.drain(start..start + EMPTY.len());
        self.out.truncate(start + length + 1);
        self.named(start..start + length);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(
        &mut self,
        v: &T,
    ) -> std::result::Result<(), SerializeError> {
        whole(self.out, v)
    }

    fn end(self) -> Outcome {
        ChildSerializer::end(self)
    }
}

macro_rules! children {
    ($($trait:ident, $method:ident: $of:ident($($key:ident)?);)*) => {$(
        impl ser::$trait for ChildSerializer<'_> {
            type Ok = bool;
            type Error = SerializeError;
            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                v: &T,
            ) -> std::result::Result<(), SerializeError> {
                self.$of($($key,)? v)
            }
            fn end(self) -> Outcome {
                ChildSerializer::end(self)
            }
        }
    )*};
}

children! {
    SerializeSeq, serialize_element: push();
    SerializeTuple, serialize_element: push();
    SerializeTupleStruct, serialize_field: push();
    SerializeTupleVariant, serialize_field: push();
    SerializeStruct, serialize_field: field(key);
    SerializeStructVariant, serialize_field: field(key);
}
