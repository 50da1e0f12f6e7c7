//! From trees to serde structs: the way back of [`ser`](super::ser).
//!
//! Keys that a struct does not know are passed over. An error says which keys lead to the
//! fault: "DSET/3/CKPT: `abc` is not a number".

use super::{Name, Tree, packed};
use crate::{Error, Result};
use serde::de::value::{BorrowedBytesDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use std::fmt::{self, Display};

/// Reads a record from a tree.
pub fn from_tree<T: DeserializeOwned>(tree: &Tree) -> Result<T> {
    record(tree).map_err(|fault| Error::format(0, fault.to_string()))
}

/// Reads a value from a message of [`to_message`](super::to_message) on another rank.
pub fn from_message<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let (tree, used) = packed::unpack(bytes)?;
    if used != bytes.len() {
        let what = format!(
            "{} bytes are left over after the record",
            bytes.len() - used
        );
        return Err(Error::format(used as u64, what));
    }
    from_tree(&tree)
}

pub(super) fn record<T: DeserializeOwned>(tree: &Tree) -> Outcome<T> {
    T::deserialize(TreeDeserializer { tree, field: false })
}

type Outcome<T> = std::result::Result<T, DeserializeError>;

/// The reason why a tree is not the expected record.
#[derive(Debug)]
pub(super) struct DeserializeError {
    /// Keys that lead to it, the innermost first.
    keys: Vec<String>,
    what: String,
}

impl DeserializeError {
    fn under(mut self, key: &Name) -> Self {
        self.keys.push(super::print::escaped(key));
        self
    }
}

impl Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, key) in self.keys.iter().rev().enumerate() {
            write!(f, "{}{key}", if n > 0 { "/" } else { "" })?;
        }
        write!(
            f,
            "{}{}",
            if self.keys.is_empty() { "" } else { ": " },
            self.what
        )
    }
}

impl std::error::Error for DeserializeError {}

impl de::Error for DeserializeError {
    fn custom<T: Display>(what: T) -> Self {
        DeserializeError {
            keys: Vec::new(),
            what: what.to_string(),
        }
    }

    fn missing_field(field: &'static str) -> Self {
        de::Error::custom(format_args!("there is no {field}"))
    }
}

/// A tree that stands for a value.
#[derive(Clone, Copy)]
struct TreeDeserializer<'de> {
    tree: &'de Tree,
    /// True under a field of a struct, where absence is the absence of the element. Elsewhere
    /// the empty tree is the form of `None`.
    field: bool,
}

impl<'de> TreeDeserializer<'de> {
    fn value(self) -> Outcome<&'de Name> {
        self.tree.sole().ok_or_else(|| match self.tree.len() {
            0 => de::Error::custom("there is no value"),
            n => de::Error::custom(format_args!("there are {n} values in place of one")),
        })
    }

    fn children(self, field: bool) -> ChildDeserializer<'de> {
        ChildDeserializer {
            rest: self.tree.elements(),
            field,
            next: None,
            index: 0,
        }
    }
}

fn bad(name: &Name, what: &str) -> DeserializeError {
    de::Error::custom(format_args!("`{}` {what}", super::print::escaped(name)))
}

fn parse<T: std::str::FromStr>(name: &Name) -> Outcome<T> {
    name.number().ok_or_else(|| match name.number::<i128>() {
        // A number in itself, but not of the size or sign that is asked for.
        Some(_) => bad(name, "is not in range"),
        None => bad(name, "is not a number"),
    })
}

fn letter(name: &Name) -> Outcome<char> {
    name.number().ok_or_else(|| bad(name, "is not one letter"))
}

fn boolean(name: &Name) -> Outcome<bool> {
    match name.as_bytes() {
        b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(bad(name, "is neither 0 nor 1")),
    }
}

fn text(name: &Name) -> Outcome<&str> {
    name.as_str().ok_or_else(|| bad(name, "is not UTF-8"))
}

macro_rules! scalars {
    ($name:ident: $($method:ident $visit:ident $read:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
            let $name = self.value()?;
            visitor.$visit($read?)
        }
    )*};
}

macro_rules! all_scalars {
    () => {
        scalars! { name:
            deserialize_bool visit_bool boolean(name);
            deserialize_i8 visit_i8 parse(name);
            deserialize_i16 visit_i16 parse(name);
            deserialize_i32 visit_i32 parse(name);
            deserialize_i64 visit_i64 parse(name);
            deserialize_u8 visit_u8 parse(name);
            deserialize_u16 visit_u16 parse(name);
            deserialize_u32 visit_u32 parse(name);
            deserialize_u64 visit_u64 parse(name);
            deserialize_f32 visit_f32 parse(name);
            deserialize_f64 visit_f64 parse(name);
            deserialize_char visit_char letter(name);
            deserialize_str visit_borrowed_str text(name);
            deserialize_string visit_borrowed_str text(name);
            deserialize_bytes visit_borrowed_bytes Ok::<_, DeserializeError>(name.as_bytes());
            deserialize_byte_buf visit_borrowed_bytes Ok::<_, DeserializeError>(name.as_bytes());
        }
    };
}

/// Methods that pass the visitor on. In brackets: the types of arguments that are not used.
macro_rules! visits {
    ($self:ident, $visitor:ident: $($method:ident($($unused:ty),*) $visit:expr;)*) => {$(
        fn $method<V: Visitor<'de>>($self, $(_: $unused,)* $visitor: V) -> Outcome<V::Value> {
            $visit
        }
    )*};
}

impl<'de> de::Deserializer<'de> for TreeDeserializer<'de> {
    type Error = DeserializeError;

    all_scalars!();

    visits! { self, visitor:
        deserialize_unit() visitor.visit_unit();
        deserialize_unit_struct(&'static str) visitor.visit_unit();
        deserialize_ignored_any() visitor.visit_unit();
        deserialize_newtype_struct(&'static str) visitor.visit_newtype_struct(self);
        deserialize_seq() visitor.visit_seq(self.children(false));
        deserialize_tuple(usize) visitor.visit_seq(self.children(false));
        deserialize_tuple_struct(&'static str, usize) visitor.visit_seq(self.children(false));
        deserialize_map() visitor.visit_map(self.children(false));
        deserialize_struct(&'static str, &'static [&'static str])
            visitor.visit_map(self.children(true));
        deserialize_enum(&'static str, &'static [&'static str])
            visitor.visit_enum(text(self.value()?)?.into_deserializer());
        deserialize_identifier() self.deserialize_bytes(visitor);
    }

    /// If no type is asked for, one element without a tree is a value, and anything else a map.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        let value = self.tree.iter().next().filter(|(_, sub)| sub.is_empty());
        match value {
            Some((name, _)) if self.tree.len() == 1 => match name.as_str() {
                Some(text) => visitor.visit_borrowed_str(text),
                None => visitor.visit_borrowed_bytes(name.as_bytes()),
            },
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        if self.tree.is_empty() && !self.field {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }
}

/// A key of a map or a struct.
#[derive(Clone, Copy)]
struct Key<'de>(&'de Name);

impl<'de> Key<'de> {
    fn value(self) -> Outcome<&'de Name> {
        Ok(self.0)
    }
}

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = DeserializeError;

    all_scalars!();

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.0.as_str() {
            Some(text) => StrDeserializer::new(text).deserialize_any(visitor),
            None => BorrowedBytesDeserializer::new(self.0.as_bytes()).deserialize_any(visitor),
        }
    }

    visits! { self, visitor:
        deserialize_newtype_struct(&'static str) visitor.visit_newtype_struct(self);
        deserialize_enum(&'static str, &'static [&'static str])
            visitor.visit_enum(text(self.0)?.into_deserializer());
        // As bytes: an unknown key need not be UTF-8 to be passed over.
        deserialize_identifier() visitor.visit_borrowed_bytes(self.0.as_bytes());
    }

    serde::forward_to_deserialize_any! {
        option unit unit_struct seq tuple tuple_struct map struct ignored_any
    }
}

/// The elements of a tree, as a list or as a map.
struct ChildDeserializer<'de> {
    rest: std::slice::Iter<'de, (Name, Tree)>,
    field: bool,
    /// The element whose key was given last.
    next: Option<&'de (Name, Tree)>,
    /// The next index, if this is a list.
    index: usize,
}

impl<'de> de::MapAccess<'de> for ChildDeserializer<'de> {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Outcome<Option<K::Value>> {
        self.next = self.rest.next();
        let key = self.next.map(|(name, _)| seed.deserialize(Key(name)));
        key.transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Outcome<V::Value> {
        let Some((name, tree)) = self.next.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(TreeDeserializer {
            tree,
            field: self.field,
        })
        .map_err(|e| e.under(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

impl<'de> de::SeqAccess<'de> for ChildDeserializer<'de> {
    type Error = DeserializeError;

    /// Indices must be 0, 1, 2, ...: a gap means that something is lost.
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Outcome<Option<T::Value>> {
        let Some((name, tree)) = self.rest.next() else {
            return Ok(None);
        };
        if name.number() != Some(self.index) {
            let what = format!("stands where index {} is due", self.index);
            return Err(bad(name, &what));
        }
        self.index += 1;
        let element = seed.deserialize(TreeDeserializer { tree, field: false });
        element.map(Some).map_err(|e| e.under(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}
