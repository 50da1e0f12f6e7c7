//! Decides which datasets are evicted from the cache before a new one is written.
//!
//! A cached checkpoint is useful if, for some number of losses, no newer checkpoint tolerates as
//! many. So datasets of the store that needs space are evicted in this order:
//!
//! 1. datasets that no restart can use, oldest first;
//! 2. output that is in the prefix directory;
//! 3. checkpoints that a restart finds in the prefix directory, and those for which a newer one, in any
//!    store, tolerates at least as much; of both the oldest first;
//! 4. datasets that are being flushed, which must be waited for;
//! 5. output that is nowhere else;
//! 6. of the rest, where each is older and safer than the next, the least safe.
//!
//! So the last checkpoint that tolerates a loss is not evicted before one that tolerates less, and
//! the last checkpoint of all is evicted after anything else. With checkpoints of one scheme the oldest
//! is evicted. Datasets that were offered to the program, which may be about to read them, are evicted
//! last. The limit for the number of datasets in a store always holds.
//!
//! A flush that succeeds puts its dataset into class 2 or 3, one that fails into 3, 5 or 6. If the
//! choice within class 5 or 6 depends on how a running flush ends, nothing is evicted until that flush
//! has ended ([`awaited`]). Datasets of the first three classes are evicted without waiting.
//!
//! If there is too little space, more datasets of the first three classes may be evicted, except
//! offered ones. A restart still finds a checkpoint that is as new as the one before the eviction.

use crate::redundancy::EVERYTHING;

/// A cached dataset, as far as eviction depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvictionCandidate {
    /// Dataset id; a higher id is newer.
    pub id: u64,
    /// True if the dataset is in the store that needs space. Datasets in other stores only count for
    /// comparison.
    pub here: bool,
    /// The kind of the dataset.
    pub kind: Kind,
    /// Number of failure groups that may be lost, whichever they are; at most [`EVERYTHING`].
    pub tolerates: usize,
    /// The state of the dataset in the prefix directory.
    pub copy: PrefixCopy,
    /// True if the dataset is offered to the program for a restart.
    pub offered: bool,
}

/// The kind of a cached dataset: its use for a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Of no use for a restart: quarantined, or written by another number of ranks.
    Unusable,
    /// Output that is no checkpoint.
    Output,
    /// A program can restart from it.
    Checkpoint,
}

/// The state of a cached dataset in the prefix directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixCopy {
    /// The prefix directory has nothing that a restart finds.
    None,
    /// The dataset is being flushed.
    OnTheWay,
    /// The prefix directory has the whole dataset, and a restart finds it there.
    Saved,
}

impl EvictionCandidate {
    fn is_usable(&self) -> bool {
        self.kind != Kind::Unusable
    }

    fn is_saved(&self) -> bool {
        self.copy == PrefixCopy::Saved
    }

    fn is_flushing(&self) -> bool {
        self.copy == PrefixCopy::OnTheWay
    }

    /// The number of losses after which a restart still finds the dataset.
    fn safety(&self) -> usize {
        if self.is_saved() {
            EVERYTHING
        } else {
            self.tolerates
        }
    }

    /// True if a restart always prefers this dataset to the other.
    fn replaces(&self, other: &EvictionCandidate) -> bool {
        self.kind == Kind::Checkpoint && self.id > other.id && self.safety() >= other.safety()
    }

    /// The class of this dataset, from 1 to 6, in the order of the module's documentation.
    fn class(&self, all: &[EvictionCandidate]) -> u8 {
        match self.copy {
            PrefixCopy::OnTheWay => 4,
            PrefixCopy::None | PrefixCopy::Saved => self.class_without_flush(all),
        }
    }

    /// The class of this dataset if its flush fails, or if it is not being flushed.
    fn class_without_flush(&self, all: &[EvictionCandidate]) -> u8 {
        match self.kind {
            Kind::Unusable => 1,
            Kind::Output if self.is_saved() => 2,
            Kind::Checkpoint if self.is_saved() || all.iter().any(|o| o.replaces(self)) => 3,
            Kind::Output => 5,
            Kind::Checkpoint => 6,
        }
    }

    /// True if evicting it makes no restart worse, whether its flush succeeds or not.
    fn is_dispensable(&self, all: &[EvictionCandidate]) -> bool {
        !self.offered && self.class_without_flush(all) <= 3
    }

    /// Sort key: datasets with lower keys are evicted first.
    fn eviction_order(&self, all: &[EvictionCandidate]) -> (bool, u8, bool, u64) {
        let class = self.class(all);
        let age = if class == 6 {
            u64::MAX - self.id
        } else {
            self.id
        };
        (self.offered, class, !self.is_dispensable(all), age)
    }
}

/// Indices in `entries` of the datasets to evict, in order, so that with the new dataset the store
/// holds at most `count` (at least 1). Evicts up to `more` further datasets that no restart needs.
pub fn select_evicted(entries: &[EvictionCandidate], count: usize, more: usize) -> Vec<usize> {
    let here = entries.iter().enumerate().filter(|(_, entry)| entry.here);
    let mut order: Vec<_> = here
        .map(|(at, e)| (e.eviction_order(entries), at))
        .collect();
    order.sort_unstable();
    // Dispensable datasets come first in `order`.
    let spare = order
        .iter()
        .filter(|(_, at)| entries[*at].is_dispensable(entries));
    let spare = spare.count();
    let above = (order.len() + 1).saturating_sub(count.max(1));
    order.truncate(above.saturating_add(more).min(spare).max(above));
    order.into_iter().map(|(_, at)| at).collect()
}

/// Indices in `entries` of the datasets whose flush must end before datasets are evicted as
/// [`select_evicted`] says. After these flushes it must be asked again. Empty if no flush must be waited for.
pub fn awaited(entries: &[EvictionCandidate], count: usize, more: usize) -> Vec<usize> {
    let flushing = |at: &usize| entries.get(*at).is_some_and(EvictionCandidate::is_flushing);
    let gone = select_evicted(entries, count, more);
    let evicted: Vec<usize> = gone.iter().copied().filter(flushing).collect();
    let needed = |at: &usize| entries.get(*at).is_some_and(|e| !e.is_dispensable(entries));
    if !evicted.is_empty() || !gone.iter().any(needed) {
        return evicted;
    }
    // In another store a flush may be going on that makes the datasets here dispensable.
    let hoped: Vec<EvictionCandidate> = entries
        .iter()
        .map(|entry| EvictionCandidate {
            copy: match entry.copy {
                PrefixCopy::OnTheWay => PrefixCopy::Saved,
                other => other,
            },
            ..*entry
        })
        .collect();
    if select_evicted(&hoped, count, more) == gone {
        Vec::new()
    } else {
        (0..entries.len()).filter(flushing).collect()
    }
}

/// Index in `entries` of the dataset that leaves a full store first, so that a restart can go on: one
/// that no restart can use, then one that is in the prefix directory, then one that a newer one
/// replaces; of these the oldest. Datasets without those that are being flushed. `None` if a restart
/// may need all that are there.
pub fn first_to_give_way(entries: &[EvictionCandidate]) -> Option<usize> {
    let candidates = entries.iter().enumerate();
    let candidates =
        candidates.filter(|(_, e)| e.here && !e.is_flushing() && e.is_dispensable(entries));
    let first = candidates.min_by_key(|(_, e)| (e.is_usable(), !e.is_saved(), e.id))?;
    Some(first.0)
}

#[cfg(test)]
mod tests {
    use super::{
        EVERYTHING, EvictionCandidate, Kind, PrefixCopy, awaited, first_to_give_way, select_evicted,
    };

    /// A checkpoint in the store that tolerates `tolerates` losses.
    fn ck(id: u64, tolerates: usize) -> EvictionCandidate {
        EvictionCandidate {
            id,
            here: true,
            kind: Kind::Checkpoint,
            tolerates,
            copy: PrefixCopy::None,
            offered: false,
        }
    }

    fn ids(entries: &[EvictionCandidate], count: usize) -> Vec<u64> {
        let gone = select_evicted(entries, count, 0).into_iter();
        gone.map(|at| entries[at].id).collect()
    }

    #[test]
    fn the_oldest_of_equal_datasets_are_evicted_first() {
        assert_eq!(ids(&[ck(3, 0)], 1), [3]);
        assert_eq!(ids(&[ck(3, 0)], 2), [0u64; 0]);
        assert_eq!(ids(&[ck(5, 1), ck(3, 1), ck(4, 1)], 2), [3, 4]);
        assert_eq!(ids(&[ck(1, 1)], 0), [1], "a count of 0 counts as 1");
    }

    #[test]
    fn unusable_datasets_are_evicted_first() {
        let unusable = EvictionCandidate {
            kind: Kind::Unusable,
            ..ck(9, 0)
        };
        assert_eq!(ids(&[ck(5, 0), unusable], 2), [9]);
    }

    #[test]
    fn dispensable_datasets_are_evicted_if_space_is_short_but_never_the_last_good_one() {
        let unusable = |id| EvictionCandidate {
            kind: Kind::Unusable,
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
        // Older checkpoints that tolerate as little are evicted, but not the one that tolerates
        // more.
        let entries = [ck(1, 0), ck(2, 1), ck(3, 0), ck(4, 0)];
        assert_eq!(select_evicted(&entries, 9, 9), [0, 2]);
        assert_eq!(select_evicted(&entries, 4, 1), [0, 2]);
        // Saved datasets are evicted, but not offered ones, nor output that is nowhere else.
        let saved = |entry| EvictionCandidate {
            copy: PrefixCopy::Saved,
            ..entry
        };
        let output = EvictionCandidate {
            kind: Kind::Output,
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
    fn the_last_checkpoint_that_tolerates_a_loss_stays() {
        assert_eq!(ids(&[ck(4, 1), ck(7, 0)], 2), [7]);
        assert_eq!(ids(&[ck(4, 1), ck(7, 0), ck(8, 1)], 3), [4]);
        assert_eq!(ids(&[ck(8, 2), ck(12, 1), ck(13, 0)], 2), [13, 12]);
        // Another store, or the prefix directory, has a newer one that tolerates as much.
        let elsewhere = EvictionCandidate {
            here: false,
            ..ck(6, 1)
        };
        assert_eq!(ids(&[ck(4, 1), ck(7, 0), elsewhere], 2), [4]);
        let saved = EvictionCandidate {
            copy: PrefixCopy::Saved,
            ..ck(5, 0)
        };
        assert_eq!(ids(&[ck(4, 1), saved, ck(7, 0)], 2), [4, 5]);
    }

    #[test]
    fn with_one_scheme_the_oldest_goes_though_the_prefix_directory_has_it() {
        let saved = |id| EvictionCandidate {
            copy: PrefixCopy::Saved,
            ..ck(id, 1)
        };
        assert_eq!(ids(&[saved(1), ck(2, 1), ck(3, 1)], 3), [1]);
        assert_eq!(ids(&[ck(1, 1), saved(2), ck(3, 1)], 3), [1]);
        assert_eq!(ids(&[ck(1, 1), saved(2)], 2), [1], "the newest stays");
        assert_eq!(ids(&[saved(2), ck(3, 0)], 2), [2]);
    }

    fn flushing(entry: EvictionCandidate) -> EvictionCandidate {
        EvictionCandidate {
            copy: PrefixCopy::OnTheWay,
            ..entry
        }
    }

    #[test]
    fn what_is_being_flushed_is_waited_for_before_what_is_nowhere_else() {
        let waited = |entries: &[EvictionCandidate], count| {
            let found = awaited(entries, count, 0).into_iter();
            found.map(|at| entries[at].id).collect::<Vec<u64>>()
        };
        let output = EvictionCandidate {
            kind: Kind::Output,
            ..ck(4, 0)
        };
        for (entries, gone, awaited) in [
            (&[flushing(ck(4, 1)), ck(5, 1)][..], 4, &[4][..]),
            (&[flushing(output), ck(5, 1)], 4, &[4]),
            (&[output, flushing(ck(5, 1))], 5, &[5]),
            // Safer than the newer ones, and the other way around.
            (&[flushing(ck(4, 1)), ck(5, 0)], 4, &[4]),
            (&[ck(4, 1), flushing(ck(5, 0))], 5, &[5]),
            // The oldest of several that are being flushed.
            (&[flushing(ck(4, 1)), flushing(ck(5, 1))], 4, &[4]),
            // No flush is waited for while another dataset is dispensable.
            (&[flushing(ck(3, 1)), ck(4, 1), ck(5, 1)], 4, &[]),
            (&[ck(3, 1), flushing(ck(4, 1)), ck(5, 1)], 3, &[]),
            (&[ck(4, 1), ck(5, 1)], 4, &[]),
        ] {
            assert_eq!(ids(entries, entries.len()), [gone], "{entries:?}");
            assert_eq!(waited(entries, entries.len()), awaited, "{entries:?}");
        }
        // A checkpoint in another store makes the safer one in this store dispensable.
        let elsewhere = |id| EvictionCandidate {
            here: false,
            ..flushing(ck(id, 0))
        };
        assert_eq!(waited(&[ck(4, 1), elsewhere(5), ck(6, 0)], 2), [5]);
        assert_eq!(waited(&[elsewhere(5), ck(6, 0)], 1), [0; 0]);
        assert_eq!(waited(&[elsewhere(5), ck(6, 0), ck(7, 0)], 2), [0; 0]);
    }

    #[test]
    fn output_goes_before_the_last_checkpoint_and_saved_output_before_any() {
        let output = |id, saved| EvictionCandidate {
            kind: Kind::Output,
            copy: if saved {
                PrefixCopy::Saved
            } else {
                PrefixCopy::None
            },
            ..ck(id, 0)
        };
        let all = [ck(1, 0), output(2, false), ck(3, 0), output(4, true)];
        assert_eq!(ids(&all, 1), [4, 1, 2, 3]);
    }

    #[test]
    fn offered_datasets_are_evicted_last() {
        let offered = EvictionCandidate {
            offered: true,
            ..ck(2, 0)
        };
        assert_eq!(ids(&[offered, ck(3, 2)], 1), [3, 2]);
    }

    #[test]
    fn for_a_restart_unusable_then_saved_then_replaced_ones_give_way() {
        let saved = |entry| EvictionCandidate {
            copy: PrefixCopy::Saved,
            ..entry
        };
        let unusable = EvictionCandidate {
            kind: Kind::Unusable,
            ..ck(9, 0)
        };
        let elsewhere = EvictionCandidate {
            here: false,
            ..saved(ck(8, 0))
        };
        let mut entries = vec![
            ck(1, 1),
            saved(ck(4, 1)),
            ck(5, 1),
            saved(ck(3, 0)),
            unusable,
        ];
        let mut gone = Vec::new();
        while let Some(at) = first_to_give_way(&entries) {
            gone.push(entries.remove(at).id);
        }
        assert_eq!(gone, [9, 3, 4, 1]);
        assert_eq!(entries, [ck(5, 1)], "the last good one stays");
        entries.push(elsewhere);
        assert_eq!(first_to_give_way(&entries), Some(0), "a newer one is safe");
        entries[0].offered = true;
        assert_eq!(first_to_give_way(&entries), None);
    }

    /// The datasets that the user has after the eviction of `gone`, as a list to compare: the
    /// offered dataset; then, for each number of losses, highest first, the checkpoint to restart
    /// from; then output without another copy; then everything that can be used.
    fn quality(entries: &[EvictionCandidate], gone: &[usize]) -> Vec<u64> {
        let kept = |at: &usize| !gone.contains(at);
        let count = |what: &dyn Fn(&EvictionCandidate) -> bool| {
            let kept = (0..entries.len()).filter(kept).map(|at| &entries[at]);
            kept.filter(|e| what(e)).count() as u64
        };
        let newest = |losses: usize| {
            let found = (0..entries.len()).filter(|at| {
                let e = &entries[*at];
                let there = kept(at) && e.tolerates >= losses || e.is_saved();
                e.kind == Kind::Checkpoint && there
            });
            found.map(|at| entries[at].id).max().unwrap_or(0)
        };
        let mut all = vec![count(&|e| e.offered)];
        all.extend([EVERYTHING, 3, 2, 1, 0].map(newest));
        all.push(count(&|e| e.kind == Kind::Output && !e.is_saved()));
        all.push(count(&|e| {
            e.kind == Kind::Checkpoint || (e.kind == Kind::Output && !e.is_saved())
        }));
        all
    }

    /// All ways to choose `count` elements of `from`.
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

    /// Numbers below a bound that look random, the same in each run.
    fn random_numbers() -> impl FnMut(u64) -> u64 {
        let mut state = 1u64;
        move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        }
    }

    fn random_entries(random: &mut impl FnMut(u64) -> u64) -> Vec<EvictionCandidate> {
        let size = 1 + random(7);
        let tolerates = [0, 0, 1, 2, 3, EVERYTHING];
        let mut entries: Vec<EvictionCandidate> = (1..=size)
            .map(|id| EvictionCandidate {
                here: random(4) > 0,
                kind: match (random(5), random(5)) {
                    (0, _) => Kind::Unusable,
                    (_, 0) => Kind::Output,
                    _ => Kind::Checkpoint,
                },
                copy: match random(6) {
                    0 => PrefixCopy::Saved,
                    _ => PrefixCopy::None,
                },
                ..ck(id, tolerates[random(6) as usize])
            })
            .collect();
        entries
            .iter_mut()
            .filter(|e| !e.is_usable())
            .for_each(|e| e.copy = PrefixCopy::None);
        if random(3) == 0 {
            let at = random(size) as usize;
            entries[at].offered = entries[at].kind == Kind::Checkpoint;
        }
        entries.rotate_left(random(size) as usize);
        entries
    }

    #[test]
    fn no_other_choice_keeps_more_whichever_flushes_succeed() {
        let mut random = random_numbers();
        for _ in 0..3000 {
            let mut entries = random_entries(&mut random);
            entries.iter_mut().for_each(|e| {
                e.offered = false;
                if e.is_usable() && !e.is_saved() && random(2) == 0 {
                    e.copy = PrefixCopy::OnTheWay;
                }
            });
            let before = entries.clone();
            let count = random(entries.len() as u64 + 1) as usize;
            let outcome = random(2) == 0;
            let mut end = |entry: &mut EvictionCandidate| {
                entry.copy = match (entry.copy, outcome) {
                    (PrefixCopy::OnTheWay, true) => PrefixCopy::Saved,
                    (PrefixCopy::OnTheWay, false) => PrefixCopy::None,
                    (other, _) => other,
                };
            };
            loop {
                let ended = awaited(&entries, count, 0);
                if ended.is_empty() {
                    break;
                }
                ended.into_iter().for_each(|at| end(&mut entries[at]));
            }
            let gone = select_evicted(&entries, count, 0);
            assert!(gone.iter().all(|at| !entries[*at].is_flushing()));
            entries.iter_mut().for_each(&mut end);
            let here: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].here).collect();
            let without_count = |gone: &[usize]| {
                let mut all = quality(&entries, gone);
                all.pop();
                all
            };
            let best = choices(&here, gone.len()).into_iter();
            assert_eq!(
                Some(without_count(&gone)),
                best.map(|gone| without_count(&gone)).max(),
                "{before:?}: {gone:?}, {count}, {outcome}"
            );
        }
    }

    #[test]
    fn no_other_choice_keeps_more() {
        let mut random = random_numbers();
        for _ in 0..4000 {
            let entries = random_entries(&mut random);
            let count = random(entries.len() as u64 + 1) as usize;
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

    /// If space is short: besides `gone`, as many of the datasets `here` as asked for are evicted,
    /// no eviction makes a restart worse, and no other dataset could be evicted so.
    fn spares_nothing_else(
        entries: &[EvictionCandidate],
        gone: &[usize],
        here: &[usize],
        count: usize,
    ) {
        // Leaves out a dataset that is only one of several.
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
