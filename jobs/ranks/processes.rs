//! Finds the ranks of this node, and reads their facts in /proc.

use super::RankProcess;
use super::launches::{Belongs, in_words, keep_surest, launcher_above};
use super::stack::untraceable;
use super::times::{field, ticks_per_second};
use scr_engine::job::process::Process;
use scr_engine::job::stat::{Stat, at};
use scr_engine::job::{Environment, node_name};
use scr_engine::system::process;
use scr_engine::system::time::{Instant, sleep};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables in which launchers tell a process its rank, and how many there are. The first that is set counts.
const RANK: [(&str, &str); 6] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS"),
    ("PALS_RANKID", "PALS_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// Variables that name the job of a process.
const JOB: [&str; 6] = [
    "SCR_JOB_ID",
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "LSB_JOBID",
    "PBS_JOBID",
    "FLUX_JOB_ID",
];

/// Number of open files that are shown for a process, at most.
const FILES: usize = 6;

/// The processes that are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only processes of this job. If no process names the job, those that do not tell their job are used; among them,
    /// those of another prefix directory are left out.
    pub job: Option<String>,
    /// The names of the prefix directory of the job.
    pub prefixes: Vec<PathBuf>,
    /// Only processes on the node of this name.
    pub node: String,
    /// Only these processes, whatever their job and rank. An empty list stands for all ranks.
    pub pids: Vec<u32>,
    /// Only this process and the processes below it, whatever their job and node.
    pub below: Option<u32>,
}

/// One process with the facts in its environment.
pub(super) struct Candidate {
    pub(super) process: Process,
    rank: Option<usize>,
    ranks: Option<usize>,
    node: String,
    /// The process that has launched it.
    launcher: Option<u32>,
    belongs: Belongs,
}

/// The ranks of this node, or the processes that are asked for, by rank. Only processes of this user. Local.
pub fn find(environment: &Environment, wanted: &Wanted) -> Vec<RankProcess> {
    let chosen = chosen(environment, wanted);
    let mut found: Vec<RankProcess> = chosen.into_iter().filter_map(described).collect();
    found.sort_by_key(|one| (one.rank, one.pid));
    found
}

/// Likewise, without a look at each.
pub(super) fn chosen(environment: &Environment, wanted: &Wanted) -> Vec<Candidate> {
    if !wanted.pids.is_empty() {
        let pids = wanted.pids.iter();
        return pids
            .filter_map(|pid| candidate(*pid, environment))
            .collect();
    }
    match wanted.below {
        Some(top) => programs_below(top, candidates(environment).collect()),
        None => without_starters(all_of(environment, wanted)),
    }
}

/// All processes of the ranks of a job on a node, also those that have started the programs, or were started by them.
pub(super) fn all_of(environment: &Environment, wanted: &Wanted) -> Vec<Candidate> {
    let on_node = candidates(environment)
        .filter(|one| one.rank.is_some() && one.node == wanted.node)
        .filter_map(|mut one| {
            one.belongs = one.belongs(wanted)?;
            one.launcher = launcher_above(one.process.parent);
            Some(one)
        });
    let mut all: Vec<Candidate> = on_node.collect();
    // A process may have changed its directory since it was launched.
    let mut launches: BTreeMap<u32, Belongs> = BTreeMap::new();
    for one in &all {
        let known = launches.entry(one.launcher.unwrap_or(one.process.pid));
        let known = known.or_insert(one.belongs);
        *known = one.belongs.max(*known);
    }
    for one in &mut all {
        let known = launches.get(&one.launcher.unwrap_or(one.process.pid));
        one.belongs = known.copied().unwrap_or(one.belongs);
    }
    keep_surest(&mut all, |one| one.belongs);
    all
}

/// All other processes of this user on this machine.
fn candidates(environment: &Environment) -> impl Iterator<Item = Candidate> {
    let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = numbers.filter(|pid| *pid != process::id());
    others.filter_map(|pid| candidate(pid, environment))
}

/// The ranks among a process and all processes that it has started; without ranks, the programs that are neither shells
/// nor launchers; else all.
fn programs_below(top: u32, mut all: Vec<Candidate>) -> Vec<Candidate> {
    let mut pids = BTreeSet::from([top]);
    // Parents may have higher numbers than their children. Each pass finds one more generation.
    while all
        .iter()
        .any(|one| pids.contains(&one.process.parent) && pids.insert(one.process.pid))
    {}
    all.retain(|one| pids.contains(&one.process.pid));
    if all.iter().any(|one| one.rank.is_some()) {
        all.retain(|one| one.rank.is_some());
        return without_starters(all);
    }
    if !all.iter().all(|one| one.process.is_starter()) {
        all.retain(|one| !one.process.is_starter());
    }
    all
}

/// The rank of the process with this environment, and how many ranks there are, as its launcher has told it.
pub fn rank_in(environment: &Environment) -> Option<(usize, Option<usize>)> {
    let number = |name: &str| environment.get(name)?.parse::<usize>().ok();
    RANK.iter().find_map(|(rank, size)| {
        // In a batch script SLURM_PROCID is 0, which is not a rank.
        let in_step = *rank != "SLURM_PROCID" || environment.get("SLURM_STEP_ID").is_some();
        let rank = number(rank).filter(|_| in_step)?;
        Some((rank, number(size)))
    })
}

fn candidate(pid: u32, own: &Environment) -> Option<Candidate> {
    let process = Process::read(pid, own)?;
    let told = rank_in(&process.environment);
    let node = node_name(&process.environment, &|_| None).ok()?.value;
    Some(Candidate {
        process,
        rank: told.map(|(rank, _)| rank),
        ranks: told.and_then(|(_, ranks)| ranks),
        node,
        launcher: None,
        belongs: Belongs::Untold,
    })
}

impl Candidate {
    /// The way in which it shows that it belongs to the job; `None` if it belongs to another one.
    fn belongs(&self, wanted: &Wanted) -> Option<Belongs> {
        let told = |name: &&str| {
            self.process
                .environment
                .get(name)
                .filter(|id| !id.is_empty())
        };
        let mut told = JOB.iter().filter_map(told).peekable();
        if let (Some(job), Some(_)) = (&wanted.job, told.peek()) {
            return told.any(|id| id == job).then_some(Belongs::ById);
        }
        let is_prefix = |dir: &Path| wanted.prefixes.iter().any(|prefix| prefix == dir);
        let by_prefix = match self.process.environment.get("SCR_PREFIX") {
            Some(prefix) if !prefix.is_empty() => is_prefix(Path::new(prefix)),
            // The link is read and not followed.
            _ => std::fs::read_link(at(self.process.pid, "cwd"))
                .is_ok_and(|dir| dir.ancestors().any(is_prefix)),
        };
        Some(if by_prefix {
            Belongs::ByPrefix
        } else {
            Belongs::Untold
        })
    }
}

/// For each rank the process of the program: the first process below shells and launchers. A process that the program
/// has started has the same rank.
fn without_starters(all: Vec<Candidate>) -> Vec<Candidate> {
    let mut by_pid: BTreeMap<u32, Candidate> =
        all.into_iter().map(|one| (one.process.pid, one)).collect();
    let below_program = |one: &Candidate| {
        let mut above = by_pid.get(&one.process.parent);
        let mut steps = 0;
        while let Some(parent) = above.filter(|parent| parent.rank == one.rank) {
            if !parent.process.is_starter() {
                return true;
            }
            // A process id may have been used again while this was read.
            steps += 1;
            if steps > by_pid.len() {
                return false;
            }
            above = by_pid.get(&parent.process.parent);
        }
        false
    };
    let dropped: Vec<u32> = by_pid
        .values()
        .filter(|one| one.process.is_starter() || below_program(one))
        .map(|one| one.process.pid)
        .collect();
    for pid in dropped {
        by_pid.remove(&pid);
    }
    by_pid.into_values().collect()
}

fn described(one: Candidate) -> Option<RankProcess> {
    let stat = Stat::read(one.process.pid)?;
    let status = std::fs::read_to_string(at(one.process.pid, "status")).unwrap_or_default();
    let channel = channel(one.process.pid, "");
    Some(RankProcess {
        rank: one.rank,
        ranks: one.ranks,
        node: one.node,
        pid: one.process.pid,
        program: one.process.program,
        state: stat.state,
        threads: stat.threads,
        memory: field(&status, "VmRSS") * 1024,
        waits: system_call(one.process.pid).or_else(|| channel.clone()),
        channel,
        files: open_files(one.process.pid),
        stuck_thread: stuck_thread(one.process.pid),
        launcher: one.launcher.and_then(in_words),
        belongs: one.belongs,
        ..RankProcess::default()
    })
}

/// Measures the share of a processor that each process uses.
pub(super) fn measure(processes: &mut [RankProcess]) {
    let now = |pid| Stat::read(pid).map_or(0, |stat| stat.ticks);
    let before: Vec<u64> = processes.iter().map(|one| now(one.pid)).collect();
    let begun = Instant::now();
    sleep(Duration::from_millis(500));
    let second = ticks_per_second();
    let seconds = begun.elapsed().as_secs_f64();
    for (one, before) in processes.iter_mut().zip(before) {
        one.processor = now(one.pid).saturating_sub(before) as f64 / second / seconds;
    }
}

/// System calls that wait, and whether the first argument is a file.
const CALLS: [(i64, &str, bool); 22] = [
    (libc::SYS_read, "read", true),
    (libc::SYS_write, "write", true),
    (libc::SYS_pread64, "pread", true),
    (libc::SYS_pwrite64, "pwrite", true),
    (libc::SYS_readv, "readv", true),
    (libc::SYS_writev, "writev", true),
    (libc::SYS_fsync, "fsync", true),
    (libc::SYS_fdatasync, "fdatasync", true),
    (libc::SYS_flock, "flock", true),
    (libc::SYS_fcntl, "fcntl", true),
    (libc::SYS_ioctl, "ioctl", true),
    (libc::SYS_openat, "openat", false),
    (libc::SYS_statx, "statx", false),
    (libc::SYS_newfstatat, "stat", false),
    (libc::SYS_futex, "futex", false),
    (libc::SYS_ppoll, "ppoll", false),
    (libc::SYS_epoll_pwait, "epoll_wait", false),
    (libc::SYS_pselect6, "select", false),
    (libc::SYS_clock_nanosleep, "sleep", false),
    (libc::SYS_nanosleep, "sleep", false),
    (libc::SYS_wait4, "wait", false),
    (libc::SYS_recvfrom, "recv", true),
];

/// The system call that the first thread is in, with its file.
fn system_call(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(at(pid, "syscall")).ok()?;
    let mut words = text.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let (_, name, of_file) = CALLS.iter().find(|(known, ..)| *known == number)?;
    let file = words.next().filter(|_| *of_file)?;
    let file = u64::from_str_radix(file.trim_start_matches("0x"), 16).ok()?;
    let path = std::fs::read_link(at(pid, &format!("fd/{file}")));
    Some(path.map_or(name.to_string(), |path| {
        format!("{name} of {}", path.display())
    }))
}

/// The reason why a thread other than the first one cannot be traced, if such a thread exists: a tracer that wants all
/// threads would wait as long as that thread does.
fn stuck_thread(pid: u32) -> Option<String> {
    let threads = std::fs::read_dir(at(pid, "task")).ok()?.flatten();
    let others = threads.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut others = others.filter(|thread| *thread != pid);
    others.find_map(|thread| {
        let dir = format!("task/{thread}");
        let stat = std::fs::read_to_string(at(pid, &format!("{dir}/stat")));
        let state = Stat::parse(&stat.ok()?)?.state;
        untraceable(state, channel(pid, &dir).as_deref().unwrap_or_default())
    })
}

/// The function of the kernel in which a thread waits; `dir` is below the directory of the process.
fn channel(pid: u32, dir: &str) -> Option<String> {
    let name = std::fs::read_to_string(at(pid, dir).join("wchan")).ok()?;
    let name = name.trim();
    (!matches!(name, "" | "0")).then(|| name.to_string())
}

/// The links are read and not followed: their targets may be on a file system that hangs.
fn open_files(pid: u32) -> Vec<String> {
    let open = std::fs::read_dir(at(pid, "fd"));
    let open = open.into_iter().flatten().flatten();
    let paths = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let shown = paths.filter(|path| {
        path.is_absolute() && !path.starts_with("/dev") && !path.starts_with("/proc")
    });
    let mut shown: Vec<String> = shown.map(|path| path.display().to_string()).collect();
    shown.sort_unstable();
    shown.dedup();
    shown.truncate(FILES);
    shown
}

#[cfg(test)]
mod tests {
    use super::{Wanted, find, measure};
    use scr_engine::job::Environment;
    use std::process::{Child, Command};

    /// A child that is rank `rank` of job `job` on node `node`, below a shell.
    fn rank(rank: &str, job: &str, node: &str) -> Child {
        Command::new("sh")
            .args(["-c", "sleep 600; true"])
            .env("PMI_RANK", rank)
            .env("PMI_SIZE", "3")
            .env("SCR_JOB_ID", job)
            .env("SCR_NODE_NAME", node)
            .spawn()
            .unwrap()
    }

    #[test]
    fn the_ranks_of_a_job_on_a_node_are_found_below_their_shells() {
        let job = format!("ranks-{}", std::process::id());
        let mut children = [
            rank("0", &job, "n0"),
            rank("1", &job, "n0"),
            rank("2", &job, "n1"),
            rank("0", "other", "n0"),
        ];
        let wanted = Wanted {
            job: Some(job),
            node: "n0".to_string(),
            ..Wanted::default()
        };
        let environment = Environment::of_process();
        let mut found = Vec::new();
        // The shells need a moment to start their programs.
        for _ in 0..6000 {
            found = find(&environment, &wanted);
            if found.iter().filter(|one| one.program == "sleep").count() == 2 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        measure(&mut found);
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.rank, one.ranks, &*one.node, &*one.program))
            .collect();
        let expected = |rank| (Some(rank), Some(3), "n0", "sleep");
        assert_eq!(told, [expected(0), expected(1)]);
        assert!(found.iter().all(|one| one.memory > 0 && one.threads == 1));
        let pids = Wanted {
            pids: vec![children[3].id()],
            ..wanted
        };
        assert_eq!(find(&environment, &pids)[0].program, "sh");
        for child in &mut children {
            let _ = Command::new("pkill")
                .args(["-P", &child.id().to_string()])
                .status();
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    /// Two jobs on a node, without a scheduler that would give them names.
    #[test]
    fn ranks_that_tell_no_job_are_those_of_the_prefix_directory() {
        let dir = tempfile::tempdir().unwrap();
        let node = format!("apart-{}", std::process::id());
        let launch = |name: &str| {
            let run = dir.path().join(name);
            std::fs::create_dir_all(run.join("deeper")).unwrap();
            // The second rank runs in another directory.
            let script = "for rank in 0 1; do PMI_RANK=$rank sleep 600 & cd /; done; wait";
            let launcher = dir.path().join("mpiexec");
            let mut command = Command::new("sh");
            let made = format!("ln -sf /bin/sh {}", launcher.display());
            assert!(command.args(["-c", &made]).status().unwrap().success());
            let mut command = Command::new(launcher);
            command.args(["-c", script]).current_dir(run.join("deeper"));
            for name in ["SCR_JOB_ID", "SCR_PREFIX", "PMI_SIZE"] {
                command.env_remove(name);
            }
            let child = command.env("SCR_NODE_NAME", &node).spawn().unwrap();
            (child, run)
        };
        let mut jobs = ["a", "b"].map(launch);
        let environment = Environment::of_process();
        let mut wanted = Wanted {
            job: Some("derived".to_string()),
            node: node.clone(),
            ..Wanted::default()
        };
        // Without the directory all processes are taken. Each has its launcher.
        let mut all = Vec::new();
        while all.len() < 4 {
            all = find(&environment, &wanted);
            all.retain(|one| one.program == "sleep");
        }
        for (child, run) in &jobs {
            wanted.prefixes = vec![run.clone()];
            let found = find(&environment, &wanted);
            let ranks: Vec<_> = found.iter().map(|one| one.rank).collect();
            assert_eq!(ranks, [Some(0), Some(1)], "{found:?}");
            let launcher = format!("process {} (mpiexec) in ", child.id());
            let is_ours = |one: &super::RankProcess| {
                let told = one.launcher.as_deref().unwrap_or_default();
                told.starts_with(&launcher)
            };
            assert!(found.iter().all(is_ours), "{found:?}");
        }
        for one in &all {
            let _ = Command::new("kill").arg(one.pid.to_string()).status();
        }
        for (child, _) in &mut jobs {
            child.wait().unwrap();
        }
    }
}
