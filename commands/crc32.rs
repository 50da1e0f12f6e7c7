//! `scr crc32`: the checksum of a file, as SCR records it.

use super::call::Invocation;
use super::{Command, CommandGroup, Outcome, RunCommand, place};
use scr_engine::store::posix::Posix;
use scr_engine::transfer::copy::Copier;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("crc32", &["scr_crc32"], CommandGroup::Inspect);

const BUFFER: usize = 1 << 20;

/// Print the CRC32 of a file
///
/// Prints the checksum of a file (CRC32 of IEEE 802.3, as in zlib), in hexadecimal without leading
/// zeros. It can be compared with the CRC that SCR records for each file.
#[derive(clap::Args)]
struct Options {
    /// The file
    file: PathBuf,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let content = Copier::new(&Posix, BUFFER).checksum(&place::file(&self.file)?)?;
        if let Some(crc) = content.crc {
            writeln!(call.out, "{crc:x}")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
