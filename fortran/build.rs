//! The part of the build script for the feature `fortran`: has CMake compile this directory, and tells
//! Cargo what a program with Fortran parts is linked with.

use build_probe_mpi::Library;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the Fortran compiler in the place of that of the C compiler, in the MPIs that there are.
const WRAPPERS: &[(&str, &str)] = &[
    ("mpicc", "mpifort"),
    ("mpiicx", "mpiifx"),
    ("mpiicc", "mpiifort"),
    ("cc", "ftn"),
];

/// Libraries of the implicit ones that rustc adds itself, in the order and form that it needs.
const OF_RUSTC: &[&str] = &["c", "gcc", "gcc_s", "pthread", "dl", "rt", "util"];

/// What the Fortran compiler links programs with.
struct Link {
    directories: Vec<PathBuf>,
    libraries: Vec<String>,
}

/// Compiles the module and the library. Prints for Cargo where they are, and what else to link.
///
/// # Errors
/// CMake or the Fortran compiler of this MPI is missing, or is one of another MPI.
pub fn build(mpi: &Library) -> Result<(), String> {
    for name in ["MPIFC", "MPICH_FC", "OMPI_FC", "FFLAGS", "CMAKE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=fortran");
    println!("cargo::rerun-if-changed=include");

    let compiler = compiler(mpi)?;
    check_cmake()?;
    let flags = env::var("FFLAGS").unwrap_or_default();
    // From the beginning: CMake does not take another compiler in a directory that it has configured.
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?);
    let out = out.join("fortran");
    if let Err(error) = fs::remove_dir_all(&out)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(format!("{}: {error}", out.display()));
    }
    let out = cmake::Config::new("fortran")
        .out_dir(out)
        .define("CMAKE_Fortran_COMPILER", &compiler)
        .define("CMAKE_Fortran_FLAGS", flags)
        .build();
    let link = read_link(&out.join("link.txt"))?;
    check_same_mpi(mpi, &link, &compiler)?;

    println!(
        "cargo::rustc-link-search=native={}",
        out.join("lib").display()
    );
    println!("cargo::rustc-link-lib=static=scrf");
    for library in &link.libraries {
        if let Some(directory) = directory_of(library, &link.directories) {
            println!("cargo::rustc-link-search=native={}", directory.display());
        }
        println!("cargo::rustc-link-lib=dylib={library}");
    }
    println!("cargo::metadata=lib={}", out.join("lib").display());
    println!("cargo::metadata=mpifort={compiler}");
    println!("cargo::metadata=include={}", out.join("include").display());
    Ok(())
}

/// The Fortran compiler of this MPI: the one of `MPIFC`, otherwise the one beside its C compiler.
fn compiler(mpi: &Library) -> Result<String, String> {
    let chosen = env::var("MPIFC").ok().filter(|name| !name.is_empty());
    let beside = || match &mpi.mpicc {
        Some(mpicc) => beside(mpicc),
        None => Some("mpifort".to_string()),
    };
    let compiler = chosen
        .or_else(beside)
        .ok_or("the C compiler of MPI has no usual name; name the Fortran compiler in MPIFC")?;
    let advice = "Install gfortran or flang and the Fortran part of the MPI, name the compiler in MPIFC, or \
                  build without the feature `fortran`";
    match Command::new(&compiler).arg("--version").output() {
        Ok(told) if told.status.success() => Ok(compiler),
        Ok(told) => {
            let text = String::from_utf8_lossy(&told.stderr);
            let line = text.lines().next().unwrap_or("it told no reason");
            Err(format!(
                "the Fortran compiler of MPI, {compiler}, does not work: {line}. {advice}"
            ))
        }
        Err(error) => Err(format!(
            "the Fortran compiler of MPI, {compiler}, cannot be run: {error}. {advice}"
        )),
    }
}

/// `/opt/bin/mpifort.mpich` for `/opt/bin/mpicc.mpich`.
fn beside(mpicc: &str) -> Option<String> {
    let (directory, name) = match mpicc.rfind('/') {
        Some(end) => mpicc.split_at(end + 1),
        None => ("", mpicc),
    };
    let of = |(c, fortran): &(&str, &str)| {
        let rest = name.strip_prefix(c)?;
        let whole = rest.is_empty() || rest.starts_with(['.', '-']);
        whole.then(|| format!("{directory}{fortran}{rest}"))
    };
    WRAPPERS.iter().find_map(of)
}

fn check_cmake() -> Result<(), String> {
    let cmake = env::var("CMAKE").unwrap_or_else(|_| "cmake".to_string());
    match Command::new(&cmake).arg("--version").output() {
        Ok(told) if told.status.success() => Ok(()),
        _ => Err(format!(
            "{cmake} cannot be run, and compiles the Fortran part. Install CMake 3.18 or newer, name it in \
             the variable CMAKE, or build without the feature `fortran`"
        )),
    }
}

/// Reads what `fortran/CMakeLists.txt` has found out.
fn read_link(file: &Path) -> Result<Link, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut link = Link {
        directories: Vec::new(),
        libraries: Vec::new(),
    };
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("directory", path)) => link.directories.push(path.into()),
            Some(("library", name)) => link.add(name),
            _ => return Err(format!("{}: '{line}' is unknown", file.display())),
        }
    }
    Ok(link)
}

impl Link {
    /// Adds a library, given as its name or as the path of its file.
    fn add(&mut self, library: &str) {
        let path = Path::new(library);
        let mut name = library;
        if let (Some(directory), Some(stem)) = (path.parent(), path.file_stem())
            && path.is_absolute()
        {
            self.directories.push(directory.into());
            name = stem.to_str().unwrap_or(library);
            name = name.strip_prefix("lib").unwrap_or(name);
        }
        if !OF_RUSTC.contains(&name) && !self.libraries.iter().any(|known| known == name) {
            self.libraries.push(name.to_string());
        }
    }
}

/// The handles of one MPI are nothing to another: both compilers must link the same libraries of MPI.
fn check_same_mpi(mpi: &Library, link: &Link, compiler: &str) -> Result<(), String> {
    for library in mpi.libs.iter().filter(|name| name.starts_with("mpi")) {
        let here = file_of(library, &mpi.lib_paths);
        let there = file_of(library, &link.directories);
        let other = here.is_some() && there.is_some() && here != there;
        if other || !link.libraries.contains(library) {
            let mpicc = mpi.mpicc.as_deref().unwrap_or("pkg-config");
            return Err(format!(
                "{compiler} is of another MPI than {mpicc}, whose library {library} it does not link. Name \
                 two compilers of one MPI in MPICC and MPIFC"
            ));
        }
    }
    Ok(())
}

/// The first of these directories that has a library.
fn directory_of<'a>(library: &str, directories: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let mut all = directories.iter();
    all.find(|directory| file_in(directory, library).is_some())
}

/// The file of a library, without links.
fn file_of(library: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    file_in(directory_of(library, directories)?, library)
}

fn file_in(directory: &Path, library: &str) -> Option<PathBuf> {
    let file = |end| fs::canonicalize(directory.join(format!("lib{library}.{end}"))).ok();
    file("so").or_else(|| file("a"))
}
