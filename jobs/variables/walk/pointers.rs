//! Follows pointers to what is behind them: blocks of malloc, lists and trees, and objects of a class.

use super::super::classes::class_at;
use super::super::dwarf::Language;
use super::super::types::{Kind, Member, Type, TypeId};
use super::{Chain, LARGEST_BLOCK, MOST_NESTED, MOST_RECORDS, Path, Root, SLACK, Walker};
use std::collections::VecDeque;
use std::rc::Rc;

impl<'a> Walker<'a> {
    pub(in super::super) fn pointer(
        &mut self,
        root: &Root<'a>,
        to: Option<TypeId>,
        address: u64,
        path: &Path,
    ) {
        let target = self.memory.number(address, 8);
        let Some(target) = target.filter(|_| self.pointers) else {
            return;
        };
        let there = self.memory.is_data(target);
        let elsewhere = !there && self.target(root, address, path);
        if target == 0 || there || elsewhere {
            self.presence(root, path, (address, target != 0));
        }
        if !there {
            return;
        }
        let path = Path {
            local: false,
            slack: 0,
            ..path.below("->", "").deeper()
        };
        let Some(to) = to else {
            if let Some(size) = self.block(target) {
                let path = Path {
                    slack: SLACK,
                    ..path
                };
                self.words(root, &path, target, size);
            }
            return;
        };
        self.pointed(root, to, target, path);
    }

    /// Follows a pointer of this type to its target.
    pub(in super::super) fn pointed(
        &mut self,
        root: &Root<'a>,
        to: TypeId,
        target: u64,
        path: Path,
    ) {
        if let Type::Declared { name } = self.types.get(to) {
            if let Some(&(types, id, bias)) = self.elsewhere.get(name.as_str()) {
                let mut walker = Walker {
                    types,
                    bias,
                    pending: VecDeque::new(),
                    seen: &mut *self.seen,
                    ..*self
                };
                walker.pointed(
                    root,
                    id,
                    target,
                    Path {
                        chain: None,
                        ..path
                    },
                );
                walker.follow_pending(root);
            }
            return;
        }
        if let Type::Record { polymorphic, .. } = self.types.get(to) {
            if *polymorphic {
                self.object(root, to, target, &path);
                return;
            }
            if self.is_linked(root, to, target, &path) {
                return;
            }
        }
        if let Some((element, last)) = self.types.open_end(to) {
            if self.enter(target) {
                self.value(root, to, target, &path);
                self.open_end(root, (element, last), target, &path);
            }
            return;
        }
        let dims = match (root.language, self.types.size(to)) {
            // A pointer of Fortran to something that is no array has one target.
            (Language::C, Some(size)) if size > 0 => self.elements(target, size),
            _ => None,
        };
        match dims {
            Some((count, stride)) if self.types.is_plain(to, MOST_NESTED) => {
                let mut below = path;
                below.dims.push((count, stride));
                below.slack = SLACK;
                self.value(root, to, target, &below);
            }
            Some(dims) if self.enter(target) => self.each(root, to, target, (&path, &[dims])),
            None if self.enter(target) || self.types.is_plain(to, MOST_NESTED) => {
                self.value(root, to, target, &path);
            }
            _ => {}
        }
    }

    /// An object of C++ that tells its class, which may be one that is derived from the pointer's.
    pub(in super::super) fn object(
        &mut self,
        root: &Root<'a>,
        to: TypeId,
        target: u64,
        path: &Path,
    ) {
        let told = class_at(self.memory, target);
        let class = told.and_then(|(name, whole)| Some((*self.types.classes.get(&name)?, whole)));
        let (of, whole) = class.unwrap_or((to, target));
        if !self.is_linked(root, of, whole, path) && self.enter(whole) {
            self.value(root, of, whole, path);
        }
    }

    /// True if a record is one of a list or a tree, which is followed later.
    pub(in super::super) fn is_linked(
        &mut self,
        root: &Root<'a>,
        to: TypeId,
        target: u64,
        path: &Path,
    ) -> bool {
        let Some(chain) = path.chain_of(to) else {
            return false;
        };
        // A block of several records is an array.
        let size = self.types.size(to).unwrap_or(0);
        let several = root.language == Language::C && self.elements(target, size.max(1)).is_some();
        if several || !self.enter(target) {
            return !several;
        }
        let number = chain.count.get() + 1;
        chain.count.set(number);
        let link = path.shown.get(chain.own..).unwrap_or_default();
        let shown = format!("{}{link}", chain.shown);
        let next = Path {
            key: format!("{}~{number}", chain.key),
            depth: chain.depth,
            chain: Some(Rc::new(Chain {
                own: shown.len(),
                ..(*chain).clone()
            })),
            shown,
            ..path.clone()
        };
        self.pending.push_back((to, target, next));
        true
    }

    /// The path of a record that pointers of its own type lead on from.
    pub(in super::super) fn chained(&self, of: TypeId, path: &Path) -> Path {
        if path.chain_of(of).is_some() {
            return path.clone();
        }
        Path {
            chain: Some(Rc::new(Chain {
                record: of,
                key: path.key.clone(),
                shown: path.shown.clone(),
                depth: path.depth,
                own: path.shown.len(),
                count: Rc::default(),
                outer: path.chain.clone(),
            })),
            ..path.clone()
        }
    }

    /// The array at the end of a record, up to the end of the block.
    pub(in super::super) fn open_end(
        &mut self,
        root: &Root<'a>,
        (element, last): (TypeId, &Member),
        target: u64,
        path: &Path,
    ) {
        let (Some(block), Some(size)) = (self.block(target), self.types.size(element)) else {
            return;
        };
        let count = block.saturating_sub(last.offset) / size.max(1);
        let key = format!(".{}@{}", last.name, last.offset);
        let mut below = path.below(&key, &format!(".{}", last.name));
        let first = target.wrapping_add(last.offset);
        if self.types.is_plain(element, MOST_NESTED) {
            below.dims.push((count, size as i64));
            below.slack = SLACK;
            self.value(root, element, first, &below);
        } else {
            self.each(root, element, first, (&below, &[(count, size as i64)]));
        }
    }

    /// False if a pointer to this record was followed before.
    pub(in super::super) fn enter(&mut self, target: u64) -> bool {
        self.seen.visited.insert((target, (0, true, 0)))
    }

    /// False if this container was followed before.
    pub(in super::super) fn enter_container(&mut self, at: u64) -> bool {
        self.seen.visited.insert((at, (0, false, 1)))
    }

    /// The number of elements in a block of malloc, if there are several.
    pub(in super::super) fn elements(&self, target: u64, size: u64) -> Option<(u64, i64)> {
        let count = self.block(target)? / size;
        (count > 1).then_some((count, size as i64))
    }

    /// The size of the block that malloc of glibc has given at this address; `None` if it does not look like one.
    pub(in super::super) fn block(&self, target: u64) -> Option<u64> {
        if !target.is_multiple_of(16) {
            return None;
        }
        let mapping = self.memory.mapping(target)?;
        let in_heap = mapping.file == "[heap]" || mapping.file.is_empty();
        let header = target.checked_sub(8).filter(|at| *at >= mapping.begin)?;
        let word = self.memory.number(header, 8)?;
        let (size, flags) = (word & !7, word & 7);
        let fits = size.is_multiple_of(16) && (32..LARGEST_BLOCK).contains(&size);
        if !in_heap || !fits || target - 16 + size > mapping.end {
            return None;
        }
        // A block of its own mapping is in whole pages; another one is followed by a block.
        if flags & 2 != 0 {
            return size.is_multiple_of(4096).then(|| size - 16);
        }
        let next = self.memory.number(target - 16 + size + 8, 8)?;
        let is_header = next & !7 >= 16 && next & !7 < LARGEST_BLOCK && next & 1 == 1;
        is_header.then(|| size - 8)
    }

    /// Words of which some may be addresses: these are followed one step, as far as they are of malloc.
    pub(in super::super) fn words(
        &mut self,
        root: &Root<'a>,
        path: &Path,
        address: u64,
        size: u64,
    ) {
        let count = size / 8;
        if !address.is_multiple_of(8) || count == 0 {
            let name = format!("{size} bytes");
            self.add(root, path, address, (Kind::Bytes, size, &name));
            return;
        }
        let mut whole = path.clone();
        whole.dims.push((count, 8));
        self.add(root, &whole, address, (Kind::Words, 8, "8 bytes"));
        if path.depth > 0 || count > MOST_RECORDS {
            return;
        }
        for number in 0..count {
            let at = address + number * 8;
            let target = self.memory.number(at, 8).unwrap_or(0);
            if let Some(size) = self.block(target) {
                let below = path.below(&format!("[{number}]->"), "").deeper();
                self.words(root, &below, target, size);
            }
        }
    }
}
