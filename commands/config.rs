//! `scr config`: where this installation is, and how programs are compiled and linked with it.

use super::call::{Failure, Invocation};
use super::{Outcome, RunCommand};
use scr_engine::Error;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print where this installation is, and the options for compilers
///
/// Without an option prints all that it knows, with the name of the option before each line. The answers are
/// about the installation that the command itself lies in, also after it was moved.
///
/// Directories are printed as they are. In options, what is special to a shell has a backslash before it,
/// as pkg-config writes them, for make and `eval`.
///
/// Exit status: 0 printed, 1 the command is in no installation, or this one does not have what was asked for.
#[derive(clap::Args)]
pub(super) struct Options {
    /// The directory of the installation
    #[arg(long)]
    prefix: bool,
    /// The directory of the package for CMake: a value for CMAKE_PREFIX_PATH or scr_DIR
    #[arg(long)]
    cmake: bool,
    /// The directory of the packages for pkg-config: a value for PKG_CONFIG_PATH
    #[arg(long)]
    pkgconfig: bool,
    /// The directory of scrf.F90, the source of the Fortran module
    #[arg(long)]
    fortran: bool,
    /// The directory of scr.h
    #[arg(long)]
    includedir: bool,
    /// The directory of the libraries
    #[arg(long)]
    libdir: bool,
    /// The options to compile a program in C or C++
    #[arg(long)]
    cflags: bool,
    /// The options to link a program, which then finds libscr.so where it is now
    #[arg(long)]
    libs: bool,
    /// With --libs: those to link it with libscr.a
    #[arg(long = "static", requires = "libs")]
    is_static: bool,
}

/// A function that finds an answer.
type Ask = fn(&Installation) -> Result<Vec<u8>, Failure>;

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let here = Installation::of_this_program()?;
        let answers = self.answers();
        let all = !answers.iter().any(|(is_asked, ..)| *is_asked);
        for (is_asked, name, ask) in answers {
            let answer = match ask(&here) {
                Ok(answer) if all || is_asked => answer,
                Err(failure) if is_asked => return Err(failure),
                _ => continue,
            };
            if all {
                write!(call.out, "--{name:<11} ")?;
            }
            call.out.write_all(&answer)?;
            call.out.write_all(b"\n")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    /// Each option: whether it was given, its name, and its answer.
    fn answers(&self) -> [(bool, &'static str, Ask); 8] {
        let libs: Ask = if self.is_static {
            Installation::static_libs
        } else {
            |here| Ok(here.libs())
        };
        [
            (self.prefix, "prefix", |here| Ok(bytes(&here.prefix))),
            (self.cmake, "cmake", |here| {
                here.directory_of("share/scr/cmake/scr-config.cmake")
            }),
            (self.pkgconfig, "pkgconfig", |here| {
                Ok(bytes(&here.package.directory))
            }),
            (self.fortran, "fortran", |here| {
                here.directory_of("share/scr/fortran/scrf.F90")
            }),
            (self.includedir, "includedir", |here| {
                here.directory_of("include/scr.h")
            }),
            (self.libdir, "libdir", |here| Ok(bytes(&here.libdir))),
            (self.cflags, "cflags", |here| {
                Ok(quoted(&here.package.field("Cflags")))
            }),
            (self.libs, "libs", libs),
        ]
    }
}

/// The installation that a command is part of.
struct Installation {
    prefix: PathBuf,
    libdir: PathBuf,
    package: Package,
}

impl Installation {
    /// That of this program: it has a package for pkg-config in lib, lib64 or lib/ARCHITECTURE beside the directory of the
    /// program.
    fn of_this_program() -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::said(format!("cannot find out where this program is: {error}"))
        })?;
        let prefix = program.parent().and_then(Path::parent);
        for libdir in prefix.map(library_directories).unwrap_or_default() {
            let package = Package::read(&libdir.join("pkgconfig"), prefix)?;
            if let (Some(prefix), Some(package)) = (prefix, package) {
                return Ok(Installation {
                    prefix: prefix.to_path_buf(),
                    libdir,
                    package,
                });
            }
        }
        Err(Failure::said(format!(
            "{} is not part of an installation: there is no lib/pkgconfig/{PACKAGE} beside its directory. Call the command \
             scr in the directory bin of an installation",
            program.display()
        )))
    }

    /// The directory of a file, which must be there.
    fn directory_of(&self, file: &str) -> Result<Vec<u8>, Failure> {
        let path = self.prefix.join(file);
        match path.parent() {
            Some(directory) if path.is_file() => Ok(bytes(directory)),
            _ => Err(self.missing(&path)),
        }
    }

    fn missing(&self, path: &Path) -> Failure {
        let prefix = self.prefix.display();
        Failure::said(format!(
            "the installation in {prefix} has no {}",
            path.display()
        ))
    }

    /// The words that link a program. The loader looks into the directories of the system by itself.
    fn libs(&self) -> Vec<u8> {
        let mut words = self.package.field("Libs");
        let is_shared = self.libdir.join("libscr.so").exists();
        if is_shared && self.prefix != Path::new("/usr") {
            words.push(joined("-Wl,-rpath,", &self.libdir));
        }
        quoted(&words)
    }

    /// Likewise, with the static library and what that needs.
    fn static_libs(&self) -> Result<Vec<u8>, Failure> {
        let archive = self.libdir.join("libscr.a");
        if !archive.is_file() {
            return Err(self.missing(&archive));
        }
        let mut words = vec![archive.into_os_string()];
        words.extend(self.package.field("Libs"));
        words.extend(self.package.field("Libs.private"));
        let directory = joined("-L", &self.libdir);
        words.retain(|word| *word != directory && word != "-lscr");
        Ok(quoted(&words))
    }
}

/// The directories of libraries in a prefix.
fn library_directories(prefix: &Path) -> Vec<PathBuf> {
    let lib = prefix.join("lib");
    let mut found = vec![lib.clone(), prefix.join("lib64")];
    let entries = std::fs::read_dir(lib).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    below.sort();
    found.extend(below);
    found
}

/// The file of the package for pkg-config.
const PACKAGE: &str = "scr.pc";

/// The package for pkg-config, which knows what the libraries of this installation need.
struct Package {
    directory: PathBuf,
    /// Names and their values. Later ones use earlier ones.
    variables: Vec<(String, OsString)>,
    /// Names and their words, which use variables.
    fields: Vec<(String, String)>,
}

impl Package {
    /// The package in this directory, if there is one, of the installation in `prefix`.
    fn read(directory: &Path, prefix: Option<&Path>) -> Result<Option<Self>, Failure> {
        let path = directory.join(PACKAGE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(_) if !path.exists() => return Ok(None),
            Err(error) => return Err(Error::io("read", &path, error).into()),
        };
        let mut package = Package {
            directory: directory.to_path_buf(),
            variables: Vec::new(),
            fields: Vec::new(),
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line.find([':', '=']).map(|at| line.split_at(at)) {
                // Known already, in fewer words than by ${pcfiledir}.
                Some(("prefix", _)) => {
                    let prefix = prefix.unwrap_or(directory).as_os_str();
                    package.variables.push(("prefix".into(), prefix.into()));
                }
                Some((name, value)) if value.starts_with('=') => {
                    let value = package.expanded(value[1..].trim());
                    package.variables.push((name.trim().into(), value));
                }
                Some((name, value)) => {
                    let entry = (name.trim().into(), value[1..].trim().into());
                    package.fields.push(entry);
                }
                None => {}
            }
        }
        Ok(Some(package))
    }

    /// The words of a field.
    fn field(&self, name: &str) -> Vec<OsString> {
        let mut fields = self.fields.iter();
        let words = fields.find(|(known, _)| known == name);
        let words = words.map(|(_, words)| words.split_whitespace());
        let words = words.into_iter().flatten();
        words.map(|word| self.expanded(word)).collect()
    }

    /// A text with the values of its variables.
    fn expanded(&self, text: &str) -> OsString {
        let mut parts = text.split("${");
        let mut value = OsString::from(parts.next().unwrap_or_default());
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            let mut variables = self.variables.iter();
            if let Some((_, known)) = variables.find(|(known, _)| known == name) {
                value.push(known);
            }
            value.push(rest);
        }
        value
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// Words for a shell.
fn quoted(words: &[OsString]) -> Vec<u8> {
    let words = words.iter().map(|word| quoted_word(word));
    words.collect::<Vec<_>>().join(&b' ')
}

/// A word as pkg-config writes it: most paths need no backslash, and are right also where no shell reads the line again.
fn quoted_word(word: &OsStr) -> Vec<u8> {
    let mut quoted = Vec::new();
    for byte in word.as_bytes() {
        if !byte.is_ascii_alphanumeric() && !b"-+,./:=@_%".contains(byte) && byte.is_ascii() {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted
}
