//! What leaves the cache before a new dataset comes in?

/// A dataset in one store, as far as eviction cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Dataset id.
    pub id: u64,
    /// False for what no restart can use: quarantined, or written by another number of ranks.
    pub usable: bool,
}

/// Positions in `entries` to delete, in this order, so that with the new dataset the store
/// holds at most `count` (at least 1). What cannot be used goes first, then the oldest.
pub fn victims(entries: &[Entry], count: usize) -> Vec<usize> {
    let surplus = (entries.len() + 1).saturating_sub(count.max(1));
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&i| (entries[i].usable, entries[i].id));
    order.truncate(surplus);
    order
}

#[cfg(test)]
mod tests {
    use super::{Entry, victims};

    fn ids(entries: &[(u64, bool)], count: usize) -> Vec<u64> {
        let entries: Vec<Entry> = entries
            .iter()
            .map(|&(id, usable)| Entry { id, usable })
            .collect();
        victims(&entries, count)
            .into_iter()
            .map(|i| entries[i].id)
            .collect()
    }

    #[test]
    fn the_oldest_go_until_the_new_one_fits() {
        assert_eq!(ids(&[(3, true)], 1), [3]);
        assert_eq!(ids(&[(3, true)], 2), [0u64; 0]);
        assert_eq!(ids(&[(5, true), (3, true), (4, true)], 2), [3, 4]);
        assert_eq!(ids(&[(1, true)], 0), [1], "a count of 0 counts as 1");
    }

    #[test]
    fn what_cannot_be_used_goes_first() {
        assert_eq!(ids(&[(5, true), (9, false)], 2), [9]);
    }
}
