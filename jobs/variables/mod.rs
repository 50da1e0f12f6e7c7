//! The variables of a process that waits, with their elements: from the debug information of its program, or else from its
//! symbols. Values of two processes are compared, or of two moments of one.
//!
//! [`Programs`] reads the files of a process once. [`Programs::look`] finds the [`Leaf`]s: the elements of variables, of
//! what they point to, and of the variables of the frames. [`image`] keeps their values, and compares those of another process.
//! A [`Share`] is how much of a leaf the program has listed.

mod classes;
mod cover;
mod descriptor;
mod dwarf;
mod file;
pub mod image;
mod library;
mod locate;
mod memory;
mod pieces;
mod read_types;
mod registers;
mod share;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cxx;
mod types;
mod walk;

pub use file::Told;
pub use locate::{Frame, Thread};
pub use memory::{Mapping, Memory, Process};
pub use share::Share;
pub use types::Kind;
pub use walk::{Leaf, MOST_LEAVES, Seen};

use dwarf::{Function, Location, Variable};
use file::ProgramFile;
use pieces::Assembled;
use registers::Tables;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use types::{Expression, Types};
use walk::{Elsewhere, Root, Walker};

/// Libraries of this name hold no state of the program.
const LIBRARIES: &[&str] = &[
    "libscr",
    "libmpi",
    "libopen-",
    "libpmi",
    "libprrte",
    "libc.",
    "libm.",
    "libgfortran",
    "libstdc++",
    "libgcc_s",
    "libquadmath",
    "ld-linux",
    "libpthread",
    "libhwloc",
    "libevent",
    "libucx",
    "libucp",
    "libucs",
    "libuct",
    "libucm",
    "libfabric",
    "librdmacm",
    "libibverbs",
    "libdl",
    "librt",
    "libz.",
    "libgomp",
    "libomp",
];

/// The files of processes that run the same program.
#[derive(Default)]
pub struct Programs {
    files: BTreeMap<String, Option<ProgramFile>>,
    tables: Tables,
}

/// A file in a process.
struct Mapped {
    path: String,
    begin: u64,
}

impl Programs {
    /// What the program's own file tells.
    pub fn told(&mut self, program: &Path) -> Told {
        self.file(&program.to_string_lossy())
            .map_or(Told::Nothing, |file| file.told)
    }

    /// The generators of random numbers of libraries that the program calls.
    pub fn generators(&mut self, program: &Path) -> Vec<&'static str> {
        self.file(&program.to_string_lossy())
            .map_or(Vec::new(), |file| file.generators.clone())
    }

    /// Finds the elements of all variables of a process, as its thread sees them.
    pub fn look(&mut self, process: &Process, thread: &Thread) -> Seen {
        let files = mapped_files(process);
        let frames = self.tables.complete(process, &thread.frames);
        let running = self.running(process, &files, &frames);
        self.find_elsewhere(&files);
        let elsewhere = self.elsewhere(&files);
        let target = |file: &ProgramFile, mapped: &Mapped, pointers: bool| Target {
            pointers,
            memory: process,
            bias: bias(file, mapped),
            elsewhere: &elsewhere,
        };
        let mut seen = Seen::default();
        // Elements have the name of the variable that they are a part of, rather than that of one that points to them now.
        for pointers in [false, true] {
            for (number, mapped) in files.iter().enumerate() {
                let Some(file) = self.read(mapped) else {
                    continue;
                };
                let target = target(file, mapped, pointers);
                // The program comes first, and its part of the thread's memory has a fixed place.
                let part = (number == 0).then_some(file.of_thread).flatten();
                for variable in &file.variables {
                    if let Some(address) = target.address(variable, thread, part) {
                        target.follow((variable, &file.types), None, address, &mut seen);
                    }
                }
            }
        }
        for pointers in [false, true] {
            for (frame, mapped, address) in &running {
                let Some(file) = self.read(mapped) else {
                    continue;
                };
                let functions = (file.running(*address), &file.types);
                target(file, mapped, pointers).frame(functions, *frame, &mut seen);
            }
        }
        cover::leave_out_covered(&mut seen.leaves);
        seen
    }

    fn file(&mut self, path: &str) -> Option<&mut ProgramFile> {
        let read = || ProgramFile::read(Path::new(path)).ok();
        self.files
            .entry(path.to_string())
            .or_insert_with(read)
            .as_mut()
    }

    /// A file that was read before.
    fn read(&self, mapped: &Mapped) -> Option<&ProgramFile> {
        self.files.get(&mapped.path)?.as_ref()
    }

    /// Reads the functions of the frames, each with its file and its address there. The outermost is the first.
    fn running<'a>(
        &mut self,
        process: &Process,
        files: &'a [Mapped],
        frames: &[Frame],
    ) -> Vec<(Frame, &'a Mapped, u64)> {
        let mut found = Vec::new();
        for frame in frames.iter().rev() {
            let Some(mapping) = process.mapping(frame.instruction) else {
                continue;
            };
            let Some(mapped) = files.iter().find(|file| file.path == mapping.file) else {
                continue;
            };
            let Some(file) = self.file(&mapped.path) else {
                continue;
            };
            // The call is before the next instruction.
            let bias = bias(file, mapped);
            let address = frame.instruction.wrapping_sub(bias).wrapping_sub(1);
            file.read_functions(address);
            found.push((*frame, mapped, address));
        }
        found
    }

    /// Looks in each file for the types that another file only declares.
    fn find_elsewhere(&mut self, files: &[Mapped]) {
        let mut wanted = BTreeSet::new();
        for mapped in files {
            wanted.extend(self.file(&mapped.path).map(|file| file.declared()));
        }
        for name in wanted.iter().flatten() {
            for mapped in files {
                if let Some(file) = self.file(&mapped.path) {
                    file.find_type(name);
                }
            }
        }
    }

    fn elsewhere(&self, files: &[Mapped]) -> Elsewhere<'_> {
        let mut found = Elsewhere::new();
        for mapped in files {
            let Some(file) = self.read(mapped) else {
                continue;
            };
            for (name, id) in file.found() {
                found
                    .entry(name)
                    .or_insert((&file.types, id, bias(file, mapped)));
            }
        }
        found
    }
}

/// A file in a process whose variables are looked at.
struct Target<'a> {
    /// Pointers are followed, too.
    pointers: bool,
    memory: &'a dyn Memory,
    bias: u64,
    elsewhere: &'a Elsewhere<'a>,
}

impl<'a> Target<'a> {
    /// The address of a variable that is in no frame; `part` is the part of the file that each thread has for itself.
    fn address(
        &self,
        variable: &Variable,
        thread: &Thread,
        part: Option<(u64, u64)>,
    ) -> Option<u64> {
        match variable.location {
            Location::Static(address) => Some(address.wrapping_add(self.bias)),
            Location::Thread(offset) => thread.address(part, offset),
            Location::Local(_) => None,
        }
    }

    fn follow(
        &self,
        (variable, types): (&'a Variable, &'a Types),
        frame: Option<(Frame, Option<&'a Expression>)>,
        address: u64,
        seen: &mut Seen,
    ) {
        let root = Root {
            name: &variable.name,
            place: &variable.place,
            language: variable.language,
            local: frame.is_some(),
        };
        let mut walker = Walker {
            pointers: self.pointers,
            memory: self.memory,
            types,
            bias: self.bias,
            frame,
            seen,
            pending: VecDeque::new(),
            elsewhere: self.elsewhere,
        };
        walker.follow(&root, variable.of, address);
    }

    fn frame(
        &self,
        (functions, types): (&'a [Function], &'a Types),
        frame: Frame,
        seen: &mut Seen,
    ) {
        let base = functions.iter().find_map(|one| one.frame_base.as_ref());
        for variable in functions.iter().flat_map(|one| &one.variables) {
            let Location::Local(expression) = &variable.location else {
                continue;
            };
            let place = locate::Place {
                memory: self.memory,
                bias: self.bias,
                object: 0,
                frame: Some((frame, base)),
            };
            let address = place.evaluate(expression);
            if let Some(address) = address.filter(|at| self.memory.is_data(*at)) {
                self.follow((variable, types), Some((frame, base)), address, seen);
            } else if self.pointers
                && let Some(assembled) = Assembled::new(
                    &place,
                    expression,
                    (types.size(variable.of), seen.assembled),
                )
            {
                let target = Target {
                    memory: &assembled,
                    ..*self
                };
                seen.assembled += 1;
                let (from, at) = (seen.leaves.len(), assembled.address());
                target.follow((variable, types), Some((frame, base)), at, seen);
                assembled.settle(&mut seen.leaves, from);
            }
        }
    }
}

fn bias(file: &ProgramFile, mapped: &Mapped) -> u64 {
    if file.fixed {
        0
    } else {
        mapped.begin.wrapping_sub(file.lowest)
    }
}

/// The program and the libraries that may hold state of it, each with its lowest address.
fn mapped_files(process: &Process) -> Vec<Mapped> {
    let mut found: Vec<Mapped> = Vec::new();
    for mapping in &process.mappings {
        let path = &mapping.file;
        let name = path.rsplit('/').next().unwrap_or_default();
        let own = path.starts_with('/') && !LIBRARIES.iter().any(|begin| name.starts_with(begin));
        if own && mapping.offset == 0 && !found.iter().any(|file| file.path == *path) {
            found.push(Mapped {
                path: path.clone(),
                begin: mapping.begin,
            });
        }
    }
    found
}
