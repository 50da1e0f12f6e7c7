//! Follows the containers of the C++ library to their elements: vectors and texts of both libraries, and the other ones of
//! libstdc++.

use super::types::{Kind, Type, TypeId};
use super::walk::{MOST_NESTED, Path, Root, Walker};

/// A container of single elements is followed so far.
const MOST_ELEMENTS: usize = 20_000;

/// libstdc++ keeps so many bytes of a deque in a block.
const DEQUE_BLOCK: u64 = 512;

/// The bytes before the element in a node: the links of lists, and of trees.
const LIST_LINKS: u64 = 16;
const TREE_LINKS: u64 = 32;
const HASH_LINK: u64 = 8;
/// Places in the links of a tree.
const PARENT: u64 = 8;
const LEFT: u64 = 16;
const RIGHT: u64 = 24;

impl<'a> Walker<'a> {
    /// Follows a container of the C++ library. False if it is another record.
    pub(super) fn is_of_library(
        &mut self,
        root: &Root<'a>,
        (of, name): (TypeId, &str),
        address: u64,
        path: &Path,
    ) -> bool {
        let Some((kind, _)) = name.split_once('<') else {
            return false;
        };
        match kind {
            "vector" => self.vector(root, of, address, path),
            "basic_string" => self.text(root, of, address, path),
            "list" => self.linked(root, (of, "_M_node", LIST_LINKS), address, path),
            "forward_list" => self.linked(root, (of, "_M_head", HASH_LINK), address, path),
            "deque" => self.deque(root, of, address, path),
            "_Rb_tree" => self.tree(root, of, address, path),
            "_Hashtable" => self.hashed(root, of, address, path),
            _ => false,
        }
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.memory.number(address, 8)
    }

    /// The address of a member, however deep it is in the bases of a container.
    fn inside(&self, of: TypeId, names: &[&str], address: u64) -> Option<(TypeId, u64)> {
        let mut found = names
            .iter()
            .filter_map(|name| self.types.find_member(of, name, 8));
        let (member, offset) = found.next()?;
        Some((member, address.wrapping_add(offset)))
    }

    fn argument(&self, of: TypeId, number: usize) -> Option<TypeId> {
        match self.types.get(of) {
            Type::Record { arguments, .. } => arguments.get(number).copied(),
            _ => None,
        }
    }

    /// Adds the number of elements, and each of them.
    fn elements_at(
        &mut self,
        root: &Root<'a>,
        (of, address): (TypeId, u64),
        places: &[u64],
        path: &Path,
    ) {
        self.number_of_elements(root, (address, places.len() as u64), path);
        let plain = self.types.is_plain(of, MOST_NESTED)
            && !matches!(self.types.get(of), Type::Record { .. });
        for (number, address) in places.iter().enumerate() {
            let shown = if plain { "" } else { "[]" };
            let below = path.below(&format!("[{number}]"), shown).deeper();
            self.value(root, of, *address, &below);
        }
    }

    fn number_of_elements(&mut self, root: &Root<'a>, (at, count): (u64, u64), path: &Path) {
        if !self.enter_container(at) {
            return;
        }
        let mut path = path.below("#", "");
        path.dims = vec![(count, 0)];
        self.add(root, &path, 0, (Kind::Bytes, 0, "container"));
    }

    fn vector(&mut self, root: &Root<'a>, of: TypeId, address: u64, path: &Path) -> bool {
        let begin = self.inside(of, &["_M_start", "__begin_"], address);
        let end = self.inside(of, &["_M_finish", "__end_"], address);
        let (Some((pointer, begin)), Some((_, end))) = (begin, end) else {
            return false;
        };
        let &Type::Pointer { to: Some(to) } = self.types.get(pointer) else {
            return false;
        };
        let (Some(first), Some(end)) = (self.word(begin), self.word(end)) else {
            return true;
        };
        let size = self.types.size(to).unwrap_or(0).max(1);
        let count = end.saturating_sub(first) / size;
        self.presence(root, path, (address, count > 0));
        if count == 0 || !self.memory.is_data(first) || !self.memory.is_data(end - 1) {
            return true;
        }
        let dims = (count, size as i64);
        if self.types.is_plain(to, MOST_NESTED) {
            let mut below = path.below("[]", "").deeper();
            below.dims.push(dims);
            self.value(root, to, first, &below);
        } else {
            self.number_of_elements(root, (address, count), path);
            self.each(root, to, first, (path, &[dims]));
        }
        true
    }

    fn text(&mut self, root: &Root<'a>, of: TypeId, address: u64, path: &Path) -> bool {
        let text = self.inside(of, &["_M_p"], address);
        let length = self.inside(of, &["_M_string_length"], address);
        let (Some((_, text)), Some((_, length))) = (text, length) else {
            return false;
        };
        if let (Some(first), Some(length)) = (self.word(text), self.word(length))
            && length > 0
            && self.memory.is_data(first)
        {
            self.add(root, path, first, (Kind::Bytes, length, "std::string"));
        }
        true
    }

    /// A list, whose nodes begin with the address of the next one.
    fn linked(
        &mut self,
        root: &Root<'a>,
        (of, head, links): (TypeId, &str, u64),
        address: u64,
        path: &Path,
    ) -> bool {
        let (Some((_, head)), Some(element)) =
            (self.inside(of, &[head], address), self.argument(of, 0))
        else {
            return false;
        };
        let mut places = Vec::new();
        let mut node = self.word(head).unwrap_or(0);
        while node != head && self.memory.is_data(node) && !self.is_too_many(&places) {
            places.push(node.wrapping_add(links));
            node = self.word(node).unwrap_or(0);
        }
        self.elements_at(root, (element, address), &places, path);
        true
    }

    fn is_too_many(&mut self, places: &[u64]) -> bool {
        let many = places.len() >= MOST_ELEMENTS;
        self.seen.cut |= many;
        many
    }

    fn deque(&mut self, root: &Root<'a>, of: TypeId, address: u64, path: &Path) -> bool {
        let start = self.inside(of, &["_M_start"], address);
        let finish = self.inside(of, &["_M_finish"], address);
        let (Some((_, start)), Some((_, finish)), Some(element)) =
            (start, finish, self.argument(of, 0))
        else {
            return false;
        };
        let size = self.types.size(element).unwrap_or(0).max(1);
        let block = (DEQUE_BLOCK / size).max(1) * size;
        // An iterator has its element, the begin and the end of the block, and the place of the block in the map.
        let part = |iterator: u64, number: u64| self.word(iterator.wrapping_add(8 * number));
        let (Some(mut at), Some(mut map), Some(end)) =
            (part(start, 0), part(start, 3), part(finish, 0))
        else {
            return true;
        };
        let mut block_end = part(start, 2).unwrap_or(0);
        let mut places = Vec::new();
        while at != end && self.memory.is_data(at) && !self.is_too_many(&places) {
            places.push(at);
            at = at.wrapping_add(size);
            if at == block_end {
                map = map.wrapping_add(8);
                at = self.word(map).unwrap_or(0);
                block_end = at.wrapping_add(block);
            }
        }
        self.elements_at(root, (element, address), &places, path);
        true
    }

    /// Maps and sets, in their order.
    fn tree(&mut self, root: &Root<'a>, of: TypeId, address: u64, path: &Path) -> bool {
        let (Some((_, header)), Some(element)) = (
            self.inside(of, &["_M_header"], address),
            self.argument(of, 1),
        ) else {
            return false;
        };
        let mut places = Vec::new();
        let mut node = self.word(header.wrapping_add(LEFT)).unwrap_or(0);
        while node != header && self.memory.is_data(node) && !self.is_too_many(&places) {
            places.push(node.wrapping_add(TREE_LINKS));
            node = self.after(node).unwrap_or(header);
        }
        self.elements_at(root, (element, address), &places, path);
        true
    }

    /// The next node of a tree.
    fn after(&self, node: u64) -> Option<u64> {
        let link = |node: u64, place: u64| self.word(node.wrapping_add(place));
        let right = link(node, RIGHT)?;
        if right != 0 {
            let mut lowest = right;
            for _ in 0..MOST_ELEMENTS {
                match link(lowest, LEFT)? {
                    0 => return Some(lowest),
                    left => lowest = left,
                }
            }
            return None;
        }
        let (mut below, mut above) = (node, link(node, PARENT)?);
        for _ in 0..MOST_ELEMENTS {
            if link(above, RIGHT)? != below {
                return Some(above);
            }
            (below, above) = (above, link(above, PARENT)?);
            // The header and the root are each other's parents.
            if link(above, PARENT)? == below && link(below, RIGHT)? == above {
                return Some(below);
            }
        }
        None
    }

    /// Unordered maps and sets, in the order of the bytes of their keys, as two processes may have other orders.
    fn hashed(&mut self, root: &Root<'a>, of: TypeId, address: u64, path: &Path) -> bool {
        let first = self.inside(of, &["_M_before_begin"], address);
        let (Some((_, first)), Some(key), Some(element)) =
            (first, self.argument(of, 0), self.argument(of, 1))
        else {
            return false;
        };
        let mut places = Vec::new();
        let mut node = self.word(first).unwrap_or(0);
        while node != 0 && self.memory.is_data(node) && !self.is_too_many(&places) {
            places.push(node.wrapping_add(HASH_LINK));
            node = self.word(node).unwrap_or(0);
        }
        places.sort_by_cached_key(|place| self.bytes_of_key(key, *place));
        self.elements_at(root, (element, address), &places, path);
        true
    }

    fn bytes_of_key(&self, key: TypeId, address: u64) -> Vec<u8> {
        let text = self.inside(key, &["_M_p"], address);
        let length = self.inside(key, &["_M_string_length"], address);
        let (from, size) = match (text, length) {
            (Some((_, text)), Some((_, length))) => (self.word(text), self.word(length)),
            _ if self.types.is_plain(key, MOST_NESTED) => (Some(address), self.types.size(key)),
            _ => (None, None),
        };
        let size = size.filter(|size| *size <= 4096).unwrap_or(0);
        let mut bytes = vec![0; size as usize];
        match from {
            Some(from) if self.memory.read(from, &mut bytes) => bytes,
            _ => Vec::new(),
        }
    }
}
