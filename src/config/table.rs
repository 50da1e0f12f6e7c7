//! The table of parameters. Look-up, validation, `SCR_Config`, warnings and `docs/parameters.md` all
//! use it.
//!
//! Names, defaults and meanings are those of SCR v3.1.0 unless the text says otherwise.

use super::system_file::{ALLOWED_BASES, SITE_ONLY};
use super::value::ValueKind;
use crate::format::Scheme;
use strsim::levenshtein;

/// Defaults that a site chooses when it builds the library, through CMake.
const CACHE_BASE: &str = match option_env!("SCR_DEFAULT_CACHE_BASE") {
    Some(base) => base,
    None => "/dev/shm",
};

/// See [`CACHE_BASE`].
const CNTL_BASE: &str = match option_env!("SCR_DEFAULT_CNTL_BASE") {
    Some(base) => base,
    None => "/dev/shm",
};

/// The reader of a parameter that has an effect. `scr params` and `scr doctor` show all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// The library, in the application.
    Library,
    /// The commands.
    Commands,
    /// The library and the commands.
    Both,
}

/// The parameter whose value is not shown and not written to files.
pub const SECRET: &str = "SCR_LOG_DB_PASS";

/// The effect of a parameter in this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The parameter has an effect.
    Works,
    /// The parameter has no effect; the text says why.
    None(&'static str),
}

/// A parameter with one value: `NAME=VALUE`.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name, upper case.
    pub name: &'static str,
    /// Allowed values.
    pub kind: ValueKind,
    /// Compiled default as text; empty without a default.
    pub default: &'static str,
    /// Unit of the value; empty where the kind says it.
    pub unit: &'static str,
    /// The reader of the parameter: library, commands, or both.
    pub reader: ReadBy,
    /// The effect of the parameter.
    pub effect: Effect,
    /// One or two sentences for the manual.
    pub doc: &'static str,
}

/// A parameter with several items: `NAME=KEY CHILD=VALUE ...`.
#[derive(Debug, Clone, Copy)]
pub struct Multi {
    /// The name, upper case.
    pub name: &'static str,
    /// A placeholder for the key, for the manual.
    pub key: &'static str,
    /// The children; empty with `open`.
    pub children: &'static [ChildParameter],
    /// True if any child name is allowed.
    pub open: bool,
    /// The reader of the parameter: library, commands, or both.
    pub reader: ReadBy,
    /// The effect of the parameter.
    pub effect: Effect,
    /// The description for the manual.
    pub doc: &'static str,
}

/// One child of a [`Multi`].
#[derive(Debug, Clone, Copy)]
pub struct ChildParameter {
    /// The name, upper case.
    pub name: &'static str,
    /// Allowed values.
    pub kind: ValueKind,
    /// Default in words or as text.
    pub default: &'static str,
    /// The effect of the parameter.
    pub effect: Effect,
    /// The description for the manual.
    pub doc: &'static str,
}

/// The parameter of that exact name.
pub fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|p| p.name == name)
}

/// True for a parameter and for a child of a multi-item one.
pub fn is_key(name: &str) -> bool {
    let child = |multi: &Multi| multi.children.iter().any(|child| child.name == name);
    parameter(name).is_some() || multi(name).is_some() || MULTIS.iter().any(child)
}

/// The multi-item parameter of that exact name.
pub fn multi(name: &str) -> Option<&'static Multi> {
    MULTIS.iter().find(|m| m.name == name)
}

/// Names of all parameters, in table order.
pub fn names() -> impl Iterator<Item = &'static str> {
    PARAMETERS
        .iter()
        .map(|p| p.name)
        .chain(MULTIS.iter().map(|m| m.name))
}

/// The candidate that a mistyped `name` most likely means, if one is near enough: at most
/// two letters inserted, removed or exchanged, and no more than half of the name.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any parameter; a file may have any bytes there.
    let typed: String = name.to_ascii_uppercase();
    let length = typed.chars().take(65).count();
    if length > 64 {
        return None;
    }
    let measured = candidates.map(|known| (levenshtein(&typed, known), known));
    let (steps, best) = measured.min_by_key(|(steps, _)| *steps)?;
    (steps <= 2 && 2 * steps <= length).then_some(best)
}

use Effect::{None as Never, Works};
use ReadBy::{Both, Commands, Library};
use ValueKind::{
    Bool, Bytes, Choice, Cores, Directories, Int, IntOr, Name, Path, Percent, Text, Words,
};

const fn row(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    unit: &'static str,
    reader: ReadBy,
    effect: Effect,
    doc: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        default,
        unit,
        reader,
        effect,
        doc,
    }
}

const COUNT: ValueKind = Int(0, i32::MAX as i64);
const POSITIVE: ValueKind = Int(1, i32::MAX as i64);
/// Leaves the interval between checkpoints to SCR.
pub const AUTO: &str = "auto";
/// Seconds of a day.
const DAY: &str = "86400";
const BUFFER: ValueKind = Bytes(1, 1 << 30);
/// Ways to move a file to the prefix directory, as SCR v3.1.0 names them, and DAEMON, which is ours.
const FLUSH_TYPES: &[&str] = &[
    "DEFAULT", "NATIVE", "SYNC", "PTHREAD", "DATAWARP", "BBAPI", "DAEMON",
];

/// All parameters with one value.
#[rustfmt::skip]
pub const PARAMETERS: &[Parameter] = &[
    row("SCR_ENABLE", Bool, "1", "", Both, Works,
        "0 turns SCR off: SCR_Init returns 1 and no call has an effect."),
    row("SCR_DEBUG", Int(0, 9), "0", "level", Both, Works,
        "Debug messages on standard output, from 0 (none) to 2 (all). From 1 on scr_run, scr_prerun, scr_postrun, scr_scavenge and scr_should_exit print more, as with --verbose."),
    row("SCR_PREFIX", Path, "", "", Both, Works,
        "Prefix directory; the current directory of rank 0 if unset."),
    row("SCR_CONF_FILE", Path, "", "", Both, Works,
        "User configuration file, from the environment or SCR_Config; `<prefix>/.scrconf` if unset."),
    row("SCR_SYSTEM_CONF", Path, "", "", Both, Works,
        "System configuration file, from the environment only; if unset, `etc/scr.conf` of the installation, or the one chosen when SCR was built. Not in SCR v3.1.0."),
    row(SITE_ONLY, Text, "", "", Both, Works,
        "Names of parameters, separated by commas, that users cannot set: the value in the system configuration file counts, or else the default. Only that file can set this. Not in SCR v3.1.0."),
    row(ALLOWED_BASES, Directories, "", "", Both, Works,
        "The directories in which SCR_CACHE_BASE, SCR_CNTL_BASE and those of STORE lines may be; anywhere if unset. Only the system configuration file can set this. Not in SCR v3.1.0."),
    row("SCR_USER_NAME", Name, "", "", Both, Works,
        "Part of cache and control directories and of dataset descriptions; if unset, the user's name in the system."),
    row("SCR_JOB_ID", Name, "", "", Both, Works,
        "Part of cache and control directories; the scheduler's, or derived from the prefix directory, if unset."),
    row("SCR_JOB_NAME", Text, "", "", Library, Works,
        "Name of the job in dataset descriptions."),
    row("SCR_CLUSTER_NAME", Text, "", "", Library, Works,
        "Name of the cluster in dataset descriptions."),
    row("SCR_SERIAL", Bool, "0", "", Library, Works,
        "1: each process that a launcher starts is a job of its own, with its own SCR_PREFIX. 0: SCR_Init fails if this process is alone in its MPI_COMM_WORLD and the launcher's variables, such as PMI_SIZE, say that it has started several, since that launcher is of another MPI. Not in SCR v3.1.0."),
    row("SCR_NODE_NAME", Name, "", "", Both, Works,
        "Name of the node that a process runs on, from each process's own environment; the host name if unset. With it one machine can emulate several nodes. Not in SCR v3.1.0."),
    row("SCR_CNTL_BASE", Path, CNTL_BASE, "", Both, Works,
        "Directory below which control directories are made. Each process's own environment counts."),
    row("SCR_CACHE_BASE", Path, CACHE_BASE, "", Both, Works,
        "Directory below which the cache of the default store is made. Each process's own environment counts."),
    row("SCR_CACHE_SIZE", COUNT, "1", "datasets", Library, Works,
        "Default COUNT of stores: how many datasets are kept in each."),
    row("SCR_CACHE_CHECK", Bool, "1", "", Library, Works,
        "1: a dataset is not started if a node's store has less space, also after evictions, than the last one of its descriptor took there. 0: space is not checked. Not in SCR v3.1.0."),
    row("SCR_CACHE_MAPPED", Bool, "1", "", Library, Works,
        "1: on tmpfs, files of fields and of redundancy that are written over stay open and mapped, which is faster. Their pages count to the resident memory of the process. 0: they are closed, and written by system calls. Not in SCR v3.1.0."),
    row("SCR_CACHE_BYPASS", Bool, "1", "", Library, Works,
        "1: files are written straight to the prefix directory. Default BYPASS of CKPT lines."),
    row("SCR_COPY_TYPE", Text, "XOR", "", Both, Works,
        "Redundancy scheme: SINGLE, PARTNER, XOR or RS. Any other word, such as FILE: CKPT lines define it."),
    row("SCR_GROUP", Text, "NODE", "", Library, Works,
        "Processes that are likely to fail together: NODE, WORLD or a name from GROUPS lines."),
    row("SCR_SET_SIZE", POSITIVE, "8", "ranks", Library, Works,
        "Smallest number of ranks in a redundancy set, if there are enough ranks."),
    row("SCR_SET_FAILURES", POSITIVE, "2", "ranks", Library, Works,
        "How many ranks of a set may be lost with RS or PARTNER, from 1 to the set size. If it is not set, PARTNER keeps 1 copy."),
    row("SCR_MPI_BUF_SIZE", BUFFER, "1m", "", Library, Works,
        "Size of one message."),
    row("SCR_FILE_BUF_SIZE", BUFFER, "32m", "", Both, Works,
        "Most bytes of one read or write of a copy between cache and prefix directory, or of a pass that takes checksums; above 1m it has no effect, since larger pieces are slower. The passes that make and use redundancy go by SCR_MPI_BUF_SIZE."),
    row("SCR_COPY_METADATA", Bool, "1", "", Both, Works,
        "1: a file that is copied to the prefix directory, or fetched from there, keeps mode, owner and times, as far as the file system permits; in containers mode and time. 0: what is extracted from a container beside other files has the time of the container. In a directory that gives its group to new files (setgid) a file keeps that group. Moves and rebuilds within the cache always keep them."),
    row("SCR_AXL_MKDIR", Bool, "0", "", Library, Never("SCR makes all directories itself"),
        "Let the transfer layer make directories."),
    row("SCR_DISTRIBUTE", Bool, "1", "", Library, Works,
        "1: SCR_Init moves cached files to the nodes where their ranks run now, and rebuilds lost ones. 0: it deletes all cached datasets, as with SCR_CACHE_PURGE=1."),
    row("SCR_CACHE_PURGE", Bool, "0", "", Library, Works,
        "1: SCR_Init deletes all cached datasets, also those that are not in the prefix directory."),
    row("SCR_PREFIX_PURGE", Bool, "0", "", Library, Works,
        "1: SCR_Init deletes all datasets of the index from the prefix directory. What is in the cache counts as never flushed then."),
    row("SCR_FETCH", Bool, "1", "", Library, Works,
        "1: SCR_Have_restart uses the prefix directory if the cache has no checkpoint."),
    row("SCR_FETCH_BYPASS", Bool, "0", "", Library, Works,
        "1: fetched files stay in the prefix directory. Allows a restart from a checkpoint of another number of ranks, as SCR_Allow_other_ranks does."),
    row("SCR_FETCH_WIDTH", POSITIVE, "256", "processes", Library, Works,
        "How many processes read from the prefix directory at a time."),
    row("SCR_CURRENT", Text, "", "", Library, Works,
        "Checkpoint to restart from: becomes the current one before the first fetch of an allocation."),
    row("SCR_REQUIRE_RESTART", Bool, "0", "", Library, Works,
        "1: SCR_Have_restart fails if there is no checkpoint to restart from. 0: the program starts from the beginning. Not in SCR v3.1.0."),
    row("SCR_START_ANEW", Bool, "0", "", Library, Works,
        "1: checkpoints of another number of ranks, and those without the fields that SCR_Restore asks for, are ignored and may be overwritten; the program restarts from an older one that fits, or from the beginning. 0: SCR_Have_restart fails if the newest checkpoint is one of another number of ranks, unless the program or SCR_FETCH_BYPASS allows such a restart, and SCR_Restore fails if none fits; none is overwritten. Not in SCR v3.1.0."),
    row("SCR_DEVICE_STRICT", Bool, "0", "", Library, Works,
        "1: a checkpoint or restart fails if a field is given in memory of the processor, and OpenACC or OpenMP has a copy of its data on a device. 0: this is told once for each field. Not in SCR v3.1.0."),
    row("SCR_FLUSH", COUNT, "10", "checkpoints", Library, Works,
        "Every n-th checkpoint is flushed; 0: none, also not in SCR_Finalize. Output and datasets in bypass do not depend on it."),
    row("SCR_FLUSH_TYPE", Choice(FLUSH_TYPES), "SYNC", "", Library, Works,
        "How files are moved; default FLUSH of stores. With SCR_FLUSH_ASYNC=1 threads copy them in the background, unless this is set to SYNC. DAEMON (not in SCR v3.1.0): the transfer daemon of each node copies them, see `scr transfer`; a node without one uses threads. All other words mean the same here."),
    row("SCR_FLUSH_WIDTH", POSITIVE, "256", "processes", Library, Works,
        "How many processes write to the prefix directory at a time."),
    row("SCR_FLUSH_ASYNC", Bool, "0", "", Both, Works,
        "1: a flush goes on in the background while the program computes. SCR_Finalize and calls that need the dataset wait for it."),
    row("SCR_FLUSH_POSTSTAGE", Bool, "0", "", Both, Works,
        "1: SCR_Finalize does not wait for flushes in the background: it hands them over, and `scr poststage` or scr postrun finishes them."),
    row("SCR_FLUSH_ASYNC_BW", Bytes(0, i64::MAX as u64), "200m", "bytes per second", Library, Works,
        "Bandwidth that background flushes may take on each node; 0 for no limit."),
    row("SCR_FLUSH_ASYNC_PERCENT", Percent, "0", "percent", Library, Works,
        "Share of time in which the thread of a background flush works; 0 for no limit."),
    row("SCR_FLUSH_ASYNC_USLEEP", COUNT, "1000", "microseconds", Library, Works,
        "Pause between two checks of a background flush, when a call waits for it."),
    row("SCR_FLUSH_DAEMON_TIMEOUT", POSITIVE, "120", "seconds", Both, Works,
        "How long a transfer daemon may show no progress before it is left out, and threads of the program copy in its place. Time that it waits for SCR_FLUSH_ASYNC_BW or SCR_FLUSH_ASYNC_PERCENT does not count. Not in SCR v3.1.0."),
    row("SCR_FLUSH_ASYNC_CORES", Cores, "", "", Library, Works,
        "Processors on which the thread of a background flush runs, such as 0,32; all that the process may use if it is not set. Not in SCR v3.1.0."),
    row("SCR_FLUSH_ON_RESTART", Bool, "0", "", Library, Works,
        "1: SCR_Init copies all cached checkpoints that can be recovered to the prefix directory. 0: only output, and what an earlier run began to copy. In the background if flushes go there."),
    row("SCR_GLOBAL_RESTART", Bool, "0", "", Library, Works,
        "1: SCR_Init copies cached datasets to the prefix directory, waits until they are there, and the restart reads them there (with SCR_FETCH=0 it still reads the cache). Turns on SCR_FLUSH_ON_RESTART and SCR_FETCH_BYPASS, and so allows checkpoints of another number of ranks."),
    row("SCR_DROP_AFTER_CURRENT", Bool, "0", "", Library, Works,
        "1: SCR_Current drops newer datasets from the index."),
    row("SCR_PREFIX_SIZE", COUNT, "0", "checkpoints", Library, Works,
        "How many checkpoints are kept in the prefix directory; 0 for all."),
    row("SCR_USE_CONTAINERS", Bool, "0", "", Both, Works,
        "1: a flush or scavenge from the cache packs the files of a dataset into few, ctr.N.scr in its directory in .scr. SCR v3.1.0 cannot read them; `scr extract` gives plain files back."),
    row("SCR_CONTAINER_SIZE", Bytes(1, i64::MAX as u64), "100g", "", Both, Works,
        "Largest container; a dataset has at most 1000000 of them."),
    row("SCR_CRC_ON_COPY", Bool, "0", "", Library, Works,
        "1: files that are fetched into the cache are compared with their recorded checksums, also with SCR_CRC_ON_FLUSH=0. In all other copies of cached files (redundancy, moves to other nodes, rebuilds, scavenging, flushes by daemons and commands) recorded checksums are always compared."),
    row("SCR_CRC_ON_FLUSH", Bool, "1", "", Both, Works,
        "1: record checksums in the prefix directory, and verify them when files are fetched or read there. Those of files that were written in bypass are taken in the background after SCR_Complete_output. 0: only sizes are recorded and compared."),
    row("SCR_CRC_ON_DELETE", Bool, "0", "", Library, Works,
        "1: the files of a dataset are compared with their checksums before they are deleted from the cache, in the background; a damaged file is told, and deleted all the same. It shows bad storage or memory of a node."),
    row("SCR_CHECKPOINT_INTERVAL", IntOr(0, i32::MAX as i64, AUTO), "0", "calls", Library, Works,
        "SCR_Need_checkpoint says yes every n-th time; 0: it does not count calls. auto: it says yes after the time that is best for what checkpoints of this run cost and how often runs fail. SCR v3.1.0 has no auto."),
    row("SCR_CHECKPOINT_SECONDS", COUNT, "0", "seconds", Library, Works,
        "SCR_Need_checkpoint says yes this long after the last checkpoint; 0: it does not look at the time."),
    row("SCR_CHECKPOINT_OVERHEAD", Percent, "0", "percent", Library, Works,
        "SCR_Need_checkpoint says yes if checkpoints so far took less than this share of the time; 0: no such limit. With SCR_CHECKPOINT_INTERVAL=auto it is the largest share that they may take."),
    row("SCR_MEAN_TIME_TO_FAILURE", POSITIVE, DAY, "seconds", Library, Works,
        "Time between two failures of the whole job, on average, for SCR_CHECKPOINT_INTERVAL=auto. It counts while the event log of the prefix directory has no failure. Not in SCR v3.1.0."),
    row("SCR_HALT_SECONDS", COUNT, "0", "seconds", Both, Works,
        "Stop when no more than this remains of the allocation; 0: no such limit. If set, it replaces the value of an earlier run or of scr_halt in the halt file."),
    row("SCR_HALT_EXIT", Bool, "0", "", Library, Works,
        "1: the library ends the program when a halt condition holds. 0: the program calls SCR_Should_exit."),
    row("SCR_HALT_SIGNALS", Words(crate::job::signal::WORDS), "NONE", "signals", Library, Works,
        "Signals after which SCR_Should_exit and SCR_Need_checkpoint say yes, whichever process receives them. A handler of the program is called, too; without one, the signal no longer ends the program. Not in SCR v3.1.0."),
    row("SCR_END_TIME", Int(0, i64::MAX), "", "seconds since 1970", Both, Works,
        "End of the allocation; the resource manager's if unset."),
    row("SCR_LOG_ENABLE", Bool, "0", "", Both, Works,
        "Master switch of the event log."),
    row("SCR_LOG_TXT_ENABLE", Bool, "1", "", Both, Works,
        "Log to `<prefix>/.scr/log`."),
    row("SCR_LOG_TXT_SIZE", Bytes(0, i64::MAX as u64), "16m", "bytes", Both, Works,
        "Size at which `.scr/log` is renamed to `log.1`, and older ones to `log.2` and `log.3`; what is older is deleted. Commands read all of them. 0 for no limit. Not in SCR v3.1.0."),
    row("SCR_LOG_SYSLOG_ENABLE", Bool, "1", "", Both, Works,
        "Log to syslog. Where there is no syslog, nothing is said about it unless this is set."),
    row("SCR_LOG_SYSLOG_FACILITY", Choice(super::syslog::FACILITIES), "LOG_LOCAL7", "", Both, Works,
        "Facility of the messages in syslog. In SCR v3.1.0 it is chosen when SCR is built."),
    row("SCR_LOG_SYSLOG_LEVEL", Choice(super::syslog::LEVELS), "LOG_INFO", "", Both, Works,
        "Level of the messages in syslog. In SCR v3.1.0 it is chosen when SCR is built."),
    row("SCR_LOG_SYSLOG_PREFIX", Text, "SCR", "", Both, Works,
        "What each message in syslog begins with. In SCR v3.1.0 it is chosen when SCR is built."),
    row("SCR_LOG_DB_ENABLE", Bool, "0", "", Both, Works,
        "Log to a MySQL or MariaDB database, if SCR was built with SCR_ENABLE_MYSQL. `scr log --schema` prints its tables."),
    row("SCR_LOG_DB_DEBUG", Bool, "0", "", Both, Works,
        "Print on standard output what is sent to the database."),
    row("SCR_LOG_DB_HOST", Text, "", "", Both, Works,
        "Host of the database, `HOST:PORT`, or the path of its socket; this host if unset."),
    row("SCR_LOG_DB_USER", Text, "", "", Both, Works,
        "User of the database. It needs the rights SELECT and INSERT."),
    row("SCR_LOG_DB_PASS", Text, "", "", Both, Works,
        "Password of the database."),
    row("SCR_LOG_DB_NAME", Text, "", "", Both, Works,
        "Name of the database."),
    row("SCR_RUNS", Int(-1, i32::MAX as i64), "", "launches", Commands, Works,
        "How many times scr_run launches the program at most; -1 for no limit; SCR_RETRIES plus one if unset."),
    row("SCR_RETRIES", COUNT, "", "launches", Commands, Works,
        "How many times scr_run launches the program again; used if SCR_RUNS is unset."),
    row("SCR_SAME_FAILURES", COUNT, "3", "launches", Commands, Works,
        "After so many launches in a row that failed alike, scr_run does not launch the program again: the same exit code, no newer dataset, and no node lost. 0: no limit. Not in SCR v3.1.0."),
    row("SCR_REQUEUE", Bool, "0", "", Commands, Works,
        "1: at its end scr_run puts the job into the queue of Slurm, LSF or PBS again, if another allocation can bring the program further. Not in SCR v3.1.0."),
    row("SCR_SETTLE_SECONDS", COUNT, "2", "seconds", Commands, Works,
        "How long scr_run waits, after nodes were lost, before it launches the program again, so that the resource manager can settle. Not in SCR v3.1.0."),
    row("SCR_MIN_NODES", COUNT, "", "nodes", Commands, Works,
        "Number of nodes that a launch needs; if unset, as many as the last run used, else all."),
    row("SCR_NODELIST", Text, "", "host list", Commands, Works,
        "Nodes of the allocation; the resource manager's list if unset."),
    row("SCR_EXCLUDE_NODES", Text, "", "host list", Commands, Works,
        "Nodes that must not be used."),
    row("SCR_NODE_TESTS", Text, "ping,echo,dir_capacity", "", Commands, Works,
        "Tests that a node must pass, separated by commas: ping, echo, dir_capacity, whole paths of commands, or none."),
    row("SCR_NODE_TEST_SECONDS", Int(1, 86_400), "60", "seconds", Commands, Works,
        "How long a command in SCR_NODE_TESTS may take on a node. Not in SCR v3.1.0."),
    row("SCR_NODE_FAILURES", COUNT, "2", "jobs", Commands, Works,
        "A node that has failed in so many jobs, by the event log, is left out of launches while others are there. 0: no node is. Not in SCR v3.1.0."),
    row("SCR_NODE_FAILURE_HOURS", Int(1, 87_600), "24", "hours", Commands, Works,
        "After so long a failure of a node counts no more for SCR_NODE_FAILURES, and the node is used again. Not in SCR v3.1.0."),
    row("SCR_REMOTE", Choice(&["AUTO", "LAUNCHER", "SSH", "PDSH", "CLUSH", "LOCAL"]), "AUTO", "", Commands, Works,
        "How commands reach other nodes. AUTO: srun in a job of Slurm, flux in a job of Flux, else the first of pdsh, clush and ssh that exists. LAUNCHER: the launcher of the program. LOCAL: all nodes are this machine, see SCR_NODE_NAME. Not in SCR v3.1.0."),
    row("SCR_WATCHDOG", Bool, "0", "", Commands, Works,
        "1: a run that makes no progress is ended, and launched again if SCR_RUNS allows."),
    row("SCR_WATCHDOG_TIMEOUT", POSITIVE, "", "seconds", Commands, Works,
        "How long a run may go without a new dataset; the watchdog needs it."),
    row("SCR_WATCHDOG_TIMEOUT_PFS", POSITIVE, "", "seconds", Commands, Works,
        "How long a run may go without progress while it reads or writes the prefix directory; SCR_WATCHDOG_TIMEOUT if unset."),
    row("SCR_WATCH", Text, "", "", Commands, Works,
        "What scr_run watches for signs of progress, separated by commas: calls, file=PATH, cpu, command=CMD. Not in SCR v3.1.0."),
    row("SCR_WATCH_AFTER", Text, "10m", "", Commands, Works,
        "How long a run that is watched (SCR_WATCH) may go without progress: seconds, or a number with s, m or h; auto for five times the longest pause so far and at least 10m. Not in SCR v3.1.0."),
    row("SCR_WATCH_FIRST", Text, "", "", Commands, Works,
        "How long it may go without progress before the first sign of it; 30m if unset, or SCR_WATCH_AFTER if that is more. Not in SCR v3.1.0."),
    row("SCR_WATCH_SIGNAL", Choice(&["NONE", "USR1", "USR2", "HUP", "INT", "URG"]), "NONE", "", Commands, Works,
        "A signal that a program which hangs gets first, if it can write a checkpoint then. Not in SCR v3.1.0."),
    row("SCR_WATCH_SIGNAL_SECONDS", POSITIVE, "60", "seconds", Commands, Works,
        "How long it may take to end after SCR_WATCH_SIGNAL, before it gets SIGTERM. Not in SCR v3.1.0."),
    row("SCR_WATCH_TERM_SECONDS", POSITIVE, "30", "seconds", Commands, Works,
        "How long it may take to end after SIGTERM, before it gets SIGKILL. Not in SCR v3.1.0."),
    row("AXL_DEBUG", Int(0, 9), "0", "level", Library, Never("use SCR_DEBUG"),
        "Debug messages of the transfer layer."),
    row("AXL_MKDIR", Bool, "1", "", Library, Never("SCR makes all directories itself"),
        "Let the transfer layer make directories."),
    row("AXL_USE_EXTENSION", Bool, "0", "", Library, Never("a file always has a temporary name while it is copied"),
        "Write under a temporary name."),
    row("AXL_COPY_METADATA", Bool, "0", "", Library, Never("use SCR_COPY_METADATA"),
        "Keep mode, owner and times."),
    row("REDSET_ENCODE", Text, "CPU", "", Library, Never("SCR chooses the fastest code for the processor"),
        "How to compute redundancy: CPU, OPENMP, PTHREADS, CUDA."),
];

const fn child(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    doc: &'static str,
) -> ChildParameter {
    ChildParameter {
        name,
        kind,
        default,
        effect: Works,
        doc,
    }
}

/// All parameters with several items.
#[rustfmt::skip]
pub const MULTIS: &[Multi] = &[
    Multi { name: "GROUPS", key: "<node>", open: true, reader: Library, effect: Works,
        children: &[],
        doc: "The failure groups of a node: each child names a kind of group, such as POWER, and its value the group. Nodes with the same value form one group. NODE and WORLD are built in." },
    Multi { name: "STORE", key: "<directory>", open: false, reader: Both, effect: Works,
        children: &[
            child("GROUP", Text, "NODE", "Processes that share one instance of this store. With a group other than NODE, the loss of a node does not affect the store."),
            child("COUNT", COUNT, "SCR_CACHE_SIZE", "How many datasets are kept."),
            child("ENABLED", Bool, "1", "0: neither the store nor the datasets of earlier runs in it are used."),
            child("MKDIR", Bool, "1", "1: SCR makes the directory if it is missing. 0: it must exist on each node, or SCR_Init fails. SCR makes the directories below it in either case."),
            child("FLUSH", Choice(FLUSH_TYPES), "SCR_FLUSH_TYPE", "How files are moved from it: with SYNC never in the background."),
            child("VIEW", Choice(&["PRIVATE", "GLOBAL"]), "PRIVATE", "GLOBAL: all nodes share the directory, so GROUP=NODE means WORLD, and several ranks can write one file."),
        ],
        doc: "A storage location for cached datasets. SCR_CACHE_BASE and SCR_CNTL_BASE need no line." },
    Multi { name: "CKPT", key: "<number>", open: false, reader: Both, effect: Works,
        children: &[
            child("ENABLED", Bool, "1", "0: the line is not used."),
            child("INTERVAL", POSITIVE, "1", "For every n-th checkpoint. Of the lines whose interval divides the checkpoint's number, the one with the largest counts. One line must have 1."),
            child("OUTPUT", Bool, "0", "1: for datasets marked as output."),
            child("BYPASS", Bool, "SCR_CACHE_BYPASS", "1: files are written straight to the prefix directory."),
            child("STORE", Path, "SCR_CACHE_BASE", "The store for the datasets."),
            child("GROUP", Text, "SCR_GROUP", "Processes that are likely to fail together."),
            child("TYPE", Choice(Scheme::WORDS), "XOR", "Redundancy scheme."),
            child("SET_SIZE", POSITIVE, "SCR_SET_SIZE", "Smallest number of ranks in a set, if there are enough ranks."),
            child("SET_FAILURES", POSITIVE, "SCR_SET_FAILURES", "How many ranks of a set may be lost with RS or PARTNER."),
        ],
        doc: "A redundancy descriptor; counts only with SCR_COPY_TYPE=FILE." },
    Multi { name: "CACHE", key: "<directory>", open: false, reader: Commands, effect: Works,
        children: &[],
        doc: "Cache base directories for scr_list_dir; without it, those of the stores." },
    Multi { name: "CACHEDIR", key: "<directory>", open: false, reader: Commands, effect: Works,
        children: &[child("BYTES", Bytes(0, i64::MAX as u64), "none", "Capacity that a healthy node has there.")],
        doc: "Cache directories that the node tests check; without it, the cache base directories." },
    Multi { name: "CNTLDIR", key: "<directory>", open: false, reader: Commands, effect: Works,
        children: &[child("BYTES", Bytes(0, i64::MAX as u64), "none", "Capacity that a healthy node has there.")],
        doc: "Control directories that the node tests check; without it, SCR_CNTL_BASE." },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_upper_case() {
        let mut seen = BTreeSet::new();
        for name in names() {
            assert_eq!(name, name.to_ascii_uppercase());
            assert!(seen.insert(name), "{name} twice");
            assert!(parameter(name).is_some() != multi(name).is_some());
        }
    }

    #[test]
    fn defaults_are_allowed_values() {
        for p in PARAMETERS.iter().filter(|p| !p.default.is_empty()) {
            assert!(
                p.kind.parse(p.default).is_some(),
                "{} = {}",
                p.name,
                p.default
            );
        }
        for (m, c) in MULTIS
            .iter()
            .flat_map(|m| m.children.iter().map(move |c| (m, c)))
        {
            let fits = c.kind.parse(c.default).is_some();
            let refers = parameter(c.default).is_some_and(|p| p.kind == c.kind || fits);
            assert!(
                fits || refers || c.default == "none",
                "{} {}",
                m.name,
                c.name
            );
        }
    }

    #[test]
    fn every_row_says_something() {
        for p in PARAMETERS {
            assert!(p.doc.ends_with('.') && !p.doc.contains('|'), "{}", p.name);
        }
        for m in MULTIS {
            assert!(
                m.doc.ends_with('.') && (!m.open || m.children.is_empty()),
                "{}",
                m.name
            );
        }
    }

    #[test]
    fn nearest_names() {
        let near = |name| nearest(name, names());
        assert_eq!(near("SCR_FLUHS"), Some("SCR_FLUSH"));
        assert_eq!(near("scr_flush"), Some("SCR_FLUSH"));
        assert_eq!(near("SCR_CACHE_SIZ"), Some("SCR_CACHE_SIZE"));
        assert_eq!(near("CKTP"), Some("CKPT"));
        assert_eq!(near("CKPTS"), Some("CKPT"));
        assert_eq!(near("SCR_SOMETHING_ELSE"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"S".repeat(100_000)), None);
    }
}
