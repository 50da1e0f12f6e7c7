//! `scr crc32`, `scr print`: one file.

use super::call::Invocation;
use super::{Outcome, RunCommand, place};
use clap::ValueEnum;
use scr_engine::format::{print, read_tree};
use scr_engine::store::posix::Posix;
use scr_engine::transfer::copy::Copier;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes to read at a time.
const BUFFER: usize = 1 << 20;

/// Print the CRC32 of a file
///
/// Prints the checksum of a file (CRC32 of IEEE 802.3, as in zlib), in hexadecimal without leading
/// zeros. It can be compared with the CRC that SCR records for each file.
#[derive(clap::Args)]
pub(super) struct Crc32 {
    /// The file
    file: PathBuf,
}

impl RunCommand for Crc32 {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let content = Copier::new(&Posix, BUFFER).checksum(&place::file(&self.file)?)?;
        if let Some(crc) = content.crc {
            writeln!(call.out, "{crc:x}")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The classic name whose mode is `tree`.
const TREE: &str = "kvtree_print";

/// The classic names of `scr print`.
pub(super) const PRINT: &[&str] = &["scr_print", TREE, "scr_print_hash_file"];

/// Print a file of SCR as text
///
/// Prints the tree of keys and values in a file of SCR, such as index.scr or summary.scr, sorted.
/// For a redundancy file prints its header. Control characters and bytes that are not UTF-8 are
/// shown as \x and two hexadecimal digits.
///
/// Exit status: 0 printed, 1 the file does not exist or is not a file of SCR.
#[derive(clap::Args)]
pub(super) struct Print {
    /// tree: one line for each element; keyval: key and value on one line [default: keyval; under the
    /// name kvtree_print: tree]
    #[arg(short, long)]
    mode: Option<Mode>,
    /// The file
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Tree,
    Keyval,
}

impl RunCommand for Print {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let tree = read_tree(&Posix, &place::file(&self.file)?)?;
        let style = match self.mode {
            Some(Mode::Tree) => print::Style::Tree,
            Some(Mode::Keyval) => print::Style::KeyVal,
            None if call.name == TREE => print::Style::Tree,
            None => print::Style::KeyVal,
        };
        call.out.write_all(print::print(&tree, style).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
