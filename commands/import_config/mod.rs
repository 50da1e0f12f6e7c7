//! `scr import-config`: turns a configuration of FTI or VELOC into one of SCR.

mod fti;
mod page;
mod settings;
mod veloc;

use super::call::{Failure, Invocation};
use super::{Outcome, RunCommand, place};
use page::Page;
use scr_engine::Error;
use settings::Settings;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// No configuration is larger.
const MOST: u64 = 1 << 20;

/// Write a configuration of SCR for one of FTI or VELOC
///
/// Reads the configuration file of FTI (config.fti) or VELOC (veloc.cfg), and prints a configuration file of
/// SCR that does the same as far as possible. A comment says for each setting what was chosen, or that SCR
/// has no such setting. The file is to be saved as .scrconf in the prefix directory, which its first lines
/// name. Relative paths are taken to be below the directory of FILE.
///
/// Exit status: 0 printed, 1 the file is of neither, or a setting has a value that is not allowed.
#[derive(clap::Args)]
pub(super) struct Options {
    /// The configuration file
    file: PathBuf,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let path = place::file(&self.file)?;
        let page = imported(&path, &read(&path)?).map_err(Failure::Said)?;
        call.out.write_all(page.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The text of the file.
fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error| Error::io("read", path, error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let shown = path.display();
    if bytes.len() as u64 > MOST {
        return Err(Failure::said(format!(
            "{shown} is larger than {MOST} bytes; is it a configuration file?"
        )));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::said(format!(
            "{shown} is not UTF-8 text; is it a configuration file?"
        ))
    })
}

/// The configuration file of SCR for `text`, the configuration file `path` of FTI or VELOC.
///
/// # Errors
/// The file is of neither, or a setting has a value that is not allowed.
pub fn imported(path: &Path, text: &str) -> Result<String, String> {
    let page = import(path, text).map_err(|failure| failure.to_string())?;
    Ok(page.to_string())
}

fn import(path: &Path, text: &str) -> Result<Page, Failure> {
    let mut settings = Settings::parse(path, text)?;
    if settings.has_section(fti::BASIC) {
        fti::import(&mut settings)
    } else if veloc::REQUIRED.iter().any(|name| settings.has("", name)) {
        veloc::import(&mut settings)
    } else {
        Err(Failure::said(format!(
            "{} is neither a configuration of FTI, which has a section [Basic], nor of VELOC, which sets \
             scratch and persistent",
            path.display()
        )))
    }
}

#[cfg(test)]
mod tests;
