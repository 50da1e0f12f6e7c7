//! The Fortran sources: each file `fortran/NAME.F90.jinja` is a template that makes `fortran/NAME.F90`, from which users
//! compile the module. The specific procedures of a generic one differ in the types of their arguments alone, and a
//! template has them once. It is Fortran with the control structures of Jinja.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, UndefinedBehavior, path_loader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Lines that every Fortran compiler reads as a whole.
const LONGEST_LINE: usize = 132;

#[test]
fn sources_are_made_of_their_templates() {
    let mut made = Vec::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let template = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = template.strip_suffix(".jinja") else {
            continue;
        };
        let (source, committed) = (expand(&template).unwrap(), directory().join(name));
        if env::var_os("SCR_UPDATE_HEADER").is_some() {
            fs::write(&committed, &source).unwrap();
        }
        assert!(
            fs::read_to_string(&committed).unwrap_or_default() == source,
            "fortran/{name} is stale: run SCR_UPDATE_HEADER=1 cargo test --test header"
        );
        for line in source.lines() {
            assert!(line.len() <= LONGEST_LINE, "{name}: too long: {line}");
        }
        made.push(name.to_string());
    }
    assert_eq!(made, ["scrf.F90"]);
}

/// The Fortran source that a template makes.
pub fn expand(template: &str) -> Result<String, Error> {
    let mut environment = Environment::new();
    // A line with a control structure leaves no line behind.
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    syntax.keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_loader(path_loader(directory()));
    environment.get_template(template)?.render(())
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran")
}

/// `docs/fortran-api.md` has each call of the module with its arguments, and says what it does without
/// `ierror`.
#[test]
fn the_page_of_the_fortran_interface_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let (page, module) = (read("docs/fortran-api.md"), read("fortran/scrf.F90"));
    let mut rows: BTreeMap<String, (String, String)> = BTreeMap::new();
    for line in page.lines() {
        let columns: Vec<&str> = line.split(" | ").collect();
        if let [call, _, end] = columns[..]
            && let Some((name, arguments)) = call.trim_start_matches("| `").split_once('(')
            && name.starts_with("scr_")
        {
            let arguments = arguments.trim_end_matches('`').to_string();
            let end = end.trim_end_matches(" |").to_string();
            rows.insert(name.to_string(), (arguments, end));
        }
    }

    let code: Vec<&str> = module.lines().map(str::trim).collect();
    let code = code.join(" ").replace("& ", "");
    let mut concluded = BTreeMap::new();
    for call in code.split("call conclude(\"").skip(1) {
        let (name, rest) = call.split_once('"').unwrap();
        let stops = rest.find("MUST_STOP").unwrap_or(usize::MAX)
            < rest.find("MAY_GO_ON").unwrap_or(usize::MAX);
        let end = if stops { "stops" } else { "goes on" };
        assert_eq!(concluded.insert(name.to_string(), end).unwrap_or(end), end);
    }
    assert!(concluded.len() > 21);
    for (name, end) in &concluded {
        let row = rows
            .get(name)
            .unwrap_or_else(|| panic!("no row for {name}"));
        assert_eq!(row.1, *end, "{name}");
        let signature = format!("!> {name}({}: ", row.0);
        let documented = name == "scr_routed" || module.contains(&signature);
        assert!(documented, "other arguments: {signature}");
    }
    assert_eq!(rows.len(), concluded.len());
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
    assert_eq!(constants, 6);
}
