//! Configuration files.

use super::layer::Layer;
use super::scan::{Grammar, scan};
use super::system_file::ALWAYS;
use super::{MAX_FILE, MAX_TEXT, MAX_WARNINGS};
use crate::{Error, Result};
use std::path::Path;

/// Reads the text of a configuration file into a layer. A line that cannot be used is left out and
/// does not spoil other lines. The first [`MAX_WARNINGS`] of them are reported in the second part of
/// the result as "FILE:LINE: what".
///
/// # Errors
/// The file is too large, or it sets SCR_PREFIX to something that is not UTF-8: without that line
/// another directory would be used. Or a line with a decision of the site cannot be used: without
/// it users could do what the site forbids.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<(Layer, Vec<String>)> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::config(
            path.display().to_string(),
            format!("is larger than {MAX_FILE} bytes; is it a configuration file?"),
        ));
    }
    // Some editors begin a file with a byte order mark, which is not part of the text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut layer = Layer::default();
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        let place = format!("{}:{number}", path.display());
        if std::str::from_utf8(line).is_err() && names(line, "SCR_PREFIX") {
            let what = "SCR_PREFIX is not UTF-8 text; correct or remove it";
            return Err(Error::config(place, what));
        }
        if let Err(what) = take(&mut layer, line, &place) {
            if let Some(name) = ALWAYS.iter().find(|name| names(line, name)) {
                let what = format!("the line with {name} cannot be used: {what}");
                return Err(Error::config(place, what));
            }
            if problems.len() < MAX_WARNINGS {
                problems.push(format!("{place}: {what}"));
            }
        }
    }
    Ok((layer, problems))
}

/// True if a line begins with the parameter `name`, in any case. It need not be text.
fn names(line: &[u8], name: &str) -> bool {
    let ends = |byte: &u8| *byte == b'=' || byte.is_ascii_whitespace();
    let given = line.trim_ascii_start().split(ends).next();
    given.is_some_and(|given| given.eq_ignore_ascii_case(name.as_bytes()))
}

fn take(layer: &mut Layer, line: &[u8], place: &str) -> std::result::Result<(), String> {
    if line.len() > MAX_TEXT {
        return Err(format!(
            "is longer than {MAX_TEXT} bytes; the line is ignored"
        ));
    }
    let line = std::str::from_utf8(line).map_err(|_| "is not UTF-8 text; the line is ignored")?;
    let tokens =
        scan(line, Grammar::File).map_err(|what| format!("{what}; the line is ignored"))?;
    layer.take(&tokens, place)
}
