//! What leaves the cache before a new dataset comes in?
//!
//! A cached checkpoint is eviction_order something for each number of losses that it tolerates: it counts
//! where no newer one tolerates as many. So, of what is in the store that needs room, these go
//! first, in this order:
//!
//! 1. what no restart can use, oldest first;
//! 2. output that is in the prefix directory;
//! 3. checkpoints for which a newer one, anywhere, tolerates at least as much, oldest first;
//! 4. checkpoints that a restart finds in the prefix directory;
//! 5. output that is nowhere else;
//! 6. of the rest, where each is older and safer than the next, the least safe.
//!
//! So the last checkpoint that tolerates a loss is never given up for one that tolerates less, nor
//! the last checkpoint of all for anything else. What the program was offered and may be about
//! to read goes last. The number of datasets in a store is a hard bound all the same.
//!
//! Where there is less room than that number needs, more may go of the first four kinds, but for
//! what was offered: whatever happens then, a restart finds as new a checkpoint as before.

use crate::redundancy::EVERYTHING;

/// A dataset in the cache, as far as eviction cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvictionCandidate {
    /// Dataset id: a higher one is newer.
    pub id: u64,
    /// It is in the store that needs room. The others are what is left besides.
    pub here: bool,
    /// False for what no restart can use: quarantined, or written by another number of ranks.
    pub usable: bool,
    /// A program can restart from it.
    pub checkpoint: bool,
    /// How many failure groups may be lost, whichever they are; [`EVERYTHING`] at most.
    pub tolerates: usize,
    /// It is in the prefix directory too, where a restart would find it.
    pub saved: bool,
    /// It is offered to the program for a restart.
    pub offered: bool,
}

impl EvictionCandidate {
    /// Losses after which a restart can still have it.
    fn safety(&self) -> usize {
        if self.saved {
            EVERYTHING
        } else {
            self.tolerates
        }
    }

    /// True if a restart would take this one and never the other.
    fn replaces(&self, other: &EvictionCandidate) -> bool {
        let counts = self.usable && self.checkpoint;
        counts && self.id > other.id && self.safety() >= other.safety()
    }

    /// Of what kind it is; see the module.
    fn class(&self, all: &[EvictionCandidate]) -> u8 {
        match () {
            () if !self.usable => 1,
            () if !self.checkpoint && self.saved => 2,
            () if self.checkpoint && all.iter().any(|other| other.replaces(self)) => 3,
            () if self.checkpoint && self.saved => 4,
            () if !self.checkpoint => 5,
            () => 6,
        }
    }

    /// True if no restart is worse off without it.
    fn is_dispensable(&self, all: &[EvictionCandidate]) -> bool {
        !self.offered && self.class(all) <= 4
    }

    /// Least eviction_order first.
    fn eviction_order(&self, all: &[EvictionCandidate]) -> (bool, u8, u64) {
        let class = self.class(all);
        let age = if class == 6 {
            u64::MAX - self.id
        } else {
            self.id
        };
        (self.offered, class, age)
    }
}

/// Positions in `entries` to delete, in this order, so that with the new dataset the store
/// holds at most `count` (at least 1); and up to so many `more`, of what no restart is worse off
/// without.
pub fn select_evicted(entries: &[EvictionCandidate], count: usize, more: usize) -> Vec<usize> {
    let here = entries.iter().enumerate().filter(|(_, entry)| entry.here);
    let mut order: Vec<_> = here
        .map(|(at, e)| (e.eviction_order(entries), at))
        .collect();
    order.sort_unstable();
    // These are the first.
    let spare = order
        .iter()
        .filter(|(_, at)| entries[*at].is_dispensable(entries));
    let spare = spare.count();
    let above = (order.len() + 1).saturating_sub(count.max(1));
    order.truncate(above.saturating_add(more).min(spare).max(above));
    order.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::{EVERYTHING, EvictionCandidate, select_evicted};

    /// A checkpoint in the store that tolerates so many losses.
    fn ck(id: u64, tolerates: usize) -> EvictionCandidate {
        EvictionCandidate {
            id,
            here: true,
            usable: true,
            checkpoint: true,
            tolerates,
            saved: false,
            offered: false,
        }
    }

    fn ids(entries: &[EvictionCandidate], count: usize) -> Vec<u64> {
        let gone = select_evicted(entries, count, 0).into_iter();
        gone.map(|at| entries[at].id).collect()
    }

    #[test]
    fn of_equals_the_oldest_go_until_the_new_one_fits() {
        assert_eq!(ids(&[ck(3, 0)], 1), [3]);
        assert_eq!(ids(&[ck(3, 0)], 2), [0u64; 0]);
        assert_eq!(ids(&[ck(5, 1), ck(3, 1), ck(4, 1)], 2), [3, 4]);
        assert_eq!(ids(&[ck(1, 1)], 0), [1], "a count of 0 counts as 1");
    }

    #[test]
    fn what_cannot_be_used_goes_first() {
        let unusable = EvictionCandidate {
            usable: false,
            ..ck(9, 0)
        };
        assert_eq!(ids(&[ck(5, 0), unusable], 2), [9]);
    }

    #[test]
    fn what_can_be_done_without_goes_where_room_is_short_and_never_the_last_good_one() {
        let unusable = |id| EvictionCandidate {
            usable: false,
            ..ck(id, 0)
        };
        let entries = [unusable(2), ck(5, 0), unusable(1)];
        assert_eq!(select_evicted(&entries, 9, 0), [0usize; 0]);
        assert_eq!(select_evicted(&entries, 9, 1), [2]);
        assert_eq!(select_evicted(&entries, 9, 9), [2, 0]);
        assert_eq!(
            select_evicted(&entries, 1, 9),
            [2, 0, 1],
            "the count says so"
        );
        // Older ones that stand as little, but not the one that tolerates more.
        let entries = [ck(1, 0), ck(2, 1), ck(3, 0), ck(4, 0)];
        assert_eq!(select_evicted(&entries, 9, 9), [0, 2]);
        assert_eq!(select_evicted(&entries, 4, 1), [0, 2]);
        // What is in the prefix directory; not what was offered, nor output that is nowhere else.
        let saved = |entry| EvictionCandidate {
            saved: true,
            ..entry
        };
        let output = EvictionCandidate {
            checkpoint: false,
            ..ck(3, 0)
        };
        let offered = EvictionCandidate {
            offered: true,
            ..saved(ck(4, 0))
        };
        assert_eq!(
            select_evicted(&[saved(ck(2, 0)), output, offered], 9, 9),
            [0]
        );
    }

    #[test]
    fn the_last_one_that_stands_a_loss_stays() {
        assert_eq!(ids(&[ck(4, 1), ck(7, 0)], 2), [7]);
        assert_eq!(ids(&[ck(4, 1), ck(7, 0), ck(8, 1)], 3), [4]);
        assert_eq!(ids(&[ck(8, 2), ck(12, 1), ck(13, 0)], 2), [13, 12]);
        // Unless another store, or the prefix directory, has a newer one that tolerates as much.
        let elsewhere = EvictionCandidate {
            here: false,
            ..ck(6, 1)
        };
        assert_eq!(ids(&[ck(4, 1), ck(7, 0), elsewhere], 2), [4]);
        let saved = EvictionCandidate {
            saved: true,
            ..ck(5, 0)
        };
        assert_eq!(ids(&[ck(4, 1), saved, ck(7, 0)], 2), [4, 5]);
    }

    #[test]
    fn output_goes_before_the_last_checkpoint_and_saved_output_before_any() {
        let output = |id, saved| EvictionCandidate {
            checkpoint: false,
            saved,
            ..ck(id, 0)
        };
        let all = [ck(1, 0), output(2, false), ck(3, 0), output(4, true)];
        assert_eq!(ids(&all, 1), [4, 1, 2, 3]);
    }

    #[test]
    fn what_is_offered_goes_last() {
        let offered = EvictionCandidate {
            offered: true,
            ..ck(2, 0)
        };
        assert_eq!(ids(&[offered, ck(3, 2)], 1), [3, 2]);
    }

    /// What is left of `entries` without those in `gone`, as the user sees it: what was offered
    /// is there; then, for each number of losses, most first, the checkpoint to restart from;
    /// then the output that is nowhere else, then what can be used at all.
    fn quality(entries: &[EvictionCandidate], gone: &[usize]) -> Vec<u64> {
        let kept = |at: &usize| !gone.contains(at);
        let count = |what: &dyn Fn(&EvictionCandidate) -> bool| {
            let kept = (0..entries.len()).filter(kept).map(|at| &entries[at]);
            kept.filter(|e| what(e)).count() as u64
        };
        let newest = |losses: usize| {
            let found = (0..entries.len()).filter(|at| {
                let e = &entries[*at];
                let there = kept(at) && e.tolerates >= losses || e.saved;
                e.usable && e.checkpoint && there
            });
            found.map(|at| entries[at].id).max().unwrap_or(0)
        };
        let mut all = vec![count(&|e| e.offered)];
        all.extend([EVERYTHING, 3, 2, 1, 0].map(newest));
        all.push(count(&|e| e.usable && !e.checkpoint && !e.saved));
        all.push(count(&|e| e.usable && (e.checkpoint || !e.saved)));
        all
    }

    /// All ways to choose `count` of `from`.
    fn choices(from: &[usize], count: usize) -> Vec<Vec<usize>> {
        match (from, count) {
            (_, 0) => vec![Vec::new()],
            ([], _) => Vec::new(),
            ([first, rest @ ..], _) => {
                let mut with = choices(rest, count - 1);
                with.iter_mut().for_each(|c| c.push(*first));
                with.extend(choices(rest, count));
                with
            }
        }
    }

    #[test]
    fn no_other_choice_would_leave_more() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..4000 {
            let size = 1 + random(7);
            let tolerates = [0, 0, 1, 2, 3, EVERYTHING];
            let mut entries: Vec<EvictionCandidate> = (1..=size)
                .map(|id| EvictionCandidate {
                    here: random(4) > 0,
                    usable: random(5) > 0,
                    checkpoint: random(5) > 0,
                    saved: random(6) == 0,
                    ..ck(id, tolerates[random(6) as usize])
                })
                .collect();
            entries
                .iter_mut()
                .filter(|e| !e.usable)
                .for_each(|e| e.saved = false);
            if random(3) == 0 {
                let at = random(size) as usize;
                entries[at].offered = entries[at].usable && entries[at].checkpoint;
            }
            entries.rotate_left(random(size) as usize);
            let count = random(size + 1) as usize;
            let gone = select_evicted(&entries, count, 0);
            let here: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].here).collect();
            assert!(gone.iter().all(|at| here.contains(at)));
            assert_eq!(
                gone.len(),
                (here.len() + 1).saturating_sub(count.max(1)),
                "the hard bound"
            );
            let best = choices(&here, gone.len()).into_iter();
            let best = best.map(|gone| quality(&entries, &gone)).max().unwrap();
            assert_eq!(
                quality(&entries, &gone),
                best,
                "{entries:?}: {gone:?}, {count}"
            );
            spares_nothing_else(&entries, &gone, &here, count);
        }
    }

    /// Where room is short: of what is `here`, as much as is asked for goes besides `gone`, no
    /// restart is worse off by that, and there is nothing else of which that is true.
    fn spares_nothing_else(
        entries: &[EvictionCandidate],
        gone: &[usize],
        here: &[usize],
        count: usize,
    ) {
        // But for what is only one of several.
        let eviction_order = |gone: &[usize]| {
            let mut all = quality(entries, gone);
            all.pop();
            all
        };
        let all = select_evicted(entries, count, usize::MAX);
        assert_eq!(
            eviction_order(&all),
            eviction_order(gone),
            "{entries:?}: {all:?}, {count}"
        );
        for at in here.iter().filter(|at| !all.contains(at)) {
            let without = [&all[..], &[*at]].concat();
            assert!(
                eviction_order(&without) < eviction_order(&all),
                "{entries:?}: {at} is spare"
            );
        }
        for more in 0..=here.len() {
            let some = select_evicted(entries, count, more);
            assert_eq!(some, all[..all.len().min(gone.len() + more)]);
        }
    }
}
