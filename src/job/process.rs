//! A process of this machine, with its command line and its environment.

use super::Environment;
use super::stat::{Stat, at};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

/// Programs that start others under the rank that they have themselves.
const STARTERS: &str = " sh bash dash zsh ksh csh tcsh env time nice numactl taskset setarch timeout strace gdb valgrind srun mpirun mpiexec \
                        mpiexec.hydra hydra_pmi_proxy orted orterun prted prterun flux jsrun aprun slurmstepd ssh scr scr_run ";

/// One process as /proc shows it.
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The id of its parent.
    pub parent: u32,
    /// The name of its program, as the kernel has it.
    pub program: String,
    /// The variables that it was started with.
    pub environment: Environment,
}

impl Process {
    /// The process `pid`; `None` if it does not exist or this user may not look at it. `own`: the environment of this
    /// process, on the same host.
    pub fn read(pid: u32, own: &Environment) -> Option<Self> {
        let bytes = std::fs::read(at(pid, "environ")).ok()?;
        let words = bytes.split(|byte| *byte == 0);
        let pairs = words.filter_map(|word| {
            let equals = word.iter().position(|byte| *byte == b'=')?;
            let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((part(&word[..equals]), part(&word[equals + 1..])))
        });
        let environment: Environment = pairs.collect::<Environment>().with_host(&own.host);
        let stat = Stat::read(pid)?;
        Some(Process {
            pid,
            parent: stat.parent,
            program: stat.program,
            environment,
        })
    }

    /// True if it was started with this variable.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.environment.get(name) == Some(value)
    }

    /// True if its program starts others under the rank that it has itself: a shell, a launcher.
    pub fn is_starter(&self) -> bool {
        let starts = |program: &str| STARTERS.contains(&format!(" {program} "));
        // A script has its own name, and is run by a shell.
        let interpreter = || std::fs::read_link(at(self.pid, "exe")).ok();
        starts(&self.program)
            || interpreter().is_some_and(|path| {
                let name = path.file_name().and_then(OsStr::to_str);
                name.is_some_and(starts)
            })
    }
}
