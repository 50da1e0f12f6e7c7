//! What /proc tells of one process.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// When a process was started, in ticks since the machine was: with its id, this names it for ever. `None` if it does not run.
pub fn started(pid: u32) -> Option<u64> {
    let stat = Stat::read(pid)?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.started)
}

/// How long a process has run. `None` if it does not run.
pub fn age(pid: u32) -> Option<Duration> {
    let ticks = started(pid)?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let seconds = uptime - ticks as f64 / ticks_per_second();
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

pub(super) fn ticks_per_second() -> f64 {
    // SAFETY: a plain system call on a number.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64
}

/// A file that /proc has of a process.
pub(super) fn at(pid: u32, name: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(name)
}

/// What /proc/PID/stat has.
pub(super) struct Stat {
    pub(super) program: String,
    pub(super) state: char,
    pub(super) parent: u32,
    /// Its process group.
    pub(super) group: u32,
    pub(super) threads: u64,
    /// Time on processors, in ticks.
    pub(super) ticks: u64,
    /// When it was started, in ticks since the machine was.
    pub(super) started: u64,
}

impl Stat {
    pub(super) fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(at(pid, "stat")).ok()?)
    }

    /// The name may have spaces and parentheses in it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (begin, end) = (text.find('(')?, text.rfind(')')?);
        let rest: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
        let number = |place: usize| rest.get(place)?.parse::<u64>().ok();
        Some(Stat {
            program: text.get(begin + 1..end)?.to_string(),
            state: rest.first()?.chars().next()?,
            parent: number(1)? as u32,
            group: number(2)? as u32,
            threads: number(17)?,
            ticks: number(11)? + number(12)?,
            started: number(19)?,
        })
    }
}

/// The number of a line such as `VmRSS:   1234 kB`; 0 without one.
pub(super) fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then(|| value.split_whitespace().next()?.parse().ok())?
    });
    value.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Stat, field};

    #[test]
    fn names_may_have_any_letters() {
        let rest = "S 12 1 1 0 -1 0 0 0 0 0 7 5 0 0 20 0 3 0 100 0 0";
        let stat = Stat::parse(&format!("34 (a) b (c) {rest}")).unwrap();
        let Stat {
            program,
            state,
            parent,
            group,
            threads,
            ticks,
            started,
        } = stat;
        assert_eq!(
            (&*program, state, parent, group, threads, ticks, started),
            ("a) b (c", 'S', 12, 1, 3, 12, 100)
        );
        assert!(Stat::parse("34 (cut) S 1").is_none());
        assert_eq!(field("A: 1 kB\nVmRSS:\t 77 kB\n", "VmRSS"), 77);
        assert_eq!(field("VmRSS: many\n", "VmRSS"), 0);
    }
}
