//! Launcher, program and library: whether they are of one MPI.

use scr_engine::messages::ALONE_IN_THE_WORLD;
use scr_jobs::launcher::{Launcher, MpiFamily, MpiProgram};

/// `MPICH`, also for its derivatives, or `OPENMPI`, as CMake has found out for the library that was built with these
/// commands; `ANY` if that library takes the MPI of the program. Not known in other builds.
const FAMILY: Option<&str> = option_env!("SCR_MPI_FAMILY");

fn of_name(family: &str) -> Option<MpiFamily> {
    match family {
        "MPICH" => Some(MpiFamily::Mpich),
        "OPENMPI" => Some(MpiFamily::OpenMpi),
        _ => None,
    }
}

/// The MPI of the library, for messages; `None` if it is not known.
pub(super) fn of_library() -> Option<&'static str> {
    match FAMILY? {
        "ANY" => Some("that of the program"),
        family => of_name(family).map(MpiFamily::name),
    }
}

/// The message about a launcher of another MPI than that of the program or, if that is not known, of the library. `None`
/// if both may be the same.
pub(super) fn difference(launcher: &Launcher, program: Option<&MpiProgram>) -> Option<String> {
    let library = FAMILY.and_then(of_name);
    let ours = program.map(|program| program.family).or(library)?;
    if !ours.is_foreign_to(launcher.kind()) {
        return None;
    }
    let (word, theirs, ours) = (launcher.word(), launcher.title(), ours.name());
    let (what, which) = match program {
        Some(program) => (
            format!(
                "{} is linked with {ours} ({})",
                program.word, program.library
            ),
            "that program",
        ),
        None => (
            format!("this SCR was built with {ours}"),
            "a program with this SCR",
        ),
    };
    Some(format!(
        "{word} is a launcher of {theirs}, but {what}: each process of {which} would be alone in its MPI_COMM_WORLD; \
         launch it with the mpiexec of {ours} ({ALONE_IN_THE_WORLD})"
    ))
}

/// The message about a program of another MPI than that of the library.
pub(super) fn other_library(program: &MpiProgram) -> Option<String> {
    let library = FAMILY.and_then(of_name)?;
    (library != program.family).then(|| {
        let (ours, theirs) = (library.name(), program.family.name());
        format!(
            "{} is linked with {theirs} ({}), but this SCR was built with {ours}: link it with an SCR that was built \
             with {theirs}, or with one for every MPI (SCR_MPI=found)",
            program.word, program.library
        )
    })
}
