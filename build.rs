//! Compiles the one C file of the C interface, so that each library cargo makes is complete.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/capi/configf.c");
    println!("cargo::rerun-if-changed=include/scr.h");

    #[cfg(feature = "mpi")]
    cc::Build::new()
        .file("src/capi/configf.c")
        .include("include")
        .std("c99")
        .compile("scr_configf");
}
