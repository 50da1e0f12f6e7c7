//! Programs whose files are damaged: what is read of them comes to an end, and no part of it stops the command.

use super::*;
use gimli::{AttributeValue, DebugAbbrev, DebugInfo, LittleEndian};
use object::{Object, ObjectSection};
use scr_testing::random::Random;
use std::ops::Range;

/// Damaged files of each program; `SCR_TEST_SEEDS` sets another number.
const FILES: u64 = 60;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

/// The places in the file that tell of variables, and now and then all of it.
fn parts(bytes: &[u8]) -> Vec<Range<usize>> {
    let file = object::File::parse(bytes).unwrap();
    let wanted = |name: &str| name.starts_with(".debug_") || name == ".symtab";
    let sections = file
        .sections()
        .filter(|section| section.name().is_ok_and(wanted));
    let ranges = sections.filter_map(|section| section.file_range());
    let mut parts: Vec<Range<usize>> = ranges
        .map(|(begin, size)| begin as usize..(begin + size) as usize)
        .collect();
    // The tables of sections and segments.
    parts.extend([0..4096, bytes.len() - 2048..bytes.len()]);
    parts
}

/// Changes up to sixteen places: a byte of them, or more that are taken from elsewhere in the same part.
fn damage(bytes: &mut [u8], parts: &[Range<usize>], random: &mut Random) {
    let part = random.one_of(parts).clone();
    for _ in 0..random.between(1, 16) {
        let at = |random: &mut Random, size: usize| {
            part.start + random.below((part.len() - size) as u64 + 1) as usize
        };
        if random.once_in(2) || part.len() < 8 {
            let at = at(random, 1);
            bytes[at] = random.number() as u8;
        } else {
            let size = random.between(1, 8) as usize;
            let (from, to) = (at(random, size), at(random, size));
            bytes.copy_within(from..from + size, to);
        }
    }
}

/// The places in the file of references between the entries of `.debug_info`, each with what it refers to.
fn references(bytes: &[u8]) -> Vec<(usize, u32)> {
    let file = object::File::parse(bytes).unwrap();
    let section = |name: &str| file.section_by_name(name).unwrap();
    let (info, abbrev) = (section(".debug_info"), section(".debug_abbrev"));
    let begin = info.file_range().unwrap().0 as usize;
    let (info, abbrev) = (info.data().unwrap(), abbrev.data().unwrap());
    let abbrev = DebugAbbrev::new(abbrev, LittleEndian);
    let mut units = DebugInfo::new(info, LittleEndian).units();
    let mut found = Vec::new();
    while let Some(unit) = units.next().unwrap() {
        let abbreviations = unit.abbreviations(&abbrev).unwrap();
        let mut entries = unit.entries(&abbreviations);
        while let Some((_, entry)) = entries.next_dfs().unwrap() {
            let at = entry.offset().to_debug_info_offset(&unit).unwrap();
            let mut attributes = entry.attrs();
            while let Some(attribute) = attributes.next().unwrap() {
                let AttributeValue::UnitRef(to) = attribute.value() else {
                    continue;
                };
                let to = to.0 as u32;
                let after = &info[at.0..(at.0 + 64).min(info.len())];
                let place = after.windows(4).position(|bytes| bytes == to.to_le_bytes());
                found.extend(place.map(|place| (begin + at.0 + place, to)));
            }
        }
    }
    found
}

/// Lets up to sixteen references lead elsewhere, so that a type may be a part of itself.
fn lead_astray(bytes: &mut [u8], references: &[(usize, u32)], random: &mut Random) {
    for _ in 0..random.between(1, 16) {
        let (place, _) = *random.one_of(references);
        // Another one close by is more often of the same kind.
        let other = if random.once_in(2) {
            random.one_of(references).1
        } else {
            bytes_at(bytes, place).wrapping_sub(random.below(64) as u32)
        };
        bytes[place..place + 4].copy_from_slice(&other.to_le_bytes());
    }
}

fn bytes_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().unwrap())
}

fn read_damaged(waiting: &Waiting, program: &Path) {
    let sound = std::fs::read(program).unwrap();
    let (parts, references) = (parts(&sound), references(&sound));
    let shown = program.to_string_lossy().into_owned();
    let damaged = program.with_extension("damaged");
    let whole = ProgramFile::read(program).unwrap().lowest;
    let first = number("SCR_TEST_SEED", 1);
    for seed in first..first + number("SCR_TEST_SEEDS", FILES) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut bytes = sound.clone();
        if random.once_in(3) {
            damage(&mut bytes, &parts, &mut random);
        } else {
            lead_astray(&mut bytes, &references, &mut random);
        }
        std::fs::write(&damaged, &bytes).unwrap();
        let Ok(mut file) = ProgramFile::read(&damaged) else {
            continue;
        };
        for address in [0x40, 0x1200, 0x1400, 0x2000] {
            file.read_functions(whole + address);
        }
        let files = [(shown.clone(), Some(file))].into();
        let mut programs = Programs {
            files,
            ..Programs::default()
        };
        let seen = programs.look(&waiting.process, &Thread::default());
        let image = Image::take(&damaged, &waiting.process, seen.leaves.clone()).unwrap();
        let listed = Listed::default();
        image
            .differences(&waiting.process, &seen.leaves, &listed)
            .unwrap();
    }
}

#[test]
fn damaged_programs_are_read_to_an_end() {
    let programs: [(&str, &str, &[&str], &str); 3] = [
        ("gfortran", "heat.f90", &["-g"], FORTRAN),
        ("gcc", "heat.c", &["-g"], C),
        ("g++", "ocean.cpp", &["-g", "-std=c++17"], CXX),
    ];
    for (compiler, name, options, text) in programs {
        let dir = tempfile::tempdir().unwrap();
        if let Some(program) = compile(dir.path(), compiler, name, (options, text)) {
            println!("{name}");
            read_damaged(&start(&program, ""), &program);
        }
    }
}
