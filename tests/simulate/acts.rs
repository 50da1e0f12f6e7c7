//! What the program does in a run, apart from its beginning and its end. All ranks do the same.

use scr::session::Verdict;
use scr::system::simulated::Random;

/// One thing that the program does.
#[derive(Debug, Clone)]
pub enum Act {
    Write(Output),
    /// SCR_Have_restart without a restart.
    Look,
    /// A restart in the middle of the run.
    Restart(Vec<Said>),
    /// SCR_Current, SCR_Drop, SCR_Delete.
    Current(String),
    Drop(String),
    Delete(String),
    /// SCR_Need_checkpoint and SCR_Should_exit. The program ends if the latter says so.
    Ask,
    /// It computes for so many milliseconds.
    Compute(u64),
}

/// A dataset that the program writes.
#[derive(Debug, Clone)]
pub struct Output {
    pub name: String,
    pub checkpoint: bool,
    pub output: bool,
    /// The number of a rank that calls SCR_Complete_output with `valid` false.
    pub bad: Option<usize>,
    /// When it is complete, the program calls SCR_Start_restart without SCR_Have_restart, which must fail.
    pub probes: bool,
}

/// What the program says of a checkpoint that it was offered and has read: all ranks that it is good, or
/// the rank of this number something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Good,
    Bad(usize),
    NotRead(usize),
}

impl Said {
    pub fn draw(random: &mut Random) -> Vec<Said> {
        let count = if random.once_in(8) {
            random.between(1, 2)
        } else {
            0
        };
        let rank = |random: &mut Random| random.below(12) as usize;
        let one = |random: &mut Random| {
            if random.once_in(3) {
                Said::NotRead(rank(random))
            } else {
                Said::Bad(rank(random))
            }
        };
        (0..count).map(|_| one(random)).collect()
    }

    /// What a rank of `size` says.
    pub fn by(self, rank: usize, size: usize) -> Verdict {
        match self {
            Said::Bad(who) if who % size == rank => Verdict::Bad,
            Said::NotRead(who) if who % size == rank => Verdict::NotRead,
            _ => Verdict::Read,
        }
    }
}

impl Output {
    pub fn checkpoint(name: String) -> Output {
        Output {
            name,
            checkpoint: true,
            output: false,
            bad: None,
            probes: false,
        }
    }

    fn draw(random: &mut Random, name: String, names: &[String]) -> Output {
        let name = if random.once_in(25) && !names.is_empty() {
            random.one_of(names).clone()
        } else {
            name
        };
        let kind = random.below(12);
        Output {
            name,
            checkpoint: kind != 0,
            output: kind <= 1,
            bad: random.once_in(20).then(|| random.below(12) as usize),
            probes: random.once_in(10),
        }
    }
}

/// Draws what the program does in run `number`. `names` are those of the datasets so far.
pub fn draw(random: &mut Random, number: usize, names: &mut Vec<String>) -> Vec<Act> {
    let mut acts = Vec::new();
    for _ in 0..random.below(5) {
        let known = !names.is_empty();
        let name = |random: &mut Random| random.one_of(names).clone();
        match random.below(40) {
            0 if known => {
                acts.push(Act::Current(name(random)));
                if random.once_in(2) {
                    acts.push(Act::Look);
                }
            }
            1 if known => acts.push(Act::Drop(name(random))),
            2 if known => acts.push(Act::Delete(name(random))),
            3 => acts.push(Act::Ask),
            4..=6 => acts.push(Act::Compute(1 << random.below(12))),
            7 => acts.push(Act::Look),
            8 => acts.push(Act::Restart(Said::draw(random))),
            _ => {}
        }
        let fresh = format!("ck.{number}.{}", acts.len());
        let output = Output::draw(random, fresh, names);
        names.push(output.name.clone());
        acts.push(Act::Write(output));
    }
    acts
}

/// So many checkpoints, and nothing else.
pub fn checkpoints(number: usize, count: usize) -> Vec<Act> {
    let name = |at: usize| format!("ck.{number}.{at}");
    let all = (0..count).map(name).map(Output::checkpoint);
    all.map(Act::Write).collect()
}
