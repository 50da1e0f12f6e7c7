//! Gives readers of files and of texts any bytes. An input that makes one of them panic, hang, or use much
//! more memory than it has bytes, is written to a file, with which the fuzzer can be started again.
//!
//! `SCR_FUZZ_READER` names the reader. The files that it should begin with are written to `SCR_FUZZ_SEEDS`.

#![no_main]

mod memory;
mod readers;

use libfuzzer_sys::fuzz_target;
use readers::{READERS, Reader};
use std::path::Path;
use std::sync::OnceLock;

static CHOSEN: OnceLock<&Reader> = OnceLock::new();

/// Finds the reader, and writes what it begins with.
fn choose() {
    let name = std::env::var("SCR_FUZZ_READER").unwrap_or_default();
    let Some(reader) = READERS.iter().find(|reader| reader.name == name) else {
        let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
        eprintln!(
            "there is no reader SCR_FUZZ_READER={name}; choose from: {}",
            names.join(", ")
        );
        std::process::exit(2);
    };
    if let Some(dir) = std::env::var_os("SCR_FUZZ_SEEDS") {
        for (number, bytes) in (reader.seeds)().into_iter().enumerate() {
            let path = Path::new(&dir).join(format!("seed-{number}"));
            std::fs::write(path, bytes).expect("the directory of SCR_FUZZ_SEEDS exists");
        }
    }
    // What it makes once is not counted as memory of an input.
    for bytes in (reader.seeds)() {
        (reader.read)(&bytes);
    }
    CHOSEN.get_or_init(|| reader);
}

fuzz_target!(init: choose(), |bytes: &[u8]| {
    let reader = CHOSEN.get().expect("chosen before the first input");
    let used = memory::used_by(|| (reader.read)(bytes));
    let most = reader.fixed + reader.each * bytes.len();
    assert!(
        used <= most,
        "{} bytes of input used {used} bytes of memory, and {most} at most are right",
        bytes.len()
    );
});
