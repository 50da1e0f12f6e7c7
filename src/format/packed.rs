//! The packed form of a tree, in files and messages.
//!
//! A 4-byte big-endian count of elements, then for each element its name, closed by NUL, and
//! the packed form of its tree.

use super::tree::order;
use super::{Name, Tree};
use crate::{Error, Result};

/// Trees deeper than this are refused. SCR's own files reach about 10.
pub const MAX_DEPTH: usize = 64;

/// Smallest packed element: a name of no bytes with its NUL, and the count of an empty tree.
const MIN_ELEMENT: usize = 5;

/// Adds the packed form of a tree to `out`.
pub(super) fn pack_into(out: &mut Vec<u8>, tree: &Tree) {
    // 2^32 siblings would take 300 GB of memory before they came here.
    out.extend_from_slice(&(tree.len() as u32).to_be_bytes());
    for (name, sub) in tree.iter() {
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        pack_into(out, sub);
    }
}

/// Unpacks the tree at the start of `bytes`, and returns it with its length. The bytes are untrusted:
/// memory is at most about 20 times their number, and the depth at most [`MAX_DEPTH`].
pub fn unpack(bytes: &[u8]) -> Result<(Tree, usize)> {
    unpack_at(bytes, 0)
}

/// Like [`unpack`], with offsets in errors counted from `base` bytes before `bytes`.
pub(super) fn unpack_at(bytes: &[u8], base: u64) -> Result<(Tree, usize)> {
    let mut reader = PackedReader {
        rest: bytes,
        total: bytes.len(),
        base,
    };
    let tree = reader.tree(0)?;
    Ok((tree, reader.position()))
}

/// A packed tree with its elements in the order of names; if several have one name, the last counts.
/// The trees below them stay as they are.
pub(super) fn sorted(packed: &[u8]) -> Result<Vec<u8>> {
    let mut reader = PackedReader {
        rest: packed,
        total: packed.len(),
        base: 0,
    };
    let count = reader.count(0)?;
    let mut elements = Vec::with_capacity(count.min(16));
    for _ in 0..count {
        let from = reader.rest;
        let name = reader.name()?;
        reader.skip(1)?;
        let length = from.len() - reader.rest.len();
        elements.push((name, from.get(..length).unwrap_or_default()));
    }
    elements.reverse();
    elements.sort_by(|(a, _), (b, _)| order(a, b));
    elements.dedup_by(|(a, _), (b, _)| a == b);
    let mut out = Vec::with_capacity(packed.len());
    out.extend_from_slice(&(elements.len() as u32).to_be_bytes());
    let whole = elements.into_iter().map(|(_, whole)| whole);
    whole.for_each(|element| out.extend_from_slice(element));
    Ok(out)
}

struct PackedReader<'a> {
    rest: &'a [u8],
    total: usize,
    base: u64,
}

impl<'a> PackedReader<'a> {
    fn position(&self) -> usize {
        self.total - self.rest.len()
    }

    fn error(&self, what: impl Into<String>) -> Error {
        Error::format(self.base + self.position() as u64, what)
    }

    /// The number of elements of the tree that begins here.
    fn count(&mut self, depth: usize) -> Result<usize> {
        let Some((head, rest)) = self.rest.split_first_chunk::<4>() else {
            return Err(self.error("the tree ends before a count of elements"));
        };
        let count = u32::from_be_bytes(*head) as usize;
        if count > rest.len() / MIN_ELEMENT {
            let left = rest.len();
            return Err(self.error(format!("{count} elements cannot be in {left} bytes")));
        }
        if count > 0 && depth == MAX_DEPTH {
            return Err(self.error(format!("the tree is deeper than {MAX_DEPTH} levels")));
        }
        self.rest = rest;
        Ok(count)
    }

    fn tree(&mut self, depth: usize) -> Result<Tree> {
        let count = self.count(depth)?;
        // The count is not trusted, so memory is reserved for a few elements only.
        let mut elements = Vec::with_capacity(count.min(16));
        for _ in 0..count {
            let name = Name::from(self.name()?);
            elements.push((name, self.tree(depth + 1)?));
        }
        Ok(Tree::of_elements(elements))
    }

    /// Goes behind a tree.
    fn skip(&mut self, depth: usize) -> Result<()> {
        for _ in 0..self.count(depth)? {
            self.name()?;
            self.skip(depth + 1)?;
        }
        Ok(())
    }

    fn name(&mut self) -> Result<&'a [u8]> {
        let rest = self.rest;
        let nul = rest.iter().position(|&b| b == 0);
        let (Some(name), Some(rest)) = (
            nul.and_then(|n| rest.get(..n)),
            nul.and_then(|n| rest.get(n + 1..)),
        ) else {
            return Err(self.error("a name has no end"));
        };
        self.rest = rest;
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_format() {
        let mut tree = Tree::new();
        tree.set_value("NODES", "1");
        let bytes = b"\0\0\0\x01NODES\0\0\0\0\x011\0\0\0\0\0";
        let mut out = Vec::new();
        pack_into(&mut out, &tree);
        assert_eq!(out, bytes);
        assert_eq!(unpack(bytes), Ok((tree, bytes.len())));
    }

    #[test]
    fn bytes_after_the_tree_are_left() {
        assert_eq!(unpack(b"\0\0\0\0xyz"), Ok((Tree::new(), 4)));
    }

    fn offset_of(bytes: &[u8]) -> (u64, String) {
        match unpack(bytes) {
            Err(Error::Format { offset, what, .. }) => (offset, what),
            other => (u64::MAX, format!("{other:?}")),
        }
    }

    #[test]
    fn damage_is_named_with_its_offset() {
        assert_eq!(
            offset_of(b"\0\0"),
            (0, "the tree ends before a count of elements".into())
        );
        assert_eq!(
            offset_of(b"\0\0\0\x01abcdef"),
            (4, "a name has no end".into())
        );
        let (offset, what) = offset_of(b"\xff\xff\xff\xffabcdef\0");
        assert_eq!(
            (offset, what.as_str()),
            (0, "4294967295 elements cannot be in 7 bytes")
        );
        let (offset, _) = offset_of(b"\0\0\0\x01a\0\0\0\0\x05b\0\0\0\0\0");
        assert_eq!(offset, 6);
    }

    #[test]
    fn elements_are_sorted_as_a_tree_sorts_them() {
        let element = |name: &str, value: &str| {
            let mut bytes = format!("{name}\0").into_bytes();
            pack_into(&mut bytes, &Tree::of_value(value));
            bytes
        };
        let elements = ["b", "10", "9", "b", "a"]
            .iter()
            .zip(["1", "2", "3", "4", "5"]);
        let elements: Vec<u8> = elements
            .flat_map(|(name, value)| element(name, value))
            .collect();
        let packed = [&5u32.to_be_bytes()[..], &elements].concat();
        let (tree, _) = unpack(&packed).unwrap();
        let mut expected = Vec::new();
        pack_into(&mut expected, &tree);
        assert_eq!(sorted(&packed), Ok(expected));
        assert_eq!(tree.value("b"), Some(&Name::from("4")));
        assert!(sorted(&packed[..packed.len() - 1]).is_err());
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| {
            let mut bytes = b"\0\0\0\x01a\0".repeat(depth);
            bytes.extend_from_slice(&[0; 4]);
            bytes
        };
        assert!(unpack(&nested(MAX_DEPTH)).is_ok());
        assert!(offset_of(&nested(MAX_DEPTH + 1)).1.contains("deeper"));
        assert!(offset_of(&nested(1_000_000)).1.contains("deeper"));
    }
}
