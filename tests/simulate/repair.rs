//! Runs that repair the one before: some of its processes were lost, and the others go on.

use crate::machine::Loss;
use crate::plan::{Kill, Plan};
use scr::system::simulated::Random;
use std::collections::BTreeSet;

impl Plan {
    /// Makes run `later` one that repairs the one before, if that is killed at a step and is of several ranks.
    pub fn repair_before(&mut self, later: usize, random: &mut Random) {
        let [.., before, run] = &mut self.runs[..=later] else {
            return;
        };
        let size = before.node_of.len();
        if size < 2 || !matches!(before.kill, Kill::AtStep(_)) {
            return;
        }
        let lost = draw_lost(random, &before.node_of);
        run.node_of.clone_from(&before.node_of);
        if random.once_in(3) {
            let mut left = 0..size;
            run.node_of
                .retain(|_| left.next().is_some_and(|rank| !lost.contains(&rank)));
        } else {
            for rank in &lost {
                if random.once_in(2) {
                    run.node_of[*rank] = random.below(self.nodes as u64) as usize;
                }
            }
        }
        run.repairs = Some(lost);
        run.disturbance.set_rank_0_right(&run.node_of);
        if run.node_of.len() < 2 {
            // A run of one rank ends well when that goes on, and nobody listens.
            run.disturbance.stop = None;
        }
        // What one of them has allowed counts for all.
        run.allows |= before.allows;
        before.disturbance.stop = None;
        before.again = None;
        before.beside.keep_going_on();
        if !matches!(before.loss, Loss::Nodes(_) | Loss::Damage(..)) {
            before.loss = Loss::Nothing;
        }
    }

    /// True for a rank of a run that may hold a lock for as long as it lives. A survivor has those of the run before
    /// until the repair has got to its locks.
    pub fn may_lock(&self, number: usize, rank: usize) -> bool {
        let earlier = || self.repaired(number)?.get(rank).copied().flatten();
        self.runs[number].leads(rank)
            || earlier().is_some_and(|earlier| self.may_lock(number - 1, earlier))
    }

    /// If a run repairs the one before: for each of its ranks, which of that it was; `None` for new processes.
    pub fn repaired(&self, number: usize) -> Option<Vec<Option<usize>>> {
        let run = self.runs.get(number)?;
        let before = self.runs.get(number.checked_sub(1)?)?;
        let lost = run.repairs.as_ref()?;
        let survives = |rank: &usize| !lost.contains(rank);
        let earlier: Vec<Option<usize>> = if run.node_of.len() == before.node_of.len() {
            let all = 0..before.node_of.len();
            all.map(|rank| survives(&rank).then_some(rank)).collect()
        } else {
            let all = 0..before.node_of.len();
            all.filter(survives).map(Some).collect()
        };
        // A job that is made smaller may have other ranks.
        let stays = |(rank, earlier): (usize, &Option<usize>)| {
            earlier.is_none_or(|earlier| before.node_of[earlier] == run.node_of[rank])
        };
        let fits = earlier.len() == run.node_of.len() && earlier.iter().enumerate().all(stays);
        let goes_on = earlier.iter().any(Option::is_some) && before.again.is_none();
        (fits && goes_on && before.disturbance.stop.is_none()).then_some(earlier)
    }
}

/// One rank, or all of its node, and maybe some more; not all.
fn draw_lost(random: &mut Random, node_of: &[usize]) -> Vec<usize> {
    let size = node_of.len();
    let first = random.below(size as u64) as usize;
    let mut lost = BTreeSet::from([first]);
    if random.once_in(2) {
        lost.extend((0..size).filter(|rank| node_of[*rank] == node_of[first]));
    }
    if random.once_in(4) {
        lost.extend((0..size).filter(|_| random.once_in(3)));
    }
    if lost.len() == size {
        let kept = random.below(size as u64) as usize;
        lost.remove(&kept);
    }
    lost.into_iter().collect()
}
