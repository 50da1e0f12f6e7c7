//! The MPI of the library that was built with these commands.

use scr_engine::messages::ALONE_IN_THE_WORLD;
use scr_jobs::launcher::{Launcher, LauncherKind};

/// `MPICH`, also for its derivatives, or `OPENMPI`, as CMake has found out. Not known in other builds.
const FAMILY: Option<&str> = option_env!("SCR_MPI_FAMILY");

/// The MPI of the library, for messages; `None` if it is not known.
pub(super) fn of_library() -> Option<&'static str> {
    match FAMILY? {
        "MPICH" => Some("MPICH"),
        "OPENMPI" => Some("Open MPI"),
        _ => None,
    }
}

/// The message about a launcher of another MPI than that of the library; `None` if both may be the same.
pub(super) fn difference(launcher: &Launcher) -> Option<String> {
    let ours = other(launcher.kind(), FAMILY?)?;
    let (word, theirs) = (launcher.word(), launcher.kind().name());
    Some(format!(
        "{word} is a launcher of {theirs}, but this SCR was built with {ours}: each process of a program with this SCR \
         would be alone in its MPI_COMM_WORLD; launch it with the mpiexec of {ours} ({ALONE_IN_THE_WORLD})"
    ))
}

/// The name of a family, if launchers of this kind only start programs of another family.
fn other(kind: LauncherKind, family: &str) -> Option<&'static str> {
    match (kind, family) {
        (LauncherKind::OpenMpi, "MPICH") => Some("MPICH"),
        (LauncherKind::Hydra, "OPENMPI") => Some("Open MPI"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_of_one_mpi_are_compared_and_those_of_schedulers_are_not() {
        assert_eq!(other(LauncherKind::OpenMpi, "MPICH"), Some("MPICH"));
        assert_eq!(other(LauncherKind::Hydra, "OPENMPI"), Some("Open MPI"));
        assert_eq!(other(LauncherKind::OpenMpi, "OPENMPI"), None);
        assert_eq!(other(LauncherKind::Hydra, "MPICH"), None);
        for family in ["MPICH", "OPENMPI", ""] {
            assert_eq!(other(LauncherKind::Srun, family), None);
        }
        assert_eq!(other(LauncherKind::OpenMpi, ""), None);
    }
}
