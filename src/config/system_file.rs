//! The path of the system configuration file, and the parameters that only this file can have.

use crate::job::Environment;
use std::path::{Path, PathBuf};

/// Names the parameters that only the system configuration file sets.
pub(super) const SITE_ONLY: &str = "SCR_SITE_ONLY";

/// Names the directories in which bases of caches and control directories may be.
pub(super) const ALLOWED_BASES: &str = "SCR_ALLOWED_BASES";

/// Parameters that only the system configuration file sets, without being listed.
pub(super) const ALWAYS: [&str; 2] = [SITE_ONLY, ALLOWED_BASES];

/// The path that was chosen when SCR was built, in `SCR_CONFIG_FILE` of CMake.
const CHOSEN: Option<&str> = option_env!("SCR_CONFIG_FILE");

/// The path from the directory of an installed command, so that an installation can be moved.
const FROM_COMMAND: Option<&str> = option_env!("SCR_CONFIG_FROM_BIN");

/// The path from the directory of the installed libscr.so.
const FROM_LIBRARY: Option<&str> = option_env!("SCR_CONFIG_FROM_LIB");

/// The path at which it would be installed; for programs that have the static library in them.
const AS_CONFIGURED: Option<&str> = option_env!("SCR_CONFIG_DEFAULT");

/// The path where no build system has chosen one.
const LAST: &str = "/etc/scr.conf";

/// The system configuration file that `SCR_SYSTEM_CONF` in the environment names. A relative path there
/// is relative to `cwd`.
pub(super) fn chosen_file(environment: &Environment, cwd: &Path) -> Option<PathBuf> {
    let given = environment.get("SCR_SYSTEM_CONF");
    let given = given.filter(|path| !path.is_empty())?;
    Some(cwd.join(given))
}

/// The system configuration file of the installation, which may not exist.
pub(super) fn installed_file(environment: &Environment, in_command: bool) -> PathBuf {
    installed(environment.code_file.as_deref(), in_command)
}

/// The file of the installation that `code_file` belongs to: the file of the command or of
/// libscr.so.
fn installed(code_file: Option<&Path>, in_command: bool) -> PathBuf {
    if let Some(path) = CHOSEN.filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let is_library = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("libscr.so"))
    };
    let from = match code_file {
        Some(path) if in_command => path.parent().zip(FROM_COMMAND),
        Some(path) if is_library(path) => path.parent().zip(FROM_LIBRARY),
        _ => None,
    };
    match from {
        Some((directory, path)) => super::fold_dots(&directory.join(path)),
        None => PathBuf::from(AS_CONFIGURED.filter(|p| !p.is_empty()).unwrap_or(LAST)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_a_file() {
        let cwd = Path::new("/cwd");
        let set: Environment = [("SCR_SYSTEM_CONF", "s")].into_iter().collect();
        assert_eq!(chosen_file(&set, cwd), Some("/cwd/s".into()));
        let empty: Environment = [("SCR_SYSTEM_CONF", "")].into_iter().collect();
        assert_eq!(chosen_file(&empty, cwd), None);
    }

    /// The search below an installation is tested with an installation, in tests/install.
    #[test]
    fn without_a_build_system_it_is_in_etc() {
        if [CHOSEN, FROM_COMMAND, FROM_LIBRARY, AS_CONFIGURED] != [None; 4] {
            eprintln!("SKIPPED: the environment of this build chooses a file");
            return;
        }
        for path in ["/opt/scr/bin/scr", "/opt/scr/lib/libscr.so.3"] {
            for in_command in [true, false] {
                let found = installed(Some(Path::new(path)), in_command);
                assert_eq!(found, Path::new("/etc/scr.conf"));
            }
        }
    }
}
