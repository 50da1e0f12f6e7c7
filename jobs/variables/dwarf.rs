//! Reads the variables of a program from its debug information.

use super::locate::{Fixed, Slice, link_address};
use super::types::{Expression, Types};
use gimli::{
    AttributeValue, DebugTypeSignature, DebuggingInformationEntry, DwarfSections, Unit, UnitOffset,
    UnitType,
};
use std::collections::{BTreeMap, HashMap};

pub(super) type Entry<'a, 'u> = DebuggingInformationEntry<'u, 'u, Slice<'a>>;

/// The parts of SCR in C, which may be linked into a program.
const OF_SCR: &[&str] = &[
    "library/comm/mpi/linked.c",
    "library/comm/mpi/built_with.c",
    "library/capi/barrier.c",
    "library/capi/configf.c",
];

/// How a language writes the parts of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Fortran,
    C,
}

/// A variable of the program.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variable {
    /// As its users write it, with the module, class or function before it.
    pub name: String,
    /// The file and line of its declaration; "" if these are not known.
    pub place: String,
    pub of: usize,
    pub language: Language,
    pub location: Location,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Location {
    /// The address in the file.
    Static(u64),
    /// In the part of the file that each thread has for itself, so many bytes after its begin.
    Thread(u64),
    /// In a frame.
    Local(Expression),
}

/// A function that is running, or one that is inlined there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    pub name: String,
    pub frame_base: Option<Expression>,
    pub variables: Vec<Variable>,
}

/// An entry refers to another one, and this one to the next, so often at most.
const MOST_ORIGINS: usize = 8;

/// Where types of a name are whole; `None` if there are several.
pub(super) type Whole = HashMap<String, Option<Place>>;

/// The place of an entry: number of the unit, and offset in it.
pub(super) type Place = (usize, UnitOffset);

/// Which types have been read.
#[derive(Default)]
pub(super) struct Reading {
    pub met: HashMap<Place, usize>,
    /// To these only pointers have led.
    pub pending: BTreeMap<usize, Place>,
    /// These are being read, each one is a part of the one before.
    pub now: Vec<Place>,
}

pub(super) struct Reader<'a> {
    pub dwarf: gimli::Dwarf<Slice<'a>>,
    pub units: Vec<Unit<Slice<'a>>>,
    /// Types in units of their own.
    signed: HashMap<DebugTypeSignature, Place>,
    pub types: Types,
    pub reading: Reading,
    /// Set when a type is met that is only declared.
    pub whole: Option<Whole>,
    /// The scopes of declarations whose definitions stand elsewhere.
    declared: HashMap<Place, String>,
    /// The types that an object of Fortran's `class` can have, each by the address that its `_vptr` has then.
    dynamic: Vec<(u64, Place)>,
    /// The address of the code at which variables are looked for.
    pub at: u64,
}

impl<'a> Reader<'a> {
    pub fn new(sections: &'a DwarfSections<Vec<u8>>) -> Self {
        let dwarf = sections.borrow(|bytes| Slice::new(bytes, gimli::LittleEndian));
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        // DWARF 4 may have types in a section of their own.
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let signed =
            units
                .iter()
                .enumerate()
                .filter_map(|(number, unit)| match unit.header.type_() {
                    UnitType::Type {
                        type_signature,
                        type_offset,
                    } => Some((type_signature, (number, type_offset))),
                    _ => None,
                });
        Reader {
            signed: signed.collect(),
            dwarf,
            units,
            types: Types::default(),
            reading: Reading::default(),
            whole: None,
            declared: HashMap::new(),
            dynamic: Vec::new(),
            at: 0,
        }
    }

    /// The language of a unit; `None` if its variables are no state of the program: those of SCR itself, and what is
    /// written in assembler.
    pub fn language(&self, unit: usize) -> Option<Language> {
        let unit = self.units.get(unit)?;
        let name = unit.name.map(|name| name.to_string_lossy());
        let is_of_scr = |own: &&str| name.as_ref().is_some_and(|name| name.ends_with(*own));
        if OF_SCR.iter().any(is_of_scr) {
            return None;
        }
        let mut entries = unit.entries();
        let (_, entry) = entries.next_dfs().ok()??;
        let value = entry.attr_value(gimli::DW_AT_language).ok()?;
        match value {
            Some(AttributeValue::Language(gimli::DW_LANG_Rust | gimli::DW_LANG_Mips_Assembler)) => {
                None
            }
            Some(AttributeValue::Language(
                gimli::DW_LANG_Fortran77
                | gimli::DW_LANG_Fortran90
                | gimli::DW_LANG_Fortran95
                | gimli::DW_LANG_Fortran03
                | gimli::DW_LANG_Fortran08
                | gimli::DW_LANG_Fortran18,
            )) => Some(Language::Fortran),
            _ => Some(Language::C),
        }
    }

    /// The variables that have an address in the file.
    pub fn statics(&mut self) -> Vec<Variable> {
        let mut found = BTreeMap::new();
        for unit in 0..self.units.len() {
            if let Some(language) = self.language(unit) {
                // What cannot be read of a unit is left out.
                let _ = self.statics_of(unit, language, &mut found);
            }
        }
        self.add_classes();
        found.into_values().collect()
    }

    fn statics_of(
        &mut self,
        number: usize,
        language: Language,
        found: &mut BTreeMap<Fixed, Variable>,
    ) -> gimli::Result<()> {
        let mut scopes: Vec<(isize, String)> = Vec::new();
        let mut depth = 0;
        for entry in self.entries(number)? {
            depth += entry.delta;
            while scopes.last().is_some_and(|(at, _)| *at >= depth) {
                scopes.pop();
            }
            let scope = || {
                let names: Vec<&str> = scopes.iter().map(|(_, name)| name.as_str()).collect();
                names.join("::")
            };
            match entry.tag {
                gimli::DW_TAG_module
                | gimli::DW_TAG_namespace
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_subprogram => {
                    let name = self.name((number, entry.offset)).unwrap_or_default();
                    scopes.push((depth, name));
                }
                gimli::DW_TAG_common_block => {
                    let name = self.name((number, entry.offset)).unwrap_or_default();
                    let name = if name == "__BLNK__" { "" } else { &name };
                    scopes.push((depth, format!("/{name}/")));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_member => {
                    let place = (number, entry.offset);
                    match self.static_variable(place, &scope(), language) {
                        Some((address, variable)) => {
                            found.entry(address).or_insert(variable);
                        }
                        None => {
                            self.declared.insert(place, scope());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The entries of a unit, each with its tag and how much deeper it is than the one before.
    fn entries(&self, unit: usize) -> gimli::Result<Vec<Step>> {
        let mut steps = Vec::new();
        let Some(unit) = self.units.get(unit) else {
            return Ok(steps);
        };
        let mut entries = unit.entries();
        while let Some((delta, entry)) = entries.next_dfs()? {
            steps.push(Step {
                delta,
                tag: entry.tag(),
                offset: entry.offset(),
            });
        }
        Ok(steps)
    }

    fn static_variable(
        &mut self,
        place: Place,
        scope: &str,
        language: Language,
    ) -> Option<(Fixed, Variable)> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let location = entry.attr_value(gimli::DW_AT_location).ok()??;
        let AttributeValue::Exprloc(expression) = location else {
            return None;
        };
        let fixed = link_address(&self.dwarf, unit, expression)?;
        if has_flag(&entry, gimli::DW_AT_artificial) {
            if let Fixed::Static(address) = fixed
                && let Some(of) = self.type_of_class(place)
            {
                self.dynamic.push((address, of));
            }
            return None;
        }
        let origin = self.origin(place);
        let declared = origin.and_then(|origin| self.declared.get(&origin));
        let scope = declared.cloned().unwrap_or_else(|| scope.to_string());
        let variable = self.variable(place, &scope, language)?;
        let location = match fixed {
            Fixed::Static(address) => Location::Static(address),
            Fixed::Thread(offset) => Location::Thread(offset),
        };
        Some((
            fixed,
            Variable {
                location,
                ..variable
            },
        ))
    }

    /// The type that gfortran's table of a type describes: that of its member `_def_init`, which points to an object of it.
    fn type_of_class(&self, place: Place) -> Option<Place> {
        if !self.name(place)?.starts_with("__vtab_") {
            return None;
        }
        let table = self.attribute_place(place, gimli::DW_AT_type)?;
        let mut members = self.children(table).into_iter();
        let (_, object) =
            members.find(|(_, one)| self.name(*one).is_some_and(|name| name == "_def_init"))?;
        let pointer = self.attribute_place(object, gimli::DW_AT_type)?;
        let of = self.attribute_place(pointer, gimli::DW_AT_type)?;
        // Types of the language have an address there.
        let entry = self.units.get(of.0)?.entry(of.1).ok()?;
        (entry.tag() == gimli::DW_TAG_structure_type).then_some(of)
    }

    /// Adds the types of [`Reader::dynamic`].
    pub fn add_dynamic(&mut self) {
        for (address, place) in std::mem::take(&mut self.dynamic) {
            let id = self.type_at(place);
            self.types.dynamic.insert(address, id);
        }
    }

    /// A variable without its location.
    pub fn variable(&mut self, place: Place, scope: &str, language: Language) -> Option<Variable> {
        let name = self.name(place)?;
        let of = self.attribute_place(place, gimli::DW_AT_type)?;
        let name = match scope {
            "" => name,
            common if common.ends_with('/') => {
                let begin = common.rfind("::").map_or(0, |at| at + 2);
                format!("{} {name}", common.get(begin..).unwrap_or(common))
            }
            scope => format!("{scope}::{name}"),
        };
        Some(Variable {
            name,
            place: self.declaration(place).unwrap_or_default(),
            of: self.type_at(of),
            language,
            location: Location::Static(0),
        })
    }

    /// The name of an entry, which may stand in the entry that it refers to.
    pub fn name(&self, place: Place) -> Option<String> {
        let own = |place: Place| {
            let unit = self.units.get(place.0)?;
            let entry = unit.entry(place.1).ok()?;
            let value = entry.attr_value(gimli::DW_AT_name).ok()??;
            let text = self.dwarf.attr_string(unit, value).ok()?;
            Some(without_entry(&text.to_string_lossy()).to_string())
        };
        self.with_origins(place).find_map(own)
    }

    /// An entry, the one of which it is an instance or the definition, and so on. In a damaged file they may refer to each other.
    fn with_origins(&self, place: Place) -> impl Iterator<Item = Place> {
        std::iter::successors(Some(place), |place| self.origin(*place)).take(MOST_ORIGINS)
    }

    /// The entry of which this one is an instance or the definition.
    fn origin(&self, place: Place) -> Option<Place> {
        [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin]
            .into_iter()
            .find_map(|attribute| self.own_place(place, attribute))
    }

    /// The entry that an attribute refers to, of this entry or of its origin.
    pub fn attribute_place(&self, place: Place, name: gimli::DwAt) -> Option<Place> {
        self.with_origins(place)
            .find_map(|place| self.own_place(place, name))
    }

    fn own_place(&self, place: Place, name: gimli::DwAt) -> Option<Place> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        match entry.attr_value(name).ok()?? {
            AttributeValue::UnitRef(offset) => Some((place.0, offset)),
            AttributeValue::DebugTypesRef(signature) => self.signed.get(&signature).copied(),
            AttributeValue::DebugInfoRef(offset) => {
                let mut units = self.units.iter().enumerate();
                units
                    .find_map(|(number, unit)| Some((number, offset.to_unit_offset(&unit.header)?)))
            }
            _ => None,
        }
    }

    /// `time_scheme.f90:41`. An entry has no file if its origin has the same one.
    fn declaration(&self, place: Place) -> Option<String> {
        let number = |place: Place, name| {
            let entry = self.units.get(place.0)?.entry(place.1).ok()?;
            match entry.attr_value(name).ok()?? {
                AttributeValue::FileIndex(index) => Some(index),
                value => value.udata_value(),
            }
        };
        let find = |name| {
            self.with_origins(place)
                .find_map(|place| Some((place, number(place, name)?)))
        };
        let (_, line) = find(gimli::DW_AT_decl_line)?;
        let (place, file) = find(gimli::DW_AT_decl_file)?;
        let unit = self.units.get(place.0)?;
        let file = unit.line_program.as_ref()?.header().file(file)?;
        let path = self.dwarf.attr_string(unit, file.path_name()).ok()?;
        let path = path.to_string_lossy().into_owned();
        Some(format!("{}:{line}", path.rsplit('/').next()?))
    }

    /// The functions that run at an address of the file, the outer first.
    pub fn functions(&mut self, address: u64) -> Vec<Function> {
        self.at = address;
        for unit in 0..self.units.len() {
            let Some(language) = self.language(unit) else {
                continue;
            };
            if self.has_code(unit, address)
                && let Ok(found) = self.functions_of(unit, address, language)
                && !found.is_empty()
            {
                return found;
            }
        }
        Vec::new()
    }

    fn has_code(&self, unit: usize, address: u64) -> bool {
        let find = || {
            let mut ranges = self.dwarf.unit_ranges(self.units.get(unit)?).ok()?;
            while let Ok(Some(range)) = ranges.next() {
                if (range.begin..range.end).contains(&address) {
                    return Some(());
                }
            }
            None
        };
        find().is_some()
    }

    fn functions_of(
        &mut self,
        number: usize,
        address: u64,
        language: Language,
    ) -> gimli::Result<Vec<Function>> {
        let mut found: Vec<Function> = Vec::new();
        // The depths from which on entries belong to what runs at the address, and one that is left out.
        let (mut depth, mut inside, mut left_out) = (0, Vec::new(), None);
        for entry in self.entries(number)? {
            depth += entry.delta;
            inside.retain(|at| *at < depth);
            left_out = left_out.filter(|at| depth > *at);
            if left_out.is_some() {
                continue;
            }
            let place = (number, entry.offset);
            match entry.tag {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    if self.contains(place, address) {
                        inside.push(depth);
                        found.push(Function {
                            name: self.name(place).unwrap_or_default(),
                            frame_base: self.expression(place, gimli::DW_AT_frame_base, address),
                            variables: Vec::new(),
                        });
                    } else {
                        left_out = Some(depth);
                    }
                }
                gimli::DW_TAG_lexical_block if !self.contains(place, address) => {
                    left_out = Some(depth);
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter if !inside.is_empty() => {
                    let scope = found.last().map_or(String::new(), |one| one.name.clone());
                    let local = self.local(place, address, (&scope, language));
                    if let (Some(function), Some(local)) = (found.last_mut(), local) {
                        function.variables.push(local);
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn local(
        &mut self,
        place: Place,
        address: u64,
        (scope, language): (&str, Language),
    ) -> Option<Variable> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        if has_flag(&entry, gimli::DW_AT_artificial) {
            return None;
        }
        let location = self.expression(place, gimli::DW_AT_location, address)?;
        let variable = self.variable(place, scope, language)?;
        Some(Variable {
            location: Location::Local(location),
            ..variable
        })
    }

    fn contains(&self, place: Place, address: u64) -> bool {
        let find = || {
            let unit = self.units.get(place.0)?;
            let entry = unit.entry(place.1).ok()?;
            let mut ranges = self.dwarf.die_ranges(unit, &entry).ok()?;
            let mut any = false;
            while let Ok(Some(range)) = ranges.next() {
                any |= (range.begin..range.end).contains(&address);
            }
            Some(any)
        };
        find().unwrap_or(false)
    }

    /// An expression that holds at an address of the code.
    pub fn expression(&self, place: Place, name: gimli::DwAt, address: u64) -> Option<Expression> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let of = |bytes: gimli::Expression<Slice<'a>>| Expression {
            bytes: bytes.0.slice().to_vec(),
            encoding: unit.encoding(),
        };
        let value = entry.attr_value(name).ok()??;
        if let AttributeValue::Exprloc(expression) = value {
            return Some(of(expression));
        }
        let mut list = self.dwarf.attr_locations(unit, value).ok()??;
        while let Ok(Some(part)) = list.next() {
            if (part.range.begin..part.range.end).contains(&address) {
                return Some(of(part.data));
            }
        }
        None
    }
}

/// gfortran names a subroutine that has an ENTRY `master.0.NAME`.
fn without_entry(name: &str) -> &str {
    let rest = name.strip_prefix("master.");
    let found = rest.and_then(|rest| rest.split_once('.'));
    found.map_or(name, |(_, name)| name)
}

struct Step {
    delta: isize,
    tag: gimli::DwTag,
    offset: UnitOffset,
}

pub(super) fn has_flag(entry: &Entry<'_, '_>, name: gimli::DwAt) -> bool {
    let value = entry.attr_value(name).ok().flatten();
    matches!(value, Some(AttributeValue::Flag(true)))
}
