//! The program that a launcher starts first: it takes the place of a rank on its emulated node, and becomes the program
//! of the user.

use super::super::call::Failure;
use super::explain::stops;
use super::processes::Rank;
use super::stage::{NODES, PLACES};
use scr_engine::Error;
use scr_engine::format::stop::VARIABLE;
use scr_engine::job::Environment;
use scr_jobs::ranks::rank_in;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Becomes the program. Returns only if that fails.
pub(super) fn become_rank(stage: &Path, words: &[OsString]) -> Failure {
    match command(stage, words) {
        Ok((word, mut command)) => Error::io("run", word, command.exec()).into(),
        Err(failure) => failure,
    }
}

fn command(stage: &Path, words: &[OsString]) -> Result<(OsString, Command), Failure> {
    let (word, arguments) = words
        .split_first()
        .ok_or_else(|| Failure::said("there is no program to launch"))?;
    let (rank, _) = rank_in(&Environment::of_process()).ok_or_else(|| {
        Failure::said(
            "the launcher tells its processes no rank (PMI, PMIx, Open MPI, Slurm and Flux do); name another one with \
             --launcher",
        )
    })?;
    let places = stage.join(PLACES);
    let text = std::fs::read_to_string(&places);
    let text = text.map_err(|error| Error::io("read", &places, error))?;
    let node = text.lines().nth(rank).ok_or_else(|| {
        Failure::said(format!(
            "rank {rank} is more than {} was asked for: does the launcher take -n?",
            text.lines().count()
        ))
    })?;
    let own = stage.join(NODES).join(node);
    for below in ["cache", "control"] {
        let path = own.join(below);
        std::fs::create_dir_all(&path).map_err(|error| Error::io("create", &path, error))?;
    }
    Rank::record(stage, rank, node)?;
    let mut command = Command::new(word);
    command
        .args(arguments)
        .env("SCR_NODE_NAME", node)
        .env("SCR_CACHE_BASE", own.join("cache"))
        .env("SCR_CNTL_BASE", own.join("control"));
    if let Some(dir) = stops::prepare(stage, rank)? {
        command.env(VARIABLE, dir);
    }
    Ok((word.clone(), command))
}
