//! What a run excuses whose parameters are not those of the job.

use super::dataset::{Dataset, Fate};
use super::{Excuse, Oracle};

impl Oracle {
    /// A session of this run begins: what its parameters remove then, and the checkpoint that SCR_CURRENT names. Called
    /// by each rank before and after SCR_Init, as commands may act until then.
    pub fn begins_session(&mut self) {
        let run = &self.plan.runs[self.run];
        let (cache, prefix) = (run.purges_cache(), run.purges_prefix());
        let name = run.current().map(str::to_string);
        if cache {
            self.caches_lost(Excuse::Purged);
        }
        if prefix {
            for one in &mut self.datasets {
                // The end of the run does not bring deleted output back.
                one.lose_prefix(Excuse::Purged);
                one.output = false;
            }
        }
        let Some(name) = name else {
            return;
        };
        let named = |one: &Dataset| one.checkpoint && one.name == name;
        if let Some(at) = self.datasets.iter().position(named) {
            // It moves the marker when first something is fetched, perhaps after a newer one of the cache was offered.
            let newer = self.datasets.iter_mut().skip(at + 1);
            let newer = newer.filter(|one| one.checkpoint && one.fate != Fate::Gone);
            newer.for_each(|one| one.fate = Fate::Dropped);
        }
        let rejected = |one: &&mut Dataset| one.name == name && one.fate == Fate::Gone;
        let wanted = self.datasets.iter_mut().filter(rejected);
        wanted.for_each(|one| one.fate = Fate::GivenUp);
    }
}
