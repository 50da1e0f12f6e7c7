//! The manual pages of the calls of the library, made from `docs/c-api.md` and the Fortran module.

use scr_engine::version;

/// All pages: the name of the file, and its content. `api` is the page of the C interface, with a section for
/// each call: its declaration, then its description. `module` is the source of the Fortran module.
pub(super) fn all(api: &str, module: &str) -> Vec<(String, String)> {
    let sections = api.split("\n## ").skip(1);
    let parts = sections.filter_map(|section| {
        let (name, rest) = section.split_once("\n\n")?;
        let (declaration, text) = rest.split_once(";\n\n")?;
        let declaration: Vec<&str> = declaration.split_whitespace().collect();
        Some((name, declaration.join(" "), text.trim_end()))
    });
    parts
        .map(|(name, declaration, text)| {
            let page = page(name, &declaration, text, &in_fortran(name, module));
            (format!("{name}.3"), page)
        })
        .collect()
}

fn page(name: &str, declaration: &str, text: &str, fortran: &str) -> String {
    let end = text.find([':', '.', ';']).unwrap_or(text.len());
    let summary = text[..end].replace('\n', " ").replace('`', "");
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    let (interface, release) = (version::INTERFACE, version::RELEASE);
    let header = if name.starts_with("SCR_Session_") {
        "scr_session.h"
    } else {
        "scr.h"
    };
    let status = if declaration.starts_with("int ") {
        ".SH RETURN VALUE\nSCR_SUCCESS (0), or 1 if the call failed. One process tells why on standard error.\n"
    } else {
        ""
    };
    format!(
        ".TH {name} 3 \"\" \"scr-rs {release}\" \"SCR {interface}\"\n\
         .SH NAME\n{name} \\- {summary}\n\
         .SH SYNOPSIS\n.B #include <{header}>\n.sp\n.B {declaration};\n{fortran}\
         .SH DESCRIPTION\n{}\n{status}\
         .SH SEE ALSO\n.BR scr (1),\nand fortran-api.md in the documentation of scr-rs\n",
        roff(&paragraphs.join("\n.PP\n"))
    )
}

/// The call in Fortran, for the synopsis; empty if the module does not have it.
fn in_fortran(name: &str, module: &str) -> String {
    let start = name.to_lowercase() + "(";
    let in_list = start.replacen("scr_", "s%", 1);
    let mut documented = module
        .lines()
        .filter_map(|line| line.trim().strip_prefix("!> ")?.split_once("): "));
    let found = documented.find(|(call, _)| call.starts_with(&start) || call.starts_with(&in_list));
    let Some((call, text)) = found else {
        return String::new();
    };
    let verb = if text.starts_with("a function") {
        ""
    } else {
        "call "
    };
    format!(".sp\n.B use scrf\n.br\n.B {verb}{call})\n")
}

/// Text for roff: names of arguments in italics.
fn roff(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.replace('\\', "\\e").split('`').enumerate() {
        if at % 2 == 0 {
            out.push_str(part);
        } else {
            out.push_str(&format!("\\fI{part}\\fR"));
        }
    }
    out
}
