//! Decides which nodes a launch leaves out because they failed in this job or in earlier jobs. A
//! launch leaves out a node only if enough other nodes are there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A failure of a node, from the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFailure {
    /// The time of the failure, in seconds since the epoch.
    pub at: i64,
    /// The job that used the node.
    pub job: String,
    /// The node.
    pub node: String,
    /// The reason why the node could not be used, for people to read.
    pub reason: String,
}

/// A node that has failed often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedOften {
    /// The node.
    pub node: String,
    /// Number of jobs in which the node failed.
    pub jobs: usize,
    /// The last failure of the node.
    pub last: NodeFailure,
}

/// The nodes that have failed in at least `least` jobs, not before `since`. A node that failed in more jobs comes
/// first; of two nodes with as many jobs, the node that failed last comes first. Empty if `least` is 0. A node
/// that is found to be down again and again in one job has failed once.
pub fn failed_often(failures: &[NodeFailure], since: i64, least: usize) -> Vec<FailedOften> {
    let mut nodes: BTreeMap<&str, (BTreeSet<&str>, &NodeFailure)> = BTreeMap::new();
    for failure in failures.iter().filter(|failure| failure.at >= since) {
        let (jobs, last) = nodes
            .entry(&failure.node)
            .or_insert((BTreeSet::new(), failure));
        jobs.insert(&failure.job);
        if failure.at >= last.at {
            *last = failure;
        }
    }
    let often = nodes.into_iter().map(|(node, (jobs, last))| FailedOften {
        node: node.to_string(),
        jobs: jobs.len(),
        last: last.clone(),
    });
    let mut often: Vec<FailedOften> = often.filter(|one| least > 0 && one.jobs >= least).collect();
    often.sort_by_key(|one| Reverse((one.jobs, one.last.at)));
    often
}

/// The nodes that are left out of a launch that needs `needed` of the nodes `up`: as many as there are spares.
pub fn left_out(often: Vec<FailedOften>, up: &[String], needed: u64) -> Vec<FailedOften> {
    let spares = (up.len() as u64).saturating_sub(needed);
    let here = often.into_iter().filter(|one| up.contains(&one.node));
    here.take(usize::try_from(spares).unwrap_or(usize::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(at: i64, job: &str, node: &str) -> NodeFailure {
        NodeFailure {
            at,
            job: job.to_string(),
            node: node.to_string(),
            reason: format!("why at {at}"),
        }
    }

    fn names(often: &[FailedOften]) -> Vec<&str> {
        often.iter().map(|one| one.node.as_str()).collect()
    }

    #[test]
    fn failures_are_counted_by_job_and_forgotten_after_a_time() {
        let log = [
            failure(10, "1", "a"),
            failure(20, "1", "a"),
            failure(30, "2", "a"),
            failure(10, "1", "b"),
            failure(11, "1", "b"),
            failure(40, "3", "c"),
            failure(50, "4", "c"),
        ];
        assert_eq!(names(&failed_often(&log, 0, 2)), ["c", "a"]);
        assert_eq!(names(&failed_often(&log, 11, 2)), ["c", "a"]);
        assert_eq!(names(&failed_often(&log, 25, 2)), ["c"]);
        assert_eq!(names(&failed_often(&log, 0, 1)), ["c", "a", "b"]);
        assert!(failed_often(&log, 0, 0).is_empty());
        let first = &failed_often(&log, 0, 2)[0];
        assert_eq!((first.jobs, first.last.at), (2, 50));
    }

    #[test]
    fn a_launch_gets_the_nodes_that_it_needs() {
        let log = [
            failure(1, "1", "a"),
            failure(2, "1", "b"),
            failure(3, "1", "x"),
        ];
        let often = || failed_often(&log, 0, 1);
        let up: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        for (needed, expected) in [
            (4, &[][..]),
            (9, &[]),
            (3, &["b"]),
            (2, &["b", "a"]),
            (0, &["b", "a"]),
        ] {
            assert_eq!(names(&left_out(often(), &up, needed)), expected, "{needed}");
        }
    }
}
