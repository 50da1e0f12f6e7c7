//! The MPI that a program is linked with, by what its file says.

use super::{Launcher, LauncherKind};
use scr_engine::job::Environment;
use scr_engine::job::program::find;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// MPIs whose launchers start each other's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MpiFamily {
    /// MPICH and what is made of it.
    Mpich,
    /// Open MPI and what is made of it.
    OpenMpi,
}

impl MpiFamily {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            MpiFamily::Mpich => "MPICH",
            MpiFamily::OpenMpi => "Open MPI",
        }
    }

    /// True if launchers of this kind only start programs of another family. Those of schedulers serve many.
    pub fn is_foreign_to(self, kind: LauncherKind) -> bool {
        matches!(
            (kind, self),
            (LauncherKind::OpenMpi, MpiFamily::Mpich) | (LauncherKind::Hydra, MpiFamily::OpenMpi)
        )
    }

    /// The family of a library with this file name. None for other libraries, and for `libmpi_abi`, which may be of any.
    fn of_library(name: &str) -> Option<Self> {
        let (stem, version) = name.split_once(".so")?;
        let parts = ["libmpi_mpifh", "libmpi_usempi", "libmpi_cxx", "libmpi_ibm"];
        if stem.starts_with("libmpich") || stem.starts_with("libmpifort") {
            return Some(MpiFamily::Mpich);
        } else if parts.iter().any(|part| stem.starts_with(part)) {
            return Some(MpiFamily::OpenMpi);
        } else if stem != "libmpi" && !stem.starts_with("libmpi_") {
            return None;
        }
        // MPICH and its relatives have agreed on 12; Open MPI counts on, and is at 20 since its release 2.
        let version = version.strip_prefix('.')?.split('.').next()?;
        match (stem, version.parse::<u32>().ok()?) {
            ("libmpi_abi", _) => None,
            (_, 12) => Some(MpiFamily::Mpich),
            ("libmpi", 20..) => Some(MpiFamily::OpenMpi),
            _ => None,
        }
    }
}

/// A program that names its MPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiProgram {
    /// As the user wrote it.
    pub word: String,
    /// Its MPI.
    pub family: MpiFamily,
    /// The library of that MPI, as in `libmpi.so.40`.
    pub library: String,
}

impl MpiProgram {
    /// The program, if its file names the MPI that it needs. A program that has its MPI inside or by way of another
    /// library, and an interpreter, do not.
    pub fn named(word: &OsStr, environment: &Environment) -> Option<Self> {
        let file = match word.to_str() {
            Some(name) => find(environment, name)?,
            None => environment.cwd.join(PathBuf::from(word)),
        };
        let library = needed(&file)
            .into_iter()
            .find(|name| MpiFamily::of_library(name).is_some())?;
        Some(MpiProgram {
            word: word.to_string_lossy().into_owned(),
            family: MpiFamily::of_library(&library)?,
            library,
        })
    }

    /// The first of the words after a launcher that is such a program: which of them are options is not known.
    pub fn among(words: &[OsString], environment: &Environment) -> Option<Self> {
        words.iter().find_map(|word| Self::named(word, environment))
    }

    /// True if the launcher only starts programs of another MPI.
    pub fn is_foreign_to(&self, launcher: &Launcher) -> bool {
        self.family.is_foreign_to(launcher.kind())
    }
}

/// Most bytes that are read of a table, and most entries of one.
const LONGEST: u64 = 1 << 20;

/// The shared libraries that a program names. Empty for a file that is no such program, or is damaged.
fn needed(file: &Path) -> Vec<String> {
    File::open(file)
        .ok()
        .and_then(|file| Elf::of(&file)?.needed())
        .unwrap_or_default()
}

/// A program or library in the format ELF, of 64 bits.
struct Elf<'f> {
    file: &'f File,
    big_endian: bool,
    /// Those that are looked at: type, place in the file, address, and size in the file.
    segments: Vec<[u64; 4]>,
}

const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
// Entries of the dynamic section.
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const SIZE_OF_STRINGS: u64 = 10;

impl<'f> Elf<'f> {
    fn of(file: &'f File) -> Option<Self> {
        let mut head = [0; 64];
        file.read_exact_at(&mut head, 0).ok()?;
        // Class 2 is 64 bits; the byte after it is the order of bytes.
        let big_endian = match head.get(..6)? {
            b"\x7fELF\x02\x01" => false,
            b"\x7fELF\x02\x02" => true,
            _ => return None,
        };
        let mut elf = Elf {
            file,
            big_endian,
            segments: Vec::new(),
        };
        let table = elf.number(&head, 32, 8)?;
        let (size, count) = (elf.number(&head, 54, 2)?, elf.number(&head, 56, 2)?);
        let bytes = elf.bytes(table, size.checked_mul(count)?)?;
        for row in bytes.chunks_exact(usize::try_from(size).ok().filter(|size| *size >= 56)?) {
            let field = |at, width| elf.number(row, at, width);
            let segment = [field(0, 4)?, field(8, 8)?, field(16, 8)?, field(32, 8)?];
            elf.segments.push(segment);
        }
        Some(elf)
    }

    fn needed(&self) -> Option<Vec<String>> {
        let [_, place, _, size] = self.segments.iter().find(|segment| segment[0] == DYNAMIC)?;
        let dynamic = self.bytes(*place, *size)?;
        let entry = |row| Some((self.number(row, 0, 8)?, self.number(row, 8, 8)?));
        let entries: Vec<(u64, u64)> = dynamic.chunks_exact(16).filter_map(entry).collect();
        let value = |tag| {
            entries
                .iter()
                .find(|(of, _)| *of == tag)
                .map(|entry| entry.1)
        };
        let strings = self.at_address(value(STRINGS)?)?;
        let strings = self.bytes(strings, value(SIZE_OF_STRINGS)?)?;
        let names = entries.iter().filter(|(of, _)| *of == NEEDED);
        let names = names.filter_map(|(_, start)| {
            let name = strings.get(usize::try_from(*start).ok()?..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            Some(String::from_utf8_lossy(name).into_owned())
        });
        Some(names.collect())
    }

    /// The place in the file of what is at an address in memory.
    fn at_address(&self, address: u64) -> Option<u64> {
        let loaded = self.segments.iter().filter(|segment| segment[0] == LOAD);
        let mut places = loaded.filter_map(|[_, place, start, size]| {
            let within = address.checked_sub(*start)?;
            (within < *size).then(|| place.checked_add(within))?
        });
        places.next()
    }

    fn bytes(&self, place: u64, size: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(Some(size).filter(|size| *size <= LONGEST)?).ok()?;
        let mut bytes = vec![0; size];
        self.file.read_exact_at(&mut bytes, place).ok()?;
        Some(bytes)
    }

    /// The number of `width` bytes, at most eight.
    fn number(&self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(width)?)?;
        let join = |number, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.big_endian {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_libraries_tell_the_family() {
        use MpiFamily::{Mpich, OpenMpi};
        for (name, expected) in [
            ("libmpi.so.12", Some(Mpich)),
            ("libmpich.so.12", Some(Mpich)),
            ("libmpichfort.so.12", Some(Mpich)),
            ("libmpifort.so.12", Some(Mpich)),
            ("libmpi_gnu_123.so.12", Some(Mpich)),
            ("libmpi.so.20", Some(OpenMpi)),
            ("libmpi.so.40", Some(OpenMpi)),
            ("libmpi_usempif08.so.40", Some(OpenMpi)),
            ("libmpi_abi.so.1", None),
            ("libmpi_abi.so.12", None),
            ("libmpi.so.1", None),
            ("libmpi.so", None),
            ("libmpicommon.so.12", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(MpiFamily::of_library(name), expected, "{name}");
        }
    }

    #[test]
    fn a_program_names_what_it_needs_and_no_part_of_one_is_too_short() {
        let program = std::env::current_exe().unwrap();
        let names = needed(&program);
        assert!(names.iter().any(|name| name == "libc.so.6"), "{names:?}");
        // Each cut of the headers and, in longer steps, of all else.
        let scratch = tempfile::tempdir().unwrap();
        let whole = std::fs::read(&program).unwrap();
        let cut = scratch.path().join("cut");
        let steps = (0..1000)
            .step_by(7)
            .chain((1000..whole.len()).step_by(whole.len() / 20));
        for length in steps {
            std::fs::write(&cut, &whole[..length]).unwrap();
            let some = needed(&cut);
            assert!(some.is_empty() || some == names, "{length}: {some:?}");
        }
        // Damaged headers end as nothing.
        for at in 0..64 {
            let mut bytes = whole[..4096].to_vec();
            bytes[at] = 0xff;
            std::fs::write(&cut, bytes).unwrap();
            needed(&cut);
        }
        assert_eq!(needed(Path::new("/nonexistent")), [""; 0]);
    }
}
