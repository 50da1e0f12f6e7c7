//! Each rank reports to rank 0, which answers with its redundancy sets and with whom it shares its
//! stores.

use super::consistency;
use crate::Result;
use crate::comm::{Communicator, collective};
use crate::config::Config;
use crate::config::descriptors::Descriptors;
use crate::format::{from_message, from_tree, to_message, unpack};
use crate::redundancy::Set;
use crate::redundancy::topology::{
    RankAssignment, RankReport, SetMembership, SetPlan, assign, domains_of_nodes, first_different,
};
use crate::session::datasets::search::RestartSearch;

/// Exchanges report and answer. Gives the answer and this rank's sets; on rank 0 the search knows all
/// leaders and failure domains. `common` is what must be the same on all ranks. Collective.
///
/// # Errors
/// A rank has other settings than rank 0.
pub(in crate::session) fn exchange(
    comm: &dyn Communicator,
    node: &str,
    config: &Config,
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(RankAssignment, Vec<Set>, RestartSearch)> {
    let report = RankReport::new(node, descriptors, collective::fingerprint(common));
    let mut failed = None;
    let mut search = RestartSearch::default();
    let mut messages = None;
    if let Some(reports) = collective::gather(comm, 0, to_message(&report)?)? {
        match answers(&reports, descriptors, common) {
            Ok((answers, found)) => {
                search = found;
                messages = Some(answers);
            }
            // The other ranks wait for an answer: they get an empty one.
            Err(error) => {
                failed = Some(error);
                messages = Some(vec![to_message(&RankAssignment::default())?; comm.size()]);
            }
        }
    }
    let message = collective::scatter(comm, 0, messages)?;
    let received = match failed {
        Some(error) => Err(error),
        None => read_answer(&message, config, descriptors, common),
    };
    let (assignment, sets) = collective::agree(comm, node, received)?;
    Ok((assignment, sets, search))
}

/// This rank's assignment and sets. Local.
fn read_answer(
    message: &[u8],
    config: &Config,
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(RankAssignment, Vec<Set>)> {
    let (tree, used) = unpack(message)?;
    let assignment = from_tree::<RankAssignment>(&tree)?;
    if let Some(root) = &assignment.first_different {
        let theirs = message.get(used..).unwrap_or_default();
        return Err(consistency::difference(
            common,
            (root, theirs),
            config,
            descriptors,
        ));
    }
    let sets = assignment.sets.iter().cloned().map(SetMembership::set);
    let sets = sets.collect::<Result<_>>()?;
    Ok((assignment, sets))
}

/// Rank 0: the answers to the reports of all ranks, and the search with what they tell. If ranks have
/// other settings than rank 0, the first of them gets rank 0's, so that it can name the difference.
fn answers(
    reports: &[Vec<u8>],
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(Vec<Vec<u8>>, RestartSearch)> {
    let read = reports.iter().map(|bytes| from_message(bytes));
    let reports = read.collect::<Result<Vec<RankReport>>>()?;
    let mut search = RestartSearch::default();
    if let Some(rank) = first_different(&reports) {
        let mut messages = vec![to_message(&RankAssignment::default())?; reports.len()];
        let reply = RankAssignment {
            first_different: reports.first().map(|root| root.node.clone()),
            ..RankAssignment::default()
        };
        if let Some(message) = messages.get_mut(rank) {
            *message = [&to_message(&reply)?, common].concat();
        }
        return Ok((messages, search));
    }
    let answers = assign(&reports, &SetPlan::all(descriptors))?;
    for store in 0..descriptors.stores.len() {
        let sharing = answers.iter().filter_map(|a| a.stores.get(store));
        search
            .leaders
            .push(sharing.map(|sharing| sharing.leader).collect());
        search.domains.push(domains_of_nodes(&reports, store));
    }
    let messages = answers.iter().map(to_message).collect::<Result<_>>()?;
    Ok((messages, search))
}
