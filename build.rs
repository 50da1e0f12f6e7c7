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
    println!("cargo::rerun-if-changed=library/comm/mpi/built_with.c");
    println!("cargo::rerun-if-changed=library/comm/mpi/failure.c");
    println!("cargo::rerun-if-changed=include/scr.h");
    println!("cargo::rerun-if-env-changed=MPICC");

    #[cfg(all(feature = "any-mpi", not(feature = "mpi")))]
    library_of_c(&["library/capi/configf.c"]).compile("scr_c");
    #[cfg(feature = "mpi")]
    {
        let mpi = build_probe_mpi::probe();
        compile_c(mpi.as_ref().ok());
        #[cfg(feature = "fortran")]
        match mpi {
            Ok(mpi) => {
                if let Err(why) = fortran::build(&mpi) {
                    println!("cargo::error=feature `fortran`: {why}");
                }
            }
            Err(_) => println!("cargo::error=no MPI was found; name its C compiler in MPICC"),
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
        "library/capi/configf.c",
        "library/comm/mpi/built_with.c",
        "library/comm/mpi/failure.c",
    ]);
    // By the search of the bindings, so that it is their MPI.
    if let Some(mpi) = mpi {
        match &mpi.mpicc {
            Some(mpicc) => build.compiler(mpicc),
            None => build.includes(&mpi.include_paths),
        };
    }
    build.compile("scr_c");
}

#[cfg(any(feature = "mpi", feature = "any-mpi"))]
fn library_of_c(files: &[&str]) -> cc::Build {
    let mut build = cc::Build::new();
    build.files(files).include("include").std("c99");
    build
}
