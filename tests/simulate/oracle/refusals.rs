//! Why a call may fail.

use super::{Excuse, Oracle, Promise};
use crate::acts::Output;
use crate::content::Key;

/// The words of a full file system: `ENOSPC`, `EDQUOT`, and where SCR has looked before.
const FULL: [&str; 4] = ["(os error 28)", "(os error 122)", "SCR-301", "SCR-302"];

/// These words say that a file system is full.
pub(super) fn is_full(why: &str) -> bool {
    FULL.iter().any(|words| why.contains(words))
}

impl Oracle {
    /// A call has failed: that needs a reason, and the message must name it.
    pub fn call_failed(&mut self, call: &str, why: &str, other_reason: Option<Excuse>) {
        let excuse = other_reason.or_else(|| self.refusal(why));
        self.fails_for(excuse, || format!("{call}: {why}"));
    }

    /// A call has failed for this reason.
    pub(super) fn fails_for(&mut self, excuse: Option<Excuse>, what: impl FnOnce() -> String) {
        self.check(Promise::Reason, excuse.is_some(), what);
        if let Some(excuse) = excuse {
            self.excuse(excuse);
        }
    }

    /// What excuses a failure with these words.
    pub(super) fn refusal(&self, why: &str) -> Option<Excuse> {
        let run = self.plan.runs.get(self.run);
        let damaged = run.is_some_and(|run| run.beside.damages_orders());
        if damaged && why.contains("transfer.scrinfo") {
            return Some(Excuse::Orders);
        }
        if self.is_locked_by_stopped(why) {
            return Some(Excuse::Locked);
        }
        let of_files = |words: &str| {
            let full = self.is_tight() && is_full(words);
            if self.faults.explain(words, false) {
                Some(Excuse::Refused)
            } else {
                full.then_some(Excuse::Full)
            }
        };
        of_files(why).or_else(|| {
            let texts = self.messages.after(self.told);
            let mut named = texts.iter().filter_map(|text| of_files(text));
            let hit = self.faults.any_hit() || self.is_tight();
            let unnamed = hit && why.contains("may be good, but cannot be used now");
            named
                .next()
                .map(|_| Excuse::NamedBefore)
                .or(unnamed.then_some(Excuse::Unnamed))
        })
    }

    /// A rank of the program cannot write its part of a dataset.
    pub fn is_unwritten(&mut self, key: Key) {
        self.unwritten.insert(key);
    }

    /// What excuses that a dataset is not completed.
    pub fn not_completed(&self, key: Key, output: &Output, why: &str) -> Option<Excuse> {
        let of_program = ["with valid=0", "SCR-304", "this rank has no state"];
        let of_program = of_program.iter().any(|words| why.contains(words));
        if self.faults.flips().may_fail(key) && why.contains("memory or the file was changed") {
            Some(Excuse::Wrong)
        } else if output.bad.is_some() && of_program {
            Some(Excuse::Bad)
        } else if self.unwritten.contains(&key) && of_program && !self.plan.fields {
            Some(Excuse::NotWritten)
        } else if self.people.contains(&output.name) {
            Some(Excuse::TakenOut)
        } else {
            let others = self.plan.fields && self.is_name_of_other_ranks(&output.name);
            others.then_some(Excuse::RanksDiffer)
        }
    }
}
