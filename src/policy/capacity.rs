//! Decides whether the next dataset will fit into a node's store.
//!
//! The size of the next dataset is not known in advance. The estimate is the size of the last dataset
//! of the same descriptor on the same node, with its redundancy. Without a known size, nothing is
//! refused. A program whose checkpoints shrink may be refused a checkpoint that would just fit; the
//! message says so, and how to switch the check off.

/// The answer to the question whether the next dataset fits into a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The dataset fits now.
    Now,
    /// The dataset fits once the evicted datasets are deleted, which must be waited for.
    AfterDeletion,
    /// The dataset fits once this many datasets are deleted beyond those that the limit of the store demands.
    AfterEvicting(usize),
    /// The dataset does not fit.
    Never,
}

/// Checks whether `need` bytes fit into a store with `free` bytes, and with `deleted` more once the
/// evicted datasets are deleted. `None` means that a size is not known: then the dataset is assumed
/// to fit, but evicted datasets must be deleted first.
pub fn check_fit(need: Option<u64>, free: u64, deleted: Option<u64>) -> Fit {
    match (need, deleted) {
        (Some(need), _) if need <= free => Fit::Now,
        (None, Some(0)) => Fit::Now,
        (Some(need), Some(deleted)) if need > free.saturating_add(deleted) => Fit::Never,
        _ => Fit::AfterDeletion,
    }
}

/// Number of further datasets of these `sizes`, in this order, that must be evicted so that
/// `wanted` bytes fit, if `room` bytes are free without that. All sizes, if only the `need` can be
/// satisfied. `None` if not even that.
pub fn additional_evictions(need: u64, wanted: u64, mut room: u64, sizes: &[u64]) -> Option<usize> {
    for (count, size) in sizes.iter().enumerate() {
        if room >= wanted {
            return Some(count);
        }
        room = room.saturating_add(*size);
    }
    (room >= need).then_some(sizes.len())
}

/// The space to ask for when the last `failures` datasets in a row could not be completed. These datasets may
/// have been larger than the last complete one, so the space doubles each time.
pub fn space_wanted(need: u64, failures: u32) -> u64 {
    let factor = 1u64.checked_shl(failures).unwrap_or(u64::MAX);
    need.saturating_mul(factor)
}

/// Estimated size of a dataset of `data` bytes with its redundancy, bytes. In a set of `members`,
/// each rank keeps redundancy against `losses` losses: copies (`PARTNER`) or blocks of parity. All
/// ranks are assumed to have the same amount of data.
pub fn with_redundancy(data: u64, copies: bool, members: usize, losses: usize) -> u64 {
    let (members, losses) = (members as u64, losses as u64);
    let extra = match members.saturating_sub(losses) {
        0 => 0,
        _ if copies => data.saturating_mul(losses),
        chunks => data.div_ceil(chunks).saturating_mul(losses),
    };
    data.saturating_add(extra)
}

#[cfg(test)]
mod tests {
    use super::{Fit, additional_evictions, check_fit, space_wanted, with_redundancy};

    #[test]
    fn at_each_edge() {
        assert_eq!(check_fit(Some(10), 10, Some(0)), Fit::Now);
        assert_eq!(check_fit(Some(10), 9, Some(0)), Fit::Never);
        assert_eq!(check_fit(Some(10), 9, Some(1)), Fit::AfterDeletion);
        assert_eq!(check_fit(Some(10), 0, Some(9)), Fit::Never);
        assert_eq!(check_fit(Some(10), 0, None), Fit::AfterDeletion);
        assert_eq!(
            check_fit(Some(u64::MAX), 1, Some(u64::MAX)),
            Fit::AfterDeletion
        );
        assert_eq!(check_fit(None, 0, Some(0)), Fit::Now, "nothing to wait for");
        assert_eq!(check_fit(None, 0, Some(1)), Fit::AfterDeletion);
        assert_eq!(check_fit(None, 1 << 40, None), Fit::AfterDeletion);
    }

    #[test]
    fn as_few_more_datasets_as_needed_are_evicted() {
        assert_eq!(additional_evictions(10, 10, 10, &[5, 5]), Some(0));
        assert_eq!(additional_evictions(10, 10, 9, &[1, 5]), Some(1));
        assert_eq!(additional_evictions(10, 10, 4, &[5, 0, 1, 9]), Some(3));
        assert_eq!(additional_evictions(10, 10, 4, &[5]), None);
        assert_eq!(additional_evictions(10, 10, 9, &[]), None);
        assert_eq!(additional_evictions(10, 10, u64::MAX, &[u64::MAX]), Some(0));
        // `wanted` is not required.
        assert_eq!(additional_evictions(10, 20, 10, &[5, 5, 5]), Some(2));
        assert_eq!(additional_evictions(10, 20, 10, &[5]), Some(1));
        assert_eq!(additional_evictions(10, 20, 4, &[5]), None);
        assert_eq!(space_wanted(10, 0), 10);
        assert_eq!(space_wanted(10, 3), 80);
        assert_eq!(space_wanted(10, 64), u64::MAX);
    }

    #[test]
    fn redundancy_by_scheme() {
        assert_eq!(with_redundancy(120, false, 1, 0), 120);
        assert_eq!(with_redundancy(120, false, 4, 1), 160);
        assert_eq!(with_redundancy(120, false, 5, 2), 200);
        assert_eq!(with_redundancy(120, true, 4, 1), 240);
        assert_eq!(with_redundancy(120, true, 4, 2), 360);
        assert_eq!(with_redundancy(u64::MAX, true, 4, 2), u64::MAX);
    }
}
