//! Compiles the Fortran files. Cargo sets `DEP_SCR_...`, since scr-rs is a dependency.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src");
    let compiler = env::var("DEP_SCR_MPIFORT").expect("scr-rs has the feature fortran");
    let include = env::var("DEP_SCR_INCLUDE").expect("scr-rs tells where scrf.mod is");
    let out = env::var("OUT_DIR").expect("Cargo sets it");
    let compile = |file: &str, library: &str| {
        cc::Build::new()
            .compiler(&compiler)
            .warnings(false)
            .file(file)
            .include(&include)
            .flag("-J") // Where the compiler puts modules.
            .flag(&out)
            .include(&out)
            .compile(library);
    };
    // In the order in which they are needed; linked in the opposite order.
    compile("src/rod.f90", "rod");
    compile("src/survive.f90", "survive");
}
