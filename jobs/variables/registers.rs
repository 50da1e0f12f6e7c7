//! Finds where the registers of a frame are: the functions that it has called keep them in their frames, as the tables for
//! unwinding say.

use super::file::lowest_address;
use super::locate::{Frame, Saved};
use super::memory::{Memory, Process};
use gimli::{
    BaseAddresses, EhFrame, LittleEndian, Register, RegisterRule, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection, ReadCache};
use scr_engine::format::stop::REGISTERS;
use std::collections::BTreeMap;
use std::fs::File;

/// The tables of the files of a process.
#[derive(Default)]
pub(super) struct Tables {
    files: BTreeMap<String, Option<Table>>,
}

/// The table of a file.
struct Table {
    bytes: Vec<u8>,
    address: u64,
    text: u64,
    lowest: u64,
    /// What was looked up: for the address of an instruction the registers that are kept, and their distance from the frame's
    /// canonical address.
    known: BTreeMap<u64, Vec<(usize, i64)>>,
}

impl Tables {
    /// The frames, the innermost first, with the places of their registers. The innermost one has ended.
    pub fn complete(&mut self, process: &Process, frames: &[Frame]) -> Vec<Frame> {
        let mut saved: Saved = Saved::default();
        let mut frames = frames.to_vec();
        for (number, frame) in frames.iter_mut().enumerate() {
            frame.saved = saved;
            // The innermost functions may use no such register: then its value is at hand, but cannot be changed.
            for (place, register) in frame.saved.iter_mut().zip(0..) {
                if *place == 0 && frame.registers != 0 {
                    *place = frame.registers + 8 * register;
                }
            }
            if number == 0 {
                continue;
            }
            for (register, offset) in self.kept(process, frame.instruction) {
                if let Some(place) = saved.get_mut(register) {
                    *place = frame.cfa.wrapping_add_signed(offset);
                }
            }
        }
        frames
    }

    fn kept(&mut self, process: &Process, instruction: u64) -> Vec<(usize, i64)> {
        let Some(path) = process.mapping(instruction).map(|found| found.file.clone()) else {
            return Vec::new();
        };
        let mut mappings = process.mappings.iter();
        let Some(first) = mappings.find(|one| one.file == path && one.offset == 0) else {
            return Vec::new();
        };
        let begin = first.begin;
        let table = self
            .files
            .entry(path)
            .or_insert_with_key(|path| Table::read(path));
        let Some(table) = table else {
            return Vec::new();
        };
        // The call is before the next instruction.
        let bias = begin.wrapping_sub(table.lowest);
        let address = instruction.wrapping_sub(bias).wrapping_sub(1);
        if !table.known.contains_key(&address) {
            let found = table.look_up(address).unwrap_or_default();
            table.known.insert(address, found);
        }
        table.known.get(&address).cloned().unwrap_or_default()
    }
}

impl Table {
    fn read(path: &str) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let section = file.section_by_name(".eh_frame")?;
        let text = file.section_by_name(".text");
        Some(Table {
            bytes: section.data().ok()?.to_vec(),
            address: section.address(),
            text: text.map_or(0, |text| text.address()),
            lowest: lowest_address(&file),
            known: BTreeMap::new(),
        })
    }

    fn look_up(&self, address: u64) -> Option<Vec<(usize, i64)>> {
        let table = EhFrame::new(&self.bytes, LittleEndian);
        let bases = BaseAddresses::default()
            .set_eh_frame(self.address)
            .set_text(self.text);
        let mut context = UnwindContext::new();
        let row = table
            .unwind_info_for_address(&bases, &mut context, address, EhFrame::cie_from_offset)
            .ok()?;
        let kept = REGISTERS.iter().enumerate().filter_map(|(place, number)| {
            match row.register(Register(*number)) {
                RegisterRule::Offset(offset) => Some((place, offset)),
                _ => None,
            }
        });
        Some(kept.collect())
    }
}
