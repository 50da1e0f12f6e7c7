//! The facts in /proc about one process.

use std::path::{Path, PathBuf};

/// A file that /proc has of a process.
pub fn at(pid: u32, name: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(name)
}

/// The facts in /proc/PID/stat.
pub struct Stat {
    /// The name of the program.
    pub program: String,
    /// The state, as in /proc: R, S, D, T, t, Z, X.
    pub state: char,
    /// The process id of the parent.
    pub parent: u32,
    /// The process group.
    pub group: u32,
    /// Number of threads.
    pub threads: u64,
    /// Time on processors, in ticks.
    pub ticks: u64,
    /// Time at which it was started, in ticks since the machine was started.
    pub started: u64,
}

impl Stat {
    /// The facts about process `pid`; `None` if it does not run.
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(at(pid, "stat")).ok()?)
    }

    /// The name may have spaces and parentheses in it.
    pub fn parse(text: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::Stat;

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
    }
}
