//! The losses that the sets of a redundancy descriptor survive. Besides the descriptor, they depend only on the
//! number of ranks and the sizes of the failure domains. So they are the same on all ranks.

use super::SetPlan;
use super::grouping::Groups;
use crate::messages::{FEWER_LOSSES, KEPT_WITH_SINGLE, WEAK_REDUNDANCY};
use crate::redundancy::sets::{number_of_sets, survivable_losses};
use crate::redundancy::{EVERYTHING, MAX_BLOCKS, RedundancyScheme};
use crate::text;

/// How the ranks are divided into the sets of one descriptor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Protection {
    /// The number of sets; `None` if no rank shares a set with another rank.
    pub sets: Option<usize>,
    /// The number of failure groups that may be lost.
    pub tolerates: usize,
    /// A message to the user.
    pub note: Option<String>,
}

impl Protection {
    /// The protection of `ranks` ranks in these failure domains.
    pub fn of(plan: &SetPlan, ranks: usize, domains: &Groups) -> Self {
        let (word, failures) = (plan.scheme.word(), plan.set_failures);
        let outlives = if plan.outlives { EVERYTHING } else { 0 };
        let alone = |note| Protection {
            sets: None,
            tolerates: outlives,
            note,
        };
        if plan.scheme.redundancy().is_none() {
            return alone(None);
        }
        if domains.count < 2 {
            let why = if plan.outlives {
                "all ranks share one instance of the store, which survives the loss of nodes"
            } else {
                "all ranks are in one failure group"
            };
            let so = if plan.outlives {
                format!("{word} would add nothing")
            } else {
                format!("{word} could not survive its loss")
            };
            return alone(Some(format!(
                "{why}, so {so}: datasets are kept with SINGLE ({KEPT_WITH_SINGLE})"
            )));
        }
        // Smaller sets protect better, so they replace sets that are too large for the code.
        let mut size = plan.set_size.clamp(2, MAX_BLOCKS);
        let mut sets = number_of_sets(ranks, domains.largest, size);
        while size > 2 && ranks.div_ceil(sets) + failures > MAX_BLOCKS {
            size /= 2;
            sets = number_of_sets(ranks, domains.largest, size);
        }
        let scheme = RedundancyScheme::new(plan.scheme, failures);
        let survived = survivable_losses(ranks, domains.largest, sets, |members| {
            scheme.losses(members)
        });
        Protection {
            sets: Some(sets),
            tolerates: survived.max(outlives),
            note: weak(plan, survived),
        }
    }
}

/// The message about sets that survive the loss of fewer groups than they should.
fn weak(plan: &SetPlan, survived: usize) -> Option<String> {
    let (word, failures) = (plan.scheme.word(), plan.set_failures);
    let group = if plan.outlives {
        "instance of the store"
    } else {
        plan.group.as_str()
    };
    match survived {
        0 => Some(format!(
            "{word} cannot keep the ranks of one failure group apart here: the loss of one \
             {group} may lose a dataset; spread ranks evenly over nodes ({WEAK_REDUNDANCY})"
        )),
        _ if survived < failures => Some(format!(
            "{word} is to survive {failures} losses, but with these ranks and nodes you survive \
             the loss of any {survived} {}, not of {}; use more nodes ({FEWER_LOSSES})",
            text::plural(survived, group),
            survived + 1
        )),
        _ => None,
    }
}
