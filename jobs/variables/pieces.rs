//! Variables of optimised functions that lie in pieces: in memory, in registers, or nowhere, since the compiler knows the value.

use super::locate::Place;
use super::memory::{Mapping, Memory};
use super::types::Expression;
use super::walk::Leaf;
use gimli::{Location, Value};

/// Where such variables are put together, each at a place of its own: no addresses of a process.
const BEGIN: u64 = 0xffff_0000_0000_0000;

/// Larger variables are not put together.
const LARGEST: u64 = 1 << 16;

/// A part of a variable.
struct Part {
    begin: u64,
    end: u64,
    /// Its address in the process; `None` if it is not in memory.
    at: Option<u64>,
}

/// The memory of a process, and a variable that was put together.
pub(super) struct Assembled<'a> {
    memory: &'a dyn Memory,
    bytes: Vec<u8>,
    /// The parts that are known.
    parts: Vec<Part>,
    mapping: Mapping,
}

impl<'a> Assembled<'a> {
    /// A variable of this size, if at least one part of it is known. Each one has another number.
    pub fn new(
        place: &Place<'a>,
        expression: &Expression,
        (size, number): (Option<u64>, u64),
    ) -> Option<Self> {
        let first = BEGIN.checked_add(number.checked_mul(2 * LARGEST)?)?;
        let (mut bytes, mut parts) = (Vec::new(), Vec::new());
        for piece in place.pieces(expression, None)? {
            let whole = piece.size_in_bits.map(|bits| bits / 8).or(size)?;
            let begin = bytes.len() as u64;
            let end = begin + whole;
            if end > LARGEST {
                return None;
            }
            bytes.resize(end as usize, 0);
            let own = bytes.get_mut(begin as usize..)?;
            let mut at = None;
            let known = match piece.location {
                Location::Address { address } => {
                    at = Some(address);
                    place.memory.read(address, own)
                }
                // A called function keeps it there.
                Location::Register { register } if place.saved(register.0).is_some() => {
                    at = place.saved(register.0);
                    at.is_some_and(|at| place.memory.read(at, own))
                }
                Location::Register { register } => {
                    fill(own, place.value(register.0).map(u64::to_le_bytes))
                }
                Location::Value { value } => fill(own, bytes_of(value)),
                Location::Bytes { value } => fill(own, Some(value.slice())),
                _ => false,
            };
            if known {
                parts.push(Part { begin, end, at });
            }
        }
        let mapping = Mapping {
            begin: first,
            end: first.checked_add(bytes.len() as u64)?,
            writable: true,
            offset: 0,
            file: String::new(),
        };
        (!parts.is_empty()).then_some(Assembled {
            memory: place.memory,
            bytes,
            parts,
            mapping,
        })
    }

    /// Its address in this memory.
    pub fn address(&self) -> u64 {
        self.mapping.begin
    }

    /// Gives each leaf that lies in the variable its address in the process, or its value. Leaves of unknown bytes are left out.
    pub fn settle(&self, leaves: &mut Vec<Leaf>, from: usize) {
        let found = leaves.split_off(from);
        leaves.extend(found.into_iter().filter_map(|leaf| self.settled(leaf)));
    }

    fn settled(&self, mut leaf: Leaf) -> Option<Leaf> {
        if leaf.size == 0 || self.memory.mapping(leaf.address).is_some() {
            return Some(leaf);
        }
        let begin = leaf.address.checked_sub(self.mapping.begin)?;
        let end = begin.checked_add(leaf.count().checked_mul(leaf.size)?)?;
        let inside = |part: &&Part| part.begin <= begin && end <= part.end;
        match self.parts.iter().find(inside) {
            Some(Part {
                begin: first,
                at: Some(at),
                ..
            }) => leaf.address = at + (begin - first),
            _ => {
                let known = |byte: u64| {
                    let mut parts = self.parts.iter();
                    parts.any(|part| (part.begin..part.end).contains(&byte))
                };
                let bytes = self.bytes.get(begin as usize..end as usize)?;
                leaf.value = (begin..end).all(known).then(|| bytes.to_vec());
                leaf.value.as_ref()?;
            }
        }
        Some(leaf)
    }
}

impl Memory for Assembled<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let own = address.checked_sub(self.mapping.begin).and_then(|begin| {
            let end = begin.checked_add(buffer.len() as u64)?;
            self.bytes.get(begin as usize..end as usize)
        });
        match own {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                true
            }
            None => self.memory.read(address, buffer),
        }
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        if (self.mapping.begin..self.mapping.end).contains(&address) {
            return Some(&self.mapping);
        }
        self.memory.mapping(address)
    }
}

/// Copies the first bytes of a value. False if there are fewer, or none.
fn fill(own: &mut [u8], bytes: Option<impl AsRef<[u8]>>) -> bool {
    let Some(bytes) = bytes else {
        return false;
    };
    match bytes.as_ref().get(..own.len()) {
        Some(bytes) => {
            own.copy_from_slice(bytes);
            true
        }
        None => false,
    }
}

fn bytes_of(value: Value) -> Option<[u8; 8]> {
    let number = match value {
        Value::F32(number) => number.to_bits().into(),
        Value::F64(number) => number.to_bits(),
        other => other.to_u64(u64::MAX).ok()?,
    };
    Some(number.to_le_bytes())
}
