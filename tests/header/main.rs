//! `include/scr.h` is what cbindgen makes of `library/capi/mod.rs` and its modules, and `docs/c-api.md` is made of
//! the header. The Fortran sources are made of templates.
//!
//! After a change there, `SCR_UPDATE_HEADER=1 cargo test --test header` rewrites all.

mod fortran;
mod session;

use scr::version;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

const HEAD: &str = "\
/* The Scalable Checkpoint / Restart library: C interface, compatible with SCR v3.1.0.
   Generated from library/capi/mod.rs; see tests/header. SPDX-License-Identifier: MIT OR Apache-2.0 */";

/// What Rust cannot declare; defined in `library/capi/configf.c`.
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
    let mut names: Vec<String> = calls(&found).into_iter().map(|call| call.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|two| two[0] == two[1]);
    assert_eq!(twice, None, "a call is declared twice");
    assert!(
        found == generated,
        "include/scr.h is stale: run SCR_UPDATE_HEADER=1 cargo test --test header"
    );
}

/// A function of the header.
struct Call {
    name: String,
    comment: String,
    declaration: String,
}

/// The functions of the header, in its order.
fn calls(header: &str) -> Vec<Call> {
    let call = |part: &str| {
        let (comment, rest) = part.split_once("\n */\n")?;
        let (declaration, _) = rest.split_once(';')?;
        let is_type = declaration.trim_start().starts_with("typedef");
        let (before, _) = declaration.split_once('(').filter(|_| !is_type)?;
        let comment: Vec<&str> = comment.lines().map(str::trim).collect();
        Some(Call {
            name: before
                .split_whitespace()
                .last()?
                .trim_start_matches('*')
                .to_string(),
            comment: comment.join("\n"),
            declaration: declaration.replace(" SCR_PRINTF_FORMAT", ""),
        })
    };
    header.split("/*\n").skip(1).filter_map(call).collect()
}

const C_HEAD: &str = "\
# C interface

<!-- Made from library/capi/mod.rs. After a change there: SCR_UPDATE_HEADER=1 cargo test --test header -->

All calls of `scr.h`, and at the end those that `scr_session.h` adds. Those that return an `int` return `SCR_SUCCESS` (0), or 1 if the call failed: then one process
tells why on standard error, and `SCR_Reason` each process. The manual pages (`man SCR_Init`) say the same. [The guide](c-guide.md) has a whole program,
the [Fortran interface](fortran-api.md) the same calls in Fortran.
";

/// `docs/c-api.md`: a section for each function.
fn page_of_c(header: &str) -> String {
    C_HEAD.to_string() + &sections(header)
}

fn sections(header: &str) -> String {
    let mut page = String::new();
    for call in calls(header) {
        let (name, comment) = (call.name, call.comment);
        let declaration: Vec<&str> = call.declaration.trim().lines().collect();
        let declaration = declaration.join("\n    ");
        page.push_str(&format!("\n## {name}\n\n    {declaration};\n\n{comment}\n"));
    }
    page
}

#[test]
fn the_page_of_the_c_interface_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("docs/c-api.md");
    let header = generate(root).unwrap();
    let of_sessions = session::make(root, &header).unwrap();
    let page = page_of_c(&header) + &sections(&of_sessions);
    if env::var_os("SCR_UPDATE_HEADER").is_some() {
        fs::write(&file, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap_or_default() == page,
        "docs/c-api.md is stale: run SCR_UPDATE_HEADER=1 cargo test --test header"
    );
    assert!(page.contains("\n## SCR_Route_file\n\n    int SCR_Route_file("));
}

fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    config.header = Some(HEAD.to_string());
    config.after_includes = Some(versions() + "\n" + CONFIGF);

    let mut header = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("library/capi/mod.rs"))
        .generate()?
        .write(&mut header);
    Ok(for_c(&String::from_utf8(header)?))
}

/// Takes out what is not for readers or compilers of C: the `# Safety` sections, which say
/// what the description above them says; comments of a kind that C89 does not have; and the comma at the
/// end of an enumeration.
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
    kept.join("\n").replace(",\n}", "\n}") + "\n"
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
        "\n#include <stddef.h>\n#include <stdint.h>\n\n/* Version of the interface. */\n\
         #define SCR_MAJOR_VERSION \"{major}\"\n\
         #define SCR_MINOR_VERSION \"{minor}\"\n\
         #define SCR_PATCH_VERSION \"{patch}\"\n\
         #define SCR_VERSION \"{interface}\"\n\n\
         /* Version of this implementation. */\n\
         #define SCR_RS_VERSION \"{release}\""
    )
}
