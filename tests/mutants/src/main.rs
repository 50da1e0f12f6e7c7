//! Writes many faults (mutants) into a copy of the library, each behind `if crate::mutants::on(NUMBER)`. So one
//! compilation serves all of them: the environment variable `ACTIVE_MUTANT` says which one is active.
//!
//! `mutants TREE COUNT SEED MODULE...` changes the modules (`cache`, `format/tree`) of the source tree TREE: in all
//! COUNT places that the seed draws, evenly from the modules, or `all`. It prints a line for each:
//! number, tab, line, tab, name.

mod bodies;
mod choose;
mod compile;
mod find;
mod sources;
mod write;

use find::Mutant;
use std::path::Path;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, String>;

const USAGE: &str = "usage: mutants TREE COUNT|all SEED MODULE...";

/// One file with its faults.
pub struct Source {
    /// Below the tree: `src/cache/plan.rs`.
    pub name: String,
    pub text: String,
    pub mutants: Vec<Mutant>,
}

fn run(args: &[String]) -> Result<()> {
    let [tree, count, seed, modules @ ..] = args else {
        return Err(USAGE.to_string());
    };
    let number = |text: &String| {
        text.parse::<u64>()
            .map_err(|_| format!("{text} is no number; {USAGE}"))
    };
    let count = match count.as_str() {
        "all" => usize::MAX,
        _ => number(count)? as usize,
    };
    let seed = number(seed)?;
    let tree = Path::new(tree);
    let mut all = Vec::new();
    for module in modules {
        all.push(sources::of_module(tree, module)?);
    }
    let mut chosen = choose::Choice::new(&all, count, seed);
    write::declare(tree)?;
    // A mutant that does not compile gives way to another one. Errors of one kind hide those of
    // another, so this takes some rounds.
    loop {
        let placed = write::write(tree, &all, &chosen)?;
        let refused = compile::refused(tree, &placed)?;
        if refused.is_empty() {
            break;
        }
        eprintln!("{} do not compile: others instead", refused.len());
        chosen.replace(&refused);
    }
    for (number, at) in chosen.numbered() {
        let source = &all[at.module][at.source];
        let mutant = &source.mutants[at.mutant];
        println!(
            "{number}\t{}\t{}: {}",
            mutant.line, source.name, mutant.name
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("mutants: {message}");
            ExitCode::FAILURE
        }
    }
}
