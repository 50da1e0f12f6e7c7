//! A process and all that it has started, to be ended together.

use super::times::started;
use rustix::process::{Pid, Signal, kill_process};
use scr_engine::job::stat::Stat;
use scr_engine::system::process;
use scr_engine::text::counted;
use std::collections::BTreeMap;

/// Programs that wait for others, and pass no signal on.
const SHELLS: &str = " sh bash dash zsh ksh csh tcsh time ";

/// A process with all that it has started, and with its process group if it leads one. The process that looks never
/// belongs to the tree, though the script that is watched may have started it.
#[derive(Debug)]
pub struct ProcessTree {
    top: u32,
    /// The processes that were found so far, and when each was started: another process may get its number later.
    known: BTreeMap<u32, u64>,
}

impl ProcessTree {
    /// The tree of the process `top`, which was started at this time.
    pub fn new(top: u32, started: u64) -> Self {
        ProcessTree {
            top,
            known: [(top, started)].into(),
        }
    }

    /// Looks for the processes of the tree that exist now. A process that was found stays in the tree when its parent
    /// has ended. Local.
    pub fn look(&mut self) -> Vec<u32> {
        self.known.retain(|pid, at| started(*pid) == Some(*at));
        let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let others = numbers.filter(|pid| *pid != process::id());
        let others: Vec<(u32, Stat)> = others
            .filter_map(|pid| Some((pid, Stat::read(pid)?)))
            .filter(|(_, stat)| !matches!(stat.state, 'Z' | 'X'))
            .collect();
        // Parents may have higher numbers than their children. Each pass finds one more generation.
        loop {
            let before = self.known.len();
            for (pid, stat) in &others {
                if stat.group == self.top || self.known.contains_key(&stat.parent) {
                    self.known.entry(*pid).or_insert(stat.started);
                }
            }
            if self.known.len() == before {
                break;
            }
        }
        self.known.keys().copied().collect()
    }

    /// Sends a signal to all. Local.
    pub fn signal(&mut self, number: i32) {
        self.look().into_iter().for_each(|pid| send(pid, number));
    }

    /// Sends a signal to the programs, not to the shells that wait for them: to the first below shells, since launchers
    /// pass signals on. To all processes if there are only shells. Local.
    pub fn signal_programs(&mut self, number: i32) {
        let all = self.look();
        let stats: BTreeMap<u32, Stat> = all
            .iter()
            .filter_map(|pid| Some((*pid, Stat::read(*pid)?)))
            .collect();
        let is_shell = |stat: &Stat| SHELLS.contains(&format!(" {} ", stat.program));
        let below_shells = |stat: &Stat| stats.get(&stat.parent).is_none_or(is_shell);
        let programs = stats
            .iter()
            .filter(|(_, stat)| !is_shell(stat) && below_shells(stat));
        let programs: Vec<u32> = programs.map(|(pid, _)| *pid).collect();
        let chosen = if programs.is_empty() { all } else { programs };
        chosen.into_iter().for_each(|pid| send(pid, number));
    }

    /// The processes that are there, in words: `2 processes (12 in state D, 14 in state S)`.
    pub fn in_words(&mut self) -> String {
        let all = self.look();
        let state = |pid: &u32| Some(format!("{pid} in state {}", Stat::read(*pid)?.state));
        let mut states: Vec<String> = all.iter().filter_map(state).collect();
        if states.len() > SHOWN {
            states.truncate(SHOWN);
            states.push("...".to_string());
        }
        format!("{} ({})", counted(all.len(), "process"), states.join(", "))
    }
}

/// Number of processes that are shown.
const SHOWN: usize = 4;

fn send(pid: u32, number: i32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(number)) {
        // The process may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_engine::system::time::sleep;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::Duration;

    /// Waits until the tree has `count` processes.
    fn with(tree: &mut ProcessTree, count: usize) -> Vec<u32> {
        loop {
            let all = tree.look();
            if all.len() == count {
                return all;
            }
            sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_script_is_ended_with_all_that_it_has_started() {
        // One process has a session of its own, as launchers start ranks, and the parent of another one has ended.
        let script = "setsid sleep 600 & sh -c 'sleep 600 & sleep 600' & wait";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).process_group(0);
        let mut shell = shell.spawn().unwrap();
        let mut tree = ProcessTree::new(shell.id(), started(shell.id()).unwrap());
        let all = with(&mut tree, 5);
        let inner = all.iter().find(|pid| {
            let stat = Stat::read(**pid).unwrap();
            **pid != shell.id() && stat.program == "sh"
        });
        send(*inner.unwrap(), libc::SIGKILL);
        with(&mut tree, 4);
        tree.signal_programs(libc::SIGUSR1);
        with(&mut tree, 0);
        shell.wait().unwrap();
    }

    #[test]
    fn shells_alone_are_signalled_themselves() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "while :; do :; done"]).process_group(0);
        let mut shell = shell.spawn().unwrap();
        let mut tree = ProcessTree::new(shell.id(), started(shell.id()).unwrap());
        assert!(tree.in_words().starts_with("1 process ("));
        tree.signal_programs(libc::SIGUSR1);
        shell.wait().unwrap();
        assert!(tree.look().is_empty());
    }
}
