//! Since when a process runs, and the numbers that /proc has in lines.

use scr_engine::job::stat::Stat;
use std::time::Duration;

/// Time at which a process was started, in ticks since the machine was started: with its id, this names the process for
/// ever. `None` if it does not run.
pub fn started(pid: u32) -> Option<u64> {
    let stat = Stat::read(pid)?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.started)
}

/// The time for which a process has run. `None` if it does not run.
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
    use super::field;

    #[test]
    fn a_number_has_the_name_of_its_line() {
        assert_eq!(field("A: 1 kB\nVmRSS:\t 77 kB\n", "VmRSS"), 77);
        assert_eq!(field("VmRSS: many\n", "VmRSS"), 0);
    }
}
