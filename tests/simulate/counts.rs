//! What simulations have reached: how often each promise was checked, which faults hit, which features
//! were drawn, and what was excused.

use std::collections::BTreeMap;

pub type Counts = BTreeMap<&'static str, u64>;

/// Of one job, or the sums of many.
#[derive(Debug, Default, Clone)]
pub struct Reached {
    pub promises: Counts,
    pub faults: Counts,
    pub features: Counts,
    /// 1 for each excuse without which a job would have broken a promise.
    pub excuses: Counts,
}

impl Reached {
    pub fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub fn feature(&mut self, name: &'static str) {
        *self.features.entry(name).or_default() += 1;
    }

    pub fn add(&mut self, other: &Reached) {
        for (sum, other) in [
            (&mut self.promises, &other.promises),
            (&mut self.faults, &other.faults),
            (&mut self.features, &other.features),
            (&mut self.excuses, &other.excuses),
        ] {
            for (name, count) in other {
                *sum.entry(name).or_default() += count;
            }
        }
    }

    /// One line for each.
    pub fn lines(&self) -> Vec<String> {
        let tables = [
            ("promise", &self.promises),
            ("fault", &self.faults),
            ("feature", &self.features),
            ("jobs with the excuse", &self.excuses),
        ];
        let line = |kind, (name, count)| format!("{count:10} {kind}: {name}");
        let of = tables
            .iter()
            .flat_map(|(kind, table)| table.iter().map(move |one| line(kind, one)));
        of.collect()
    }
}
