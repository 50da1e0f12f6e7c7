//! What must hold, whatever happens.
//!
//! The program tells here what it does and what it is told; what SCR offers is compared with that.
//! `docs/failure-model.md` is the specification.

use crate::plan::{Loss, Plan};

/// A checkpoint that the program has begun. Each has a name of its own.
#[derive(Debug, Default, Clone)]
struct Checkpoint {
    name: String,
    /// Ranks that have begun to write it, that have called SCR_Complete_output, and for which that has
    /// succeeded.
    begun: usize,
    ended: usize,
    good: usize,
    failed: usize,
    /// On stable storage in the prefix directory, as was reported.
    saved: bool,
    /// Nodes that were lost since it was whole.
    losses: usize,
    /// The caches that had it are gone.
    cache_lost: bool,
    /// The program has gone on from an older one. It may still turn up.
    given_up: bool,
}

/// What a rank was told about a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Offered(String),
    None,
    Failed(String),
}

#[derive(Debug)]
pub struct Oracle {
    plan: Plan,
    checkpoints: Vec<Checkpoint>,
    answers: Vec<Option<Answer>>,
    /// A file system has failed in this job.
    pub faulty: bool,
    violations: Vec<String>,
}

impl Oracle {
    pub fn new(plan: &Plan) -> Self {
        Oracle {
            plan: plan.clone(),
            checkpoints: Vec::new(),
            answers: Vec::new(),
            faulty: false,
            violations: Vec::new(),
        }
    }

    pub fn violation(&mut self, text: String) {
        self.violations.push(text);
    }

    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    fn ranks(&self) -> usize {
        self.plan.node_of.len()
    }

    fn checkpoint(&mut self, name: &str) -> &mut Checkpoint {
        let known = self.checkpoints.iter().position(|one| one.name == name);
        let at = known.unwrap_or_else(|| {
            let name = name.to_string();
            self.checkpoints.push(Checkpoint {
                name,
                ..Checkpoint::default()
            });
            self.checkpoints.len() - 1
        });
        &mut self.checkpoints[at]
    }

    /// A rank is about to call SCR_Start_output.
    pub fn begins(&mut self, name: &str) {
        self.checkpoint(name).begun += 1;
    }

    /// A rank is about to call SCR_Complete_output: its file is as it should be.
    pub fn ends(&mut self, name: &str) {
        self.checkpoint(name).ended += 1;
    }

    /// SCR_Complete_output has returned to a rank.
    pub fn completed(&mut self, name: &str, result: Result<(), String>) {
        let (ranks, plan) = (self.ranks(), self.plan.clone());
        let faulty = self.faulty;
        let one = self.checkpoint(name);
        match result {
            Ok(()) => one.good += 1,
            Err(_) => one.failed += 1,
        }
        let mixed = one.good > 0 && one.failed > 0;
        // Which checkpoints are flushed with SCR_FLUSH above 1 depends on their numbers.
        one.saved |= one.good == ranks && (plan.bypass || (plan.flush == 1 && !plan.background));
        let why = one.failed > 0 && !faulty;
        if mixed {
            self.violation(format!("{name}: SCR_Complete_output differs between ranks"));
        }
        if why {
            self.violation(format!(
                "{name}: SCR_Complete_output failed, and nothing else had"
            ));
        }
    }

    /// SCR_Finalize has succeeded on all ranks: the newest checkpoint is in the prefix directory.
    pub fn finalized(&mut self) {
        let ranks = self.ranks();
        let mut all = self.checkpoints.iter_mut();
        if self.plan.flush > 0
            && let Some(newest) = all.rfind(|one| one.good == ranks && !one.given_up)
        {
            newest.saved = true;
        }
    }

    /// The machine between two runs.
    pub fn lost(&mut self, loss: Loss) {
        for one in &mut self.checkpoints {
            match loss {
                Loss::Nothing => {}
                Loss::Nodes(count) => one.losses += count,
                Loss::Power => one.cache_lost = true,
            }
        }
    }

    /// A run begins.
    pub fn starts(&mut self) {
        self.answers = vec![None; self.ranks()];
    }

    /// The oldest checkpoint that may be offered now; `None` if nothing must be.
    fn expected(&self) -> Option<usize> {
        let ranks = self.ranks();
        let whole = |one: &Checkpoint| one.good == ranks && !one.given_up;
        let saved = self
            .checkpoints
            .iter()
            .rposition(|one| one.saved && whole(one));
        if self.plan.bypass {
            return saved;
        }
        let cached = self.checkpoints.iter().rposition(whole)?;
        let one = &self.checkpoints[cached];
        let most = usize::from(self.plan.tolerates_a_node());
        // With room for one, it goes when the next one begins.
        let mut newer = self.checkpoints.iter().skip(cached + 1);
        let replaced = self.plan.cache_size == 1 && newer.any(|one| !one.given_up);
        match one.cache_lost || one.losses > most || replaced {
            true => saved,
            false => saved.max(Some(cached)),
        }
    }

    /// What SCR_Have_restart has told a rank.
    pub fn answered(&mut self, rank: usize, answer: Answer) {
        let first = self.answers.iter().flatten().next().cloned();
        if let Some(first) = first.filter(|first| *first != answer) {
            self.violation(format!(
                "rank {rank} is told {answer:?}, another one {first:?}"
            ));
            return;
        }
        let is_first = self.answers.iter().all(Option::is_none);
        self.answers[rank] = Some(answer.clone());
        if !is_first {
            return;
        }
        let ranks = self.ranks();
        let at = match &answer {
            Answer::Offered(name) => {
                let at = self.checkpoints.iter().position(|one| one.name == *name);
                match at.map(|at| &self.checkpoints[at]) {
                    None => self.violation(format!("{name} is offered, which nobody wrote")),
                    Some(one) if one.ended < ranks => {
                        let ended = one.ended;
                        self.violation(format!(
                            "{name} is offered, which only {ended} of {ranks} ranks had finished"
                        ));
                    }
                    Some(_) => {}
                }
                at
            }
            Answer::None => None,
            Answer::Failed(why) if !self.faulty => {
                self.violation(format!(
                    "SCR_Have_restart failed, and nothing else had: {why}"
                ));
                return;
            }
            Answer::Failed(_) => return,
        };
        let expected = self.expected();
        if at < expected && !self.faulty {
            let name = expected.map(|at| self.checkpoints[at].clone());
            self.violation(format!("{answer:?}, and this should have been: {name:?}"));
        }
        if answer == Answer::None {
            self.goes_on_from(None);
        }
    }

    /// A rank has read its file of a checkpoint that was offered.
    pub fn has_read(&mut self, rank: usize, name: &str, right: bool) {
        if !right {
            self.violation(format!(
                "rank {rank} has read other bytes of {name} than were written"
            ));
        }
    }

    /// All ranks have restarted from it: it is as safe as a new one.
    pub fn restarted(&mut self, name: &str) {
        let one = self.checkpoint(name);
        (one.losses, one.cache_lost) = (0, false);
        self.goes_on_from(Some(name));
    }

    /// What is newer was not found.
    fn goes_on_from(&mut self, name: Option<&str>) {
        let ranks = self.ranks();
        let at = self
            .checkpoints
            .iter()
            .position(|one| Some(&*one.name) == name);
        for one in self.checkpoints.iter_mut().skip(at.map_or(0, |at| at + 1)) {
            one.given_up = true;
        }
        if let Some(at) = at {
            let one = &mut self.checkpoints[at];
            (one.good, one.given_up) = (ranks, false);
        }
    }
}
