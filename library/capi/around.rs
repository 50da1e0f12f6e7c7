//! The facts that a process finds in its environment before MPI and the configuration tell more.

use crate::comm::Communicator;
use crate::job::Environment;
use crate::job::launch::launch;
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::Path;

/// This process's rank as the launcher gives it, for messages before MPI gives it. 0 without a
/// launcher.
pub(super) fn launched_rank() -> usize {
    const NAMES: [&str; 6] = [
        "PMI_RANK",
        "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK",
        "PALS_RANKID",
        "FLUX_TASK_RANK",
        "SLURM_PROCID",
    ];
    let told = |name: &&str| std::env::var(name).ok()?.parse().ok();
    NAMES.iter().find_map(told).unwrap_or(0)
}

/// True if this process is alone in its MPI, but was launched together with others. Local.
pub(super) fn is_alone_in_launch(comm: &dyn Communicator) -> bool {
    comm.alone_in().is_some() && launch(&Environment::of_process()).is_some()
}

/// Changes with any environment variable.
pub(super) fn environment_print() -> u64 {
    let mut hasher = DefaultHasher::new();
    for variable in std::env::vars_os() {
        variable.hash(&mut hasher);
    }
    hasher.finish()
}

/// True if the environment disables SCR. `SCR_ENABLE` is checked before anything else: a disabled
/// SCR does not need MPI.
pub(super) fn disabled() -> bool {
    std::env::var("SCR_ENABLE").is_ok_and(|value| {
        ["0", "no", "off", "false"]
            .iter()
            .any(|word| value.trim().eq_ignore_ascii_case(word))
    })
}

/// Makes the directory of a file, as SCR does while it is enabled. If it cannot be made, the program
/// gets the reason when it opens the file.
pub(super) fn make_parent(file: &Path) {
    if let Some(dir) = file.parent() {
        let _ = std::fs::create_dir_all(dir);
    }
}

/// True if no other process of this node has made the file, or if that cannot be known.
pub(super) fn is_first_on_node(file: &Path) -> bool {
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    !matches!(made, Err(error) if error.kind() == ErrorKind::AlreadyExists)
}
