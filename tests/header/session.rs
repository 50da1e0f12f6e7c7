//! `include/scr_session.h`: the calls that make sessions, from `library/capi/sessions.rs`, and for each other call one of
//! a session.

use super::{Call, calls, for_c, generate};
use std::error::Error;
use std::path::Path;
use std::{env, fs};

const HEAD: &str = "\
/* Sessions of the Scalable Checkpoint / Restart library, on communicators of the program. Not in SCR v3.1.0.
   Generated from library/capi/sessions.rs; see tests/header. SPDX-License-Identifier: MIT OR Apache-2.0 */";

const INCLUDES: &str = "
#include <mpi.h>
#include <scr.h>
";

const EACH_CALL: &str = "
/*
 The calls of scr.h for a session: each does what the call without a session does for MPI_COMM_WORLD.
 SCR_SESSION_WORLD can be given, too. Collective means: over the processes of the session.
 */
";

/// The calls that need no session.
const WITHOUT: [&str; 3] = ["SCR_Get_version", "SCR_Configf", "SCR_Reason"];

/// The header.
pub fn make(root: &Path, header: &str) -> Result<String, Box<dyn Error>> {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    config.header = Some(HEAD.to_string());
    config.include_guard = Some("SCR_SESSION_H".to_string());
    config.after_includes = Some(INCLUDES.to_string());
    config.export = cbindgen::ExportConfig {
        exclude: vec![
            "scr_fortran_session_create".to_string(),
            "scr_fortran_session_repair".to_string(),
            "scr_is_off".to_string(),
        ],
        ..Default::default()
    };
    let of_session: Vec<String> = calls(header).iter().filter_map(of_session).collect();
    let inside = EACH_CALL.to_string() + &of_session.join("\n");
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("library/capi/sessions.rs"))
        .generate()?
        .write(&mut made);
    const END: &str = "\n#endif  /* SCR_SESSION_H */";
    let made = for_c(&String::from_utf8(made)?);
    Ok(made.replace(END, &format!("{inside}{END}")))
}

/// The function for a session; `None` if the call needs none, or takes the list of a state.
fn of_session(call: &Call) -> Option<String> {
    let (before, parameters) = call.declaration.split_once('(')?;
    let parameters: Vec<&str> = parameters.trim_end_matches(')').split(',').collect();
    let parameters: Vec<String> = parameters
        .iter()
        .map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|p| p != "void")
        .collect();
    if WITHOUT.contains(&call.name.as_str())
        || parameters.iter().any(|p| p.contains("struct SCR_State"))
    {
        return None;
    }
    let name = |parameter: &String| {
        let word = parameter.rsplit([' ', '*']).next().unwrap_or_default();
        word.to_string()
    };
    let given: Vec<String> = parameters.iter().map(name).collect();
    let result = before.trim().trim_end_matches(call.name.as_str()).trim();
    let own = call.name.trim_start_matches("SCR_").to_lowercase();
    let takes: Vec<String> = std::iter::once("SCR_Session session".to_string())
        .chain(parameters)
        .collect();
    let (plain, takes, given) = (&call.name, takes.join(", "), given.join(", "));
    let space = if result.ends_with('*') { "" } else { " " };
    Some(format!(
        "static inline {result}{space}SCR_Session_{own}({takes})\n{{\n    \
         SCR_Session before = SCR_Session_enter(session);\n    \
         {result}{space}done = {plain}({given});\n    \
         SCR_Session_enter(before);\n    return done;\n}}\n"
    ))
}

#[test]
fn the_header_of_sessions_has_each_call() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = root.join("include/scr_session.h");
    let made = make(root, &generate(root).unwrap()).unwrap();
    if env::var_os("SCR_UPDATE_HEADER").is_some() {
        fs::write(&committed, &made).unwrap();
    }
    assert!(
        fs::read_to_string(&committed).unwrap_or_default() == made,
        "include/scr_session.h is stale: run SCR_UPDATE_HEADER=1 cargo test --test header"
    );
    for call in [
        "int SCR_Session_have_restart(SCR_Session session, int *flag, char *name)",
        "const char *SCR_Session_config(SCR_Session session, const char *config)",
        "int SCR_Session_init(SCR_Session session)",
    ] {
        assert!(made.contains(call), "{call}\n{made}");
    }
    assert!(!made.contains("SCR_State *state"), "{made}");
}
