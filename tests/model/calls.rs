//! The calls of a sequence, and their text, which a failing test prints and `cases.txt` contains.

use std::fmt;

/// The parameters of the runs of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub ranks: usize,
    /// `SCR_CACHE_BYPASS`.
    pub bypass: bool,
    /// `SCR_CACHE_SIZE`.
    pub size: usize,
    /// `SCR_FLUSH`.
    pub flush: u64,
    /// `SCR_FETCH`.
    pub fetch: bool,
    /// `SCR_CHECKPOINT_INTERVAL`.
    pub interval: u64,
}

/// The argument `valid` of the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Valid {
    OnAll,
    /// 0 on one rank, 1 on the others.
    NotOn(usize),
}

impl Valid {
    pub fn on(self, rank: usize) -> bool {
        self != Valid::NotOn(rank)
    }
}

/// A call on all ranks, or an event in the life of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// The first call of another process, after `SCR_Finalize`. A mistake in a run.
    Init,
    /// `SCR_Init` in the process that has called `SCR_Finalize`.
    InitAgain,
    StartOutput {
        name: Option<String>,
        checkpoint: bool,
        output: bool,
    },
    /// A start whose flags are wrong on one rank.
    StartRefused {
        name: Option<String>,
        on: usize,
    },
    StartCheckpoint,
    /// Routes this rank's file of the open dataset; writes it in an output phase, and reads it in a
    /// restart.
    File,
    /// Routes another file on one rank, and does not write it.
    Missing(usize),
    CompleteOutput(Valid),
    CompleteCheckpoint(Valid),
    HaveRestart,
    StartRestart,
    CompleteRestart(Valid),
    Current(String),
    Drop(String),
    Delete(String),
    NeedCheckpoint,
    ShouldExit,
    Finalize,
    /// All processes are killed, and the next run starts.
    Kill,
    /// All processes are killed, all nodes lose their caches, and the next run starts.
    Lose,
}

impl Call {
    /// The call without its arguments.
    pub fn kind(&self) -> String {
        let text = self.to_string();
        text.split('(').next().unwrap_or_default().to_string()
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Call> {
        let text = text.trim();
        let (word, argument) = match text.split_once('(') {
            Some((word, rest)) => (word, rest.strip_suffix(')')?),
            None => (text, ""),
        };
        let name = || Some(argument.strip_prefix('"')?.strip_suffix('"')?.to_string());
        let valid = || match argument.strip_prefix("0 on rank ") {
            Some(rank) => Some(Valid::NotOn(rank.parse().ok()?)),
            None => (argument == "1").then_some(Valid::OnAll),
        };
        Some(match word {
            "SCR_Init" => Call::Init,
            "SCR_Init in the same process" => Call::InitAgain,
            "SCR_Start_output" => {
                let (name, flags) = argument.rsplit_once(", ")?;
                let name = name.strip_prefix('"').and_then(|n| n.strip_suffix('"'));
                let name = name.map(str::to_string);
                match flags.strip_prefix("wrong flags on rank ") {
                    Some(on) => Call::StartRefused {
                        name,
                        on: on.parse().ok()?,
                    },
                    None => Call::StartOutput {
                        name,
                        checkpoint: flags.contains("CHECKPOINT"),
                        output: flags.contains("OUTPUT"),
                    },
                }
            }
            "SCR_Start_checkpoint" => Call::StartCheckpoint,
            "route a file" => Call::File,
            "route a file and do not write it" => {
                Call::Missing(argument.strip_prefix("rank ")?.parse().ok()?)
            }
            "SCR_Complete_output" => Call::CompleteOutput(valid()?),
            "SCR_Complete_checkpoint" => Call::CompleteCheckpoint(valid()?),
            "SCR_Have_restart" => Call::HaveRestart,
            "SCR_Start_restart" => Call::StartRestart,
            "SCR_Complete_restart" => Call::CompleteRestart(valid()?),
            "SCR_Current" => Call::Current(name()?),
            "SCR_Drop" => Call::Drop(name()?),
            "SCR_Delete" => Call::Delete(name()?),
            "SCR_Need_checkpoint" => Call::NeedCheckpoint,
            "SCR_Should_exit" => Call::ShouldExit,
            "SCR_Finalize" => Call::Finalize,
            "kill and SCR_Init" => Call::Kill,
            "lose all caches and SCR_Init" => Call::Lose,
            _ => return None,
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Call::Init => write!(f, "SCR_Init"),
            Call::InitAgain => write!(f, "SCR_Init in the same process"),
            Call::StartOutput {
                name,
                checkpoint,
                output,
            } => {
                let flags = match (checkpoint, output) {
                    (true, true) => "CHECKPOINT|OUTPUT",
                    (true, false) => "CHECKPOINT",
                    (false, true) => "OUTPUT",
                    (false, false) => "NONE",
                };
                write!(f, "SCR_Start_output({}, {flags})", quoted(name))
            }
            Call::StartRefused { name, on } => {
                let name = quoted(name);
                write!(f, "SCR_Start_output({name}, wrong flags on rank {on})")
            }
            Call::StartCheckpoint => write!(f, "SCR_Start_checkpoint"),
            Call::File => write!(f, "route a file"),
            Call::Missing(rank) => write!(f, "route a file and do not write it(rank {rank})"),
            Call::CompleteOutput(valid) => write!(f, "SCR_Complete_output({valid})"),
            Call::CompleteCheckpoint(valid) => write!(f, "SCR_Complete_checkpoint({valid})"),
            Call::HaveRestart => write!(f, "SCR_Have_restart"),
            Call::StartRestart => write!(f, "SCR_Start_restart"),
            Call::CompleteRestart(valid) => write!(f, "SCR_Complete_restart({valid})"),
            Call::Current(name) => write!(f, "SCR_Current(\"{name}\")"),
            Call::Drop(name) => write!(f, "SCR_Drop(\"{name}\")"),
            Call::Delete(name) => write!(f, "SCR_Delete(\"{name}\")"),
            Call::NeedCheckpoint => write!(f, "SCR_Need_checkpoint"),
            Call::ShouldExit => write!(f, "SCR_Should_exit"),
            Call::Finalize => write!(f, "SCR_Finalize"),
            Call::Kill => write!(f, "kill and SCR_Init"),
            Call::Lose => write!(f, "lose all caches and SCR_Init"),
        }
    }
}

fn quoted(name: &Option<String>) -> String {
    name.as_ref()
        .map_or("NULL".to_string(), |name| format!("\"{name}\""))
}

impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Valid::OnAll => write!(f, "1"),
            Valid::NotOn(rank) => write!(f, "0 on rank {rank}"),
        }
    }
}

impl Config {
    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Config> {
        let mut values = text.split_whitespace().map(|word| {
            let (_, value) = word.split_once('=')?;
            value.parse::<u64>().ok()
        });
        let mut next = || values.next().flatten();
        Some(Config {
            ranks: next()? as usize,
            bypass: next()? != 0,
            size: next()? as usize,
            flush: next()?,
            fetch: next()? != 0,
            interval: next()?,
        })
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "ranks={} bypass={} size={} flush={} fetch={} interval={}",
            self.ranks,
            u8::from(self.bypass),
            self.size,
            self.flush,
            u8::from(self.fetch),
            self.interval
        )
    }
}
