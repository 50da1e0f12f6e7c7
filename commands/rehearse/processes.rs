//! The processes of a stage: its ranks, each with a file of its own, and what else runs in the job.

use super::super::call::Failure;
use super::super::stacks::Stacks;
use super::stage::{PIDS, Stage, TICK};
use rustix::process::{Pid, Signal, kill_process};
use scr_engine::Error;
use scr_engine::job::process::Process;
use scr_engine::job::program::signal;
use scr_engine::job::stat::Stat;
use scr_engine::job::{Environment, Machine};
use scr_engine::system::process;
use scr_engine::system::time::{Instant, sleep};
use scr_engine::text::{counted, excerpt};
use scr_jobs::ranks::Wanted;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// Time that a launcher may take to end when a rank has gone.
const TO_END: Duration = Duration::from_secs(20);

/// Time that a launcher has for its end after a signal.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(500);

/// A rank that was started.
pub(super) struct Rank {
    pub number: usize,
    pub node: String,
    pid: u32,
    /// When the process was started: another one that has its number by now has another time.
    started: u64,
    pub machine: Machine,
}

impl Rank {
    /// Writes the file of the rank that this process becomes.
    pub fn record(stage: &Path, number: usize, node: &str) -> Result<(), Failure> {
        let pid = process::id();
        let started = Stat::read(pid).map_or(0, |stat| stat.started);
        let text = format!("{pid} {node} {started} {}\n", Machine::here());
        let path = stage.join(PIDS).join(number.to_string());
        let written = std::fs::write(&path, text);
        written.map_err(|error| Error::io("write", &path, error).into())
    }

    fn parse(number: usize, text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.splitn(4, ' ');
        Some(Rank {
            number,
            pid: words.next()?.parse().ok()?,
            node: words.next()?.to_string(),
            started: words.next()?.parse().ok()?,
            machine: Machine::parse(words.next()?)?,
        })
    }

    /// True if its process is there. One that has ended, and that its parent has not asked for, is not.
    fn lives(&self) -> bool {
        let stat = Stat::read(self.pid);
        stat.is_some_and(|stat| stat.started == self.started && !matches!(stat.state, 'Z' | 'X'))
    }
}

impl Stage {
    /// All ranks that the last launch has started.
    fn recorded(&self) -> Vec<Rank> {
        let entries = std::fs::read_dir(self.behind().join(PIDS));
        let entries = entries.into_iter().flatten().flatten();
        let one = |entry: std::fs::DirEntry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Rank::parse(number, &std::fs::read_to_string(entry.path()).ok()?)
        };
        entries.filter_map(one).collect()
    }

    /// Number of ranks that the last launch has started.
    pub fn started(&self) -> usize {
        std::fs::read_dir(self.behind().join(PIDS)).map_or(0, Iterator::count)
    }

    /// The ranks that live on this machine.
    fn ranks(&self) -> Vec<Rank> {
        let here = Machine::here();
        let mut ranks = self.recorded();
        ranks.retain(|rank| here.has_the_processes_of(&rank.machine) && rank.lives());
        ranks
    }

    /// The ranks that run on other machines, and true if all of so many have been started.
    pub fn elsewhere(&self, all: usize) -> (Vec<Rank>, bool) {
        let here = Machine::here();
        let mut ranks = self.recorded();
        let are_all = ranks.len() >= all;
        ranks.retain(|rank| !here.has_the_processes_of(&rank.machine));
        ranks.sort_by_key(|rank| rank.number);
        (ranks, are_all)
    }

    /// True if all ranks have been started, on this machine. `over`: no other one will be.
    ///
    /// # Errors
    /// Ranks run on other machines, where they cannot be killed.
    pub fn all_are_here(&self, all: usize, over: bool) -> Result<bool, Failure> {
        let (elsewhere, are_all) = self.elsewhere(all);
        if elsewhere.is_empty() || !(are_all || over) {
            return Ok(are_all);
        }
        Err(Failure::said(refusal(&elsewhere, all)))
    }

    /// Passes a result on. If it is an error, the launch is ended.
    pub fn or_end<T>(&self, child: &mut Child, done: Result<T, Failure>) -> Result<T, Failure> {
        if done.is_err() {
            // After this signal scr run makes no other launch, and other launchers end ranks on other machines.
            signal(child.id(), libc::SIGTERM);
            self.kill(|_, _| true);
            self.bury(child)?;
        }
        done
    }

    /// True if such a rank lives.
    pub fn has_rank(&self, which: impl Fn(usize, &str) -> bool) -> bool {
        let ranks = self.ranks();
        ranks.iter().any(|rank| which(rank.number, &rank.node))
    }

    /// Kills ranks, and returns how many. A rank that has ended meanwhile does not count.
    pub fn kill(&self, which: impl Fn(usize, &str) -> bool) -> usize {
        let chosen = self.ranks().into_iter();
        let chosen = chosen.filter(|rank| which(rank.number, &rank.node));
        chosen.filter(|rank| kill(rank.pid)).count()
    }

    /// The activity of the ranks, in lines.
    pub fn stacks(&self) -> Vec<String> {
        let wanted = Wanted {
            job: Some(self.job().to_string()),
            node: String::new(),
            pids: self.ranks().into_iter().map(|rank| rank.pid).collect(),
            ..Wanted::default()
        };
        match Stacks::here(&Environment::of_process(), wanted) {
            Ok(found) => found.summary(),
            // The launch hangs, also if the state of its ranks is unknown.
            Err(_) => Vec::new(),
        }
    }

    /// Waits until the launcher has ended, and ends the remaining processes.
    pub fn bury(&self, child: &mut Child) -> Result<(), Failure> {
        let end = Instant::now() + TO_END;
        let mut signals = [libc::SIGTERM, libc::SIGKILL].into_iter();
        let mut next = Instant::now();
        while let Ok(None) = child.try_wait() {
            let now = Instant::now();
            if now >= next && (now > end || self.ranks().is_empty()) {
                if let Some(number) = signals.next() {
                    signal(child.id(), number);
                }
                next = now + BETWEEN_SIGNALS;
            }
            // The launcher ends the other ranks when one has gone; a hung launch has lost none.
            if Instant::now() > end {
                self.kill(|_, _| true);
            }
            sleep(TICK);
        }
        self.kill(|_, _| true);
        self.kill_what_is_left(None);
        Ok(())
    }

    /// Kills all other processes of the job, or of one of its nodes, such as a transfer daemon, which does not end with its ranks.
    pub fn kill_what_is_left(&self, node: Option<&str>) {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for pid in pids.filter(|pid| *pid != process::id()) {
            let process = Process::read(pid, &Environment::empty());
            let is_ours = process.is_some_and(|process| {
                process.has("SCR_JOB_ID", self.job())
                    && node.is_none_or(|node| process.has("SCR_NODE_NAME", node))
            });
            if is_ours {
                kill(pid);
            }
        }
    }
}

/// The ranks that are elsewhere, and where: `2 of 4 ranks run on node2 and node3`.
pub(super) fn in_words(elsewhere: &[Rank], all: usize) -> String {
    let here = Machine::here();
    let mut places: Vec<String> = Vec::new();
    for rank in elsewhere {
        let place = here.in_words(&rank.machine);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let verb = if elsewhere.len() == 1 { "runs" } else { "run" };
    let ranks = counted(all, "rank");
    format!(
        "{} of {ranks} {verb} {}",
        elsewhere.len(),
        excerpt(&places.join(" and "), 200)
    )
}

pub(super) fn refusal(elsewhere: &[Rank], all: usize) -> String {
    let here = Machine::here();
    let rest = if elsewhere.len() == all {
        ""
    } else {
        "; --list shows the variables of the ranks that are here"
    };
    let remedy = if elsewhere.iter().all(|rank| rank.machine.host == here.host) {
        "start scr rehearse in the same container"
    } else {
        "have the launcher start all ranks on this machine, as srun does on a node of the job with -N1 --overlap --overcommit \
         -w NODE; --nodes emulates nodes"
    };
    format!(
        "{}, and scr rehearse on {}, where it can kill and look at no other processes than those of this machine: {remedy}{rest}",
        in_words(elsewhere, all),
        here.host
    )
}

fn kill(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_that_of_its_record_only_while_it_lives() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(PIDS)).unwrap();
        Rank::record(dir.path(), 3, "n1").unwrap();
        let text = std::fs::read_to_string(dir.path().join(PIDS).join("3")).unwrap();
        let rank = Rank::parse(3, &text).unwrap();
        assert_eq!((rank.pid, &*rank.node), (std::process::id(), "n1"));
        assert_eq!(rank.machine, Machine::here());
        assert!(rank.lives());
        let later = Rank {
            started: rank.started + 1,
            ..rank
        };
        assert!(!later.lives());
        // One that is being written.
        assert!(Rank::parse(3, "77 n1 5").is_none() && Rank::parse(3, "77 n1 5 a 1:2").is_none());
    }
}
