//! The variables of a process that waits, with their elements: from the debug information of its program, or else from its
//! symbols. Values of two processes are compared, or of two moments of one.
//!
//! [`Programs`] reads the files of a process once. [`Programs::look`] finds the [`Leaf`]s: the elements of variables, of
//! what they point to, and of the variables of the frames. [`image`] keeps their values, and compares those of another process. A [`Share`] is how much of a leaf the program has listed.

mod descriptor;
mod dwarf;
mod file;
pub mod image;
mod locate;
mod memory;
mod read_types;
mod share;
#[cfg(test)]
mod tests;
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
use std::collections::BTreeMap;
use std::path::Path;
use types::{Expression, Types};
use walk::{Root, Walker};

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
        let mut seen = Seen::default();
        for (number, mapped) in mapped_files(process).into_iter().enumerate() {
            let file = self.file(&mapped.path);
            let Some(file) = file else { continue };
            let bias = bias(file, &mapped);
            let target = Target {
                memory: process,
                bias,
            };
            // The program comes first, and its part of the thread's memory has a fixed place.
            let part = (number == 0).then_some(file.of_thread).flatten();
            for variable in &file.variables {
                let address = match variable.location {
                    Location::Static(address) => Some(address.wrapping_add(bias)),
                    Location::Thread(offset) => thread.address(part, offset),
                    Location::Local(_) => None,
                };
                if let Some(address) = address {
                    target.follow((variable, &file.types), None, address, &mut seen);
                }
            }
        }
        self.look_at_frames(process, &thread.frames, &mut seen);
        seen
    }

    fn file(&mut self, path: &str) -> Option<&mut ProgramFile> {
        let read = || ProgramFile::read(Path::new(path)).ok();
        self.files
            .entry(path.to_string())
            .or_insert_with(read)
            .as_mut()
    }

    /// Adds the variables of functions that run. Names are numbered from the outermost frame on.
    fn look_at_frames(&mut self, process: &Process, frames: &[Frame], seen: &mut Seen) {
        let files = mapped_files(process);
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
            let bias = bias(file, mapped);
            // The call is before the next instruction.
            let address = frame.instruction.wrapping_sub(bias).wrapping_sub(1);
            let target = Target {
                memory: process,
                bias,
            };
            if let Some((functions, types)) = file.functions(address) {
                target.frame((functions, types), *frame, seen);
            }
        }
    }
}

/// A file in a process whose variables are looked at.
struct Target<'a> {
    memory: &'a dyn Memory,
    bias: u64,
}

impl<'a> Target<'a> {
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
            memory: self.memory,
            types,
            bias: self.bias,
            frame,
            seen,
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
