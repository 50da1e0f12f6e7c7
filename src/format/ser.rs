//! From serde structs to trees.
//!
//! | Rust | tree |
//! |---|---|
//! | struct | its fields, each under its name |
//! | map | its entries, each under its key |
//! | number, text, [`Name`], `char` | one value: `{7: {}}`; `bool` as 0 or 1 |
//! | `None` | as a field: no element; elsewhere: the empty tree |
//! | list, tuple | elements under 0, 1, 2, ..., so order and repetition are kept |
//! | `()` | the empty tree |
//! | enum | the variant's name, with the tree of its content |
//!
//! Texts and bytes must not hold a NUL. `#[serde(flatten)]` does not work: values in a tree
//! do not say of which type they are.
//!
//! [`with`](super::with) has the other forms that SCR's files use.

use super::{Name, Tree, packed};
use crate::{Error, Result};
use serde::Serialize;
use serde::ser;
use std::fmt::{self, Display};

/// The tree of a record. Fails only on what no record of ours holds: a text with a NUL, a
/// map key that is no scalar.
pub fn to_tree<T: Serialize + ?Sized>(record: &T) -> Result<Tree> {
    let tree = record
        .serialize(Serializer)
        .map_err(|Fault(what)| Error::format(0, what))?;
    Ok(tree.unwrap_or_default())
}

/// A record as bytes to send to another rank; [`from_message`](super::from_message) reads it.
pub fn to_message<T: Serialize + ?Sized>(record: &T) -> Result<Vec<u8>> {
    Ok(packed::pack(&to_tree(record)?))
}

/// Why a value has no form as a tree.
#[derive(Debug)]
struct Fault(String);

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: Display>(what: T) -> Self {
        Fault(what.to_string())
    }
}

/// `None` is an absent value.
type Outcome = std::result::Result<Option<Tree>, Fault>;

struct Serializer;

fn value(bytes: &[u8]) -> Outcome {
    if bytes.contains(&0) {
        return Err(Fault(format!(
            "`{}` holds a NUL",
            String::from_utf8_lossy(bytes)
        )));
    }
    Ok(Some(Tree::of_value(bytes)))
}

macro_rules! plain {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, v: $type) -> Outcome {
            value(v.to_string().as_bytes())
        }
    )*};
}

impl ser::Serializer for Serializer {
    type Ok = Option<Tree>;
    type Error = Fault;
    type SerializeSeq = Children;
    type SerializeTuple = Children;
    type SerializeTupleStruct = Children;
    type SerializeTupleVariant = Children;
    type SerializeMap = Children;
    type SerializeStruct = Children;
    type SerializeStructVariant = Children;

    plain! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_i128: i128, serialize_u128: u128, serialize_f32: f32, serialize_f64: f64,
        serialize_char: char,
    }

    fn serialize_bool(self, v: bool) -> Outcome {
        value(if v { b"1" } else { b"0" })
    }

    fn serialize_str(self, v: &str) -> Outcome {
        value(v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Outcome {
        value(v)
    }

    fn serialize_none(self) -> Outcome {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Outcome {
        v.serialize(self)
    }

    fn serialize_unit(self) -> Outcome {
        Ok(Some(Tree::new()))
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Outcome {
        value(variant.as_bytes())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Outcome {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Outcome {
        let mut children = Children::of(Some(variant));
        children.tree = v.serialize(self)?.unwrap_or_default();
        children.end()
    }

    fn serialize_seq(self, _: Option<usize>) -> std::result::Result<Children, Fault> {
        Ok(Children::of(None))
    }

    fn serialize_tuple(self, _: usize) -> std::result::Result<Children, Fault> {
        Ok(Children::of(None))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> std::result::Result<Children, Fault> {
        Ok(Children::of(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> std::result::Result<Children, Fault> {
        Ok(Children::of(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> std::result::Result<Children, Fault> {
        Ok(Children::of(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> std::result::Result<Children, Fault> {
        Ok(Children::of(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> std::result::Result<Children, Fault> {
        Ok(Children::of(Some(variant)))
    }
}

/// A tree that is being filled: by index, by key or by field.
struct Children {
    /// Of an enum: the name above the tree.
    variant: Option<&'static str>,
    tree: Tree,
    /// The key whose value comes next.
    key: Name,
}

impl Children {
    fn of(variant: Option<&'static str>) -> Self {
        Children {
            variant,
            tree: Tree::new(),
            key: Name::default(),
        }
    }

    fn push<T: Serialize + ?Sized>(&mut self, v: &T) -> std::result::Result<(), Fault> {
        let index = self.tree.len().to_string();
        self.tree
            .set(index, v.serialize(Serializer)?.unwrap_or_default());
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        v: &T,
    ) -> std::result::Result<(), Fault> {
        if let Some(tree) = v.serialize(Serializer)? {
            self.tree.set(key, tree);
        }
        Ok(())
    }

    fn end(self) -> Outcome {
        let Children { variant, tree, .. } = self;
        Ok(Some(match variant {
            Some(variant) => Tree::of_elements(vec![(variant.into(), tree)]),
            None => tree,
        }))
    }
}

impl ser::SerializeMap for Children {
    type Ok = Option<Tree>;
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> std::result::Result<(), Fault> {
        let key = key.serialize(Serializer)?;
        let name = key.as_ref().and_then(Tree::sole);
        self.key = name
            .cloned()
            .ok_or_else(|| Fault("a key must be one value".into()))?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> std::result::Result<(), Fault> {
        let tree = v.serialize(Serializer)?.unwrap_or_default();
        self.tree.set(std::mem::take(&mut self.key), tree);
        Ok(())
    }

    fn end(self) -> Outcome {
        Children::end(self)
    }
}

macro_rules! children {
    ($($trait:ident, $method:ident: $of:ident($($key:ident)?);)*) => {$(
        impl ser::$trait for Children {
            type Ok = Option<Tree>;
            type Error = Fault;
            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                v: &T,
            ) -> std::result::Result<(), Fault> {
                self.$of($($key,)? v)
            }
            fn end(self) -> Outcome {
                Children::end(self)
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
