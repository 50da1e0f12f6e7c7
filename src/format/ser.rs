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
//! | enum without data | the variant's name, as a value |
//!
//! Texts and bytes must not hold a NUL. Variants with data, and integers of 128 bits, are errors.
//! `#[serde(flatten)]` does not work: values in a tree do not tell their type.
//!
//! [`with`](super::with) has the other forms that SCR's files use.

use super::tree::order;
use super::{Tree, packed};
use crate::{Error, Result};
use serde::Serialize;
use serde::de::value::Error as SerializeError;
use serde::ser::{self, Impossible};
use std::cmp::Ordering;
use std::fmt::Display;
use std::io::{self, Write};

/// The tree of a record. Fails only on values that no record of ours has: a text with a NUL, a map
/// key that is not a scalar.
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
        Err(error) => return Err(Error::format(0, error.to_string())),
    }
    Ok(())
}

/// The packed form of the empty tree; also the room for a count of elements.
const EMPTY: [u8; 4] = [0; 4];

/// True if a value was written.
type Outcome = Attempt<bool>;

type Attempt<T> = std::result::Result<T, SerializeError>;

struct Serializer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Serializer<'a> {
    /// One value: a name, which `write` writes, with an empty tree.
    fn value(self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Outcome {
        self.out.extend_from_slice(&1u32.to_be_bytes());
        let start = self.out.len();
        write(self.out).map_err(ser::Error::custom)?;
        let name = self.out.get(start..).unwrap_or_default();
        if name.contains(&0) {
            let text = String::from_utf8_lossy(name);
            return Err(ser::Error::custom(format_args!("`{text}` holds a NUL")));
        }
        self.out.push(0);
        self.out.extend_from_slice(&EMPTY);
        Ok(true)
    }

    fn children(self) -> Attempt<ChildSerializer<'a>> {
        let start = self.out.len();
        self.out.extend_from_slice(&EMPTY);
        Ok(ChildSerializer {
            out: self.out,
            start,
            count: 0,
            last: None,
            sorted: true,
        })
    }
}

/// The error of an enum's variant with data.
fn no_form<T>(name: &str, variant: &str) -> Attempt<T> {
    let what = format_args!("{name}::{variant} has data, for which there is no form");
    Err(ser::Error::custom(what))
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
    type SerializeTupleVariant = Impossible<bool, SerializeError>;
    type SerializeMap = ChildSerializer<'a>;
    type SerializeStruct = ChildSerializer<'a>;
    type SerializeStructVariant = Impossible<bool, SerializeError>;

    plain! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_f32: f32, serialize_f64: f64, serialize_char: char,
    }

    fn collect_str<T: Display + ?Sized>(self, v: &T) -> Outcome {
        self.value(|out| write!(out, "{v}"))
    }

    fn serialize_bool(self, v: bool) -> Outcome {
        self.serialize_u8(v.into())
    }

    fn serialize_str(self, v: &str) -> Outcome {
        self.serialize_bytes(v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Outcome {
        self.value(|out| out.write_all(v))
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
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Outcome {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: &T,
    ) -> Outcome {
        no_form(name, variant)
    }

    fn serialize_seq(self, _: Option<usize>) -> Attempt<ChildSerializer<'a>> {
        self.children()
    }

    fn serialize_tuple(self, _: usize) -> Attempt<ChildSerializer<'a>> {
        self.children()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Attempt<ChildSerializer<'a>> {
        self.children()
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Attempt<Self::SerializeTupleVariant> {
        no_form(name, variant)
    }

    fn serialize_map(self, _: Option<usize>) -> Attempt<ChildSerializer<'a>> {
        self.children()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Attempt<ChildSerializer<'a>> {
        self.children()
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Attempt<Self::SerializeStructVariant> {
        no_form(name, variant)
    }
}

/// A value, or the empty tree if it is absent.
fn whole<T: Serialize + ?Sized>(out: &mut Vec<u8>, v: &T) -> Attempt<()> {
    if !v.serialize(Serializer { out })? {
        out.extend_from_slice(&EMPTY);
    }
    Ok(())
}

/// A tree that is being filled: by index, by key or by field.
struct ChildSerializer<'a> {
    out: &'a mut Vec<u8>,
    /// Offset of its count of elements.
    start: usize,
    count: u32,
    /// Offset of the name of the last element.
    last: Option<usize>,
    /// True if the names ascend so far.
    sorted: bool,
}

impl ChildSerializer<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, v: &T) -> Attempt<()> {
        write!(self.out, "{}\0", self.count).map_err(ser::Error::custom)?;
        self.count += 1;
        whole(self.out, v)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, v: &T) -> Attempt<()> {
        let before = self.out.len();
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(0);
        if v.serialize(Serializer { out: self.out })? {
            self.count_named(before);
        } else {
            self.out.truncate(before);
        }
        Ok(())
    }

    /// Counts the element whose name, closed by NUL, begins there.
    fn count_named(&mut self, start: usize) {
        let bytes = |start: usize| {
            let rest = self.out.get(start..).unwrap_or_default();
            rest.split(|byte| *byte == 0).next().unwrap_or_default()
        };
        if let Some(last) = self.last {
            self.sorted &= order(bytes(last), bytes(start)) == Ordering::Less;
        }
        self.last = Some(start);
        self.count += 1;
    }

    fn end(self) -> Outcome {
        let count = self.count.to_be_bytes();
        if let Some(place) = self.out.get_mut(self.start..self.start + count.len()) {
            place.copy_from_slice(&count);
        }
        if !self.sorted {
            let packed = self.out.get(self.start..).unwrap_or_default();
            let sorted = packed::sorted(packed).map_err(ser::Error::custom)?;
            self.out.truncate(self.start);
            self.out.extend_from_slice(&sorted);
        }
        Ok(true)
    }
}

impl ser::SerializeMap for ChildSerializer<'_> {
    type Ok = bool;
    type Error = SerializeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Attempt<()> {
        // One value is a count of 1, the name with its NUL, and an empty tree.
        let start = self.out.len();
        key.serialize(Serializer { out: self.out })?;
        let packed = self.out.get(start..).unwrap_or_default();
        let name = packed.strip_prefix(&1u32.to_be_bytes());
        let name = name.and_then(|rest| rest.strip_suffix(&EMPTY)?.strip_suffix(&[0]));
        let length = name.filter(|name| !name.contains(&0)).map(<[u8]>::len);
        let length = length.ok_or_else(|| ser::Error::custom("a key must be one value"))?;
        self.out.drain(start..start + EMPTY.len());
        self.out.truncate(start + length + 1);
        self.count_named(start);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Attempt<()> {
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
            ) -> Attempt<()> {
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
    SerializeStruct, serialize_field: field(key);
}
