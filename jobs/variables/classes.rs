//! Finds classes by name: those whose objects tell their class, and those that a unit only declares.

use super::dwarf::{Place, Reader, Whole, has_flag};
use super::memory::Memory;
use super::types::Type;
use std::collections::HashMap;

/// A name of a class for the linker has at most so many bytes.
const LONGEST_NAME: u64 = 4096;

impl Reader<'_> {
    /// The whole type that is only declared elsewhere. Names stand for types of one size.
    pub fn complete(&mut self, name: &str) -> Option<Place> {
        if self.whole.is_none() {
            self.whole = Some(self.find_whole());
        }
        *self.whole.as_ref()?.get(name)?
    }

    fn find_whole(&self) -> Whole {
        let mut found: Whole = HashMap::new();
        for place in self.records() {
            let Some(name) = self.name(place) else {
                continue;
            };
            let size = self.record_size(place);
            let others = found.entry(name).or_insert(Some(place));
            if others.is_some_and(|other| self.record_size(other) != size) {
                *others = None;
            }
        }
        found
    }

    fn record_size(&self, place: Place) -> Option<u64> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        entry
            .attr_value(gimli::DW_AT_byte_size)
            .ok()??
            .udata_value()
    }

    /// The classes, structures and unions that are not only declared.
    fn records(&self) -> Vec<Place> {
        let mut found = Vec::new();
        for number in 0..self.units.len() {
            let Some(unit) = self.units.get(number) else {
                continue;
            };
            let mut entries = unit.entries();
            while let Ok(Some((_, entry))) = entries.next_dfs() {
                let record = matches!(
                    entry.tag(),
                    gimli::DW_TAG_structure_type
                        | gimli::DW_TAG_class_type
                        | gimli::DW_TAG_union_type
                );
                if record && !has_flag(entry, gimli::DW_AT_declaration) {
                    found.push((number, entry.offset()));
                }
            }
        }
        found
    }

    /// Adds the classes whose objects tell their class.
    pub fn add_classes(&mut self) {
        let tells = |one: &Type| {
            matches!(
                one,
                Type::Record {
                    polymorphic: true,
                    ..
                }
            )
        };
        // They are known already, or no variable leads to such an object.
        if !self.types.classes.is_empty() || !self.types.all.iter().any(tells) {
            return;
        }
        for place in self.records() {
            if self
                .attribute_place(place, gimli::DW_AT_containing_type)
                .is_none()
            {
                continue;
            }
            let id = self.type_at(place);
            for name in self.linker_names(place) {
                self.types.classes.entry(name).or_insert(id);
            }
        }
    }

    /// The names that a class may have in its type information: as part of the names of its functions.
    fn linker_names(&self, place: Place) -> Vec<String> {
        for (tag, child) in self.children(place) {
            if tag != gimli::DW_TAG_subprogram {
                continue;
            }
            let (Some(name), Some(symbol)) = (self.name(child), self.symbol(child)) else {
                continue;
            };
            if let Some(class) = class_of(&symbol, &name) {
                return vec![format!("N{class}E"), class];
            }
        }
        Vec::new()
    }

    fn symbol(&self, place: Place) -> Option<String> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let value = entry.attr_value(gimli::DW_AT_linkage_name).ok()??;
        let text = self.dwarf.attr_string(unit, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }
}

/// The class in the name that a function of it has for the linker: `5ocean5Model` of `_ZNK5ocean5Model4sizeEv`.
fn class_of(symbol: &str, function: &str) -> Option<String> {
    let nested = symbol.strip_prefix("_ZN")?;
    let nested = nested.trim_start_matches(['K', 'V', 'R', 'O']);
    let ends = match function.strip_prefix('~') {
        Some(_) => vec![
            "D4Ev".to_string(),
            "D2Ev".into(),
            "D1Ev".into(),
            "D0Ev".into(),
        ],
        None => vec![
            format!("{}{function}E", function.len()),
            "C4E".into(),
            "C2E".into(),
            "C1E".into(),
        ],
    };
    let at = ends.iter().find_map(|end| nested.find(end.as_str()))?;
    let class = nested.get(..at)?;
    (!class.is_empty()).then(|| class.to_string())
}

/// What an object tells of its class: the name of the class for the linker, and the address of the whole object.
pub(super) fn class_at(memory: &dyn Memory, object: u64) -> Option<(String, u64)> {
    let table = memory.number(object, 8)?;
    let whole = object.wrapping_add(memory.number(table.checked_sub(16)?, 8)?);
    let information = memory.number(table.checked_sub(8)?, 8)?;
    let name = memory.number(information.checked_add(8)?, 8)?;
    let mapping = memory.mapping(name)?;
    let length = (mapping.end - name).min(LONGEST_NAME);
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    if !memory.read(name, &mut bytes) {
        return None;
    }
    let text = bytes.split(|byte| *byte == 0).next()?;
    let text = str::from_utf8(text).ok()?;
    Some((text.trim_start_matches('*').to_string(), whole))
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn the_class_of_a_function_is_found_in_its_symbol() {
        let class = |symbol, function| class_of(symbol, function).unwrap_or_default();
        assert_eq!(class("_ZNK5ocean5Model4sizeEv", "size"), "5ocean5Model");
        assert_eq!(class("_ZN7DerivedD4Ev", "~Derived"), "7Derived");
        assert_eq!(class("_ZN2md6ThermoIdEC4Ev", "Thermo"), "2md6ThermoIdE");
        assert_eq!(class("_Z4mainv", "main"), "");
    }
}
