//! The `scr` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    scr::cli::main()
}
