//! `include/scr.h` is what cbindgen makes of `src/capi/mod.rs`.
//!
//! After a change there, `SCR_UPDATE_HEADER=1 cargo test --test header` rewrites it.

use scr::version;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

const HEAD: &str = "\
/* The Scalable Checkpoint / Restart library: C interface, compatible with SCR v3.1.0.
   Generated from src/capi/mod.rs; see tests/header.rs. SPDX-License-Identifier: MIT OR Apache-2.0 */";

/// What Rust cannot declare; defined in `src/capi/configf.c`.
const CONFIGF: &str = r#"
#ifdef __GNUC__
#define SCR_PRINTF_FORMAT __attribute__((format(printf, 1, 2)))
#else
#define SCR_PRINTF_FORMAT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 SCR_Config with the string that printf would make of the format.
 */
const char *SCR_Configf(const char *format, ...) SCR_PRINTF_FORMAT;

#ifdef __cplusplus
}
#endif

#undef SCR_PRINTF_FORMAT"#;

#[test]
fn header_matches_the_interface() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = root.join("include/scr.h");
    let generated = generate(root).unwrap();

    if env::var_os("SCR_UPDATE_HEADER").is_some() {
        fs::write(&committed, &generated).unwrap();
    }
    let found = fs::read_to_string(&committed).unwrap_or_default();
    assert!(
        found == generated,
        "include/scr.h is stale: run SCR_UPDATE_HEADER=1 cargo test --test header"
    );
}

/// A number that C, the Fortran module and the old Fortran header must agree on.
#[test]
fn fortran_has_the_same_constants() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let (header, module, legacy) = (
        read("include/scr.h"),
        read("fortran/scrf.F90"),
        read("include/scrf.h"),
    );

    let mut constants = 0;
    for line in header.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["#define", name, value] = words[..] else {
            continue;
        };
        if value.parse::<i32>().is_err() {
            continue;
        }
        constants += 1;
        let in_module = format!("parameter, public :: {name} = {value}\n");
        assert!(
            module.contains(&in_module),
            "fortran/scrf.F90 lacks: {in_module}"
        );
        let in_legacy = format!("parameter ({name} = {value})\n");
        assert!(
            legacy.contains(&in_legacy),
            "include/scrf.h lacks: {in_legacy}"
        );
    }
    assert_eq!(constants, 5);
}

fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    config.header = Some(HEAD.to_string());
    config.after_includes = Some(versions() + "\n" + CONFIGF);

    let mut header = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/capi/mod.rs"))
        .generate()?
        .write(&mut header);
    Ok(for_c(&String::from_utf8(header)?))
}

/// Takes out what is not for readers or compilers of C: the `# Safety` sections, which say
/// what the description above them says, and comments of a kind that C89 does not have.
fn for_c(header: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut skipping = false;
    for line in header.lines() {
        if line.trim_start().starts_with("# Safety") {
            skipping = true;
            kept.pop();
        }
        skipping &= line.trim() != "*/";
        if !skipping {
            kept.push(line.split("//").next().unwrap_or_default().trim_end());
        }
    }
    kept.join("\n") + "\n"
}

/// The version macros, from the constants that the library itself uses.
fn versions() -> String {
    let numbers: Vec<&str> = version::INTERFACE
        .trim_start_matches('v')
        .split('.')
        .collect();
    let [major, minor, patch] = numbers[..] else {
        panic!("{} is not major.minor.patch", version::INTERFACE);
    };
    let (interface, release) = (version::INTERFACE, version::RELEASE);
    format!(
        "\n/* Version of the interface. */\n\
         #define SCR_MAJOR_VERSION \"{major}\"\n\
         #define SCR_MINOR_VERSION \"{minor}\"\n\
         #define SCR_PATCH_VERSION \"{patch}\"\n\
         #define SCR_VERSION \"{interface}\"\n\n\
         /* Version of this implementation. */\n\
         #define SCR_RS_VERSION \"{release}\""
    )
}
