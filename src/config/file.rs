//! Configuration files.

use super::layer::Layer;
use super::scan::{Grammar, scan};
use super::{MAX_FILE, MAX_TEXT, MAX_WARNINGS};
use crate::{Error, Result};
use std::path::Path;

/// Reads the text of a configuration file into a layer. A line that cannot be used is left out and
/// does not spoil other lines. The first [`MAX_WARNINGS`] of them are reported in the second part of
/// the result as "FILE:LINE: what".
///
/// # Errors
/// The file is too large, or it sets SCR_PREFIX to something that is not UTF-8: without that line
/// another directory would be used.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<(Layer, Vec<String>)> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::config(
            path.display().to_string(),
            format!("is larger than {MAX_FILE} bytes; is it a configuration file?"),
        ));
    }
    // Some editors begin a file with a byte order mark, which is no part of the text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut layer = Layer::default();
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        let place = format!("{}:{number}", path.display());
        if std::str::from_utf8(line).is_err() && names_prefix(line) {
            let what = "SCR_PREFIX is not UTF-8 text; correct or remove it";
            return Err(Error::config(place, what));
        }
        if let Err(what) = take(&mut layer, line, &place)
            && problems.len() < MAX_WARNINGS
        {
            problems.push(format!("{place}: {what}"));
        }
    }
    Ok((layer, problems))
}

/// True if a line sets SCR_PREFIX.
fn names_prefix(line: &[u8]) -> bool {
    let rest = line.trim_ascii().strip_prefix(b"SCR_PREFIX");
    rest.is_some_and(|rest| rest.trim_ascii().starts_with(b"="))
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
