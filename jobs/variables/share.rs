//! How much of a variable a program has listed, and whether the rest of it changes.

use super::image::{Listed, address_of, for_each_piece, is_address_in, used_bytes};
use super::memory::Process;
use super::types::Kind;
use super::walk::Leaf;
use std::hash::{DefaultHasher, Hasher};

/// Blocks of malloc of this size have pages of their own.
const LEAST_IN_PAGES: u64 = 128 << 10;

/// What is seen of a leaf at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Bytes of all elements.
    pub bytes: u64,
    /// Those of them that the program has listed.
    pub listed: u64,
    /// Another number at another moment means that elements which are not listed have other values; where all are listed, that
    /// any of them has.
    pub sum: u64,
}

impl Share {
    /// `None` for what has no values, such as an address, or cannot be read.
    pub fn of(process: &Process, leaf: &Leaf, listed: &Listed) -> Option<Self> {
        let bytes = leaf.bytes();
        if bytes == 0 || leaf.kind == Kind::Target {
            return None;
        }
        let in_list = listed_bytes(leaf, listed);
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(leaf.size);
        leaf.dims
            .iter()
            .for_each(|(count, _)| hasher.write_u64(*count));
        let size = leaf.size as usize;
        let used = used_bytes(leaf).min(size);
        let in_part = in_list > 0 && in_list < bytes;
        let whole = !in_part && used == size && leaf.kind != Kind::Words;
        let read = for_each_piece(process, leaf, &mut |first, bytes| {
            if whole {
                hasher.write(bytes);
                return;
            }
            for (number, element) in bytes.chunks(size).enumerate() {
                // Memory lies elsewhere in each run, and an address is no value.
                let is_address = matches!(leaf.kind, Kind::Words | Kind::Target)
                    && is_address_in(process, element);
                let left_out = in_part && listed.has(address_of(leaf, first + number as u64));
                if !is_address && !left_out {
                    hasher.write(element.get(..used).unwrap_or(element));
                }
            }
        });
        read.then(|| Share {
            bytes,
            listed: in_list,
            sum: hasher.finish(),
        })
    }
}

impl Leaf {
    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.count().saturating_mul(self.size)
    }

    /// The lowest address, and the address after the highest byte.
    pub fn span(&self) -> (u64, u64) {
        let (mut begin, mut last) = (self.address, self.address);
        for (count, stride) in &self.dims {
            let reach = (count.saturating_sub(1) as i64).saturating_mul(*stride);
            let side = if reach < 0 { &mut begin } else { &mut last };
            *side = side.saturating_add_signed(reach);
        }
        (begin, last.saturating_add(self.size))
    }

    /// Number of bytes at the end that the program may not have asked for: a large block is in whole pages.
    pub fn most_slack(&self) -> u64 {
        match self.slack {
            0 => 0,
            _ if self.bytes() >= LEAST_IN_PAGES => 4096,
            slack => slack,
        }
    }

    /// Leaves out elements at the end that the program has not asked for: the last one that is listed tells.
    pub fn fitted(mut self, listed: &Listed) -> Self {
        let slack = self.most_slack();
        if let Some((count, stride)) = self.dims.first_mut()
            && slack > 0
        {
            let step = stride.unsigned_abs().max(1);
            let is_listed = |number: &u64| {
                let offset = stride.wrapping_mul(*number as i64);
                listed.has(self.address.wrapping_add_signed(offset))
            };
            let least = count.saturating_sub(slack / step + 1);
            if let Some(last) = (least..*count).rev().find(is_listed) {
                *count = last + 1;
            }
        }
        self
    }

    /// True if a field has some of its bytes.
    pub fn is_in(&self, field: &Listed) -> bool {
        listed_bytes(self, field) > 0
    }
}

fn listed_bytes(leaf: &Leaf, listed: &Listed) -> u64 {
    let (begin, end) = leaf.span();
    let within = listed.within(begin, end);
    if within == 0 {
        return 0;
    }
    if within == end - begin {
        return leaf.bytes();
    }
    // Elements without a gap between them.
    let (mut run, mut elements) = (leaf.size, 1);
    for (count, stride) in leaf.dims.iter().rev() {
        if *stride != run as i64 {
            break;
        }
        run = run.saturating_mul(*count);
        elements *= count;
    }
    let runs = leaf.count() / elements.max(1);
    let listed_in = |run_number: u64| {
        let begin = address_of(leaf, run_number * elements);
        listed.within(begin, begin.saturating_add(run))
    };
    (0..runs).map(listed_in).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(dims: &[(u64, i64)]) -> Leaf {
        Leaf {
            key: "u".into(),
            shown: "u".into(),
            place: String::new(),
            type_name: "double".into(),
            kind: Kind::Real,
            size: 8,
            address: 0x1000,
            dims: dims.to_vec(),
            by_column: false,
            value: None,
            bits: None,
            slack: 0,
            local: false,
        }
    }

    fn listed(parts: &[(u64, u64)]) -> Listed {
        let mut listed = Listed::default();
        for (address, bytes) in parts {
            listed.add(*address, *bytes, &[]);
        }
        listed.settle();
        listed
    }

    #[test]
    fn the_listed_bytes_of_a_variable_are_counted() {
        let array = leaf(&[(4, 80), (10, 8)]);
        let bytes = |parts: &[(u64, u64)]| listed_bytes(&array, &listed(parts));
        assert_eq!(bytes(&[(0x1000, 320)]), 320);
        assert_eq!(bytes(&[(0x0f00, 0x1000)]), 320);
        assert_eq!(bytes(&[(0x0f00, 0x100), (0x1140, 8)]), 0);
        // Two parts, of which one goes beyond the end.
        assert_eq!(bytes(&[(0x1000, 16), (0x1138, 100)]), 24);
        // A member of records, of which each second one is listed, and then the gaps only.
        let member = leaf(&[(4, 32)]);
        assert_eq!(
            listed_bytes(&member, &listed(&[(0x1000, 8), (0x1040, 32)])),
            16
        );
        assert_eq!(
            listed_bytes(&member, &listed(&[(0x1008, 24), (0x1028, 24)])),
            0
        );
        // Backwards.
        let backwards = leaf(&[(4, -8)]);
        assert_eq!(backwards.span(), (0x1000 - 24, 0x1008));
        assert_eq!(listed_bytes(&backwards, &listed(&[(0x0ff0, 16)])), 16);
        assert!(
            backwards.is_in(&listed(&[(0x0fff, 1)])) && !backwards.is_in(&listed(&[(0x1008, 8)]))
        );
    }

    #[test]
    fn a_block_is_as_large_as_what_is_listed_of_it() {
        let with = |slack: u64, elements: u64| {
            let block = Leaf {
                slack,
                ..leaf(&[(102, 8)])
            };
            block.fitted(&listed(&[(0x1000, elements * 8)])).count()
        };
        assert_eq!(with(31, 100), 100);
        assert_eq!(with(31, 102), 102);
        // So few are no rest of a block.
        assert_eq!(with(31, 50), 102);
        assert_eq!(with(0, 100), 102);
    }

    #[test]
    fn another_value_that_is_not_listed_is_another_sum() {
        let mut values = [1.0f64, 2.0, 3.0];
        let values = std::hint::black_box(&mut values);
        let array = Leaf {
            address: values.as_ptr().addr() as u64,
            ..leaf(&[(3, 8)])
        };
        let own = Process::open(std::process::id()).unwrap();
        let first = listed(&[(array.address, 8)]);
        let share = |listed: &Listed| Share::of(&own, &array, listed).unwrap();
        let (before, none) = (share(&first), share(&listed(&[])));
        assert_eq!((before.bytes, before.listed, none.listed), (24, 8, 0));
        values[0] = 5.0;
        std::hint::black_box(&mut *values);
        assert_eq!(share(&first), before);
        assert_ne!(share(&listed(&[])).sum, none.sum);
        values[1] = 6.0;
        std::hint::black_box(&mut *values);
        assert_ne!(share(&first).sum, before.sum);
    }
}
