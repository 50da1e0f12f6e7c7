//! What a process finds in its environment before MPI and the configuration tell more.

use std::hash::{DefaultHasher, Hash, Hasher};

/// This process's rank as the launcher gives it, for messages before MPI gives it. 0 if there is no
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

/// Changes with any environment variable.
pub(super) fn environment_print() -> u64 {
    let mut hasher = DefaultHasher::new();
    for variable in std::env::vars_os() {
        variable.hash(&mut hasher);
    }
    hasher.finish()
}

/// True if the environment disables SCR. It is checked before anything else: a disabled SCR does not
/// need MPI.
pub(super) fn disabled() -> bool {
    std::env::var("SCR_ENABLE").is_ok_and(|value| {
        ["0", "no", "off", "false"]
            .iter()
            .any(|word| value.trim().eq_ignore_ascii_case(word))
    })
}
