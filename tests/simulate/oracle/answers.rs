//! What the ranks of a run were told, call by call.

use super::{Oracle, Promise};

/// What a rank was told about a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Offered(String),
    None,
    Failed(String),
}

/// The answers of all calls of a run so far.
#[derive(Debug, Default)]
pub struct Answers {
    /// Of each call: what was called, what the first rank was told, and which that was.
    calls: Vec<(String, String, usize)>,
    /// How many calls each rank has made.
    made: Vec<usize>,
    /// Ranks that have found out that another process has died, as others may do later: their calls are not
    /// compared any more.
    apart: Vec<bool>,
}

impl Answers {
    pub fn new(ranks: usize) -> Self {
        Answers {
            calls: Vec::new(),
            made: vec![0; ranks],
            apart: vec![false; ranks],
        }
    }

    /// How many calls a rank has made.
    pub fn made(&self, rank: usize) -> usize {
        self.made[rank]
    }
}

impl Oracle {
    /// A call has failed on a rank, since another process has died.
    pub fn is_apart(&mut self, rank: usize) {
        self.answers.apart[rank] = true;
    }

    /// A collective call has returned to a rank. True if it is the first rank that tells so.
    pub fn answered(&mut self, rank: usize, call: &str, answer: &str) -> bool {
        if self.answers.apart[rank] {
            return false;
        }
        let at = self.answers.made[rank];
        self.answers.made[rank] += 1;
        let Some((other_call, other, first)) = self.answers.calls.get(at).cloned() else {
            let new = (call.to_string(), answer.to_string(), rank);
            self.answers.calls.push(new);
            return true;
        };
        let same = other_call == call && other == answer;
        self.check(Promise::SameAnswers, same, || {
            format!("{call} answers rank {rank}: {answer}\n  {other_call} has answered rank {first}: {other}")
        });
        false
    }
}
