//! The tree of byte strings that all records are made of.

use crate::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// A key or a value: any bytes but NUL.
///
/// Decimal integers come first, by number; all others follow, by bytes. Since trees are kept
/// in this order, lists come in the order of their indices and printed trees are sorted.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Name(Box<[u8]>);

impl Name {
    /// A name of these bytes, up to the first NUL, as a C string would hold it.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes = bytes.into();
        if let Some(end) = bytes.iter().position(|&b| b == 0) {
            bytes.truncate(end);
        }
        Name(bytes.into_boxed_slice())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// True for the name of no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name as text if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The name as a number, in plain decimal.
    pub fn number<T: std::str::FromStr>(&self) -> Option<T> {
        self.as_str()?.parse().ok()
    }

    /// The path of this name below `root`. A name that was read from a file may be hostile:
    /// an absolute path, an empty one or one with a `..` is an error. Looks at the letters
    /// only, not at the file system.
    pub fn below(&self, root: &Path) -> Result<PathBuf> {
        let plain = |c| matches!(c, Component::Normal(_) | Component::CurDir);
        let path = self.as_path();
        if path.file_name().is_some() && path.components().all(plain) {
            Ok(root.join(path))
        } else {
            let what = format!("`{}` does not name a file below {}", self, root.display());
            Err(Error::format(0, what))
        }
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

/// The order of names, by their bytes.
pub(super) fn order(a: &[u8], b: &[u8]) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A decimal integer in its one canonical form. Without leading zeros, equal numbers are
/// equal bytes, as an order must have it.
enum Integer<'a> {
    Negative(&'a [u8]),
    Natural(&'a [u8]),
}

impl Integer<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |a: &[u8], b: &[u8]| a.len().cmp(&b.len()).then_with(|| a.cmp(b));
        match (self, other) {
            (Integer::Natural(a), Integer::Natural(b)) => size(a, b),
            (Integer::Negative(a), Integer::Negative(b)) => size(b, a),
            (Integer::Negative(_), Integer::Natural(_)) => Ordering::Less,
            (Integer::Natural(_), Integer::Negative(_)) => Ordering::Greater,
        }
    }
}

fn integer(bytes: &[u8]) -> Option<Integer<'_>> {
    let natural = |digits: &[u8]| {
        digits.iter().all(u8::is_ascii_digit) && matches!(digits, [b'0'] | [b'1'..=b'9', ..])
    };
    match bytes {
        [b'-', b'1'..=b'9', ..] => bytes.get(1..).filter(|d| natural(d)).map(Integer::Negative),
        _ => natural(bytes).then_some(Integer::Natural(bytes)),
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Name::new(text)
    }
}

impl From<&[u8]> for Name {
    fn from(bytes: &[u8]) -> Self {
        Name::new(bytes)
    }
}

impl From<&Path> for Name {
    fn from(path: &Path) -> Self {
        Name::new(path.as_os_str().as_bytes())
    }
}

impl From<&OsStr> for Name {
    fn from(text: &OsStr) -> Self {
        Name::new(text.as_bytes())
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        name.clone()
    }
}

impl From<Name> for PathBuf {
    fn from(name: Name) -> Self {
        PathBuf::from(OsString::from_vec(name.0.into_vec()))
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> std::result::Result<Name, E> {
                Ok(Name::from(bytes))
            }
        }
        d.deserialize_bytes(Visitor)
    }
}

/// An ordered map from names to trees. A value is a name with an empty tree.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Tree(
    /// Sorted by name, names distinct. Most trees hold one value, and this is the smallest form for
    /// one.
    Vec<(Name, Tree)>,
);

impl Tree {
    /// The empty tree.
    pub fn new() -> Self {
        Tree::default()
    }

    /// The tree `{value: {}}`.
    pub fn of_value(value: impl Into<Name>) -> Self {
        Tree(vec![(value.into(), Tree::new())])
    }

    /// A tree of these elements. If a tree has several elements of one name, the last counts, as in
    /// a lookup by C SCR.
    pub fn of_elements(mut elements: Vec<(Name, Tree)>) -> Self {
        let sorted = elements.windows(2).all(|pair| match pair {
            [a, b] => a.0 < b.0,
            _ => true,
        });
        if !sorted {
            elements.reverse();
            elements.sort_by(|a, b| a.0.cmp(&b.0));
            elements.dedup_by(|a, b| a.0 == b.0);
        }
        Tree(elements)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The elements, in the order of [`Name`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Tree)> {
        self.0.iter().map(|(name, tree)| (name, tree))
    }

    /// The elements, for an iterator that can be named.
    pub(super) fn elements(&self) -> std::slice::Iter<'_, (Name, Tree)> {
        self.0.iter()
    }

    /// The tree under `key`.
    pub fn get(&self, key: impl Into<Name>) -> Option<&Tree> {
        let key = key.into();
        let at = self.0.binary_search_by(|(name, _)| name.cmp(&key)).ok()?;
        self.0.get(at).map(|(_, tree)| tree)
    }

    /// Puts `tree` under `key`, in place of any earlier tree.
    pub fn set(&mut self, key: impl Into<Name>, tree: Tree) -> &mut Self {
        let key = key.into();
        match self.0.binary_search_by(|(name, _)| name.cmp(&key)) {
            Ok(at) => {
                if let Some(slot) = self.0.get_mut(at) {
                    slot.1 = tree;
                }
            }
            Err(at) => self.0.insert(at, (key, tree)),
        }
        self
    }

    /// Takes the element `key` out.
    pub fn remove(&mut self, key: impl Into<Name>) -> Option<Tree> {
        let key = key.into();
        let at = self.0.binary_search_by(|(name, _)| name.cmp(&key)).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Gives `key` this one value, in place of any earlier values.
    pub fn set_value(&mut self, key: impl Into<Name>, value: impl Into<Name>) -> &mut Self {
        self.set(key, Tree::of_value(value))
    }

    /// Gives `key` one more value.
    pub fn add_value(&mut self, key: impl Into<Name>, value: impl Into<Name>) -> &mut Self {
        let key = key.into();
        let mut values = self.remove(&key).unwrap_or_default();
        values.set(value, Tree::new());
        self.set(key, values)
    }

    /// The one value of this tree: the name of its only element.
    pub fn sole(&self) -> Option<&Name> {
        match self.0.as_slice() {
            [(name, _)] => Some(name),
            _ => None,
        }
    }

    /// The one value of `key`.
    pub fn value(&self, key: impl Into<Name>) -> Option<&Name> {
        self.get(key)?.sole()
    }

    /// All values of `key`.
    pub fn values(&self, key: impl Into<Name>) -> impl Iterator<Item = &Name> {
        self.get(key)
            .into_iter()
            .flat_map(|tree| tree.iter().map(|(name, _)| name))
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_first_and_by_number() {
        let mut names: Vec<Name> = [
            "b",
            "10",
            "9",
            "-1",
            "a",
            "01",
            "-10",
            "",
            "0",
            "-0",
            "99999999999999999999999",
        ]
        .map(Name::from)
        .to_vec();
        names.sort();
        let texts: Vec<String> = names.iter().map(Name::to_string).collect();
        let sorted = [
            "-10",
            "-1",
            "0",
            "9",
            "10",
            "99999999999999999999999",
            "",
            "-0",
            "01",
            "a",
            "b",
        ];
        assert_eq!(texts, sorted);
    }

    #[test]
    fn elements_are_found_replaced_and_removed() {
        let mut tree = Tree::new();
        tree.set_value("NODES", "4")
            .set_value("NODES", "5")
            .add_value("AT", "PFS");
        tree.add_value("AT", "CACHE");
        assert_eq!(tree.value("NODES"), Some(&Name::from("5")));
        assert_eq!(tree.value("AT"), None, "two values are not one");
        let at: Vec<_> = tree.values("AT").map(Name::to_string).collect();
        assert_eq!(at, ["CACHE", "PFS"]);
        assert!(tree.remove("AT").is_some() && tree.remove("AT").is_none());
        assert_eq!(tree.len(), 1);
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        for elements in [
            vec![("a", "1"), ("b", "2"), ("a", "3")],
            vec![("a", "1"), ("a", "3")],
            vec![("a", "1"), ("a", "3"), ("b", "2")],
        ] {
            let elements = elements.into_iter();
            let tree = Tree::of_elements(
                elements
                    .map(|(k, v)| (k.into(), Tree::of_value(v)))
                    .collect(),
            );
            assert_eq!(
                tree.iter().filter(|(name, _)| **name == "a".into()).count(),
                1
            );
            assert_eq!(tree.value("a"), Some(&Name::from("3")));
        }
    }

    #[test]
    fn names_from_files_stay_below_their_root() {
        let root = Path::new("/pfs/run");
        let below = |n: &str| Name::from(n).below(root);
        assert_eq!(below("a/./b").ok(), Some(root.join("a/b")));
        for hostile in ["", "/etc/passwd", "../x", "a/../../x", "a/..", ".", "/"] {
            assert!(below(hostile).is_err(), "{hostile}");
        }
    }

    #[test]
    fn a_name_ends_at_nul() {
        assert_eq!(Name::new(&b"ab\0cd"[..]).as_bytes(), b"ab");
    }
}
