//! The variables in an executable file or a shared library.

use super::dwarf::{Function, Language, Location, Place, Reader, Variable};
use super::types::{Kind, Type, Types};
use gimli::DwarfSections;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use scr_engine::{Error, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

/// What a file tells about its variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Names, types and lines.
    Debug,
    /// Names and sizes.
    Symbols,
    /// Names and sizes, as the debug information is compressed.
    Compressed,
    /// Names and sizes, as the debug information is in files of their own.
    Split,
    /// It is stripped.
    Nothing,
}

/// An executable file or a shared library.
pub(super) struct ProgramFile {
    pub told: Told,
    pub variables: Vec<Variable>,
    pub types: Types,
    /// The generators of random numbers of libraries that it calls, whose state is not seen.
    pub generators: Vec<&'static str>,
    sections: Option<DwarfSections<Vec<u8>>>,
    /// The part that each thread has for itself: its size and alignment.
    pub of_thread: Option<(u64, u64)>,
    /// The functions that were asked for, by addresses.
    functions: BTreeMap<u64, Vec<Function>>,
    /// The places of the types that were read.
    met: HashMap<Place, usize>,
    /// The types that were asked for.
    found: BTreeMap<String, Option<usize>>,
    /// True if addresses in the file are those of the process.
    pub fixed: bool,
    /// The lowest address of the file.
    pub lowest: u64,
}

impl ProgramFile {
    /// # Errors
    /// The file cannot be read, or is no ELF file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let file = object::File::parse(&*bytes)
            .map_err(|error| Error::io("read", path, std::io::Error::other(error.to_string())))?;
        let writable = writable_sections(&file);
        let is_data = |variable: &Variable| match variable.location {
            Location::Static(address) => writable.iter().any(|range| range.contains(&address)),
            Location::Local(_) | Location::Thread(_) => true,
        };
        let mut found = ProgramFile {
            told: Told::Nothing,
            variables: Vec::new(),
            types: Types::default(),
            generators: generators(&file),
            sections: None,
            of_thread: of_thread(&bytes),
            functions: BTreeMap::new(),
            met: HashMap::new(),
            found: BTreeMap::new(),
            fixed: file.kind() == object::ObjectKind::Executable,
            lowest: lowest_address(&file),
        };
        let symbols = debug_is_elsewhere(&file);
        if symbols.is_none() {
            let sections = sections(&file);
            let mut reader = Reader::new(&sections);
            found.variables = reader.statics();
            // The Fortran module of SCR may be linked into the program.
            found
                .variables
                .retain(|one| is_data(one) && !one.name.starts_with("scrf::"));
            reader.add_dynamic();
            (found.types, found.met) = (reader.types, reader.reading.met);
            // gfortran tells nothing of the variables of a module that are in an EQUIVALENCE.
            found.add_symbols(&file, |name| name.contains(".eq."));
            found.sections = Some(sections);
            found.told = Told::Debug;
        } else {
            found.add_symbols(&file, |_| true);
            found.variables.retain(is_data);
            if let Some(told) = symbols.filter(|_| !found.variables.is_empty()) {
                found.told = told;
            }
        }
        Ok(found)
    }

    /// Reads the functions that run at an address of the file.
    pub fn read_functions(&mut self, address: u64) {
        if !self.functions.contains_key(&address) {
            let found = self.read_more(|reader| {
                let found = reader.functions(address);
                reader.add_classes();
                found
            });
            self.functions.insert(address, found.unwrap_or_default());
        }
    }

    /// Reads more of the file, whose types join those that are known.
    fn read_more<T>(&mut self, read: impl FnOnce(&mut Reader<'_>) -> T) -> Option<T> {
        let mut reader = Reader::new(self.sections.as_ref()?);
        reader.types = std::mem::take(&mut self.types);
        // Types that are met now may hold for one address of the code only, as the places of their bounds.
        reader.reading.met = self.met.clone();
        let found = read(&mut reader);
        self.types = reader.types;
        Some(found)
    }

    /// The functions that were read, the outer first.
    pub fn running(&self, address: u64) -> &[Function] {
        self.functions.get(&address).map_or(&[], Vec::as_slice)
    }

    /// The types that are declared only, by their names.
    pub fn declared(&self) -> BTreeSet<String> {
        let names = self.types.all.iter().filter_map(|one| match one {
            Type::Declared { name } => Some(name.clone()),
            _ => None,
        });
        names.collect()
    }

    /// Looks for a type that another file declares only.
    pub fn find_type(&mut self, name: &str) {
        if !self.found.contains_key(name) {
            let find = |reader: &mut Reader<'_>| {
                let place = reader.complete(name)?;
                Some(reader.type_at(place))
            };
            let found = self.read_more(find);
            self.found.insert(name.to_string(), found.flatten());
        }
    }

    /// The types that were found for other files.
    pub fn found(&self) -> impl Iterator<Item = (&str, usize)> {
        let all = self.found.iter();
        all.filter_map(|(name, id)| Some((name.as_str(), (*id)?)))
    }

    /// Without debug information a variable is a row of words.
    fn add_symbols(&mut self, file: &object::File<'_>, wanted: impl Fn(&str) -> bool) {
        for symbol in file.symbols() {
            let (name, size) = (symbol.name().unwrap_or_default(), symbol.size());
            let data = symbol.kind() == SymbolKind::Data && symbol.is_definition();
            if !data || size == 0 || is_internal(name) || !wanted(name) {
                continue;
            }
            self.types.all.push(Type::Scalar {
                kind: Kind::Words,
                size,
                name: format!("{size} bytes"),
            });
            self.variables.push(Variable {
                name: readable(name),
                place: String::new(),
                of: self.types.all.len() - 1,
                language: Language::C,
                location: Location::Static(symbol.address()),
            });
        }
    }
}

/// Why a file has no debug information that could be read; `None` if it has.
fn debug_is_elsewhere(file: &object::File<'_>) -> Option<Told> {
    let Some(section) = file.section_by_name(".debug_info") else {
        return Some(Told::Symbols);
    };
    if section.uncompressed_data().is_err() {
        return Some(Told::Compressed);
    }
    let sections = sections(file);
    let reader = Reader::new(&sections);
    let split = |unit: &gimli::Unit<_>| unit.dwo_name().is_ok_and(|name| name.is_some());
    if reader.units.iter().any(split) {
        return Some(Told::Split);
    }
    // SCR may be linked into a program without debug information, and its own does not count.
    let has_own = (0..reader.units.len()).any(|unit| reader.language(unit).is_some());
    (!has_own).then_some(Told::Symbols)
}

fn sections(file: &object::File<'_>) -> DwarfSections<Vec<u8>> {
    let load = |id: gimli::SectionId| -> std::result::Result<Vec<u8>, std::convert::Infallible> {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|section| Some(section.uncompressed_data().ok()?.into_owned()));
        Ok(data.unwrap_or_default())
    };
    match DwarfSections::load(load) {
        Ok(sections) => sections,
        Err(never) => match never {},
    }
}

/// The addresses of data that a program changes.
fn writable_sections(file: &object::File<'_>) -> Vec<Range<u64>> {
    let wanted = |section: &object::Section<'_, '_>| {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            return false;
        };
        let writable = sh_flags & u64::from(object::elf::SHF_WRITE) != 0;
        let in_threads = sh_flags & u64::from(object::elf::SHF_TLS) != 0;
        let name = section.name().unwrap_or_default();
        let of_linker = [
            ".got",
            ".data.rel.ro",
            ".init_array",
            ".fini_array",
            ".dynamic",
        ];
        writable && !in_threads && !of_linker.iter().any(|begin| name.starts_with(begin))
    };
    let all = file.sections().filter(wanted);
    all.map(|section| section.address()..section.address().saturating_add(section.size()))
        .collect()
}

/// Size and alignment of the variables that each thread has for itself.
fn of_thread(bytes: &[u8]) -> Option<(u64, u64)> {
    use object::read::elf::{FileHeader, ProgramHeader};
    let header = object::elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let all = header.program_headers(endian, bytes).ok()?;
    let mut all = all.iter();
    let found = all.find(|one| one.p_type(endian) == object::elf::PT_TLS)?;
    Some((found.p_memsz(endian), found.p_align(endian).max(1)))
}

pub(super) fn lowest_address<'a>(file: &impl Object<'a>) -> u64 {
    use object::ObjectSegment;
    let first = file.segments().map(|segment| segment.address()).min();
    // The system maps whole pages.
    first.unwrap_or(0) & !0xfff
}

/// The generators whose state is in a library, by the symbols that a program calls.
fn generators(file: &object::File<'_>) -> Vec<&'static str> {
    const GENERATORS: &[(&str, &str)] = &[
        ("_gfortran_random_", "random_number"),
        ("_gfortran_arandom_", "random_number"),
        ("_FortranARandomNumber", "random_number"),
        ("_gfortran_rand", "rand"),
        ("_gfortran_irand", "rand"),
        ("rand", "rand"),
        ("random", "random"),
        ("drand48", "drand48"),
        ("lrand48", "lrand48"),
        ("mrand48", "mrand48"),
    ];
    let mut found: Vec<&'static str> = Vec::new();
    for symbol in file.dynamic_symbols().chain(file.symbols()) {
        let name = symbol.name().unwrap_or_default();
        let name = name.split('@').next().unwrap_or(name);
        let mut all = GENERATORS.iter();
        let is = |begin: &str| match begin.strip_suffix('_') {
            Some(_) => name.starts_with(begin) && !name.starts_with("_gfortran_random_seed"),
            None => name == begin,
        };
        if symbol.is_undefined()
            && let Some((_, generator)) = all.find(|(begin, _)| is(begin))
            && !found.contains(generator)
        {
            found.push(generator);
        }
    }
    found
}

/// Symbols of the compiler and of the C library's start.
fn is_internal(name: &str) -> bool {
    let begins = [
        "__vtab_",
        "__def_init_",
        "_F.",
        "options.",
        "completed.",
        "__frame_dummy",
    ];
    let last = name.rsplit("_MOD_").next().unwrap_or(name);
    let of_start = [
        "__bss_start",
        "__dso_handle",
        "stdin",
        "stdout",
        "stderr",
        "environ",
    ];
    begins
        .iter()
        .any(|begin| name.starts_with(begin) || last.starts_with(begin))
        || name.contains("@@")
        || is_of_scr(name)
        || of_start.contains(&name)
}

/// Variables of SCR itself have names of Rust, such as `_RNvNtC3std2io6STDOUT`, or of its older kind, which end in a hash.
fn is_of_scr(name: &str) -> bool {
    // A compiler may put a number behind it.
    let name = name.split_once('.').map_or(name, |(name, _)| name);
    let hash = name.strip_prefix("_ZN").and_then(|rest| {
        let (_, hash) = rest.strip_suffix('E')?.rsplit_once("17h")?;
        Some(hash)
    });
    ["_RN", "_RI", "_RX", "_RY", "_RM", "_RC"]
        .iter()
        .any(|begin| name.starts_with(begin))
        || hash
            .is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|one| one.is_ascii_hexdigit()))
}

/// `__time_scheme_MOD_du_old` is `time_scheme::du_old`, and `count.3` is a variable of a function.
fn readable(name: &str) -> String {
    if let Some((module, number)) = name.split_once(".eq.") {
        let number = number.trim_end_matches('_');
        return format!("{module}::(EQUIVALENCE {number})");
    }
    let (name, _) = name
        .split_once('.')
        .filter(|(begin, _)| !begin.is_empty())
        .unwrap_or((name, ""));
    let module = name
        .strip_prefix("__")
        .and_then(|name| name.split_once("_MOD_"));
    match module {
        Some((module, variable)) => format!("{module}::{variable}"),
        None => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_shown_as_users_write_them() {
        assert_eq!(readable("__time_scheme_MOD_du_old"), "time_scheme::du_old");
        assert_eq!(readable("count.3"), "count");
        assert_eq!(readable("gas.eq.0_"), "gas::(EQUIVALENCE 0)");
        assert_eq!(readable("blk_"), "blk_");
        assert!(is_internal("__time_scheme_MOD___vtab_time_scheme_Cell"));
        assert!(!is_internal("du_old"));
        assert!(is_internal("_ZN3scr4capi5stops5STOPS17ha899a63769339de7E"));
        assert!(is_internal("_RNvNtNtCsjrHSEGnQ3l9_3std2io5stdio6STDOUT"));
        assert!(is_internal("_ZN3log6LOGGER17hf81483dd98ab937dE.0"));
        // Those of C++.
        assert!(!is_internal("_ZN5ocean5modelE") && !is_internal("_ZN2w717hE"));
    }

    /// Such as this program: what is linked into it has debug information, and is no state of a program.
    #[test]
    fn a_program_of_which_only_scr_has_debug_information_is_one_without() {
        let own = ProgramFile::read(&std::env::current_exe().unwrap()).unwrap();
        assert_ne!(own.told, Told::Debug);
        let names: Vec<&str> = own.variables.iter().map(|one| one.name.as_str()).collect();
        assert!(!names.iter().any(|name| is_of_scr(name)), "{names:?}");
    }
}
