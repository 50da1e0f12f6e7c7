//! Compiles the C files: `SCR_Configf`, which is variadic, and what only `mpi.h` says.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/capi/configf.c");
    println!("cargo::rerun-if-changed=src/comm/mpi/built_with.c");
    println!("cargo::rerun-if-changed=include/scr.h");
    println!("cargo::rerun-if-env-changed=MPICC");

    #[cfg(feature = "mpi")]
    {
        let mut build = cc::Build::new();
        build
            .files(["src/capi/configf.c", "src/comm/mpi/built_with.c"])
            .include("include")
            .std("c99");
        // The same search, so the same MPI, as that of the bindings.
        if let Ok(mpi) = build_probe_mpi::probe() {
            match mpi.mpicc {
                Some(mpicc) => build.compiler(mpicc),
                None => build.includes(mpi.include_paths),
            };
        }
        build.compile("scr_c");
    }
}
