//! Compiles what is not Rust: `SCR_Configf`, which is variadic, what only `mpi.h` says, and with the
//! feature `fortran` the Fortran interface.
//!
//! For the build script of a package that depends on this one, Cargo sets `DEP_SCR_INCLUDE` to the
//! directory of `scr.h`; with `fortran` also of `scrf.mod`, `DEP_SCR_LIB` to that of `libscrf.a`, and
//! `DEP_SCR_MPIFORT` to the Fortran compiler.

#[cfg(feature = "fortran")]
#[path = "fortran/build.rs"]
mod fortran;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=library/capi/configf.c");
    println!("cargo::rerun-if-changed=library/capi/barrier.c");
    println!("cargo::rerun-if-changed=library/comm/mpi/built_with.c");
    println!("cargo::rerun-if-changed=library/comm/mpi/linked.c");
    println!("cargo::rerun-if-changed=include/scr.h");
    println!("cargo::rerun-if-env-changed=MPICC");

    #[cfg(all(feature = "any-mpi", not(feature = "mpi")))]
    library_of_c(&["library/capi/barrier.c", "library/capi/configf.c"]).compile("scr_c");
    #[cfg(feature = "mpi")]
    {
        let mpi = build_probe_mpi::probe();
        compile_c(mpi.as_ref().ok());
        match &mpi {
            Ok(mpi) => link_with(mpi),
            Err(_) => println!("cargo::error=no MPI was found; name its C compiler in MPICC"),
        }
        #[cfg(feature = "fortran")]
        if let Ok(mpi) = mpi
            && let Err(why) = fortran::build(&mpi)
        {
            println!("cargo::error=feature `fortran`: {why}");
        }
    }
    #[cfg(not(feature = "fortran"))]
    if let Ok(root) = std::env::var("CARGO_MANIFEST_DIR") {
        println!("cargo::metadata=include={root}/include");
    }
}

#[cfg(feature = "mpi")]
fn compile_c(mpi: Option<&build_probe_mpi::Library>) {
    let mut build = library_of_c(&[
        "library/capi/barrier.c",
        "library/capi/configf.c",
        "library/comm/mpi/built_with.c",
        "library/comm/mpi/linked.c",
    ]);
    // By the search of the crate `mpi`, so that it is the MPI of a program that uses that crate, too.
    if let Some(mpi) = mpi {
        match &mpi.mpicc {
            Some(mpicc) => build.compiler(mpicc),
            None => build.includes(&mpi.include_paths),
        };
    }
    build.compile("scr_c");
}

#[cfg(feature = "mpi")]
fn link_with(mpi: &build_probe_mpi::Library) {
    for directory in &mpi.lib_paths {
        println!("cargo::rustc-link-search=native={}", directory.display());
    }
    for library in &mpi.libs {
        println!("cargo::rustc-link-lib={library}");
    }
}

#[cfg(any(feature = "mpi", feature = "any-mpi"))]
fn library_of_c(files: &[&str]) -> cc::Build {
    let mut build = cc::Build::new();
    build.files(files).include("include").std("c99");
    // What barrier.c is for.
    build.flag_if_supported("-fno-asynchronous-unwind-tables");
    build.flag_if_supported("-fno-unwind-tables");
    build
}
