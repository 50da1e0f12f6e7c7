//! Who leads which ranks of each store, as rank 0 learns it from the leaders.

use crate::comm::RankList;

/// The ranks of each store. Nothing is known until leaders have reported.
#[derive(Debug, Default)]
pub(in crate::session) struct StoreLeaders(Vec<OfStore>);

/// The ranks of a store.
#[derive(Debug, Clone)]
struct OfStore {
    /// The leader of each rank.
    leaders: Vec<usize>,
    /// The failure domain of each rank: the lowest rank whose datasets are lost together with this rank's.
    domains: Vec<usize>,
    /// Number of ranks that leaders have named.
    named: usize,
}

impl StoreLeaders {
    /// So many stores of `size` ranks. A rank that no leader has named counts as the leader of itself alone.
    pub fn new(stores: usize, size: usize) -> Self {
        let alone: Vec<usize> = (0..size).collect();
        let of_store = OfStore {
            leaders: alone.clone(),
            domains: alone,
            named: 0,
        };
        StoreLeaders(vec![of_store; stores])
    }

    /// Rank `leader` leads these ranks of a store. Their datasets are lost together with those of rank `lost_with`.
    pub fn enter(&mut self, store: usize, ranks: &RankList, leader: usize, lost_with: usize) {
        let Some(of_store) = self.0.get_mut(store) else {
            return;
        };
        for rank in ranks.iter() {
            of_store.named += 1;
            let known = [
                (&mut of_store.leaders, leader),
                (&mut of_store.domains, lost_with),
            ];
            for (of_ranks, value) in known {
                let of_rank = of_ranks.get_mut(rank);
                of_rank.into_iter().for_each(|known| *known = value);
            }
        }
    }

    /// The leader of each rank of a store.
    pub fn of(&self, store: usize) -> Option<&[usize]> {
        self.0.get(store).map(|of_store| &of_store.leaders[..])
    }

    /// The failure domain of each rank of a store; empty if nothing is known.
    pub fn domains(&self, store: usize) -> &[usize] {
        self.0.get(store).map_or(&[], |of_store| &of_store.domains)
    }

    /// True if another run has the store on some nodes. No rank of this run reads or writes there.
    pub fn is_held_by_others(&self, store: usize) -> bool {
        let of_store = self.0.get(store);
        of_store.is_some_and(|of_store| of_store.named < of_store.leaders.len())
    }
}
