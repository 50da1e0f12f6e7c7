//! The reasons why the system does not allow that the memory of a process is read.

use scr_engine::Error;
use scr_engine::job::stat::at;
use scr_engine::system::process;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The setting of the security module Yama.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// The capability with which a process may look at all others.
const SYS_PTRACE: u64 = 1 << 19;

/// What the decision of the system depends on.
#[derive(Debug, Clone, Copy)]
struct Facts {
    /// Users, as numbers.
    own: u32,
    other: u32,
    /// The system has taken the files of the process in /proc from its user.
    protected: bool,
    /// The process has a capability that this command has not.
    more: bool,
    /// This command may look at all processes.
    may_look: bool,
    /// 0 without Yama.
    scope: u32,
}

/// Why the memory of this process cannot be read, and the remedy.
pub(super) fn why(pid: u32, error: &Error) -> String {
    if matches!(error.errno(), Some(libc::ENOENT | libc::ESRCH)) {
        return "it has ended".into();
    }
    let words = Facts::of(pid, Path::new(YAMA)).map_or(CONTAINER.into(), |facts| facts.words());
    format!("{error}: {words}")
}

const CONTAINER: &str = "a container or a security module (seccomp, AppArmor, SELinux) forbids it: rehearse outside of the container, \
                         or allow it there (docker run --cap-add=SYS_PTRACE)";

impl Facts {
    /// `None` if the process has gone.
    fn of(pid: u32, yama: &Path) -> Option<Self> {
        let status = fs::read_to_string(at(pid, "status")).ok()?;
        let own = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let other = word(&status, "Uid:", 1)?.parse().ok()?;
        // Of a process that is protected the files belong to root.
        let owner = fs::metadata(at(pid, "mem")).ok()?.uid();
        let rights = |status: &str, name| {
            let text = word(status, name, 0)?;
            u64::from_str_radix(text, 16).ok()
        };
        let (has, may) = (rights(&status, "CapPrm:"), rights(&own, "CapEff:"));
        let may = may.unwrap_or(0);
        let scope = fs::read_to_string(yama).unwrap_or_default();
        Some(Facts {
            own: process::user(),
            other,
            protected: owner != other,
            more: has.unwrap_or(0) & !may != 0,
            may_look: may & SYS_PTRACE != 0,
            scope: scope.trim().parse().unwrap_or(0),
        })
    }

    fn words(&self) -> String {
        match self.scope {
            3 => {
                return "kernel.yama.ptrace_scope is 3, with which no process may be looked at until the machine is started again: \
                        an administrator can start it with 1"
                    .into();
            }
            2 if !self.may_look => {
                return "kernel.yama.ptrace_scope is 2, with which only root may look at processes: an administrator can set it to 1 \
                        (sysctl kernel.yama.ptrace_scope=1)"
                    .into();
            }
            _ if self.may_look => {}
            _ if self.own != self.other => {
                let (other, own) = (self.other, self.own);
                return format!(
                    "it runs as user {other}, and scr rehearse as user {own}: run both as the same user"
                );
            }
            _ if self.protected => {
                return "the system protects it, as it does if its user may not read the program's file (chmod u+r), if the program \
                        has more rights than its user (set-uid, file capabilities), or if it asks for that \
                        (prctl PR_SET_DUMPABLE): rehearse a copy of the program without that"
                    .into();
            }
            _ if self.more => {
                return "it has capabilities that scr rehearse has not: start both with the same ones".into();
            }
            _ => {}
        }
        CONTAINER.into()
    }
}

/// A word of the line with this name.
fn word<'a>(status: &'a str, name: &str, place: usize) -> Option<&'a str> {
    let mut lines = status.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().nth(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_remedy() {
        let plain = Facts {
            own: 5,
            other: 5,
            protected: false,
            more: false,
            may_look: false,
            scope: 1,
        };
        let has = |facts: Facts, words: &str| {
            let said = facts.words();
            assert!(said.contains(words), "{facts:?}: {said}");
        };
        has(plain, "--cap-add=SYS_PTRACE");
        has(Facts { scope: 2, ..plain }, "kernel.yama.ptrace_scope=1");
        has(Facts { scope: 3, ..plain }, "started again");
        has(
            Facts { other: 6, ..plain },
            "runs as user 6, and scr rehearse as user 5",
        );
        has(
            Facts {
                protected: true,
                ..plain
            },
            "PR_SET_DUMPABLE",
        );
        has(
            Facts {
                more: true,
                ..plain
            },
            "capabilities",
        );
        // These may look at all, but for the last setting.
        let root = Facts {
            may_look: true,
            protected: true,
            ..plain
        };
        has(Facts { scope: 2, ..root }, "container");
        has(Facts { scope: 3, ..root }, "started again");
    }

    #[test]
    fn the_facts_of_a_process_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let yama = dir.path().join("ptrace_scope");
        fs::write(&yama, "2\n").unwrap();
        let own = Facts::of(process::id(), &yama).unwrap();
        assert_eq!((own.own, own.scope), (own.other, 2));
        assert!(!own.more && !own.protected);
        assert_eq!(
            Facts::of(process::id(), Path::new("/none")).unwrap().scope,
            0
        );
        let gone = Error::io(
            "open",
            "/proc/0/mem",
            std::io::Error::from_raw_os_error(libc::ENOENT),
        );
        assert_eq!(why(0, &gone), "it has ended");
    }
}
